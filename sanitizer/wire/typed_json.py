"""JSON of an answer, restored as it comes, its values typed by the schema that the request has.

A stand-in that is all of a value is written as the schema of its field says: a sum as a number, a
date as ISO 8601 has it, an option as the member that it is. What fits no such type, or could be
read in two ways, stays a string.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from datetime import date, datetime, time
from decimal import Decimal
from functools import cached_property
from typing import Any, NamedTuple

from sanitizer.answers.amounts import PERCENT, Amount
from sanitizer.answers.asking import ASKS
from sanitizer.answers.restorer import Part, Restorer, joined
from sanitizer.answers.values import Moment, Reader
from sanitizer.results import VALUES
from sanitizer.wire.json_text import SpelledNumber, inner

MAX_HELD = 200
"""Characters of the longest string or bare value that is held back until it is whole."""
_FORMATS: dict[str, Any] = {"date": date, "date-time": datetime, "time": time}
"""Format of a string -> what reads it as ISO 8601."""
_WRITTEN = {"enum", "integer", "number", *_FORMATS}
"""What a value may be that is no string as it came."""
_BETWEEN = ("", "t", "at", ",")
"""What an answer writes between a date and a time."""
Types = list[tuple[str, dict[str, Any]]]
"""Kinds of values, each with the schema that it is of; see `Schema.types`."""
_OF_OBJECTS, _OF_LISTS = ("properties", "additionalProperties"), ("prefixItems", "items")
_COMBINED = ("anyOf", "oneOf", "allOf")
_PARAMETERS = ("parameters", "input_schema", "parametersJsonSchema", "parameters_json_schema")
_TOOLS = ("function", "tools", "functionDeclarations", "function_declarations")
_MOST = 2**53
"""Whole numbers from here on are not exact for every reader of JSON."""


# ---- what a request says of the types of an answer ----


def tool_schemas(declared: Any) -> Iterator[tuple[str, Any]]:
    """Yield name and schema of each tool that a request declares, as any of the APIs has them."""
    for each in declared if isinstance(declared, list) else [declared]:
        if isinstance(each, dict):
            if isinstance(name := each.get("name"), str):
                yield name, next((each[key] for key in _PARAMETERS if key in each), None)
            for key in _TOOLS:
                yield from tool_schemas(each.get(key))


class Schema:
    """What a JSON schema says of one place of a document.

    `$ref` inside it, `anyOf`, `oneOf` and `allOf` are followed. Where it says nothing, any string
    fits.

    >>> sums = {"$defs": {"sum": {"type": "number"}}, "items": {"$ref": "#/$defs/sum"}}
    >>> Schema(sums).inside(0).types
    [('number', {'type': 'number'})]

    Args:
        root: the whole schema. found: the parts of it that hold for the place; all of it, if None.
    """

    def __init__(self, root: Any, found: Iterable[Any] | None = None) -> None:
        seen, found = set[str](), [root] if found is None else found
        self._root, self._options = root, [o for each in found for o in _options(root, each, seen)]

    def inside(self, step: str | int) -> Schema:
        """Return what it says of a value by its key, or by its place in a list."""
        found: list[Any] = []
        listed, others = _OF_LISTS if isinstance(step, int) else _OF_OBJECTS
        for option in self._options:
            known, rest = option.get(listed), option.get(others)
            known = dict(enumerate(known)) if isinstance(known, list) else known
            found.append(known.get(step, rest) if isinstance(known, dict) else rest)
        return Schema(self._root, found)

    @cached_property
    def types(self) -> Types:
        """What a value may be, by preference, with the schemas; none if it can only be a string."""
        every = [(kind, option) for option in self._options for kind in _kinds(option)]
        first = next((i for i, (kind, _) in enumerate(every) if kind == "string"), len(every))
        is_typed = any(kind in _WRITTEN for kind, _ in every[:first])
        return every[: first + 1] if is_typed else []


def _options(root: Any, schema: Any, seen: set[str]) -> Iterator[dict[str, Any]]:
    """Yield the alternatives of a schema; what is referred to is followed once."""
    while isinstance(schema, dict) and isinstance(reference := schema.get("$ref"), str):
        if reference in seen:
            return
        seen.add(reference)
        found = root
        for step in reference.split("/")[1:]:
            key = step.replace("~1", "/").replace("~0", "~")
            found = found.get(key) if isinstance(found, dict) else None
        rest = {key: value for key, value in schema.items() if key != "$ref"}
        schema = {**found, **rest} if isinstance(found, dict) else rest
    if not isinstance(schema, dict):
        return
    parts = [part for key in _COMBINED if isinstance(schema.get(key), list) for part in schema[key]]
    rest = {key: value for key, value in schema.items() if key not in _COMBINED}
    if not parts or "properties" in rest:
        yield rest
    for part in parts:
        yield from ({**rest, **option} for option in _options(root, part, seen))


def _kinds(option: Mapping[str, Any]) -> list[str]:
    """Return what a value may be: "enum", a format that can be written, or types."""
    if "enum" in option or "const" in option:
        return ["enum"]
    named = option.get("type", "string")  # Gemini's are in capitals
    kinds = [str(each).lower() for each in (named if isinstance(named, list) else [named])]
    form = option.get("format")
    return [form if each == "string" and form in _FORMATS else each for each in kinds]


# ---- values by their types ----


class Coercer:
    """Writes values of one answer by their types, and notes which.

    Args:
        failed: gets a note of each value that stays a string, and why.

    Attributes:
        typed: stand-in -> original of what stood in a field that is typed, written or not.
    """

    def __init__(self, texts: Restorer, failed: dict[str, None]) -> None:
        self._restorer = Restorer(texts.originals, texts.links)
        self._failed = failed
        self.typed: dict[str, str] = {}

    @cached_property
    def _reader(self) -> Reader:
        # A copy: other requests of the conversation may add to them meanwhile.
        return Reader(dict(tuple(self._restorer.originals.items())))

    def written(self, types: Types, text: str) -> str | None:
        """Return the JSON of a value, None if it holds no stand-in or fits none of its types.

        A date and a time may be two stand-ins, or one of them be visible.
        """
        parts = [part for part in self._restorer.parts(text.strip())[0] if part.text]
        stated, hidden = list[str](), list[_Hidden]()
        for part, original in parts:
            if original is None or ASKS.fullmatch(part):
                stated.append("T" if part.strip().casefold() in _BETWEEN else part)
                continue
            known, name = self._reader.originals, part
            if part not in known:  # an answer may spell it in another way
                name = next((value for value, of in known.items() if of == original), part)
            self.typed[name] = original
            value = self._reader.value(name) if name in known else self._reader.read(original)
            hidden.append(_Hidden(name, original.strip(), value))
            stated.append(hidden[-1].stated)
        if not hidden:
            return None
        alone = hidden[0] if len(parts) == 1 else None
        found = (_written(kind, option, "".join(stated), alone) for kind, option in types)
        wanted = ", ".join(dict.fromkeys(kind for kind, _ in types))
        if (written := next(filter(None, found), None)) is None and types[-1][0] != "string":
            for each in hidden:
                note = f"{each.original!r} does not fit its field ({wanted}), and stays text"
                self._failed[note] = None
        return written


class _Hidden(NamedTuple):
    """A stand-in, its original, and what can be read of that."""

    name: str
    original: str
    value: Amount | Moment | None

    @property
    def number(self) -> Decimal | None:
        """The number that it is; None where it says more or may be read in two ways."""
        text, value, number = self.original, self.value, None
        if text.isdecimal():
            number = Decimal(text) if text == "0" or text[0] != "0" else None
        elif isinstance(value, Amount) and value.unit != PERCENT:
            is_value = re.sub(r"(?:_[0-9]+)+\Z", "", self.name.strip("<>")) in VALUES
            number = value.value if is_value or value.is_money or not value.unit else None
        return number if number is not None and abs(number) < _MOST else None

    @property
    def stated(self) -> str:
        """A date or time as ISO 8601 has it; what is so already or not known as it is."""
        text, value = self.original, self.value
        if not isinstance(value, Moment) or (value.day is not None and not value.sure):
            return text
        # Of seconds a `Moment` knows nothing.
        return text if re.search(":[0-9]{2}[:.][0-9]{2}", text) else value.iso()


def _written(
    kind: str, option: Mapping[str, Any], stated: str, alone: _Hidden | None
) -> str | None:
    """Return the JSON of a value as a type has it, None if it is none of that.

    Args:
        kind, option: of `Schema.types`. stated: all of it, dates and times as ISO 8601 has them.
        alone: the stand-in that it is, if it is one and nothing else.
    """
    if kind in _FORMATS:
        return f'"{moment}"' if (moment := _iso(stated, kind)) else None
    if alone is not None and kind == "enum":
        members = option.get("enum", [option.get("const")])
        return _member(members, alone) if isinstance(members, list) else None
    if alone is None or kind not in ("integer", "number") or (number := alone.number) is None:
        return None
    shown = repr(float(number)) if kind == "number" else str(int(number))
    return shown if Decimal(shown) == number else None


def _member(members: list[Any], hidden: _Hidden) -> str | None:
    """Return the one member of an enumeration that an original names, or its currency, or is."""

    def plainly(text: str) -> str:
        return " ".join(re.split(r"[\s_-]+", text)).casefold()

    number, texts, value = hidden.number, {hidden.original}, hidden.value
    for member in members:
        if type(member) is SpelledNumber and number == Decimal(member):
            return member
    if isinstance(value, Amount) and value.is_money:
        texts.add(value.unit[:3])
    named = set(map(plainly, texts))
    alike = [member for member in members if type(member) is str and plainly(member) in named]
    found = [member for member in alike if member in texts] or alike
    return f'"{inner(found[0])}"' if len(found) == 1 else None


def _iso(stated: str, form: str) -> str | None:
    """Return a text in ISO 8601 in a format, None if it has less than that."""
    if form != "date" and ":" not in stated:
        return None
    with suppress(ValueError):
        return str(_FORMATS[form].fromisoformat(stated).isoformat())
    with suppress(ValueError):
        both = datetime.fromisoformat(stated)
        return (both.date() if form == "date" else both.timetz()).isoformat()
    return None


# ---- a document that comes in pieces ----


class JsonText:
    """A JSON document that comes in pieces, restored in its values only.

    Inside a string, originals are escaped; a released value without quotes becomes a string. Values
    of typed fields are held back until they are whole. Keys stay, because an original in one could
    leave again in the next request. From where a message is no JSON, it is restored as text;
    arguments are not, since some readers would find keys there all the same.

    Args:
        strings: restores text between quotes.
        texts: restores what is no JSON.
        is_message: it is no call's arguments.
    """

    def __init__(
        self, strings: Restorer, texts: Restorer, schema: Schema, coercer: Coercer, is_message: bool
    ) -> None:
        self._strings, self._texts, self._coercer = strings, texts, coercer
        self._is_message, self._is_json = is_message, True
        self._stream = NOTHING.stream()  # of a string, or of what is no JSON
        self._in_string = self._holds = self._escaped = False
        self._string = ""  # what came of a key, or of a string that is held back
        self._token = ""  # what came of a value without quotes
        self._next = "value"  # or "key", "colon", "end"
        self._schemas = [schema]  # of the document, and of each value that is open
        self._steps: list[str | int] = []  # key or place of what comes in those

    def feed(self, piece: str) -> str:
        """Feed one piece; return the text that can be shown now."""
        return joined(self.parts(piece, final=False)[0])

    def finish(self) -> str:
        """End the document; return the text still held back."""
        return joined(self.parts("")[0])

    @property
    def held(self) -> str:
        """Text that came and was not shown yet."""
        return f'"{self._string}' if self._holds else self._token or self._stream.held

    def parts(self, piece: str, final: bool = True) -> tuple[list[Part], str]:
        """Feed one piece, the last one if it is final; return it in parts, and what is held."""
        shown: list[Part] = []
        at = 0
        while at < len(piece):
            if not self._is_json:
                shown += self._stream.parts(piece[at:])
                at = len(piece)
            elif self._in_string:
                at = self._inside(piece, at, shown)
            elif (mark := piece[at]) in _MARKS:
                shown += self._value()
                if self._is_json:
                    shown += self._mark(mark)
                    at += 1
            else:
                end = next((i for i in range(at, len(piece)) if piece[i] in _MARKS), len(piece))
                self._token += piece[at:end]
                at = end
                if self._is_message and len(self._token) > MAX_HELD:
                    shown += self._no_json(self._token)
        if final:
            shown += [*self._value(), *self._let_go(), *self._stream.parts("", final=True)]
        return shown, self.held

    def _inside(self, piece: str, at: int, shown: list[Part]) -> int:
        """Read to the end of the string or of the piece; return the next position."""
        run = _IN_STRING.match(piece, at + self._escaped)
        end = run.end() if run is not None else len(piece)
        self._escaped = piece[end : end + 1] == "\\"
        text = piece[at : end + self._escaped]
        self._string += text if self._holds or self._is_key else ""
        shown += [] if self._holds else self._stream.parts(text)
        if len(self._string) > MAX_HELD:
            shown += self._let_go()
        if end < len(piece) and not self._escaped:
            decoded, written = _decoded(self._string), None
            if self._holds:
                written = self._coercer.written(self._here().types, decoded)
            if written is None:
                shown += [*self._let_go(), *self._stream.parts("", final=True), Part('"')]
            else:
                shown.append(Part(f'"{self._string}"', written))
            self._in_string = self._holds = False
            self._ended(decoded)
        return end + 1

    def _let_go(self) -> list[Part]:
        """Go on with a string that is held back, if one is, as with any other."""
        if not self._holds:
            return []
        self._holds, self._stream = False, self._strings.stream()
        return [Part('"'), *self._stream.parts(self._string)]

    def _value(self) -> list[Part]:
        """Return what stands without quotes before a mark, if anything does."""
        token, self._token = self._token, ""
        if not token or (not self._steps and _FENCE.fullmatch(token)):
            return [Part(token)]
        original = self._texts.originals.get(token)
        is_known = original is not None or _WORD.fullmatch(token)
        if self._is_message and not (self._steps and is_known and self._next in ("key", "value")):
            return self._no_json(token)
        found = Part(token)
        if original is not None and not self._is_key:
            types = self._here().types
            written = self._coercer.written(types, token) if types else None
            found = Part(token, f'"{inner(original)}"' if written is None else written)
        self._ended(token)
        return [found]

    def _mark(self, mark: str) -> list[Part]:
        if mark in _SPACES:
            return [Part(mark)]
        # A message may hold several documents, but nothing between them.
        fits = mark in '"{[' if not self._steps else mark in _FITTING[self._next]
        if self._is_message and not fits:
            return self._no_json(mark)
        if mark == '"':
            self._in_string, self._string = True, ""
            self._stream = (NOTHING if self._is_key else self._strings).stream()
            self._holds = not self._is_key and bool(self._here().types)
            return [] if self._holds else [Part(mark)]
        if mark in "{[":
            self._schemas.append(self._here())
            self._steps.append("" if mark == "{" else 0)
            self._next = "key" if mark == "{" else "value"
        elif mark in "}]":
            if self._steps:
                del self._steps[-1], self._schemas[-1]
            self._next = "end"
        else:
            self._next = "key" if mark == "," and self._in_object else "value"
            if mark == "," and self._steps and isinstance(place := self._steps[-1], int):
                self._steps[-1] = place + 1
        return [Part(mark)]

    @property
    def _in_object(self) -> bool:
        return bool(self._steps) and isinstance(self._steps[-1], str)

    @property
    def _is_key(self) -> bool:
        """Whether what comes may be a key for any reader."""
        return self._next in ("key", "colon") or (self._next == "end" and self._in_object)

    def _here(self) -> Schema:
        """Return what the schema says of the value that comes."""
        return self._schemas[-1].inside(self._steps[-1]) if self._steps else self._schemas[-1]

    def _ended(self, text: str) -> None:
        """Note that a key or a value is whole."""
        is_key = self._is_key
        if is_key and self._steps:
            self._steps[-1] = text
        self._next = "colon" if is_key else "end"

    def _no_json(self, text: str) -> list[Part]:
        self._is_json, self._stream, self._token = False, self._texts.stream(), ""
        return self._stream.parts(text)


def _decoded(text: str) -> str:
    """Return what stands between the quotes of a string, as it is if that is no JSON."""
    try:
        return str(json.loads(f'"{text}"', strict=False))
    except ValueError:
        return text


_SPACES = frozenset(" \t\r\n")
_MARKS = _SPACES | frozenset('{}[],:"')
_FITTING = {"key": '"}', "colon": ":", "value": '"{[}]', "end": ",}]"}
_IN_STRING = re.compile(r'(?:[^"\\]|\\.)*', re.DOTALL)
_WORD = re.compile(r"[\w$.+-]+")
"""A number, a literal, or what others than JSON write without quotes: keys, None, undefined."""
_FENCE = re.compile(r"`{3}\w*")
"""What stands around a document in Markdown."""
NOTHING = Restorer({})
"""Restores nothing."""
