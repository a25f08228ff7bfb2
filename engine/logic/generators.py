"""Generators: expressions that say how the inputs of a check are drawn, evaluated on scratch copies of a heap."""

from __future__ import annotations

import json
from collections.abc import Callable

from engine import limits
from engine.logic.attempt import CLOCK_MS, seed_of
from engine.logic.call import OUTCOME, program_request
from engine.logic.failures import ended_early, programs_of, readable_error
from engine.logic.image import HeapImage
from engine.logic.jobs import RejectionKind, Runs, SourceLookup
from engine.logic.source import SourceError, expression_program
from engine.logic.vm import GuestError, Interrupt, Job, text_of


class GeneratorError(Exception):
    """No inputs come of a generator: it does not evaluate, throws, or leads to nothing."""

    def __init__(self, kind: RejectionKind, reason: str) -> None:
        super().__init__(reason)
        self.kind = kind
        self.reason = reason


class Generator:
    """A generator evaluated on a heap: `seed` and heap decide what it draws, to the byte."""

    def __init__(
        self,
        pool: Runs,
        image: HeapImage,
        expression: str,
        *,
        seed: int,
        source_lookup: SourceLookup,
        interrupt: Interrupt | None = None,
    ) -> None:
        """Raises GeneratorError."""
        try:
            program = expression_program(expression, params="gen")
        except SourceError as error:
            raise GeneratorError("syntax", f"the generator: {error}") from None
        self._pool = pool
        self._image = image
        self._seed = seed
        self._guest_seed = seed_of(image, expression)
        self._programs = programs_of(source_lookup, program)
        self._interrupt = interrupt
        self._fuel_left = limits.GENERATOR_FUEL_MAX
        self._values: dict[str, bytes | None] = {}
        self._lets: dict[tuple[int, str], bool] = {}
        self._error: GeneratorError | None = None  # the first: what threw leads to nothing
        plan = self._ask(program_request(b"tg", program), keep_heap=True)
        from engine.logic import drawing  # Hypothesis takes long to import, and few processes need it

        self._drawing = drawing
        nodes = [
            drawing.Node(node["kind"], tuple(node["of"]), tuple(node["bounds"]), node["target"])
            for node in json.loads(text_of(plan))
        ]
        try:
            self._strategy = drawing.strategy_of(nodes, self._lets_through)
        except drawing.PlanError as error:
            raise _refused(error) from None

    def draw(self, count: int) -> tuple[bytes, ...]:
        """So many inputs, JSON texts, all different; fewer if there are no more. Raises GeneratorError."""
        inputs: dict[bytes, None] = {}

        def visit(drawn: str) -> bool | None:
            value = self._value(drawn)
            if value is not None:
                inputs[value] = None
            is_over = self._error is not None or len(inputs) == count
            return is_over or (None if value is None else False)

        try:
            self._drawing.visit_draws(self._strategy, self._seed, visit)
        except self._drawing.PlanError as error:
            raise self._error or _refused(error) from None
        if self._error is not None:
            raise self._error
        return tuple(inputs)

    def smallest(self, is_wanted: Callable[[bytes], bool]) -> bytes | None:
        """The smallest input for which `is_wanted`, starting from those that `draw` gives, or None.

        `is_wanted` must answer the same for the same input.
        """

        def is_wanted_draw(drawn: str) -> bool | None:
            value = self._value(drawn)
            return None if value is None else is_wanted(value)

        drawn = self._drawing.shrink_draw(self._strategy, self._seed, is_wanted_draw)
        return None if drawn is None else self._values[drawn]

    def _value(self, drawn: str) -> bytes | None:
        """What the generator makes of a draw; None if it throws or makes what is too large to be an input."""
        if drawn not in self._values:
            value = self._answer(b"tm" + drawn.encode())
            is_input = value is not None and len(value) <= limits.CHECK_INPUT_BYTES_MAX
            self._values[drawn] = value if is_input else None
        return self._values[drawn]

    def _lets_through(self, number: int, drawn: str) -> bool:
        key = (number, drawn)
        if key not in self._lets:
            self._lets[key] = self._answer(b"tp%d %s" % (number, drawn.encode())) == b"true"
        return self._lets[key]

    def _answer(self, request: bytes) -> bytes | None:
        if self._fuel_left <= 0:
            return None
        try:
            return self._ask(request)
        except GeneratorError as error:
            self._error = self._error or error
            return None

    def _ask(self, request: bytes, *, keep_heap: bool = False) -> bytes:
        """The JSON text that the guest answers. Raises GeneratorError."""
        result = self._pool.run(
            Job(
                image=self._image,
                request=request,
                collect_request=OUTCOME,
                clock_ms=CLOCK_MS,
                seed=self._guest_seed,
                fuel=self._fuel_left,
                host=_no_host,
                keep_heap=keep_heap,
                interrupt=self._interrupt,
            )
        )
        self._fuel_left -= result.fuel_used
        ended = ended_early(result)
        if ended is not None:
            raise GeneratorError(_rejection_kind(ended[0]), f"the generator: {ended[1]}")
        mark, answer = (result.text or b"")[:1], (result.text or b"")[1:]
        if mark == b"+":
            if keep_heap:
                assert result.image is not None, "a job that is ok keeps its heap"
                self._image = result.image
            return answer
        error = readable_error(text_of(answer), self._programs)
        raise GeneratorError("syntax" if mark == b"!" else "threw", f"the generator: {error}")


def _no_host(op: str, _text: bytes) -> bytes | None:
    """A generator has no data and no worlds, and nobody reads what it prints."""
    if op.startswith("console"):
        return None
    raise GuestError(f"{op} works in calls only, not while the inputs of a check are drawn", "TypeError")


def _rejection_kind(kind: str) -> RejectionKind:
    kinds: dict[str, RejectionKind] = {
        "threw": "threw",
        "budget": "budget",
        "memory": "memory",
        "trap": "trap",
    }
    return kinds[kind]


def _refused(error: Exception) -> GeneratorError:
    return GeneratorError("threw", f"the generator: {error}")
