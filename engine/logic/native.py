"""Finding the built C path, and saying why there is none."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from importlib.machinery import EXTENSION_SUFFIXES, ExtensionFileLoader
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

from wasmtime import _bindings as w
from wasmtime import _ffi

NATIVE_VERSION = 3
MODULE = "pw_native"
BUILT = Path(__file__).parents[2] / "build" / "native"
REBUILD = "run: make setup"
_LAYOUTS = (
    w.wasmtime_func_t,
    w.wasmtime_memory_t,
    w.wasmtime_global_t,
    w.wasmtime_extern_t,
    w.wasmtime_val_t,
    w.wasmtime_val_raw_t,
    w.wasmtime_instance_t,
    w.wasmtime_linear_memory_t,
    w.wasmtime_memory_creator_t,
)


class NativeUnavailable(Exception):
    """There is no C path here; the message says why and what to do."""


class Native:
    """The loaded C path: cffi's `ffi` and `lib`. One a process; get it from `load_native`."""

    def __init__(self, module: Any) -> None:
        self.ffi = module.ffi
        self.lib = module.lib

    def error(self) -> str:
        """The calling thread's last failure."""
        return self.ffi.string(self.lib.pw_error()).decode("utf-8", "replace")


_loaded: Native | None = None


def load_native(host: Callable[..., int]) -> Native:
    """Load the C path, once. `host` becomes its `pw_host`. Raises NativeUnavailable."""
    global _loaded
    if _loaded is None:
        native = Native(_import_built())
        _check(native)
        if native.lib.pw_open(str(_ffi.filename).encode()) != 0:
            raise NativeUnavailable(f"{native.error()}; {REBUILD}")
        native.ffi.def_extern(name="pw_host", error=native.lib.PW_ANSWER_RAISED)(host)
        _loaded = native
    return _loaded


def _import_built() -> Any:
    if not sys.platform.startswith("linux"):
        raise NativeUnavailable(f"the C path needs Linux, this is {sys.platform}")
    paths = [BUILT / f"{MODULE}{suffix}" for suffix in EXTENSION_SUFFIXES]
    path = next((path for path in paths if path.exists()), None)
    if path is None:
        raise NativeUnavailable(f"{BUILT} holds no {MODULE} for this Python; {REBUILD}")
    spec = spec_from_file_location(MODULE, path, loader=ExtensionFileLoader(MODULE, str(path)))
    assert spec is not None and spec.loader is not None
    try:
        module = module_from_spec(spec)
        spec.loader.exec_module(module)
    except ImportError as error:
        raise NativeUnavailable(f"{path} does not load ({error}); {REBUILD}") from error
    return module


def _check(native: Native) -> None:
    """Refuse a library of another version, or one that sees wasmtime's structs otherwise than wasmtime-py."""
    built = getattr(native.lib, "PW_NATIVE_VERSION", None)
    if built != NATIVE_VERSION:
        raise NativeUnavailable(f"the built C path is version {built}, expected {NATIVE_VERSION}; {REBUILD}")
    count = native.ffi.new("size_t *")
    sizes = native.ffi.unpack(native.lib.pw_layouts(count), len(_LAYOUTS))
    expected = [ctypes.sizeof(layout) for layout in _LAYOUTS]
    if count[0] != len(_LAYOUTS) or sizes != expected:
        raise NativeUnavailable(f"native/pw_wasmtime.h has struct sizes {sizes}, wasmtime-py has {expected}")
