"""The projection answers what the records say, and keeps nothing that they do not (Invariant 9)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from record_lives import (
    EVERY_KIND,
    Book,
    call,
    checkpoint,
    definition,
    edit,
    failed_call,
    genesis,
    interrupted,
    preview,
    rejection,
    revision,
    unchanged,
)

from engine.io.log import LogHead
from engine.io.mem_blobs import MemBlobs
from engine.io.mem_log import MemLog
from engine.io.sim_disk import SimDisk
from engine.limits import READ_BODIES_KEPT_FLICKS, REQUEST_ID_KEPT_FLICKS
from engine.record import RecordRotten, encode, genesis_previous
from engine.record.kinds import Describe, HeapRef, Purge, Request, Revision
from engine.record.projection import DataRow, DefinitionRow, Projection, RequestRow, World


@pytest.fixture
def log():
    return MemLog()


@pytest.fixture
def book(log):
    return Book(log)


def projected(log) -> Projection:
    return Projection(SimDisk(), log)


def names(rows: list[DefinitionRow]) -> list[tuple[str, int]]:
    return [(row.definition.name, row.revision) for row in rows]


# ---- worlds and revisions


def test_an_empty_log_has_nothing(log):
    projection = projected(log)
    assert projection.applied == LogHead(0, "0" * 64)
    assert projection.worlds() == []
    assert projection.world("w") is None
    assert projection.data("w", "", None, 10).rows == []
    assert projection.newest_flick() == 0


def test_a_new_world_is_its_genesis(log, book):
    book.write("w", genesis("Trip budget", heap=HeapRef("1" * 64, "2" * 64)))
    projection = projected(log)
    assert projection.world("w") == World(
        id="w",
        name="Trip budget",
        archived=False,
        frozen=False,
        purged=False,
        created_flick=1000,
        revision=0,
        heap=HeapRef("1" * 64, "2" * 64),
        prelude_version=2,
        engine="engine 1",
        engine_blob="c" * 64,
        seq=0,
        hash=book.ends["w"][1],
        next_revision=1,
        next_rejection=1,
        next_incident=1,
        definitions=0,
        read_bodies_kept_flicks=READ_BODIES_KEPT_FLICKS,
    )
    assert [(row.n, row.seq, row.cause) for row in projection.revisions("w", 10).rows] == [(0, 0, "genesis")]


def test_worlds_come_in_the_order_of_their_creation(log, book):
    for world in ("b", "a", "c"):
        book.write(world, genesis(world.upper()))
    book.write("a", Describe(archived=True))
    projection = projected(log)
    assert [world.id for world in projection.worlds()] == ["b", "a", "c"]
    assert [world.id for world in projection.worlds(archived=True)] == ["a"]
    assert [world.id for world in projection.worlds(archived=False)] == ["b", "c"]


def test_a_description_changes_what_it_names_and_no_more(log, book):
    book.write("w", genesis("Old"), Describe(name="New", read_bodies_kept_flicks=5), Describe(frozen=True))
    world = projected(log).world("w")
    assert (world.name, world.archived, world.frozen, world.read_bodies_kept_flicks) == (
        "New",
        False,
        True,
        5,
    )


def test_revisions_say_what_was_defined_when(log, book):
    book.write("w", genesis(), revision(1, "f", "g"), revision(2, "h", "f", removed=("g",)), revision(3, "g"))
    projection = projected(log)
    assert names(projection.functions("w")) == [("f", 2), ("g", 3), ("h", 2)]
    assert names(projection.definitions_at("w", 0)) == []
    assert names(projection.definitions_at("w", 1)) == [("f", 1), ("g", 1)]
    assert names(projection.definitions_at("w", 2)) == [("f", 2), ("h", 2)]
    assert names(projection.definitions_at("w", 3)) == [("f", 2), ("g", 3), ("h", 2)]
    assert projection.function("w", "h") == DefinitionRow(2, definition("h"))
    assert projection.function("w", "nope") is None
    world = projection.world("w")
    assert (world.revision, world.next_revision, world.definitions) == (3, 4, 3)


def test_a_rollback_makes_the_targets_definitions_valid_again(log, book):
    first, second = "function f() { return 1 }", "function f() { return 2 }"
    book.write("w", genesis(), revision(1, "f", source=first), revision(2, "f", "g", source=second))
    book.write("w", revision(3, "f", removed=("g",), source=first, cause="rollback", target=1))
    projection = projected(log)
    assert [row.definition for row in projection.functions("w")] == [definition("f", first)]
    assert [row.definition for row in projection.definitions_at("w", 2)] == [
        definition("f", second),
        definition("g", second),
    ]
    assert projection.revision("w", 3).cause == "rollback"
    assert projection.revision("w", 4) is None


def test_revisions_come_newest_first_in_pages(log, book):
    book.write("w", genesis(), *(revision(n, "f") for n in range(1, 6)))
    projection = projected(log)
    page = projection.revisions("w", 2)
    assert ([row.n for row in page.rows], page.more) == ([5, 4], True)
    page = projection.revisions("w", 4, before=4)
    assert ([row.n for row in page.rows], page.more) == ([3, 2, 1, 0], False)
    assert isinstance(page.rows[0].body, Revision) and page.rows[0].body == revision(3, "f")


# ---- what went wrong


def test_rejections_and_incidents_are_numbered_newest_first(log, book):
    book.write(
        "w", genesis(), rejection(1), rejection(2), unchanged(0), failed_call(1), call(), failed_call(2)
    )
    projection = projected(log)
    page = projection.rejections("w", 1)
    assert ([row.n for row in page.rows], page.more) == ([2], True)
    assert projection.rejection("w", 1).body == rejection(1)
    assert [row.n for row in projection.incidents("w", 5).rows] == [2, 1]
    assert projection.incident("w", 2).body == failed_call(2)
    world = projection.world("w")
    assert (world.next_rejection, world.next_incident) == (3, 3)


def test_incidents_of_one_function_and_first_line_are_alike(log, book):
    book.write(
        "w",
        genesis(),
        failed_call(1, "f", "Error: zip\n    at f (1)"),
        failed_call(2, "f", "Error: zip\n    at f (2)"),
        failed_call(3, "g", "Error: zip"),
        failed_call(4, "f", "Error: zap"),
        interrupted(5),
    )
    book.write("v", genesis(), failed_call(1, "f", "Error: zip"))
    alike = {row.n: (row.kind, row.alike) for row in projected(log).incidents("w", 10).rows}
    assert alike == {
        1: ("threw", 2),
        2: ("threw", 2),
        3: ("threw", 1),
        4: ("threw", 1),
        5: ("interrupted", 1),
    }


def test_deaths_are_counted_by_work_and_quarantine_ends_with_the_next_revision(log, book):
    book.write(
        "w", genesis(), revision(1, "f"), interrupted(1, deaths=1), interrupted(2, deaths=2, work="v" * 64)
    )
    projection = projected(log)
    assert projection.deaths("w", "w" * 64) == 1
    assert projection.deaths("w", "v" * 64) == 2
    assert projection.deaths("w", "u" * 64) == 0
    assert projection.quarantined("w", 1) == ["v" * 64]
    book.write("w", revision(2, "f"))
    projection.catch_up()
    assert projection.quarantined("w", 2) == []


# ---- data


def test_data_are_ordered_by_code_point_with_lone_surrogates_in_their_place(log, book):
    keys = ["a", "b", "\uffff", "\ud800", "\udfff", "\U00010000", "é", "", "\ue000"]
    book.write("w", genesis(), call(writes={key: b"1" for key in keys}))
    projection = projected(log)
    assert [key for key, _ in projection.all_data("w")] == sorted(keys)
    assert [row.key for row in projection.data("w", "", "\ud800", 2).rows] == ["\udfff", "\ue000"]


def test_data_come_by_prefix_in_pages(log, book):
    book.write(
        "w",
        genesis(),
        call(writes={f"t/{n}": b"%d" % n for n in range(5)} | {"t": b"0", "u": b"0", "t0": b"0"}),
    )
    projection = projected(log)
    page = projection.data("w", "t/", None, 3)
    assert ([row.key for row in page.rows], page.more) == (["t/0", "t/1", "t/2"], True)
    page = projection.data("w", "t/", "t/2", 3)
    assert (page.rows, page.more) == ([DataRow("t/3", b"3", 1), DataRow("t/4", b"4", 1)], False)
    assert [row.key for row in projection.data("w", "t/", "a", 1).rows] == ["t/0"]
    assert projection.data("w", "t/", "t0", 9).rows == []
    assert projection.value("w", "u") == DataRow("u", b"0", 1)


@pytest.mark.parametrize("last", ["\U0010ffff", "\x7f", "\udfff"])
def test_a_prefix_that_ends_in_a_last_character_has_its_rows_and_no_others(log, book, last):
    after = chr(min(ord(last) + 1, 0x10FFFF))
    book.write("w", genesis(), call(writes={last: b"1", last + "x": b"2", after + "y": b"3", "a": b"4"}))
    expected = sorted(key for key in (last, last + "x", after + "y") if key.startswith(last))
    assert [row.key for row in projected(log).data("w", last, None, 9).rows] == expected


def test_the_last_write_of_a_key_counts_also_within_one_batch(log, book):
    book.write(
        "w", genesis(), call(writes={"a": b"1", "b": b"1"}), edit("a", None), edit("b", b"2"), edit("a", b"3")
    )
    projection = projected(log)
    assert projection.all_data("w") == [("a", b"3"), ("b", b"2")]
    book.write("w", edit("b", None))
    projection.catch_up()
    assert projection.all_data("w") == [("a", b"3")]


def test_data_of_worlds_are_apart(log, book):
    book.write("w", genesis(), edit("a", b"1"))
    book.write("v", genesis(), edit("a", b"2"))
    projection = projected(log)
    assert (projection.all_data("w"), projection.all_data("v")) == ([("a", b"1")], [("a", b"2")])


# ---- requests, records, checkpoints


def test_a_request_id_leads_to_its_record(log, book):
    book.write("w", genesis(request=Request("new", "1" * 64)), call(request=Request("once", "2" * 64)))
    book.write("v", genesis(request=Request("other", "3" * 64)), call(request=Request("once", "4" * 64)))
    projection = projected(log)
    assert projection.request("w", "once") == RequestRow("w", "once", "2" * 64, 1, 1000)
    assert projection.request("v", "once").hash == "4" * 64
    assert projection.request("w", "other") is None
    assert [row.id for row in projection.requests("w")] == ["new", "once"]
    assert projection.creation("other").world == "v"
    assert projection.creation("once") is None


def test_request_ids_are_forgotten_after_a_day_of_any_worlds_records(log, book):
    book.write("w", genesis(), call(request=Request("once", "2" * 64)))
    projection = projected(log)
    book.flick += REQUEST_ID_KEPT_FLICKS
    book.write("v", genesis())
    projection.catch_up()
    assert projection.request("w", "once") is not None
    book.flick += 1
    book.write("v", call())
    projection.catch_up()
    assert projection.request("w", "once") is None


def test_records_come_oldest_first_with_a_cursor_into_the_log(log, book):
    book.write("w", genesis(), call(), preview())
    book.write("v", genesis())
    book.write("w", unchanged(0))
    projection = projected(log)
    page = projection.records("w", -1, 3)
    assert ([(row.seq, row.kind) for row in page.rows], page.more) == (
        [(0, "genesis"), (1, "call"), (2, "preview")],
        True,
    )
    row = projection.record("w", 3)
    assert log.read_at(row.cursor) == next(entry for _, entry in log.read("w", 3))
    assert projection.records("w", 3, 3).rows == []
    assert projection.record("w", 4) is None


def test_the_newest_checkpoint_at_or_before_a_record(log, book):
    blobs = MemBlobs()
    first, second = checkpoint(blobs, {}), checkpoint(blobs, {"a": b"1"})
    book.write("w", genesis(), first, edit("a", b"1"), second)
    projection = projected(log)
    assert projection.checkpoint("w").body == second
    assert (projection.checkpoint("w", 2).seq, projection.checkpoint("w", 2).body) == (1, first)
    assert projection.checkpoint("w", 0) is None


# ---- erased bodies and purged worlds


def test_a_purged_world_keeps_its_records_and_nothing_else(log, book):
    book.write("v", genesis("Stays"), edit("a", b"1"))
    book.write("w", *EVERY_KIND)
    projection = projected(log)
    world = projection.world("w")
    assert (world.name, world.purged, world.heap, world.definitions, world.revision) == ("", True, None, 0, 0)
    assert (world.seq, world.hash, world.created_flick) == (len(EVERY_KIND) - 1, book.ends["w"][1], 1000)
    assert projection.functions("w") == []
    assert projection.all_data("w") == []
    assert projection.revisions("w", 9).rows == projection.rejections("w", 9).rows == []
    assert projection.incidents("w", 9).rows == projection.requests("w") == []
    assert projection.checkpoint("w") is None
    assert len(projection.records("w", -1, 99).rows) == len(EVERY_KIND)
    assert projection.all_data("v") == [("a", b"1")]


def test_a_rebuild_without_a_purged_worlds_bodies_is_the_same(log, book):
    book.write("v", genesis("Stays"))
    book.write("w", *EVERY_KIND)
    before = projected(log).dump()
    log.seal()
    assert log.erase_bodies(lambda entry: entry.world == "w" and b"purge" not in entry.header) > 0
    assert projected(log).dump() == before


def test_erased_bodies_of_a_living_world_are_shown_as_erased(log, book):
    book.write(
        "w", genesis(), revision(1, "f"), rejection(1), failed_call(1), interrupted(2), edit("a", b"1")
    )
    log.seal()
    log.erase_bodies(lambda entry: True)
    projection = projected(log)
    assert [(row.n, row.cause, row.body) for row in projection.revisions("w", 9).rows] == [
        (1, "erased", None),
        (0, "genesis", None),
    ]
    assert [(row.n, row.body) for row in projection.rejections("w", 9).rows] == [(1, None)]
    assert [(row.kind, row.body) for row in projection.incidents("w", 9).rows] == [("interrupted", None)]
    assert (projection.world("w").name, projection.world("w").heap) == ("", None)
    assert projection.all_data("w") == []


# ---- batches


def test_a_batch_that_is_there_already_is_left_alone(log, book):
    book.write("w", genesis())
    projection = projected(log)
    before = projection.dump()
    for head, entries in log.scan():
        projection.apply(head, entries)
    assert projection.dump() == before


def test_a_batch_before_its_turn_is_our_bug(log, book):
    projection = projected(log)
    book.write("w", genesis())
    book.write("w", call())
    second = list(log.scan())[1]
    with pytest.raises(AssertionError, match="batches come in order"):
        projection.apply(*second)


def test_a_record_that_does_not_follow_is_refused_and_the_batch_leaves_no_trace(log, book):
    book.write("w", genesis())
    projection = projected(log)
    before = projection.dump()
    follows = book.entry("w", edit("a", b"1"))
    skips, _ = encode(call(), world="w", seq=2, actor="operator", flick=1, previous=genesis_previous())
    cursors = log.append([follows, skips])
    with pytest.raises(RecordRotten, match="world w, record 2: it does not follow record 1 with hash"):
        projection.apply(log.head(), list(zip(cursors, [follows, skips], strict=True)))
    assert projection.dump() == before


def test_what_was_applied_is_there_at_once_and_after_reopening(log, book):
    disk = SimDisk()
    projection = Projection(disk, log)
    book.write("w", genesis(), edit("a", b"1"))
    for head, entries in log.scan():
        projection.apply(head, entries)
    assert projection.all_data("w") == [("a", b"1")]
    projection.close()
    again = Projection(disk, log)
    assert (again.all_data("w"), again.rebuilt, again.trouble) == ([("a", b"1")], None, None)


# ---- Invariant 9

WORLDS = st.sampled_from(["w", "v", "u"])
KEYS = st.sampled_from(["a", "b", "b\ud800", "c"])
STEPS = st.one_of(
    st.tuples(st.just("edit"), WORLDS, KEYS, st.sampled_from([None, b"1", b"2"])),
    st.tuples(st.just("call"), WORLDS, KEYS, st.sampled_from(["r1", "r2", None])),
    st.tuples(
        st.just("revision"), WORLDS, st.sampled_from(["f", "g", "h"]), st.sampled_from(["f", "g", "-"])
    ),
    st.tuples(st.just("trouble"), WORLDS, st.sampled_from(["rejection", "incident"]), st.none()),
    st.tuples(st.just("purge"), WORLDS, st.none(), st.none()),
    st.tuples(st.just("later"), WORLDS, st.sampled_from([1, REQUEST_ID_KEPT_FLICKS]), st.none()),
    st.tuples(st.just("reopen"), WORLDS, st.booleans(), st.none()),
)


class Model:
    """What a world should be, in plain Python."""

    def __init__(self) -> None:
        self.rows: dict[str, bytes] = {}
        self.definitions: dict[str, int] = {}
        self.revision = self.rejections = self.incidents = 0
        self.purged = False


@given(steps=st.lists(STEPS, max_size=30))
def test_any_life_projects_to_what_a_rebuild_and_a_plain_model_have(steps):
    log, disk = MemLog(), SimDisk()
    book, models = Book(log), {}
    projection = Projection(disk, log)
    for kind, world, one, two in steps:
        if kind == "later":
            book.flick += one
            continue
        if kind == "reopen":
            if one:
                projection.close()
            projection = Projection(disk.after_power_loss("kept") if not one else disk, log)
            continue
        if world not in models:
            models[world] = Model()
            book.write(world, genesis(world))
        model = models[world]
        if model.purged:
            continue
        _take_step(book, model, kind, world, one, two)
        projection.catch_up()
    assert projection.dump() == Projection(None, log).dump()
    for world, model in models.items():
        assert dict(projection.all_data(world)) == model.rows
        assert {row.definition.name: row.revision for row in projection.functions(world)} == model.definitions
        row = projection.world(world)
        assert (row.revision, row.next_rejection - 1, row.next_incident - 1, row.purged, row.definitions) == (
            model.revision,
            model.rejections,
            model.incidents,
            model.purged,
            len(model.definitions),
        )


def _take_step(book, model, kind, world, one, two):
    if kind == "edit":
        book.write(world, edit(one, two))
        model.rows.pop(one, None)
        if two is not None:
            model.rows[one] = two
    elif kind == "call":
        book.write(world, call(writes={one: b"9"}, request=Request(two, "1" * 64) if two else None))
        model.rows[one] = b"9"
    elif kind == "revision":
        model.revision += 1
        removed = (two,) if two in model.definitions and two != one else ()
        book.write(world, revision(model.revision, one, removed=removed))
        for name in removed:
            del model.definitions[name]
        model.definitions[one] = model.revision
    elif kind == "trouble" and one == "rejection":
        model.rejections += 1
        book.write(world, rejection(model.rejections))
    elif kind == "trouble":
        model.incidents += 1
        book.write(world, failed_call(model.incidents))
    else:
        book.write(world, Purge("asked"))
        model.__init__()
        model.purged = True
