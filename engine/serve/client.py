"""The typed client: one method a route. What the server refuses is raised; what it answers comes as the host's structs.

`pw` and the tests use it and nothing else. It imports the wire's structs only, so that `pw` starts quickly.
"""

from __future__ import annotations

from typing import Any

from engine.host import answers, incident_answers
from engine.host import golden_answers as shapes
from engine.host.past_answers import PageView
from engine.serve.answers import Page
from engine.serve.recording_client import RecordingClient
from engine.serve.wire import (
    ClientError,
    Invalid,
    Missing,
    NotAServer,
    RefusedError,
    ServerError,
    Unauthorized,
    Unreachable,
    built,
    given,
    path_of,
    quoted,
)

__all__ = [
    "Client",
    "ClientError",
    "Invalid",
    "Missing",
    "NotAServer",
    "RefusedError",
    "ServerError",
    "Unauthorized",
    "Unreachable",
]


Attempted = answers.Accepted | answers.Unchanged | answers.Rejected | shapes.Held


class Client(RecordingClient):
    """Talks to one server."""

    # ---- worlds -------------------------------------------------------------------------------------------

    def worlds(self, *, archived: bool = False) -> list[answers.WorldSummary]:
        query = {"archived": "true"} if archived else {}
        return self._get("/api/worlds", list[answers.WorldSummary], query)

    def create(self, name: str, *, request_id: str | None = None) -> answers.Created:
        return self._send("POST", "/api/worlds", {"name": name}, request_id, answers.Created)

    def world(self, world: str, *, at: int | None = None) -> answers.WorldSummary:
        return self._get(path_of(world), answers.WorldSummary, given({"at": at}))

    def change(
        self,
        world: str,
        *,
        name: str | None = None,
        archived: bool | None = None,
        frozen: bool | None = None,
        request_id: str | None = None,
    ) -> answers.WorldSummary:
        body = given({"name": name, "archived": archived, "frozen": frozen})
        return self._send("PATCH", path_of(world), body, request_id, answers.WorldSummary)

    def archive(self, world: str, *, request_id: str | None = None) -> answers.WorldSummary:
        return self._send("DELETE", path_of(world), {}, request_id, answers.WorldSummary)

    def purge(
        self, world: str, *, confirm: str, reason: str | None = None, request_id: str | None = None
    ) -> answers.Done:
        body = given({"confirm": confirm, "reason": reason})
        return self._send("POST", path_of(world, "purge"), body, request_id, answers.Done)

    # ---- change -------------------------------------------------------------------------------------------

    def develop(
        self,
        world: str,
        source: str,
        *,
        summary: str = "",
        commonjs: str | None = None,
        gate: bool = False,
        request_id: str | None = None,
    ) -> Attempted:
        """With `gate` it is held where a result of the last recorded calls would be another."""
        body = given({"source": source, "summary": summary, "commonjs": commonjs, "gate": gate or None})
        return self._attempt(path_of(world, "develop"), body, request_id)

    def try_develop(
        self, world: str, source: str, *, commonjs: str | None = None, gate: bool = False
    ) -> shapes.DryRun | shapes.WouldReject:
        """What a develop would come to, and which recorded results would be others. Nothing is recorded."""
        body = given({"source": source, "commonjs": commonjs, "gate": gate or None, "dryRun": True})
        value = self._change("POST", path_of(world, "develop"), body, None)
        return built(value, shapes.WouldReject if value["status"] == "rejected" else shapes.DryRun)

    def rollback(
        self, world: str, revision: int, *, reason: str, force: bool = False, request_id: str | None = None
    ) -> Attempted:
        body: dict[str, Any] = {"revision": revision, "reason": reason, "force": force}
        return self._attempt(path_of(world, "rollback"), body, request_id)

    # ---- use ----------------------------------------------------------------------------------------------

    def call(
        self, world: str, function: str, args: list[Any], *, request_id: str | None = None
    ) -> answers.CallOk | answers.CallFailed:
        """Raises Missing where there is no such definition."""
        return self._called(path_of(world, "call", function), {"args": args}, request_id)

    def start_call(
        self, world: str, function: str, args: list[Any], *, request_id: str | None = None
    ) -> answers.Started:
        """Return once the call is durably admitted; `operation` asks what became of it."""
        path, prefer = path_of(world, "call", function), {"prefer": "respond-async"}
        return built(self._change("POST", path, {"args": args}, request_id, prefer), answers.Started)

    def operation(self, world: str, n: int) -> answers.OperationState:
        return self._get(path_of(world, "operations", str(n)), answers.OperationState)

    def execute(
        self, world: str, expression: str, *, at: int | None = None, request_id: str | None = None
    ) -> answers.PreviewOk | answers.PreviewFailed:
        """Preview it; with `at` as the world was after that record, which takes no request id."""
        body = given({"expression": expression, "at": at})
        value = self._change("POST", path_of(world, "execute"), body, request_id)
        return built(value, answers.PreviewOk if value["ok"] else answers.PreviewFailed)

    def functions(self, world: str, *, at: int | None = None) -> list[answers.DefinitionRow]:
        return self._get(path_of(world, "functions"), list[answers.DefinitionRow], given({"at": at}))

    def function(self, world: str, name: str, *, at: int | None = None) -> answers.DefinitionRow:
        return self._get(path_of(world, "functions", name), answers.DefinitionRow, given({"at": at}))

    def graph(self, world: str, *, at: int | None = None) -> answers.Graph:
        return self._get(path_of(world, "graph"), answers.Graph, given({"at": at}))

    def source(self, world: str, *, at: int | None = None) -> dict[str, str]:
        """File name -> text that `develop` takes again."""
        return self._get(path_of(world, "source"), dict[str, dict[str, str]], given({"at": at}))["files"]

    # ---- goldens ------------------------------------------------------------------------------------------

    def goldens(
        self, world: str, *, limit: int | None = None, before: int | None = None
    ) -> shapes.GoldenPage:
        query = given({"limit": limit, "before": before})
        return self._get(path_of(world, "goldens"), shapes.GoldenPage, query)

    def golden(self, world: str, n: int) -> shapes.GoldenRow | shapes.HeldRow:
        value = self._get(path_of(world, "goldens", str(n)), dict[str, Any])
        return built(value, shapes.HeldRow if "base" in value else shapes.GoldenRow)

    def all_goldens(self) -> shapes.GoldenPage:
        """What is pinned and what is held now, in all worlds."""
        return self._get("/api/goldens", shapes.GoldenPage)

    def pin(
        self, world: str, call: int, *, name: str = "", reason: str = "", request_id: str | None = None
    ) -> shapes.Pinned | shapes.RefusedPin:
        body = {"call": call, "name": name, "reason": reason}
        value = self._change("POST", path_of(world, "goldens"), body, request_id)
        return built(value, shapes.Pinned if value["status"] == "pinned" else shapes.RefusedPin)

    def unpin(self, world: str, n: int, *, reason: str, request_id: str | None = None) -> answers.Done:
        path = path_of(world, "goldens", str(n))
        return self._send("DELETE", path, {"reason": reason}, request_id, answers.Done)

    def bless(self, id: str, *, reason: str = "", request_id: str | None = None) -> Attempted:
        return self._attempt(f"/api/goldens/{quoted(id)}/bless", {"reason": reason}, request_id)

    def reject(self, id: str, *, reason: str, request_id: str | None = None) -> answers.Done:
        path = f"/api/goldens/{quoted(id)}/reject"
        return self._send("POST", path, {"reason": reason}, request_id, answers.Done)

    # ---- checks -------------------------------------------------------------------------------------------

    def checks(self, world: str, *, at: int | None = None) -> answers.CheckList:
        return self._get(path_of(world, "checks"), answers.CheckList, given({"at": at}))

    def enrol(
        self,
        world: str,
        name: str,
        expression: str,
        counterexample: str,
        *,
        generator: str | None = None,
        request_id: str | None = None,
    ) -> answers.Enrolled | answers.RefusedCheck:
        body = given(
            {
                "name": name,
                "expression": expression,
                "counterexample": counterexample,
                "generator": generator,
            }
        )
        value = self._change("POST", path_of(world, "checks"), body, request_id)
        return built(value, answers.Enrolled if value["status"] == "enrolled" else answers.RefusedCheck)

    def remove_check(
        self, world: str, name: str, *, reason: str, request_id: str | None = None
    ) -> answers.Done:
        path = path_of(world, "checks", name)
        return self._send("DELETE", path, {"reason": reason}, request_id, answers.Done)

    # ---- history ------------------------------------------------------------------------------------------

    def revisions(
        self, world: str, *, limit: int | None = None, before: int | None = None, at: int | None = None
    ) -> answers.RevisionPage:
        query = given({"limit": limit, "before": before, "at": at})
        return self._get(path_of(world, "revisions"), answers.RevisionPage, query)

    def revision(self, world: str, n: int, *, at: int | None = None) -> answers.RevisionRow:
        return self._get(path_of(world, "revisions", str(n)), answers.RevisionRow, given({"at": at}))

    def rejections(
        self, world: str, *, limit: int | None = None, before: int | None = None, at: int | None = None
    ) -> answers.RejectionPage:
        query = given({"limit": limit, "before": before, "at": at})
        return self._get(path_of(world, "rejections"), answers.RejectionPage, query)

    def rejection(self, world: str, n: int, *, at: int | None = None) -> answers.RejectionRow:
        return self._get(path_of(world, "rejections", str(n)), answers.RejectionRow, given({"at": at}))

    def incidents(
        self, world: str, *, limit: int | None = None, before: int | None = None, at: int | None = None
    ) -> answers.IncidentPage:
        query = given({"limit": limit, "before": before, "at": at})
        return self._get(path_of(world, "incidents"), answers.IncidentPage, query)

    def incident(self, world: str, n: int, *, at: int | None = None) -> answers.IncidentRow:
        return self._get(path_of(world, "incidents", str(n)), answers.IncidentRow, given({"at": at}))

    def retry(
        self, world: str, n: int, *, request_id: str | None = None
    ) -> answers.CallOk | answers.CallFailed:
        return self._called(path_of(world, "incidents", str(n), "retry"), {}, request_id)

    def replay_incident(
        self, world: str, n: int, *, source: str | None = None, commonjs: str | None = None
    ) -> incident_answers.IncidentReplayed | incident_answers.TryRejected:
        """Run an incident again; with `source`, once more on what a develop of that would make."""
        body = given({"source": source, "commonjs": commonjs})
        value = self._change("POST", path_of(world, "incidents", str(n), "replay"), body, None)
        shape = incident_answers.TryRejected if "status" in value else incident_answers.IncidentReplayed
        return built(value, shape)

    def answer_incident(
        self, world: str, n: int, value: Any, *, reason: str = "", request_id: str | None = None
    ) -> answers.Done:
        body = {"value": value, "reason": reason}
        return self._send(
            "POST", path_of(world, "incidents", str(n), "answer"), body, request_id, answers.Done
        )

    def dismiss(self, world: str, n: int, *, reason: str, request_id: str | None = None) -> answers.Done:
        path = path_of(world, "incidents", str(n), "dismiss")
        return self._send("POST", path, {"reason": reason}, request_id, answers.Done)

    def log(
        self, world: str, *, after: int | None = None, until: int | None = None, limit: int | None = None
    ) -> answers.LogPage:
        query = given({"after": after, "until": until, "limit": limit})
        return self._get(path_of(world, "log"), answers.LogPage, query)

    # ---- data ---------------------------------------------------------------------------------------------

    def data(
        self,
        world: str,
        *,
        prefix: str = "",
        after: str | None = None,
        limit: int | None = None,
        at: int | None = None,
    ) -> answers.DataPage:
        query = given({"prefix": prefix or None, "after": after, "limit": limit, "at": at})
        return self._get(path_of(world, "data"), answers.DataPage, query)

    def restore(
        self,
        world: str,
        at: int,
        *,
        reason: str = "",
        prefix: str = "",
        dry_run: bool = False,
        request_id: str | None = None,
    ) -> answers.Restored:
        """Bring data back as it was after record `at`; a dry run says what that would write."""
        body = given({"at": at, "reason": reason, "prefix": prefix, "dryRun": dry_run or None})
        return self._send("POST", path_of(world, "restore"), body, request_id, answers.Restored)

    def set_data(
        self, world: str, key: str, value: Any, *, reason: str, request_id: str | None = None
    ) -> answers.Done:
        body = {"value": value, "reason": reason}
        return self._send("PUT", path_of(world, "data", key), body, request_id, answers.Done)

    def delete_data(
        self, world: str, key: str, *, reason: str, request_id: str | None = None
    ) -> answers.Done:
        return self._send("DELETE", path_of(world, "data", key), {"reason": reason}, request_id, answers.Done)

    # ---- access -------------------------------------------------------------------------------------------

    def grants(self, world: str, *, at: int | None = None) -> answers.Grants:
        return self._get(path_of(world, "grants"), answers.Grants, given({"at": at}))

    def set_grants(self, world: str, worlds: list[str]) -> answers.Grants:
        return self._send("PUT", path_of(world, "grants"), {"worlds": worlds}, None, answers.Grants)

    def page(self, world: str) -> Page:
        return self._get(path_of(world, "page"), Page)

    def page_at(self, world: str, at: int) -> answers.PageAccess:
        return self._get(path_of(world, "page"), answers.PageAccess, {"at": at})

    def page_view(self, world: str, path: str = "/", *, query: str = "", at: int | None = None) -> PageView:
        """What the page would answer to a GET, now or at a moment. Raises ServerError where `app` fails."""
        asked = given({"path": path, "query": query or None, "at": at})
        return self._get(path_of(world, "page", "view"), PageView, asked)

    def set_page(
        self,
        world: str,
        *,
        access: str | None = None,
        functions: list[str] | None = None,
        new_link: bool = False,
    ) -> Page:
        body = given({"access": access, "functions": functions, "newLink": new_link or None})
        return self._send("PUT", path_of(world, "page"), body, None, Page)

    # ---- operation ----------------------------------------------------------------------------------------

    def health(self) -> answers.Health:
        """Also when the server is not ready: the state says so."""
        return self._decoded(self._request("GET", "/readyz"), answers.Health)

    def version(self) -> answers.Version:
        return self._get("/api/version", answers.Version)

    def gc(self) -> dict[str, Any]:
        """The report; raises ServerError where it failed."""
        return self._upkeep("/api/gc", {})

    def backup(self, directory: str) -> dict[str, Any]:
        """Back up into a directory of the server's machine: the report. Raises ServerError where it failed."""
        return self._upkeep("/api/backup", {"directory": directory})

    # ---- answers of several shapes ------------------------------------------------------------------------

    def _attempt(self, path: str, body: dict[str, Any], request_id: str | None) -> Any:
        value = self._change("POST", path, body, request_id)
        of_status: dict[str, Any] = {
            "accepted": answers.Accepted,
            "unchanged": answers.Unchanged,
            "rejected": answers.Rejected,
            "held": shapes.Held,
        }
        return built(value, of_status[value["status"]])

    def _called(self, path: str, body: dict[str, Any], request_id: str | None) -> Any:
        value = self._change("POST", path, body, request_id)
        return built(value, answers.CallOk if value["ok"] else answers.CallFailed)

    def _upkeep(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        value = self._change("POST", path, body, None)
        if not value["ok"]:
            raise ServerError(422, value["error"])
        return value["report"]
