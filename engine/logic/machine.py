"""One instance of the engine, driven by ctypes: what booting and the pure-Python path run on.

It binds wasmtime's C API itself because wasmtime-py's wrappers keep the last exception of a callback in a
global, which threads would mix up.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable
from typing import Any, cast

import wasmtime
from wasmtime import _bindings as w

from engine import limits
from engine.limits import PAGE_BYTES, WASM_PAGE_BYTES
from engine.logic.engine_build import Engine
from engine.logic.image import HeapImage, HeapMeta
from engine.logic.vm import (
    HOST_CALLS_NESTED_MAX,
    GuestError,
    HostCalls,
    Status,
    VmFailure,
    trap_name,
    wtf8,
)

EXPORTS = (
    "_initialize",
    "qjs_call",
    "qjs_eval",
    "qjs_execute_pending_job",
    "qjs_free_cstring",
    "qjs_free_value",
    "qjs_get_context_ptr",
    "qjs_get_exception",
    "qjs_get_string_len",
    "qjs_get_undefined",
    "qjs_init",
    "qjs_is_exception",
    "qjs_is_job_pending",
    "qjs_is_string",
    "qjs_new_host_function",
    "qjs_new_string",
    "qjs_run_gc",
    "qjs_set_interrupt_handler",
    "qjs_set_max_stack_size",
    "qjs_set_memory_limit",
    "wasm_free",
    "wasm_malloc",
)
HOST_NAME = b"host"
COMPILE_NAME = b"compile"
COLLECT_NAME = b"collect"
INTERRUPT = wasmtime.TrapCode.INTERRUPT.value
WASI_BADF, WASI_NOSYS = 8, 52
_U32 = struct.Struct("<I")
_RAW_ARGUMENTS_MAX = 5
GuestText = tuple[int, int]
"""Address and size of a text in the guest."""
_NO_FINALIZER = ctypes.cast(0, ctypes.CFUNCTYPE(None, ctypes.c_void_p))


class Stopped(Exception):
    """The instance trapped: what the job ends as. The instance is of no further use."""

    def __init__(self, status: Status, detail: str) -> None:
        super().__init__(detail)
        self.status: Status = status
        self.detail = detail


class Threw(Exception):
    """A guest call threw; `text` is the error as WTF-8 text."""

    def __init__(self, text: bytes) -> None:
        super().__init__(text)
        self.text = text


class Machine:
    """One instance: its exports as methods of `call`, its memory, its imports. Used by the VM and by boot."""

    def __init__(self, engine: Engine) -> None:
        self.clock_ns = 0
        self.meta: HeapMeta | None = None
        self.host: HostCalls | None = None
        self.interrupted = False
        self.raised: BaseException | None = None
        self._stopped: Stopped | None = None
        self._host_calls_nested = 0
        self._store = wasmtime.Store(engine.engine)
        self._store.set_limits(memory_size=limits.LINEAR_MEMORY_BYTES_MAX)
        self._context = self._store._context()
        self._raw = (w.wasmtime_val_raw_t * _RAW_ARGUMENTS_MAX)()
        self._callbacks: list[Any] = []
        linker = wasmtime.Linker(engine.engine)
        for wanted in engine.module.imports:
            self._define(linker, wanted)
        self._store.set_fuel(limits.CALL_FUEL_MAX)
        instance = linker.instantiate(self._store, engine.module)
        exports = instance.exports(self._store)
        self._funcs: dict[str, Any] = {name: cast(Any, exports[name])._func for name in EXPORTS}
        self._memory = cast(Any, exports["memory"])._memory
        self._stack_pointer = cast(wasmtime.Global, exports["__stack_pointer"])

    # -- memory and registers

    @property
    def size_bytes(self) -> int:
        return int(w.wasmtime_memory_data_size(self._context, ctypes.byref(self._memory)))

    @property
    def stack_ptr(self) -> int:
        return int(self._stack_pointer.value(self._store))

    def address(self) -> int:
        """Where the linear memory begins in this process; growing may move it."""
        data = w.wasmtime_memory_data(self._context, ctypes.byref(self._memory))
        return ctypes.addressof(data.contents)

    def read(self, ptr: int, size: int) -> bytes:
        assert ptr >= 0 and ptr + size <= self.size_bytes, "the read lies inside the linear memory"
        return ctypes.string_at(self.address() + ptr, size)

    def write(self, ptr: int, content: bytes) -> None:
        assert ptr >= 0 and ptr + len(content) <= self.size_bytes, "the write lies inside the linear memory"
        ctypes.memmove(self.address() + ptr, content, len(content))

    def grow_to(self, size_bytes: int) -> None:
        more = (size_bytes - self.size_bytes) // WASM_PAGE_BYTES
        assert more >= 0, "an instance starts no larger than any image"
        before = ctypes.c_uint64()
        error = w.wasmtime_memory_grow(self._context, ctypes.byref(self._memory), more, ctypes.byref(before))
        if error:
            raise VmFailure(f"a VM of {size_bytes} bytes: {wasmtime.WasmtimeError._from_ptr(error)}")

    def restore(self, image: HeapImage) -> None:
        """Make memory and stack pointer those of the image."""
        assert self.size_bytes == image.size_bytes, "Invariant 14: a VM of exactly the image's size"
        address = self.address()
        ctypes.memmove(address, image.base.read(0, image.size_bytes), image.size_bytes)
        for number, page in image.page_map().items():
            ctypes.memmove(address + number * PAGE_BYTES, page, PAGE_BYTES)
        self._stack_pointer.set_value(self._store, image.meta.stack_ptr)
        assert self.stack_ptr == image.meta.stack_ptr, "Invariant 14"
        self.meta = image.meta

    # -- calling

    def set_fuel(self, fuel: int) -> None:
        self._store.set_fuel(fuel)

    def fuel_left(self) -> int:
        return self._store.get_fuel()

    def call(self, name: str, *arguments: int) -> int:
        """Call an export; 0 if it returns nothing. Raises Stopped when it traps."""
        raw = self._raw
        for index, argument in enumerate(arguments):
            raw[index].i32 = argument
        trap = ctypes.POINTER(w.wasm_trap_t)()
        func = ctypes.byref(self._funcs[name])
        error = w.wasmtime_func_call_unchecked(
            self._context, func, raw, _RAW_ARGUMENTS_MAX, ctypes.byref(trap)
        )
        if error:
            raise VmFailure(f"{name}: {wasmtime.WasmtimeError._from_ptr(error)}")
        if trap:
            raise self._stop_of(wasmtime.Trap._from_ptr(trap))
        return int(raw[0].i32) & 0xFFFFFFFF

    def _stop_of(self, trap: wasmtime.Trap) -> Stopped:
        if self._stopped is None:
            code = trap.trap_code
            if code is wasmtime.TrapCode.OUT_OF_FUEL:
                self._stopped = Stopped("fuel", "")
            else:
                self._stopped = Stopped("trap", trap_name(code.value if code is not None else None))
        return self._stopped

    def drain(self) -> None:
        """Run the microtasks that wait, and those that they make. Raises Threw."""
        while self.call("qjs_is_job_pending"):
            if self.call("qjs_execute_pending_job") & 0x80000000:
                raise Threw(self.take_exception())

    def collect(self) -> None:
        """Collect garbage and leave HEAP_SLACK_BYTES free, so that few jobs on this heap outgrow their VM.

        Finalisers run too: a kept heap must not hold work for the next job. Raises Threw.
        """
        self.call("qjs_run_gc")
        while self.call("qjs_is_job_pending"):
            self.drain()
            self.call("qjs_run_gc")
        slack = self.call("wasm_malloc", limits.HEAP_SLACK_BYTES)
        if slack:
            self.call("wasm_free", slack)

    def new_text(self, text: bytes) -> int:
        """A handle of a new string."""
        ptr = self.call("wasm_malloc", len(text) + 1)
        if ptr == 0:
            raise Stopped("memory", f"no room for a text of {len(text)} bytes")
        self.write(ptr, text + b"\0")
        value = self.call("qjs_new_string", ptr, len(text))
        self.call("wasm_free", ptr)
        return value

    def text_of(self, value: int) -> bytes | None:
        """The text of a value (converted as `String(value)` would), or None with an exception pending."""
        text = self.borrow_text(value)
        if text is None:
            return None
        content = self.read(*text)
        self.call("qjs_free_cstring", text[0])
        return content

    def borrow_text(self, value: int) -> GuestText | None:
        """A value's text, to be freed with qjs_free_cstring; None if it threw."""
        assert self.meta is not None
        ptr = self.call("qjs_get_string_len", value, self.meta.scratch_ptr)
        if ptr == 0:
            return None
        return ptr, _U32.unpack(self.read(self.meta.scratch_ptr, 4))[0]

    def invoke(self, function: int, *arguments: int) -> int:
        """Call a guest function with handles, which stay the caller's, for a handle. Raises Threw."""
        assert self.meta is not None
        scratch = self.meta.scratch_ptr
        self.write(scratch, b"".join(map(_U32.pack, arguments)))
        value = self.call("qjs_call", function, self.meta.undefined_ptr, len(arguments), scratch)
        if self.call("qjs_is_exception", value):
            self.call("qjs_free_value", value)
            raise Threw(self.take_exception())
        return value

    def take_exception(self) -> bytes:
        """The pending exception as text; it is pending no more."""
        error = self.call("qjs_get_exception")
        text = self.text_of(error)
        if text is None:
            self.call("qjs_free_value", self.call("qjs_get_exception"))
            text = b"an error that cannot be turned into text"
        self.call("qjs_free_value", error)
        return text

    # -- imports: each takes the raw arguments and returns the i32 result

    def _define(self, linker: wasmtime.Linker, wanted: wasmtime.ImportType) -> None:
        handler: Callable[[Any], int] = getattr(self, f"_import_{wanted.name}")
        signature = cast(wasmtime.FuncType, wanted.type)
        has_result = bool(signature.results)

        @w.wasmtime_func_unchecked_callback_t
        def callback(_env: Any, _caller: Any, raw: Any, _count: Any) -> int:
            try:
                result = handler(raw)
                if has_result:
                    raw[0].i32 = result
                return 0
            except Stopped as stopped:
                self._stopped = stopped
            except BaseException as raised:
                self.raised = raised
                self._stopped = Stopped("trap", f"host function raised {type(raised).__name__}")
            return ctypes.cast(w.wasmtime_trap_new_code(INTERRUPT), ctypes.c_void_p).value or 0

        self._callbacks.append(callback)  # the linker keeps only the address
        module, name = (wanted.module or "").encode(), (wanted.name or "").encode()
        error = w.wasmtime_linker_define_func_unchecked(
            linker.ptr(),
            ctypes.create_string_buffer(module),
            len(module),
            ctypes.create_string_buffer(name),
            len(name),
            signature.ptr(),
            callback,
            None,
            _NO_FINALIZER,
        )
        assert not error, f"{wanted.module}.{wanted.name} is defined once"

    def _import_host_call(self, raw: Any) -> int:
        name = self.read(raw[0].i32, raw[1].i32)
        if raw[3].i32 != 2:
            return self._throw_in_guest(GuestError("a host function takes two texts", "TypeError"))
        values = struct.unpack("<2I", self.read(raw[4].i32, 8))
        if self._host_calls_nested == HOST_CALLS_NESTED_MAX:
            return self._throw_in_guest(GuestError("Maximum call stack size exceeded", "RangeError"))
        first = self.borrow_text(values[0])
        second = self.borrow_text(values[1]) if first is not None else None
        if first is None or second is None:
            return 0
        self._host_calls_nested += 1
        try:
            if name == HOST_NAME:
                return self._host(first, second)
            return (self._collect if name == COLLECT_NAME else self._compile)(first, second)
        finally:
            self._host_calls_nested -= 1

    def _host(self, op: GuestText, text: GuestText) -> int:
        assert self.host is not None, "host functions run inside jobs"
        error: GuestError | None = None
        answer: bytes | None = None
        try:
            answer = self.host(self.read(*op).decode("utf-8", "replace"), self.read(*text))
        except GuestError as thrown:
            error = thrown
        self.call("qjs_free_cstring", text[0])
        self.call("qjs_free_cstring", op[0])
        if error is not None:
            return self._throw_in_guest(error)
        return self.call("qjs_get_undefined") if answer is None else self.new_text(answer)

    def _compile(self, source: GuestText, filename: GuestText) -> int:
        """Evaluate a script in the global scope; positions name `filename`. An exception stays pending."""
        value = self.call("qjs_eval", *source, filename[0], 0)
        self.call("qjs_free_cstring", filename[0])
        self.call("qjs_free_cstring", source[0])
        if self.call("qjs_is_exception", value):
            self.call("qjs_free_value", value)
            return 0
        return value

    def _collect(self, first: GuestText, second: GuestText) -> int:
        """Collect garbage in the midst of a job, at a point that the guest chose."""
        self.call("qjs_free_cstring", second[0])
        self.call("qjs_free_cstring", first[0])
        self.call("qjs_run_gc")
        return self.call("qjs_get_undefined")

    def _throw_in_guest(self, error: GuestError) -> int:
        """Leave the error pending in the guest: 0 tells the trampoline so."""
        assert self.meta is not None
        name, message = self.new_text(wtf8(error.name)), self.new_text(wtf8(error.message))
        self.write(self.meta.scratch_ptr, struct.pack("<2I", name, message))
        value = self.call("qjs_call", self.meta.raise_ptr, self.meta.undefined_ptr, 2, self.meta.scratch_ptr)
        self.call("qjs_free_value", name)
        self.call("qjs_free_value", message)
        self.call("qjs_free_value", value)
        return 0

    def _import_host_interrupt(self, _raw: Any) -> int:
        if self.interrupted:
            raise Stopped("interrupted", "")
        return 0

    def _import_host_promise_rejection(self, raw: Any) -> int:
        self.call("qjs_free_value", raw[0].i32)
        self.call("qjs_free_value", raw[1].i32)
        return 0

    def _import_host_module_normalize(self, _raw: Any) -> int:
        return 0

    def _import_host_module_load(self, _raw: Any) -> int:
        return 0

    def _import_host_get_timezone_offset(self, _raw: Any) -> int:
        return 0

    def _import_clock_time_get(self, raw: Any) -> int:
        self.write(raw[2].i32, struct.pack("<Q", self.clock_ns))
        return 0

    def _import_random_get(self, raw: Any) -> int:
        self.write(raw[0].i32, bytes(raw[1].i32))
        return 0

    def _import_fd_write(self, _raw: Any) -> int:
        return WASI_BADF

    def _import_fd_fdstat_get(self, _raw: Any) -> int:
        return WASI_BADF

    def _import_fd_close(self, _raw: Any) -> int:
        return WASI_NOSYS

    def _import_fd_seek(self, _raw: Any) -> int:
        return WASI_NOSYS

    def close(self) -> None:
        self._callbacks.clear()
        self._funcs.clear()
        self._store.close()
