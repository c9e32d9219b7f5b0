"""Modules that are loaded when a test first uses them.

Every worker imports every test file, and large SDKs take seconds to load: only the worker that runs
a file's tests should pay for what that file needs.
"""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import Any

import pytest


class _Lazy(ModuleType):
    """A module of this name that is imported when an attribute of it is asked for."""

    def __init__(self, name: str, optional: bool) -> None:
        super().__init__(name)
        self._optional = optional

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):  # pytest looks for its marks in whatever a test file names
            raise AttributeError(name)
        module = self.__name__
        found = pytest.importorskip(module) if self._optional else importlib.import_module(module)
        return getattr(found, name)


def lazily(name: str, optional: bool = False) -> ModuleType:
    """Stand for the module `name`; if it is `optional` and missing, a test that uses it skips."""
    return _Lazy(name, optional)
