"""The only shell: it opens a data directory, pumps events, performs effects. `live()` and `simulated()` build it."""

from typing import TYPE_CHECKING

from engine.lazily import attributes_of

if TYPE_CHECKING:
    from engine.host.api import Application, NotThere, Upkeep
    from engine.host.findings import Finding, doctor, restore
    from engine.host.live_host import LiveHost, live
    from engine.host.opening import CannotOpen
    from engine.host.simulated_host import SimulatedHost, simulated

__all__ = [
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
]

__getattr__ = attributes_of(
    globals(),
    {
        "Application": "api",
        "CannotOpen": "opening",
        "Finding": "findings",
        "LiveHost": "live_host",
        "NotThere": "api",
        "SimulatedHost": "simulated_host",
        "Upkeep": "api",
        "doctor": "findings",
        "live": "live_host",
        "restore": "findings",
        "simulated": "simulated_host",
    },
)
