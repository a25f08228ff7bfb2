"""What a VM job is: the contract that the C path and the pure-Python path keep to the byte.

A job restores a heap image into a VM of exactly its memory size, calls the entry function of the prelude
with a text, drains the microtasks, may collect garbage and take the image, and calls the entry once more
for the outcome, all of it inside one budget of fuel. Both paths make the same export calls with the same
arguments, so results, fuel and heap bytes are equal.

Texts cross as WTF-8: UTF-8 in which a lone surrogate is three bytes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, Protocol

import msgspec
import wasmtime
from fastrlock.rlock import FastRLock

from engine import limits
from engine.logic.image import HeapImage

HOST_ABI_VERSION = 2
HOST_CALLS_NESTED_MAX = 64
"""How deep `compile` may be called from what it compiles before the guest gets a RangeError."""
PARK_MARK = b"~"
"""How the outcome of an operation begins that waits for answers."""
vm_thread_stack_bytes = limits.STACK_BYTES_THREAD
"""What to give `threading.stack_size` for the threads that run jobs; only touched pages are real."""
STACK_BYTES_LEFT_MIN = limits.STACK_BYTES_WASM + limits.MIB
STACK_TOO_SMALL = (
    f"a thread that runs jobs needs {STACK_BYTES_LEFT_MIN} bytes of stack, for the guest's deepest recursion: "
    "call threading.stack_size(vm_thread_stack_bytes) before it is made"
)

_MASK64 = (1 << 64) - 1
Status = Literal["ok", "threw", "fuel", "memory", "trap", "interrupted"]


class GuestError(Exception):
    """Raised by a host function to throw in the guest; `name` is the error's constructor there."""

    def __init__(self, message: str, name: str = "Error") -> None:
        super().__init__(message)
        self.message = message
        self.name = name


class VmFailure(RuntimeError):
    """What a job needs is not there (stack, memory, address space), or a bug of ours: not the world's fault."""


class HostCalls(Protocol):
    """The host functions of one job: `__host(op, text)` in the guest arrives here.

    Returns WTF-8 text, or None for `undefined`. A GuestError is thrown in the guest. Any other Exception
    leaves `run` after the VM is discarded; a BaseException (KeyboardInterrupt, SystemExit, CancelledError)
    ends the job as a `trap` whose `raised` holds it.
    """

    def __call__(self, op: str, text: bytes, /) -> bytes | None: ...


class Interrupt:
    """A watchdog's handle on one job: `fire`, from any thread, stops it, also when it has not begun."""

    def __init__(self) -> None:
        self.fired = False
        self._lock = FastRLock()
        self._stop: Callable[[], None] | None = None

    def fire(self) -> None:
        with self._lock:  # so that it never reaches the VM's next job
            self.fired = True
            if self._stop is not None:
                self._stop()

    def attach(self, stop: Callable[[], None] | None) -> None:
        """A VM says how it is stopped or, at the end of the job, that it no longer can be."""
        with self._lock:
            self._stop = stop
            if stop is not None and self.fired:
                stop()


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """One operation on one heap.

    `request` goes to the entry function; `collect_request`, if given, goes to it after the microtasks (and
    after the image was taken) and its answer is the job's text. `clock_ms` is what `Date.now` and
    `performance.now` say throughout. `seed` (64 bits) sets `Math.random`; None goes on from the heap's own
    state. `fuel` is the budget of the whole job. `keep_heap` returns the heap as it is after the
    microtasks; `collect` collects garbage first and leaves HEAP_SLACK_BYTES free. `park`, instead, returns the
    heap as it is after the outcome was collected, if that begins with PARK_MARK: another job goes on from there.
    """

    image: HeapImage
    request: bytes
    collect_request: bytes | None = None
    clock_ms: int = 0
    seed: int | None = None
    fuel: int
    host: HostCalls
    keep_heap: bool = False
    collect: bool = False
    park: bool = False
    interrupt: Interrupt | None = None

    def parks(self, text: bytes | None) -> bool:
        """Whether the heap is kept after the outcome was collected, which is `text`."""
        return self.park and text is not None and text.startswith(PARK_MARK)


class JobResult(msgspec.Struct, frozen=True, kw_only=True):
    """How a job ended.

    `ok`: `text` is the entry's answer (None if it was not a string). `threw`: the entry itself threw,
    `text` is the error as text. `fuel`, `memory`: a budget ended. `interrupted`: the watchdog's flag was
    seen. `trap`: a fault of the engine or a host function that raised, see `detail` and `raised`.
    `fuel_used` is what was spent until then; `image` is there when the status is ok and the heap was to be
    kept; `grew` says that the memory grew.
    """

    status: Status
    text: bytes | None = None
    detail: str = ""
    fuel_used: int = 0
    image: HeapImage | None = None
    grew: bool = False
    raised: BaseException | None = None


class Vm(Protocol):
    """One instance of the engine, good for images of exactly `size_bytes`; one job at a time."""

    @property
    def size_bytes(self) -> int: ...

    @property
    def usable(self) -> bool:
        """False once it trapped or grew: it must not be used again (Invariant 15)."""

    def is_warm(self, image: HeapImage) -> bool:
        """Whether it last ran a heap on the same base, which makes a job several times cheaper."""

    def run(self, job: Job) -> JobResult: ...

    def close(self) -> None:
        """Give back its memory. Not while a job runs."""


def wtf8(text: str) -> bytes:
    """`text` as it crosses into the guest."""
    return text.encode("utf-8", "surrogatepass")


def text_of(crossed: bytes) -> str:
    """What came out of the guest, as text; lone surrogates survive."""
    return crossed.decode("utf-8", "surrogatepass")


def random_state(seed: int) -> int:
    """The 64-bit, never zero, state of `Math.random` for a seed: neighbouring seeds give unlike sequences."""
    mixed = (seed + 0x9E3779B97F4A7C15) & _MASK64
    mixed = ((mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9) & _MASK64
    mixed = ((mixed ^ (mixed >> 27)) * 0x94D049BB133111EB) & _MASK64
    return (mixed ^ (mixed >> 31)) or 1


def threw_status(error: bytes) -> Status:
    """The status of a job whose entry threw this."""
    return "memory" if error.startswith(b"InternalError: out of memory") else "threw"


def trap_name(code: int | None) -> str:
    """What wasmtime calls a trap, for people: "stack overflow"."""
    return wasmtime.TrapCode(code).name.lower().replace("_", " ") if code is not None else "unknown trap"
