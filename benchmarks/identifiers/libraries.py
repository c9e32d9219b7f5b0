"""Numbers of python-stdnum (LGPL-2.1) and phonenumbers (Apache-2.0), as installed."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
import re
import warnings
from collections.abc import Iterator
from types import ModuleType

import phonenumbers
import stdnum

from benchmarks.identifiers.samples import Sample

PHONES = (
    ("phonenumbers, announced", "Phone: {}"),
    ("phonenumbers, announced", "tel. {}"),
    ("phonenumbers, in prose", "You can call me on {} in the evening"),
    ("phonenumbers, told behind", "She gave me {} as the number of the clinic"),
)
"""What is said about a telephone number, by suite."""
KINDS = (phonenumbers.PhoneNumberType.FIXED_LINE, phonenumbers.PhoneNumberType.MOBILE)


def numbers() -> Iterator[Sample]:
    """Yield "The [long name] is N" for the examples of python-stdnum's modules that validate."""
    for info in pkgutil.walk_packages(stdnum.__path__, "stdnum."):
        with warnings.catch_warnings(action="ignore"):  # modules that have been renamed
            module = importlib.import_module(info.name)
        if info.ispkg or "algorithm" in _first_line(module):
            continue
        for number in _examples(module):
            yield _told("python-stdnum", info.name, f"The {long_name(module)} is {{}}", number)


def long_name(module: ModuleType) -> str:
    """Return what stands in brackets in the first line of the docstring, else the line.

    Of two names, the native and the English one, it is the English one, which comes last.
    """
    line = _first_line(module)
    inner = re.search(r"\((.*)\)", line)
    name = (inner[1] if inner else line).rpartition(", ")[2]
    return re.sub(r"^(the|an?) ", "", name, flags=re.IGNORECASE).strip(' "')


def _first_line(module: ModuleType) -> str:
    return (module.__doc__ or ".").strip().splitlines()[0].rstrip(".")


def _examples(module: ModuleType) -> list[str]:
    """Return the strings of the docstring's examples that are valid numbers of the module."""
    found = {}
    for example in doctest.DocTestParser().get_examples(module.__doc__ or ""):
        for text in re.findall(r"""validate\(['"]([^'"]+)['"]\)""", example.source):
            if example.exc_msg is None:
                module.validate(text)
                found[text] = True
    return list(found)


def phones() -> Iterator[Sample]:
    """Yield the example numbers of all regions as they are written there."""
    for region in sorted(phonenumbers.SUPPORTED_REGIONS):
        examples = (phonenumbers.example_number_for_type(region, kind) for kind in KINDS)
        for number in dict.fromkeys(
            phonenumbers.format_number(each, phonenumbers.PhoneNumberFormat.NATIONAL)
            for each in examples
            if each
        ):
            for suite, form in PHONES:
                yield _told(suite, region, form, number)


def _told(suite: str, kind: str, form: str, number: str) -> Sample:
    at = form.index("{}")
    return Sample(suite, kind, form.format(number), ((at, at + len(number)),))
