"""The documentation is true: its limits are the code's, its paths exist, its words are the program's."""

from __future__ import annotations

import re
from pathlib import Path

import click
import docs_console
import pytest

from engine import limits

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", ROOT / "THIRD_PARTY.md", *sorted((ROOT / "docs").glob("*.md"))]
GUIDE = (ROOT / "docs" / "GUIDE.md").read_text()
UNITS = {"KiB": 1024, "MiB": 1024**2, "s": 1, "h": 3600, "days": 86400}


def limit_rows() -> list[tuple[str, str, str]]:
    """(what, value as written, name in limits.py) of the GUIDE's table of limits."""
    table = GUIDE.split("| limit | value | name in limits.py |", 1)[1].split("\n\n", 1)[0]
    rows = (row.strip("|").split("|") for row in table.splitlines()[2:])
    return [(what.strip(), value.strip(), name.strip()) for what, value, name in rows]


def stated(value: str, name: str) -> int:
    """What the table's value is in the unit of limits.py: bytes, flicks, or a count."""
    number, _, unit = value.partition(" (")[0].partition(" ")
    count = int(number.replace(",", "")) * UNITS.get(unit, 1)
    return count * limits.FLICKS_PER_SECOND if "FLICKS" in name else count


@pytest.mark.parametrize(("what", "value", "name"), limit_rows())
def test_a_limit_is_what_the_guide_says(what: str, value: str, name: str):
    assert stated(value, name) == getattr(limits, name), what


def test_the_guide_knows_every_failure_and_refusal():
    from engine.serve.answering import STATUS_OF_REFUSAL

    in_the_request = ("already-head", "no-revision", "bad-reason", "size", "storage")
    missing = [code for code in STATUS_OF_REFUSAL if code not in in_the_request and f"`{code}`" not in GUIDE]
    assert missing == []
    failures = ("threw", "syntax", "size", "budget", "memory", "pending", "conflict", "denied", "trap")
    assert [failure for failure in failures if f"`{failure}`" not in GUIDE] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_paths_in_the_docs_exist(page: Path):
    named = re.findall(r"`((?:engine|docs|tests|worlds|native|web|\.ci)/[\w./*-]*)`", page.read_text())
    assert [path for path in named if "NAME" not in path and not list(ROOT.glob(path.rstrip("/")))] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path):
    text = page.read_text()
    headings = {
        re.sub(r"[^\w -]", "", line.lstrip("# ").lower()).replace(" ", "-")
        for line in text.splitlines()
        if line.startswith("#")
    }
    for target in re.findall(r"\]\(([^)]+)\)", text):
        if target.startswith("#"):
            assert target[1:] in headings, target
        elif "://" not in target:
            assert (page.parent / target.split("#")[0]).exists(), target


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_in_the_docs_exist(page: Path):
    from engine.cli import main as pw

    text = page.read_text()
    lines = [
        *re.findall(r"`(pw [^`\n]+)`", text),
        *re.findall(r"^(?:\$ )?(?:\.venv/bin/)?(pw .+)$", text, re.MULTILINE),
    ]
    for line in lines:
        words = line.split()[1:]
        group: click.Command | None = pw
        while isinstance(group, click.Group) and words and words[0] != "COMMAND" and words[0][0] != "-":
            _, group, words = group.resolve_command(click.Context(group), words)
            assert group is not None, line
        options = {name for parameter in group.params for name in parameter.opts}
        wanted = {word for word in words if re.fullmatch(r"--[a-z-]+", word)} - {"--help"}
        assert wanted <= options, line


def test_every_module_has_its_place_in_the_architecture():
    text = (ROOT / "docs" / "ARCHITECTURE.md").read_text().split("## The parts, file by file", 1)[1]
    described = {}
    for part, paragraph in re.findall(r"^\*\*([\w/]+)/\*\* (.+?)(?=\n\n)", text, re.MULTILINE | re.DOTALL):
        described[part] = re.findall(r"`([\w*]+)/?`", paragraph)
    missing = []
    for part, names in described.items():
        patterns = [re.compile(name.replace("*", r"\w+") + r"\Z") for name in names]
        of_engine = ROOT / "engine" / part
        paths = (of_engine if of_engine.exists() else ROOT / part).iterdir()
        modules = {
            path.stem if path.suffix == ".py" else path.name for path in paths if path.suffix in ("", ".py")
        }
        modules -= {"__init__", "__main__", "__pycache__"}
        missing += [
            f"{part}/{module}" for module in sorted(modules) if not any(p.match(module) for p in patterns)
        ]
        missing += [
            f"{part}/{name} is gone"
            for name, p in zip(names, patterns, strict=True)
            if not any(map(p.match, modules))
        ]
    assert missing == []


@pytest.mark.parametrize(
    "page", [page for page in PAGES if "```console" in page.read_text()], ids=lambda page: page.name
)
def test_the_commands_in_the_docs_print_what_they_say(page: Path):
    steps = docs_console.steps_of(page.read_text())
    docs_console.run(steps)
    for step in steps:
        assert docs_console.steady(step.actual) == docs_console.steady(step.expected), step.command


def test_output_that_differs_is_seen():
    page = "```console\n$ echo one; false\nanother\n$ printf 'shout-%s\\n' a1b2c3\nshout-ffffff\n```\n"
    first, second = steps = docs_console.steps_of(page)
    docs_console.run(steps)
    assert (first.actual, first.expected, first.status) == (["one"], ["another"], 1)
    assert second.actual != second.expected
    assert docs_console.steady(second.actual) == docs_console.steady(second.expected)
    assert docs_console.renewed(page, steps) == page.replace("another", "one").replace("ffffff", "a1b2c3")
