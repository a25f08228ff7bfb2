"""Copies of the tree in which modules may be wrong, and the tests that judge them there."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from tests.mutation.mutants import Mutant

ROOT = Path(__file__).parents[2]
LINKED = ("build", ".venv", "web/node_modules")
"""What is not in git and never changes: the copies share it."""
PYTEST = (
    *(sys.executable, "-m", "pytest", "-x", "-q", "--tb=line"),
    *("-p", "no:cacheprovider", "-p", "no:randomly", "--hypothesis-seed=0"),
)
"""The same tests in the same order on the same draws: a verdict can be had again."""


class Ran(NamedTuple):
    """How the tests ended: passed, failed or late; `by` is the first test that failed."""

    ended: str
    duration_s: float
    by: str = ""
    output: str = ""


class Tree:
    """A copy of the tree that tests can be run in."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._mtime_s = int(time.time())

    @classmethod
    def of_this(cls, directory: Path) -> Tree:
        """All files of this tree as they are on disk, but for those that git ignores."""
        listed = subprocess.run(
            ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
            cwd=ROOT,
            capture_output=True,
            check=True,
        )
        for name in filter(None, listed.stdout.decode().split("\0")):
            if (ROOT / name).is_file():
                (directory / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / name, directory / name)
        for name in LINKED:
            if (ROOT / name).exists():
                (directory / name).parent.mkdir(parents=True, exist_ok=True)
                (directory / name).symlink_to(ROOT / name)
        return cls(directory)

    def copied(self, directory: Path) -> Tree:
        """Another one, with what was compiled here."""
        shutil.copytree(self.directory, directory, symlinks=True)
        return Tree(directory)

    @contextmanager
    def mistaken(self, module: str, mutant: Mutant) -> Iterator[None]:
        """The tree with a mistake in a module, until it is left.

        Python takes a compiled file by its source's size and time in whole seconds: so that it takes none for the
        mistaken text, each of those is of a second of its own.
        """
        path = self.directory / module
        before, stat = path.read_text(encoding="utf-8"), path.stat()
        self._mtime_s += 2
        path.write_text(mutant.applied(before), encoding="utf-8")
        os.utime(path, (self._mtime_s, self._mtime_s))
        try:
            yield
        finally:
            path.write_text(before, encoding="utf-8")
            os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))

    def test(self, files: list[str], limit_s: float, *, compiles: bool = False) -> Ran:
        """Run test files in order, to the first failure. `compiles`: keep what was compiled for the next time."""
        began_s = time.monotonic()
        environment = os.environ | {"PYTHONHASHSEED": "0"}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        if not compiles:
            environment["PYTHONDONTWRITEBYTECODE"] = "1"
        with subprocess.Popen(
            [*PYTEST, *files],
            cwd=self.directory,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        ) as process:
            try:
                output, _ = process.communicate(timeout=limit_s)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.communicate()
                return Ran("late", time.monotonic() - began_s)
        duration_s = time.monotonic() - began_s
        told = output.decode("utf-8", "replace")
        if process.returncode == 0:
            return Ran("passed", duration_s)
        failed = re.search(r"^(?:FAILED|ERROR) (\S+)", told, re.MULTILINE)
        return Ran("failed", duration_s, failed[1] if failed else f"exit {process.returncode}", told)


def mirrors_of(module: str, root: Path = ROOT) -> list[str]:
    """The test files that mirror a module's part; those that are about the module itself first."""
    path = Path(module)
    part, stem = path.parts[1], path.stem
    named, near, others = [], [], []
    imported = re.compile(rf"engine\.{part}(?:\.\w+)*\.{stem}\b|from engine\.{part} import .*\b{stem}\b")
    for file in sorted((root / "tests" / part).glob("test_*.py")):
        where = str(file.relative_to(root))
        if stem in file.stem:
            named.append(where)
        elif imported.search(file.read_text(encoding="utf-8")):
            near.append(where)
        else:
            others.append(where)
    return [*named, *near, *others]
