"""The walker: one way through a JSON document that finds its text by the table in `shapes`.

Requests, whole answers, events of streams and histories are all read by it.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from sanitizer.errors import RequestRefused
from sanitizer.identifiers.search import find
from sanitizer.pipeline.surrogates import APART
from sanitizer.wire.json_text import (
    AmbiguousJson,
    SpelledNumber,
    Spliced,
    TextPath,
    TextSlot,
    dumps,
    loads,
    plain_number,
    plain_numbers,
    spelled_leaves,
)
from sanitizer.wire.shapes import JsonShape, Rule

TEXT, LIGHT, NAME, OPAQUE, KEEP = Rule.TEXT, Rule.LIGHT, Rule.NAME, Rule.OPAQUE, Rule.KEEP
ARGUMENTS, PERSON, TOKENS, LOGPROBS = Rule.ARGUMENTS, Rule.PERSON, Rule.TOKENS, Rule.LOGPROBS
INPUT, SECRET = Rule.INPUT, Rule.SECRET
"""The rules under names of the module: up to Python 3.11 a look-up in an Enum costs a call."""

_MEDIA = (Rule.IMAGE, Rule.AUDIO, Rule.FILE)
"""Rules for what is no text."""
_WHOLE = (KEEP, SECRET, LOGPROBS, *_MEDIA)
"""Rules by which a subtree stays as it is."""
_HOLD_NUMBERS = (TEXT, LIGHT, INPUT)
"""Rules by which a number may be an identifier."""
_PLAIN = (bool, type(None))
"""Types of values that are never text."""
_STRINGS = (ARGUMENTS, PERSON, TOKENS)
"""Rules for strings; an object in place of one is text."""
_LEFT_AS = {
    NAME: "api_names",
    OPAQUE: "opaque",
    KEEP: "settings",
    SECRET: "credentials",
    **dict.fromkeys(_MEDIA, "media"),
}
"""What the places of rules are called in the record."""

MIN_NUMBER = 7
"""Characters of the shortest JSON number that may be an identifier by its form."""
LIGHT_ROLE = "light"
"""Role of texts in which only identifiers are replaced."""
ARGUMENTS_ROLE = "arguments"
"""Role of tool arguments as a whole, as the API sent them."""
VALUE_ROLE = "value"
"""Role of values in tool arguments, so that no message of the API is taken for one."""
SURE_KINDS = frozenset(["CARD", "EMAIL", "IBAN", "SSN"])
"""Kinds of identifiers whose form alone is proof."""

_SURE_OR_ENCODED = SURE_KINDS | {"ENCODED"}
_MAX_NOTED = 500
"""Characters of the longest name whose kind is noted."""
_SEEDS = frozenset(["seed", "random_seed"])
"""Parameters whose long numbers are random, and may look like that of a card."""
_OF_MESSAGES = frozenset(
    "messages input contents choices candidates message delta content parts text output outputs"
    " response item part content_block arguments tool_calls function_call function custom"
    " functionCall function_call args".split()
)
"""Fields that lead to what an application sends back of an answer, whatever else it leaves out."""
_THOUGHTS = ("reasoning", "thinking", "response.reasoning")
"""Beginnings of the types of objects that hold a thought."""
_OF_CALLS = ("_call", "tool_use")
"""Ends of the types of calls of tools."""
_MEDIA_TYPES = {
    kind: rule
    for rule, kinds in {
        Rule.IMAGE: "image image_url input_image output_image image_file computer_screenshot"
        " video video_url input_video",
        Rule.AUDIO: "audio audio_url input_audio output_audio",
        Rule.FILE: "file file_url input_file document",
    }.items()
    for kind in kinds.split()
}
"""Type of an object -> what it is, where it is no text."""
_ROLES = {
    "function": "tool",
    "model": "assistant",
    **{role: role for role in ("system", "developer", "user", "assistant", "tool")},
}
"""Role of a message -> whose it is; the user's, if it is another one."""

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


@dataclass(slots=True, eq=False)
class ArgumentsText:
    """Arguments of a call that a request holds, whole.

    Attributes:
        text: as they came; one text if they are no JSON. Of an object, as `plain_json` writes it.
        leaves: each string, key and number, decoded, with its slot if it has one.
        written: what will be written: one slot if they are no JSON.
    """

    text: str
    leaves: list[tuple[str, TextSlot | None]]
    written: Spliced | TextSlot


class Walker:
    """Search for the text of one document; use each instance once.

    Args:
        answer: the document is an answer: nothing is refused, and arguments are one slot.
        media: let images, audio and files pass.
        all_keys: keys of plain letters may have to be replaced too.
        place: returns what an element of a list is called in paths, by the list's path, the
            element's position and the element; its position, if None.

    Attributes:
        slots: the texts found, in the order of the document; in answers empty ones too.
        arguments: the arguments of calls in a request, in order.
        numbers: slots of numbers in arguments, at light positions and in objects with unknown
            fields; those that are identifiers have to be replaced.
        calls: path of each call of a tool -> name of the tool.
        left: how many strings and numbers of each place of a request leave as they are, or with
            their words: "api_names", "settings" and so on, or a field of the API whose texts are
            light ("description", "parameters"); never a word of the request.
    """

    def __init__(
        self,
        *,
        answer: bool = False,
        media: bool = False,
        all_keys: bool = False,
        path: TextPath = (),
        place: Callable[[TextPath, int, Any], str | int] | None = None,
    ) -> None:
        self._answer = answer
        self._media = media or answer
        self._all_keys = all_keys
        self._path = list(path)
        self._place = place
        self._n_results = 0
        self._light_field = ""
        self.slots: list[TextSlot] = []
        self.arguments: list[ArgumentsText] = []
        self.numbers: list[TextSlot] = []
        self.calls: dict[TextPath, str] = {}
        self.left: defaultdict[str, int] = defaultdict(int)

    def walk(self, rule: Rule | JsonShape, value: Any, role: str = "") -> Any:
        """Return the document with a `TextSlot` in place of each string that is text.

        Args:
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
        if rule in _WHOLE:
            return self._kept(rule, value)
        if rule is INPUT:
            return self._input(value, role)
        return (self._list if kind is list else self._object)(rule, value, role)

    def _list(self, rule: Rule | JsonShape, value: list[Any], role: str) -> list[Any]:
        if rule is TOKENS and any(type(v) is not str and type(v) is not dict for v in value):
            raise RequestRefused("numbers of tokens may not leave: they encode text", "tokens")
        found = []
        path = self._path
        above = tuple(path) if self._place else ()
        for position, inside in enumerate(value):
            path.append(self._place(above, position, inside) if self._place else position)
            found.append(self.walk(rule, inside, role))
            path.pop()
        return found

    def _object(self, rule: Rule | JsonShape, value: dict[str, Any], role: str) -> dict[Any, Any]:
        mark = mark if type(mark := value.get("type")) is str else ""
        rule = self._shape(rule, mark)
        if type(rule) is not JsonShape:
            return self._free(TEXT if rule in _STRINGS else rule, value, role)
        self._n_results += rule.role == "tool"
        role = speaker(value, rule.role or role) if rule.speaks else rule.role or role
        found: dict[Any, Any] = {}
        fields, n_before, path = rule.fields, len(self.slots), self._path
        if rule.is_call and type(name := value.get("name")) is str:
            self.calls[tuple(path)] = name
        for key, inside in value.items():
            field = fields.get(key)
            kind = type(inside)
            if kind in _PLAIN or (kind is SpelledNumber and field is not INPUT):
                kept = kind in _PLAIN or self._answer
                plain = inside if kept else self._parameter(key, inside)
                found[key if field else self._key(key)] = plain
                continue
            if field is PERSON and (role == "tool" or "role" not in value):
                field = NAME  # the name of a function
            elif field is LIGHT:
                self._light_field = key
            path.append(key)
            n_slots = len(self.slots)
            is_call = field is None and _is_call(key, value)
            walk = self._free_arguments if is_call else self._string if kind is str else self.walk
            found[key if field else self._key(key)] = walk(field or TEXT, inside, role)
            path.pop()
            if len(self.slots) > n_slots and key not in _OF_MESSAGES:
                self._put_aside(n_slots, key)
        if self._answer and (rule.is_call or mark.endswith(_OF_CALLS)):
            name = name if type(name := value.get("name")) is str else ""
            for slot in self.slots[n_before:]:
                slot.tool = slot.tool or name
        if value.get("thought") is True or mark.startswith(_THOUGHTS):
            self._put_aside(n_before, "thought")
        return found

    def _shape(self, rule: Rule | JsonShape, mark: str) -> Rule | JsonShape:
        """Return the rule for an object of this type; raise RequestRefused if it is no text."""
        if type(rule) is JsonShape and mark in rule.types:
            return rule.types[mark]
        if not self._media and mark in _MEDIA_TYPES:
            raise _refused(_MEDIA_TYPES[mark])
        return rule

    def _free(self, rule: Rule | JsonShape, value: dict[str, Any], role: str) -> dict[Any, Any]:
        """Walk through an object of which no field is known."""
        found: dict[Any, Any] = {}
        for key, inside in value.items():
            self._path.append(key)
            walk = self._free_arguments if _is_call(key, value) else self.walk
            found[self._key(key)] = walk(rule, inside, role)
            self._path.pop()
        return found

    def _put_aside(self, n_before: int, field: str) -> None:
        """Note of the latest texts that they stand beside a message, in this field."""
        for slot in self.slots[n_before:]:
            slot.aside = field

    def _string(self, rule: Rule | JsonShape, text: str, role: str) -> Any:
        if isinstance(rule, JsonShape):
            role = rule.role or role
            rule = rule.string
        if rule is TEXT or rule is TOKENS:
            return self._text(text, role)
        if rule is NAME or rule is OPAQUE or rule in _WHOLE:
            return self._kept(rule, text)
        if rule is LIGHT:
            return self._light(text)
        if rule is PERSON:
            return self._text(text, role, "person")
        if rule is ARGUMENTS and self._answer:
            return self._slot(text, role, "arguments")
        return (self._arguments if rule is ARGUMENTS else self._input)(text, role)

    def _light(self, text: str) -> TextSlot | str:
        if self._answer:
            return text
        self.left[self._light_field] += 1
        if self._path[-1] == "$schema" and _DIALECT.fullmatch(text):
            return text
        return self._slot(text, APART, "light")

    def _text(self, text: str, role: str, kind: str = "text", key: str = "") -> Any:
        if not self._answer and ";base64," in text.lower():
            if self._media and _DATA_URL.fullmatch(text):
                self.left["media"] += 1
                return text
            if not self._media and (found := _EMBEDDED.match(text)) is not None:
                media = {"image": Rule.IMAGE, "audio": Rule.AUDIO}
                raise _refused(media.get((found[1] or found[2] or "").lower(), Rule.FILE))
        return self._slot(text, role, kind, key)

    def _slot(self, text: str, role: str, kind: str, key: str = "") -> TextSlot | str:
        if not text and not self._answer:
            return text
        slot = TextSlot(text, role, kind, key, tuple(self._path), self._n_results)
        self.slots.append(slot)
        return slot

    def _number_at(self, rule: Rule | JsonShape, spelling: str) -> Any:
        """Return a number of a request: what is no text may be an identifier by its form."""
        if rule in _WHOLE:
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

    def _number(self, spelling: str, rule: Rule | JsonShape = TEXT, key: str = "") -> TextSlot:
        slot = TextSlot(spelling, APART if rule is LIGHT else VALUE_ROLE, "number", key)
        slot.is_json = True
        self.numbers.append(slot)
        return slot

    def _key(self, key: str) -> TextSlot | str:
        self.left["keys"] += 1
        if self._answer or (not self._all_keys and _PLAIN_KEY.fullmatch(key)):
            return key
        return self._slot(key, APART, "light")

    def _kept(self, rule: Any, value: Any) -> Any:
        if not value and rule in _WHOLE:
            return value
        if rule in _MEDIA and not self._media:
            raise _refused(rule)
        if not self._answer:
            if rule is LOGPROBS:
                raise RequestRefused("logprobs may not leave: their bytes encode text", "tokens")
            if rule is KEEP:
                _check_kept(value)
            elif rule is NAME or rule is OPAQUE:
                _check_name(value, rule)
            self.left[_LEFT_AS[rule]] += 1
        return value

    def _input(self, value: Any, role: str) -> Any:
        """Find strings and numbers inside the arguments of a call that are no string."""
        if not value:
            return value  # nothing that anybody said
        text = dumps(value).decode()
        if not self._answer:
            return self._arguments(text, role, in_string=False)
        slot = self._slot(text, role, "arguments")
        if isinstance(slot, TextSlot):
            slot.is_json = True
        return slot

    def _free_arguments(self, rule: Rule | JsonShape, text: str, role: str) -> Any:
        """Find text in the arguments of a call at a place that no API has: they stay JSON.

        No answer is like them, so they are not compared with one, but for texts of the assistant.
        """
        if self._answer or not is_json(text):
            return self.walk(rule, text, role)
        if rule is not TEXT or role == "assistant":
            found = self.walk(rule, text, role)
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
        for value, span, kind in spelled_leaves(text):
            slot: Any
            if kind == "number":
                slot = self._number(value, key=key)
            elif kind == "key":
                key = value
                slot = self._key(key)
            else:
                slot = self._text(value, VALUE_ROLE, key=key)
            is_slot = isinstance(slot, TextSlot)
            plain = plain_number(value) if kind == "number" else value
            leaves.append((plain, slot if is_slot else None))
            if is_slot:
                pieces += [text[done : span[0]], slot]
                done = span[1]
        written = Spliced([*pieces, text[done:]], in_string)
        known_by = text if in_string else plain_numbers(text)
        self.arguments.append(ArgumentsText(known_by, leaves, written))
        return written


def is_json(text: str) -> bool:
    """Return True if a text is a document that all readers take alike."""
    try:
        loads(text)
    except ValueError:
        return False
    return True


def _is_call(key: str, value: dict[str, Any]) -> bool:
    """Return True if a value is the arguments of a call, as they are in objects of all APIs."""
    return key == "arguments" and "name" in value and type(value[key]) is str and bool(value[key])


def speaker(value: Any, outside: str) -> str:
    """Return who says what is inside a message or item."""
    if type(value) is not dict:
        return outside
    role, kind = value.get("role"), value.get("type")
    if type(role) is str:
        return _ROLES.get(role, "user")
    if type(kind) is str:
        ends = {"_output": "tool", "_response": "user"}
        return next((who for end, who in ends.items() if kind.endswith(end)), "assistant")
    return outside


def _refused(media: Rule) -> RequestRefused:
    reason = media.name.lower()
    what = {"image": "images", "audio": "audio", "file": "files"}[reason]
    return RequestRefused(f"the policy does not let {what} leave ([wire] images)", reason)


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
        for inside in (*value, *(value.values() if isinstance(value, dict) else ())):
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
