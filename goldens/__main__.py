"""python -m goldens [list | bless ID... --reason TEXT | bless --all --reason TEXT]"""

from __future__ import annotations

import argparse
import difflib
import os
import sys
from collections.abc import Iterable, Sequence
from typing import Any

from engine.record.goldens import Comparison, compare
from goldens.files import BadSet, Golden, read_set, text_of, write_set
from goldens.lives import BadExample, Result, results_of

HERE = os.path.dirname(os.path.abspath(__file__))
WORLDS = os.path.join(os.path.dirname(HERE), "worlds")

Outcome = dict[str, Any]


def main(argv: Sequence[str] | None = None) -> int:
    """0 if the set is green, 1 if not, 2 for misuse."""
    asked = _parsed(argv)
    try:
        goldens = read_set(asked.set)
        if asked.command == "list":
            return _list(goldens)
        found = results_of(asked.worlds)
    except (BadSet, BadExample, OSError) as error:
        print(f"goldens: {error}", file=sys.stderr)
        return 1
    if asked.command == "bless":
        return _bless(asked, goldens, found)
    return _check(compared(goldens, found))


def compared(goldens: dict[str, Golden], found: dict[str, Result]) -> Comparison[Any]:
    """The blessed set against what the example worlds come to: call, arguments and outcome together."""
    return compare(
        {id: (golden.call, golden.args, golden.outcome) for id, golden in goldens.items()},
        {id: (result.call, result.args, result.outcome) for id, result in found.items()},
        same=lambda one, other: text_of(one) == text_of(other),  # where 1 is not true
    )


def _check(comparison: Comparison[Any]) -> int:
    for id, changed in comparison.changed.items():
        print(f"changed: {id}")
        before, after = text_of(changed.before).split("\n"), text_of(changed.after).split("\n")
        for line in list(difflib.unified_diff(before, after, n=2, lineterm=""))[2:]:
            print(f"  {line}")
    for word, ids in (("new", comparison.new), ("missing", comparison.missing)):
        for id in ids:
            print(f"{word}: {id}")
    print(_summary(comparison))
    if not comparison.is_green:
        print("python -m goldens bless ID... --reason TEXT takes what is found now; --all all of it")
    return 0 if comparison.is_green else 1


def _summary(comparison: Comparison[Any]) -> str:
    if not (comparison.same or comparison.changed):
        return "goldens: nothing was compared"
    counts = [
        f"{len(part)} {word}"
        for word, part in (
            ("the same", comparison.same),
            ("changed", comparison.changed),
            ("new", comparison.new),
            ("missing", comparison.missing),
        )
        if part
    ]
    return f"goldens: {', '.join(counts)}"


def _list(goldens: dict[str, Golden]) -> int:
    for id, golden in goldens.items():
        print(f"{id}: blessed by {golden.by}: {golden.reason}")
    return 0


def _bless(asked: argparse.Namespace, goldens: dict[str, Golden], found: dict[str, Result]) -> int:
    """Take what is found for these ids; one that is not found any more leaves the set."""
    comparison = compared(goldens, found)
    due = [*comparison.changed, *comparison.new, *comparison.missing]
    unknown = sorted(set(asked.ids) - set(goldens) - set(found))
    if unknown:
        print(f"goldens: there is no {', '.join(unknown)}; `list` shows the set", file=sys.stderr)
        return 2
    blessed = dict(goldens)
    for id in _chosen(asked.ids, due, everything=asked.all):
        if id in found:
            result = found[id]
            blessed[id] = Golden(result.call, result.args, result.outcome, asked.by, asked.reason)
        else:
            del blessed[id]
        print(f"blessed: {id}" if id in found else f"removed: {id}")
    write_set(asked.set, blessed)
    return 0


def _chosen(ids: Iterable[str], due: list[str], *, everything: bool) -> list[str]:
    """Those that need a blessing: the reason of what is the same stays the one that it has."""
    wanted = set(ids)
    return [id for id in due if everything or id in wanted]


def _parsed(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m goldens", description="The repository's goldens.")
    parser.add_argument("--set", default=HERE, metavar="DIR", help="where the blessed files are")
    parser.add_argument("--worlds", default=WORLDS, metavar="DIR", help="where the example worlds are")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    commands.add_parser("list", help="show the set")
    bless = commands.add_parser("bless", help="take what is found now")
    bless.add_argument("ids", nargs="*", metavar="ID")
    bless.add_argument("--all", action="store_true", help="all that changed, is new or is missing")
    bless.add_argument("--reason", required=True, help="why; kept with each")
    bless.add_argument("--by", default="operator", help="who [operator]")
    asked = parser.parse_args(argv)
    if asked.command == "bless":
        if not asked.reason.strip():
            parser.error("--reason: must not be blank")
        if bool(asked.ids) == asked.all:
            parser.error("name the goldens to bless, or say --all")
    return asked


if __name__ == "__main__":
    sys.exit(main())
