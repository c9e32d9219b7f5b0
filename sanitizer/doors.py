"""Doors of packages: names that are written once, and whose modules load at their first use."""

from __future__ import annotations

import builtins
import importlib
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock
from types import SimpleNamespace
from typing import Any

_IMPORTING = Lock()


@contextmanager
def lazily(scope: dict[str, Any]) -> Iterator[None]:
    """Put off what a package imports within, `from MODULE import NAME as NAME`, to its first use.

    Importing the package is quick then: numpy alone takes 70 ms, a model library more. Type
    checkers, linters and whoever freezes a program see plain imports.

    >>> scope = {"__name__": "door"}
    >>> with lazily(scope):
    ...     exec("from math import pi as pi, tau as tau", scope)
    >>> scope["__all__"], "pi" in scope, scope["__getattr__"]("pi")
    (['pi', 'tau'], False, 3.141592653589793)

    Args:
        scope: `globals()` of the package; `__all__`, `__dir__` and `__getattr__` are put in it.
    """
    homes: dict[str, str] = {}
    plain_import = builtins.__import__

    def noted(name: str, *details: Any, **more: Any) -> Any:
        # Imports of other modules, which other threads may do meanwhile, go on as ever.
        if more or not details or details[0] is not scope:
            return plain_import(name, *details, **more)
        names = dict.fromkeys(details[2], name)
        homes.update(names)
        return SimpleNamespace(**names)

    with _IMPORTING:
        builtins.__import__ = noted
        try:
            yield
        finally:
            builtins.__import__ = plain_import

    def load(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {scope['__name__']!r} has no attribute {name!r}")
        # From now on Python finds the name without calling this.
        scope[name] = getattr(importlib.import_module(homes[name]), name)
        return scope[name]

    for name in homes:
        del scope[name]
    public = sorted(name for name in homes if not name.startswith("_"))
    scope.update(__getattr__=load, __dir__=lambda: public, __all__=public)
