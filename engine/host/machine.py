"""The engine of this process: quickjs.wasm found, compiled once, booted once, for as many hosts as the process has."""

from __future__ import annotations

import contextlib
import functools
import os
from pathlib import Path

from engine.host.opening import CannotOpen, Machine
from engine.logic import PRELUDE_VERSION, Engine, VmPool, boot, load_engine, prelude_source
from engine.logic.engine_build import Prefer

_PROJECT = Path(__file__).resolve().parents[2]


class DirectoryCache:
    """Compiled modules in a directory of the user's; losing it costs a second."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def get(self, key: str) -> bytes | None:
        try:
            return (self._directory / key).read_bytes()
        except OSError:
            return None

    def put(self, key: str, content: bytes) -> None:
        """Best effort: a cache that cannot be written is no error."""
        with contextlib.suppress(OSError):
            self._directory.mkdir(parents=True, exist_ok=True)
            temporary = self._directory / f"{key}.{os.getpid()}.tmp"
            temporary.write_bytes(content)
            temporary.replace(self._directory / key)


def cache_directory() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "flickworld"


def engine_path() -> Path:
    """Where the engine's wasm file lies: PW_ENGINE_WASM, or what `make setup` installed."""
    chosen = os.environ.get("PW_ENGINE_WASM")
    return Path(chosen) if chosen else _PROJECT / "web/node_modules/quickjs-wasi/quickjs.wasm"


def engine_wasm() -> bytes:
    """The engine's binary. Raises CannotOpen."""
    path = engine_path()
    try:
        return path.read_bytes()
    except OSError as error:
        raise CannotOpen(
            f"{path}: the engine cannot be read ({error.strerror}). `make setup` installs it"
        ) from None


@functools.lru_cache(maxsize=4)
def machine(prefer: Prefer = "auto", prelude_version: int = PRELUDE_VERSION) -> Machine:
    """The engine on the VM path that was asked for. Raises CannotOpen."""
    return machine_of(engine_wasm(), prefer, prelude_version)


def machine_of(
    wasm: bytes,
    prefer: Prefer = "auto",
    prelude_version: int = PRELUDE_VERSION,
    *,
    target: str | None = None,
) -> Machine:
    """An engine of these bytes, a recording's perhaps; `target` is another code generator than this machine's own.

    Raises EngineRefused.
    """

    def load(wasm: bytes) -> tuple[Engine, VmPool]:
        engine = load_engine(wasm, DirectoryCache(cache_directory()), prefer=prefer, target=target)
        return engine, VmPool(engine)

    engine, pool = load(wasm)
    return Machine(engine, pool, boot(engine, prelude_source(prelude_version)), prelude_version, load)
