"""What the tests of the VM and the language share: engines of both paths, and threads with room for deep recursion."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.logic import Engine, EngineRefused, VmPool, load_engine, vm_thread_stack_bytes

ROOT = Path(__file__).parents[2]
WASM = ROOT / "web" / "node_modules" / "quickjs-wasi" / "quickjs.wasm"
MODULES = ROOT / "build" / "modules"


class FolderCache:
    """Compiled modules kept between test runs."""

    def get(self, key: str) -> bytes | None:
        path = MODULES / key
        return path.read_bytes() if path.exists() else None

    def put(self, key: str, content: bytes) -> None:
        MODULES.mkdir(parents=True, exist_ok=True)
        fresh = MODULES / f"{key}.{threading.get_ident()}"
        fresh.write_bytes(content)
        fresh.replace(MODULES / key)


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool:
    """Run each test on a thread whose stack is large enough for VM jobs."""
    arguments = {name: pyfuncitem.funcargs[name] for name in pyfuncitem._fixtureinfo.argnames}
    on_vm_thread(lambda: pyfuncitem.obj(**arguments))
    return True


def on_vm_thread(work) -> None:
    """Run `work` on a thread of its own and raise here what it raised there."""
    raised: list[BaseException] = []

    def run() -> None:
        try:
            work()
        except BaseException as error:
            raised.append(error)

    before = threading.stack_size(vm_thread_stack_bytes)
    try:
        thread = threading.Thread(target=run)
        thread.start()
    finally:
        threading.stack_size(before)
    thread.join()
    if raised:
        raise raised[0]


@pytest.fixture(scope="session")
def python_engine() -> Engine:
    return load_engine(WASM.read_bytes(), FolderCache(), prefer="python")


@pytest.fixture(scope="session")
def c_engine() -> Engine:
    try:
        return load_engine(WASM.read_bytes(), FolderCache(), prefer="c")
    except EngineRefused as why:
        pytest.skip(f"the C path is not there: {why}")


@pytest.fixture(scope="session", params=["c", "python"])
def engine(request: pytest.FixtureRequest) -> Engine:
    """Every test that takes it runs on both paths."""
    return request.getfixturevalue(f"{request.param}_engine")


@pytest.fixture(scope="session")
def pool(engine: Engine) -> Iterator[VmPool]:
    pool = VmPool(engine)
    yield pool
    pool.close()
