"""JSON as text: read and written so that all that is not text leaves as it came.

The reader and writer are our own because numbers have to keep their spelling, and documents that
readers take differently are errors.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from json.encoder import encode_basestring, encode_basestring_ascii
from math import isfinite
from typing import Any, NoReturn

TextPath = tuple[str | int, ...]
"""Place of a text in a document: keys, and places in lists."""
MAX_NUMBER = 40
"""Characters of the longest one."""
MAX_DEPTH = 100
"""Deepest nesting of a document, in levels."""


class SpelledNumber(str):
    """A JSON number in its original spelling: 1.0, 1e5, 12345678901234567890."""

    __slots__ = ()


@dataclass(slots=True, eq=False)
class TextSlot:
    """A string of a document that may be replaced before the document is written again.

    Attributes:
        text: what will be written; set it to replace the string.
        role: who says it; "" if it is nobody's message.
        kind: "text"; "light" (only identifiers are replaced), "person" (a participant's name),
            "number" (a JSON number), or, in answers, "arguments" (a JSON document).
        key: name of a value in tool arguments; "" elsewhere.
        path: keys and places in lists that lead to it.
        n_results: results of tools until there.
        is_json: `text` is JSON itself, and is written as it is.
        holds_json: `text` is a string that holds JSON, and has to go on doing so.
        declared: offsets of what the API wrote of the text, which stays; all of it, if None.
        tool: in answers, the name of the tool that is called with it; None if none is.
        aside: name of the field in which it stands beside a message: a thought, a refusal, a
            title of what is cited; "" if it is of the message.
    """

    text: str
    role: str
    kind: str = "text"
    key: str = ""
    path: TextPath = ()
    n_results: int = 0
    is_json: bool = False
    holds_json: bool = False
    declared: tuple[tuple[int, int], ...] | None = ()
    tool: str | None = None
    aside: str = ""

    @property
    def field(self) -> str:
        """Name of the field that it stands in."""
        return next((key for key in reversed(self.path) if type(key) is str), "")


@dataclass(slots=True, eq=False)
class Spliced:
    """A JSON document of which some strings may be replaced.

    Attributes:
        pieces: source text, written as it is, and slots between.
        in_string: the document is inside a string of another.
    """

    pieces: list[str | TextSlot]
    in_string: bool = True


class AmbiguousJson(ValueError):
    """JSON that readers take differently: nested too deeply, or with a key twice in an object."""


def loads(text: str, strict: bool = True) -> Any:
    """Read a document whose numbers keep their spelling.

    Args:
        strict: read as requests are. Otherwise as answers are: NaN and Infinity, which JSON does
            not have, are numbers too, and of a key that occurs twice the last value counts.

    Raises:
        AmbiguousJson: more than MAX_DEPTH levels, or (strict) an object has a key twice.
        ValueError: malformed. Neither message quotes the content.
    """
    try:
        found = _STRICT.decode(text) if strict else _LENIENT.decode(text)
    except RecursionError:
        raise AmbiguousJson("JSON nested too deeply") from None
    except AmbiguousJson:
        raise AmbiguousJson("a JSON object has a key twice") from None
    except ValueError:
        raise ValueError("malformed JSON") from None
    if text.count("{") + text.count("[") > MAX_DEPTH and _is_deep(found):
        raise AmbiguousJson("JSON nested too deeply")
    return found


def _is_deep(document: Any) -> bool:
    """Return True if a document has more than MAX_DEPTH levels."""
    # Level by level instead of recursively: no document is too deep to be checked.
    level = [document]
    for _ in range(MAX_DEPTH):
        inside = [v.values() if type(v) is dict else v for v in level if type(v) in (dict, list)]
        level = [value for values in inside for value in values]
    return any(type(value) in (dict, list) for value in level)


def dumps(value: Any) -> bytes:
    """Write the document in compact UTF-8; lone surrogates stay escaped."""
    try:
        return _written(value, encode_basestring).encode()
    except UnicodeEncodeError:
        # Documents that are spliced into this one hold theirs as they are.
        written = _written(value, encode_basestring_ascii)
        return _SURROGATE.sub(lambda m: f"\\u{ord(m[0]):04x}", written).encode()


def _written(value: Any, quoted: Callable[[str], str]) -> str:
    # Recursion is safe: the reader has bounded the depth.
    kind = type(value)
    if kind is str:
        return quoted(value)
    if kind is TextSlot:
        return value.text if value.is_json else quoted(value.text)
    if kind is dict:
        items = [
            f"{quoted(key.text if type(key) is TextSlot else key)}:"
            f"{quoted(inside) if type(inside) is str else _written(inside, quoted)}"
            for key, inside in value.items()
        ]
        return f"{{{','.join(items)}}}"
    if kind is list:
        return f"[{','.join([_written(inside, quoted) for inside in value])}]"
    if kind is Spliced:
        pieces = [
            p if isinstance(p, str) else p.text if p.is_json else inner(p.text)
            for p in value.pieces
        ]
        document = "".join(pieces)
        return quoted(document) if value.in_string else document
    return _CONSTANTS[value] if value is None or kind is bool else str(value)


def inner(text: str) -> str:
    """Escape a string for a place between the quotes of a JSON document."""
    return str(encode_basestring(text))[1:-1]


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return the object of these pairs; raise AmbiguousJson if a key occurs twice."""
    found = dict(pairs)
    if len(found) != len(pairs):
        raise AmbiguousJson
    return found


def _no_constant(name: str) -> NoReturn:
    raise ValueError("not a JSON number")


_STRING = re.compile(r'"([^"\\]*(?:\\.[^"\\]*)*)"(\s*:)?|(-?[0-9][0-9.eE+-]*)')
_SURROGATE = re.compile("[\ud800-\udfff]")
_CONSTANTS = {None: "null", True: "true", False: "false"}
_STRICT = json.JSONDecoder(
    object_pairs_hook=_once,
    parse_int=SpelledNumber,
    parse_float=SpelledNumber,
    parse_constant=_no_constant,
)
_LENIENT = json.JSONDecoder(
    parse_int=SpelledNumber, parse_float=SpelledNumber, parse_constant=SpelledNumber
)


def spelled_leaves(document: str) -> Iterator[tuple[str, tuple[int, int], str]]:
    """Yield the strings, keys and numbers of a JSON document: decoded, where, and which it is."""
    for found in _STRING.finditer(document):
        text = found[3] or found[1]
        if found[3]:
            yield text, found.span(3), "number"
        else:
            text = json.loads(f'"{text}"') if "\\" in text else text
            yield text, found.span(1), "key" if found[2] else "string"


def plain_json(document: str) -> str | None:
    """Return a JSON document in the one spelling by which they are compared; None if it is none.

    Applications read the arguments of a call and write them again, with other spaces, escapes and
    numbers.

    >>> plain_json('{"n": 1.50, "m": [1e3, "\\u0061"]}')
    '{"n":1.5,"m":[1000,"a"]}'
    """
    try:
        found = loads(document, strict=False)
    except ValueError:
        return None
    return plain_numbers(dumps(found).decode())


def plain_numbers(document: str) -> str:
    """Return a JSON document with its numbers as `plain_number` writes them."""
    return _STRING.sub(lambda m: plain_number(m[3]) if m[3] else m[0], document)


def plain_number(spelling: str) -> str:
    """Return a JSON number in the one spelling by which numbers are compared.

    >>> [plain_number(spelling) for spelling in ("1.0", "1e3", "0.10", "-0")]
    ['1', '1000', '0.1', '0']
    """
    try:
        value = float(spelling)
    except (ValueError, OverflowError):
        return spelling
    if spelling.lstrip("-").isdecimal():
        return spelling if value else "0"
    if not isfinite(value):
        return spelling
    return str(int(value)) if value.is_integer() and abs(value) < 1e16 else repr(value)


def whole_number(spelling: str) -> str:
    """Return the digits of a JSON number that is whole however it is spelled; others as they are.

    >>> whole_number("4111.0e3"), whole_number("-12"), whole_number("0.5")
    ('4111000', '12', '0.5')
    """
    if spelling.isdecimal() or len(spelling) > MAX_NUMBER:
        return spelling
    value = abs(Decimal(spelling))
    is_whole = value.adjusted() < MAX_NUMBER and value == value.to_integral_value()
    return f"{value.to_integral_value():f}" if is_whole else spelling


def leaves(document: str) -> list[str] | None:
    """Return the strings, keys and numbers of a JSON document in order; None if it is none.

    Numbers are as `plain_number` writes them.
    """
    try:
        loads(document, strict=False)
        found = spelled_leaves(document)
        return [plain_number(value) if kind == "number" else value for value, _, kind in found]
    except ValueError:
        return None
