"""The C path, the pure-Python path and the portable interpreter leave the same texts, fuel and heap bytes."""

from __future__ import annotations

import dataclasses
import struct

import msgspec
import pytest
from conftest import WASM, FolderCache
from hypothesis import given, settings
from hypothesis import strategies as st
from vm_bench import FUEL, Bench, heap, host_of

from engine.logic import Engine, EngineRefused, GuestError, HeapImage, Job, VmPool, load_engine


@dataclasses.dataclass(frozen=True)
class Trace:
    """All that must be equal between two paths."""

    status: str
    text: bytes | None
    fuel_used: int
    grew: bool
    root: str | None


def hosted(op: str, text: bytes) -> bytes | None:
    if op == "refuse":
        raise GuestError("refused", "RangeError")
    return None if op == "nothing" else b"[" + text + b"]"


def life(engine: Engine, sources: list[str], *, fuel: int = FUEL) -> list[Trace]:
    """Run each source on the heap that the last one left, by a pool of its own."""
    pool = VmPool(engine)
    bench = Bench(pool, engine)
    traces = []
    for number, source in enumerate(sources):
        result = bench.run(
            source,
            seed=number,
            clock_ms=number,
            keep_heap=True,
            collect=number % 2 == 0,
            fuel=fuel,
            host=hosted,
        )
        root = result.image.root if result.image is not None else None
        traces.append(Trace(result.status, result.text, result.fuel_used, result.grew, root))
        bench.image = result.image or bench.image
    pool.close()
    return traces


SCRIPT = [
    "globalThis.list = []; 0",
    "for (let i = 0; i < 300; i++) list.push({ i, text: 'n' + i }); list.length",
    "(host) => host('echo', 'a\\0\\ud800') + host('nothing', '')",
    "(host) => { try { host('refuse', '') } catch (e) { return e.stack } }",
    "(host) => host('one')",
    "[Math.random(), Date.now(), Math.sin(0.5), 0.1 + 0.2, 2 ** 0.5].join()",
    "(async () => { for (let i = 0; i < 20; i++) await list[i]; return list.length })()",
    "(() => { try { (function f() { f() })() } catch (e) { return '' + e } })()",
    "(host, compile, collect) => { let a = {}; a.a = a; a = new WeakRef(a); collect('', ''); return a.deref() }",
    "syntax error",
    "throw { toString() { return 'odd' } }",
    "list.map((x) => x.text).sort().join().length",
    "globalThis.big = new Array(100000).fill(0).map((_, i) => i * 1.5); big.length",
    "big.splice(10, 99000).length",
    "'x'.repeat(5e8)",
    "for (;;);",
    "(host, compile) => compile('(h) => h(\"echo\", \"deep\")', 'inner')(host)",
    "/(a+)+b/.test('a'.repeat(12) + 'c') + [...'\\u{1f600}x'].join('|')",
    'JSON.stringify(JSON.parse(\'{"a":[1,2,{"b":null}]}\'))',
    "new Date(2024, 1, 29, 12).toString()",
    "(0 / 0) + ' ' + new Float64Array([NaN]).length + ' ' + new Uint8Array(new Float64Array([0 / 0]).buffer)",
]


def test_a_scripted_life_is_equal_on_both_paths(c_engine, python_engine):
    c, python = (life(engine, SCRIPT, fuel=400_000_000) for engine in (c_engine, python_engine))
    assert c == python
    assert [trace.status for trace in c].count("ok") == len(SCRIPT) - 2
    assert {trace.status for trace in c} == {"ok", "memory", "fuel"}


def test_heaps_cross_between_the_paths_mid_life(c_engine, python_engine):
    ends = []
    for order in ((c_engine, python_engine), (python_engine, c_engine)):
        pools = [VmPool(engine) for engine in order]
        image = heap(order[0])
        for number, source in enumerate(SCRIPT[:12]):
            bench = Bench(pools[number % 2], order[0])
            bench.image = image
            image = bench.run(source, seed=number, keep_heap=True, host=hosted).image or image
        ends.append(image.root)
        for pool in pools:
            pool.close()
    assert ends[0] == ends[1]


def test_booting_gives_the_same_heap_on_both_engines(c_engine, python_engine):
    assert heap(c_engine).root == heap(python_engine).root
    assert c_engine.identity == python_engine.identity


STEPS = st.sampled_from(
    [
        "globalThis.o ??= {}; o.k = (o.k ?? 0) + 1; o.k",
        "globalThis.m ??= new Map(); m.set(m.size, 'v'.repeat(m.size)); m.size",
        "globalThis.s = (globalThis.s ?? '') + Math.random().toString(36); s.length",
        "delete globalThis.o; delete globalThis.m; 0",
        "globalThis.a = Array.from({ length: 2000 }, (_, i) => [i]); a.length",
        "globalThis.a = undefined; globalThis.b = new Uint8Array(70000).fill(7); b.length",
        "(async () => { await 1; globalThis.p = Promise.resolve(2); return await p })()",
        "(host) => host('echo', 'x'.repeat(5000)).length",
        "globalThis.r = /(\\w+) (\\w+)/.exec('one two').slice(1).join()",
        "let n = 0; for (const x of 'some text') n += x.codePointAt(0); n",
    ]
)


def test_parked_heaps_are_equal_on_both_paths(c_engine, python_engine):
    traces = []
    for engine in (c_engine, python_engine):
        bench = Bench(VmPool(engine), engine)
        for number in range(6):
            rows = f"Array.from({{ length: {10**number // 7} }}, (_, i) => ({{ i }}))"
            source = f"globalThis.rows = {rows}; '~' + rows.length"
            result = bench.run(source, seed=number, park=True)
            assert result.image is not None
            traces.append((result.text, result.fuel_used, result.grew, result.image.root))
            bench.image = result.image
    assert traces[:6] == traces[6:]


@settings(max_examples=15)
@given(sources=st.lists(STEPS, min_size=1, max_size=8))
def test_any_life_is_equal_on_both_paths(c_engine, python_engine, sources):
    assert life(c_engine, sources) == life(python_engine, sources)


def test_every_way_to_know_the_written_pages_gives_the_same_heaps(c_engine):
    native = c_engine.native
    assert native is not None
    lives = {}
    try:
        for source in (
            native.lib.PW_DIRTY_FROM_IOCTL,
            native.lib.PW_DIRTY_FROM_PAGEMAP,
            native.lib.PW_DIRTY_UNKNOWN,
        ):
            used = native.lib.pw_dirty_pages_from(source)
            lives[used] = life(
                c_engine,
                [*SCRIPT[:11], "globalThis.a = new Uint8Array(900000).fill(1); 0", "a[5] + list.length"],
            )
    finally:
        native.lib.pw_dirty_pages_from(native.lib.PW_DIRTY_FROM_IOCTL)
    assert native.lib.PW_DIRTY_UNKNOWN in lives
    assert all(each == lives[native.lib.PW_DIRTY_UNKNOWN] for each in lives.values())


def test_the_portable_interpreter_agrees_to_the_unit(python_engine):
    portable = load_engine(WASM.read_bytes(), FolderCache(), prefer="python", target="pulley64")
    sources = [
        "let x = 1; for (let i = 0; i < 300; i++) x = Math.sin(x) + Math.exp(-x) + Math.pow(x, 1.5); globalThis.x = x",
        *SCRIPT[:3],
    ]
    assert life(portable, sources) == life(python_engine, sources)


@pytest.mark.parametrize("target", ["nosuch", "aarch64-unknown-linux-gnu", "riscv64gc-unknown-linux-gnu", ""])
def test_a_code_generator_that_wasmtime_does_not_have_is_refused_before_it_aborts(target):
    with pytest.raises(
        EngineRefused, match=f"{target} is no code generator of this wasmtime; pulley64 is one"
    ):
        load_engine(WASM.read_bytes(), prefer="python", target=target)


class NotingCache(FolderCache):
    """Remembers the compiled module that it gave or was given."""

    content = b""

    def get(self, key: str) -> bytes | None:
        self.content = super().get(key) or b""
        return self.content or None

    def put(self, key: str, content: bytes) -> None:
        self.content = content
        super().put(key, content)


def test_the_portable_interpreter_runs_code_of_its_own():
    compiled_for = []
    for target in ("pulley64", None):
        cache = NotingCache()
        load_engine(WASM.read_bytes(), cache, prefer="python", target=target)
        compiled_for.append(b"pulley64-unknown-unknown" in cache.content[:4096])
    assert compiled_for == [True, False]


def test_switching_between_many_heaps_on_one_vm_mixes_nothing_up(pool, engine):
    one = VmPool(engine, vms_max=1)
    bench = Bench(one, engine)
    images = [heap(engine)]
    for number in range(12):
        bench.image = images[number // 2]
        images.append(bench.keep(f"globalThis.tag = 'world {number}'; 0").image)
    apart = [
        HeapImage.from_bytes(image.to_bytes(), image.meta) for image in images[1:4]
    ]  # bases of their own
    for _ in range(3):
        for number, image in [*enumerate(images[1:]), *enumerate(apart)]:
            bench.image = image
            assert bench.value("tag") == f"world {number}"
    assert one.made == 1
    one.close()


def test_a_heap_with_wrong_addresses_traps_and_the_vm_is_discarded(pool, engine):
    first = heap(engine)
    meta = msgspec.structs.replace(first.meta, entry_ptr=0x7FFFFFF0)
    broken = HeapImage(first.base, meta, first.size_bytes)
    discarded = pool.discarded
    result = pool.run(Job(image=broken, request=b"x", fuel=FUEL, host=host_of({})))
    assert (result.status, result.detail) == ("trap", "memory out of bounds")
    assert pool.discarded == discarded + 1
    assert Bench(pool, engine).value("1 + 1") == "2"


def test_nan_has_one_form_in_every_heap(pool, engine):
    source = "new BigUint64Array(new Float64Array([0 / 0, -NaN, Math.sqrt(-1), Infinity - Infinity]).buffer).join()"
    (canonical,) = struct.unpack("<Q", struct.pack("<d", float("nan")))
    assert Bench(pool, engine).value(source) == ",".join([str(canonical)] * 4)


@pytest.mark.parametrize("broken", [b"", b"short", b"x" * 1000])
def test_a_rotten_cache_is_compiled_anew(broken):
    kept: dict[str, bytes] = {}

    class Rotten:
        def get(self, key: str) -> bytes | None:
            return broken

        def put(self, key: str, content: bytes) -> None:
            kept[key] = content

    tiny = b"\0asm\1\0\0\0"
    with pytest.raises(
        EngineRefused, match="does not export"
    ):  # it compiles; only then it is seen to be no engine
        load_engine(tiny, Rotten(), prefer="python")
    assert len(kept) == 1
    assert all(content != broken for content in kept.values())
