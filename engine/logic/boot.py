"""Booting: the first heap, with the prelude in it. Always by the pure-Python path: one heap everywhere."""

from __future__ import annotations

import struct

from engine import limits
from engine.logic.engine_build import Engine
from engine.logic.image import HeapImage, HeapMeta
from engine.logic.machine import COLLECT_NAME, COMPILE_NAME, HOST_NAME, Machine, Stopped, Threw

SCRATCH_BYTES = 16
CONTEXT_BYTES_SEARCHED = 4096
_MASK64 = (1 << 64) - 1
_RAISE = b"""(() => {
  const kinds = { __proto__: null, Error, RangeError, ReferenceError, SyntaxError, TypeError };
  return (name, message) => { throw new (kinds[name] || kinds.Error)(message); };
})()"""


class BootError(Exception):
    """The prelude did not evaluate to a function; the message says why."""


def boot(
    engine: Engine, prelude: str, *, filename: str = "prelude", fuel: int = limits.DEVELOP_FUEL_MAX
) -> HeapImage:
    """The heap of a new world.

    `prelude` is one JavaScript expression whose value is a function `(host, compile, collect) => entry`;
    `entry` is the function that jobs call with a text. `host(op, text)` calls the job's HostCalls and returns a
    text or undefined. `compile(source, filename)` evaluates a script in the global scope and returns its value
    (or throws); positions in its stacks name `filename`. `collect("", "")` collects garbage. None is a global.
    Raises BootError.
    """
    machine = Machine(engine)
    try:
        return _booted(machine, prelude, filename, fuel)
    except Threw as threw:
        raise BootError(f"{filename}: {threw.text.decode('utf-8', 'replace')}") from None
    except Stopped as stopped:
        raise BootError(f"{filename}: {stopped.status} {stopped.detail}") from None
    finally:
        machine.close()


def _booted(machine: Machine, prelude: str, filename: str, fuel: int) -> HeapImage:
    machine.set_fuel(fuel)
    machine.call("_initialize")
    if machine.call("qjs_init") != 0:
        raise BootError("the engine could not make a runtime")
    machine.call("qjs_set_memory_limit", limits.HEAP_BYTES_MAX)
    machine.call("qjs_set_max_stack_size", limits.STACK_BYTES_JS)
    machine.call("qjs_set_interrupt_handler", 1)
    scratch_ptr = machine.call("wasm_malloc", SCRATCH_BYTES)
    undefined_ptr = machine.call("qjs_get_undefined")
    machine.meta = HeapMeta(machine.stack_ptr, 0, 0, undefined_ptr, scratch_ptr, 0)
    random_ptr = _find_random(machine)
    raise_ptr = _evaluate(machine, _RAISE, b"vm")
    make = _evaluate(machine, prelude.encode("utf-8"), filename.encode())
    given = [_host_function(machine, name) for name in (HOST_NAME, COMPILE_NAME, COLLECT_NAME)]
    entry_ptr = machine.invoke(make, *given)
    for value in (make, *given):
        machine.call("qjs_free_value", value)
    while machine.call("qjs_is_job_pending"):
        machine.call("qjs_execute_pending_job")
    machine.collect()
    meta = HeapMeta(machine.stack_ptr, entry_ptr, raise_ptr, undefined_ptr, scratch_ptr, random_ptr)
    return HeapImage.from_bytes(machine.read(0, machine.size_bytes), meta)


def _evaluate(machine: Machine, source: bytes, filename: bytes) -> int:
    """A handle of the value of a script. Raises Threw."""
    code, name = _c_string(machine, source), _c_string(machine, filename)
    value = machine.call("qjs_eval", code, len(source), name, 0)
    machine.call("wasm_free", name)
    machine.call("wasm_free", code)
    if machine.call("qjs_is_exception", value):
        machine.call("qjs_free_value", value)
        raise Threw(machine.take_exception())
    return value


def _c_string(machine: Machine, text: bytes) -> int:
    ptr = machine.call("wasm_malloc", len(text) + 1)
    machine.write(ptr, text + b"\0")
    return ptr


def _host_function(machine: Machine, name: bytes) -> int:
    ptr = _c_string(machine, name)
    function = machine.call("qjs_new_host_function", ptr, len(name), 2)
    machine.call("wasm_free", ptr)
    return function


def _find_random(machine: Machine) -> int:
    """Where the context keeps the state of `Math.random`: the one word that a draw moves by xorshift64*."""
    context_ptr = machine.call("qjs_get_context_ptr")
    before = machine.read(context_ptr, CONTEXT_BYTES_SEARCHED)
    machine.call("qjs_free_value", _evaluate(machine, b"Math.random()", b"vm"))
    after = machine.read(context_ptr, CONTEXT_BYTES_SEARCHED)
    words = range(0, CONTEXT_BYTES_SEARCHED, 8)
    found = [
        at
        for at, old, new in zip(words, _words(before), _words(after), strict=True)
        if old != 0 and new == _xorshift(old)
    ]
    if len(found) != 1:
        raise BootError(
            f"the state of Math.random was found {len(found)} times in this engine, expected once"
        )
    machine.write(context_ptr + found[0], before[found[0] : found[0] + 8])
    return context_ptr + found[0]


def _words(content: bytes) -> tuple[int, ...]:
    return struct.unpack(f"<{len(content) // 8}Q", content)


def _xorshift(state: int) -> int:
    state ^= state >> 12
    state ^= (state << 25) & _MASK64
    return state ^ (state >> 27)
