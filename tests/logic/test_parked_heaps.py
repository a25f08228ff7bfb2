"""What waits is a value: parked heaps and operations go on anywhere, with the same bytes, in little room."""

from __future__ import annotations

import json
import tracemalloc

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from language import World, empty_world
from peers import Operation

from engine import limits
from engine.logic import CallOutcome, Engine, VmPool, Waiting
from engine.logic.park import HeapDelta

ASK = "worlds.call('b', 'convert', 10, 'JPY')"
LIFE = """(async () => {
  const kept = Array.from({ length: 500 }, (_, i) => ({ i, text: "n" + i }))
  data.set("begun", Math.random())
  const [b, c] = await Promise.all([worlds.call("b", "x", kept[7].text), worlds.call("c", "y")])
  kept.push(b, c, await worlds.call("b", "z", kept.length))
  try { await worlds.call("c", "refuses") } catch (e) { kept.push(e.message) }
  return [kept.slice(499), Math.random(), data.get("begun")]
})()"""


def lived(pools: list[VmPool]) -> tuple[list[bytes], list[int], CallOutcome]:
    """The heap and the fuel at each park, and the outcome, of a life whose parts run on these pools in turn."""
    operation = Operation(empty_world(), LIFE, on=pools[0])
    operation.answer(1, {"c": 1}, on=pools[1]).answer(0, "b", on=pools[2]).answer(2, [1], on=pools[3])
    operation.fail(3, "c.refuses: Error: no", on=pools[4])
    parks = [part.park for part in operation.parts if isinstance(part, Waiting)]
    heaps = [park.heap.on(operation.head).to_bytes() for park in parks]
    return heaps, [park.fuel_used for park in parks], operation.outcome


def test_an_operation_goes_on_anywhere_with_the_same_heaps_fuel_and_outcome(
    c_engine: Engine, python_engine: Engine
):
    c, python = VmPool(c_engine), VmPool(python_engine)
    on_c = lived([c] * 5)
    assert on_c[2].value is not None
    assert json.loads(on_c[2].value)[0][1:] == ["b", {"c": 1}, [1], "c.refuses: Error: no"]
    assert len(on_c[0]) == 4
    assert lived([python] * 5) == on_c
    assert lived([c, python, c, python, c]) == on_c
    assert lived([python, c, VmPool(c_engine), c, python]) == on_c


STEPS = st.sampled_from(
    [
        "got.push(await worlds.call('b', 'one', got.length))",
        "got.push(...await Promise.all([worlds.call('b', 'x'), worlds.call('c', 'y', got)]))",
        "got.push(await Promise.race([worlds.call('b', 'slow'), worlds.call('c', 'quick')]))",
        "try { await worlds.call('d', 'f') } catch (e) { got.push(e.message) }",
        "worlds.call('c', 'aside').then((v) => got.push(v), (e) => got.push(e.message))",
        "await Promise.allSettled(['b', 'c'].map((id) => worlds.call(id, 'each'))).then((all) => got.push(all))",
        "data.set('k', [...got]); got.push(data.get('k').length, Math.random())",
        "for (let i = 0; i < 3; i++) { await null; got.push('x'.repeat(i * 500)) }",
    ]
)


@settings(max_examples=20, deadline=None)
@given(
    steps=st.lists(STEPS, min_size=1, max_size=5),
    choices=st.lists(st.integers(0, 5), min_size=40, max_size=40),
)
def test_any_operation_and_any_order_of_answers_is_equal_on_both_paths(
    c_engine, python_engine, steps, choices
):
    source = f"(async () => {{ const got = []; {'; '.join(steps)}; return got }})()"
    pools = [VmPool(c_engine), VmPool(python_engine)]
    lives = []
    for turn in (lambda _n: 0, lambda _n: 1, lambda n: choices[n] % 2):
        operation = Operation(empty_world(), source, on=pools[turn(0)])
        waiting: list[int] = []
        for number, choice in enumerate(choices):
            if not isinstance(operation.last, Waiting):
                break
            waiting += [ordinal for ordinal, _, _ in operation.asks]
            ordinal = waiting.pop(choice % len(waiting))
            if choice == 5:
                operation.fail(ordinal, f"no {ordinal}", on=pools[turn(number)])
            else:
                operation.answer(ordinal, {"n": ordinal}, on=pools[turn(number)])
        parks = [part.park for part in operation.parts if isinstance(part, Waiting)]
        roots = [park.heap.on(operation.head).root for park in parks]
        lives.append((roots, [park.fuel_used for park in parks], operation.outcome))
    assert lives[0] == lives[1] == lives[2]


def test_a_park_may_go_on_as_often_as_one_likes():
    operation = Operation(
        empty_world(), f"(async () => {{ data.set('n', 1); console.log('x'); return await {ASK} }})()"
    )
    first = operation.last
    outcomes = []
    for value in (1, 2, 1):
        outcomes.append(operation.answer(0, value).outcome)
        operation.parts.append(first)
    assert [outcome.value for outcome in outcomes] == [b"1", b"2", b"1"]
    assert outcomes[0] == outcomes[2]


def test_a_heap_that_grew_or_changed_everywhere_is_parked_whole(pool):
    source = f"(async () => {{ const list = new Array(9e5).fill(1); const v = await {ASK}; return list.length + v }})()"
    operation = Operation(empty_world(), source, on=pool)
    assert operation.park.heap.size_bytes > operation.head.size_bytes
    assert operation.answer(0, 1).value == 900001


def test_a_park_of_another_heap_is_refused():
    operation = Operation(empty_world(), ASK)
    other = World()
    other.develop("define('f', () => 1)")
    operation.head = other.image
    with pytest.raises(AssertionError, match="the heap that it began on"):
        operation.answer(0, 1)


def test_a_head_on_a_base_of_its_own_is_parked_as_a_delta():
    world = World()
    world.develop("state('s', () => ({ rows: Array.from({ length: 20000 }, (_, i) => ({ i })) }))")
    assert world.image.page_numbers == ()  # it outgrew what a delta may be
    operation = Operation(world, ASK)
    assert operation.park.size_bytes < 10_000
    assert operation.answer(0, "ok").value == "ok"


def test_a_thousand_parks_take_less_than_sixty_megabytes():
    world = World()
    world.develop(
        """
        define('rates', async (n) => {
          const days = data.list('day:').map((row) => row.value)
          const eur = await worlds.call('b', 'rate', 'EUR', n)
          return days.length * eur
        })
        """
    )
    world.data = {f"day:{n:02}": b'{"usd":1.5,"note":"a day"}' for n in range(30)}
    Operation(world, named=("rates", [0]))
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    parts = [Operation(world, named=("rates", [n])).last for n in range(50)]
    taken = (tracemalloc.get_traced_memory()[0] - before) / len(parts)
    tracemalloc.stop()
    assert all(isinstance(part, Waiting) for part in parts)
    assert taken < 20_000, taken


@settings(max_examples=25, deadline=None)
@given(st.data())
def test_a_delta_of_any_two_heaps_gives_the_second_back(data):
    def changed(image, label):
        numbers = st.integers(0, image.size_bytes // limits.PAGE_BYTES - 1)
        fresh = {
            n: bytes([data.draw(st.integers(0, 255))]) * limits.PAGE_BYTES
            for n in data.draw(st.lists(numbers, max_size=120, unique=True), label=label)
        }
        more = data.draw(st.sampled_from([0, limits.WASM_PAGE_BYTES]))
        return type(image).from_parent(image, fresh, image.size_bytes + more, image.meta)

    first = empty_world().image
    parent = changed(first, "parent")
    image = changed(parent, "image")
    delta = HeapDelta.between(parent, image)
    assert delta.on(parent).to_bytes() == image.to_bytes()
    assert delta.on(parent).root == image.root


def test_a_delta_to_a_heap_on_a_base_of_its_own_keeps_the_pages_of_the_parent():
    """Pages that both heaps have and the shared base has not: losing them gave heaps that trapped when they went on."""
    first = empty_world().image
    page = b"\x07" * limits.PAGE_BYTES
    parent = type(first).from_parent(first, {3: page}, first.size_bytes, first.meta)
    many = {n: bytes([n % 251]) * limits.PAGE_BYTES for n in range(10, 12 + limits.HEAP_DELTA_PAGES_MAX)}
    image = type(first).from_parent(parent, many, parent.size_bytes, parent.meta)
    assert image.base is not parent.base
    assert HeapDelta.between(parent, image).on(parent).to_bytes() == image.to_bytes()
