"""`python -m faults orders`: try every order of the small scenarios, draw some of the large ones, or live one."""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence

from faults.orders.explore import Failing, explore
from faults.orders.pct import draw
from faults.orders.scenarios import SCENARIOS, Scenario, judge
from faults.orders.shrink import NoSuchChoice, Outcome, live, shrink
from faults.orders.telling import tell


def main(argv: Sequence[str]) -> int:
    """0 where nothing failed, 1 where something did, 2 where nothing could be asked so."""
    parser = argparse.ArgumentParser(prog="python -m faults orders", description=__doc__)
    parser.add_argument("scenario", nargs="?", help=f"one of {', '.join(SCENARIOS)}; all of them if left out")
    parser.add_argument("--pct", type=int, metavar="RUNS", help="draw so many orders of the large scenario")
    parser.add_argument("--seed", type=int, default=0, help="of the first of them")
    parser.add_argument("--order", metavar="CHOICES", help="live this order, as a failure prints it")
    parser.add_argument("--large", action="store_true", help="the order is one of the large scenario")
    asked = parser.parse_args(argv)
    if asked.scenario is not None and asked.scenario not in SCENARIOS:
        parser.error(f"scenario: there is no {asked.scenario!r}; there are {', '.join(SCENARIOS)}")
    if asked.pct is not None and asked.pct < 1:
        parser.error(f"--pct: {asked.pct} runs; ask for at least 1")
    if asked.order is not None:
        if asked.scenario is None:
            parser.error("--order: say of which scenario")
        return _live(parser, asked.scenario, asked.order, large=asked.large)
    names = [asked.scenario] if asked.scenario is not None else list(SCENARIOS)
    failed = [name for name in names if not _try(name, asked.pct, asked.seed)]
    return 1 if failed else 0


def _try(name: str, runs: int | None, seed: int) -> bool:
    """Whether every order that was tried holds."""
    scenario = SCENARIOS[name]
    began = time.process_time()
    failing: Failing | None
    if runs is None:
        explored = explore(scenario.small(), lambda life: judge(scenario, life))
        states, transitions, failing = explored.states, explored.transitions, explored.failing
        what = f"{states} states, {transitions} transitions, {explored.ends} ends"
    else:
        drawn = draw(scenario.large, lambda life: judge(scenario, life), runs=runs, seed=seed)
        states, failing = drawn.states, drawn.failing
        what = f"{drawn.runs} runs from seed {seed}, {states} states, {drawn.transitions} transitions"
    seconds = time.process_time() - began
    print(f"{name}: {what}, {seconds:.2f} s ({states / max(seconds, 1e-9):,.0f} states/s)", flush=True)
    if failing is None:
        return True
    print(report(name, scenario, failing, large=runs is not None))
    return False


def report(name: str, scenario: Scenario, failing: Failing, *, large: bool) -> str:
    """The failing order at its shortest: what it breaks, what happens, and the command that lives it again."""
    make = scenario.large if large else scenario.small
    outcome = shrink(make(), failing.labels(make()), lambda life: judge(scenario, life))
    return "\n".join(_said(name, scenario, outcome, large=large))


def _said(name: str, scenario: Scenario, outcome: Outcome, *, large: bool) -> list[str]:
    make = scenario.large if large else scenario.small
    lines = tell(make(), outcome.choices)
    while len(lines) > 1 and lines[-1].endswith("is durable"):
        lines.pop()  # what follows by itself says nothing
    error = outcome.error
    broken = [] if error is None else [f"{name}: {type(error).__name__}: {str(error).splitlines()[0]}"]
    option = " --large" if large else ""
    return [
        *broken,
        f"  {'; '.join(lines)}",
        f"  run: python -m faults orders {name}{option} --order '{'; '.join(outcome.labels)}'",
    ]


def _live(parser: argparse.ArgumentParser, name: str, order: str, *, large: bool) -> int:
    scenario = SCENARIOS[name]
    labels = [label.strip() for label in order.split(";") if label.strip()]
    make = scenario.large if large else scenario.small
    try:
        outcome = live(make(), labels, lambda life: judge(scenario, life), strictly=True)
    except NoSuchChoice as error:
        parser.error(f"--order: {error}")
    print("\n".join(_said(name, scenario, outcome, large=large)))
    if outcome.error is None:
        print("  every promise holds")
    return 0 if outcome.error is None else 1
