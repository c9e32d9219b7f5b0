"""Originals put back into what the API answers: whole bodies, and texts that come in pieces."""

from __future__ import annotations

import logging
from bisect import bisect_right
from codecs import BOM_UTF8
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, reduce
from json.encoder import encode_basestring, encode_basestring_ascii
from operator import getitem
from typing import Any, NamedTuple

from sanitizer.answers.alignment import Piece
from sanitizer.answers.restorer import RestoredStream, Restorer
from sanitizer.errors import UpstreamError
from sanitizer.pipeline.response_memory import Passage
from sanitizer.pipeline.sanitizer import Sanitizer
from sanitizer.results import SanitizedText
from sanitizer.storage.table import Drawn, Originals
from sanitizer.wire.endpoints import Endpoint
from sanitizer.wire.history import (
    CALL_ROLE,
    INPUT_ROLE,
    TYPED_ROLE,
    WHOLE_ROLE,
    Note,
    Places,
    joined,
    numbered,
    passage,
    roles_of,
)
from sanitizer.wire.json_text import SpelledNumber, TextPath, TextSlot, dumps, inner, loads
from sanitizer.wire.shapes import JsonShape, answer_shape, shapes
from sanitizer.wire.typed_json import NOTHING, Coercer, JsonText, Schema
from sanitizer.wire.walker import ARGUMENTS_ROLE, Walker

Kept = Callable[[Sequence[Note], str], None]
"""Called with the texts of an answer that was kept, and the name that the API gave it."""
Stamp = Callable[[dict[str, Any]], dict[str, Any]]
"""Returns a copy of an answer's object with something of the caller's in it."""

_LOG = logging.getLogger("sanitizer")
_SPOKEN = ("chat/completions", "responses", "messages", "generateContent", "api/chat")


class Tellings:
    """The texts of one answer, as each of several tellings has them in order.

    Applications read one telling, and what comes back is known by its place in that. Where two
    tellings have different texts in one place, a text that looks like a restored one could be
    either, and which it is would show by what leaves.
    """

    def __init__(self) -> None:
        self._told: dict[tuple[str, str, int], dict[str, list[_Told]]] = {}

    def add(self, note: Note, text: Callable[[], str], grows: bool = False) -> None:
        """Add a text to its telling: `text` returns what came of it, and it `grows` if it had come.

        Raises:
            UpstreamError: another telling has another text in its place, or had come to its end.
        """
        for role in roles_of(note):
            tellings = self._told.setdefault((role, note.aside, note.choice), {})
            mine = tellings.setdefault(note.telling, [])
            place = bisect_right(mine, note.at, key=lambda each: each.at) - grows
            others = [o for t, o in tellings.items() if t != note.telling and len(o) > place]
            is_whole = not grows and place == len(mine)
            if others and not (is_whole and all(alike(o[place].text(), text()) for o in others)):
                raise UpstreamError("the API told the texts of its answer in several ways")
            if not grows:
                mine.insert(place, _Told(note.at, text))


class _Told(NamedTuple):
    """A text of a telling: where it stands, and a function that returns what came of it."""

    at: tuple[int, ...]
    text: Callable[[], str]


@dataclass(frozen=True)
class Asked:
    """What a request tells of its answer.

    Attributes:
        in_json: it asked for messages in JSON, which have to stay JSON.
        places: how many texts of each role it had.
        in_parts: an application may send each event of a stream back as a text of its own.
        n_choices: how many answers were asked for at most; None if that is not known.
        prompts: what the user said: the extractor writes what the assistant says for the last one.
        n_turns: turns that were known then; see `Passage`.
        texts: restorer of plain text; made from the table as it is when the answer comes, if None.
        last_line: is put under what the assistant says.
        schemas: JSON schema of each tool's arguments, by its name; of messages in JSON under None.
        untyped: what of the answer could not be written as its schema says; grows as it comes.
        kept: called once the answer is kept.
    """

    in_json: bool = False
    places: Places = field(default_factory=Counter)
    in_parts: bool = False
    n_choices: int | None = None
    prompts: tuple[SanitizedText, ...] = ()
    n_turns: int | None = None
    texts: Restorer | None = None
    last_line: str = ""
    schemas: Mapping[str | None, Any] = field(default_factory=dict)
    untyped: dict[str, None] = field(default_factory=dict)
    kept: Kept | None = None


class Restoration:
    """Everything needed to restore one answer: the originals as they were when it began to come.

    Attributes:
        keeps: tells whether stand-ins stay in the arguments of a tool, by its name.
        name: that the API gave the answer; "" if it can't be asked for by it.
    """

    def __init__(self, sanitizer: Sanitizer, asked: Asked) -> None:
        self.asked = asked
        self._sanitizer = sanitizer
        self.keeps = sanitizer.policy.wire.keeps
        self.tellings, self.name = Tellings(), ""
        self._said: dict[TextPath, Callable[[], Note]] = {}
        self._passages: dict[tuple[str, str, str], Passage] = {}
        self._kept: set[Passage] = set()
        self._watched = False
        self._arrived: list[tuple[str, str]] = []

    @cached_property
    def texts(self) -> Restorer:
        """Restorer of plain text."""
        return self.asked.texts or self._sanitizer.inner.answers.restorer(capitals=True)

    def stream(self, kind: str, tool: str | None = None) -> RestoredStream | JsonText:
        """Return what restores a text in pieces.

        Args:
            kind: "text", or "arguments", which are JSON.
            tool: name of the tool that it goes to, which may keep stand-ins; None for messages.
        """
        if tool is not None and self.keeps(tool):
            return NOTHING.stream()
        return self._json(tool) if kind == "arguments" else self.texts.stream()

    def _json(self, tool: str | None = None) -> JsonText:
        schema = Schema(self.asked.schemas.get(tool))
        return JsonText(self._strings, self.texts, schema, self._coercer, tool is None)

    @cached_property
    def _coercer(self) -> Coercer:
        return Coercer(self.texts, self.asked.untyped)

    @cached_property
    def _strings(self) -> Restorer:
        """Restorer of strings in JSON: finds released values escaped, and escapes originals."""
        originals = self.texts.originals
        spelled = Originals()
        # A copy: other requests of the conversation may add to them meanwhile.
        for value, original in tuple(originals.items()):
            epsilon = originals.drawn.get(value)
            for form in _spellings(value):
                key = form if epsilon is None else Drawn(form, epsilon)
                spelled[key] = inner(original)
        links = self.texts.links
        return Restorer(spelled, None if links is None else links.of_strings(), escaped=False)

    def remember(self, note: Note) -> None:
        """Note what the assistant said, so that it goes back as it came.

        Its role is "assistant" for a message, ARGUMENTS_ROLE for a call's arguments, whole,
        INPUT_ROLE if they are an object, or CALL_ROLE for its text, which comes back like a
        message. Raises UpstreamError if the answer was told in another way before.
        """
        if note.telling and note.sent:
            self.tellings.add(note, lambda: note.sent)
        self.note((len(self._said),), lambda: note)

    def note(self, path: TextPath, text: Callable[[], Note]) -> None:
        """Note a text that may grow: what it says is known to requests that come meanwhile."""
        self._said[path] = text
        if not self._watched:
            self._watched = True
            self._sanitizer.inner.watch(self._so_far)

    def said(self) -> str:
        """Return what the assistant said until now, as it came; "" if it calls a tool."""
        notes = [note() for note in self._said.values()]
        calls = {ARGUMENTS_ROLE, INPUT_ROLE, CALL_ROLE}.intersection(note.role for note in notes)
        return "" if calls else "\n".join(note.sent for note in notes if not note.aside)

    def arrive(self, sent: str, shown: str) -> None:
        """Note more of a message as it comes: some applications read all texts of it as one."""
        if not self._arrived:
            self.note(("arrived",), self._as_it_came)
        self._arrived.append((sent, shown))

    def _as_it_came(self) -> Note:
        sent, shown = ("".join(texts) for texts in zip(*list(self._arrived), strict=True))
        return Note(sent, shown, "assistant", telling="arrived", ended=not self._watched)

    def settle(self, last: bool = True) -> None:
        """Keep what was noted: no more of the answer comes, or (not `last`) none of these texts.

        Raises:
            VaultError: it cannot be kept.
        """
        if last and self._watched:
            self._watched = False
            self._sanitizer.inner.unwatch(self._so_far)
        if last and self.asked.untyped:
            _LOG.info("values that fit no type and stay text: %d", len(self.asked.untyped))
        passages = [each for each in self._so_far(last) if each not in self._kept]
        if passages:
            self._sanitizer.inner.remember(passages)
            self._kept.update(passages)
        if last and self.asked.kept is not None:
            self.asked.kept([note() for note in list(self._said.values())], self.name)

    def _so_far(self, last: bool = True) -> list[Passage]:
        """Return all that was noted, whole messages besides their parts if it is the last time."""
        notes = [note() for note in list(self._said.values())]
        found: dict[Passage, None] = {}
        messages: dict[tuple[str, int], list[tuple[int, Passage]]] = {}
        told = [note for note in notes if note.shown and (note.ended or last)]
        came = {id(note): i for i, note in enumerate(told)}
        for note, role, place in numbered(told, self.asked.places):
            made = self._passage(note, role)
            made = made._replace(place=place, aside=note.aside, asked=self.asked.n_turns)
            found[made] = None
            if role == "assistant" and note.role != CALL_ROLE and not note.aside and last:
                parts = messages.setdefault((note.telling, note.choice), [])
                parts.append((came[id(note)], made))
        for name, original in list(self._coercer.typed.items()):
            pieces = (Piece(name, original),)
            found[Passage(TYPED_ROLE, name, original, pieces, asked=self.asked.n_turns)] = None
        for parts in messages.values():
            for order in (parts, sorted(parts, key=lambda part: part[0])):
                if len(parts) > 1:
                    texts = [made for _, made in order]
                    found.update(dict.fromkeys(joined(texts, between) for between in ("", "\n")))
        return list(found)

    def _passage(self, note: Note, role: str) -> Passage:
        """Return a text as it is remembered, which takes long to make."""
        key = (note.sent, note.shown, role)
        if key not in self._passages:
            in_json = self.asked.in_json and role == "assistant"
            others = self._json if in_json else lambda: self._strings
            made = passage(note.sent, note.shown, role, self.texts, others)
            if not note.ended:
                return made
            self._passages[key] = made
        return self._passages[key]

    def document(
        self,
        shape: JsonShape,
        document: Any,
        telling: str | None = None,
        *,
        tool: str | None = None,
        at: tuple[int, ...] = (),
        role: str = "",
        agree: Callable[[Sequence[TextSlot]], None] = lambda slots: None,
        coming: Callable[[TextSlot], str | None] = lambda slot: None,
        ends: Callable[[TextPath], object] | None = None,
    ) -> Any:
        """Return the document restored; the same object if there is nothing to restore.

        Args:
            telling: note what the assistant says in it, as told by this; None if it is not noted.
            tool: name of the tool that its texts go to, where they do not tell.
            at: where it stands in its telling.
            role: whose it is, where it does not say.
            agree: may change texts before they are restored.
            coming: returns what can be shown of a text that comes in pieces; None for others.
            ends: returns of what a message is a part, by its place: the last part of each gets the
                last line. None if more may come.
        """
        walker = Walker(answer=True)
        found = walker.walk(shape, document, role)
        came = [slot.text for slot in walker.slots]
        agree(walker.slots)
        for slot in walker.slots:
            sent = slot.text
            if (shown := coming(slot)) is not None:
                slot.text = shown
                continue
            if not sent:
                continue
            slot.tool = tool if slot.tool is None else slot.tool
            slot.text = self._restored(slot, _is_message(document, slot.path))
            if telling is not None and slot.role == "assistant":
                of = WHOLE_ROLE if self.asked.in_parts else "assistant"
                of = of if slot.tool is None else CALL_ROLE
                if slot.kind == "arguments":
                    of = INPUT_ROLE if slot.is_json else ARGUMENTS_ROLE
                choice = _choice(slot.path)
                self.remember(Note(sent, slot.text, of, slot.aside, telling, choice, at))
        said = [s for s in walker.slots if ends and s.text and _is_message(document, s.path)]
        for slot in {ends(slot.path): slot for slot in said if ends}.values():
            slot.text += self.asked.last_line
        changed = any(slot.text != text for slot, text in zip(walker.slots, came, strict=True))
        return found if changed else document

    def _restored(self, slot: TextSlot, is_message: bool) -> str:
        if is_message and self.asked.in_json:
            stream = self.stream("arguments")
        elif slot.kind == "arguments" or (slot.tool is not None and self.keeps(slot.tool)):
            stream = self.stream(slot.kind, slot.tool or "")
        elif is_message and self.asked.prompts and slot.text.strip():
            return str(self._sanitizer.inner.answers.rewritten(slot.text, self.asked.prompts))
        else:
            return self.texts.text(slot.text)
        return stream.feed(slot.text) + stream.finish()


_MESSAGES = ((), ("item",), ("output", 0), ("response", "output", 0), ("choices", 0, "message"))
"""Where messages of OpenAI's or Anthropic's stand in a document, first places for all of a list."""


def _is_message(document: Any, path: TextPath) -> bool:
    """Return True for the text of a message of the assistant, or of an event that repeats it."""
    holder = reduce(getitem, path[:-1], document)
    kind = holder.get("type") if isinstance(holder, dict) else None
    above: list[str | int]
    match path:
        case ("response",) | ("message", "content"):  # Ollama's
            return True
        case ("candidates", int(), "content", "parts", int(), "text"):  # Gemini's
            return holder.get("thought") is not True
        case ("text",):
            return bool(kind == "response.output_text.done")
        case ("part", "text"):
            return bool(kind == "output_text")
        case (*above, "content"):
            pass
        case (*above, "content", int(), "text") if kind in ("text", "output_text"):
            pass
        case _:
            return False
    message = reduce(getitem, above, document)
    return (
        tuple(0 if type(step) is int else step for step in above) in _MESSAGES
        and message.get("role") in (None, "assistant")
        and message.get("type") in (None, "message")
    )


def _message_of(path: TextPath) -> TextPath:
    """Return where the message of a text stands, or the list of its parts."""
    return path[:-2] if isinstance(path[-2:][0], int) else path


def _choice(path: TextPath) -> int:
    """Return which of several answers a text is of."""
    match path:
        case ("choices" | "candidates", int(choice), *_):
            return choice
    return 0


def restored_body(
    endpoint: Endpoint,
    status: int,
    body: bytes,
    restoration: Restoration,
    stamp: Stamp | None = None,
) -> bytes:
    """Restore a whole answer. Bodies without anything to change come back byte for byte.

    An error that is not JSON (a gateway's HTML page) is replaced by one in the API's shape, which
    quotes nothing of it. The stamp is applied to the object of a 2xx answer.
    Not protected: tokens in `logprobs` stay as the API wrote them, placeholders too.

    Raises:
        UpstreamError: a 2xx answer that is not this endpoint's JSON.
    """
    document = _object(body)
    if not 200 <= status < 300:
        if document is None:
            return _plain_error(endpoint, status)
        restored = restoration.document(shapes("openai")["Error"], document)
        return body if restored is document else dumps(restored)
    if document is None:
        raise UpstreamError("the API answered with something that is not a JSON object")
    if "error" not in document and not _is_of(endpoint, document):
        raise UpstreamError("the API answered with JSON that is not of this endpoint")
    telling = "" if endpoint.name in _SPOKEN else None
    restoration.name = str(document.get("id", "")) if endpoint.name == "responses" else ""
    restored = restoration.document(answer_shape(endpoint), document, telling, ends=_message_of)
    stamped = restored if stamp is None else stamp(restored)
    written = body if stamped is document else dumps(stamped)
    restoration.settle()
    return written


def said_in(endpoint: Endpoint, body: bytes) -> str:
    """Return what the assistant says in a whole answer, as it came; "" if it calls a tool."""
    if (document := _object(body)) is None or endpoint.name not in _SPOKEN:
        return ""
    walker = Walker(answer=True)
    walker.walk(answer_shape(endpoint), document)
    if any(slot.tool is not None or slot.kind == "arguments" for slot in walker.slots):
        return ""
    return "\n".join(slot.text for slot in walker.slots if _is_message(document, slot.path))


def stamped_body(body: bytes, stamp: Stamp) -> bytes:
    """Stamp a JSON object; return any other body as it is."""
    document = _object(body)
    return body if document is None else dumps(stamp(document))


def _is_of(endpoint: Endpoint, document: dict[str, Any]) -> bool:
    """Return True if a document has what makes it an answer of this endpoint."""
    if not endpoint.answer:
        return not answer_shape(endpoint).fields.keys().isdisjoint(document)
    field, kind = endpoint.answer.split()
    kinds = {"list": list, "number": SpelledNumber, "any": object}
    return field in document and isinstance(document[field], kinds[kind])


def _object(body: bytes) -> dict[str, Any] | None:
    """Read the JSON object in a body; return None for anything else."""
    try:
        document = loads(body.removeprefix(BOM_UTF8).decode(), strict=False)
    except ValueError:
        return None
    return document if isinstance(document, dict) else None


def _plain_error(endpoint: Endpoint, status: int) -> bytes:
    message = f"the API answered with status {status} and a body that is not JSON, left out here"
    of_openai = {"message": message, "type": "upstream_error", "param": None, "code": None}
    of_anthropic = {"type": "error", "error": {"type": "api_error", "message": message}}
    others = {"ollama": {"error": message}, "anthropic": of_anthropic}
    return dumps(others.get(endpoint.format, {"error": of_openai}))


def alike(first: str, second: str) -> bool:
    """Return True for texts that differ in white space at most."""
    return first == second or first.split() == second.split()


def _spellings(value: str) -> set[str]:
    """Return the spellings of a value in JSON: writers escape <, > and &, slashes, or non-ASCII."""
    plain = {str(encode(value))[1:-1] for encode in (encode_basestring, encode_basestring_ascii)}
    spelled = set(plain)
    for text in plain:
        for form in ("\\u{:04x}", "\\u{:04X}"):
            spelled.add("".join(form.format(ord(c)) if c in "<>&" else c for c in text))
    return spelled | {text.replace("/", "\\/") for text in spelled}
