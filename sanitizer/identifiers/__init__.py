"""Structured identifiers (e-mail addresses, cards, keys): found, and replaced.

What enters: a text. What leaves: spans with their kinds, or another value of the same form. It
needs python-stdnum and phonenumbers beside the standard library, and knows neither policies nor
the vault.
"""

from typing import TYPE_CHECKING

from sanitizer.doors import lazy_door

if TYPE_CHECKING:
    from sanitizer.identifiers.rows import KINDS as KINDS
    from sanitizer.identifiers.search import Identifier as Identifier
    from sanitizer.identifiers.search import find as find
    from sanitizer.identifiers.search import same_form as same_form
else:
    __getattr__, __dir__, __all__ = lazy_door(
        __name__,
        {
            "identifiers.rows": "KINDS",
            "identifiers.search": "Identifier find same_form",
        },
    )
