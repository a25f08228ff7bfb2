"""The world VM and the language in it: jobs in, outcomes out."""

from engine.logic.attempt import catalogue_of, changes_between, develop, upgrade
from engine.logic.boot import BootError, boot
from engine.logic.call import call, execute, resume
from engine.logic.checks import Broken, Check, enrol, judge
from engine.logic.engine_build import TARGETS, Engine, EngineRefused, ModuleCache, load_engine
from engine.logic.image import HeapImage, HeapMeta
from engine.logic.jobs import (
    Ask,
    AttemptOutcome,
    CallOutcome,
    Catalogue,
    Changes,
    DataView,
    Definition,
    KeyRead,
    Look,
    Peers,
    RangeRead,
    Read,
    SourceLookup,
    WrittenSource,
)
from engine.logic.overlaid import Overlaid
from engine.logic.park import Park, Waiting
from engine.logic.pool import VmPool
from engine.logic.prelude import PRELUDE_VERSION, prelude_source
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
    "PRELUDE_VERSION",
    "TARGETS",
    "Ask",
    "AttemptOutcome",
    "BootError",
    "Broken",
    "CallOutcome",
    "Catalogue",
    "Changes",
    "Check",
    "DataView",
    "Definition",
    "Engine",
    "EngineRefused",
    "GuestError",
    "HeapImage",
    "HeapMeta",
    "HostCalls",
    "Interrupt",
    "Job",
    "JobResult",
    "KeyRead",
    "Look",
    "ModuleCache",
    "Overlaid",
    "Park",
    "Peers",
    "RangeRead",
    "Read",
    "SourceLookup",
    "VmFailure",
    "VmPool",
    "Waiting",
    "WrittenSource",
    "boot",
    "call",
    "catalogue_of",
    "changes_between",
    "develop",
    "enrol",
    "execute",
    "judge",
    "load_engine",
    "prelude_source",
    "resume",
    "text_of",
    "upgrade",
    "vm_thread_stack_bytes",
    "wtf8",
]
