"""The same life leaves the same bytes: run twice, under any hash seed, by the C and the pure-Python path."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from same_bytes import log_hash

from engine.host.machine import machine

HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def here() -> str:
    return log_hash("python")


def test_a_life_lived_twice_in_one_process_leaves_the_same_log(here: str) -> None:
    assert log_hash("python") == here


def test_the_c_path_leaves_the_log_of_the_python_path(here: str) -> None:
    if machine("auto").engine.path != "c":
        pytest.skip("the C path was not built here")
    assert log_hash("c") == here


@pytest.mark.parametrize("hash_seed", ["0", "1", "random"])
def test_no_hash_seed_changes_the_log(here: str, hash_seed: str) -> None:
    done = subprocess.run(
        [sys.executable, str(HERE / "same_bytes.py"), "auto"],
        env={**os.environ, "PYTHONHASHSEED": hash_seed},
        capture_output=True,
        text=True,
        check=True,
        cwd=HERE,
    )
    assert done.stdout.strip() == here
