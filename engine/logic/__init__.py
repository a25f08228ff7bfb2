"""The world VM and the language in it: jobs in, outcomes out."""

from engine.logic.boot import BootError, boot
from engine.logic.engine_build import Engine, EngineRefused, ModuleCache, load_engine
from engine.logic.image import HeapImage, HeapMeta
from engine.logic.pool import VmPool
from engine.logic.vm import (
    GuestError,
    HostCalls,
    Interrupt,
    Job,
    JobResult,
    VmFailure,
    text_of,
    vm_thread_stack_bytes,
    wtf8,
)

__all__ = [
    "BootError",
    "Engine",
    "EngineRefused",
    "GuestError",
    "HeapImage",
    "HeapMeta",
    "HostCalls",
    "Interrupt",
    "Job",
    "JobResult",
    "ModuleCache",
    "VmFailure",
    "VmPool",
    "boot",
    "load_engine",
    "text_of",
    "vm_thread_stack_bytes",
    "wtf8",
]
