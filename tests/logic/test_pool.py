"""The pool: VMs by size, warm ones first, never more than it keeps, and none that trapped or grew."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from vm_bench import Bench, heap, host_of, job

from engine.logic import Engine, HeapImage, VmPool, vm_thread_stack_bytes


@pytest.fixture
def own(engine: Engine):
    pool = VmPool(engine, vms_max=4)
    yield pool
    pool.close()


def test_jobs_one_after_another_share_one_vm(own, engine):
    bench = Bench(own, engine)
    for _ in range(5):
        assert bench.value("1") == "1"
    assert (own.made, own.idle, own.discarded) == (1, 1, 0)


def test_each_size_has_its_own_vms(own, engine):
    bench = Bench(own, engine)
    grown = bench.keep("globalThis.a = new Array(99999).fill(1); 0").image
    assert grown.size_bytes > heap(engine).size_bytes
    assert (own.made, own.idle, own.discarded) == (1, 0, 1)  # the VM that grew is gone
    assert bench.value("a.length") == "99999"
    bench.image = heap(engine)
    assert bench.value("typeof a") == "undefined"
    assert (own.made, own.idle, own.discarded) == (3, 2, 1)


def test_a_trapped_vm_is_discarded(own, engine):
    bench = Bench(own, engine)
    assert bench.run("for (;;);", fuel=10**6).status == "fuel"
    assert (own.made, own.idle, own.discarded) == (1, 0, 1)


def test_no_more_vms_are_kept_than_allowed_and_the_longest_idle_goes_first(engine):
    pool = VmPool(engine, vms_max=2)
    first = heap(engine)
    sizes = [first.size_bytes + extra * 65536 for extra in range(4)]
    for size in sizes:
        larger = HeapImage(first.base, first.meta, size)
        assert pool.run(job(larger, "1")).text == b"1"
    assert (pool.made, pool.idle) == (4, 2)
    pool.run(job(HeapImage(first.base, first.meta, sizes[-1]), "1"))
    assert pool.made == 4
    pool.close()
    assert pool.idle == 0


def test_worlds_on_different_bases_get_vms_that_stay_warm(c_engine):
    pool = VmPool(c_engine, vms_max=3)
    first = heap(c_engine)
    bases = [HeapImage.from_bytes(first.to_bytes(), first.meta) for _ in range(3)]
    for _ in range(4):
        for image in bases:
            pool.run(job(image, "1"))
    assert (pool.made, pool.idle) == (3, 3)
    fourth = HeapImage.from_bytes(first.to_bytes(), first.meta)
    assert (
        pool.run(job(fourth, "2")).text == b"2"
    )  # no room for another VM: the longest idle one changes base
    assert (pool.made, pool.idle) == (3, 3)
    pool.close()


def test_many_threads_run_many_worlds_at_once_and_each_sees_its_own(own, engine):
    bench = Bench(own, engine)
    worlds = []
    for number in range(6):
        bench.image = heap(engine)
        worlds.append(bench.keep(f"globalThis.me = {number}; 0").image)

    def call(number: int) -> tuple[bytes | None, int]:
        result = own.run(
            job(worlds[number % 6], "(host) => me + host('op', '' + me)", host=host_of({"op": echo}))
        )
        return result.text, result.fuel_used

    def echo(text: bytes) -> bytes:
        return b"/" + text

    with ThreadPoolExecutor(4, initializer=None) as threads:
        answers = list(threads.map(call, range(240)))
    assert [text for text, _ in answers] == [f"{n % 6}/{n % 6}".encode() for n in range(240)]
    assert len({fuel for _, fuel in answers}) == 1
    assert own.idle <= 4


@pytest.fixture(autouse=True)
def large_stacks():
    """Threads of a ThreadPoolExecutor take the stack size that is set when they start."""
    before = threading.stack_size(vm_thread_stack_bytes)
    yield
    threading.stack_size(before)


def test_two_jobs_run_at_the_same_time_without_the_interpreter_lock(c_engine):
    """While one job loops in C, another thread's Python runs: the counter moves."""
    pool = VmPool(c_engine)
    done = threading.Event()

    def loop() -> None:
        pool.run(job(heap(c_engine), "let n = 0; while (n < 5e5) n++; n"))
        done.set()

    thread = threading.Thread(target=loop)
    thread.start()
    steps = 0
    while not done.is_set():
        steps += 1
    thread.join()
    assert steps > 100
    pool.close()


def test_a_pool_that_closed_still_serves_but_keeps_nothing(engine):
    pool = VmPool(engine)
    pool.close()
    assert pool.run(job(heap(engine), "1")).text == b"1"
    assert pool.idle == 0
