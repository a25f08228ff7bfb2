"""What a world's head defines, as its records say it: for when its heap cannot be read."""

from __future__ import annotations

from collections.abc import Callable

from engine import logic
from engine.host.images import HeapUnreadable
from engine.host.ledger import LedgerReads
from engine.logic.jobs import Catalogue, Changes, Definition, definition_kind
from engine.logic.source import file_of
from engine.record import kinds
from engine.record.projection import DefinitionRow


def changes_of_rollback(
    head: Callable[[], Catalogue], ledger: LedgerReads, world: str, target: Catalogue
) -> Changes:
    """What going from the head to `target` changes. A head whose heap cannot be read can still be left.

    Which globals it had is then not known: none is told as new.
    """
    try:
        before = head()
    except HeapUnreadable:
        rows = ledger.functions(world)
        definitions = tuple(_definition(ledger, world, row) for row in rows)
        before = Catalogue(definitions=definitions, globals=target.globals)
    return logic.changes_between(before, target)


def _definition(ledger: LedgerReads, world: str, row: DefinitionRow) -> Definition:
    recorded = row.definition
    is_library_file = not recorded.source
    return Definition(
        name=recorded.name,
        kind=definition_kind(recorded.kind),
        version=recorded.version,
        params=tuple(recorded.params),
        doc=recorded.doc,
        source=recorded.source,
        origin=_origin(ledger, world, recorded.name, row.revision) if is_library_file else "",
        is_library_file=is_library_file,
    )


def _origin(ledger: LedgerReads, world: str, name: str, n: int) -> str:
    """The file name of the source that made a definition of revision `n`; a rollback took it from its target."""
    row = ledger.revision(world, n)
    body = row.body if row is not None else None
    if not isinstance(body, kinds.Revision):
        return ""
    if body.target is None:
        return file_of(body.source)
    found = [one.revision for one in ledger.definitions_at(world, body.target) if one.definition.name == name]
    return _origin(ledger, world, name, found[0]) if found else ""
