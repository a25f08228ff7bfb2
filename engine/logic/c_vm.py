"""The C path: one C call a job, without the GIL, on memory that is copy-on-write over the image's base."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fastrlock.rlock import FastRLock

from engine import limits
from engine.limits import PAGE_BYTES
from engine.logic.image import NUMBER_BYTES, Base, HeapImage
from engine.logic.native import Native, load_native
from engine.logic.vm import (
    PARK_MARK,
    STACK_BYTES_LEFT_MIN,
    STACK_TOO_SMALL,
    GuestError,
    HostCalls,
    Job,
    JobResult,
    Status,
    VmFailure,
    random_state,
    threw_status,
    trap_name,
    wtf8,
)

if TYPE_CHECKING:
    from engine.logic.engine_build import Engine


STATUSES: tuple[Status, ...] = ("ok", "threw", "fuel", "memory", "trap", "interrupted", "trap")
"""By PW_OK to PW_HOST_RAISED of native/pw_vm.h."""
_adopting = FastRLock()  # a base is adopted once: what reads it may hold on to the first mapping


def load() -> Native:
    """The C path of this process. Raises NativeUnavailable."""
    return load_native(_host)


def _host(handle: Any, op: Any, op_len: int, text: Any, text_len: int, answer: Any) -> int:
    """`pw_host`: answer a host function of the job that the VM behind `handle` runs."""
    vm: CVm = load().ffi.from_handle(handle)
    return vm.answer(op, op_len, text, text_len, answer)


class CVm:
    """A `Vm` behind the C path."""

    def __init__(self, engine: Engine, size_bytes: int) -> None:
        native = engine.native
        assert native is not None, "the engine was loaded with the C path"
        self._ffi, self._lib, self._native = native.ffi, native.lib, native
        self._engine = engine  # it must outlive its instances
        vm = self._lib.pw_vm_new(engine.native_engine, size_bytes)
        if not vm:
            raise VmFailure(f"a VM of {size_bytes} bytes: {native.error()}")
        self._vm = self._ffi.gc(vm, self._lib.pw_vm_delete)
        self._job = self._ffi.new("pw_job *")
        self._result = self._ffi.new("pw_result *")
        self._handle = self._ffi.new_handle(self)
        self._job.host = self._handle
        self._job.delta_pages_max = limits.HEAP_DELTA_PAGES_MAX
        self._job.slack_bytes = limits.HEAP_SLACK_BYTES
        self._job.stack_bytes_min = STACK_BYTES_LEFT_MIN
        self._warm_serial = 0
        self._host: HostCalls | None = None
        self._raised: BaseException | None = None
        self._answer: tuple[bytes, ...] = ()
        self.size_bytes = size_bytes
        self.usable = True

    def is_warm(self, image: HeapImage) -> bool:
        """Whether it last ran a heap on the same base, which makes a job several times cheaper."""
        return self._warm_serial == image.base.serial

    def run(self, job: Job) -> JobResult:
        """Run one job; see `vm.Job`. Raises what a host function raised, if it is an Exception."""
        assert self.usable, "Invariant 15: a VM that trapped or grew is not used again"
        image = job.image
        self._warm_serial = image.base.serial
        assert image.size_bytes == self.size_bytes, "Invariant 14: a VM of exactly the image's size"
        self._fill(job)
        self._host = job.host
        self._raised = None
        self.usable = False  # until the job is known to have left the VM sound
        if job.interrupt is not None:
            self._lib.pw_vm_interrupt(self._vm, 0)
            job.interrupt.attach(self._interrupt)
        try:
            self._lib.pw_vm_run(
                self._vm,
                self._job,
                self._native_base(image.base),
                image.numbers,
                image.pages,
                job.request,
                job.collect_request or b"",
                self._result,
            )
        finally:
            self._host = None
            self._answer = ()
            if job.interrupt is not None:
                job.interrupt.attach(None)
                self._lib.pw_vm_interrupt(self._vm, 0)
        return self._ended(job)

    def _fill(self, job: Job) -> None:
        image, meta, c = job.image, job.image.meta, self._job
        c.size_bytes = image.size_bytes
        c.pages_count = len(image.numbers) // NUMBER_BYTES
        c.request_len = len(job.request)
        c.has_collect_request = job.collect_request is not None
        c.collect_len = len(job.collect_request or b"")
        c.clock_ns = job.clock_ms * 1_000_000
        c.random_state = 0 if job.seed is None else random_state(job.seed)
        c.fuel = job.fuel
        c.collect_garbage = job.collect
        c.keep_heap = job.keep_heap
        c.park_mark = PARK_MARK[0] if job.park else 0
        c.stack_ptr, c.entry_ptr, c.raise_ptr = meta.stack_ptr, meta.entry_ptr, meta.raise_ptr
        c.undefined_ptr, c.scratch_ptr, c.random_ptr = meta.undefined_ptr, meta.scratch_ptr, meta.random_ptr

    def _native_base(self, base: Base) -> Any:
        if base.native is None:
            with _adopting:
                if base.native is None:
                    content = base.to_bytes()
                    native = self._own_base(self._lib.pw_base_new(content, len(content)))
                    base.adopt(self._view(native, base.size_bytes), native)
        return base.native

    def _own_base(self, base: Any) -> Any:
        if not base:
            raise VmFailure(self._native.error())
        return self._ffi.gc(base, self._lib.pw_base_delete)

    def _view(self, native: Any, size_bytes: int) -> memoryview:
        return memoryview(self._ffi.buffer(self._lib.pw_base_view(native), size_bytes))

    def _ended(self, job: Job) -> JobResult:
        result = self._result
        ended = result.status
        new_base = self._own_base(result.base) if result.base else None
        if ended == self._lib.PW_FAILED:
            small = self._lib.pw_thread_stack_bytes_left() < STACK_BYTES_LEFT_MIN
            raise VmFailure(STACK_TOO_SMALL if small else self._native.error())
        if ended == self._lib.PW_HOST_RAISED and self._raised is None:
            self._raised = KeyboardInterrupt()  # it struck before `answer` could note it
        if isinstance(self._raised, Exception):
            raise self._raised
        self.usable = ended in (self._lib.PW_OK, self._lib.PW_THREW) and not result.grew
        text = self._ffi.unpack(result.text, result.text_len) if self._has_text(result) else None
        status = STATUSES[ended]
        is_kept = status == "ok" and (job.keep_heap or job.parks(text))
        return JobResult(
            status=threw_status(text or b"") if status == "threw" else status,
            text=text,
            detail=self._detail(result) if status == "trap" else "",
            fuel_used=job.fuel - result.fuel_left,
            image=self._kept(job.image, new_base) if is_kept else None,
            grew=bool(result.grew),
            raised=self._raised,
        )

    def _has_text(self, result: Any) -> bool:
        return result.has_text and result.status in (self._lib.PW_OK, self._lib.PW_THREW)

    def _detail(self, result: Any) -> str:
        if self._raised is not None:
            return f"host function raised {type(self._raised).__name__}"
        return trap_name(result.trap_code if result.trap_code >= 0 else None)

    def _kept(self, before: HeapImage, new_base: Any | None) -> HeapImage:
        result, meta = self._result, before.meta
        if new_base is not None:
            content = self._view(new_base, result.size_bytes)
            return HeapImage(Base(content, new_base), meta, result.size_bytes)
        unpack, count = self._ffi.buffer, result.pages_count
        numbers = bytes(unpack(result.page_numbers, count * NUMBER_BYTES))
        pages = bytes(unpack(result.pages, count * PAGE_BYTES))
        return HeapImage(before.base, meta, result.size_bytes, numbers=numbers, pages=pages)

    def answer(self, op: Any, op_len: int, text: Any, text_len: int, answer: Any) -> int:
        """Answer one host call of the running job; what `answer` points at stays alive until the next."""
        unpack, lib = self._ffi.unpack, self._lib
        try:
            assert self._host is not None, "host functions run inside jobs"
            reply = self._host(unpack(op, op_len).decode("utf-8", "replace"), unpack(text, text_len))
        except GuestError as error:
            message, name = self._answer = (wtf8(error.message), wtf8(error.name))
            answer.text, answer.text_len = self._ffi.from_buffer(message), len(message)
            answer.name, answer.name_len = self._ffi.from_buffer(name), len(name)
            return lib.PW_ANSWER_THROW
        except BaseException as raised:
            self._raised = raised
            return lib.PW_ANSWER_RAISED
        if reply is None:
            return lib.PW_ANSWER_UNDEFINED
        self._answer = (reply,)
        answer.text, answer.text_len = self._ffi.from_buffer(reply), len(reply)
        return lib.PW_ANSWER_TEXT

    def _interrupt(self) -> None:
        self._lib.pw_vm_interrupt(self._vm, 1)

    def close(self) -> None:
        """Give back its memory. Not while a job runs."""
        self.usable = False
        self._ffi.release(self._vm)
        self._handle = None  # it refers back to this object
