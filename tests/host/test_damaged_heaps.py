"""A heap that cannot be read: its world's work is refused with what to do; the other worlds go on."""

from __future__ import annotations

from engine.host import answers, simulated
from engine.hub import messages as hub
from engine.io.disk import read_file, write_file_durably
from engine.io.sim_disk import SimDisk


def damaged() -> tuple[SimDisk, str, str, str, bytes]:
    """A disk with a world whose head's heap is damaged, and a sound one; ids, the blob's name, its old content."""
    disk = SimDisk()
    host = simulated(3, disk=disk)
    broken, sound = host.create("broken").id, host.create("sound").id
    for world in (broken, sound):
        source = f"function f() {{ return '{world}' }}"
        assert host.perform(world, hub.Develop(source, "f")).revision == 1
    blob = host.parts.ledger.revision(broken, 1).body.heap.blob
    host.shut_down()
    path = f"blobs/{blob[:2]}/{blob}"
    content = read_file(disk, path)
    write_file_durably(disk, path, content[:-1] + bytes([content[-1] ^ 1]))
    return disk, broken, sound, blob, content


def test_a_damaged_heap_is_refused_as_such_and_its_blob_is_named_once():
    disk, broken, _, blob, _ = damaged()
    refused = simulated(4, disk=disk).perform(broken, hub.Call("f", b"[]"))
    assert isinstance(refused, answers.Refused)
    assert refused.error.startswith(
        "the operation could not be carried out: the world's heap cannot be read: blob"
    )
    assert refused.error.count(blob) == 1 and "from a backup" in refused.error
    assert "stored" not in refused.error and "try again" not in refused.hint


def test_the_server_is_not_read_only_for_one_worlds_damaged_heap_but_warns():
    disk, broken, sound, blob, _ = damaged()
    host = simulated(4, disk=disk)
    assert host.health().warnings == []
    host.perform(broken, hub.Call("f", b"[]"))
    health = host.health()
    assert health.state == "ready"
    assert [blob in warning for warning in health.warnings] == [True]
    assert host.perform(sound, hub.EditData("k", b"1", "still writes")).ok
    assert host.perform(broken, hub.EditData("k", b"1", "still writes")).ok


def test_a_heap_that_was_brought_back_is_read_again_and_the_warning_goes():
    disk, broken, _, blob, content = damaged()
    host = simulated(4, disk=disk)
    host.perform(broken, hub.Call("f", b"[]"))
    write_file_durably(disk, f"blobs/{blob[:2]}/{blob}", content)
    assert host.perform(broken, hub.Call("f", b"[]")).ok
    assert host.health().warnings == []


def test_a_world_whose_head_is_damaged_is_rolled_back_to_a_sound_revision_and_goes_on():
    disk, broken, _, _, _ = damaged()
    host = simulated(4, disk=disk)
    assert isinstance(host.perform(broken, hub.Call("f", b"[]")), answers.Refused)
    back = host.perform(broken, hub.Rollback(0, "its heap is rotten"))
    assert (back.revision, back.changes.removed, back.changes.added) == (2, ["f"], [])
    assert host.perform(broken, hub.Develop("function f() { return 'again' }", "f")).revision == 3
    assert bytes(host.perform(broken, hub.Call("f", b"[]")).value) == b'"again"'
    host.shut_down()
    host = simulated(5, disk=disk)
    assert bytes(host.perform(broken, hub.Call("f", b"[]")).value) == b'"again"'
    assert [row.name for row in host.functions(broken)] == ["f"]


def test_what_such_a_rollback_changes_is_what_it_would_have_changed():
    told = []
    for damage in (False, True):
        disk = SimDisk()
        host = simulated(6, disk=disk)
        world = host.create("W").id
        for change in (
            hub.Develop("function f(a) { return a }\nfunction g() {}\nclass C {}", "1"),
            hub.Develop("exports.one = 1", "2", commonjs="lib"),
            hub.Rollback(1, "3: without the library"),
            hub.Rollback(2, "4: with it"),
            hub.Develop("function f(b) { return b }\nfunction h() {}\nundefine('g')", "5"),
        ):
            assert isinstance(host.perform(world, change), answers.Accepted)
        blob = host.parts.ledger.revision(world, 5).body.heap.blob
        host.shut_down()
        if damage:
            disk.remove(f"blobs/{blob[:2]}/{blob}")
        told.append(simulated(7, disk=disk).perform(world, hub.Rollback(2, "back")))
    assert told[0] == told[1]
    assert (told[0].changes.added, told[0].changes.changed, told[0].changes.removed) == (["g"], ["f"], ["h"])
