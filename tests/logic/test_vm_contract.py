"""The contract of a VM job, for the C path and the pure-Python path alike."""

from __future__ import annotations

import asyncio
import re
import threading

import pytest
from vm_bench import FUEL, Bench, heap, host_of, job

from engine.logic import BootError, Engine, GuestError, Interrupt, Job, VmFailure, VmPool, boot, text_of, wtf8
from engine.logic.c_vm import CVm
from engine.logic.py_vm import PyVm


@pytest.fixture
def bench(pool: VmPool, engine: Engine) -> Bench:
    return Bench(pool, engine)


# ---- what goes in and comes out


def test_a_job_evaluates_and_answers(bench):
    assert bench.value("1 + 1") == "2"


def test_texts_with_nul_and_lone_surrogates_cross_both_ways_unchanged(bench):
    text = "a\0b\ud800c\U0001f600\udfff"
    seen: list[str] = []

    def echo(crossed: bytes) -> bytes:
        seen.append(text_of(crossed))
        return crossed

    assert bench.value(f"(host) => host('echo', {ascii_js(text)})", host=host_of({"echo": echo})) == text
    assert seen == [text]


def ascii_js(text: str) -> str:
    """A JavaScript string literal of ASCII characters."""
    units = text.encode("utf-16-le", "surrogatepass")
    return '"' + "".join(f"\\u{units[i] | units[i + 1] << 8:04x}" for i in range(0, len(units), 2)) + '"'


def test_a_host_function_may_answer_undefined(bench):
    assert (
        bench.value("(host) => typeof host('nothing', '')", host=host_of({"nothing": lambda _: None}))
        == "undefined"
    )


def test_a_large_answer_arrives_whole(bench):
    large = host_of({"large": lambda _: b"x" * 3_000_000})
    assert bench.value("(host) => host('large', '').length", host=large) == "3000000"


def test_host_functions_take_exactly_two_texts(bench):
    assert bench.value("(host) => host('op')") == "threw TypeError: a host function takes two texts"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("TypeError", "true TypeError: no"),
        ("RangeError", "true RangeError: no"),
        ("SyntaxError", "true SyntaxError: no"),
        ("Error", "true Error: no"),
        ("NoSuchError", "false Error: no"),
        ("__proto__", "false Error: no"),
    ],
)
def test_a_guest_error_is_thrown_in_the_guest(bench, name, expected):
    def refuse(_: bytes) -> bytes:
        raise GuestError("no", name)

    test = f"(e.constructor.name === '{name}') + ' ' + e"
    source = f"(host) => {{ try {{ host('x', '') }} catch (e) {{ return {test} }} }}"
    assert bench.value(source, host=host_of({"x": refuse})) == expected


def test_an_entry_that_throws_ends_the_job_as_threw(pool, engine):
    result = pool.run(Job(image=heap(engine), request=b"{}", fuel=FUEL, host=host_of({})))
    assert (result.status, result.text) == ("threw", b"TypeError: no file")


def test_an_entry_whose_error_has_no_text_still_ends_the_job(engine, pool):
    nasty = boot(engine, "() => () => { throw { toString() { throw 1 } } }")
    result = pool.run(Job(image=nasty, request=b"", fuel=FUEL, host=host_of({})))
    assert (result.status, result.text) == ("threw", b"an error that cannot be turned into text")


def test_without_a_collect_request_the_answer_is_the_entrys_own(pool, engine):
    result = pool.run(Job(image=heap(engine), request=b"outcome", fuel=FUEL, host=host_of({})))
    assert (result.status, result.text) == ("ok", None)  # the first heap has no outcome yet: not a string


# ---- time and chance


def test_every_clock_shows_the_jobs_time_in_utc(bench):
    source = (
        "const d = new Date(); [Date.now(), performance.now(), d.toISOString(), d.getTimezoneOffset()].join()"
    )
    assert (
        bench.value(source, clock_ms=981_173_106_789)
        == "981173106789,981173106789,2001-02-03T04:05:06.789Z,0"
    )


def test_a_seed_draws_the_same_numbers_and_another_draws_others(bench):
    first, again, other = (bench.value("Math.random()", seed=seed) for seed in (7, 7, 8))
    assert first == again == "0.08170555950360558"
    assert other == "0.29847083808792796"


def test_randomness_goes_on_across_awaits_and_in_a_kept_heap(bench):
    source = "(async () => { const a = Math.random(); await null; return a + ' ' + Math.random() })()"
    first, second = bench.value(source, seed=7).split()
    bench.keep("Math.random()", seed=7)
    assert bench.value("Math.random()", seed=None) == second
    assert first == "0.08170555950360558"


def test_every_seed_is_a_sound_state(bench):
    assert all(
        0 <= float(bench.value("Math.random()", seed=seed)) < 1 for seed in (0, 2**64 - 1, 0x61C8864680B583EB)
    )


# ---- microtasks and heaps


def test_microtasks_run_before_the_outcome_is_collected(bench):
    assert bench.value("(async () => { for (let i = 0; i < 10; i++) await null; return 'done' })()") == "done"


def test_a_promise_that_never_settles_leaves_the_outcome_pending(bench):
    assert bench.value("new Promise(() => {})") == "pending"


def test_a_kept_heap_goes_on_and_the_one_before_is_untouched(bench, engine):
    bench.keep("globalThis.n = 41; 0")
    assert bench.value("++n") == "42"
    assert bench.value("++n") == "42"
    bench.image = heap(engine)
    assert bench.value("typeof n") == "undefined"


def test_the_same_source_on_the_same_heap_gives_the_same_bytes(bench, engine):
    first = bench.run("globalThis.m = new Map([[1, {}]])", keep_heap=True, collect=True, seed=1)
    second = bench.run("globalThis.m = new Map([[1, {}]])", keep_heap=True, collect=True, seed=1)
    assert first.image.root == second.image.root != heap(engine).root
    assert first.image.to_bytes() == second.image.to_bytes()
    assert first.fuel_used == second.fuel_used


def test_collecting_frees_what_nothing_reaches(bench):
    bench.keep("globalThis.ref = new WeakRef(Array.from({ length: 9 })); ref.deref().self = ref.deref(); 0")
    assert bench.value("typeof ref.deref()") == "undefined"


def test_the_guest_may_collect_in_the_midst_of_a_job(bench):
    source = """(host, compile, collect) => {
      const cycle = () => { const a = {}; a.a = a; return new WeakRef(a) }
      const [one, two] = [cycle(), cycle()]; const kept = two.deref()
      const before = one.deref() !== undefined
      const answer = collect("", "any\0text")
      return [before, one.deref() === undefined, two.deref() === kept, answer === undefined].join()
    }"""
    assert bench.value(source) == "true,true,true,true"
    assert (
        bench.value("(host, compile, collect) => collect('')")
        == "threw TypeError: a host function takes two texts"
    )


def test_the_image_is_taken_before_the_outcome_is_collected(bench):
    bench.keep("globalThis.before = 1; 'kept'")
    result = bench.pool.run(
        Job(
            image=bench.image, request=b"outcome", fuel=FUEL, host=host_of({})
        )  # reads what the heap remembers
    )
    assert result.text == b"kept"


def test_a_heap_is_parked_when_its_outcome_says_so_and_goes_on_elsewhere(bench, engine):
    source = "globalThis.seen = [Math.random()]; '~' + seen.length"
    parked = bench.run(source, park=True, seed=7)
    assert (parked.status, parked.text) == ("ok", b"~1")
    assert parked.image is not None
    bench.image = parked.image
    assert bench.value("seen.push(Math.random()); seen.join()", seed=None) == bench.value(
        "[Math.random(), Math.random()].join()", seed=7
    )
    assert bench.value("seen.length") == "1"


@pytest.mark.parametrize("text", ["", "ended", " ~", "\\u00fe"])
def test_no_heap_is_parked_for_another_outcome(bench, text):
    assert bench.run(f"'{text}'", park=True).image is None


def test_no_heap_is_parked_when_the_job_does_not_ask_for_it(bench):
    assert bench.run("'~'").image is None


def test_a_parked_heap_is_taken_after_the_outcome_was_collected(engine, pool):
    counting = boot(engine, "() => { let n = 0; return (request) => { n++; return '~' + n } }")
    parked = pool.run(
        Job(image=counting, request=b"", collect_request=b"", fuel=FUEL, host=host_of({}), park=True)
    )
    assert (parked.text, parked.image is not None) == (b"~2", True)
    assert pool.run(Job(image=parked.image, request=b"", fuel=FUEL, host=host_of({}))).text == b"~3"


def test_a_parked_heap_that_grew_keeps_its_size(bench):
    parked = bench.run("globalThis.big = new Array(9e5).fill(1); '~'", park=True)
    assert parked.image is not None
    assert (parked.grew, parked.image.size_bytes > bench.image.size_bytes) == (True, True)
    bench.image = parked.image
    assert bench.value("big.length") == "900000"


def test_a_heap_larger_than_the_delta_limit_becomes_a_base(bench):
    kept = bench.keep("globalThis.list = Array.from({ length: 50000 }, (_, i) => ({ i })); list.length")
    assert (kept.grew, kept.image.page_numbers) == (True, ())
    assert bench.value("list[49999].i") == "49999"
    small = bench.keep("list[7] = 'seven'; 0")
    assert small.image.base is kept.image.base
    assert 1 <= len(small.image.page_numbers) <= 60
    assert bench.value("list[7]") == "seven"


# ---- compile


def test_compile_names_the_file_in_positions(bench):
    assert (
        bench.value("\n\nnew Error('x').stack", file="pw:0123").splitlines()[0].strip()
        == "at <eval> (pw:0123:3:5)"
    )


def test_compile_throws_syntax_errors_that_the_guest_can_catch(bench):
    assert re.match(r"threw SyntaxError: ", bench.value("let let = 1"))
    caught = "(host, compile) => { try { compile('1 +', 'f') } catch (e) { return e.name + e.stack.split('\\n')[0] } }"
    assert bench.value(caught) == "SyntaxError    at f:1:4"


def test_compile_inside_what_it_compiles_ends_in_a_range_error_at_a_fixed_depth(bench):
    source = """(host, compile) => {
      let depth = 0;
      globalThis.again = () => { depth++; compile('again()', 'f') };
      try { again() } catch (e) { return depth + ' ' + e }
    }"""
    assert bench.value(source) == "65 RangeError: Maximum call stack size exceeded"


def test_a_dynamic_import_is_refused(bench):
    assert bench.value("import('x')") == "threw ReferenceError: could not load module 'x'"


# ---- budgets and faults


def test_fuel_is_the_budget_of_the_whole_job(bench):
    used = bench.run("[1, 2, 3].map((x) => x * x)").fuel_used
    assert bench.run("[1, 2, 3].map((x) => x * x)", fuel=used).status == "ok"
    short = bench.run("[1, 2, 3].map((x) => x * x)", fuel=used // 2)
    assert (short.status, short.fuel_used, short.text) == ("fuel", used // 2, None)


def test_an_exception_in_a_host_function_leaves_run_and_the_pool_goes_on(bench):
    def broken(_: bytes) -> bytes:
        raise LookupError("ours")

    discarded = bench.pool.discarded
    with pytest.raises(LookupError, match="ours"):
        bench.run(
            "(host) => { try { host('x', '') } catch { return 'caught' } }", host=host_of({"x": broken})
        )
    assert bench.pool.discarded == discarded + 1
    assert bench.value("1 + 1") == "2"


@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit, asyncio.CancelledError])
def test_an_interruption_inside_a_host_function_fails_the_job_alone(bench, kind):
    def interrupted(_: bytes) -> bytes:
        raise kind

    source = "(host) => { globalThis.half = 1; try { host('x', '') } catch { return 'caught' } }"
    result = bench.run(source, host=host_of({"x": interrupted}), keep_heap=True)
    assert (result.status, result.detail) == ("trap", f"host function raised {kind.__name__}")
    assert isinstance(result.raised, kind)
    assert result.image is None
    assert bench.value("typeof half") == "undefined"


def test_a_watchdog_stops_a_loop_and_says_how_much_was_spent(bench):
    watchdog = Interrupt()
    timer = threading.Timer(0.05, watchdog.fire)
    timer.start()
    result = bench.run("for (;;);", fuel=10**13, interrupt=watchdog)
    timer.join()
    assert result.status == "interrupted"
    assert 0 < result.fuel_used < 10**13
    assert (
        bench.run("for (;;);", fuel=result.fuel_used).status == "fuel"
    )  # how a replay stops at the same place
    assert bench.value("1 + 1") == "2"


def test_a_watchdog_that_fired_before_the_job_stops_it_there(bench):
    watchdog = Interrupt()
    watchdog.fire()
    result = bench.run("1", interrupt=watchdog)
    assert (result.status, result.fuel_used) == ("interrupted", 0)


def test_a_watchdog_that_fires_late_does_not_reach_the_next_job(bench):
    watchdog = Interrupt()
    assert bench.run("1", interrupt=watchdog).status == "ok"
    watchdog.fire()
    assert bench.value("let n = 0; while (n < 1e5) n++; n") == "100000"


def test_a_vm_that_grew_or_trapped_refuses_further_jobs(engine):
    for source, fuel, status in [("new Array(9e5).fill(1).length", FUEL, "ok"), ("for (;;);", 10**6, "fuel")]:
        vm = (CVm if engine.path == "c" else PyVm)(engine, heap(engine).size_bytes)
        assert vm.run(job(heap(engine), source, fuel=fuel)).status == status
        assert not vm.usable
        with pytest.raises(AssertionError, match="Invariant 15"):
            vm.run(job(heap(engine), "1"))
        vm.close()


def test_a_vm_of_another_size_refuses_the_heap(engine):
    vm = (CVm if engine.path == "c" else PyVm)(engine, heap(engine).size_bytes + 65536)
    with pytest.raises(AssertionError, match="Invariant 14"):
        vm.run(job(heap(engine), "1"))
    vm.close()


def test_a_thread_with_a_small_stack_is_refused(bench):
    raised: list[BaseException] = []

    def run() -> None:
        try:
            bench.value("1")
        except VmFailure as error:
            raised.append(error)

    before = threading.stack_size(1 << 20)
    thread = threading.Thread(target=run)
    thread.start()
    threading.stack_size(before)
    thread.join()
    assert "threading.stack_size" in str(raised[0])
    assert bench.value("1 + 1") == "2"


# ---- booting


def test_booting_is_the_same_every_time(engine):
    assert boot(engine, "() => () => 'hello'").root == boot(engine, "() => () => 'hello'").root
    assert boot(engine, "() => () => 'hello'").root != boot(engine, "() => () => 'Hello'").root


@pytest.mark.parametrize(
    ("prelude", "why"),
    [
        ("1 +", "prelude: SyntaxError"),
        ("() => { throw new Error('no') }", "prelude: Error: no"),
        ("() => { for (;;); }", "prelude: fuel"),
        ("17", "prelude: TypeError: not a function"),
    ],
)
def test_a_prelude_that_does_not_work_says_why(python_engine, prelude, why):
    with pytest.raises(BootError, match=re.escape(why)):
        boot(python_engine, prelude, fuel=50_000_000)


def test_neither_host_nor_compile_is_a_global(bench):
    assert (
        bench.value("[typeof host, typeof compile, typeof __host].join()") == "undefined,undefined,undefined"
    )


def test_text_helpers_invert_each_other():
    assert text_of(wtf8("a\ud800\0b")) == "a\ud800\0b"
    assert wtf8("\ud800") == b"\xed\xa0\x80"
