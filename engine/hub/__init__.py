"""Pure state machines that coordinate worlds. `messages` says what goes in and what comes out."""

from engine.hub.data import VersionedData
from engine.hub.step import step
from engine.hub.world import World, open_world

__all__ = ["VersionedData", "World", "open_world", "step"]
