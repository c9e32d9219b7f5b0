"""JSON that keeps what it does not understand: numbers keep their spelling, doubtful documents are
errors.

A walk over a JSON document that finds its text, by the table in `shapes`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from json.encoder import encode_basestring, encode_basestring_ascii
from typing import Any, NoReturn

from sanitizer.errors import RequestRefused
from sanitizer.wire.shapes import (
    ARGUMENTS,
    KEEP,
    LIGHT,
    LOGPROBS,
    MEDIA_TYPES,
    NAME,
    OPAQUE,
    PERSON,
    ROLES,
    TEXT,
    TOKENS,
    JsonShape,
    Media,
    Rule,
)

MAX_DEPTH = 100


class Literal(str):
    """A number as it was spelled: 1.0, 1e5, 12345678901234567890."""

    __slots__ = ()


class TextSlot:
    """A string of a document that may be replaced before the document is written again.

    Attributes:
        text: what is written; set it to replace the string.
        role: who says it; "" if it is nobody's message.
        sort: "text"; "light" (only identifiers are replaced), "person" (a participant's name),
            "number" (a JSON number; `text` is JSON itself), or, in answers, "arguments" (a JSON
            document inside a string).
        key: of a value in tool arguments, what it is called there; else "".
    """

    __slots__ = ("key", "role", "sort", "text")

    def __init__(self, text: str, role: str, sort: str = "text", key: str = "") -> None:
        self.text, self.role, self.sort, self.key = text, role, sort, key


class Spliced:
    """A JSON document inside a string, of which some strings may be replaced; everything else stays
    as spelled.

    Attributes:
        pieces: source text, and the leaves between.
    """

    __slots__ = ("pieces",)

    def __init__(self, pieces: list[str | TextSlot]) -> None:
        self.pieces = pieces


class Doubtful(ValueError):
    """JSON that readers take differently: too deep, or an object has a key twice."""


def loads(text: str, strict: bool = True) -> Any:
    """A document whose numbers are `Literal`.

    Args:
        strict: as requests are read. Otherwise as answers are: NaN and Infinity, which JSON does
            not know, are `Literal` too, and of a key that comes twice the last counts.

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
        level = [
            value
            for values in inside
            for value in values
            if type(value) is dict or type(value) is list
        ]
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
    if kind is TextSlot:
        return value.text if value.sort == "number" else quoted(value.text)
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
        return quoted("".join([_piece(p) for p in value.pieces]))
    return _CONSTANTS[value] if value is None or kind is bool else str(value)


def _piece(piece: str | TextSlot) -> str:
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
_STRICT = json.JSONDecoder(
    object_pairs_hook=_once, parse_int=Literal, parse_float=Literal, parse_constant=_no_constant
)
_LENIENT = json.JSONDecoder(parse_int=Literal, parse_float=Literal, parse_constant=Literal)


LIGHT_ROLE = "light"
ARGUMENTS_ROLE = "arguments"
"""Of tool arguments as a whole, as the API sent them."""
VALUE_ROLE = "value"
"""Of values in tool arguments: nothing that the API said in its messages stands for them."""

_NAME = re.compile(r"@?[\w.:/+=|,#~-]*(?:@[0-9]+)?", re.ASCII)
_OPAQUE = re.compile(r"[\w+/=.:|-]*", re.ASCII)
_PLAIN_KEY = re.compile(r"[A-Za-z_-]{0,64}")
_DATA = r"data:(\w*)[^,\s]{0,200};base64,"
_DATA_URL = re.compile(_DATA + r"[\w+/=%-]*", re.ASCII | re.IGNORECASE)
_EMBEDDED = re.compile(rf"\s*{_DATA}|.*?{_DATA}[\w+/%]{{64}}", re.ASCII | re.IGNORECASE | re.DOTALL)
_STRING = re.compile(r'"([^"\\]*(?:\\.[^"\\]*)*)"(\s*:)?|(-?[0-9][0-9.eE+-]*)')
_FORBIDDEN = re.compile(r"[\s<|\\/>]+")


class TextFinder:
    """One walk. What it returns is the document with a `TextSlot` in place of each string that is
    text.

    Args:
        answer: an answer is read, not a request: nothing is refused, and arguments are one leaf.
        media: let images, audio and files pass.
        all_keys: keys of plain letters may have to be replaced too.
        answered: what the API sent, where it is known, for tool arguments as they were shown: they
            go back whole.

    Attributes:
        leaves: in the order of the document.
        numbers: leaves of numbers in arguments and free objects; they have to be replaced if they
            are originals.
    """

    def __init__(
        self,
        *,
        answer: bool = False,
        media: bool = False,
        all_keys: bool = False,
        answered: Callable[[str], str | None] = lambda arguments: None,
    ) -> None:
        self._answer, self._media, self._all_keys = answer, media or answer, all_keys
        self._answered = answered
        self.leaves: list[TextSlot] = []
        self.numbers: list[TextSlot] = []

    def walk(self, rule: Rule | Media | JsonShape, value: Any, role: str = "") -> Any:
        """The document with its leaves.

        Raises:
            RequestRefused: reason "image", "audio", "file", "tokens", "json" (of arguments), or
                "structure" (text where a name has to stand).
        """
        kind = type(value)
        if kind is str:
            return self._string(rule, value, role)
        if kind is not dict and kind is not list:
            return (
                self._number(value)
                if kind is Literal and rule is TEXT and not self._answer
                else value
            )
        if type(rule) is Media or rule is LOGPROBS:
            return self._kept(rule, value)
        if rule is KEEP:
            return value
        if kind is list:
            if rule is TOKENS and any(type(v) is not str and type(v) is not dict for v in value):
                raise RequestRefused(
                    "token numbers may not leave: they are text in disguise", "tokens"
                )
            return [self.walk(rule, inner, role) for inner in value]
        return self._object(rule, value, role)

    def _object(
        self, rule: Rule | Media | JsonShape, value: dict[str, Any], role: str
    ) -> dict[Any, Any]:
        mark = value.get("type")
        if not self._media and type(mark) is str and mark in MEDIA_TYPES:
            raise _refused(MEDIA_TYPES[mark])
        if not isinstance(rule, JsonShape):
            other = TEXT if rule in _STRINGS else rule
            return {self._key(key): self.walk(other, inner, role) for key, inner in value.items()}
        role = _speaker(value, rule.role or role) if rule.speaks else rule.role or role
        walked: dict[Any, Any] = {}
        fields = rule.fields
        for key, inner in value.items():
            known, kind = fields.get(key), type(inner)
            if kind is Literal:  # a parameter
                walked[key if known else self._key(key)] = inner
                continue
            if known is PERSON and (role == "tool" or "role" not in value):
                known = NAME  # of a function
            walk = self._string if kind is str else self.walk
            walked[key if known else self._key(key)] = walk(known or TEXT, inner, role)
        return walked

    def _string(self, rule: Rule | Media | JsonShape, text: str, role: str) -> Any:
        if isinstance(rule, JsonShape):
            role = rule.role or role
            rule = rule.string
        if rule is TEXT:
            return self._text(text, role)
        if rule is KEEP or type(rule) is Media or rule is LOGPROBS:
            return self._kept(rule, text)
        if rule is NAME or rule is OPAQUE:
            if self._answer or (_NAME if rule is NAME else _OPAQUE).fullmatch(text):
                return text
            raise RequestRefused("text stands where a type, name or id has to stand", "structure")
        if rule is ARGUMENTS:
            return (
                self._leaf(text, role, "arguments") if self._answer else self._arguments(text, role)
            )
        if rule is LIGHT:
            return text if self._answer else self._leaf(text, LIGHT_ROLE, "light")
        return self._text(text, role, "person" if rule is PERSON else "text")

    def _text(self, text: str, role: str, sort: str = "text", key: str = "") -> Any:
        if not self._answer and ";base64," in text.lower():
            if self._media and _DATA_URL.fullmatch(text):
                return text
            if not self._media and (found := _EMBEDDED.match(text)) is not None:
                kind = (found[1] or found[2] or "").lower()
                raise _refused(kind if kind in ("image", "audio") else "file")
        return self._leaf(text, role, sort, key)

    def _leaf(self, text: str, role: str, sort: str, key: str = "") -> TextSlot | str:
        if not text:
            return text
        leaf = TextSlot(text, role, sort, key)
        self.leaves.append(leaf)
        return leaf

    def _number(self, spelling: str) -> TextSlot:
        leaf = TextSlot(spelling, "", "number")
        self.numbers.append(leaf)
        return leaf

    def _key(self, key: str) -> TextSlot | str:
        if self._answer or (not self._all_keys and _PLAIN_KEY.fullmatch(key)):
            return key
        return self._leaf(key, LIGHT_ROLE, "light")

    def _kept(self, rule: Rule | Media | JsonShape, value: Any) -> Any:
        if value and not self._media and type(rule) is Media:
            raise _refused(rule.reason)
        if value and not self._answer and rule is LOGPROBS:
            raise RequestRefused(
                "logprobs may not leave: their bytes are text in disguise", "tokens"
            )
        return value

    def _arguments(self, text: str, role: str) -> Any:
        """Strings and numbers inside the JSON one by one; the whole if it is not JSON."""
        if (sent := self._answered(text)) is not None:
            return sent
        try:
            loads(text)
        except Doubtful as error:
            raise RequestRefused(f"tool arguments: {error}", "json") from None
        except ValueError:
            return self._text(text, VALUE_ROLE)
        pieces: list[str | TextSlot] = []
        done, key = 0, ""
        for found in _STRING.finditer(text):
            if found[3]:
                leaf: Any = self._number(found[3])
            elif found[2]:
                key = _unescaped(found[1])
                leaf = self._key(key)
            else:
                leaf = self._text(_unescaped(found[1]), VALUE_ROLE, key=key)
            if isinstance(leaf, TextSlot):
                begin, end = found.span(3 if found[3] else 1)
                pieces += [text[done:begin], leaf]
                done = end
        return Spliced([*pieces, text[done:]])


def person(text: str) -> str:
    """A released name without the characters that the API forbids in names."""
    return _FORBIDDEN.sub("_", text).strip("_")[:64] or "_"


_STRINGS = (ARGUMENTS, PERSON, TOKENS)  # rules for strings: an object in their place is text


def _unescaped(string: str) -> str:
    return str(json.loads(f'"{string}"')) if "\\" in string else string


def _speaker(value: dict[str, Any], outside: str) -> str:
    """Who says what is inside a message or item."""
    role, kind = value.get("role"), value.get("type")
    if type(role) is str:
        return ROLES.get(role, "user")
    if type(kind) is str:
        return (
            "tool"
            if kind.endswith("_output")
            else "user"
            if kind.endswith("_response")
            else "assistant"
        )
    return outside


def _refused(reason: str) -> RequestRefused:
    what = {"image": "images", "audio": "audio", "file": "files"}[reason]
    return RequestRefused(f"the policy does not let {what} leave ([wire] images)", reason)
