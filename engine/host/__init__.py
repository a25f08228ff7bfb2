"""The only shell: it opens a data directory, pumps events, performs effects. `live()` and `simulated()` build it."""

from engine.host.api import Application, NotThere, Upkeep
from engine.host.doctor import Finding, doctor, restore
from engine.host.live import LiveHost, live
from engine.host.opening import CannotOpen
from engine.host.simulated import SimulatedHost, simulated

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
