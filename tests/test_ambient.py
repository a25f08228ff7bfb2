"""The pure parts never reach the machine: time, disk, randomness, threads and sockets come through ports.

Nor do they let the order of a set, an address or a hash decide: the same bytes under any PYTHONHASHSEED.
"""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SHELL = ("engine/host/", "engine/serve/", "engine/cli/", "engine/clock/real.py", "engine/io/real_")

PORT_CLOCK = "take `now` from the event, or a Clock (engine.clock)"
PORT_DISK = "use the Disk port (engine.io.disk)"
PORT_ENTROPY = "use the Entropy port (engine.io.entropy)"
PORT_SHELL = "return an effect and let engine.host perform it"
BANNED_MODULES = {
    "time": PORT_CLOCK,
    "sched": PORT_CLOCK,
    "os": PORT_DISK,
    "io": PORT_DISK,
    "shutil": PORT_DISK,
    "tempfile": PORT_DISK,
    "glob": PORT_DISK,
    "fcntl": PORT_DISK,
    "mmap": PORT_DISK,
    "random": PORT_ENTROPY,
    "secrets": PORT_ENTROPY,
    "uuid": PORT_ENTROPY,
    "numpy.random": PORT_ENTROPY,
    "threading": PORT_SHELL,
    "_thread": PORT_SHELL,
    "concurrent": PORT_SHELL,
    "multiprocessing": PORT_SHELL,
    "queue": PORT_SHELL,
    "asyncio": PORT_SHELL,
    "subprocess": PORT_SHELL,
    "signal": PORT_SHELL,
    "socket": PORT_SHELL,
    "select": PORT_SHELL,
    "ssl": PORT_SHELL,
    "http": PORT_SHELL,
    "urllib": PORT_SHELL,
    "logging": "return what happened; engine.host logs it",
}
BANNED_CALLS = {
    "open": PORT_DISK,
    "print": "return what happened; engine.cli prints it",
    "input": PORT_SHELL,
    "breakpoint": "remove it",
    "id": "break ties by creation order: a sequence number",
    "hash": "use BLAKE3 (engine.ids.content_id) or a sequence number",
}
BANNED_METHODS = {
    "now": PORT_CLOCK,
    "utcnow": PORT_CLOCK,
    "today": PORT_CLOCK,
    "read_text": PORT_DISK,
    "read_bytes": PORT_DISK,
    "write_text": PORT_DISK,
    "write_bytes": PORT_DISK,
    "urandom": PORT_ENTROPY,
}
DATE_CLASSES = ("datetime", "date", "datetime.datetime", "datetime.date")
SORT_IT = "sort it, or keep a dict: a set has no order"

# (file, banned name) -> why it may. Each is a port of its own or touches nothing that a world can see.
ALLOWED: dict[tuple[str, str], str] = {
    ("engine/logic/prelude.py", "folder / name.read_text"): "the package's own files, part of its version",
}


class _Walk(ast.NodeVisitor):
    def __init__(self) -> None:
        self.found: list[tuple[int, str, str]] = []
        self.sets: list[set[str]] = [set()]

    def ban(self, node: ast.AST, name: str, instead: str) -> None:
        self.found.append((getattr(node, "lineno", 0), name, instead))

    # -- imports and calls

    def visit_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            self._module(node, alias.name)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        if node.level == 0:
            self._module(node, node.module or "")
            for alias in node.names:
                self._module(node, f"{node.module}.{alias.name}", exact=True)

    def _module(self, node: ast.AST, name: str, *, exact: bool = False) -> None:
        candidates = [name] if exact else [name, name.split(".")[0]]
        for candidate in dict.fromkeys(candidates):
            if candidate in BANNED_MODULES:
                self.ban(node, candidate, BANNED_MODULES[candidate])

    def visit_Call(self, node: ast.Call) -> None:
        if isinstance(node.func, ast.Name) and node.func.id in BANNED_CALLS:
            self.ban(node, node.func.id, BANNED_CALLS[node.func.id])
        if isinstance(node.func, ast.Attribute) and node.func.attr in BANNED_METHODS:
            owner, method = ast.unparse(node.func.value), node.func.attr
            if method not in ("now", "utcnow", "today") or owner in DATE_CLASSES:
                self.ban(node, f"{owner}.{method}", BANNED_METHODS[method])
        ordering = (
            "list",
            "tuple",
            "enumerate",
            "iter",
            "next",
            "zip",
            "map",
            "filter",
            "join",
            "extend",
            "fromkeys",
        )
        name = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
        if name in ordering:
            for argument in node.args:
                sources = argument.generators if isinstance(argument, ast.GeneratorExp) else []
                for iterated in (argument, *(source.iter for source in sources)):
                    self._iterated(iterated)
        if (
            isinstance(node.func, ast.Attribute)
            and node.func.attr == "pop"
            and not node.args
            and self.is_set(node.func.value)
        ):
            self.ban(node, "set.pop", SORT_IT)
        if any(
            keyword.arg == "key" and ast.unparse(keyword.value) in ("id", "hash") for keyword in node.keywords
        ):
            self.ban(node, "key=id or hash", "sort by a sequence number")
        self.generic_visit(node)

    # -- sets: which names hold one, as far as it can be seen, and where one is iterated

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        names = {
            a.arg
            for a in (*node.args.args, *node.args.kwonlyargs)
            if a.annotation and self._names_set(a.annotation)
        }
        self.sets.append(self.sets[-1] | names)
        self.generic_visit(node)
        self.sets.pop()

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        attributes = set()
        for inner in ast.walk(node):
            target = None
            if isinstance(inner, ast.AnnAssign) and self._names_set(inner.annotation):
                target = inner.target
            elif isinstance(inner, ast.Assign) and self.is_set(inner.value):
                target = inner.targets[0]
            if isinstance(target, ast.Attribute):
                attributes.add(ast.unparse(target))
            elif isinstance(target, ast.Name) and isinstance(inner, ast.AnnAssign) and inner in node.body:
                attributes.add(f"self.{target.id}")
        self.sets.append(self.sets[-1] | attributes)
        self.generic_visit(node)
        self.sets.pop()

    def visit_Assign(self, node: ast.Assign) -> None:
        for target in node.targets:
            if isinstance(target, ast.Name):
                (self.sets[-1].add if self.is_set(node.value) else self.sets[-1].discard)(target.id)
        self.generic_visit(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if isinstance(node.target, ast.Name) and self._names_set(node.annotation):
            self.sets[-1].add(node.target.id)
        self.generic_visit(node)

    @staticmethod
    def _names_set(annotation: ast.expr) -> bool:
        return ast.unparse(annotation).split("[")[0] in ("set", "frozenset", "AbstractSet", "MutableSet")

    def is_set(self, node: ast.expr) -> bool:
        if isinstance(node, (ast.Set, ast.SetComp)):
            return True
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            return node.func.id in ("set", "frozenset")
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            set_methods = ("union", "intersection", "difference", "symmetric_difference", "copy")
            return node.func.attr in set_methods and self.is_set(node.func.value)
        if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.BitOr, ast.BitAnd, ast.Sub, ast.BitXor)):
            return self.is_set(node.left) or self.is_set(node.right)
        if isinstance(node, (ast.Name, ast.Attribute)):
            return ast.unparse(node) in self.sets[-1]
        return False

    def _iterated(self, node: ast.expr) -> None:
        if isinstance(node, ast.Starred):
            node = node.value
        if self.is_set(node):
            self.ban(node, f"the order of {ast.unparse(node)}", SORT_IT)

    def visit_For(self, node: ast.For) -> None:
        self._iterated(node.iter)
        self.generic_visit(node)

    def _comprehension(self, node: ast.ListComp | ast.DictComp | ast.GeneratorExp) -> None:
        for generator in node.generators:
            self._iterated(generator.iter)
        self.generic_visit(node)

    visit_ListComp = _comprehension
    visit_DictComp = _comprehension

    def visit_Starred(self, node: ast.Starred) -> None:
        self._iterated(node.value)
        self.generic_visit(node)


def ambient_uses(source: str, file: str) -> list[str]:
    """What a pure module takes from the machine or leaves to chance, each with what to write instead."""
    walk = _Walk()
    walk.visit(ast.parse(source))
    return [
        f"{file}:{line} uses {name}; instead {instead}"
        for line, name, instead in walk.found
        if (file, name) not in ALLOWED
    ]


def pure_files() -> list[str]:
    files = (path.relative_to(ROOT).as_posix() for path in (ROOT / "engine").rglob("*.py"))
    return sorted(file for file in files if not file.startswith(SHELL))


def test_the_pure_parts_take_nothing_from_the_machine():
    assert [use for file in pure_files() for use in ambient_uses((ROOT / file).read_text(), file)] == []


def test_every_exception_is_still_needed():
    needed = set()
    for file in pure_files():
        walk = _Walk()
        walk.visit(ast.parse((ROOT / file).read_text()))
        needed |= {(file, name) for _, name, _ in walk.found}
    assert sorted(set(ALLOWED) - needed) == []


@pytest.mark.parametrize(
    ("snippet", "names"),
    [
        ("import time", "time"),
        ("import os.path", "os"),
        ("from os import path", "os"),
        ("def f():\n    import random", "random"),
        ("import numpy.random", "numpy.random"),
        ("from numpy import random", "numpy.random"),
        ("from datetime import datetime\ndatetime.now()", "datetime.now"),
        ("import datetime\ndatetime.datetime.utcnow()", "datetime.datetime.utcnow"),
        ("open('f')", "open"),
        ("def f(path):\n    return path.read_text()", "path.read_text"),
        ("print(1)", "print"),
        ("sorted(xs, key=id)", "key=id or hash"),
        ("hash('a')", "hash"),
        ("for x in {1, 2}: pass", "the order of {1, 2}"),
        ("[x for x in set(y)]", "the order of set(y)"),
        ("names = set()\nfor x in names | other: pass", "the order of names | other"),
        ("def f(names: set[str]):\n    return ', '.join(names)", "the order of names"),
        ("class A:\n    s: set[int]\n    def f(self):\n        return list(self.s)", "the order of self.s"),
        ("class A:\n  def f(self):\n    self.s = set()\n    return list(self.s)", "the order of self.s"),
        ("s = {1}\n', '.join(str(x) for x in s)", "the order of s"),
        ("s = {1}\nfirst, *rest = [*s]", "the order of s"),
        ("s = {1}\ns.pop()", "set.pop"),
    ],
)  # fmt: skip
def test_each_ban_bites_and_names_a_replacement(snippet: str, names: str):
    uses = ambient_uses(snippet, "engine/hub/a.py")
    assert [use.split(" uses ")[1].split("; instead ")[0] for use in uses] == [names]
    assert uses[0].split("; instead ")[1]


@pytest.mark.parametrize(
    "snippet",
    [
        "import json, re, datetime",
        "s = {1}\nif 1 in s: pass",
        "s = {1}\nfor x in sorted(s): pass",
        "clock.now_flicks()",
        "self.now()",
        "s = {1}\ntotal = len(s) + sum(1 for x in [2])",
        "disk.open('a')",
    ],
)
def test_what_is_pure_is_let_through(snippet: str):
    assert ambient_uses(snippet, "engine/hub/a.py") == []
