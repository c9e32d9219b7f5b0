"""Doors of packages: names whose modules load at their first use."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def lazy_door(
    package: str, homes: Mapping[str, str]
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Return `__getattr__`, `__dir__` and `__all__` of a package that loads modules late.

    Importing the package is quick then: numpy alone takes 70 ms, a model library more. Type
    checkers, and programs that freeze an application, see the imports under TYPE_CHECKING beside
    it; a test holds that both name the same.

    Args:
        package: full name of the package.
        homes: module of sanitizer -> the names in it that the package offers, with blanks between.
    """
    home_of = {name: module for module, names in homes.items() for name in names.split()}

    def load(name: str) -> Any:
        if name not in home_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(import_module(f"sanitizer.{home_of[name]}"), name)
        # From now on Python finds the name without calling this.
        setattr(sys.modules[package], name, value)
        return value

    public = sorted(name for name in home_of if not name.startswith("_"))
    return load, lambda: public, public
