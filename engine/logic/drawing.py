"""Drawing and shrinking, by Hypothesis: plans of generators as strategies. Imported when a draw is wanted, not before.

Nothing but the plan and the seed decides what is drawn: no files, no database, no clock, no constants of this process.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from contextvars import ContextVar
from typing import Any, NamedTuple

from hypothesis import HealthCheck, Phase, Verbosity, assume, core, given, seed, settings
from hypothesis import strategies as st
from hypothesis.errors import HypothesisException, Unsatisfiable
from hypothesis.internal.conjecture import providers
from hypothesis.internal.intervalsets import IntervalSet
from hypothesis.strategies._internal.strings import OneCharStringStrategy, TextStrategy
from sortedcontainers import SortedSet

from engine import limits

DAY_MS = 86_400_000
YEAR_2000_MS = 946_684_800_000
RECURSION_DEPTH_MAX = 4
JAVASCRIPT = providers.Constants(
    integers=SortedSet([2**31 - 1, 2**31, -(2**31), 2**32 - 1, 2**32, 2**53 - 1, 1 - 2**53, 946_684_800_000]),
    floats=SortedSet([0.1, 0.30000000000000004, 1e21, 1e-7, 2.0**53, 5e-324, 1.7976931348623157e308, -0.0]),
    bytes=SortedSet(),
    strings=SortedSet(
        [
            "__proto__",
            "constructor",
            "toString",
            "hasOwnProperty",
            "length",
            "undefined",
            "null",
            "NaN",
            "-0",
            "[object Object]",
            "</script><script>",
            "${x}`'\"\\",
            "%s%n%00",
            "\ud800",
            "\udfff\ud800",
            "\U0001f469\u200d\U0001f4bb",
            "e\u0301",
            "\u202eabc",
            "\u2028",
            "\ufeff",
            "\u0000",
            "\u01c5\u00df\u0130",
            "\ufdfa",
            " \t\r\n\u00a0",
        ]
    ),
)
"""What JavaScript is known to stumble over; some of the draws are these."""
_is_ours: ContextVar[bool] = ContextVar("is_ours", default=False)


def _keep_to_itself() -> None:
    """Take from Hypothesis, in searches of ours, what it does to or takes from the process around it."""
    constants_of_process, seeded_global_random = providers._get_local_constants, core.deterministic_PRNG

    def constants() -> (
        providers.Constants
    ):  # it reads the source files of the process and keeps what it finds
        return JAVASCRIPT if _is_ours.get() else constants_of_process()

    def random_state() -> AbstractContextManager[None]:  # other threads draw from the global one meanwhile
        return nullcontext() if _is_ours.get() else seeded_global_random()

    providers._get_local_constants = constants
    core.deterministic_PRNG = random_state  # type: ignore[assignment]


_keep_to_itself()
_CHARACTERS = OneCharStringStrategy(
    IntervalSet([(0, 0x10FFFF)])
)  # `st.characters` would keep a table in a file
_QUIET = settings(
    max_examples=limits.GENERATOR_DRAWS_MAX,
    database=None,
    deadline=None,
    derandomize=False,
    report_multiple_bugs=False,
    suppress_health_check=list(HealthCheck),
    verbosity=Verbosity.quiet,
    print_blob=False,
    backend="hypothesis",
    phases=(Phase.generate, Phase.shrink),
)
Strategy = st.SearchStrategy[Any]


class PlanError(Exception):
    """A plan that no strategy can follow, or that leads to nothing; the message says why."""


class Node(NamedTuple):
    """One node of a plan; `of` and `target` are the numbers of other nodes. See `prelude/checks.js`."""

    kind: str
    of: tuple[int, ...]
    bounds: tuple[Any, ...]
    target: int | None


Plan = Sequence[Node]
LetsThrough = Callable[[int, str], bool]
"""Whether the filter of that number lets through what was drawn (JSON text) for the node below it."""


class _Stop(BaseException):
    """Ends a search from inside: Hypothesis takes it for no failure."""


class _Found(Exception):
    """A draw that is wanted: what Hypothesis shrinks."""


def strategy_of(plan: Plan, lets_through: LetsThrough) -> Strategy:
    """The strategy of the last node. Raises PlanError."""
    if len(plan) > limits.GENERATOR_NODES_MAX:
        raise PlanError(
            f"the generator has {len(plan)} parts; at most {limits.GENERATOR_NODES_MAX} are allowed"
        )
    _check_depth(plan)
    strategy = _Builder(plan, lets_through).build(len(plan) - 1)
    try:
        strategy.validate()
    except HypothesisException as error:
        raise PlanError(str(error)) from None
    return strategy


def visit_draws(strategy: Strategy, seed_: int, visit: Callable[[str], bool | None]) -> None:
    """Show `visit` draws, as JSON text, until it returns True; None says that a draw leads to nothing.

    Raises PlanError when hardly any draw leads to something.
    """

    def body(drawn: Any) -> None:
        answer = visit(_text(drawn))
        if answer:
            raise _Stop
        assume(answer is not None)

    try:
        _search(strategy, seed_, body)
    except _Stop:
        return


def shrink_draw(strategy: Strategy, seed_: int, is_wanted: Callable[[str], bool | None]) -> str | None:
    """The smallest wanted draw, JSON text, that the draws of this seed lead to, or None.

    `is_wanted` must answer the same each time it is asked the same; None says that a draw leads to nothing.
    """
    found: list[str] = []

    def body(drawn: Any) -> None:
        answer = is_wanted(_text(drawn))
        assume(answer is not None)
        if answer:
            found[:] = [_text(drawn)]
            raise _Found

    try:
        _search(strategy, seed_, body)
    except _Found:
        return found[0]
    except PlanError:
        pass
    return None


def _search(strategy: Strategy, seed_: int, body: Callable[[Any], None]) -> None:
    token = _is_ours.set(True)
    try:
        seed(seed_)(_QUIET(given(strategy)(body)))()
    except Unsatisfiable:
        raise PlanError("hardly anything can be drawn: its filters let too little through") from None
    except HypothesisException as error:
        raise PlanError(f"nothing can be drawn: {error}") from None
    finally:
        _is_ours.reset(token)


def _text(drawn: Any) -> str:
    return json.dumps(drawn, allow_nan=False, separators=(",", ":"))


def _check_depth(plan: Plan) -> None:
    depths: list[int] = []
    for node in plan:
        depths.append(1 + max((depths[child] for child in node.of), default=0))
    if depths[-1] > limits.GENERATOR_DEPTH_MAX:
        raise PlanError(
            f"the generator is {depths[-1]} parts deep; at most {limits.GENERATOR_DEPTH_MAX} are allowed"
        )


class _Builder:
    """Strategies of the nodes of a plan. What holds a `self` is built anew for each unfolding of its recursion."""

    def __init__(self, plan: Plan, lets_through: LetsThrough) -> None:
        self._plan = plan
        self._lets_through = lets_through
        self._selves = _free_selves(plan)
        self._closed: dict[int, Strategy] = {}
        self._built = 0

    def build(self, number: int) -> Strategy:
        return self._build(number, {}, self._closed)

    def _build(self, number: int, bound: dict[int, Strategy], open_: dict[int, Strategy]) -> Strategy:
        kept = open_ if self._selves[number] else self._closed
        if number not in kept:
            self._built += 1
            if self._built > limits.GENERATOR_STRATEGIES_MAX:
                raise PlanError("the generator's recursions unfold too far: nest fewer of them")
            node = self._plan[number]
            if node.kind == "recursive":
                kept[number] = self._recursive(number, bound, kept)
            elif node.kind == "self":
                kept[number] = self._bound(node, bound)
            else:
                below = [self._build(child, bound, open_) for child in node.of]
                kept[number] = self._simple(number, node, below)
        return kept[number]

    def _bound(self, node: Node, bound: dict[int, Strategy]) -> Strategy:
        if node.target is None or node.target not in bound:
            raise PlanError("gen.recursive: its `self` is used outside of it")
        return bound[node.target]

    def _recursive(self, number: int, bound: dict[int, Strategy], open_: dict[int, Strategy]) -> Strategy:
        """A value is at most so deep: `st.recursive` builds and draws far more where recursions nest."""
        base, step = self._plan[number].of
        ended = st.tuples(st.just(0), self._build(base, bound, open_))
        smaller: Strategy = ended
        for _ in range(RECURSION_DEPTH_MAX):
            inside = self._build(step, {**bound, number: smaller}, {})
            smaller = st.one_of(ended, st.tuples(st.just(1), inside))
        return smaller

    def _simple(self, number: int, node: Node, below: list[Strategy]) -> Strategy:
        match node.kind:
            case "int":
                return st.integers(*node.bounds)
            case "float":
                return st.floats(*map(float, node.bounds), allow_nan=False, allow_infinity=False)
            case "bool":
                return st.booleans()
            case "text":
                return _texts(*node.bounds)
            case "date":
                return _dates(*node.bounds)
            case "constant":
                return st.none()
            case "oneOf":
                return st.one_of([st.tuples(st.just(at), choice) for at, choice in enumerate(below)])
            case "optional":
                return st.none() | st.tuples(below[0])
            case "array":
                return _lists(below[0], *node.bounds)
            case "tuple" | "record":
                return st.tuples(*below)
            case "map":
                return _lists(st.tuples(*below), *node.bounds, unique_by=lambda entry: _text(entry[0]))
            case "mapped":
                return below[0]
            case "filtered":
                return below[0].filter(lambda drawn: self._lets_through(number, _text(drawn)))
        raise AssertionError(f"a node of kind {node.kind}")


def _free_selves(plan: Plan) -> list[frozenset[int]]:
    """The recursions that each node refers to by `self` and is inside of."""
    free: list[frozenset[int]] = []
    for number, node in enumerate(plan):
        inside = frozenset() if node.target is None else frozenset({node.target})
        free.append(inside.union(*(free[child] for child in node.of)) - {number})
    return free


def _lists(each: Strategy, length_min: int, length_max: int | None, **options: Any) -> Strategy:
    return st.lists(each, min_size=length_min, max_size=length_max, **options)


def _texts(units_min: int, units_max: int | None) -> Strategy:
    """Texts whose length, as JavaScript counts, is in between."""
    texts: Strategy = TextStrategy(_CHARACTERS, min_size=units_min, max_size=units_max)
    return texts if units_max is None else texts.map(lambda text: _fitted(text, units_min, units_max))


def _fitted(text: str, units_min: int, units_max: int) -> str:
    """What of a text fits, with no character cut in two and at least `units_min` units long."""
    units = 0
    for at, char in enumerate(text):
        wider = units + (2 if char > "\uffff" else 1)
        if wider > units_max:
            return text[:at] + "0" * (units_min - units)
        units = wider
    return text


def _dates(ms_min: int, ms_max: int) -> Strategy:
    """Milliseconds since 1970; the smallest is the one next to 2000-01-01, and whole days are smaller than others."""
    origin = min(max(YEAR_2000_MS, ms_min), ms_max)
    days = st.integers(-((origin - ms_min) // DAY_MS), (ms_max - origin) // DAY_MS)
    return st.one_of(
        days.map(lambda day: origin + day * DAY_MS),
        st.integers(ms_min - origin, ms_max - origin).map(lambda ms: origin + ms),
    )
