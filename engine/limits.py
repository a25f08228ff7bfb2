"""Every maximum and default in one place; the relations between them are asserted at the end.

Sizes are bytes, times are flicks (1/705,600,000 s), budgets are units of wasm fuel.
"""

from __future__ import annotations

KIB = 1024
MIB = 1024 * KIB
FLICKS_PER_SECOND = 705_600_000

# The world VM
PAGE_BYTES = 4096
WASM_PAGE_BYTES = 65536
HEAP_BYTES_MAX = 64 * MIB
LINEAR_MEMORY_BYTES_MAX = 96 * MIB
HEAP_DELTA_PAGES_MAX = 96
HEAP_SLACK_BYTES = 512 * KIB
VMS_KEPT_MAX = 16
FUEL_PER_SECOND_ABOUT = 6_000_000_000
CALL_FUEL_MAX = 2 * FUEL_PER_SECOND_ABOUT
DEVELOP_FUEL_MAX = 2 * FUEL_PER_SECOND_ABOUT
WATCHDOG_FLICKS = 10 * 2 * FLICKS_PER_SECOND
STACK_BYTES_JS = 500 * KIB
STACK_BYTES_WASM = 64 * MIB
STACK_BYTES_ASYNC = 128 * MIB
STACK_BYTES_THREAD = 256 * MIB
STACK_BYTES_MAIN_THREAD = 96 * MIB
QUICK_FUEL_MAX = 2_000_000  # what a call may spend on the host's own thread: a fraction of a millisecond
QUICK_MISSES_KEPT_MAX = 10_000

# Values that cross
SOURCE_BYTES_MAX = 1 * MIB
ARGUMENTS_BYTES_MAX = 1 * MIB
RESULT_BYTES_MAX = 1 * MIB
NESTED_MAX = 500  # levels of objects and arrays in what a world gives: results, stored values, arguments
DATA_VALUE_BYTES_MAX = 256 * KIB
DATA_KEY_BYTES_MAX = 1 * KIB
DATA_ROWS_UNPAGED_MAX = 10_000
DATA_LIST_BYTES_MAX = 16 * MIB  # of the rows that one list gives
DATA_WRITES_BYTES_MAX = 8 * MIB  # of all that one call leaves written
DATA_WRITE_BYTES_ABOUT = 16  # what a write takes in a record besides key and value
DATA_READS_MAX = 100_000  # different keys and ranges that one call reads
CATALOGUE_BYTES_MAX = 8 * MIB  # texts, names and docs of all definitions of a world
CONSOLE_LINES_MAX = 200
CONSOLE_BYTES_MAX = 16 * KIB
BODY_BYTES_MAX = 8 * MIB
ERROR_CHARS_MAX = 4000
ERROR_CHARS_READ_MAX = 16 * ERROR_CHARS_MAX  # of which frames of the prelude are left out

# Checks
CHECK_INPUTS = 50
CHECK_INPUT_BYTES_MAX = 64 * KIB
CHECK_FUEL_MAX = 2 * FUEL_PER_SECOND_ABOUT  # all runs of one check together; shrinking has as much again
CHECK_SHRINK_RUNS_MAX = 4000
CHECK_SHOWN_CHARS_MAX = 400
GENERATOR_DRAWS_MAX = 4 * CHECK_INPUTS
GENERATOR_FUEL_MAX = 2 * FUEL_PER_SECOND_ABOUT
GENERATOR_NODES_MAX = 1000
GENERATOR_DEPTH_MAX = 40
GENERATOR_STRATEGIES_MAX = 2000

# Goldens: pinned results, and changes that are held because of them
GOLDENS_MAX = 64  # pinned in one world
GOLDEN_BYTES_MAX = 256 * KIB  # of all that is kept to run one pinned call again
GOLDEN_NAME_CHARS_MAX = 100
HELD_CHANGES_MAX = 64  # open in one world
OUTCOME_BYTES_MAX = 16 * KIB  # of an outcome that is kept; of a larger one its hash is
OUTCOME_BEGINNING_CHARS_MAX = 200  # of a larger one, as it is shown
OUTCOME_ARGS_BYTES_MAX = 4 * KIB  # of a call's arguments as a held change shows them
TRIED_CALLS_MAX = 200  # the last recorded calls that a change is tried against
TRIED_FUEL_MAX = 10 * CALL_FUEL_MAX  # for all of these together, and for all pinned calls together
TRIED_SLICE_FUEL = FUEL_PER_SECOND_ABOUT // 10  # of a dry run, before others have their turn
DRY_RUNS_MAX = 2  # at once, of one world

# Calls
CALLS_RUNNING_MAX = 8
CALLS_QUEUED_MAX = 1000
CALL_START_FLICKS_MAX = 1 * FLICKS_PER_SECOND
CALL_RERUNS_MAX = 5
REQUEST_ID_KEPT_FLICKS = 24 * 3600 * FLICKS_PER_SECOND
DEVELOPS_QUEUED_MAX = 100
ALONE_FROM_RERUN = 2
PEER_ASKS_MAX = 1000  # of one call
PEER_BYTES_MAX = 4 * MIB  # arguments for other worlds and their answers, of one call
PEER_WAIT_FLICKS_MAX = 30 * FLICKS_PER_SECOND
CALL_PATH_WORLDS_MAX = 8
BUSY_RETRY_AFTER_S = 1
DRAINING_RETRY_AFTER_S = 5

# Storage
SECTOR_BYTES = 4096
LOG_SEGMENT_BYTES_MAX = 64 * MIB
LOG_BATCH_RECORDS_MAX = 512
LOG_BATCH_BYTES_MAX = 16 * MIB
LOG_HEAD_SYNC_BATCHES = 256
LOG_CACHE_BYTES = 8 * MIB
LOG_READ_AHEAD_BYTES = 1 * MIB
LOG_READ_RECORDS_DELAY_FLICKS = FLICKS_PER_SECOND // 40
HEAP_DELTAS_PER_BASE_MAX = 32
HEAP_PATCH_PAGES_MAX = (
    128  # of a delta that is packed against its parent's pages: both fit in one zstd window
)
DISK_RESERVE_BYTES = 8 * MIB
DISK_WARN_BYTES_FREE = 256 * MIB
READ_BODIES_KEPT_FLICKS = 7 * 24 * 3600 * FLICKS_PER_SECOND
INFLIGHT_DEATHS_MAX = 2
INFLIGHT_SLOTS = 1024
INFLIGHT_SLOT_BYTES = 1 * KIB
COPIED_SOURCES_BYTES_MAX = 3 * SOURCE_BYTES_MAX  # in a copy's first record; errors in others have no line
RECORDING_CHUNK_RECORDS_MAX = 4096
RECORDING_CHUNK_BYTES = 1 * MIB  # of records; a larger one has a chunk of its own
RECORDING_CHUNK_BYTES_MAX = LOG_BATCH_BYTES_MAX + MIB
RECORDING_BLOB_PIECE_BYTES = 4 * MIB
RECORDING_BLOB_BYTES_MAX = 256 * MIB
RECORDING_ENGINE_BYTES_MAX = 64 * MIB
RECORDING_MANIFEST_BYTES_MAX = 64 * KIB
RECORDING_UPLOAD_BYTES_MAX = 1024 * MIB
IMPORT_AHEAD_FLICKS_MAX = (
    600 * FLICKS_PER_SECOND
)  # a recording's last record may be so far ahead of the clock here
RECORDING_MEMORY_BYTES_MAX = 1024 * MIB  # of records and blobs that are held in memory to replay them
PROJECTION_COMMIT_RECORDS = 512
PROJECTION_WAL_PAGES_MAX = 4096
MOMENT_RECORDS_STEP = 1024  # applied at once when a world's past is looked up
PAST_ROWS_KEPT_MAX = 200_000  # of moments that were looked at; the newest one is kept whatever it has
PAST_LOOKS_MAX = 100  # moments that are being made, and tries in them that run or wait
IMAGES_KEPT_BYTES_MAX = 256 * MIB
RECENT_BODIES_KEPT_MAX = 256
CHECKPOINT_RECORDS = 10_000
STORAGE_RETRY_FLICKS = 1 * FLICKS_PER_SECOND

# The door: HTTP
NOTE_CHARS_MAX = 2000  # a summary or a reason
ACTOR_CHARS_MAX = 100  # who did it, in a record that was made elsewhere
HEAD_BYTES_MAX = 64 * KIB
HEAD_FLICKS_MAX = 10 * FLICKS_PER_SECOND
BODY_FLICKS_MAX = 60 * FLICKS_PER_SECOND
UPLOAD_FLICKS_MAX = 600 * FLICKS_PER_SECOND  # of a recording that is imported
IDLE_FLICKS_MAX = 30 * FLICKS_PER_SECOND
ANSWER_FLICKS_MAX = 60 * FLICKS_PER_SECOND
DRAIN_FLICKS_MAX = 30 * FLICKS_PER_SECOND
CONNECTIONS_MAX = 4096
NUMBER_MAX = 2**53 - 1
PORT_DEFAULT = 8787

# Pages. A visitor is an address and a world; a page is one that was sent out, with its token.
PAGE_ACCESS_FLICKS = 24 * 3600 * FLICKS_PER_SECOND
PAGE_VIEWS_A_MINUTE_MAX = 1200  # of one visitor
PAGE_CALLS_A_MINUTE_MAX = 600  # of one page
PAGE_VISITOR_CALLS_A_MINUTE_MAX = 3000
PAGE_LINKS_MAX = 1000  # of one world, one after the other
PAGE_HEADER_CHARS_MAX = 4000
NAMES_LISTED_MAX = 1000  # in a list of grants or of functions that a page may call

# Steps of an operation that is run again to be looked at
STEPS_MAX = 5000
STEPS_BYTES_MAX = 2 * MIB
STEP_VALUE_BYTES_MAX = 16 * KIB
STEP_BYTES_ABOUT = 32  # what a step takes beside its texts

# Replays
REPLAY_SECTION_RECORDS = 256  # where there are no checkpoints to look between
DIFFERENCES_MAX = 20  # of one record that diverged
DIFFERENCE_CHARS_MAX = 200

# Answers in pages
PAGE_ROWS_DEFAULT = 100
PAGE_ROWS_MAX = 1000

assert STACK_BYTES_WASM < STACK_BYTES_MAIN_THREAD < 128 * MIB, "Linux keeps so much free below the main stack"
assert STACK_BYTES_WASM < STACK_BYTES_ASYNC <= STACK_BYTES_THREAD, "wasm stacks nest in thread stacks"
assert HEAP_BYTES_MAX % WASM_PAGE_BYTES == 0, "a heap is whole wasm pages"
assert HEAP_BYTES_MAX < LINEAR_MEMORY_BYTES_MAX, "the engine refuses an allocation before its memory ends"
assert WASM_PAGE_BYTES % PAGE_BYTES == 0, "a wasm page is whole snapshot pages"
assert DATA_VALUE_BYTES_MAX <= RESULT_BYTES_MAX <= BODY_BYTES_MAX, "a stored value fits in a result"
assert ARGUMENTS_BYTES_MAX <= BODY_BYTES_MAX and SOURCE_BYTES_MAX <= BODY_BYTES_MAX, "a body holds them"
assert PEER_BYTES_MAX + RESULT_BYTES_MAX <= BODY_BYTES_MAX, "a record holds the answers that a call was given"
assert (
    DATA_WRITES_BYTES_MAX + PEER_BYTES_MAX + RESULT_BYTES_MAX + ARGUMENTS_BYTES_MAX + MIB
    <= LOG_BATCH_BYTES_MAX
), "whatever a call does fits in a batch: no world can stop the log"
assert CATALOGUE_BYTES_MAX + 4 * SOURCE_BYTES_MAX <= LOG_BATCH_BYTES_MAX, (
    "so does a revision, and a rollback to any"
)
assert (
    CATALOGUE_BYTES_MAX + 4 * SOURCE_BYTES_MAX + 2 * GOLDENS_MAX * OUTCOME_BYTES_MAX <= LOG_BATCH_BYTES_MAX
), "and one that blesses"
assert (
    SOURCE_BYTES_MAX
    + (TRIED_CALLS_MAX + GOLDENS_MAX) * (2 * OUTCOME_BYTES_MAX + OUTCOME_ARGS_BYTES_MAX)
    + 2 * MIB
    <= LOG_BATCH_BYTES_MAX
), "and a held change"
assert GOLDEN_BYTES_MAX > OUTCOME_BYTES_MAX + OUTCOME_ARGS_BYTES_MAX, "a pin keeps more than it shows"
assert LOG_BATCH_BYTES_MAX < LOG_SEGMENT_BYTES_MAX, "a batch fits in a segment"
assert BODY_BYTES_MAX < LOG_BATCH_BYTES_MAX, "a record fits in a batch"
assert CATALOGUE_BYTES_MAX + COPIED_SOURCES_BYTES_MAX + MIB <= LOG_BATCH_BYTES_MAX, (
    "a copy's genesis fits in a batch"
)
assert LOG_BATCH_BYTES_MAX < RECORDING_CHUNK_BYTES_MAX, "a record fits in a chunk"
assert LINEAR_MEMORY_BYTES_MAX < RECORDING_BLOB_BYTES_MAX, "a heap that does not compress fits in a recording"
assert CHECK_INPUTS * CHECK_INPUT_BYTES_MAX <= BODY_BYTES_MAX, "a check's inputs fit in a record"
assert CALLS_RUNNING_MAX <= VMS_KEPT_MAX, "the calls that run at once find their VMs kept"
assert CALLS_RUNNING_MAX <= CALLS_QUEUED_MAX, "the queue is longer than the floor"
assert 1 <= ALONE_FROM_RERUN <= CALL_RERUNS_MAX, "a call on a hot key runs alone before it gives up"
assert READ_BODIES_KEPT_FLICKS >= REQUEST_ID_KEPT_FLICKS, "an answer is kept as long as its request id"
assert DISK_RESERVE_BYTES < DISK_WARN_BYTES_FREE, "the warning comes before read-only"
assert STEP_VALUE_BYTES_MAX + DATA_KEY_BYTES_MAX < STEPS_BYTES_MAX, "any one step can be shown"
