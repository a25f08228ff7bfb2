"""What somebody else's records say, whatever it is, is refused or leaves a server that answers everything.

The chains of all these recordings verify: only what the records say is another.
"""

from __future__ import annotations

import functools
import io
import json
import random
from collections.abc import Iterator
from typing import Any, get_args, get_type_hints

import msgspec
import pytest
from forging import Said, changed, said_in, saying, with_fields

from engine.clock.clock import SimClock
from engine.host import NotThere, SimulatedHost, answers, simulated
from engine.host.recording_answers import Imported
from engine.host.recording_files import verify_recording
from engine.hub import messages as hub
from engine.io.sim_disk import SimDisk
from engine.limits import FLICKS_PER_SECOND, IMPORT_AHEAD_FLICKS_MAX
from engine.record.kinds import HeapRef

SOURCE = """
function add(n) { const sum = (data.get("sum") ?? 0) + n; data.set("sum", sum); return sum }
function fail() { throw new Error("on purpose") }
const boxes = state("boxes", () => [1, 2, 3])
"""
DAY = 24 * 3600 * FLICKS_PER_SECOND


def _later(days: int = 1) -> SimClock:
    clock = SimClock()
    clock.advance_by(days * DAY)
    return clock


@functools.cache
def lived() -> bytes:
    """A small life with a record of most kinds."""
    host = simulated("lived")
    world = host.create("lived", request_id="made").id
    host.perform(world, hub.Develop(SOURCE, "first"), request_id="first")
    host.perform(world, hub.Call("add", b"[1]"), request_id="add")
    host.perform(world, hub.Call("fail", b"[]"))
    host.perform(world, hub.Execute("add(5)"))
    host.perform(world, hub.Enrol("adds", "add(1) > 0", "function add() { return -1 }"))
    host.perform(world, hub.Pin(2, "one", "it matters"))
    host.perform(world, hub.Develop(SOURCE.replace("+ n", "+ 2 * n"), "held"))
    host.perform(world, hub.Develop("throw 1", "rejected"))
    host.perform(world, hub.Develop("function more() { return 1 }", "second"))
    host.perform(world, hub.EditData("k", b'{"a":1}', "because"))
    host.perform(world, hub.CloseIncident(1, "dismissed", "never mind"))
    host.perform(world, hub.Call("add", b"[2]", asynchronous=True))
    host.perform(world, hub.Grant(()))
    host.perform(world, hub.SetPage("public", ("add",)))
    host.perform(world, hub.Checkpoint())
    host.settle()
    return host.exported(world)


def _everything(host: SimulatedHost, world: str) -> None:
    """Ask all there is to read of a world; each answer must be JSON."""
    shapes: list[Any] = [
        host.worlds(archived=True),
        host.world(world),
        host.functions(world),
        host.graph(world),
    ]
    shapes += [
        host.checks(world),
        host.grants(world),
        host.page(world),
        host.goldens(world, limit=50, before=None),
    ]
    shapes.append(host.data(world, prefix="", after=None, limit=1000))
    log = host.log(world, after=-1, limit=1000)
    shapes.append(log)
    for page, one in (
        (host.revisions, host.revision),
        (host.rejections, host.rejection),
        (host.incidents, host.incident),
    ):
        rows = page(world, limit=50, before=None)
        shapes += [rows, *(one(world, n) for n in range(len(log.records)) if _has(one, world, n))]
    for shape in shapes:
        json.loads(answers.as_json(shape))


def _has(one: Any, world: str, n: int) -> bool:
    try:
        one(world, n)
    except NotThere:
        return False
    return True


def test_the_life_that_is_forged_here_is_taken_as_it_is():
    host = simulated("here", clock=_later())
    assert isinstance(host.imported(lived()), Imported)
    _everything(host, host.worlds()[0].id)
    kinds_lived = {one.kind for one in said_in(lived())}
    assert kinds_lived > {
        "call",
        "revision",
        "rejection",
        "held",
        "golden-pinned",
        "check-enrolled",
        "admitted",
    }


# ---- any one field of any one record


def _others(value: Any, hint: Any) -> list[Any]:
    """Other values that a field of this type may have; `value` tells which type, and `hint` where it is None."""
    kinds_of = {type(value)} if value is not None else set(get_args(hint)) or {hint}
    found: list[Any] = [] if value is None else [None] * (type(None) in get_args(hint))
    if bool in kinds_of:
        return [*found, not value]
    if int in kinds_of:
        found += [-1, 0, 1, 2, 7, 10**6, 2**53, 2**63 - 1, 2**63, 2**64 - 1]
    if str in kinds_of:
        found += ["", "a\0b", "\x1b[31m", "x" * 5000, "\ud800", "nonsense", "0" * 64]
    if bytes in kinds_of:
        found += [b"", b"{", b'"\xff"', b"1", b"[]", b"[" * 3000, b'"\\ud800"']
    if isinstance(value, list):
        found += [[], [*value, *value]]
    return [other for other in found if other != value or type(other) is not type(value)]


def _forgeries(part: msgspec.Struct) -> Iterator[msgspec.Struct]:
    """The struct with one field changed, of itself or of a part of it."""
    hints = get_type_hints(type(part))
    for name in part.__struct_fields__:
        value = getattr(part, name)
        replacements = _others(value, hints[name])
        if isinstance(value, msgspec.Struct):
            replacements += _forgeries(value)
        if isinstance(value, list) and value and isinstance(value[0], msgspec.Struct):
            replacements += [[forged, *value[1:]] for forged in _forgeries(value[0])]
        for other in replacements:
            yield msgspec.structs.replace(part, **{name: other})


def _all_forged() -> list[tuple[int, Said]]:
    forged: list[tuple[int, Said]] = []
    for n, one in enumerate(said_in(lived())):
        forged += [(n, one._replace(body=body)) for body in _forgeries(one.body)]
        forged += [(n, one._replace(actor=actor)) for actor in _others(one.actor, str)]
        forged += [
            (n, one._replace(flick=flick)) for flick in (-(2**63), -1, 0, one.flick + DAY, 2**62, 2**63 - 1)
        ]
        forged += [(n, one._replace(kind=kind)) for kind in ("call", "purge", "imported")]
    return forged


TRIED = 250
_ANSWERED = answers.PreviewOk | answers.PreviewFailed | answers.Refused


@pytest.mark.parametrize("seed", range(2))
def test_any_field_that_says_another_thing_is_refused_or_leaves_a_server_that_answers_all(seed):
    drawn = random.Random(seed).sample(_all_forged(), TRIED)
    disk = SimDisk(seed="forged")
    host = simulated("forged", disk=disk, clock=_later(9))
    beside = host.create("beside").id
    taken: list[str] = []
    for count, (n, said) in enumerate(drawn):
        world = f"forged-{count}"
        try:
            recording = changed(lived(), n, lambda _, said=said: said, world=world)
        except (OverflowError, UnicodeEncodeError):
            continue  # nothing that can be written down
        answer = host.imported(recording)
        try:
            assert isinstance(answer, Imported | answers.Refused)
            for asked in (beside, *([world] if isinstance(answer, Imported) else [])):
                _everything(host, asked)
            assert isinstance(answer, Imported) or host.parts.log.last(world) is None
            if isinstance(answer, Imported):
                taken.append(world)
                assert isinstance(host.perform(world, hub.Execute("1 + 1")), _ANSWERED)
        except BaseException as error:
            error.add_note(f"record {n}: {said}")
            raise
    host.shut_down()
    again = simulated("again", disk=disk, clock=_later(10))
    for world in (beside, *taken):
        _everything(again, world)
    assert 20 < len(taken) < TRIED - 20, "some are taken, most are not"


# ---- what only the blobs can tell


def _refused(recording: bytes, **options: Any) -> str:
    """Why it is refused; nothing of it is in the log, and the host goes on."""
    host = simulated("here", clock=_later())
    answer = host.imported(recording, **options)
    assert isinstance(answer, answers.Refused) and host.worlds(archived=True) == []
    assert host.parts.disk.list("importing") == []
    assert isinstance(host.create("mine"), answers.Created)
    assert host.collect().ok
    host.shut_down()
    return f"{answer.refused}: {answer.error}"


@pytest.mark.parametrize("options", [{}, {"name": "a copy"}])
def test_a_heap_that_is_not_what_its_record_says_is_refused_at_import_as_verifying_it_says(options):
    heap = said_in(lived())[1].body.heap
    forged = with_fields(lived(), 1, heap=HeapRef("0" * 64, heap.blob))
    assert f"expects the heap {'0' * 64}, it holds {heap.root}" in _refused(forged, **options)
    (problem,) = verify_recording(io.BytesIO(forged), "x.pwrec").problems
    assert f"expects the heap {'0' * 64}" in str(problem)


@pytest.mark.parametrize("options", [{}, {"name": "a copy"}])
def test_a_record_that_makes_no_world_is_told_by_its_number_by_import_and_by_verifying(options):
    forged = with_fields(lived(), 3, incident=7)
    says = "record 3, a call: incident: is 7; the next incident has number 1"
    assert _refused(forged, **options) == f"recording: {says}"
    assert says in str(verify_recording(io.BytesIO(forged), "x.pwrec").problems)
    assert verify_recording(io.BytesIO(lived()), "x.pwrec").problems == []


def test_another_binary_under_the_name_of_an_engine_is_refused():
    said = said_in(lived())
    engine = said[0].body.engine
    other = engine.replace(engine.split()[1], "0" * 64)
    forged = changed(
        lived(),
        0,
        lambda one: one._replace(body=msgspec.structs.replace(one.body, engine=other)),
        engine=other,
    )
    assert _refused(forged).startswith("foreign: the binary that comes with it is not that of its engine")
    assert "is not the engine" in str(verify_recording(io.BytesIO(forged), "x.pwrec").problems)


def test_a_prelude_that_is_newer_in_any_revision_is_refused():
    said = said_in(lived())
    newer = said[0].body.prelude_version + 1
    forged = with_fields(lived(), 0, prelude_version=newer)
    assert f"its world is on prelude {newer}" in _refused(forged)


# ---- clocks


def test_what_is_of_the_future_is_refused_and_what_clocks_differ_by_is_not():
    said = said_in(lived())
    clock = _later()
    for ahead_flicks, taken in (
        (IMPORT_AHEAD_FLICKS_MAX, True),
        (IMPORT_AHEAD_FLICKS_MAX + 1, False),
        (400 * DAY, False),
    ):
        host = simulated("here", clock=SimClock())
        host.shell.clock.advance_to(clock.monotonic_flicks())
        shift = clock.now_flicks() - said[-1].flick + ahead_flicks
        forged = saying(lived(), [one._replace(flick=one.flick + shift) for one in said])
        host.shell.latency_of = lambda lane, world: 0
        answer = host.imported(forged)
        assert isinstance(answer, Imported) is taken, ahead_flicks
        assert taken or (answer.refused == "clock" and host.worlds() == [])
    far = changed(lived(), 2, lambda one: one._replace(flick=2**62))
    assert _refused(far).startswith("clock: it was recorded until")


# ---- answers that always come


def test_a_fault_in_any_step_of_an_import_still_ends_with_an_answer(monkeypatch):
    for place in ("_place_refused", "_arriving"):
        host = simulated("here", clock=_later())
        monkeypatch.setattr(host, place, _fails)
        reported: list[BaseException] = []
        monkeypatch.setattr(host.shell, "report", reported.append)
        answer = host.imported(lived())
        assert isinstance(answer, answers.Refused) and answer.refused == "storage", place
        assert [str(error) for error in reported] == ["a fault of ours"]
        monkeypatch.undo()
        assert isinstance(host.imported(lived()), Imported), place


def test_a_fault_between_two_batches_ends_the_import_and_it_can_be_gone_on_with(monkeypatch):
    monkeypatch.setattr("engine.record.recording.LOG_BATCH_RECORDS_MAX", 4)
    host = simulated("here", clock=_later())
    put, count = host._writer.put_together, iter(range(100))
    monkeypatch.setattr(
        host._writer, "put_together", lambda batch: put(batch) if next(count) < 2 else _fails()
    )
    monkeypatch.setattr(host.shell, "report", lambda error: None)
    assert isinstance(host.imported(lived()), answers.Refused)
    assert host.parts.disk.list("importing") != []
    monkeypatch.setattr(host._writer, "put_together", put)
    assert isinstance(host.imported(lived()), Imported)
    assert host.parts.disk.list("importing") == []


def _fails(*_: Any) -> Any:
    raise RuntimeError("a fault of ours")


def test_a_world_that_went_on_elsewhere_is_refused_with_the_true_reason():
    here = simulated("here", clock=_later())
    here.imported(lived())
    world = here.worlds()[0].id
    there = simulated("there", clock=_later(2))
    there.imported(here.exported(world))
    there.perform(world, hub.Call("add", b"[1]"))
    there.settle()
    here.shell.run_for(3 * DAY)
    answer = here.imported(there.exported(world))
    assert isinstance(answer, answers.Refused) and answer.refused == "exists"
    records = len(said_in(lived())) + 1
    assert f"is here with the recording's first {records} records" in answer.error
    assert "a lineage is only continued where it is lived" in answer.error
    assert isinstance(here.imported(there.exported(world), name="a copy"), answers.Created)
