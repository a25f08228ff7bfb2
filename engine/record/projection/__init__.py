"""What queries need of the log, in SQLite on the injected disk (see `projection`)."""

from engine.record.projection.pinned import Blessing, Ended, GoldenRow, HeldRow
from engine.record.projection.projection import Projection
from engine.record.projection.rows import (
    CheckpointRow,
    DataRow,
    DefinitionRow,
    IncidentRow,
    Page,
    RecordRow,
    RejectionRow,
    RequestRow,
    RevisionRow,
    World,
)

__all__ = [
    "Blessing",
    "CheckpointRow",
    "DataRow",
    "DefinitionRow",
    "Ended",
    "GoldenRow",
    "HeldRow",
    "IncidentRow",
    "Page",
    "Projection",
    "RecordRow",
    "RejectionRow",
    "RequestRow",
    "RevisionRow",
    "World",
]
