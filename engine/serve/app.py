"""The web application: the gate, the endpoints as raw routes, and behind them a FastAPI frame with the API docs."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI
from fastapi.openapi.docs import get_swagger_ui_html
from fastapi_offline import FastAPIOffline
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route, Router

from engine.host import LiveHost
from engine.serve.answering import Reply, failed
from engine.serve.endpoint import routes
from engine.serve.gate import Gate
from engine.serve.metrics import Metrics
from engine.serve.noting import Noting
from engine.serve.openapi import document
from engine.serve.pages import Keys, Site
from engine.serve.routes import ENDPOINTS
from engine.serve.routes.page import PageRoutes
from engine.serve.tokens import Guard

STATIC = "/docs/static"
# The link that `pw serve` prints carries the token behind "#", which no browser sends anywhere.
_SIGN_IN = """
<script>
  const token = /[#&]token=([^&]+)/.exec(location.hash);
  if (token) {
    history.replaceState(null, "", location.pathname);
    const wait = setInterval(() => {
      if (!document.querySelector(".opblock, .info")) return;
      clearInterval(wait);
      ui.preauthorizeApiKey("token", decodeURIComponent(token[1]));
    }, 50);
  }
</script>
</body>"""


def make_apps(
    host: LiveHost,
    *,
    guard: Guard,
    keys: Keys,
    hosts: frozenset[str],
    pages_url: str,
    behind_proxy: bool,
    logger: Any,
) -> tuple[Noting, Noting]:
    """The two ASGI applications that serve `host`: the operator API and the pages.

    `hosts` are their names beside the loopback ones, `pages_url` is where visitors find the pages.
    """
    metrics = Metrics(host.gauges)
    pages = Site(host, keys=keys, hosts=hosts, url=pages_url if behind_proxy else None)
    return (
        Noting(
            _api(host, guard=guard, hosts=hosts, metrics=metrics, pages=PageRoutes(keys, pages_url)),
            logger=logger,
            metrics=metrics,
        ),
        Noting(pages, logger=logger, metrics=metrics),
    )


def _api(host: LiveHost, *, guard: Guard, hosts: frozenset[str], metrics: Metrics, pages: PageRoutes) -> Gate:
    endpoints = (*ENDPOINTS, *pages.endpoints(), metrics.endpoint())
    frame = _frame(document(endpoints, version=host.version().build))
    # Around the frame, not in it: its layers would cost a call as much as all that this house does for it.
    router = Router(routes(endpoints, host), default=frame, redirect_slashes=False)
    return Gate(router, guard=guard, hosts=hosts)


def _frame(openapi: dict[str, Any]) -> FastAPI:
    frame = FastAPIOffline(
        docs_url=None,
        redoc_url=None,
        title="Flickworld",
        openapi_url="/openapi.json",
        static_url=STATIC,
        redirect_slashes=False,
        exception_handlers={404: _no_route, 405: _no_method},
    )
    frame.openapi = lambda: openapi  # type: ignore[method-assign]
    frame.router.routes[:0] = [Route("/", _to_docs), Route("/docs", _docs)]
    return frame


async def _to_docs(_request: Request) -> Response:
    return RedirectResponse("/docs")


async def _docs(_request: Request) -> Response:
    page = get_swagger_ui_html(
        openapi_url="/openapi.json",
        title="Flickworld API",
        swagger_js_url=f"{STATIC}/swagger-ui-bundle.js",
        swagger_css_url=f"{STATIC}/swagger-ui.css",
        swagger_favicon_url=f"{STATIC}/favicon.png",
    )
    return HTMLResponse(bytes(page.body).decode().replace("</body>", _SIGN_IN))


async def _no_route(request: Request, _error: Exception) -> Response:
    return _response(
        failed(404, f"there is no {request.scope['path'][:200]} here", "/docs lists what there is")
    )


async def _no_method(request: Request, error: Any) -> Response:
    response = _response(failed(405, f"{request.method} is not a method of {request.scope['path'][:200]}"))
    response.headers["allow"] = (error.headers or {}).get("Allow", "GET, HEAD")
    return response


def _response(reply: Reply) -> Response:
    return Response(reply.body, status_code=reply.status, media_type=reply.content_type.decode())
