"""Arrows only point where the import table of docs/ARCHITECTURE.md says (DESIGN: the house)."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
SIBLINGS = ("faults", "goldens", "native", "tests", "web", "worlds")
SHELL = ("host", "serve", "cli")
IMPORTERS = ("import_module", "importlib.import_module", "__import__")
REAL_MODULE = re.compile(r"engine\.(clock\.real|io\.real_\w+)(\.|$)")


def import_table(page: str) -> dict[str, tuple[str, ...]]:
    """Part of the engine -> what it may import, from the table whose head is `| engine/ | may import |`."""
    rows = page.split("| engine/ | may import |", 1)[1].splitlines()[2:]
    table = {}
    for row in rows:
        if not row.startswith("|"):
            break
        parts, allowed = (cell.strip() for cell in row.strip("|").split("|"))
        names = () if allowed == "nothing" else tuple(name.strip() for name in allowed.split(","))
        table.update({part.strip(): names for part in parts.split(",")})
    return table


def imported_modules(source: str, module: str, *, is_package: bool) -> Iterator[tuple[int, str]]:
    """(line, absolute dotted name) of every import, also inside functions and through importlib."""
    package = module if is_package else module.rpartition(".")[0]
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                anchor = package.split(".")[: len(package.split(".")) - node.level + 1]
                base = ".".join([*anchor, *([base] if base else [])])
            for alias in node.names:
                yield node.lineno, f"{base}.{alias.name}"
        elif isinstance(node, ast.Call) and ast.unparse(node.func) in IMPORTERS:
            named = node.args[0] if node.args else None
            if isinstance(named, ast.Constant) and isinstance(named.value, str):
                yield node.lineno, named.value


def part_of(module: str) -> str:
    return module.split(".")[1] if "." in module else ""


def wrong_imports(
    source: str, module: str, table: dict[str, tuple[str, ...]], *, is_package: bool = False
) -> list[str]:
    """What this module of the engine imports and may not, one sentence each."""
    part = part_of(module)
    wrong = []
    for line, name in imported_modules(source, module, is_package=is_package):
        top = name.split(".")[0]
        if top in SIBLINGS:
            wrong.append(
                f"{module}:{line} imports {top}/, a sibling of engine/; start it as a process instead"
            )
        if top != "engine" or name == "engine":
            continue
        allowed = any(f"{name}.".startswith(f"engine.{entry}.") for entry in (part, *table[part]))
        if not allowed:
            may = ", ".join(table[part]) or "nothing"
            wrong.append(f"{module}:{line} imports {name}; {part} may import {may} (docs/ARCHITECTURE.md)")
        if REAL_MODULE.match(name) and part not in SHELL and not REAL_MODULE.match(module):
            wrong.append(f"{module}:{line} imports {name}; only {', '.join(SHELL)} bring in the real machine")
    return wrong


def engine_modules() -> list[tuple[Path, str, bool]]:
    found = []
    for path in sorted((ROOT / "engine").rglob("*.py")):
        dotted = ".".join(path.relative_to(ROOT).with_suffix("").parts)
        is_package = dotted.endswith(".__init__")
        found.append((path, dotted.removesuffix(".__init__"), is_package))
    return found


TABLE = import_table((ROOT / "docs" / "ARCHITECTURE.md").read_text())


def test_the_engine_imports_only_what_the_table_allows():
    wrong = []
    for path, module, is_package in engine_modules():
        if module != "engine":
            wrong += wrong_imports(path.read_text(), module, TABLE, is_package=is_package)
    assert wrong == []


def test_the_root_package_imports_nothing():
    source = (ROOT / "engine" / "__init__.py").read_text()
    assert list(imported_modules(source, "engine", is_package=True)) == []


def test_every_part_has_a_row_and_every_row_a_part():
    parts = {part_of(module) for _, module, _ in engine_modules()} - {""}
    assert sorted(parts) == sorted(TABLE)


def test_the_table_has_no_cycle():
    order: list[str] = []
    for part, allowed in TABLE.items():
        assert all(name.split(".")[0] in order for name in allowed), (
            f"{part} stands above something it imports"
        )
        order.append(part)


def test_tests_and_tools_reach_the_engine_and_not_each_other():
    """The engine uses nothing of tests/; faults and goldens keep to host and below."""
    wrong = []
    for folder in ("faults", "goldens"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            dotted = ".".join(path.relative_to(ROOT).with_suffix("").parts)
            for line, name in imported_modules(path.read_text(), dotted, is_package=path.stem == "__init__"):
                if name.startswith(("engine.serve", "engine.cli", "tests.")):
                    wrong.append(f"{dotted}:{line} imports {name}; use engine.host and engine.record")
    assert wrong == []


def test_the_examples_hold_no_python():
    assert sorted((ROOT / "worlds").rglob("*.py")) == []


def test_a_wrong_import_is_seen_wherever_it_stands():
    table = {"hub": ("ids",), "ids": (), "host": ("hub", "io.log")}
    snippets = {
        "import engine.io.disk": "engine.hub.a",
        "from engine import io": "engine.hub.a",
        "def f():\n    from engine.host.api import Done": "engine.hub.a",
        "from ..io import log": "engine.hub.a",
        "from ... import tests": "engine.hub.deep.a",
        "import importlib\nimportlib.import_module('engine.serve')": "engine.hub.a",
        "import native.build": "engine.hub.a",
        "from engine.io import disk": "engine.host.a",
    }
    for source, module in snippets.items():
        source = source.replace("from ... import tests", "import tests.conftest")
        assert len(wrong_imports(source, module, table)) == 1, source
    real = wrong_imports("from engine.io.real_disk import RealDisk", "engine.record.a", {"record": ("io",)})
    assert real == [
        "engine.record.a:1 imports engine.io.real_disk.RealDisk; "
        "only host, serve, cli bring in the real machine"
    ]


def test_a_right_import_is_let_through():
    table = {"hub": ("ids",), "ids": (), "host": ("hub", "io.log")}
    for source, module in {
        "from engine import ids": "engine.hub.a",
        "from engine.hub.messages import Call": "engine.hub.a",
        "from . import messages": "engine.hub.a",
        "from engine.io.log import Log": "engine.host.a",
        "import json, re": "engine.ids",
    }.items():
        assert wrong_imports(source, module, table) == []
