"""The one pool of VMs, for all worlds: a job takes a free VM of exactly its image's size, or makes one."""

from __future__ import annotations

from fastrlock.rlock import FastRLock

from engine import limits
from engine.logic.c_vm import CVm
from engine.logic.engine_build import Engine
from engine.logic.py_vm import PyVm
from engine.logic.vm import Job, JobResult, Vm


class VmPool:
    """Runs jobs on VMs; any number of threads call `run`, each with a stack of `vm_thread_stack_bytes`.

    Which VM a job gets changes nothing in its result: every job begins with a restore.
    """

    def __init__(self, engine: Engine, *, idle_max: int = limits.VMS_IDLE_MAX) -> None:
        """At most `idle_max` VMs wait for work; the one idle for longest is closed first."""
        self._engine = engine
        self._idle_max = idle_max
        self._lock = FastRLock()
        self._idle: list[Vm] = []  # the most recently used last: its pages are warm
        self.made = 0
        self.discarded = 0

    def run(self, job: Job) -> JobResult:
        """Run one job on some VM. Raises what a host function raised, if that is an Exception."""
        vm = self._take(job.image.size_bytes) or self._make(job.image.size_bytes)
        assert vm.usable and vm.size_bytes == job.image.size_bytes, "Invariant 14: a VM of the image's size"
        try:
            return vm.run(job)
        finally:
            self._give_back(vm)

    @property
    def idle(self) -> int:
        """How many VMs wait for work."""
        return len(self._idle)

    def close(self) -> None:
        """Close the idle VMs; those at work are closed by later calls or with the process."""
        with self._lock:
            idle, self._idle = self._idle, []
        for vm in idle:
            vm.close()

    def _take(self, size_bytes: int) -> Vm | None:
        with self._lock:
            for index in range(len(self._idle) - 1, -1, -1):
                if self._idle[index].size_bytes == size_bytes:
                    return self._idle.pop(index)
        return None

    def _make(self, size_bytes: int) -> Vm:
        vm: Vm = CVm(self._engine, size_bytes) if self._engine.native else PyVm(self._engine, size_bytes)
        with self._lock:
            self.made += 1
        return vm

    def _give_back(self, vm: Vm) -> None:
        with self._lock:
            if vm.usable:
                self._idle.append(vm)
                surplus = self._idle.pop(0) if len(self._idle) > self._idle_max else None
            else:  # Invariant 15
                self.discarded += 1
                surplus = vm
        if surplus is not None:
            surplus.close()
