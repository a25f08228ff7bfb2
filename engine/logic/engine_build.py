"""The engine: quickjs.wasm compiled by wasmtime, and the flags that make it the same everywhere.

Nothing here touches a disk: the host brings the wasm file and, if it likes, a cache for the compiled module.
"""

from __future__ import annotations

import ctypes
from importlib import metadata
from typing import Any, Literal, Protocol

import wasmtime
from blake3 import blake3
from wasmtime import _bindings as w

from engine import limits
from engine.logic import c_vm
from engine.logic.engine_shape import misfit
from engine.logic.native import Native, NativeUnavailable
from engine.logic.vm import HOST_ABI_VERSION

Prefer = Literal["auto", "c", "python"]

FLAGS = "fuel nan-canonical relaxed-simd-deterministic no-threads"
TARGETS = ("pulley64",)
"""Code generators of the wasmtime that is built, beside the machine's own. It aborts the process over others that it
knows and does not have."""
_CACHE_DIGEST_BYTES = 32


class ModuleCache(Protocol):
    """Where compiled modules are kept between runs; checked before use, and losing it costs a second."""

    def get(self, key: str) -> bytes | None: ...

    def put(self, key: str, content: bytes) -> None: ...


class Engine:
    """A compiled engine. `identity` names all that a heap's bytes depend on; heads say which they need.

    `native` is the C path, or None: then `native_reason` says why, and jobs take the pure-Python path.
    """

    def __init__(self, wasm: bytes, *, cache: ModuleCache | None, prefer: Prefer, target: str | None) -> None:
        """See `load_engine`."""
        self.wasm = wasm
        self.wasm_hash = blake3(wasm).hexdigest()
        wasmtime_version = metadata.version("wasmtime")
        self.identity = (
            f"quickjs.wasm {self.wasm_hash} / wasmtime {wasmtime_version} / {FLAGS} / abi {HOST_ABI_VERSION}"
        )
        self.native, self.native_reason = _native(prefer)
        self.engine = wasmtime.Engine(_config(target, self.native))
        self.module = _compiled(self.engine, wasm, f"{self.identity} / {target or 'native'}", cache)
        if reason := misfit(self.module):
            raise EngineRefused(f"quickjs.wasm {self.wasm_hash}: {reason}")
        self.native_engine = self._link() if self.native is not None else None

    @property
    def path(self) -> Literal["c", "python"]:
        """Which path jobs take."""
        return "python" if self.native is None else "c"

    def _link(self) -> Any:
        assert self.native is not None
        ffi, lib = self.native.ffi, self.native.lib
        engine, module = (_pointer(ffi, ptr) for ptr in (self.engine.ptr(), self.module.ptr()))
        linked = lib.pw_engine_new(engine, module, limits.LINEAR_MEMORY_BYTES_MAX)
        if not linked:
            raise EngineRefused(f"quickjs.wasm {self.wasm_hash}: {self.native.error()}")
        return ffi.gc(linked, lib.pw_engine_delete)


class EngineRefused(Exception):
    """The wasm file is not an engine that we know, or the path that was asked for is not there."""


def is_named_by(identity: str, wasm: bytes) -> bool:
    """Whether an engine's identity is one of these bytes."""
    return identity.startswith(f"quickjs.wasm {blake3(wasm).hexdigest()} / ")


def load_engine(
    wasm: bytes, cache: ModuleCache | None = None, *, prefer: Prefer = "auto", target: str | None = None
) -> Engine:
    """Compile `wasm` (the bytes of quickjs.wasm), or take it compiled from the cache: 1 s, or 5 ms.

    `prefer` chooses the path of jobs: "c" or "python", "auto" is C where it was built. `target` names another
    code generator; "pulley64" is the portable interpreter: same bytes and fuel, 33 times slower. Raises
    EngineRefused.
    """
    if target is not None and target not in TARGETS:
        raise EngineRefused(f"{target} is no code generator of this wasmtime; {' or '.join(TARGETS)} is one")
    try:
        return Engine(wasm, cache=cache, prefer=prefer, target=target)
    except wasmtime.WasmtimeError as error:
        raise EngineRefused(f"quickjs.wasm of {len(wasm)} bytes: {error}") from None


def _native(prefer: Prefer) -> tuple[Native | None, str]:
    if prefer == "python":
        return None, "the pure-Python path was asked for"
    try:
        return c_vm.load(), ""
    except NativeUnavailable as why:
        if prefer == "c":
            raise EngineRefused(str(why)) from None
        return None, str(why)


def _pointer(ffi: Any, ptr: Any) -> Any:
    """A wasmtime-py object's C pointer, as cffi's."""
    return ffi.cast("void *", ctypes.cast(ptr, ctypes.c_void_p).value)


def _config(target: str | None, native: Native | None) -> wasmtime.Config:
    config = wasmtime.Config()
    if target is not None:
        config.target = target
    config.consume_fuel = True
    config.cranelift_nan_canonicalization = True
    config.wasm_relaxed_simd_deterministic = True
    config.wasm_threads = False
    config.wasm_multi_memory = False  # a heap is the one memory
    config.memory_init_cow = False  # the C path gives its own memories, which this mode does not allow
    # The async stack must be at least the wasm stack or the process aborts; wasmtime-py has only the latter.
    w.wasmtime_config_async_stack_size_set(config.ptr(), limits.STACK_BYTES_ASYNC)
    config.max_wasm_stack = limits.STACK_BYTES_WASM
    if native is not None:
        native.lib.pw_config_use_own_memory(_pointer(native.ffi, config.ptr()))
    return config


def _compiled(engine: wasmtime.Engine, wasm: bytes, name: str, cache: ModuleCache | None) -> wasmtime.Module:
    """The module, from the cache if what it holds is whole and fits this machine, else compiled and kept."""
    key = blake3(name.encode()).hexdigest()
    kept = cache.get(key) if cache is not None else None
    if kept is not None and blake3(kept[_CACHE_DIGEST_BYTES:]).digest() == kept[:_CACHE_DIGEST_BYTES]:
        try:
            return wasmtime.Module.deserialize(engine, kept[_CACHE_DIGEST_BYTES:])
        except wasmtime.WasmtimeError:
            pass  # compiled on a machine with other instructions
    module = wasmtime.Module(engine, wasm)
    if cache is not None:
        content = bytes(module.serialize())
        cache.put(key, blake3(content).digest() + content)
    return module
