"""The typed client: one method a route. What the server refuses is raised; what it answers comes as the host's structs.

`pw` and the tests use it and nothing else. It imports the wire's structs only, so that `pw` starts quickly.
"""

from __future__ import annotations

from typing import Any

from engine.host import answers, incident_answers
from engine.serve.answers import Page
from engine.serve.wire import (
    ClientError,
    Invalid,
    Missing,
    NotAServer,
    RefusedError,
    ServerError,
    Unauthorized,
    Unreachable,
    Wire,
    built,
    given,
    path_of,
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


class Client(Wire):
    """Talks to one server."""

    # ---- worlds -------------------------------------------------------------------------------------------

    def worlds(self, *, archived: bool = False) -> list[answers.WorldSummary]:
        query = {"archived": "true"} if archived else {}
        return self._get("/api/worlds", list[answers.WorldSummary], query)

    def create(self, name: str, *, request_id: str | None = None) -> answers.Created:
        return self._send("POST", "/api/worlds", {"name": name}, request_id, answers.Created)

    def world(self, world: str) -> answers.WorldSummary:
        return self._get(path_of(world), answers.WorldSummary)

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
        request_id: str | None = None,
    ) -> answers.Accepted | answers.Unchanged | answers.Rejected:
        body = given({"source": source, "summary": summary, "commonjs": commonjs})
        return self._attempt(path_of(world, "develop"), body, request_id)

    def rollback(
        self, world: str, revision: int, *, reason: str, force: bool = False, request_id: str | None = None
    ) -> answers.Accepted | answers.Unchanged | answers.Rejected:
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
        self, world: str, expression: str, *, request_id: str | None = None
    ) -> answers.PreviewOk | answers.PreviewFailed:
        value = self._change("POST", path_of(world, "execute"), {"expression": expression}, request_id)
        return built(value, answers.PreviewOk if value["ok"] else answers.PreviewFailed)

    def functions(self, world: str) -> list[answers.DefinitionRow]:
        return self._get(path_of(world, "functions"), list[answers.DefinitionRow])

    def function(self, world: str, name: str) -> answers.DefinitionRow:
        return self._get(path_of(world, "functions", name), answers.DefinitionRow)

    def graph(self, world: str) -> answers.Graph:
        return self._get(path_of(world, "graph"), answers.Graph)

    def source(self, world: str) -> dict[str, str]:
        """File name -> text that `develop` takes again."""
        return self._get(path_of(world, "source"), dict[str, dict[str, str]])["files"]

    # ---- checks -------------------------------------------------------------------------------------------

    def checks(self, world: str) -> answers.CheckList:
        return self._get(path_of(world, "checks"), answers.CheckList)

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
        self, world: str, *, limit: int | None = None, before: int | None = None
    ) -> answers.RevisionPage:
        query = given({"limit": limit, "before": before})
        return self._get(path_of(world, "revisions"), answers.RevisionPage, query)

    def revision(self, world: str, n: int) -> answers.RevisionRow:
        return self._get(path_of(world, "revisions", str(n)), answers.RevisionRow)

    def rejections(
        self, world: str, *, limit: int | None = None, before: int | None = None
    ) -> answers.RejectionPage:
        query = given({"limit": limit, "before": before})
        return self._get(path_of(world, "rejections"), answers.RejectionPage, query)

    def rejection(self, world: str, n: int) -> answers.RejectionRow:
        return self._get(path_of(world, "rejections", str(n)), answers.RejectionRow)

    def incidents(
        self, world: str, *, limit: int | None = None, before: int | None = None
    ) -> answers.IncidentPage:
        query = given({"limit": limit, "before": before})
        return self._get(path_of(world, "incidents"), answers.IncidentPage, query)

    def incident(self, world: str, n: int) -> answers.IncidentRow:
        return self._get(path_of(world, "incidents", str(n)), answers.IncidentRow)

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

    def log(self, world: str, *, after: int | None = None, limit: int | None = None) -> answers.LogPage:
        query = given({"after": after, "limit": limit})
        return self._get(path_of(world, "log"), answers.LogPage, query)

    # ---- data ---------------------------------------------------------------------------------------------

    def data(
        self, world: str, *, prefix: str = "", after: str | None = None, limit: int | None = None
    ) -> answers.DataPage:
        query = given({"prefix": prefix or None, "after": after, "limit": limit})
        return self._get(path_of(world, "data"), answers.DataPage, query)

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

    def grants(self, world: str) -> answers.Grants:
        return self._get(path_of(world, "grants"), answers.Grants)

    def set_grants(self, world: str, worlds: list[str]) -> answers.Grants:
        return self._send("PUT", path_of(world, "grants"), {"worlds": worlds}, None, answers.Grants)

    def page(self, world: str) -> Page:
        return self._get(path_of(world, "page"), Page)

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
        shapes: dict[str, Any] = {
            "accepted": answers.Accepted,
            "unchanged": answers.Unchanged,
            "rejected": answers.Rejected,
        }
        return built(value, shapes[value["status"]])

    def _called(self, path: str, body: dict[str, Any], request_id: str | None) -> Any:
        value = self._change("POST", path, body, request_id)
        return built(value, answers.CallOk if value["ok"] else answers.CallFailed)

    def _upkeep(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        value = self._change("POST", path, body, None)
        if not value["ok"]:
            raise ServerError(422, value["error"])
        return value["report"]
