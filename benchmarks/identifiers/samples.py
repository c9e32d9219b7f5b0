"""What a suite is made of, and the two suites of installed packages: numbers of python-stdnum
(LGPL-2.1) and of phonenumbers (Apache-2.0).
"""

from __future__ import annotations

import hashlib
import importlib
import pkgutil
import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from doctest import DocTestParser

import phonenumbers
import stdnum

Spans = tuple[tuple[int, int], ...]
PHONES = (
    ("phonenumbers, announced", "Phone: {}"),
    ("phonenumbers, announced", "tel. {}"),
    ("phonenumbers, in prose", "You can call me on {} in the evening"),
    ("phonenumbers, told behind", "She gave me {} as the number of the clinic"),
)
"""What is said about a telephone number, by suite."""


@dataclass(frozen=True)
class Sample:
    """One text of a suite.

    Attributes:
        suite: name of the suite, a row of the table.
        kind: what the suite calls the kind: a rule, a recognizer, a detector, a module, a region.
        text: what is sanitized.
        spans: stretches that have to be hidden whole; none in a negative.
    """

    suite: str
    kind: str
    text: str
    spans: Spans

    @property
    def half(self) -> str:
        """ "seen" or "unseen", by a hash of the kind's name: whoever writes rows reads one half."""
        return ("seen", "unseen")[digest(self.kind)[0] & 1]


def digest(text: str) -> bytes:
    """Return the SHA-256 of a text."""
    return hashlib.sha256(text.encode()).digest()


def trimmed(text: str, start: int, end: int) -> tuple[int, int]:
    """Return a span without the blanks, quotes and operators that some patterns take with it."""
    value = text[start:end].rstrip(" \t\n\"'")
    return start + len(value) - len(value.lstrip(" \t\n=:\"'")), start + len(value)


def occurrences(text: str, value: str) -> Spans:
    """Return all places of a value in a text, trimmed."""
    found = re.finditer(re.escape(value), text) if value else ()
    return tuple(trimmed(text, *match.span()) for match in found)


def stdnum_numbers() -> Iterator[Sample]:
    """Yield "The [long name] is N" for the examples of the modules' docstrings that validate.

    Of the names in brackets, the native and the English one, it is the English one, the last.
    """
    for info in pkgutil.walk_packages(stdnum.__path__, "stdnum."):
        with warnings.catch_warnings(action="ignore"):  # modules that have been renamed
            module = importlib.import_module(info.name)
        doc = (module.__doc__ or ".").strip()
        line = doc.splitlines()[0].rstrip(".")
        if info.ispkg or "algorithm" in line:
            continue
        brackets = re.search(r"\((.*)\)", line)
        name = (brackets[1] if brackets else line).rpartition(", ")[2].strip(' "')
        form = f"The {re.sub('^(the|an?) ', '', name)} is {{}}"
        for example in DocTestParser().get_examples(doc):
            called = re.search(r"""^validate\(['"]([^'"]+)['"]\)""", example.source)
            if called and example.exc_msg is None:
                yield told("python-stdnum", info.name, form, called[1])


def phones() -> Iterator[Sample]:
    """Yield the example numbers of all regions, fixed and mobile, as they are written there."""
    types = (phonenumbers.PhoneNumberType.FIXED_LINE, phonenumbers.PhoneNumberType.MOBILE)
    national = phonenumbers.PhoneNumberFormat.NATIONAL
    for region in sorted(phonenumbers.SUPPORTED_REGIONS):
        for each in types:
            if example := phonenumbers.example_number_for_type(region, each):
                number = phonenumbers.format_number(example, national)
                yield from (told(suite, region, form, number) for suite, form in PHONES)


def told(suite: str, kind: str, form: str, value: str) -> Sample:
    """Return a sample: a value in a sentence that has a place for it."""
    at = form.index("{}")
    text = form.format(value)
    return Sample(suite, kind, text, (trimmed(text, at, at + len(value)),))
