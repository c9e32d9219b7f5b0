"""The text in a JSON document: found by the table in `shapes`, replaced, and written again.

The JSON reader and writer are our own because everything that is not text has to leave as it came:
numbers keep their spelling, and documents that readers take differently are errors.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator
from decimal import Decimal
from functools import lru_cache
from json.encoder import encode_basestring, encode_basestring_ascii
from math import isfinite
from typing import Any, NoReturn

from sanitizer.errors import RequestRefused
from sanitizer.identifiers import find
from sanitizer.pipeline import APART
from sanitizer.wire.shapes import (
    ARGUMENTS,
    INPUT,
    KEEP,
    LIGHT,
    LOGPROBS,
    MEDIA_TYPES,
    NAME,
    OPAQUE,
    PERSON,
    ROLES,
    SECRET,
    TEXT,
    TOKENS,
    JsonShape,
    Media,
    Rule,
)

MIN_NUMBER = 7
"""Characters of the shortest JSON number that may be an identifier by its form."""
MAX_NUMBER = 40
"""Characters of the longest one."""
MAX_DEPTH = 100
"""Deepest nesting of a document, in levels."""


class SpelledNumber(str):
    """A JSON number in its original spelling: 1.0, 1e5, 12345678901234567890."""

    __slots__ = ()


class TextSlot:
    """A string of a document that may be replaced before the document is written again.

    Attributes:
        text: what will be written; set it to replace the string.
        role: who says it; "" if it is nobody's message.
        kind: "text"; "light" (only identifiers are replaced), "person" (a participant's name),
            "number" (a JSON number), or, in answers, "arguments" (a JSON document).
        is_json: `text` is JSON itself, and is written as it is.
        holds_json: `text` is a string that holds JSON, and has to go on doing so.
        key: name of a value in tool arguments; "" elsewhere.
        field: name of the field it stands in, and which tool result that is in, if any.
        declared: offsets of what the API wrote of the text, which stays; all of it, if None.
        tool: in answers, the name of the tool that is called with it; None if none is.
        aside: name of the field in which it stands beside a message: a thought, a refusal, a
            title of what is cited; "" if it is of the message.
    """

    __slots__ = (
        *("aside", "declared", "field", "holds_json", "is_json", "key", "kind", "role", "text"),
        "tool",
    )

    def __init__(self, text: str, role: str, kind: str = "text", key: str = "") -> None:
        self.text = text
        self.role = role
        self.kind = kind
        self.key = key
        self.field = ("", 0)
        self.is_json, self.holds_json = kind == "number", False
        self.declared: tuple[tuple[int, int], ...] | None = ()
        self.tool: str | None = None
        self.aside = ""


class Spliced:
    """A JSON document of which some strings may be replaced.

    Attributes:
        pieces: source text, written as it is, and slots between.
        in_string: the document is inside a string of another.
    """

    __slots__ = ("in_string", "pieces")

    def __init__(self, pieces: list[str | TextSlot], in_string: bool = True) -> None:
        self.pieces, self.in_string = pieces, in_string


class ArgumentsText:
    """Arguments of a call that a request holds, whole.

    Attributes:
        text: as they came; one text if they are no JSON. Of an object, as `plain_json` writes it.
        leaves: each string, key and number, decoded, with its slot if it has one.
        written: what will be written: one slot if they are no JSON.
    """

    __slots__ = ("leaves", "text", "written")

    def __init__(
        self,
        text: str,
        leaves: list[tuple[str, TextSlot | None]],
        written: Spliced | TextSlot,
    ) -> None:
        self.text, self.leaves, self.written = text, leaves, written


class AmbiguousJson(ValueError):
    """JSON that readers take differently: nested too deeply, or with a key twice in an object."""


def loads(text: str, strict: bool = True) -> Any:
    """Read a document whose numbers keep their spelling.

    Args:
        text: one JSON document.
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
    if text.count("{") + text.count("[") > MAX_DEPTH:
        _check_depth(found)
    return found


def _check_depth(document: Any) -> None:
    """Raise AmbiguousJson if the document has more than MAX_DEPTH levels."""
    # Level by level instead of recursively: no document is too deep to be checked.
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
    raise AmbiguousJson("JSON nested too deeply")


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
        document = "".join([_piece(p) for p in value.pieces])
        return quoted(document) if value.in_string else document
    return _CONSTANTS[value] if value is None or kind is bool else str(value)


def _piece(piece: str | TextSlot) -> str:
    if isinstance(piece, str):
        return piece
    return piece.text if piece.is_json else inner(piece.text)


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


LIGHT_ROLE = "light"
"""Role of texts in which only identifiers are replaced."""
ARGUMENTS_ROLE = "arguments"
"""Role of tool arguments as a whole, as the API sent them."""
VALUE_ROLE = "value"
"""Role of values in tool arguments, so that no message of the API is taken for one."""

_NAME = re.compile(r"@?[\w.:/+=|,#~-]*(?:@[0-9]+)?", re.ASCII)
_OPAQUE = re.compile(r"[\w+/=.:|-]*", re.ASCII)
# The dialect of a JSON schema: a few public addresses, without which an API refuses the schema.
_DIALECT = re.compile(
    r"https?://json-schema\.org/(?:draft-0[3-7]/|draft/(?:2019-09|2020-12|next)/|)schema#?"
    r"|https://spec\.openapis\.org/oas/3\.1/dialect/base"
)
_PLAIN_KEY = re.compile(r"[A-Za-z_-]{0,24}")
_DATA = r"data:(\w*)[^,\s]{0,200};base64,"
_DATA_URL = re.compile(_DATA + r"[\w+/=%-]*", re.ASCII | re.IGNORECASE)
_EMBEDDED = re.compile(rf"\s*{_DATA}|.*?{_DATA}[\w+/%]{{64}}", re.ASCII | re.IGNORECASE | re.DOTALL)
_STRING = re.compile(r'"([^"\\]*(?:\\.[^"\\]*)*)"(\s*:)?|(-?[0-9][0-9.eE+-]*)')
SURE_KINDS = frozenset(["CARD", "EMAIL", "IBAN", "SSN"])
"""Kinds of identifiers whose form alone is proof."""
_MAX_NOTED = 500
"""Characters of the longest name whose kind is noted."""
_SEEDS = frozenset(["seed", "random_seed"])
"""Parameters whose long numbers are random, and may look like that of a card."""
_SURE_OR_ENCODED = SURE_KINDS | {"ENCODED"}
_OF_MESSAGES = frozenset(
    "messages input contents choices candidates message delta content parts text output outputs"
    " response item part content_block arguments tool_calls function_call function custom"
    " functionCall function_call args".split()
)
"""Fields that lead to what an application sends back of an answer, whatever else it leaves out."""
_THOUGHTS = ("reasoning", "thinking", "response.reasoning")
"""Beginnings of the types of objects that hold a thought."""
_OF_CALLS = ("_call", "tool_use")  # ends of the types of calls of tools
_FORBIDDEN = re.compile(r"[\s<|\\/>]+")  # in names of participants


class TextFinder:
    """Search for the text of one document; use each instance once.

    Args:
        answer: the document is an answer: nothing is refused, and arguments are one slot.
        media: let images, audio and files pass.
        all_keys: keys of plain letters may have to be replaced too.

    Attributes:
        slots: the texts found, in the order of the document.
        arguments: the arguments of calls in a request, in order.
        numbers: slots of numbers in arguments, at LIGHT positions and in objects with unknown
            fields; those that are identifiers have to be replaced.
        left: how many strings and numbers of each place of a request leave as they are, or with
            their words: "api_names", "settings" and so on, or a field of the API whose texts are
            LIGHT ("description", "parameters"); never a word of the request.
    """

    def __init__(
        self,
        *,
        answer: bool = False,
        media: bool = False,
        all_keys: bool = False,
    ) -> None:
        self._answer = answer
        self._media = media or answer
        self._all_keys = all_keys
        self._field, self._n_results = "", 0
        self.slots: list[TextSlot] = []
        self.arguments: list[ArgumentsText] = []
        self.numbers: list[TextSlot] = []
        self.left: Counter[str] = Counter()
        self._place = ""

    def find(self, rule: Rule | Media | JsonShape, value: Any, role: str = "") -> Any:
        """Return the document with a `TextSlot` in place of each string that is text.

        Args:
            rule: rule for the whole document.
            value: the document, as `loads` returns it.
            role: whose text it is where the document does not say.

        Raises:
            RequestRefused: reason "image", "audio", "file", "tokens", "json" (in arguments), or
                "structure" (text in place of a name).
        """
        kind = type(value)
        if kind is str:
            return self._string(rule, value, role)
        if kind is not dict and kind is not list:
            is_number = kind is SpelledNumber and not self._answer
            return self._number_at(rule, value) if is_number else value
        if rule in _WHOLE or type(rule) is Media:
            return self._kept(rule, value)
        if rule is INPUT:
            return self._input(value, role)
        if kind is list:
            if rule is TOKENS and any(type(v) is not str and type(v) is not dict for v in value):
                raise RequestRefused(
                    "token numbers may not leave: they are text in disguise", "tokens"
                )
            return [self.find(rule, inner, role) for inner in value]
        return self._object(rule, value, role)

    def _object(
        self, rule: Rule | Media | JsonShape, value: dict[str, Any], role: str
    ) -> dict[Any, Any]:
        mark = value.get("type")
        of_kind = rule.kinds.get(mark) if type(rule) is JsonShape and type(mark) is str else None
        if of_kind is not None:
            rule = of_kind
        elif not self._media and type(mark) is str and mark in MEDIA_TYPES:
            raise _refused(MEDIA_TYPES[mark])
        if not isinstance(rule, JsonShape):
            other = TEXT if rule in _STRINGS else rule
            free: dict[Any, Any] = {}
            for key, inner in value.items():
                self._field = key
                read = self._free_arguments if _is_call(key, value) else self.find
                free[self._key(key)] = read(other, inner, role)
            return free
        self._n_results += rule.role == "tool"
        role = _speaker(value, rule.role or role) if rule.speaks else rule.role or role
        found: dict[Any, Any] = {}
        fields, n_before = rule.fields, len(self.slots)
        for key, inner in value.items():
            field = fields.get(key)
            of = type(inner)
            if of is SpelledNumber and field is not INPUT:
                number = inner if self._answer else self._parameter(key, inner)
                found[key if field else self._key(key)] = number
                continue
            if field is PERSON and (role == "tool" or "role" not in value):
                field = NAME  # the name of a function
            elif field is LIGHT:
                self._place = key
            self._field = key
            is_call = field is None and _is_call(key, value)
            of_string = self._free_arguments if is_call else self._string
            find = of_string if of is str else self.find
            n_slots = len(self.slots)
            found[key if field else self._key(key)] = find(field or TEXT, inner, role)
            if key not in _OF_MESSAGES:
                self._put_aside(n_slots, key)
        kind = mark if type(mark) is str else ""
        if self._answer and (rule.is_call or kind.endswith(_OF_CALLS)):
            name = value.get("name", "")
            for slot in self.slots[n_before:]:
                slot.tool = slot.tool or (name if type(name) is str else "")
        if value.get("thought") is True or kind.startswith(_THOUGHTS):
            self._put_aside(n_before, "thought")
        return found

    def _put_aside(self, n_before: int, field: str) -> None:
        """Note of the latest texts that they stand beside a message, in this field."""
        for slot in self.slots[n_before:]:
            slot.aside = field

    def _string(self, rule: Rule | Media | JsonShape, text: str, role: str) -> Any:
        if isinstance(rule, JsonShape):
            role = rule.role or role
            rule = rule.string
        if rule is TEXT or rule is INPUT:
            return self._text(text, role) if rule is TEXT else self._input(text, role)
        if rule in _WHOLE or type(rule) is Media:
            return self._kept(rule, text)
        if rule is NAME or rule is OPAQUE:
            return self._name(rule, text)
        if rule is ARGUMENTS:
            return (
                self._slot(text, role, "arguments") if self._answer else self._arguments(text, role)
            )
        if rule is LIGHT:
            return self._light(text)
        return self._text(text, role, "person" if rule is PERSON else "text")

    def _name(self, rule: Rule, text: str) -> str:
        if not self._answer:
            _check_name(text, rule)
            self.left[_LEFT_AS[rule]] += 1
        return text

    def _light(self, text: str) -> TextSlot | str:
        if self._answer:
            return text
        self.left[self._place] += 1
        if self._field == "$schema" and _DIALECT.fullmatch(text):
            return text
        return self._slot(text, APART, "light")

    def _text(self, text: str, role: str, kind: str = "text", key: str = "") -> Any:
        if not self._answer and ";base64," in text.lower():
            if self._media and _DATA_URL.fullmatch(text):
                self.left["media"] += 1
                return text
            if not self._media and (found := _EMBEDDED.match(text)) is not None:
                media = (found[1] or found[2] or "").lower()
                raise _refused(media if media in ("image", "audio") else "file")
        return self._slot(text, role, kind, key)

    def _slot(self, text: str, role: str, kind: str, key: str = "") -> TextSlot | str:
        if not text:
            return text
        slot = TextSlot(text, role, kind, key)
        slot.field = (self._field, self._n_results)
        self.slots.append(slot)
        return slot

    def _number_at(self, rule: Rule | Media | JsonShape, spelling: str) -> Any:
        """Return a number of a request: what is no text may be an identifier by its form."""
        if rule in _WHOLE or type(rule) is Media:
            return self._kept(rule, spelling)
        return (
            self._number(spelling, rule) if rule in _HOLD_NUMBERS else self._parameter("", spelling)
        )

    def _parameter(self, key: str, spelling: str) -> Any:
        """Return a number beside known fields; it may be an identifier by its form or name."""
        self.left["numbers"] += 1
        if len(spelling) < MIN_NUMBER or key in _SEEDS:
            return spelling
        return self._number(spelling, LIGHT, key)

    def _number(
        self, spelling: str, rule: Rule | Media | JsonShape = TEXT, key: str = ""
    ) -> TextSlot:
        slot = TextSlot(spelling, APART if rule is LIGHT else VALUE_ROLE, "number", key)
        self.numbers.append(slot)
        return slot

    def _key(self, key: str) -> TextSlot | str:
        self.left["keys"] += 1
        if self._answer or (not self._all_keys and _PLAIN_KEY.fullmatch(key)):
            return key
        return self._slot(key, APART, "light")

    def _kept(self, rule: Rule | Media | JsonShape, value: Any) -> Any:
        if value and not self._media and type(rule) is Media:
            raise _refused(rule.reason)
        if value and not self._answer and rule is LOGPROBS:
            raise RequestRefused(
                "logprobs may not leave: their bytes are text in disguise", "tokens"
            )
        if not self._answer and value:
            if rule is KEEP:
                _check_kept(value)
            self.left[_LEFT_AS[rule] if isinstance(rule, Rule) else "media"] += 1
        return value

    def _input(self, value: Any, role: str) -> Any:
        """Find strings and numbers inside the arguments of a call that are no string."""
        if not value:
            return value  # nothing that anybody said
        text = dumps(value).decode()
        if not self._answer:
            return self._arguments(text, role, in_string=False)
        slot = TextSlot(text, role, "arguments")
        slot.is_json = True
        self.slots.append(slot)
        return slot

    def _free_arguments(self, rule: Rule | Media | JsonShape, text: str, role: str) -> Any:
        """Find text in the arguments of a call at a place that no API has: they stay JSON.

        No answer is like them, so they are not compared with one, but for texts of the assistant.
        """
        if self._answer or not _is_json(text):
            return self.find(rule, text, role)
        if rule is not TEXT or role == "assistant":
            found = self.find(rule, text, role)
            if isinstance(found, TextSlot):
                found.holds_json = True
            return found
        found = self._arguments(text, role)
        del self.arguments[-1:]
        return found

    def _arguments(self, text: str, role: str, in_string: bool = True) -> Any:
        """Find strings and numbers inside the JSON; if it is not JSON, it is one text."""
        try:
            loads(text)
        except AmbiguousJson as error:
            raise RequestRefused(f"tool arguments: {error}", "json") from None
        except ValueError:
            found = self._text(text, VALUE_ROLE)
            if isinstance(found, TextSlot):
                self.arguments.append(ArgumentsText(text, [(text, found)], found))
            return found
        # Pieces of the source are kept, not a parsed document: escapes and spaces stay as they are.
        pieces: list[str | TextSlot] = []
        leaves: list[tuple[str, TextSlot | None]] = []
        done, key = 0, ""
        for value, span, kind in _leaves(text):
            if kind == "number":
                slot: Any = self._number(value, key=key)
            elif kind == "key":
                key = value
                slot = self._key(key)
            else:
                slot = self._text(value, VALUE_ROLE, key=key)
            is_slot = isinstance(slot, TextSlot)
            plain = plain_number(value) if kind == "number" and not in_string else value
            leaves.append((plain, slot if is_slot else None))
            if is_slot:
                pieces += [text[done : span[0]], slot]
                done = span[1]
        written = Spliced([*pieces, text[done:]], in_string)
        known_by = text if in_string else plain_numbers(text)
        self.arguments.append(ArgumentsText(known_by, leaves, written))
        return written


def _leaves(document: str) -> Iterator[tuple[str, tuple[int, int], str]]:
    """Yield the strings, keys and numbers of a JSON document: decoded, where, and which it is."""
    for found in _STRING.finditer(document):
        if found[3]:
            yield found[3], found.span(3), "number"
        else:
            yield _unescaped(found[1]), found.span(1), "key" if found[2] else "string"


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

    >>> plain_number("1.0"), plain_number("1e3"), plain_number("0.10"), plain_number("-0")
    ('1', '1000', '0.1', '0')
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
    """Return the strings, keys and numbers of a JSON document in order; None if it is none."""
    try:
        loads(document, strict=False)
        return [value for value, _, _ in _leaves(document)]
    except ValueError:
        return None


def _check_name(text: str, rule: Rule) -> None:
    """Raise RequestRefused unless a text looks like a name or bytes, and is no identifier."""
    if (_NAME if rule is NAME else _OPAQUE).fullmatch(text) is None:
        raise RequestRefused("text occurs where a type, name or id is required", "structure")
    if (kind := sure_kind(text)) is not None:
        raise RequestRefused(
            f"an identifier ({kind}) stands where a type, name or id is required", "structure"
        )


def _check_kept(value: Any) -> None:
    """Raise RequestRefused if an identifier occurs in what stays whole."""
    if isinstance(value, str):
        if (kind := sure_kind(value)) is not None:
            raise RequestRefused(
                f"an identifier ({kind}) stands among settings that leave as they are", "structure"
            )
    elif isinstance(value, (dict, list)):
        for inside in value:
            _check_kept(inside)
        for inside in value.values() if isinstance(value, dict) else ():
            _check_kept(inside)


def sure_kind(text: str) -> str | None:
    """Return the kind of an identifier in a text that could be nothing else; None without one.

    >>> sure_kind("anna@example.org"), sure_kind("gpt-4o-2024-08-06")
    ('EMAIL', None)
    """
    return (_sure_kind if len(text) <= _MAX_NOTED else _sure_kind.__wrapped__)(text)


@lru_cache(maxsize=4096)
def _sure_kind(text: str) -> str | None:
    return next((each.kind for each in find(text, _SURE_OR_ENCODED)), None)


def person(text: str) -> str:
    """Return a released name without the characters that the API forbids in names."""
    return _FORBIDDEN.sub("_", text).strip("_")[:64] or "_"


_WHOLE = (KEEP, SECRET, LOGPROBS)
"""Rules by which a subtree stays as it is."""
_LEFT_AS = {NAME: "api_names", OPAQUE: "opaque", KEEP: "settings", SECRET: "credentials"}
"""What the places of rules are called in the record."""
_HOLD_NUMBERS = (TEXT, LIGHT, INPUT)
"""Rules by which a number may be an identifier."""
_STRINGS = (ARGUMENTS, PERSON, TOKENS)
"""Rules for strings; an object in place of one is text."""


def _is_json(text: str) -> bool:
    """Return True if a text is a document that all readers take alike."""
    try:
        loads(text)
    except ValueError:
        return False
    return True


def _is_call(key: str, value: dict[str, Any]) -> bool:
    """Return True if a value is the arguments of a call, as they are in objects of all APIs."""
    return key == "arguments" and "name" in value and type(value[key]) is str and bool(value[key])


def _unescaped(string: str) -> str:
    return str(json.loads(f'"{string}"')) if "\\" in string else string


def _speaker(value: dict[str, Any], outside: str) -> str:
    """Return who says what is inside a message or item."""
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
