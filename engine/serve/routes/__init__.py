"""The table of endpoints, in the order in which they are looked for: the call first."""

from engine.serve.routes import change, data, history, operation, use, worlds

ENDPOINTS = (
    *use.ENDPOINTS,
    *change.ENDPOINTS,
    *worlds.ENDPOINTS,
    *history.ENDPOINTS,
    *data.ENDPOINTS,
    *operation.ENDPOINTS,
)

__all__ = ["ENDPOINTS"]
