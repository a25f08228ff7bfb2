"""Planting examples: once, also in several goes, and never over somebody's own work."""

from __future__ import annotations

from pathlib import Path

import pytest
from planting import CutOff, Planter

from engine.host import answers
from engine.hub import messages as hub
from engine.serve.examples import BadExample

FARM = """
name = "farm"
description = "Asks the well."
grants = ["well"]

[[file]]
path = "farm.js"
summary = "Water"

[[file]]
path = "../common/hen.js"
summary = "Hens"

[[check]]
name = "hens lay"
expression = "hens(2) === 2"
counterexample = "function hens() { return 0 }"

[page]
access = "public"
functions = ["hens", "app"]

[[example]]
call = "hens"
args = [3]
value = 3
"""
WELL = """
name = "well"
description = "Has water."

[[file]]
path = "well.js"
summary = "Draw"

[[check]]
name = "any bucket is filled"
expression = "litres => draw(litres) === litres"
generator = "gen.int(0, 9)"
counterexample = "function draw() { return 1 }"
"""
CHANGES = 2 + 5 + 2  # worlds made, then what grows in the farm and the well


@pytest.fixture
def country(tmp_path: Path) -> Path:
    for path, text in {
        "farm/world.toml": FARM,
        "farm/farm.js": "async function water() { return await worlds.call((await worlds.list())[0], 'draw', 5) }",
        "common/hen.js": "function hens(n) { return n }\nfunction app() { return 'farm' }",
        "well/world.toml": WELL,
        "well/well.js": "function draw(litres) { return litres }",
    }.items():
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(text)
    return tmp_path


def state(planter: Planter) -> dict[str, tuple[object, ...]]:
    host = planter.simulated
    return {
        world.name: (
            world.revision,
            [check.name for check in host.checks(world.id).checks],
            len(host.grants(world.id).worlds),
            (host.page(world.id).access, host.page(world.id).functions),
        )
        for world in planter.worlds()
    }


GROWN = {
    "farm": (2, ["hens lay"], 1, ("public", ["app", "hens"])),
    "well": (1, ["any bucket is filled"], 0, ("private", [])),
}


def test_planting_makes_worlds_checks_grants_and_pages_and_names_a_command_to_try(country: Path):
    planter = Planter()
    assert planter.plant(country) == ["call", "farm", "hens", "3"]
    assert (state(planter), planter.changed) == (GROWN, CHANGES)
    assert bytes(planter.call("farm", "water").value) == b"5"


@pytest.mark.parametrize("dies_at", range(CHANGES))
def test_planting_that_was_cut_off_is_finished_by_the_next_with_no_step_taken_twice(
    country: Path, dies_at: int
):
    planter = Planter()
    planter.dies_at = dies_at
    with pytest.raises(CutOff):
        planter.plant(country)
    planter.dies_at = None
    planter.plant(country)
    assert (state(planter), planter.changed) == (GROWN, CHANGES)


def test_use_of_a_world_before_its_planting_is_finished_is_no_change_of_it(country: Path):
    planter = Planter()
    planter.dies_at = 5  # the farm has its check, no page yet
    with pytest.raises(CutOff):
        planter.plant(country)
    for _ in range(150):  # more records than are looked at once
        planter.simulated.perform(planter.id_of("farm"), hub.EditData("k", b"1", "used"))
    planter.dies_at = None
    planter.plant(country)
    assert state(planter) == GROWN


@pytest.mark.parametrize(
    "change",
    [
        hub.Develop("function hens(n) { return n + 0 }", "mine"),
        hub.Enrol("more", "hens(1) === 1", "function hens() { return 0 }"),
        hub.RemoveCheck("hens lay", "they do not always"),
        hub.Grant(()),
        hub.SetPage("private", ()),
        hub.Describe(frozen=True),
        hub.Describe(archived=True),
        hub.Purge("gone"),
    ],
    ids=lambda change: type(change).__name__,
)
def test_a_world_that_its_owner_changed_is_left_alone_finished_or_not(country: Path, change: hub.Operation):
    for dies_at in (5, None):
        planter = Planter()
        planter.dies_at = dies_at
        if dies_at is None:
            planter.plant(country)
        else:
            with pytest.raises(CutOff):
                planter.plant(country)
        farm = planter.id_of("farm")
        answer = planter.simulated.perform(farm, change)
        assert not isinstance(answer, answers.Refused | answers.Rejected | answers.RefusedCheck), answer
        before = planter.simulated.world(farm).records
        planter.dies_at = None
        planter.plant(country)
        assert planter.simulated.world(farm).records == before
        assert [world.name for world in planter.worlds(archived=True)].count("farm") == 1


def test_somebodys_own_world_of_that_name_is_neither_grown_nor_granted(country: Path):
    planter = Planter()
    planter.simulated.create("well")
    planter.plant(country)
    assert planter.simulated.world(planter.id_of("well")).revision == 0
    assert planter.simulated.grants(planter.id_of("farm")).worlds == []


def test_a_world_that_was_planted_from_another_text_is_left_alone(country: Path):
    planter = Planter()
    planter.plant(country)
    (country / "well" / "well.js").write_text("function draw(litres) { return litres * 1 }")
    changed = planter.changed
    planter.plant(country)
    assert planter.changed == changed


def test_an_example_that_grew_grows_the_world_that_nobody_changed(country: Path):
    planter = Planter()
    planter.plant(country)
    (country / "well" / "world.toml").write_text(
        WELL
        + '[[check]]\nname = "two"\nexpression = "draw(2) === 2"\ncounterexample = "function draw() {}"\n'
    )
    planter.plant(country)
    assert state(planter)["well"][1] == ["any bucket is filled", "two"]


@pytest.mark.parametrize(
    ("broken", "reason"),
    [
        (("well.js", "throw new Error('dry')"), r"well\.js: Rejected.*dry"),
        (
            ("world.toml", WELL.replace("litres => draw", "litres => 1 + draw")),
            r"check 'any bucket.*does not",
        ),
        (("world.toml", WELL.replace("summary", "sumary")), r"world\.toml: .*sumary"),
        (("world.toml", WELL.replace('description = "Has water."', "")), r"world\.toml: .*description"),
        (("world.toml", "name = "), r"world\.toml: Invalid"),
        (("world.toml", "name = '\udcff'"), r"world\.toml: .*utf-8"),
        (("world.toml", WELL.replace("well.js", "wall.js")), r"wall\.js: No such file"),
        (("well.js", "// \udcff"), r"well\.js: .*utf-8"),
    ],
    ids=["rejected", "refused", "unknown", "missing", "malformed", "no text", "no file", "no source text"],
)
def test_an_example_that_cannot_be_made_names_its_file(country: Path, broken: tuple[str, str], reason: str):
    (country / "well" / broken[0]).write_text(broken[1], errors="surrogateescape")
    with pytest.raises(BadExample, match=reason):
        Planter().plant(country)
