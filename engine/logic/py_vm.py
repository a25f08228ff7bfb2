"""The pure-Python path: jobs on a Machine, with the bytes of the C path.

It makes exactly the export calls of native/pw_vm.c, in the same order with the same arguments.
"""

from __future__ import annotations

import ctypes

from engine import limits
from engine.limits import PAGE_BYTES
from engine.logic.engine_build import Engine
from engine.logic.image import HeapImage, differing_pages, pack_numbers
from engine.logic.machine import Machine, Stopped, Threw
from engine.logic.vm import (
    STACK_BYTES_LEFT_MIN,
    STACK_TOO_SMALL,
    Job,
    JobResult,
    Status,
    VmFailure,
    random_state,
    threw_status,
)

_PTHREAD_ATTRIBUTES_BYTES = 64


class PyVm:
    """A `Vm` on a Machine."""

    def __init__(self, engine: Engine, size_bytes: int) -> None:
        self._machine = Machine(engine)
        self._machine.grow_to(size_bytes)
        self.size_bytes = size_bytes
        self.usable = True

    def is_warm(self, image: HeapImage) -> bool:
        """Always: it copies whole heaps."""
        return True

    def run(self, job: Job) -> JobResult:
        """Run one job; see `vm.Job`. Raises what a host function raised, if it is an Exception."""
        assert self.usable, "Invariant 15: a VM that trapped or grew is not used again"
        if _thread_stack_bytes() < STACK_BYTES_LEFT_MIN:
            raise VmFailure(STACK_TOO_SMALL)
        machine = self._machine
        machine.restore(job.image)
        if job.seed is not None:
            machine.write(job.image.meta.random_ptr, random_state(job.seed).to_bytes(8, "little"))
        machine.clock_ns = job.clock_ms * 1_000_000
        machine.host = job.host
        machine.set_fuel(job.fuel)
        if job.interrupt is not None:
            machine.interrupted = False
            job.interrupt.attach(self._interrupt)
        try:
            return self._result(job, *self._steps(job))
        except Threw as threw:
            return self._result(job, threw_status(threw.text), threw.text)
        except Stopped as stopped:
            self.usable = False
            raised = machine.raised
            if isinstance(raised, Exception):
                raise raised from None
            return self._result(job, stopped.status, None, detail=stopped.detail, raised=raised)
        except BaseException:
            self.usable = False
            raise
        finally:
            machine.host = None
            if job.interrupt is not None:
                job.interrupt.attach(None)

    def _steps(self, job: Job) -> tuple[Status, bytes | None, HeapImage | None]:
        machine = self._machine
        text = self._enter(job.request, job.collect_request is None)
        machine.drain()
        if job.collect:
            machine.collect()
        image = self._snapshot(job.image) if job.keep_heap else None
        if job.collect_request is not None:
            text = self._enter(job.collect_request, True)
            if job.parks(text):
                image = self._snapshot(job.image)
        return "ok", text, image

    def _enter(self, request: bytes, wants_text: bool) -> bytes | None:
        machine = self._machine
        assert machine.meta is not None
        argument = machine.new_text(request)
        try:
            value = machine.invoke(machine.meta.entry_ptr, argument)
        except Threw:
            machine.call("qjs_free_value", argument)
            raise
        machine.call("qjs_free_value", argument)
        text: bytes | None = None
        if wants_text and machine.call("qjs_is_string", value):
            text = machine.text_of(value)
            if text is None:  # a string's text can only fail to find room
                raise Stopped("memory", "no room for the answer")
        machine.call("qjs_free_value", value)
        return text

    def _snapshot(self, before: HeapImage) -> HeapImage:
        machine = self._machine
        assert machine.stack_ptr == before.meta.stack_ptr, "Invariant 14: the stack is empty between jobs"
        memory = machine.read(0, machine.size_bytes)
        changed = differing_pages(memory, before.base)
        if len(changed) > limits.HEAP_DELTA_PAGES_MAX:
            return HeapImage.from_bytes(memory, before.meta)
        pages = b"".join(memory[n * PAGE_BYTES : (n + 1) * PAGE_BYTES] for n in changed)
        numbers = pack_numbers(changed)
        return HeapImage(before.base, before.meta, len(memory), numbers=numbers, pages=pages)

    def _result(
        self,
        job: Job,
        status: Status,
        text: bytes | None,
        image: HeapImage | None = None,
        *,
        detail: str = "",
        raised: BaseException | None = None,
    ) -> JobResult:
        grew = self._machine.size_bytes != self.size_bytes
        if grew:
            self.usable = False
        return JobResult(
            status=status,
            text=text,
            detail=detail,
            fuel_used=job.fuel - self._machine.fuel_left(),
            image=image,
            grew=grew,
            raised=raised,
        )

    def _interrupt(self) -> None:
        self._machine.interrupted = True

    def close(self) -> None:
        self.usable = False
        self._machine.close()


def _thread_stack_bytes() -> int:
    """The calling thread's whole stack; where the C library does not say, as much as anyone could want."""
    libc = ctypes.CDLL(None)
    if not hasattr(libc, "pthread_getattr_np"):
        return limits.STACK_BYTES_THREAD
    libc.pthread_self.restype = ctypes.c_void_p
    attributes = ctypes.create_string_buffer(_PTHREAD_ATTRIBUTES_BYTES)
    size = ctypes.c_size_t()
    if libc.pthread_getattr_np(ctypes.c_void_p(libc.pthread_self()), attributes) != 0:
        return limits.STACK_BYTES_THREAD
    libc.pthread_attr_getstacksize(attributes, ctypes.byref(size))
    libc.pthread_attr_destroy(attributes)
    return size.value
