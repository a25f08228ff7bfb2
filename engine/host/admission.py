"""The door of the host: what is refused before a hub sees it, and how storage trouble closes it."""

from __future__ import annotations

import dataclasses

import msgspec

from engine import limits
from engine.host import answers
from engine.host.golden_answers import golden_id
from engine.host.goldens import why_no_call
from engine.host.images import HeapUnreadable
from engine.host.parts import Parts
from engine.host.runtime import Runtime
from engine.host.shell import Shell
from engine.hub import messages as hub
from engine.hub import refusals
from engine.ids import content_id
from engine.io.disk import DiskFull
from engine.record.projection.pinned import GoldenRow


class Door:
    """`draining` and storage trouble close it. While storage fails, one operation a second is let in to try it."""

    def __init__(self, parts: Parts, shell: Shell) -> None:
        self.draining = False
        self._parts = parts
        self._shell = shell
        self._trouble: str | None = None
        self._next_try_flicks = 0

    @property
    def trouble(self) -> str | None:
        """Why the server is read-only, or None."""
        return self._trouble

    def request(self, operation: hub.Operation, request_id: str | None) -> hub.Request | None:
        return hub.Request(request_id, content_id(_asked(operation))) if request_id is not None else None

    def closed(self, *, inner: bool = False) -> answers.Refused | None:
        """The refusal for anything that would be recorded, or None. `inner`: running work of others needs it."""
        if self.draining and not inner:
            return answers.Refused(
                ok=False,
                refused="draining",
                error="the server is shutting down and takes no new work",
                hint="ask again once it is back",
                retry_after_s=1,
            )
        if self._trouble is not None:
            now = self._shell.clock.monotonic_flicks()
            if now < self._next_try_flicks:
                return self.storage_refusal()
            self._next_try_flicks = now + limits.STORAGE_RETRY_FLICKS
        return None

    def refuse(
        self, runtime: Runtime, operation: hub.Operation, request: hub.Request | None
    ) -> answers.OperationAnswer | None:
        """The answer to what cannot be admitted, or None. Nothing is recorded of it."""
        inner = isinstance(operation, hub.TryCall) or (isinstance(operation, hub.Call) and operation.path)
        if refusal := self.closed(inner=bool(inner)) or _too_large(operation):
            return refusal
        match operation:
            case hub.Call(function=function) if request is None and function not in runtime.names:
                return answers.Missing(
                    ok=False,
                    error=f"{function} is not defined",
                    hint="`pw show` lists what this world defines",
                )
            case hub.RemoveCheck(name=name) if name not in runtime.checks:
                return answers.Missing(
                    ok=False,
                    error=f"there is no check {name}",
                    hint="`pw check list` lists the world's checks",
                )
            case hub.Pin() as pin if not self._is_known(runtime, request):
                return self._refuse_pin(runtime, pin)
            case hub.Call() | hub.Execute() if runtime.is_quarantined(operation):
                return answers.Refused(
                    ok=False,
                    refused="quarantined",
                    error=f"the server ended {limits.INFLIGHT_DEATHS_MAX} times while exactly this ran, "
                    "so it is not run again",
                    hint="see `pw incidents`; a new revision of the world lifts the quarantine",
                )
        return None

    def _refuse_pin(self, runtime: Runtime, pin: hub.Pin) -> answers.OperationAnswer | None:
        """What is no call cannot be pinned, and what is pinned keeps its name and its reason."""
        if runtime.hub.purged:
            return None  # its hub says so; no record of it is left to ask
        ledger = self._parts.ledger
        for n, case in runtime.goldens.items():
            if case.call != pin.call:
                continue
            with ledger.lock:
                row = ledger.read().golden(runtime.id, n)
            assert isinstance(row, GoldenRow), "what is pinned was pinned by a record"
            name, reason = row.body.name, row.body.reason
            if (pin.name or case.function, pin.reason) != (name, reason):
                return self.refused(refusals.pinned_already(pin.call, golden_id(runtime.id, n), name, reason))
            return None
        why_not = why_no_call(ledger, runtime.id, pin.call)
        return self.refused(refusals.not_a_call(pin.call, why_not)) if why_not is not None else None

    def _is_known(self, runtime: Runtime, request: hub.Request | None) -> bool:
        """Whether it was asked under this request id before: then it is answered as it was."""
        now_flicks = self._shell.clock.now_flicks()
        return request is not None and runtime.hub.requests.find(request.id, now_flicks) is not None

    def refused(self, refusal: hub.Refusal) -> answers.OperationAnswer:
        """The hub's refusal in the client's words."""
        if refusal.code in ("no-revision", "no-key"):
            return answers.Missing(ok=False, error=refusal.error, hint=refusal.hint)
        return answers.Refused(
            ok=False,
            refused=refusal.code,
            error=refusal.error,
            hint=refusal.hint,
            retry_after_s=refusal.retry_after_s,
        )

    def storage_failed(self, error: BaseException) -> None:
        """Close, unless it is one world's heap that cannot be read: then the others go on."""
        if isinstance(error, HeapUnreadable):
            return
        full = isinstance(error, DiskFull) or isinstance(error.__cause__, DiskFull)
        self._trouble = f"the disk is full ({error})" if full else f"storage failed ({error})"
        self._next_try_flicks = self._shell.clock.monotonic_flicks() + limits.STORAGE_RETRY_FLICKS

    def storage_works(self) -> None:
        self._trouble = None

    def storage_refusal(self) -> answers.Refused:
        return answers.Refused(
            ok=False,
            refused="read-only",
            error=f"the server is read-only: {self._trouble or 'storage failed'}",
            hint="nothing acknowledged is lost; make room or mend the disk, then ask again",
            retry_after_s=1,
        )


_NOT_ASKED = {(hub.RestoreData, "rows")}  # they follow from the rest


def _asked(operation: hub.Operation) -> bytes:
    """The canonical bytes of what was asked: the same request id with others is refused (Invariant 10)."""
    names = [name for name in operation.__slots__ if (type(operation), name) not in _NOT_ASKED]
    if isinstance(operation, hub.Develop) and not operation.gate:
        names.remove("gate")  # what it was asked before there was a gate
    if isinstance(operation, hub.Call):
        # A retry of what another world had asked for begins here, and asks the same of others by a shorter way.
        operation = dataclasses.replace(operation, path=())
    fields = [type(operation).__name__] + [getattr(operation, name) for name in names]
    return msgspec.msgpack.encode([_plain(field) for field in fields])


def _plain(field: object) -> object:
    return field.encode("utf-8", "surrogatepass") if isinstance(field, str) else field


def _too_large(operation: hub.Operation) -> answers.Refused | None:
    match operation:
        case hub.Call(args=args) | hub.TryCall(args=args):
            return _over("args", len(args), limits.ARGUMENTS_BYTES_MAX)
        case hub.Execute(expression=expression):
            return _over("expression", _bytes_of(expression), limits.SOURCE_BYTES_MAX)
        case hub.EditData(key=key, value=value):
            return _over("key", _bytes_of(key), limits.DATA_KEY_BYTES_MAX) or _over(
                "value", len(value or b""), limits.DATA_VALUE_BYTES_MAX
            )
    return None


def _over(field: str, size_bytes: int, bytes_max: int) -> answers.Refused | None:
    if size_bytes <= bytes_max:
        return None
    return answers.Refused(
        ok=False,
        refused="size",
        error=f"{field}: is {size_bytes} bytes; at most {bytes_max} are allowed",
        hint="send less at once",
    )


def _bytes_of(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))
