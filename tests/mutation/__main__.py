"""`python -m tests.mutation`: do the tests notice when hub, record and logic are wrong?

Modules get one small mistake at a time, in copies of the tree; the tests of their part must fail. Prints which
mistakes survived, and a score a part. `--mutants N --seed S` takes a sample: the same of the same tree.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import threading
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import NamedTuple

from tests.mutation.mutants import Mutant, mutants_of
from tests.mutation.trees import Ran, Tree, mirrors_of

PARTS = ("hub", "record", "logic")
SLOWER_MAX = 4
"""A mutant may make the tests of its part so many times slower; then it counts as found: it does not end."""
LIMIT_S_MIN = 60.0


class Case(NamedTuple):
    """A mutant of a module, given by its path from the root."""

    part: str
    module: str
    mutant: Mutant

    def __str__(self) -> str:
        return f"{self.module}:{self.mutant}"


class Judged(NamedTuple):
    case: Case
    ran: Ran

    @property
    def survived(self) -> bool:
        return self.ran.ended == "passed"


def cases_of(root: Path, parts: list[str], only: str = "") -> list[Case]:
    """All mutants of the parts' modules whose path holds `only`."""
    found = []
    for part in parts:
        for path in sorted((root / "engine" / part).rglob("*.py")):
            module = str(path.relative_to(root))
            if path.stem != "__init__" and only in module:
                text = path.read_text(encoding="utf-8")
                found += [Case(part, module, mutant) for mutant in mutants_of(text)]
    return found


def sampled(cases: list[Case], count: int | None, seed: int) -> list[Case]:
    """`count` of the cases, as many of each part as there can be; all of them where it is None."""
    if count is None:
        return cases
    draw = random.Random(seed)
    parts = list(dict.fromkeys(case.part for case in cases))
    chosen: list[Case] = []
    for index, part in enumerate(parts):
        of_part = [case for case in cases if case.part == part]
        share = (count - len(chosen)) // (len(parts) - index)
        chosen += draw.sample(of_part, min(share, len(of_part)))
    return sorted(chosen, key=lambda case: (case.module, case.mutant.start, case.mutant.after))


def main() -> int:
    asked = _asked()
    with tempfile.TemporaryDirectory(prefix="mutation-") as scratch:
        tree = Tree.of_this(Path(scratch) / "0")
        cases = sampled(cases_of(tree.directory, asked.parts, asked.only), asked.mutants, asked.seed)
        if not cases:
            print("no module of that name has a mutant: nothing was judged", file=sys.stderr)
            return 2
        limits_s = _limits_s(tree, cases)
        if limits_s is None:
            return 2
        trees = [tree, *(tree.copied(Path(scratch) / str(n)) for n in range(1, asked.workers))]
        print(f"{len(cases)} mutants, seed {asked.seed}, {len(trees)} at a time", flush=True)
        judged = _judge_all(trees, cases, limits_s)
    _report(judged)
    return 0


def _asked() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.mutation", description=__doc__)
    parser.add_argument("--mutants", type=int, help="a sample of so many, divided among the parts; else all")
    parser.add_argument("--seed", type=int, default=0, help="which sample")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--only", default="", metavar="TEXT", help="only modules whose path holds this")
    parser.add_argument("--workers", type=int, default=2)
    return parser.parse_args()


def _limits_s(tree: Tree, cases: list[Case]) -> dict[str, float] | None:
    """How long the tests of each part may take; None, with a word, where they fail without any mistake."""
    limits_s = {}
    for part in dict.fromkeys(case.part for case in cases):
        module = next(case.module for case in cases if case.part == part)
        ran = tree.test(mirrors_of(module, tree.directory), limit_s=1800, compiles=True)
        if ran.ended != "passed":
            print(f"the tests of {part} fail as they are, by {ran.by}; mend them first\n{ran.output[-2000:]}")
            return None
        print(f"{part}: its tests take {ran.duration_s:.0f} s without a mistake", flush=True)
        limits_s[part] = max(LIMIT_S_MIN, SLOWER_MAX * ran.duration_s)
    return limits_s


def _judge_all(trees: list[Tree], cases: list[Case], limits_s: dict[str, float]) -> list[Judged]:
    left: SimpleQueue[Case] = SimpleQueue()
    for case in cases:
        left.put(case)
    judged: list[Judged] = []

    def work(tree: Tree) -> None:
        while True:
            try:
                case = left.get_nowait()
            except Empty:
                return
            found = judge(tree, case, limits_s[case.part])
            judged.append(found)
            mark = "SURVIVED" if found.survived else found.ran.ended
            by = f" by {found.ran.by}" if found.ran.by else ""
            print(f"[{len(judged)}/{len(cases)}] {mark} {found.ran.duration_s:.0f} s {case}{by}", flush=True)

    threads = [threading.Thread(target=work, args=(tree,), daemon=True) for tree in trees]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return judged


def judge(tree: Tree, case: Case, limit_s: float) -> Judged:
    """What the tests of its part say of one mutant. The tree is as it was afterwards."""
    with tree.mistaken(case.module, case.mutant):
        return Judged(case, tree.test(mirrors_of(case.module, tree.directory), limit_s))


def _report(judged: list[Judged]) -> None:
    survivors = sorted((each for each in judged if each.survived), key=lambda each: str(each.case))
    print(f"\n{len(survivors)} survived:")
    for each in survivors:
        print(f"  {each.case}")
    print("\n| part | mutants | found | of these late | survived | score |\n|---|---|---|---|---|---|")
    for part in dict.fromkeys(each.case.part for each in sorted(judged, key=lambda each: str(each.case))):
        of_part = [each for each in judged if each.case.part == part]
        survived = sum(each.survived for each in of_part)
        late = sum(each.ran.ended == "late" for each in of_part)
        found = len(of_part) - survived
        print(
            f"| {part} | {len(of_part)} | {found} | {late} | {survived} | {100 * found / len(of_part):.0f} % |"
        )


if __name__ == "__main__":
    sys.exit(main())
