"""Tidiness that no linter knows: what may stand in the tree, how long a file gets, what a part shows."""

from __future__ import annotations

import ast
import importlib
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
LINES_MAX = 400
TEST_LINES_MAX = 600
TRACKED_BYTES_MAX = 300_000

# Files past that many lines, each with why it is one thing and not two.
LONG_FILES: dict[str, str] = {}

# What each part shows of itself: the names its package lists. Another name is an accident or a decision.
PUBLIC: dict[str, tuple[str, ...]] = {
    "engine.cli": ("main",),
    "engine.clock": (
        "BadTime",
        "Clock",
        "NotExact",
        "Reading",
        "ReadingDiverged",
        "RecordingClock",
        "ReplayingClock",
        "SimClock",
        "Timer",
        "Timers",
    ),
    "engine.host": (
        "Application",
        "CannotOpen",
        "Finding",
        "LiveHost",
        "NotThere",
        "SimulatedHost",
        "Upkeep",
        "doctor",
        "live",
        "restore",
        "simulated",
    ),
    "engine.hub": (
        "VersionedData",
        "World",
        "open_world",
        "step",
    ),
    "engine.io": (
        "BlobError",
        "BlobMissing",
        "BlobRotten",
        "Blobs",
        "Cursor",
        "DirectoryLocked",
        "Disk",
        "DiskError",
        "DiskFull",
        "Entropy",
        "File",
        "FileMissing",
        "Lock",
        "Log",
        "LogEntry",
        "LogError",
        "LogFailed",
        "LogForeign",
        "LogHead",
        "LogRotten",
        "SyncFailed",
        "WrongSequence",
    ),
    "engine.logic": (
        "PRELUDE_VERSION",
        "TARGETS",
        "Ask",
        "AttemptOutcome",
        "BootError",
        "Broken",
        "CallOutcome",
        "Catalogue",
        "Changes",
        "Check",
        "DataView",
        "Definition",
        "Engine",
        "EngineRefused",
        "GuestError",
        "HeapImage",
        "HeapMeta",
        "HostCalls",
        "Interrupt",
        "Job",
        "JobResult",
        "KeyRead",
        "Look",
        "ModuleCache",
        "Overlaid",
        "Park",
        "Peers",
        "RangeRead",
        "Read",
        "SourceLookup",
        "VmFailure",
        "VmPool",
        "Waiting",
        "WrittenSource",
        "boot",
        "call",
        "catalogue_of",
        "changes_between",
        "develop",
        "enrol",
        "execute",
        "judge",
        "load_engine",
        "prelude_source",
        "resume",
        "text_of",
        "upgrade",
        "vm_thread_stack_bytes",
        "wtf8",
    ),
    "engine.record": (
        "FIRST_SEQ",
        "Body",
        "DataBlobRefused",
        "Header",
        "Heap",
        "HeapRefused",
        "LtHash",
        "Page",
        "Problem",
        "RecordForeign",
        "RecordRefused",
        "RecordRotten",
        "decode",
        "decode_data",
        "decode_header",
        "depth_of",
        "encode",
        "encode_base",
        "encode_data",
        "encode_delta",
        "genesis_previous",
        "kind_of",
        "load",
        "needs_base",
        "record_hash",
        "verify_chain",
    ),
    "engine.serve": (
        "Client",
        "run",
    ),
}

# Pattern -> what to do instead. They are spelled so that this file does not match itself.
UNWANTED = {
    r"\b(TO" r"DO|FIX" r"ME|XX" r"X|HA" r"CK)\b": "do it, or write the limitation down in the docs",
    r"Not" r"ImplementedError": "leave out what is not there",
    r"(?<![\w.])/(work|root|ho" r"me)/": "a path of one machine; make it relative",
    r"https?://(registry|pypi|files|deb)\.": "a registry's host; name the package",
    r"(\.\./|\b)sha"
    r"red/(DESIGN|SPEC|STYLE|INVARIANTS|evidence|cases)": "say it here: the reader has only this repository",
    r"Co-Authored-B" r"y|Generated wit" r"h": "the project speaks of itself alone",
}


def tracked_files() -> list[Path]:
    """What git tracks, or, in an unpacked archive, everything that setup and tests do not make."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=False)
    if listed.returncode == 0 and listed.stdout:
        names = listed.stdout.decode().split("\0")
        return sorted(ROOT / name for name in names if name and (ROOT / name).is_file())
    made = re.compile(
        r"(^|/)(\.venv|\.git|build|node_modules|__pycache__|\.pw|\.[a-z]+_cache|[^/]*\.egg-info)/"
    )
    found = (path for path in ROOT.rglob("*") if path.is_file())
    return sorted(path for path in found if not made.search(path.relative_to(ROOT).as_posix()))


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


FILES = tracked_files()
CODE = [
    path
    for path in FILES
    if path.suffix in (".py", ".c", ".h", ".js", ".mjs", ".ts") or path.name == "Makefile"
]


def test_there_is_a_tree_to_look_at():
    assert ROOT / "pyproject.toml" in FILES
    assert len(CODE) > 20


@pytest.mark.parametrize("pattern", UNWANTED)
def test_nothing_unwanted_stands_in_the_tree(pattern: str):
    found = []
    for path in FILES:
        if path.stat().st_size > TRACKED_BYTES_MAX or path == Path(__file__):
            continue
        for number, line in enumerate(path.read_text("utf-8", "replace").splitlines(), start=1):
            if re.search(pattern, line):
                found.append(f"{name_of(path)}:{number}: {line.strip()[:80]} -> {UNWANTED[pattern]}")
    assert found == []


@pytest.mark.parametrize(
    "line",
    [
        "# " + "ODOT"[::-1] + " later",
        "raise " + "Not" + "ImplementedError",
        "open('/" + "home" + "/me/x')",
        "see ../" + "shared" + "/SPEC.md",
        "https://registry.example/x",
    ],
)
def test_the_patterns_bite(line: str):
    assert any(re.search(pattern, line) for pattern in UNWANTED)


def test_a_long_file_says_why_it_is_one():
    counts = {name_of(path): len(path.read_text("utf-8").splitlines()) for path in CODE}
    long = {
        name
        for name, lines in counts.items()
        if lines > (TEST_LINES_MAX if name[:6] == "tests/" else LINES_MAX)
    }
    assert sorted(long - set(LONG_FILES)) == [], "ask whether it is two; else give the reason in LONG_FILES"
    assert sorted(set(LONG_FILES) - long) == [], "no longer long: take it off the list"


def test_no_large_file_is_tracked():
    assert [name_of(path) for path in FILES if path.stat().st_size > TRACKED_BYTES_MAX] == []


def test_text_files_end_with_one_newline_and_no_line_with_blanks():
    wrong = []
    for path in FILES:
        content = path.read_bytes()
        if not content or b"\0" in content:
            continue
        if not content.endswith(b"\n") or content.endswith(b"\n\n"):
            wrong.append(f"{name_of(path)}: ends with other than one newline")
        if re.search(rb"[ \t]\n", content) and path.suffix != ".md":
            wrong.append(f"{name_of(path)}: a line ends with blanks")
    assert wrong == []


def test_every_limit_is_used():
    assigned = [
        (node.targets[0].id, ast.unparse(node.value))
        for node in ast.parse((ROOT / "engine" / "limits.py").read_text()).body
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
    ]
    engine = [path for path in CODE if path.is_relative_to(ROOT / "engine") and path.name != "limits.py"]
    texts = [*(path.read_text() for path in engine), *(value for _, value in assigned)]
    used = {word for text in texts for word in re.findall(r"[A-Z][A-Z0-9_]+", text)}
    assert [name for name, _ in assigned if name not in used] == []


@pytest.mark.parametrize("part", sorted(PUBLIC))
def test_a_part_shows_what_it_lists(part: str):
    module = importlib.import_module(part)
    assert tuple(module.__all__) == PUBLIC[part]
    assert [name for name in PUBLIC[part] if not hasattr(module, name)] == []


def test_every_part_is_pinned():
    parts = [
        path.parent for path in FILES if path.name == "__init__.py" and path.parent.parent == ROOT / "engine"
    ]
    assert sorted(PUBLIC) == sorted(f"engine.{path.name}" for path in parts)
