"""The pages origin: what worlds show to people, sandboxed and apart from the operator API."""

from engine.serve.pages.access import Keys, open_keys
from engine.serve.pages.site import Site

__all__ = ["Keys", "Site", "open_keys"]
