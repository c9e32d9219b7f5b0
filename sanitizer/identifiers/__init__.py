"""Structured identifiers (e-mail addresses, cards, keys, names): found, and given another value of
the same form.

What enters: a text. What leaves: spans with their kinds, or another value. It needs the standard
library only, and knows neither policies nor the vault.
"""

from typing import TYPE_CHECKING

from sanitizer import lazy_door

if TYPE_CHECKING:
    from sanitizer.identifiers.names import NameFinder as NameFinder
    from sanitizer.identifiers.names import name_finder as name_finder
    from sanitizer.identifiers.search import KINDS as KINDS
    from sanitizer.identifiers.search import Identifier as Identifier
    from sanitizer.identifiers.search import find as find
    from sanitizer.identifiers.search import same_form as same_form
else:
    __getattr__, __dir__ = lazy_door(
        __name__,
        {
            "names": ("NameFinder", "name_finder"),
            "search": ("Identifier", "KINDS", "find", "same_form"),
        },
    )
