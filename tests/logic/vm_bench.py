"""A small prelude for the tests of the VM itself, and a bench that runs sources with it."""

from __future__ import annotations

import functools
import json
from typing import Any

from engine.logic import Engine, HeapImage, HostCalls, Job, JobResult, VmPool, boot, text_of, wtf8

PRELUDE = """(host, compile, collect) => {
  let outcome;
  return (request) => {
    if (request === "outcome") return outcome;
    const { source, file } = JSON.parse(request);
    if (file === undefined) throw new TypeError("no file");
    outcome = "pending";
    const settle = (value) => { outcome = String(value); };
    const fail = (error) => { outcome = "threw " + error; };
    let value;
    try {
      value = compile(source, file);
      if (typeof value === "function") value = value(host, compile, collect);
    } catch (error) {
      return void fail(error);
    }
    if (value instanceof Promise) value.then(settle, fail); else settle(value);
  };
}"""
FUEL = 3_000_000_000


def no_host(op: str, text: bytes) -> bytes | None:
    raise AssertionError(f"no host function was expected, {op} was called")


@functools.cache
def heap(engine: Engine) -> HeapImage:
    """The heap of a world that holds the small prelude."""
    return boot(engine, PRELUDE)


def job(image: HeapImage, source: str, **fields: Any) -> Job:
    """A job that evaluates `source`; a function in it is called with (host, compile, collect), a promise is awaited."""
    request = wtf8(json.dumps({"source": source, "file": fields.pop("file", "test.js")}))
    defaults: dict[str, Any] = {"fuel": FUEL, "host": no_host, "collect_request": b"outcome"}
    return Job(image=image, request=request, **{**defaults, **fields})


class Bench:
    """Runs sources one after another, each on the heap that the last kept one left."""

    def __init__(self, pool: VmPool, engine: Engine) -> None:
        self.pool = pool
        self.image = heap(engine)

    def run(self, source: str, **fields: Any) -> JobResult:
        return self.pool.run(job(self.image, source, **fields))

    def value(self, source: str, **fields: Any) -> str:
        """The outcome's text: `String(value)`, or "threw ..."."""
        result = self.run(source, **fields)
        assert result.status == "ok", result
        assert result.text is not None
        return text_of(result.text)

    def keep(self, source: str, **fields: Any) -> JobResult:
        """Run and go on from the heap that it leaves."""
        result = self.run(source, keep_heap=True, collect=True, **fields)
        assert result.image is not None, result
        self.image = result.image
        return result


def host_of(answers: dict[str, Any]) -> HostCalls:
    """Host functions by op: each takes the text and returns bytes or None."""

    def host(op: str, text: bytes) -> bytes | None:
        return answers[op](text)

    return host
