"""The tables of the projection. They are derived: another version is thrown away and built again from the
log.

Worlds have a small number (`no`) here, given in the order of their first records. Text of users (keys, names
of definitions, request ids) is stored as UTF-8 blobs with lone surrogates kept, so that its order is by code
point. Bodies are kept as the records have them, in canonical bytes; NULL where the log's body was erased.
"""

from __future__ import annotations

VERSION = 5
APPLICATION_ID = 0x666C6B70  # "flkp"

TABLES = {
    "applied": """(
        batch INTEGER NOT NULL, hash TEXT NOT NULL, flick INTEGER NOT NULL)""",
    "worlds": """(
        no INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, name BLOB NOT NULL,
        archived INTEGER NOT NULL, frozen INTEGER NOT NULL, purged INTEGER NOT NULL,
        created_flick INTEGER NOT NULL, revision INTEGER NOT NULL, heap_root TEXT NOT NULL,
        heap_blob TEXT NOT NULL, prelude_version INTEGER NOT NULL, engine TEXT NOT NULL,
        engine_blob TEXT NOT NULL, seq INTEGER NOT NULL, hash TEXT NOT NULL,
        next_revision INTEGER NOT NULL, next_rejection INTEGER NOT NULL, next_incident INTEGER NOT NULL,
        definitions INTEGER NOT NULL, read_bodies_kept_flicks INTEGER NOT NULL)""",
    "records": """(
        world INTEGER NOT NULL, seq INTEGER NOT NULL, kind TEXT NOT NULL,
        actor BLOB NOT NULL, flick INTEGER NOT NULL, segment INTEGER NOT NULL,
        batch INTEGER NOT NULL, position INTEGER NOT NULL,
        PRIMARY KEY (world, seq)) WITHOUT ROWID""",
    "revisions": """(
        world INTEGER NOT NULL, n INTEGER NOT NULL, seq INTEGER NOT NULL, kind TEXT NOT NULL,
        actor BLOB NOT NULL, flick INTEGER NOT NULL, body BLOB,
        PRIMARY KEY (world, n)) WITHOUT ROWID""",
    "definitions": """(
        world INTEGER NOT NULL, name BLOB NOT NULL, from_n INTEGER NOT NULL, until_n INTEGER,
        body BLOB NOT NULL,
        PRIMARY KEY (world, name, from_n)) WITHOUT ROWID""",
    "data": """(
        world INTEGER NOT NULL, key BLOB NOT NULL, value BLOB NOT NULL, seq INTEGER NOT NULL,
        PRIMARY KEY (world, key)) WITHOUT ROWID""",
    "rejections": """(
        world INTEGER NOT NULL, n INTEGER NOT NULL, seq INTEGER NOT NULL, kind TEXT NOT NULL,
        actor BLOB NOT NULL, flick INTEGER NOT NULL, body BLOB,
        PRIMARY KEY (world, n)) WITHOUT ROWID""",
    "incidents": """(
        world INTEGER NOT NULL, n INTEGER NOT NULL, seq INTEGER NOT NULL, kind TEXT NOT NULL,
        actor BLOB NOT NULL, flick INTEGER NOT NULL, alike BLOB NOT NULL, work TEXT,
        deaths INTEGER NOT NULL, body BLOB,
        PRIMARY KEY (world, n)) WITHOUT ROWID""",
    "requests": """(
        world INTEGER NOT NULL, id BLOB NOT NULL, hash TEXT NOT NULL, seq INTEGER NOT NULL,
        kind TEXT NOT NULL, flick INTEGER NOT NULL,
        PRIMARY KEY (world, id)) WITHOUT ROWID""",
    "checkpoints": """(
        world INTEGER NOT NULL, seq INTEGER NOT NULL, body BLOB NOT NULL,
        PRIMARY KEY (world, seq)) WITHOUT ROWID""",
    "checks": """(
        world INTEGER NOT NULL, seq INTEGER NOT NULL, name BLOB NOT NULL, body BLOB NOT NULL,
        removed_seq INTEGER, actor BLOB, flick INTEGER, reason BLOB,
        PRIMARY KEY (world, seq)) WITHOUT ROWID""",
    "settings": """(
        world INTEGER NOT NULL, kind TEXT NOT NULL, body BLOB NOT NULL,
        PRIMARY KEY (world, kind)) WITHOUT ROWID""",
    "endings": """(
        world INTEGER NOT NULL, n INTEGER NOT NULL, how TEXT NOT NULL, seq INTEGER NOT NULL,
        reason BLOB NOT NULL, value BLOB,
        PRIMARY KEY (world, n)) WITHOUT ROWID""",
    "admitted": """(
        world INTEGER NOT NULL, seq INTEGER NOT NULL, outcome_seq INTEGER, flick INTEGER NOT NULL,
        seed TEXT NOT NULL, body BLOB NOT NULL,
        PRIMARY KEY (world, seq)) WITHOUT ROWID""",
    "goldens": """(
        world INTEGER NOT NULL, n INTEGER NOT NULL, seq INTEGER NOT NULL, kind TEXT NOT NULL,
        actor BLOB NOT NULL, flick INTEGER NOT NULL, body BLOB NOT NULL, state TEXT NOT NULL,
        blessing BLOB, ended BLOB,
        PRIMARY KEY (world, n)) WITHOUT ROWID""",
}

KIND_LEAVES_MORE = "kind NOT IN ('call', 'preview', 'data-edit', 'data-restored')"
"""Of the others most records are known here by their data alone."""

INDEXES = {
    "records_but_data": f"ON records (world, seq) WHERE {KIND_LEAVES_MORE}",
    "incidents_alike": "ON incidents (world, alike)",
    "incidents_work": "ON incidents (world, work) WHERE work IS NOT NULL",
    "requests_flick": "ON requests (flick)",
    "requests_creation": "ON requests (id) WHERE kind = 'genesis'",
}

OF_ONE_WORLD = (
    "revisions",
    "definitions",
    "data",
    "rejections",
    "incidents",
    "requests",
    "checkpoints",
    "checks",
    "settings",
    "endings",
    "admitted",
    "goldens",
)
"""Tables whose rows go when their world is purged: what is left are its records, without bodies."""

OPEN_PRAGMAS = """
    PRAGMA locking_mode = EXCLUSIVE;
    PRAGMA journal_mode = WAL;
    PRAGMA synchronous = NORMAL;
    PRAGMA wal_autocheckpoint = 0;
    PRAGMA temp_store = MEMORY;
    PRAGMA secure_delete = ON;
    PRAGMA cache_size = -16384;
"""


def creation() -> str:
    """SQL that makes an empty projection, nothing applied."""
    tables = [f"CREATE TABLE {name} {columns};" for name, columns in TABLES.items()]
    indexes = [f"CREATE INDEX {name} {columns};" for name, columns in INDEXES.items()]
    marks = [f"PRAGMA application_id = {APPLICATION_ID};", f"PRAGMA user_version = {VERSION};"]
    return "\n".join(["BEGIN;", *tables, *indexes, *marks, "COMMIT;"])


def pack(text: str) -> bytes:
    """Text as a column: UTF-8, lone surrogates kept; bytes compare as code points."""
    return text.encode("utf-8", "surrogatepass")


def unpack(column: bytes) -> str:
    """Invert `pack`."""
    return bytes(column).decode("utf-8", "surrogatepass")
