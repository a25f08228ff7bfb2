# ruff: noqa: E501  (programs in tables stay on their lines)
"""What worlds do, seen from outside: steps and what they come to, on a whole host.

A line is `step → outcome`; `…` at either end of an outcome stands for any text. Steps: `dev` a source, `lib NAME` a
library file, `ex` a preview, `call NAME ARGS`, `rollback N REASON`, `check NAME | EXPRESSION | COUNTEREXAMPLE`,
`uncheck NAME REASON`, `names`.
"""

from __future__ import annotations

import pytest
from case_world import Case

VALUES = {
    "a definition is called": """
        dev define("up", s => s.toUpperCase() + "?") → revision 1 +up
        call up ["ab"] → = "AB?" """,
    "what JSON has no word for": """
        ex undefined → = null
        ex NaN → = null
        ex -0 → = 0
        ex 1/0 → = null
        ex 10n → = "10"
        ex Symbol("q") → = null
        ex () => 1 → = "[function anonymous]"
        ex [1, undefined, () => 1] → = [1,null,"[function anonymous]"]
        ex ({a: undefined, b: 1}) → = {"b":1}
        ex new Date(0) → = "1970-01-01T00:00:00.000Z"
        ex /r/ → = {}
        ex new Error("e") → = {"error":"Error","message":"e"}
        ex new Map([["a", new Set([1])]]) → = {"a":[1]}
        ex (() => { const a = []; a.push(a); return a })() → threw: TypeError: circular reference
        ex (function*(){ yield 1 })() → = {} """,
    "promises and thenables": """
        ex Promise.resolve(5) → = 5
        ex ({then(r){r(9)}}) → = 9
        ex ({then:5}) → = {"then":5}
        ex new Promise(() => {}) → pending: …
        ex Promise.reject(new Error("no")) → threw: Error: no
        dev define("dbl", async x => { await 0; return 2*x }) → revision 1 +dbl
        call dbl [4] → = 8 """,
    "arguments come back as they went": """
        dev define("id", (...a) => a) → revision 1 +id
        call id [1,"x",null,{"a":[1]}] → = [1,"x",null,{"a":[1]}] """,
    "names that are not defined": """
        call nobody → 404: … is not defined…
        call toString → 404: … is not defined…
        dev define("f", () => nobody()) → revision 1 +f
        call f → threw: ReferenceError: nobody is not defined """,
    "what is absent": """
        ex typeof setTimeout + typeof fetch + typeof Intl → = "undefinedundefinedundefined"
        ex fetch("x") → threw: ReferenceError: fetch is not defined """,
    "sources that end badly or in nothing": """
        dev throw new Error("zip") → threw: Error: zip
        dev await 1 → syntax: …await…
        dev export const a = 1 → syntax: …
        dev import x from "y" → syntax: …
        dev return 5 → unchanged
        dev 5 → unchanged
        dev → unchanged
        dev // a comment → unchanged """,
    "a module cannot be loaded": """
        dev import("y").catch(e => { state("i", () => ({})).m = String(e) }) → revision 1
        ex state("i", () => ({})).m → …ould not load module… """,
    "what is local to a source": """
        dev let q = 1; state("s", () => ({q})) → revision 1
        ex typeof q → = "undefined"
        dev function s() { return 3 } → revision 2 +s
        call s → = 3 """,
    "globals that leak": """
        dev loose = 1 → threw: ReferenceError: loose is not defined
        dev globalThis.k = 1 → leaked-global: …k…
        dev })(); globalThis.k = 1; (() => { → syntax: …
        dev new Function("})(); globalThis.k = 1; (() => {") → threw: …
        ex typeof k → = "undefined" """,
}
GROUND = {
    "budgets and stacks end and the next call works": """
        ex (() => { const f = () => f() + 1; return f() })() → threw: RangeError: Maximum call stack size exceeded
        ex (() => { const f = () => f() + 1; try { f() } catch (e) { return e.name } })() → = "RangeError"
        ex (() => { const a = []; for (;;) a.push(new Array(1e5).fill(1)) })() → memory: …
        ex 1 → = 1 """,
    "built-ins do not change": """
        dev Array.prototype.some = () => true → threw: TypeError: 'some' is read-only
        ex [1].some(x => x > 5) → = false
        lib sloppy Array.prototype.some = () => true; exports.f = () => 1 → revision 1 +sloppy
        ex [1].some(x => x > 5) → = false
        ex (() => { class E extends Error { name = "E" } throw new E("x") })() → threw: E: x
        ex (() => { class E extends Error { constructor(m) { super(m); this.name = "N" } } throw new E("x") })() → threw: N: x
        ex Object.isFrozen(Object.getPrototypeOf(Int8Array.prototype)) && Object.isFrozen(Object.getPrototypeOf([][Symbol.iterator]())) → = true
        ex Object.getOwnPropertyDescriptor(globalThis, "Array").writable → = false """,
    "the clock of a develop": """
        dev state("t", () => ({ now: Date.now(), zone: new Date().getTimezoneOffset() })) → revision 1
        ex state("t", () => ({})) → = {"now":946684800000,"zone":0} """,
}
DEFINITIONS = {
    "callers follow a redefinition": """
        dev define("g", n => "a"+n); define("gg", n => g(n)+g(n)) → revision 1 +g +gg
        dev define("g", n => "b"+n) → revision 2 ~g
        call gg ["x"] → = "bxbx" """,
    "references that are held follow": """
        dev define("f", () => 1); state("held", () => ({ f, bound: f.bind(null) })) → revision 1 +f
        dev define("f", () => 2) → revision 2 ~f
        ex [state("held", () => ({})).f(), state("held", () => ({})).bound()] → = [2,2] """,
    "undefine": """
        dev define("f", () => 1); undefine("f") → revision 1
        names → none
        ex f() → threw: ReferenceError: f was removed by undefine
        ex typeof f → = "function"
        call f → 404: … is not defined…
        dev undefine("f") → threw: ReferenceError: …
        dev undefine("never") → threw: ReferenceError: … """,
    "names that are taken": """
        dev define("state", () => 1) → threw: TypeError: define: state is a reserved name
        dev define("worlds", () => 1) → threw: TypeError: define: worlds is a reserved name
        dev define("__world", () => 1) → threw: TypeError: define: __world is a reserved name
        dev define("Array", () => 1) → threw: TypeError: define: Array is already a global """,
    "what no definition is": """
        dev define("a-b", () => 1) → threw: TypeError: …
        dev define("é", () => 1) → threw: TypeError: …
        dev define("a", 42) → threw: TypeError: …
        dev define("a", () => 1, {version: 0}) → threw: TypeError: …
        dev define("a", () => 1, {version: 1.5}) → threw: TypeError: …
        dev define("a", () => 1, null) → threw: TypeError: …
        dev define("$ok_1", () => 1) → revision 1 +$ok_1 """,
    "a stub": """
        dev state("same", () => ({ is: define("f", (a, b) => 1) === f })) → revision 1 +f
        ex [state("same", () => ({})).is, f.name, f.length] → = [true,"f",0]
        dev f = 5 → threw: TypeError: …
        ex delete globalThis.f → threw: TypeError: …
        ex f() → = 1 """,
    "kinds do not mix": """
        dev define("f", () => 1) → revision 1 +f
        dev class f { } → threw: TypeError: …
        dev undefine("f") → revision 2 -f
        dev class f { } → threw: TypeError: … """,
    "changes are told": """
        dev define("h", () => 1) → revision 1 +h
        dev define("a", () => 1); define("b", () => 1) → revision 2 +a +b
        dev define("a", () => 1); define("b", () => 2); undefine("h") → revision 3 ~b -h
        dev define("p", () => 1); throw new Error("x") → threw: Error: x
        names → a,b """,
}
CLASSES = {
    "old instances follow their class": """
        dev class P { constructor() { this.n = 1 } get v() { return "old" } toString() { return "mine" } }; state("p", () => new P()) → revision 1 +P
        dev class P { get v() { return "new" } } → revision 2 ~P
        ex [state("p", () => ({})).v, String(state("p", () => ({})))] → = ["new","[object Object]"]
        ex [new P().constructor === P, state("p", () => ({})) instanceof P] → = [true,true] """,
    "classes and functions are called as they may be": """
        dev class P { }; define("f", () => 1) → revision 1 …
        ex P() → threw: TypeError: class constructors must be invoked with 'new'
        ex new f() → threw: TypeError: …not a constructor """,
    "a version asks for a migration while instances live": """
        dev class P { x = 1 }; state("p", () => ({ one: new P() })) → revision 1 +P
        dev define("P", class { d = 1 }, {version: 2}) → threw: TypeError: …1 live instance…
        dev define("P", class { d = 1 }, {version: 2, migrate: (p, {from, to}) => { p.d = p.x + from * 10 + to; delete p.x }}) → revision 2 ~P
        ex [state("p", () => ({})).one.d, versionOf(state("p", () => ({})).one)] → = [13,2]
        dev define("P", class { d = 1 }, {version: 1, migrate: (p) => { p.back = true }}) → revision 3 ~P
        ex [state("p", () => ({})).one.back, versionOf(state("p", () => ({})).one)] → = [true,1] """,
    "a version asks for none where none live": """
        dev class P { }; new P() → revision 1 +P
        dev define("P", class { }, {version: 2}) → revision 2 ~P """,
    "unreachable instances do not block": """
        dev class P { }; state("s", () => { const a = { p: new P() }; a.a = a; return { a } }) → revision 1 +P
        dev delete state("s", () => ({})).a → revision 2
        dev define("P", class { }, {version: 2}) → revision 3 ~P """,
    "what is not made by new has no version": """
        dev class P { } → revision 1 +P
        ex [versionOf(Object.create(P.prototype)) === undefined, Object.create(P.prototype) instanceof P] → = [true,true] """,
}
STATES = {
    "state is made once": """
        dev const s = state("n", () => ({ n: 0 })); function bump() { return ++state("n", () => ({ n: 0 })).n } → revision 1 +bump
        dev bump(); bump() → revision 2
        dev const s = state("n", () => ({ n: 0 })) → unchanged
        call bump → = 3
        call bump → = 3 """,
    "what no state is": """
        dev state("s", () => 5) → threw: TypeError: …
        dev state("s", () => null) → threw: TypeError: …
        dev state("s", () => () => 1) → threw: TypeError: …
        dev state("", () => ({})) → threw: TypeError: …
        dev state("s", () => [1]) → revision 1 """,
}
DATA = {
    "a develop touches no data": """
        dev try { data.set("k",1) } catch {} → touched-data: data.set…
        dev data.list("a"); data.set("b",1) → touched-data: data.list…
        dev Promise.resolve().then(() => data.set("k",1)) → touched-data: data.set…
        dev worlds.list() → touched-data: worlds.list…
        dev define("f", () => data.get("q")) → revision 1 +f
        dev define("f", () => data.get("q")); f() → touched-data: data.get… """,
    "rows are listed in order": """
        dev define("put", () => { data.set("t:b", 1); data.set("t:a", 2); return data.list("t:") }) → revision 1 +put
        call put → = [{"key":"t:a","value":2},{"key":"t:b","value":1}] """,
    "a call that throws writes nothing": """
        dev define("f", () => { data.set("k", 1); throw new Error("x") }) → revision 1 +f
        call f → threw: Error: x
        ex data.list("") → = [] """,
    "heap state vanishes and data stays": """
        dev state("h", () => ({ n: 0 })); function bump() { const h = state("h", () => ({})); h.n++; data.set("n", (data.get("n") ?? 0) + 1); return [h.n, data.get("n")] } → revision 1 +bump
        call bump → = [1,1]
        call bump → = [1,2] """,
    "so many rows at once": """
        dev define("fill", n => { for (let i = 0; i < n; i++) data.set("r" + String(i).padStart(5, "0"), i); return n }); define("all", () => { let n = 0, after; do { const rows = data.list("r", { limit: 1000, after }); n += rows.length; after = rows.next } while (after !== undefined); return n }) → revision 1 +all +fill
        call fill [1001] → = 1001
        ex data.list("").length → = 1001
        ex data.list("", { limit: 1000 }).next → = "r00999"
        call fill [10001] → = 10001
        ex data.list("") → threw: RangeError: …page with…
        call all → = 10001 """,
}
CHECKS = {
    "a change that breaks a check is rejected by its name": """
        dev function dbl(n) { return 2 * n } → revision 1 +dbl
        check doubles | dbl(2) === 4 | function dbl(n) { return 0 } → enrolled
        dev function dbl(n) { return -2 * n } → check doubles: returned false
        call dbl [3] → = 6
        check always | true | function dbl(n) { return 0 } → vacuous: …
        check wrong | dbl(2) === 5 | function dbl(n) { return 0 } → …does not hold…
        check one | dbl(0.5) | function dbl(n) { return 0 } → …returned 1…
        check text | String(dbl(2) === 4) | function dbl(n) { return 0 } → …returned "true"…
        uncheck doubles   → bad-reason: …
        uncheck nobody why not → 404: …
        uncheck doubles it was wrong → done
        dev function dbl(n) { return -2 * n } → revision 2 ~dbl """,
}
HISTORY = {
    "a rollback is a new revision": """
        dev define("v", () => 1) → revision 1 +v
        dev define("v", () => 2) → revision 2 ~v
        rollback 1 because → revision 3 ~v
        call v → = 1
        rollback 2   → bad-reason: …
        rollback 3 again → already-head: …
        rollback 99 why → 404: …no revision 99 """,
}
ALL = {**VALUES, **GROUND, **DEFINITIONS, **CLASSES, **STATES, **DATA, **CHECKS, **HISTORY}


def matches(outcome: str, wanted: str) -> bool:
    """Whether an outcome is as wanted; `…` at the ends and within stands for any text."""
    at = 0
    parts = wanted.split("…")
    for n, part in enumerate(parts):
        found = outcome.find(part, at)
        if found < 0 or (n == 0 and found != 0):
            return False
        at = found + len(part)
    return wanted.endswith("…") or at == len(outcome)


@pytest.mark.parametrize("steps", ALL.values(), ids=ALL.keys())
def test_a_world_does_as_it_is_written(steps: str) -> None:
    case = Case()
    for line in filter(None, map(str.strip, steps.splitlines())):
        step, _, wanted = line.rpartition("→")
        outcome = case.do(step.removesuffix(" "))
        assert matches(outcome, wanted.strip()), f"{step}\n  wanted  {wanted.strip()}\n  came to {outcome}"


def test_matching_can_fail() -> None:
    assert matches("threw: Error: zip", "threw: …zip")
    assert not matches("threw: Error: zip", "threw: …zap")
    assert not matches("= 12", "= 1")
    assert not matches("x threw: a", "threw: …")
