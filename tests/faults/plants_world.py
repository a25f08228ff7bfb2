"""Mistakes in what runs a world's code: VMs, heaps, calls that wait, and what a change leaves."""

from __future__ import annotations

import importlib
import itertools
from typing import Any

from msgspec.structs import replace

from engine.host.jobs import Jobs, Snapshot
from engine.host.runtime import Runtime
from engine.logic import park
from engine.logic.c_vm import CVm
from engine.logic.call_host import CallHost, Journal
from engine.logic.image import HeapImage, pack_numbers
from engine.logic.jobs import KeyRead
from engine.logic.park import HeapDelta
from engine.logic.pool import VmPool
from engine.logic.vm import Job, JobResult
from tests.faults.plants_looks import Lives, Replays
from tests.faults.plants_planting import Patch, Plant

call = importlib.import_module("engine.logic.call")  # the package has a function of that name


def _keep_a_grown_vm(patch: Patch) -> None:
    whole = CVm._ended

    def ended(vm: CVm, job: Job) -> JobResult:
        result = whole(vm, job)
        vm.usable = vm.usable or (result.grew and result.status in ("ok", "threw"))
        return result

    patch.setattr(CVm, "_ended", ended)


def _take_a_vm_of_any_size(patch: Patch) -> None:
    def take(pool: VmPool, image: HeapImage) -> Any:
        with pool._lock:
            pool._at_work += 1
            return pool._idle.pop() if pool._idle else None

    patch.setattr(VmPool, "_take", take)


def _restore_all_pages_but_one(patch: Patch) -> None:
    """The last page that a heap has of its own is not put into the VM."""
    whole = CVm._fill

    def fill(vm: CVm, job: Job) -> None:
        whole(vm, job)
        vm._job.pages_count = max(0, vm._job.pages_count - 1)

    patch.setattr(CVm, "_fill", fill)


def _keep_the_stack_pointer(patch: Patch) -> None:
    """The stack begins where the job before was told to end."""
    whole = CVm._fill

    def fill(vm: CVm, job: Job) -> None:
        before = vm._job.stack_ptr
        whole(vm, job)
        vm._job.stack_ptr = (before or vm._job.stack_ptr) - 16

    patch.setattr(CVm, "_fill", fill)


def _seed_again_after_waiting(patch: Patch) -> None:
    whole = call._Operation.run

    def run(operation: Any, image: Any, request: bytes, *, seed: int | None, fuel_used: int = 0) -> Any:
        return whole(
            operation, image, request, seed=operation.flick if seed is None else seed, fuel_used=fuel_used
        )

    patch.setattr(call._Operation, "run", run)


def _give_fuel_anew(patch: Patch) -> None:
    """What a call spent before it waited is forgotten."""
    whole = call._Operation.run

    def run(operation: Any, image: Any, request: bytes, *, seed: int | None, fuel_used: int = 0) -> Any:
        return whole(operation, image, request, seed=seed, fuel_used=0)

    patch.setattr(call._Operation, "run", run)


def _read_the_clock_again(patch: Patch) -> None:
    whole, count = call.milliseconds_of, itertools.count()
    patch.setattr(call, "milliseconds_of", lambda flick: whole(flick) + next(count))


def _park_own_pages_alone(patch: Patch) -> None:
    """A page that a call changed back to the base's is left out of what waits."""

    def between(parent: HeapImage, image: HeapImage) -> HeapDelta:
        numbers = list(image.page_numbers)[1:]
        rows = zip(park._rows(image, numbers), park._rows(parent, numbers), strict=True)
        changes = b"".join((after ^ before).tobytes() for after, before in rows)
        packed = park.zstandard.ZstdCompressor(level=1).compress(changes)
        return HeapDelta(parent.root, image.size_bytes, pack_numbers(numbers), packed)

    patch.setattr(HeapDelta, "between", between)


def _lose_writes_while_waiting(patch: Patch) -> None:
    whole = Journal.copy

    def copy(journal: Journal) -> Journal:
        other = whole(journal)
        other.writes = {}
        return other

    patch.setattr(Journal, "copy", copy)


def _read_past_own_writes(patch: Patch) -> None:
    """What a call wrote itself is not seen by its own reads."""
    patch.setattr(CallHost, "_current", lambda host, key: (host._read(KeyRead(key)), host._data.get(key))[1])


def _read_what_is_newest(patch: Patch) -> None:
    """A job reads the data of the moment at which it runs, not that of its snapshot."""

    def get(snapshot: Snapshot, key: str) -> bytes | None:
        with snapshot._runtime.lock:
            data = snapshot._runtime.hub.data
            return data.get(key, data.durable_seq)

    patch.setattr(Snapshot, "get", get)


def _run_on_the_newest_revision(patch: Patch) -> None:
    """A job runs on the head of the moment at which it runs, not on the one it began on."""
    whole = Jobs._image

    def image(jobs: Jobs, runtime: Runtime, revision: int) -> HeapImage:
        return whole(jobs, runtime, runtime.head)

    patch.setattr(Jobs, "_image", image)


def _keep_what_a_rejected_attempt_left(patch: Patch) -> None:
    """The heap of a change that is rejected is the one that calls run on."""
    whole = Jobs._attempt_done

    def attempt_done(jobs: Jobs, runtime: Runtime, job: Any, outcome: Any, **given: Any) -> Any:
        event = whole(jobs, runtime, job, outcome, **given)
        if event.verdict == "rejected" and outcome.image is not None:
            runtime.heaps[job.revision] = jobs._parts.images.put(
                outcome.image, parent=runtime.heaps[job.revision]
            )
        return event

    patch.setattr(Jobs, "_attempt_done", attempt_done)


def _keep_what_a_call_left(patch: Patch) -> None:
    """A call's heap is kept: what it did to the state is there for the next."""
    whole = VmPool.run

    def run(pool: VmPool, job: Job) -> JobResult:
        result = whole(pool, replace(job, keep_heap=True) if job.park else job)
        if job.park and result.image is not None and not job.parks(result.text):
            kept[job.image.root] = result.image
            result = replace(result, image=None)
        return result

    kept: dict[str, HeapImage] = {}
    image_of = Jobs._image

    def image(jobs: Jobs, runtime: Runtime, revision: int) -> HeapImage:
        image = image_of(jobs, runtime, revision)
        return kept.get(image.root, image)

    patch.setattr(VmPool, "run", run)
    patch.setattr(Jobs, "_image", image)


PLANTS = (
    Plant(
        "a VM that grew goes back to the pool", (15, 14), _keep_a_grown_vm, (Lives(20, troubles=()),), True
    ),
    Plant("a job takes a VM of any size", (14,), _take_a_vm_of_any_size, (Lives(20, troubles=()),)),
    Plant(
        "a page of the heap is not put into the VM",
        (14, 13),
        _restore_all_pages_but_one,
        (Replays(10),),
        True,
    ),
    Plant("the stack does not begin where the heap says", (14, 13), _keep_the_stack_pointer, (Replays(10),)),
    Plant("chance is seeded again when a call goes on", (13,), _seed_again_after_waiting, (Replays(10),)),
    Plant("a call that goes on has all its fuel again", (13,), _give_fuel_anew, (Replays(10),), True),
    Plant(
        "the clock is read again in each part of a call", (13,), _read_the_clock_again, (Replays(10),), True
    ),
    Plant("a call that waits forgets a page of its heap", (13,), _park_own_pages_alone, (Replays(10),)),
    Plant(
        "a call that waits forgets what it wrote",
        (13,),
        _lose_writes_while_waiting,
        (Lives(20, worlds=4, troubles=()),),
        True,
    ),
    Plant(
        "a call does not read what it wrote itself", (12,), _read_past_own_writes, (Lives(30, troubles=()),)
    ),
    Plant(
        "a call reads the newest data, not its snapshot",
        (12,),
        _read_what_is_newest,
        (Lives(20, troubles=()),),
        True,
    ),
    Plant(
        "a call runs on the newest revision", (12, 13), _run_on_the_newest_revision, (Lives(20, troubles=()),)
    ),
    Plant(
        "a rejected change leaves its heap as the head",
        (18,),
        _keep_what_a_rejected_attempt_left,
        (Lives(60, troubles=()),),
    ),
    Plant("a call leaves its heap to the next", (18,), _keep_what_a_call_left, (Lives(20, troubles=()),)),
)
