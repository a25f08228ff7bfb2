"""The prelude: the JavaScript that every heap begins with, put together from `prelude/*.js`.

The files share one function scope, in the order of `FILES`; no global of theirs exists but what `install.js` makes.
"""

from __future__ import annotations

from functools import cache
from importlib import resources

from engine import limits

PRELUDE_VERSION = 2
FILES = (
    "values.js",
    "instances.js",
    "classes.js",
    "stubs.js",
    "definitions.js",
    "states.js",
    "data.js",
    "console.js",
    "worlds.js",
    "code.js",
    "ground.js",
    "libraries.js",
    "inspect.js",
    "checks.js",
    "entry.js",
    "install.js",
)

# `carried` is the heap's own record of its world: a new one at boot, the old prelude's at an upgrade.
_HEAD = """(host, compile, collect, carried) => {
"use strict";
const PRELUDE_VERSION = %d;
const CONSOLE_LINES_MAX = %d;
const NESTED_MAX = %d;
const world = carried ?? {
  version: 0, table: { __proto__: null }, builtins: new Set(), foreign: [],
  cells: new Map(), stubs: new WeakMap(), impls: new WeakMap(), states: new Map(),
  touched: new Set(), unfinished: new Set(), spoiled: undefined, origin: "", lines: 0,
};
const { table } = world;
"""
_TAIL = """
install();
return (text) => table.entry(text);
}
"""


@cache
def prelude_source(version: int = PRELUDE_VERSION) -> str:
    """The prelude as one expression `(host, compile, collect, carried) => entry`, to boot a heap or to upgrade one.

    Version 1 has no `worlds`; it is kept so that upgrades can be tested on real heaps.
    """
    assert 1 <= version <= PRELUDE_VERSION, "a version that exists"
    folder = resources.files("engine.logic") / "prelude"
    texts = [f"// {name}\n{(folder / name).read_text(encoding='utf-8')}" for name in FILES]
    return f"({_HEAD % (version, limits.CONSOLE_LINES_MAX, limits.NESTED_MAX)}{''.join(texts)}{_TAIL})"
