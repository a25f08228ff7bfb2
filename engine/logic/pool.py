"""The one pool of VMs, for all worlds: a job takes a free VM of exactly its image's size, or makes one."""

from __future__ import annotations

from fastrlock.rlock import FastRLock

from engine import limits
from engine.logic.c_vm import CVm
from engine.logic.engine_build import Engine
from engine.logic.image import HeapImage
from engine.logic.py_vm import PyVm
from engine.logic.vm import Job, JobResult, Vm


class VmPool:
    """Runs jobs on VMs; any number of threads call `run`, each with a stack of `vm_thread_stack_bytes`.

    Which VM a job gets changes nothing in its result: every job begins with a restore.
    """

    def __init__(self, engine: Engine, *, vms_max: int = limits.VMS_KEPT_MAX) -> None:
        """At most `vms_max` VMs are kept; more exist only while more jobs run at once."""
        self._engine = engine
        self._vms_max = vms_max
        self._lock = FastRLock()
        self._idle: list[Vm] = []  # the one used last is at the end
        self._at_work = 0
        self.made = 0
        self.discarded = 0

    def run(self, job: Job) -> JobResult:
        """Run one job on some VM. Raises VmFailure, and what a host function raised if it is an Exception."""
        if job.interrupt is not None and job.interrupt.fired:
            return JobResult(status="interrupted")
        vm = self._take(job.image) or self._make(job.image.size_bytes)
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
        """Close the VMs that wait; those at work are closed when they come back."""
        with self._lock:
            idle, self._idle = self._idle, []
            self._vms_max = 0
        for vm in idle:
            vm.close()

    def _take(self, image: HeapImage) -> Vm | None:
        """A warm VM; else, when no more may be kept, the one of the right size that has waited for longest."""
        with self._lock:
            chosen: int | None = None
            for index in range(len(self._idle) - 1, -1, -1):
                if self._idle[index].size_bytes != image.size_bytes:
                    continue
                chosen = index
                if self._idle[index].is_warm(image):
                    break
            else:
                if len(self._idle) + self._at_work < self._vms_max:
                    chosen = None
            self._at_work += 1
            return None if chosen is None else self._idle.pop(chosen)

    def _make(self, size_bytes: int) -> Vm:
        try:
            vm: Vm = CVm(self._engine, size_bytes) if self._engine.native else PyVm(self._engine, size_bytes)
        except BaseException:
            with self._lock:
                self._at_work -= 1
            raise
        with self._lock:
            self.made += 1
        return vm

    def _give_back(self, vm: Vm) -> None:
        surplus: Vm | None = None
        with self._lock:
            self._at_work -= 1
            if not vm.usable:  # Invariant 15
                self.discarded += 1
                surplus = vm
            else:
                self._idle.append(vm)
                if len(self._idle) > self._vms_max:
                    surplus = self._idle.pop(0)
        if surplus is not None:
            surplus.close()
