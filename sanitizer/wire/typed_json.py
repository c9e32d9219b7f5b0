"""JSON of an answer, restored as it comes, its values typed by the schema that the request has.

A stand-in that is all of a value is written as the schema of its field says: a sum as a number, a
date as ISO 8601 has it, an option as the member that it is. What fits no such type, or could be
read in two ways, stays a string.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime, time
from decimal import Decimal
from functools import cached_property
from typing import Any

from sanitizer.answers.amounts import PERCENT, Amount
from sanitizer.answers.asking import ASKS
from sanitizer.answers.restorer import Part, RestoredStream, Restorer, joined
from sanitizer.answers.values import Moment, Reader
from sanitizer.results import VALUES
from sanitizer.wire.json_text import SpelledNumber, inner

MAX_HELD = 200
"""Characters of the longest string or bare value that is held back until it is whole."""
_FORMATS: dict[str, Any] = {"date": date, "date-time": datetime, "time": time}
"""Format of a string -> what reads it as ISO 8601."""
_WRITTEN = {"enum", "integer", "number", *_FORMATS}
"""What a value may be that is no string as it came."""
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
    >>> Schema(sums, [sums]).inside(0).types
    [{'type': 'number'}]

    Args:
        root: the whole schema. found: the parts of it that hold for the place.
    """

    def __init__(self, root: Any, found: Iterable[Any]) -> None:
        seen = set[str]()
        self._root, self._options = root, [o for each in found for o in _options(root, each, seen)]

    def inside(self, step: str | int) -> Schema:
        """Return what it says of a value by its key, or by its place in a list."""
        found: list[Any] = []
        for option in self._options:
            if isinstance(step, str):
                known, rest = option.get("properties"), option.get("additionalProperties")
                found.append(known.get(step, rest) if isinstance(known, dict) else rest)
            else:
                first, rest = option.get("prefixItems"), option.get("items")
                listed = first if isinstance(first, list) else []
                found.append(listed[step] if step < len(listed) else rest)
        return Schema(self._root, found)

    @cached_property
    def types(self) -> list[dict[str, Any]]:
        """What a value may be, if no string fits as it is and something else may be written."""
        kinds = [_kinds(option) for option in self._options]
        is_free = "string" in set().union(*kinds)
        return self._options if not is_free and any(map(_WRITTEN.intersection, kinds)) else []


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


def _kinds(option: Mapping[str, Any]) -> set[str]:
    """Return what a value may be: "enum", a format that can be written, or types."""
    if "enum" in option or "const" in option:
        return {"enum"}
    named = option.get("type", ["string"])  # Gemini's are in capitals
    kinds = {str(each).lower() for each in (named if isinstance(named, list) else [named])}
    form = option.get("format")
    return {form if each == "string" and form in _FORMATS else each for each in kinds}


# ---- values by their types ----


class Coercer:
    """Writes values of one answer by their types, and notes which.

    Args:
        texts: restores plain text.
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

    def written(self, types: Sequence[dict[str, Any]], text: str) -> str | None:
        """Return the JSON of a value, None if it is no stand-in alone or fits none of its types."""
        parts = [part for part in self._restorer.parts(text.strip())[0] if part.text]
        for part, original in parts:
            if original is None or ASKS.fullmatch(part):
                continue
            known, name = self._reader.originals, part
            if part not in known:  # an answer may spell it in another way
                name = next((value for value, of in known.items() if of == original), part)
            self.typed[name] = original
            value = self._reader.value(name) if name in known else self._reader.read(original)
            number = _number(original, name, value)
            found = (_written(each, original.strip(), value, number) for each in types)
            if len(parts) == 1 and (written := next(filter(None, found), None)) is not None:
                return written
            wanted = ", ".join(sorted(set[str]().union(*map(_kinds, types))))
            self._failed[f"{original!r} does not fit its field ({wanted}), and stays text"] = None
        return None


def _number(original: str, name: str, value: Amount | Moment | None) -> Decimal | None:
    """Return the number that an original is, None where it says more or may be read in two ways."""
    if (text := original.strip()).isdecimal():
        number = Decimal(text) if text == "0" or text[0] != "0" else None
    elif not isinstance(value, Amount) or value.unit == PERCENT:
        return None
    else:
        is_value = re.sub(r"(?:_[0-9]+)+\Z", "", name.strip("<>")) in VALUES
        number = value.value if is_value or value.is_money or not value.unit else None
    return number if number is not None and abs(number) < _MOST else None


def _written(
    option: Mapping[str, Any], original: str, value: Amount | Moment | None, number: Decimal | None
) -> str | None:
    """Return the JSON of an original as a type has it, None if it is none of that."""
    kinds = _kinds(option)
    if "enum" in kinds:
        unit = value.unit[:3] if isinstance(value, Amount) and value.is_money else original
        members = option.get("enum", [option.get("const")])
        return _member(members if isinstance(members, list) else [], {original, unit}, number)
    if number is not None and "number" in kinds:
        shown = repr(float(number))
        return shown if Decimal(shown) == number else None
    if number is not None and "integer" in kinds and number == number.to_integral_value():
        return str(int(number))
    for form in kinds.intersection(_FORMATS):
        if (moment := _iso(original, value, form)) is not None:
            return f'"{moment}"'
    return None


def _member(members: list[Any], texts: set[str], number: Decimal | None) -> str | None:
    """Return the one member of an enumeration that texts name, or a number is."""

    def plainly(text: str) -> str:
        return " ".join(re.split(r"[\s_-]+", text)).casefold()

    for member in members:
        if type(member) is SpelledNumber and number is not None and Decimal(member) == number:
            return member
    alike = [m for m in members if type(m) is str and plainly(m) in set(map(plainly, texts))]
    found = [member for member in alike if member in texts] or alike
    return f'"{inner(found[0])}"' if len(found) == 1 else None


def _iso(text: str, value: Amount | Moment | None, form: str) -> str | None:
    """Return a date or a time as ISO 8601 writes it, None where a part of it is not known."""
    try:
        if form == "date" or ":" in text:
            return str(_FORMATS[form].fromisoformat(text).isoformat())
    except ValueError:
        pass
    if not isinstance(value, Moment) or re.search(":[0-9]{2}[:.][0-9]{2}", text):
        return None  # of seconds a `Moment` knows nothing
    day = value.day.isoformat() if value.day is not None and value.sure else ""
    clock = "" if value.minutes is None else value.clock.isoformat()
    parts = [part for part, of in ((day, "date"), (clock, "time")) if of in form]
    return "T".join(parts) if all(parts) else None


# ---- a document that comes in pieces ----


class JsonText:
    """A JSON document that comes in pieces, restored in its values only.

    Inside a string, originals are escaped; a released value without quotes becomes a string. Values
    of typed fields are held back until they are whole. Keys stay, because an original in one could
    leave again in the next request. From where it is no JSON, it is restored as text.

    Args:
        strings: restores text between quotes.
        texts: restores what is no JSON.
        schema: of the document.
        coercer: writes values by their types.
    """

    def __init__(
        self, strings: Restorer, texts: Restorer, schema: Schema, coercer: Coercer
    ) -> None:
        self._strings, self._texts, self._coercer = strings, texts, coercer
        self._stream: RestoredStream | None = None  # of a string, or of what is no JSON
        self._is_json, self._escaped = True, False
        self._key = self._token = ""
        self._typed: str | None = None  # what came of a string that is held back
        self._next = "value"  # or "key", "colon", "end"
        self._open: list[str] = []
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
        if self._typed is not None:
            return f'"{self._typed}'
        return self._token if self._stream is None else self._stream.held

    def parts(self, piece: str, final: bool = True) -> tuple[list[Part], str]:
        """Feed one piece, the last one if it is final; return it in parts, and what is held."""
        shown: list[Part] = []
        at = 0
        while at < len(piece):
            if self._typed is not None or (self._stream is not None and self._is_json):
                at = self._inside(piece, at, shown)
            elif self._stream is not None:
                shown += self._stream.parts(piece[at:])
                at = len(piece)
            elif (mark := piece[at]) in _MARKS:
                shown += self._value()
                if self._is_json:
                    shown += self._mark(mark)
                    at += 1
            else:
                end = next((i for i in range(at, len(piece)) if piece[i] in _MARKS), len(piece))
                self._token += piece[at:end]
                at = end
                if len(self._token) > MAX_HELD:
                    shown += self._value()
        if final:
            shown += self._value() if self._typed is None else self._untyped()
            shown += [] if self._stream is None else self._stream.parts("", final=True)
        return shown, self.held

    def _inside(self, piece: str, at: int, shown: list[Part]) -> int:
        """Read to the end of the string or of the piece; return the next position."""
        run = _IN_STRING.match(piece, at + self._escaped)
        end = run.end() if run is not None else len(piece)
        self._escaped = piece[end : end + 1] == "\\"
        text = piece[at : end + self._escaped]
        is_whole = end < len(piece) and not self._escaped
        if self._typed is not None:
            self._typed += text
            if len(self._typed) > MAX_HELD:
                shown += self._untyped()
            elif is_whole:
                decoded = _decoded(self._typed)
                written = self._coercer.written(self._here().types, decoded)
                came = Part(f'"{self._typed}"', written)
                shown += self._untyped() if written is None else [came]
        elif self._stream is not None:
            self._key += text if self._next == "key" else ""
            shown += self._stream.parts(text)
        if is_whole:
            if self._stream is not None:
                shown += [*self._stream.parts("", final=True), Part('"')]
            self._stream = self._typed = None
            self._ended(_decoded(self._key))
        return end + 1

    def _untyped(self) -> list[Part]:
        """Go on with a string that was held back as with any other."""
        text, self._typed = self._typed or "", None
        self._stream = self._strings.stream()
        return [Part('"'), *self._stream.parts(text)]

    def _value(self) -> list[Part]:
        """Return what stands without quotes before a mark."""
        token, self._token = self._token, ""
        original = self._texts.originals.get(token)
        if not token or (not self._open and _FENCE.fullmatch(token)):
            return [Part(token)] * bool(token)
        if not self._open or len(token) > MAX_HELD:
            return self._no_json(token)
        if self._next == "value" and original is not None:
            types = self._here().types
            written = self._coercer.written(types, token) if types else None
            found = Part(token, f'"{inner(original)}"' if written is None else written)
        elif self._next in ("value", "key") and (original is not None or _WORD.fullmatch(token)):
            found = Part(token)
        else:
            return self._no_json(token)
        self._ended(token)
        return [found]

    def _mark(self, mark: str) -> list[Part]:
        begins = self._next == "value" or (self._next == "end" and not self._open)
        if mark in _SPACES:
            pass
        elif mark == '"' and self._next == "key":
            self._key, self._stream = "", NOTHING.stream()
        elif mark == '"' and begins:
            if self._here().types:
                self._typed = ""
                return []
            self._stream = self._strings.stream()
        elif mark in "{[" and begins:
            self._schemas.append(self._here())
            self._open.append(mark)
            self._steps.append("" if mark == "{" else 0)
            self._next = "key" if mark == "{" else "value"
        elif mark in "}]" and self._open:
            del self._open[-1], self._steps[-1], self._schemas[-1]
            self._next = "end"
        elif mark == ":" and self._next == "colon":
            self._next = "value"
        elif mark == "," and self._next == "end" and self._open:
            if isinstance(place := self._steps[-1], int):
                self._steps[-1] = place + 1
            self._next = "key" if self._open[-1] == "{" else "value"
        else:
            return self._no_json(mark)
        return [Part(mark)]

    def _here(self) -> Schema:
        """Return what the schema says of the value that comes."""
        return self._schemas[-1].inside(self._steps[-1]) if self._steps else self._schemas[-1]

    def _ended(self, key: str) -> None:
        """Note that a key or a value is whole."""
        if self._next == "key":
            self._steps[-1] = key
        self._next = "colon" if self._next == "key" else "end"

    def _no_json(self, text: str) -> list[Part]:
        self._is_json, self._stream = False, self._texts.stream()
        return self._stream.parts(text)


def _decoded(text: str) -> str:
    """Return what stands between the quotes of a string, as it is if that is no JSON."""
    try:
        return str(json.loads(f'"{text}"', strict=False))
    except ValueError:
        return text


_SPACES = frozenset(" \t\r\n")
_MARKS = _SPACES | frozenset('{}[],:"')
_IN_STRING = re.compile(r'(?:[^"\\]|\\.)*', re.DOTALL)
_WORD = re.compile(r"[\w$.+-]+")
"""A number, a literal, or what others than JSON write without quotes: keys, None, undefined."""
_FENCE = re.compile(r"`{3}\w*")
"""What stands around a document in Markdown."""
NOTHING = Restorer({})
"""Restores nothing."""
