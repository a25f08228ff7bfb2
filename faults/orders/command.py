"""`python -m faults orders`: try every order of the small scenarios, draw some of the large ones, or live one."""

from __future__ import annotations

import argparse
import sys
import time
import traceback
from collections.abc import Sequence

from engine.host.shell import deep_thread
from faults.orders.explore import Explored, Failing, explore, explore_again
from faults.orders.pct import Drawn, draw
from faults.orders.place_scenarios import HOST_SCENARIOS
from faults.orders.scenarios import HUB_SCENARIOS, Scenario, judge
from faults.orders.shrink import NoSuchChoice, Outcome, live, shrink
from faults.orders.telling import tell

SCENARIOS = HUB_SCENARIOS | HOST_SCENARIOS
STATES_MAX_ON_A_HOST = 1_000


def main(argv: Sequence[str]) -> int:
    """0 where nothing failed, 1 where something did, 2 where nothing could be asked so."""
    parser = argparse.ArgumentParser(prog="python -m faults orders", description=__doc__)
    parser.add_argument("scenario", nargs="?", help=f"one of {', '.join(SCENARIOS)}; all of them if left out")
    parser.add_argument("--pct", type=int, metavar="RUNS", help="draw so many orders of the large scenario")
    parser.add_argument("--seed", type=int, default=0, help="of the first of them")
    parser.add_argument(
        "--states", type=int, metavar="MAX", help="enter so many states of the small one at most"
    )
    parser.add_argument("--order", metavar="CHOICES", help="live this order, as a failure prints it")
    parser.add_argument("--large", action="store_true", help="the order is one of the large scenario")
    asked = parser.parse_args(argv)
    if asked.scenario is not None and asked.scenario not in SCENARIOS:
        parser.error(f"scenario: there is no {asked.scenario!r}; there are {', '.join(SCENARIOS)}")
    for option, number in (("--pct", asked.pct), ("--states", asked.states)):
        if number is not None and number < 1:
            parser.error(f"{option}: {number} is too few; ask for at least 1")
    if asked.order is not None:
        if asked.scenario is None:
            parser.error("--order: say of which scenario")
        return _live(parser, asked.scenario, asked.order, large=asked.large)
    names = [asked.scenario] if asked.scenario is not None else list(SCENARIOS)
    failed = [name for name in names if not _try(name, asked.pct, asked.seed, asked.states)]
    return 1 if failed else 0


def try_orders(scenario: Scenario, *, states_max: int | None = None) -> Explored:
    """Every order of the small one; of a whole host's no more than some states, which are reached one by one."""
    if scenario.on_a_host:
        states_max = states_max or STATES_MAX_ON_A_HOST
        return deep_thread().run(
            lambda: explore_again(scenario.small(), lambda life: judge(scenario, life), states_max=states_max)
        )
    return explore(scenario.small(), lambda life: judge(scenario, life), states_max=states_max or sys.maxsize)


def draw_orders(scenario: Scenario, *, runs: int, seed: int) -> Drawn:
    """Some orders of the large one."""
    return deep_thread().run(
        lambda: draw(scenario.large, lambda life: judge(scenario, life), runs=runs, seed=seed)
    )


def _try(name: str, runs: int | None, seed: int, states_max: int | None) -> bool:
    """Whether every order that was tried holds."""
    scenario = SCENARIOS[name]
    began = time.process_time()
    failing: Failing | None
    if runs is None:
        explored = try_orders(scenario, states_max=states_max)
        states, failing = explored.states, explored.failing
        what = f"{states} states, {explored.transitions} transitions, {explored.ends} ends"
        what += "" if explored.complete or failing else ", and there are more"
    else:
        drawn = draw_orders(scenario, runs=runs, seed=seed)
        states, failing = drawn.states, drawn.failing
        what = f"{drawn.runs} runs from seed {seed}, {states} states, {drawn.transitions} transitions"
    seconds = time.process_time() - began
    print(f"{name}: {what}, {seconds:.2f} s ({states / max(seconds, 1e-9):,.0f} states/s)", flush=True)
    if failing is None:
        return True
    print(deep_thread().run(lambda: report(name, scenario, failing, large=runs is not None)))
    return False


def report(name: str, scenario: Scenario, failing: Failing, *, large: bool) -> str:
    """The failing order at its shortest: what it breaks, what happens, and the command that lives it again."""
    make = scenario.large if large else scenario.small
    outcome = shrink(make(), failing.labels(make()), lambda life: judge(scenario, life))
    return "\n".join(_said(name, scenario, outcome, large=large))


def _said(name: str, scenario: Scenario, outcome: Outcome, *, large: bool) -> list[str]:
    make = scenario.large if large else scenario.small
    lines = tell(make(), outcome.choices)
    while len(lines) > 1 and lines[-1].endswith(("is durable", "is answered")):
        lines.pop()  # what follows by itself says nothing
    broken = [] if outcome.error is None else [f"{name}: {_what_broke(outcome.error)}"]
    option = " --large" if large else ""
    return [
        *broken,
        f"  {'; '.join(lines)}",
        f"  run: python -m faults orders {name}{option} --order '{'; '.join(outcome.labels)}'",
    ]


def _what_broke(error: Exception) -> str:
    """Its first line; the code of an assertion that says nothing."""
    said = str(error) or traceback.extract_tb(error.__traceback__)[-1].line or ""
    return f"{type(error).__name__}: {said.splitlines()[0]}"


def _live(parser: argparse.ArgumentParser, name: str, order: str, *, large: bool) -> int:
    scenario = SCENARIOS[name]
    labels = [label.strip() for label in order.split(";") if label.strip()]
    make = scenario.large if large else scenario.small
    try:
        outcome = deep_thread().run(
            lambda: live(make(), labels, lambda life: judge(scenario, life), strictly=True)
        )
    except NoSuchChoice as error:
        parser.error(f"--order: {error}")
    print("\n".join(deep_thread().run(lambda: _said(name, scenario, outcome, large=large))))
    if outcome.error is None:
        print("  every promise holds")
    return 0 if outcome.error is None else 1
