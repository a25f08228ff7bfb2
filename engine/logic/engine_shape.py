"""What a wasm file must be to be run as an engine: its exports and imports, with their types.

Jobs call exports without a check of types, so a binary that somebody else brought is compared before it is run.
"""

from __future__ import annotations

import wasmtime

_I32, _I64 = "i32", "i64"
_EXPORTS = {  # by name: how many i32 each takes, and gives
    "_initialize": (0, 0),
    "qjs_call": (4, 1),
    "qjs_eval": (4, 1),
    "qjs_execute_pending_job": (0, 1),
    "qjs_free_cstring": (1, 0),
    "qjs_free_value": (1, 0),
    "qjs_get_context_ptr": (0, 1),
    "qjs_get_exception": (0, 1),
    "qjs_get_string_len": (2, 1),
    "qjs_get_undefined": (0, 1),
    "qjs_init": (0, 1),
    "qjs_is_exception": (1, 1),
    "qjs_is_job_pending": (0, 1),
    "qjs_is_string": (1, 1),
    "qjs_new_host_function": (3, 1),
    "qjs_new_string": (2, 1),
    "qjs_run_gc": (0, 0),
    "qjs_set_interrupt_handler": (1, 0),
    "qjs_set_max_stack_size": (1, 0),
    "qjs_set_memory_limit": (1, 0),
    "wasm_free": (1, 0),
    "wasm_malloc": (1, 1),
}
_IMPORTS = {  # by module and name: what each takes; all but one give an i32
    ("env", "host_call"): [_I32] * 5,
    ("env", "host_get_timezone_offset"): [_I32] * 2,
    ("env", "host_interrupt"): [],
    ("env", "host_module_load"): [_I32] * 2,
    ("env", "host_module_normalize"): [_I32] * 2,
    ("env", "host_promise_rejection"): [_I32] * 3,
    ("wasi_snapshot_preview1", "clock_time_get"): [_I32, _I64, _I32],
    ("wasi_snapshot_preview1", "fd_close"): [_I32],
    ("wasi_snapshot_preview1", "fd_fdstat_get"): [_I32] * 2,
    ("wasi_snapshot_preview1", "fd_seek"): [_I32, _I64, _I32, _I32],
    ("wasi_snapshot_preview1", "fd_write"): [_I32] * 4,
    ("wasi_snapshot_preview1", "random_get"): [_I32] * 2,
}
_GIVES_NOTHING = ("env", "host_promise_rejection")


def misfit(module: wasmtime.Module) -> str | None:
    """Why a module is no engine, or None where it has the shape of one."""
    exports = {export.name: export.type for export in module.exports}
    for name, (takes, gives) in _EXPORTS.items():
        if not _is_function(exports.get(name), [_I32] * takes, [_I32] * gives):
            return f"it does not export {name} as an engine does"
    memory, stack = exports.get("memory"), exports.get("__stack_pointer")
    if not isinstance(memory, wasmtime.MemoryType) or memory.is_64:
        return "it does not export a memory of 32 bits"
    if not isinstance(stack, wasmtime.GlobalType) or str(stack.content) != _I32 or not stack.mutable:
        return "it does not export __stack_pointer as an engine does"
    for wanted in module.imports:
        place = (wanted.module, wanted.name or "")
        gives_types = [] if place == _GIVES_NOTHING else [_I32]
        if place not in _IMPORTS or not _is_function(wanted.type, _IMPORTS[place], gives_types):
            return f"it imports {wanted.module}.{wanted.name}, which engines here are not given"
    return None


def _is_function(found: object, takes: list[str], gives: list[str]) -> bool:
    return (
        isinstance(found, wasmtime.FuncType)
        and list(map(str, found.params)) == takes
        and list(map(str, found.results)) == gives
    )
