"""What a page may do in a browser. Two policies hold at once, and a page must satisfy both.

The first makes it a stranger everywhere: `sandbox` without allow-same-origin gives it an origin of its own that equals
no other, so it has no cookies and no storage and can read no answer that does not allow the origin `null`. The second
narrows 'self' to the page's own world: other worlds live on the same host, and their forms and files are theirs.
"""

from __future__ import annotations

from engine.serve.answering import Headers

SANDBOX = (
    "sandbox allow-scripts allow-forms; default-src 'none'; script-src 'self' 'unsafe-inline'; "
    "style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'"
)


def page_headers(origin: str, world: str) -> Headers:
    """The headers of everything under a world's address. `origin` is that of the pages, as the visitor has it."""
    return (
        (b"content-security-policy", SANDBOX.encode()),
        (b"content-security-policy", _own_world(origin, world).encode()),
        (b"referrer-policy", b"no-referrer"),
        (b"cross-origin-opener-policy", b"same-origin"),
        (b"permissions-policy", b"camera=(), geolocation=(), microphone=(), payment=(), usb=()"),
    )


def _own_world(origin: str, world: str) -> str:
    own, calls = f"{origin}/w/{world}/", f"{origin}/call/{world}/"
    return (
        f"default-src 'none'; script-src {own} 'unsafe-inline'; style-src {own} 'unsafe-inline'; "
        f"img-src {own} data:; font-src {own} data:; connect-src {own} {calls}; form-action {own}"
    )
