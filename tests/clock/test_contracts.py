"""`make lint` searches the contracts of the flick arithmetic for counterexamples; here there are some to find."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
SOURCE = ROOT / "engine" / "clock" / "flicks.py"


def crosshair(target: str, *, folder: Path = ROOT) -> subprocess.CompletedProcess[str]:
    # It stops at the first counterexample; the time is for slow machines.
    arguments = ["check", "--analysis_kind=PEP316", "--per_condition_timeout=20", target]
    return subprocess.run(
        [sys.executable, "-m", "crosshair", *arguments],
        cwd=folder,
        env={"PYTHONPATH": f"{folder}:{ROOT}"},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize(
    "function, right, wrong",
    [
        ("divide_ceil", "return -(-dividend // divisor)", "return dividend // divisor + 1"),
        ("flicks_from_milliseconds", "FLICKS_PER_SECOND // 1000", "FLICKS_PER_SECOND // 1024"),
    ],
)
def test_a_mistake_in_the_arithmetic_is_found(tmp_path, function, right, wrong):
    text = SOURCE.read_text()
    assert text.count(right) == 1
    (tmp_path / "mistaken.py").write_text(text.replace(right, wrong))
    found = crosshair(f"mistaken.{function}", folder=tmp_path)
    assert found.returncode == 1, found.stdout + found.stderr
    assert "error: false when calling" in found.stdout
