"""Where the C path is missing or does not fit, the engine says why; the pure-Python path is always there."""

from __future__ import annotations

import subprocess
import sys

import pytest
from conftest import ROOT, WASM, FolderCache

from engine.logic import EngineRefused, load_engine, native


@pytest.fixture
def nothing_built(monkeypatch, tmp_path):
    monkeypatch.setattr(native, "BUILT", tmp_path)
    monkeypatch.setattr(native, "_loaded", None)
    return tmp_path


def test_without_a_built_library_jobs_take_the_python_path_and_the_reason_is_known(nothing_built):
    engine = load_engine(WASM.read_bytes(), FolderCache())
    assert engine.path == "python"
    assert engine.native_reason == f"{nothing_built} holds no pw_native for this Python; run: make setup"


def test_asking_for_the_c_path_where_it_is_not_built_is_refused(nothing_built):
    with pytest.raises(EngineRefused, match="run: make setup"):
        load_engine(WASM.read_bytes(), FolderCache(), prefer="c")


def test_a_library_that_does_not_load_is_refused_with_its_path(nothing_built):
    broken = nothing_built / f"pw_native{native.EXTENSION_SUFFIXES[0]}"
    broken.write_bytes(b"not a library")
    with pytest.raises(EngineRefused, match="does not load"):
        load_engine(WASM.read_bytes(), FolderCache(), prefer="c")


def test_a_library_of_another_version_is_refused(c_engine, monkeypatch):
    built = native.NATIVE_VERSION
    monkeypatch.setattr(native, "NATIVE_VERSION", 999)
    monkeypatch.setattr(native, "_loaded", None)
    with pytest.raises(EngineRefused, match=f"is version {built}, expected 999; run: make setup"):
        load_engine(WASM.read_bytes(), FolderCache(), prefer="c")


def test_the_python_path_can_be_asked_for(python_engine):
    assert (python_engine.path, python_engine.native_reason) == (
        "python",
        "the pure-Python path was asked for",
    )


def test_what_is_no_engine_is_refused():
    with pytest.raises(EngineRefused, match=r"quickjs\.wasm of 7 bytes"):
        load_engine(b"no wasm", prefer="python")


def test_without_a_compiler_the_build_says_so_and_succeeds(tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "native.build"],
        cwd=ROOT,
        env={"PATH": str(tmp_path), "CC": ""},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("native path: not built: no C compiler was found")
