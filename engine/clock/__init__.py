"""Time: flicks, clocks and timers."""

from engine.clock.clock import Clock, SimClock
from engine.clock.flicks import BadTime, NotExact
from engine.clock.replay import Reading, ReadingDiverged, RecordingClock, ReplayingClock
from engine.clock.timers import Timer, Timers

__all__ = [
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
]
