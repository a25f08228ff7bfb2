"""The peer of the HTTP rows: the least that a uvicorn route can do. `uvicorn tests.bench.bare_app:app`."""

from __future__ import annotations

BODY = b'{"ok":true,"value":"OLLEH","revision":2,"logs":[]}'
HEADERS = [(b"content-type", b"application/json"), (b"content-length", str(len(BODY)).encode())]


async def app(scope, receive, send) -> None:
    """Read the body, answer a constant."""
    if scope["type"] == "lifespan":
        for step in ("startup", "shutdown"):
            await receive()
            await send({"type": f"lifespan.{step}.complete"})
        return
    while (await receive()).get("more_body"):
        pass
    await send({"type": "http.response.start", "status": 200, "headers": HEADERS})
    await send({"type": "http.response.body", "body": BODY})
