"""Originals put back into what the API answers: whole bodies, and texts that come in pieces."""

from __future__ import annotations

import re
from bisect import bisect_right
from codecs import BOM_UTF8
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from json.encoder import encode_basestring, encode_basestring_ascii
from typing import Any, NamedTuple

from sanitizer.answers import RestoredStream, Restorer
from sanitizer.errors import UpstreamError
from sanitizer.pipeline import Passage, Sanitizer
from sanitizer.results import SanitizedText
from sanitizer.storage import Drawn, Originals
from sanitizer.wire.endpoints import Endpoint
from sanitizer.wire.find_text import (
    ARGUMENTS_ROLE,
    SpelledNumber,
    TextFinder,
    TextSlot,
    dumps,
    inner,
    loads,
)
from sanitizer.wire.formats import gemini, messages, ollama
from sanitizer.wire.history import (
    CALL_ROLE,
    INPUT_ROLE,
    WHOLE_ROLE,
    Note,
    Places,
    joined,
    numbered,
    passage,
    roles_of,
)
from sanitizer.wire.shapes import ANSWERS, ERROR, JsonShape

Stamp = Callable[[dict[str, Any]], dict[str, Any]]
"""Returns a copy of an answer's object with something of the caller's in it."""
TextPath = tuple[str | int, ...]
"""Position of a text in its stream: keys, and places in lists."""

_ANSWERS = {**ANSWERS, **messages.ANSWERS, **gemini.ANSWERS, **ollama.ANSWERS}
_SPOKEN = ("chat/completions", "responses", "messages", "generateContent", "api/chat")
_TEXT_PARTS = ("text", "output_text")

MAX_CHARS = 50_000_000
"""Longest text that a stream may have, in characters: all of it is kept for the next request."""
MAX_CHANNELS = 10_000
"""Largest number of texts that one stream may have open."""


class JsonText:
    """A JSON document that comes in pieces, restored in its values only.

    Inside a string, originals are escaped; a released value without quotes becomes a string. Keys
    stay, because an original in one could leave again in the next request.

    Args:
        strings: restores text between quotes.
        bare: released value -> original, for values without quotes.
    """

    def __init__(self, strings: Restorer, bare: Mapping[str, str]) -> None:
        self._strings = strings
        self._bare = bare
        self._string: RestoredStream | None = None
        self._escaped = False
        self._is_key = False
        self._open: list[str] = []
        self._token = ""

    def feed(self, piece: str) -> str:
        """Feed one piece; return the text that can be shown now."""
        shown: list[str] = []
        at = 0
        while at < len(piece):
            at = (
                self._outside(piece, at, shown)
                if self._string is None
                else self._inside(piece, at, shown)
            )
        return "".join(shown)

    @property
    def held(self) -> str:
        """Text that came and was not shown yet."""
        return self._token if self._string is None else self._string.held

    def finish(self) -> str:
        """End the document; return the text still held back."""
        return self._string.finish() if self._string is not None else self._value()

    def _inside(self, piece: str, at: int, shown: list[str]) -> int:
        """Read to the end of the string or of the piece; return the next position."""
        assert self._string is not None
        run = _IN_STRING.match(piece, at + self._escaped)
        end = run.end() if run is not None else len(piece)
        shown.append(self._string.feed(piece[at:end]))
        self._escaped = piece[end : end + 1] == "\\"
        if self._escaped:
            shown.append(self._string.feed("\\"))
        elif end < len(piece):
            shown.append(self._string.finish() + '"')
            self._string = None
        return end + 1

    def _outside(self, piece: str, at: int, shown: list[str]) -> int:
        """Read to the next mark or the end of the piece; return the next position."""
        end = next((i for i in range(at, len(piece)) if piece[i] in _MARKS), len(piece))
        self._token += piece[at:end]
        if end < len(piece):
            shown += [self._value(), piece[end]]
            self._mark(piece[end])
        return end + 1

    def _value(self) -> str:
        token, self._token = self._token, ""
        return (
            f'"{inner(self._bare[token])}"' if token in self._bare and not self._is_key else token
        )

    def _mark(self, mark: str) -> None:
        if mark == '"':
            self._string = (_NOTHING if self._is_key else self._strings).stream()
        elif mark in "{[":
            self._open.append(mark)
        elif mark in "}]" and self._open:
            self._open.pop()
        if mark in "{}[],:":
            self._is_key = mark == "{" or (mark == "," and self._open[-1:] == ["{"])


_MARKS = frozenset('{}[],:" \t\r\n')
_IN_STRING = re.compile(r'(?:[^"\\]|\\.)*', re.DOTALL)
_NOTHING = Restorer({})


class Tellings:
    """The texts of one answer, as each of several tellings has them in order.

    Applications read one telling, and what comes back is known by its place in that. Where two
    tellings have different texts in one place, a text that looks like a restored one could be
    either, and which it is would show by what leaves.
    """

    def __init__(self) -> None:
        self._told: dict[tuple[str, str, int], dict[str, list[_Told]]] = {}

    def add(self, note: Note, text: Callable[[], str], grows: bool = False) -> None:
        """Add a text to its telling.

        Args:
            note: of the text.
            text: returns what came of it.
            grows: it was added before, and more of it comes.

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


class Restoration:
    """Everything needed to restore one answer: the originals as they were when it began to come.

    Args:
        sanitizer: Sanitizer of the conversation.
        in_json: the request asked for messages in JSON, which have to stay JSON.
        places: how many texts of each role the request had.
        in_parts: an application may send each event of a stream back as a text of its own.
        n_choices: how many answers were asked for at most; None if that is not known.
        prompts: what the user said: the extractor writes what the assistant says for the last one.
        asked: turns that were known when the answer was asked for; see `Passage`.
        texts: restorer of plain text; made from the table as it is then, if None.

    Attributes:
        keeps: tells whether stand-ins stay in the arguments of a tool, by its name.
        tellings: of the answer.
    """

    def __init__(
        self,
        sanitizer: Sanitizer,
        in_json: bool = False,
        places: Places | None = None,
        in_parts: bool = False,
        n_choices: int | None = None,
        prompts: Sequence[SanitizedText] = (),
        asked: int | None = None,
        texts: Restorer | None = None,
    ) -> None:
        self._prompts = prompts
        self._asked = asked
        self._sanitizer = sanitizer
        self.in_json = in_json
        self.keeps = sanitizer.policy.wire.keeps
        self.n_choices = n_choices
        self.tellings = Tellings()
        self._places: Places = places or Counter()
        self._said_as = WHOLE_ROLE if in_parts else "assistant"
        self._said: dict[TextPath, Callable[[], Note]] = {}
        self._passages: dict[tuple[str, str, str], Passage] = {}
        self._kept: set[Passage] = set()
        self._watched = False
        self._arrived: list[tuple[str, str]] = []
        self._texts = texts

    @property
    def texts(self) -> Restorer:
        """Restorer of plain text."""
        if self._texts is None:
            self._texts = self._sanitizer.inner.restorer()
        return self._texts

    def stream(self, kind: str) -> RestoredStream | JsonText:
        """Return what restores a text in pieces.

        Args:
            kind: "arguments" if it is JSON, "kept" if it stays as it came, or any other.
        """
        if kind == "kept":
            return _NOTHING.stream()
        return (
            JsonText(self._strings, self.texts.originals)
            if kind == "arguments"
            else self.texts.stream()
        )

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
        message.

        Raises:
            UpstreamError: the answer was told in another way before.
        """
        if note.telling and note.sent:
            self.tellings.add(note, lambda: note.sent)
        self.note((len(self._said),), lambda: note)

    def note(self, path: TextPath, text: Callable[[], Note]) -> None:
        """Note a text that may grow: what it says is known to requests that come meanwhile.

        Args:
            path: of the text; it takes the place of what was noted there.
            text: returns it so far as it came.
        """
        self._said[path] = text
        if not self._watched:
            self._watched = True
            self._sanitizer.inner.watch(self._so_far)

    def arrive(self, sent: str, shown: str) -> None:
        """Note more of a message as it comes: some applications read all texts of it as one."""
        if not self._arrived:
            self.note(("arrived",), self._as_it_came)
        self._arrived.append((sent, shown))

    def _as_it_came(self) -> Note:
        sent, shown = ("".join(texts) for texts in zip(*list(self._arrived), strict=True))
        return Note(sent, shown, "assistant", telling="arrived", ended=not self._watched)

    def settle(self, last: bool = True) -> None:
        """Keep what was noted: the answer is complete, or no more of it comes.

        Args:
            last: False if other texts of it are still coming.

        Raises:
            VaultError: it cannot be kept.
        """
        if last and self._watched:
            self._watched = False
            self._sanitizer.inner.unwatch(self._so_far)
        passages = [each for each in self._all(last) if each not in self._kept]
        if passages:
            self._sanitizer.inner.remember(passages)
            self._kept.update(passages)

    def _so_far(self) -> list[Passage]:
        return self._all(last=True)

    def _all(self, last: bool) -> list[Passage]:
        """Return all that was noted, whole messages besides their parts if it is the last time."""
        notes = [note() for note in list(self._said.values())]
        found: dict[Passage, None] = {}
        messages: dict[tuple[str, int], list[tuple[int, Passage]]] = {}
        told = [note for note in notes if note.shown and (note.ended or last)]
        came = {id(note): i for i, note in enumerate(told)}
        for note, role, place in numbered(told, self._places):
            made = self._passage(note, role)
            made = made._replace(place=place, aside=note.aside, asked=self._asked)
            found[made] = None
            if role == "assistant" and note.role != CALL_ROLE and not note.aside and last:
                parts = messages.setdefault((note.telling, note.choice), [])
                parts.append((came[id(note)], made))
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
            made = passage(note.sent, note.shown, role, self.texts, lambda: self._strings)
            if not note.ended:
                return made
            self._passages[key] = made
        return self._passages[key]

    def document(
        self,
        shape: JsonShape,
        document: Any,
        telling: str | None = None,
        tool: str | None = None,
        at: tuple[int, ...] = (),
        role: str = "",
    ) -> Any:
        """Return the document restored; the same object if there is nothing to restore.

        Args:
            shape: shape of the document.
            document: as `loads` returns it.
            telling: note what the assistant says in it, as told by this; None if it is not noted.
            tool: name of the tool that its texts go to, where they do not tell.
            at: where it stands in its telling.
            role: whose it is, where it does not say.
        """
        finder = TextFinder(answer=True)
        found = finder.find(shape, document, role)
        said = [(slot, slot.text) for slot in finder.slots if slot.role == "assistant"]
        said = said if telling is not None else []
        of_calls = {id(slot) for slot in finder.slots if slot.kind == "arguments"}
        for slot in finder.slots:
            slot.tool = tool if slot.tool is None else slot.tool
            if slot.tool is not None and self.keeps(slot.tool):
                slot.kind = "kept"
        if self.in_json:
            for slot in [*_messages(found), *_of_event(found)]:
                slot.kind = "arguments"
        spoken = {id(slot) for slot in _messages(found)} if self._prompts else set()
        changed = [self._restore(slot, id(slot) in spoken) for slot in finder.slots]
        choices = _choices(found) if said else {}
        for slot, sent in said:
            of = self._said_as if slot.tool is None else CALL_ROLE
            if id(slot) in of_calls:
                of = INPUT_ROLE if slot.is_json else ARGUMENTS_ROLE
            choice = choices.get(id(slot), 0)
            self.remember(Note(sent, slot.text, of, slot.aside, telling or "", choice, at))
        return found if any(changed) else document

    def _restore(self, slot: TextSlot, spoken: bool) -> bool:
        sent = slot.text
        if slot.kind in ("arguments", "kept"):
            stream = self.stream(slot.kind)
            slot.text = stream.feed(sent) + stream.finish()
        elif spoken and sent.strip():
            slot.text = str(self._sanitizer.inner.answers.rewritten(sent, self._prompts))
        else:
            slot.text = self.texts.text(sent)
        return slot.text != sent


class Channel:
    """One text of a stream, restored piece by piece.

    Args:
        restoration: of the answer.
        path: position of the text in its stream.
        kind: "text", or "arguments" (pieces of a JSON document).
        note: how it is noted: its role, and where it stands. Its role is "" if it does not go back
            as history.
    """

    def __init__(self, restoration: Restoration, path: TextPath, kind: str, note: Note) -> None:
        self._restoration = restoration
        self._kind = kind
        self._note = note
        self._stream = restoration.stream(kind)
        self._sent: list[str] = []
        self._shown: list[str] = []
        self._n_chars = 0
        # Pieces that came, and characters held back of them: set whole, for another thread to read.
        self._seen = (0, 0)
        self._ended = self._is_told = False
        self._held = ""
        if note.role:
            restoration.note(path, self.so_far)

    def _came(self) -> str:
        return "".join(self._sent)

    def so_far(self) -> Note:
        """Return what was sent and shown until now."""
        n, n_held = self._seen
        sent, shown = "".join(self._sent[:n]), "".join(self._shown[:n])
        sent = sent[: len(sent) - n_held]
        return self._note._replace(sent=sent, shown=shown, ended=self._ended)

    @property
    def held(self) -> str:
        """Text that came and was not shown yet."""
        return self._stream.held

    def feed(self, piece: str) -> str:
        """Feed one piece; return the text that can be shown now.

        A text that had come to its end goes on: applications add to it what comes later.

        Raises:
            UpstreamError: it is too long, or the answer was told in another way before.
        """
        if self._note.telling and piece:
            self._restoration.tellings.add(self._note, self._came, grows=self._is_told)
            self._is_told = True
        if self._ended:
            self._stream, self._ended = self._restoration.stream(self._kind), False
        shown = self._stream.feed(piece)
        self._n_chars += len(piece)
        if self._n_chars > MAX_CHARS:
            raise UpstreamError("the API's stream has a text that is too long")
        if self._note.role:
            n_held = len(self.held) if isinstance(self._stream, RestoredStream) else 0
            self._add(piece, shown, n_held)
        return shown

    def finish(self) -> str:
        """End the text; return what is still held back."""
        held = self._stream.finish()
        if self._note.role:
            self._add("", held, 0)
        self._ended = True
        return held

    def _add(self, sent: str, shown: str, n_held: int) -> None:
        self._sent.append(sent)
        self._shown.append(shown)
        self._seen = (len(self._sent), n_held)
        if self._note.role == "assistant" and not self._note.aside:
            came = self._held + sent
            n_shown = len(came) - n_held
            self._held = came[n_shown:]
            self._restoration.arrive(came[:n_shown], shown)


_UNNOTED = Note("", "", "")


class Channels:
    """All open texts of one stream, which come side by side and are restored each on its own.

    Args:
        restoration: of the answer.
    """

    def __init__(self, restoration: Restoration) -> None:
        self._restoration = restoration
        self._open: dict[TextPath, Channel] = {}
        self._ended: dict[TextPath, Channel] = {}

    def feed(
        self,
        path: TextPath,
        piece: str,
        kind: str = "text",
        last: bool = False,
        note: Note = _UNNOTED,
    ) -> str:
        """Feed one piece of a text; return what can be shown of it now: all, if it is the last.

        Args:
            path: position of the text; unknown ones open a channel.
            piece: what has come.
            last: nothing more of this text comes.
            kind, note: of a new `Channel`.

        Raises:
            UpstreamError: there are more texts than any answer has.
        """
        if (channel := self._open.get(path)) is None:
            channel = self._opened(path, kind, note)
        if not last:
            return channel.feed(piece)
        return channel.feed(piece) + self._end(path)

    def held(self, path: TextPath) -> str:
        """Return what came of an open text and was not shown yet."""
        return self._open[path].held

    def finish(self, which: Callable[[TextPath], bool]) -> list[tuple[TextPath, str]]:
        """End some texts; return (path, text) of those that still held text back."""
        if not self._open:
            return []
        held = [(path, self._end(path)) for path in [path for path in self._open if which(path)]]
        return [(path, text) for path, text in held if text]

    def _opened(self, path: TextPath, kind: str, note: Note) -> Channel:
        if len(self._open) + len(self._ended) >= MAX_CHANNELS:
            raise UpstreamError("the API's stream has too many texts")
        channel = self._ended.pop(path, None) or Channel(self._restoration, path, kind, note)
        self._open[path] = channel
        return channel

    def _end(self, path: TextPath) -> str:
        channel = self._ended[path] = self._open.pop(path)
        return channel.finish()


def restored_body(
    endpoint: Endpoint,
    status: int,
    body: bytes,
    restoration: Restoration,
    stamp: Stamp | None = None,
) -> bytes:
    """Restore a whole answer. Bodies without anything to change come back byte for byte.

    An error that is not JSON (a gateway's HTML page) is replaced by one in the API's shape, which
    quotes nothing of it.
    Not protected: tokens in `logprobs` stay as the API wrote them, placeholders too.

    Args:
        endpoint: that answers.
        status: HTTP status of the answer.
        body: bytes of the answer.
        restoration: of the answer.
        stamp: applied to the object of a 2xx answer.

    Raises:
        UpstreamError: a 2xx answer that is not this endpoint's JSON.
    """
    document = _object(body)
    if not 200 <= status < 300:
        if document is None:
            return _plain_error(endpoint, status)
        return _rewritten(document, restoration.document(ERROR, document), body)
    if document is None:
        raise UpstreamError("the API answered with something that is not a JSON object")
    if "error" not in document and not _is_of(endpoint, document):
        raise UpstreamError("the API answered with JSON that is not of this endpoint")
    telling = "" if endpoint.name in _SPOKEN else None
    restored = restoration.document(_ANSWERS[endpoint.name], document, telling)
    written = _rewritten(document, restored if stamp is None else stamp(restored), body)
    restoration.settle()
    return written


def stamped_body(body: bytes, stamp: Stamp) -> bytes:
    """Stamp a JSON object; return any other body as it is."""
    document = _object(body)
    return body if document is None else dumps(stamp(document))


def _is_of(endpoint: Endpoint, document: dict[str, Any]) -> bool:
    """Return True if a document has what makes it an answer of this endpoint."""
    if not endpoint.answer:
        return not _ANSWERS[endpoint.name].fields.keys().isdisjoint(document)
    field, kind = endpoint.answer.split()
    kinds = {"list": list, "number": SpelledNumber, "any": object}
    return field in document and isinstance(document[field], kinds[kind])


def _rewritten(document: Any, restored: Any, body: bytes) -> bytes:
    return body if restored is document else dumps(restored)


def _object(body: bytes) -> dict[str, Any] | None:
    """Read the JSON object in a body; return None for anything else."""
    try:
        document = loads(body.removeprefix(BOM_UTF8).decode(), strict=False)
    except ValueError:
        return None
    return document if isinstance(document, dict) else None


def _choices(document: Any) -> dict[int, int]:
    """Return which of several answers each text is of, by the identity of its slot."""
    return {
        id(slot): choice
        for key in ("choices", "candidates")
        for choice, answer in enumerate(_list(document, key))
        for slot in _slots(answer)
    }


def _slots(value: Any) -> Iterator[TextSlot]:
    """Yield all texts in a value."""
    if isinstance(value, TextSlot):
        yield value
    elif isinstance(value, (dict, list)):
        for inside in value.values() if isinstance(value, dict) else value:
            yield from _slots(inside)


def _messages(document: Any) -> Iterator[TextSlot]:
    """Yield the texts of the assistant's messages."""
    for text in [*_of_gemini(document), *_of_ollama(document)]:
        if isinstance(text, TextSlot):
            yield text
    messages = [
        *[_field(choice, "message") for choice in _list(document, "choices")],
        *_list(document, "output"),
        *_list(_field(document, "response"), "output"),
        _field(document, "item"),
        document,
    ]
    for message in messages:
        if _field(message, "role") in (None, "assistant") and _field(message, "type") in (
            None,
            "message",
        ):
            content = _field(message, "content")
            parts = [p for p in _list(message, "content") if _field(p, "type") in _TEXT_PARTS]
            for text in [content, *[_field(part, "text") for part in parts]]:
                if isinstance(text, TextSlot):
                    yield text


def _of_gemini(document: Any) -> Iterator[Any]:
    """Yield the texts of candidates, thoughts left out."""
    for candidate in _list(document, "candidates"):
        for part in _list(_field(candidate, "content"), "parts"):
            if _field(part, "thought") is not True:
                yield _field(part, "text")


def _of_ollama(document: Any) -> tuple[Any, Any]:
    """Return the texts of an answer of /api/chat and of /api/generate."""
    return _field(_field(document, "message"), "content"), _field(document, "response")


def _of_event(event: Any) -> list[TextSlot]:
    """Return the text of a message that an event repeats as a whole."""
    done = event if _field(event, "type") == "response.output_text.done" else _field(event, "part")
    text = (
        _field(done, "text")
        if _field(done, "type") in ("output_text", "response.output_text.done")
        else None
    )
    return [text] if isinstance(text, TextSlot) else []


def _field(value: Any, key: str) -> Any:
    return value.get(key) if isinstance(value, dict) else None


def _list(value: Any, key: str) -> list[Any]:
    found = _field(value, key)
    return found if isinstance(found, list) else []


def _plain_error(endpoint: Endpoint, status: int) -> bytes:
    message = f"the API answered with status {status} and a body that is not JSON, left out here"
    if endpoint.format == "ollama":
        return dumps({"error": message})
    if endpoint.format == "anthropic":
        return dumps({"type": "error", "error": {"type": "api_error", "message": message}})
    return dumps(
        {"error": {"message": message, "type": "upstream_error", "param": None, "code": None}}
    )


def alike(first: str, second: str) -> bool:
    """Return True for texts that differ in white space at most."""
    return first == second or first.split() == second.split()


def _spellings(value: str) -> set[str]:
    """Return the spellings of a released value in JSON: some writers escape <, > and &, slashes,
    or all but ASCII.
    """
    plain = {str(encode(value))[1:-1] for encode in (encode_basestring, encode_basestring_ascii)}
    spelled = set(plain)
    for text in plain:
        for form in ("\\u{:04x}", "\\u{:04X}"):
            spelled.add("".join(form.format(ord(c)) if c in "<>&" else c for c in text))
    return spelled | {text.replace("/", "\\/") for text in spelled}
