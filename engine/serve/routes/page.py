"""Who may open a world's page, and which functions it may call."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from engine.host import LiveHost, answers
from engine.hub import messages as hub
from engine.ids import content_id
from engine.serve import inputs
from engine.serve.answers import Page
from engine.serve.endpoint import ACTOR, Asked, Endpoint
from engine.serve.pages.access import Keys
from engine.serve.reading import BadInput
from engine.serve.routes.past import at_moment


def _refuse_undefined(host: LiveHost, world: str, listed: Sequence[str]) -> None:
    """Raise BadInput for names, listed anew, that the world does not define: mostly they are misspelt."""
    defined = {row.name for row in host.functions(world)} if listed else set()
    if missing := [name for name in listed if name not in defined]:
        raise BadInput(
            f"functions: not defined in world {world}: {', '.join(missing)}",
            hint="develop them first; GET functions lists what is defined",
        )


class PageRoutes:
    """`url` is where visitors find the pages."""

    def __init__(self, keys: Keys, url: str) -> None:
        self._keys = keys
        self._url = url.rstrip("/")

    def endpoints(self) -> Sequence[Endpoint]:
        async def page(host: LiveHost, asked: Asked) -> Any:
            """Show who may open the world's page, what it may call, and what opens it; that is not kept of a moment."""
            world = asked.params["world"]
            if asked.query.at is not None:
                return await at_moment(host, asked, lambda reads: reads.page(world))
            return self._shown(host, world)

        async def set_page(host: LiveHost, asked: Asked) -> Any:
            """Say who may open the world's page and which functions it may call."""
            world, body = asked.params["world"], asked.body
            now = host.page(world)
            access = body.access or now.access
            functions = now.functions if body.functions is None else sorted(set(body.functions))
            _refuse_undefined(host, world, [name for name in functions if name not in now.functions])
            operation = hub.SetPage(
                access, tuple(functions), self._link_hash(world, now, access, body.new_link)
            )
            done = await host.perform(world, operation, actor=ACTOR)
            return self._shown(host, world) if isinstance(done, answers.Done) else done

        path = "/api/worlds/{world}/page"
        return (
            Endpoint("GET", path, page, (Page, answers.PageAccess, answers.Refused), query=inputs.AtQuery),
            Endpoint("PUT", path, set_page, (Page, answers.Missing, answers.Refused), body=inputs.SetPage),
        )

    def _shown(self, host: LiveHost, world: str) -> Page:
        access = host.page(world)
        link = self._keys.link_of(world, access.link_hash) if access.access == "link" else None
        base = f"{self._url}/w/{world}"
        shared = {"public": f"{base}/", "link": f"{base}/~{link}/" if link else None}.get(access.access)
        return Page(
            access=access.access,
            functions=access.functions,
            url=shared,
            preview=f"{base}/~{self._keys.make_pass(world)}/",
        )

    def _link_hash(self, world: str, now: answers.PageAccess, access: str, wants_new: bool) -> str | None:
        """The hash of the link, kept while the page is not open by it, so that no link is ever given twice."""
        if wants_new or (access == "link" and now.link_hash is None):
            return content_id(self._keys.next_link(world, now.link_hash).encode())
        return now.link_hash
