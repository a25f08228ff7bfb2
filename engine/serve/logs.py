"""Structured logs: one JSON object a line on standard error. Tokens, arguments, sources and values never enter them."""

from __future__ import annotations

import logging
import sys
from typing import Any

import msgspec
import structlog

LEVELS = ("debug", "info", "warning", "error")


def make_logger(level: str) -> Any:
    """The server's logger. Libraries that use `logging` (uvicorn, asyncio) are led into it from warnings on."""
    number = logging.getLevelName(level.upper())
    assert level in LEVELS and isinstance(number, int)
    logger = structlog.wrap_logger(
        structlog.BytesLogger(sys.stderr.buffer),
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            _rendered,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(number),
        cache_logger_on_first_use=True,
    )
    root = logging.getLogger()
    root.handlers = [_Led(logger)]
    root.setLevel(logging.WARNING)
    return logger


class _Led(logging.Handler):
    """Hands a library's log record to the structured logger."""

    def __init__(self, logger: Any) -> None:
        super().__init__()
        self._logger = logger

    def emit(self, record: logging.LogRecord) -> None:
        self._logger.log(
            record.levelno, record.getMessage(), source=record.name, exc_info=record.exc_info or None
        )


def _rendered(_logger: Any, _method: str, event: Any) -> bytes:
    # An error's text may hold anything; what cannot be UTF-8 must not cost the line.
    try:
        return msgspec.json.encode(event)
    except UnicodeEncodeError:
        return msgspec.json.encode({key: ascii(value) for key, value in event.items()})
