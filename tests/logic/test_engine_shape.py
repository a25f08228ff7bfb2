"""A wasm file that somebody else brought is an engine only where it has an engine's exports and imports."""

from __future__ import annotations

import pytest
import wasmtime

from engine.logic import EngineRefused, load_engine
from engine.logic.engine_shape import _EXPORTS, misfit
from engine.logic.machine import EXPORTS


def _module(*more: str, without: str = "", types: dict[str, str] | None = None) -> bytes:
    """A module that exports what an engine does, each function doing nothing, but for what is asked."""
    parts = ['(memory (export "memory") 18)', '(global (export "__stack_pointer") (mut i32) (i32.const 0))']
    for name, (takes, gives) in _EXPORTS.items():
        signature = (types or {}).get(name, "(param i32) " * takes + "(result i32) " * gives)
        parts.append(f'(func (export "{name}") {signature} unreachable)')
    kept = [part for part in parts if not without or without not in part]
    return wasmtime.wat2wasm(f"(module {' '.join(more)} {' '.join(kept)})")


def test_what_jobs_call_is_what_is_looked_at():
    assert set(EXPORTS) == set(_EXPORTS)


def test_a_module_of_the_right_shape_is_taken():
    assert misfit(wasmtime.Module(wasmtime.Engine(), _module())) is None


@pytest.mark.parametrize("prefer", ["c", "python"])
@pytest.mark.parametrize(
    ("wasm", "says"),
    [
        (b"\0asm\1\0\0\0", "does not export _initialize"),
        (_module(without='"qjs_call"'), "does not export qjs_call"),
        (_module(types={"qjs_call": "(param i32 i32) (result i32)"}), "does not export qjs_call"),
        (_module(types={"qjs_eval": "(param i32 i32 i32 i32) (result i64)"}), "does not export qjs_eval"),
        (_module(without='"memory"'), "does not export a memory"),
        (_module(without='"__stack_pointer"'), "does not export __stack_pointer"),
        (_module('(import "env" "secrets" (func (result i32)))'), "imports env.secrets"),
        (_module('(import "env" "host_interrupt" (func))'), "imports env.host_interrupt"),
    ],
)
def test_what_is_no_engine_is_refused_before_it_runs(wasm, says, prefer):
    with pytest.raises(EngineRefused, match=says):
        load_engine(wasm, prefer=prefer)
