"""`pw incidents WORLD N --replay`: what it prints, how it steps on a terminal, how it ends."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result
from served import TOKEN, Served

from engine.serve.client import Client

Pw = Callable[..., Result]
SOURCE = """
async function order(id, n) {
  console.log("ordering", n);
  const left = data.get("left") ?? 10;
  data.set("left", left - n);
  data.get("left");
  data.list("le", { limit: 5 });
  data.delete("old");
  const price = await worlds.call(id, "price", n);
  if (left < n) throw new Error("not enough at " + price);
  return price;
}
"""
MENDED = SOURCE.replace("if (left < n)", "if (false)")


@pytest.fixture
def shop(client: Client) -> tuple[str, str]:
    """A world whose incident 1 ordered 12 of 10, and the one that it asked."""
    shop, bank = client.create("shop").id, client.create("bank").id
    client.develop(bank, "function price(n) { return n * 3 }")
    client.develop(shop, SOURCE)
    client.set_grants(shop, [bank])
    client.call(shop, "order", [bank, 12])
    return shop, bank


def test_an_incident_replays_as_numbered_steps(pw: Pw, shop: tuple[str, str]) -> None:
    world, bank = shop
    result = pw("incidents", world, "1", "--replay")
    lines = result.stdout.splitlines()
    assert lines[:10] == [
        "    1  console ordering 12",
        "    2  read    left: there is nothing",
        "    3  write   left = -2",
        "    4  read    left = -2  (its own write)",
        '    5  list    "le" limit 5: 1 row  left = -2',
        "    6  delete  old: there was none",
        f"    7  look    may {bank} be called: yes",
        f"    8  ask     #0 {bank}.price(12)",
        f"    9  answer  #0 {bank}.price: 36",
        lines[9],
    ]
    assert lines[9].startswith("   10  end     threw: Error: not enough at 36 at order (pw:")
    assert lines[10] == "it failed (threw): Error: not enough at 36", "after the steps, where those go"
    assert lines[-1] == "the same as recorded, in every part"


def test_an_edit_is_tried_and_shown_from_where_it_departs(
    pw: Pw, shop: tuple[str, str], tmp_path: Path
) -> None:
    world, _ = shop
    file = tmp_path / "order.js"
    file.write_text(MENDED)
    result = pw("incidents", world, "1", "--try", str(file))
    tried = result.stdout.partition("with the edit  ~order\n")[2]
    assert tried.splitlines() == [
        "the first 9 steps are as before; from here on it departs",
        "   10  end     36",
        "it returned:",
        "36",
        "not kept: set ['left'], deleted []",
    ]
    file.write_text(MENDED.replace('data.get("left") ??', "10 ??"))
    tried = pw("incidents", world, "1", "--try", str(file)).stdout
    assert "the first step is as before; from here on it departs\n" in tried
    assert pw("data", "list", world).stdout.splitlines()[1:] == []


def test_an_edit_that_fails_too_ends_with_1(pw: Pw, shop: tuple[str, str], tmp_path: Path) -> None:
    world, bank = shop
    file = tmp_path / "order.js"
    file.write_text(MENDED.replace('"price", n)', '"price", n, 1)'))
    result = pw("incidents", world, "1", "--try", str(file), status=1)
    assert f"it would ask {bank}.price(12,1): nobody was asked" in result.stdout
    file.write_text("throw new Error('zip')")
    result = pw("incidents", world, "1", "--try", str(file), status=1)
    assert "the edit is no change that would be accepted (threw): Error: zip" in result.stderr


def test_a_replay_prints_the_servers_answer_with_json(pw: Pw, shop: tuple[str, str]) -> None:
    printed = json.loads(pw("incidents", shop[0], "1", "--replay", "--json").stdout)
    assert (printed["same"], len(printed["steps"])) == (True, 10)


def test_without_a_terminal_stepping_waits_for_nothing(pw: Pw, shop: tuple[str, str]) -> None:
    stepped = pw("incidents", shop[0], "1", "--step")
    assert stepped.stdout == pw("incidents", shop[0], "1", "--replay").stdout and stepped.stderr == ""


def test_what_does_not_go_together_is_misuse(pw: Pw, shop: tuple[str, str]) -> None:
    assert "which incident?" in pw("incidents", shop[0], "--replay", status=2).stderr
    assert "goes with --try" in pw("incidents", shop[0], "1", "--commonjs", "x", status=2).stderr
    assert "no incident 9" in pw("incidents", shop[0], "9", "--replay", status=1).stderr


def test_on_a_terminal_it_waits_for_enter_after_each_step(served: Served, shop: tuple[str, str]) -> None:
    ours, its = pty.openpty()
    env = os.environ | {"PW_SERVER": served.url, "PW_TOKEN": TOKEN}
    command = [sys.executable, "-m", "engine.cli", "incidents", shop[0], "1", "--step"]
    with subprocess.Popen(command, stdin=its, stdout=its, stderr=subprocess.DEVNULL, env=env) as process:
        os.close(its)
        seen = _read_until(ours, "ordering 12")
        assert "read    left" not in seen
        os.write(ours, b"\n")
        assert "write" not in _read_until(ours, "read    left: there is nothing")
        os.write(ours, b"\x04")  # end of input: all the others at once
        assert "answer  #0" in _read_until(ours, "end     threw")
        assert process.wait(timeout=30) == 0
    os.close(ours)


def _read_until(terminal: int, text: str) -> str:
    seen = ""
    while text not in seen:
        seen += os.read(terminal, 4096).decode()
    return seen
