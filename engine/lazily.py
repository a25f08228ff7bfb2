"""Packages whose parts are loaded when they are first asked for: `pw` must not load an engine to print a table."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def attributes_of(package: dict[str, Any], modules: Mapping[str, str]) -> Callable[[str], Any]:
    """A `__getattr__` for a package with these globals: each public name, and the module of the package it is in."""

    def load(name: str) -> Any:
        module = modules.get(name)
        if module is None:
            raise AttributeError(f"module {package['__name__']} has no attribute {name}")
        value = getattr(import_module(f"{package['__name__']}.{module}"), name)
        package[name] = value
        return value

    return load
