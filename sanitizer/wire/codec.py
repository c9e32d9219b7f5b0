"""JSON that keeps what it does not understand: numbers keep their spelling, doubtful documents are errors."""

from __future__ import annotations

import json
from collections.abc import Callable
from json.encoder import encode_basestring, encode_basestring_ascii
from typing import Any, NoReturn

MAX_DEPTH = 100


class Literal(str):
    """A number as it was spelled: 1.0, 1e5, 12345678901234567890."""

    __slots__ = ()


class Leaf:
    """A string of a document that may be replaced before the document is written again.

    Attributes:
        text: what is written; set it to replace the string.
        role: who says it; "" if it is nobody's message.
        sort: "text"; "light" (only identifiers are replaced), "person" (a participant's name), "number" (a JSON
            number; `text` is JSON itself), or, in answers, "arguments" (a JSON document inside a string).
        key: of a value in tool arguments, what it is called there; else "".
    """

    __slots__ = ("key", "role", "sort", "text")

    def __init__(self, text: str, role: str, sort: str = "text", key: str = "") -> None:
        self.text, self.role, self.sort, self.key = text, role, sort, key


class Spliced:
    """A JSON document inside a string, of which some strings may be replaced; everything else stays as spelled.

    Attributes:
        pieces: source text, and the leaves between.
    """

    __slots__ = ("pieces",)

    def __init__(self, pieces: list[str | Leaf]) -> None:
        self.pieces = pieces


class Doubtful(ValueError):
    """JSON that readers take differently: too deep, or an object has a key twice."""


def loads(text: str, strict: bool = True) -> Any:
    """A document whose numbers are `Literal`.

    Args:
        strict: as requests are read. Otherwise as answers are: NaN and Infinity, which JSON does not know, are
            `Literal` too, and of a key that comes twice the last counts.

    Raises:
        Doubtful: more than 100 levels deep, or (strict) an object has a key twice.
        ValueError: malformed. Neither message says anything of the content.
    """
    try:
        found = _STRICT.decode(text) if strict else _LENIENT.decode(text)
    except RecursionError:
        raise Doubtful("JSON nested too deeply") from None
    except Doubtful:
        raise Doubtful("a JSON object has a key twice") from None
    except ValueError:
        raise ValueError("malformed JSON") from None
    if text.count("{") + text.count("[") > MAX_DEPTH:
        _check_depth(found)
    return found


def _check_depth(document: Any) -> None:
    """Level by level, so that no depth is too deep to be checked."""
    level = [document] if isinstance(document, (dict, list)) else []
    for _ in range(MAX_DEPTH):
        inside = (value.values() if type(value) is dict else value for value in level)
        level = [value for values in inside for value in values if type(value) is dict or type(value) is list]
        if not level:
            return
    raise Doubtful("JSON nested too deeply")


def dumps(value: Any) -> bytes:
    """The document in compact UTF-8; lone surrogates stay escaped."""
    try:
        return _written(value, encode_basestring).encode()
    except UnicodeEncodeError:
        return _written(value, encode_basestring_ascii).encode()


def _written(value: Any, quoted: Callable[[str], str]) -> str:
    """Depth is bounded by the reader's, so recursion is safe."""
    kind = type(value)
    if kind is str:
        return quoted(value)
    if kind is Leaf:
        return value.text if value.sort == "number" else quoted(value.text)
    if kind is dict:
        items = [
            f"{quoted(key.text if type(key) is Leaf else key)}:"
            f"{quoted(inside) if type(inside) is str else _written(inside, quoted)}"
            for key, inside in value.items()
        ]
        return f"{{{','.join(items)}}}"
    if kind is list:
        return f"[{','.join([_written(inside, quoted) for inside in value])}]"
    if kind is Spliced:
        return quoted("".join([_piece(p) for p in value.pieces]))
    return _CONSTANTS[value] if value is None or kind is bool else str(value)


def _piece(piece: str | Leaf) -> str:
    if isinstance(piece, str):
        return piece
    return piece.text if piece.sort == "number" else inner(piece.text)


def inner(text: str) -> str:
    """A string as it stands between the quotes of a JSON document."""
    return str(encode_basestring(text))[1:-1]


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object, unless it has a key twice."""
    found = dict(pairs)
    if len(found) != len(pairs):
        raise Doubtful
    return found


def _no_constant(name: str) -> NoReturn:
    raise ValueError("not a JSON number")


_CONSTANTS = {None: "null", True: "true", False: "false"}
_STRICT = json.JSONDecoder(object_pairs_hook=_once, parse_int=Literal, parse_float=Literal, parse_constant=_no_constant)
_LENIENT = json.JSONDecoder(parse_int=Literal, parse_float=Literal, parse_constant=Literal)
