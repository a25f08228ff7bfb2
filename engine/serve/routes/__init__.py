"""The table of endpoints, in the order in which they are looked for: the call first."""

from engine.serve.routes import access, change, checks, data, history, incidents, operation, use, worlds

ENDPOINTS = (
    *use.ENDPOINTS,
    *change.ENDPOINTS,
    *worlds.ENDPOINTS,
    *checks.ENDPOINTS,
    *history.ENDPOINTS,
    *incidents.ENDPOINTS,
    *access.ENDPOINTS,
    *data.ENDPOINTS,
    *operation.ENDPOINTS,
)

__all__ = ["ENDPOINTS"]
