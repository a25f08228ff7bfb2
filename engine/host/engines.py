"""The engines that heads run on: the present one, and older ones from their blobs. A head runs on what made it."""

from __future__ import annotations

from collections.abc import Callable

from fastrlock.rlock import FastRLock

from engine.host.images import Pins
from engine.ids import content_id
from engine.io.blobs import Blobs
from engine.logic import Engine, EngineRefused, VmPool
from engine.logic.engine_build import is_named_by


class EngineForeign(Exception):
    """A heap needs an engine that this installation cannot be; both are named."""


class Engines:
    """VM pools by engine identity. `load(wasm)` compiles another engine when a world needs one."""

    def __init__(
        self,
        present: Engine,
        pool: VmPool,
        blobs: Blobs,
        load: Callable[[bytes], tuple[Engine, VmPool]],
        pins: Pins,
    ) -> None:
        self.identity = present.identity
        self.blob = pins.put(blobs, present.wasm)  # for good: new worlds name it
        self.pool = pool
        self.path = present.path  # "c" or "python"
        self._blobs = blobs
        self._load = load
        self._lock = FastRLock()
        self._pools: dict[str, VmPool] = {present.identity: pool}

    def pool_for(self, identity: str, blob: str) -> VmPool:
        """The pool for heaps of an engine. Raises EngineForeign, BlobMissing, BlobRotten."""
        pool = self._pools.get(identity)
        return pool if pool is not None else self._be(identity, lambda: self._blobs.get(blob))

    def require(self, identity: str, wasm: bytes) -> None:
        """Whether this installation can be an engine whose binary is at hand. Raises EngineForeign."""
        if not is_named_by(identity, wasm):
            raise EngineForeign(
                f"the binary that comes with it is not that of its engine '{identity}': it is {content_id(wasm)}"
            )
        if identity not in self._pools:
            self._be(identity, lambda: wasm)

    def _be(self, identity: str, binary: Callable[[], bytes]) -> VmPool:
        with self._lock:
            if identity not in self._pools:
                try:
                    engine, loaded = self._load(binary())
                except EngineRefused as refused:
                    raise EngineForeign(
                        f"this world's heap runs on engine '{identity}', which this installation, '{self.identity}', "
                        f"cannot be: {refused}"
                    ) from None
                if engine.identity != identity:
                    loaded.close()
                    raise EngineForeign(
                        f"this world's heap runs on engine '{identity}'; this installation is '{engine.identity}'. "
                        "Open the directory with the version that wrote it"
                    )
                self._pools[identity] = loaded
            return self._pools[identity]

    def close(self) -> None:
        """Close what was loaded for this directory; the present engine's VMs belong to the process."""
        for pool in self._pools.values():
            if pool is not self.pool:
                pool.close()
