"""The table of endpoints, in the order in which they are looked for: the call first."""

from engine.serve.routes import (
    access,
    change,
    checks,
    data,
    goldens,
    history,
    incidents,
    operation,
    past,
    recordings,
    use,
    worlds,
)

ENDPOINTS = (
    *use.ENDPOINTS,
    *change.ENDPOINTS,
    *worlds.ENDPOINTS,
    *checks.ENDPOINTS,
    *history.ENDPOINTS,
    *incidents.ENDPOINTS,
    *access.ENDPOINTS,
    *data.ENDPOINTS,
    *goldens.ENDPOINTS,
    *past.ENDPOINTS,
    *recordings.ENDPOINTS,
    *operation.ENDPOINTS,
)

__all__ = ["ENDPOINTS"]
