"""Restoring what the API answers: whole bodies, and the parts that streams use."""

from __future__ import annotations

import re
from codecs import BOM_UTF8
from collections.abc import Iterator, Mapping
from functools import cached_property
from json.encoder import encode_basestring, encode_basestring_ascii
from typing import Any

from sanitizer.answers import RestoredStream, Restorer
from sanitizer.errors import UpstreamError
from sanitizer.pipeline import Sanitizer
from sanitizer.wire.find_text import ARGUMENTS_ROLE, TextFinder, TextSlot, dumps, inner, loads
from sanitizer.wire.shapes import ANSWERS, ERROR, JsonShape

_LISTS = {
    "chat/completions": "choices",
    "completions": "choices",
    "responses": "output",
    "embeddings": "data",
}
_SAID = (
    None,
    "message",
    "function_call",
    "mcp_call",
)  # types of messages and items that come back as history
MAX_REMEMBERED_TEXTS = 64


class JsonText:
    """A JSON document that comes in pieces, restored in its values only.

    Inside a string, originals are escaped; a released value that stands bare becomes a string. Keys
    stay, because what is private there could leave again in the next request.

    Args:
        strings: restores what stands between quotes. bare: released value -> original.
    """

    def __init__(self, strings: Restorer, bare: Mapping[str, str]) -> None:
        self._strings, self._bare = strings, bare
        self._string: RestoredStream | None = None
        self._escaped = self._is_key = False
        self._open: list[str] = []
        self._token = ""

    def feed(self, piece: str) -> str:
        """What can be shown once this piece has come."""
        shown: list[str] = []
        at = 0
        while at < len(piece):
            at = (
                self._outside(piece, at, shown)
                if self._string is None
                else self._inside(piece, at, shown)
            )
        return "".join(shown)

    def finish(self) -> str:
        """The rest: nothing more comes."""
        return self._string.finish() if self._string is not None else self._value()

    def _inside(self, piece: str, at: int, shown: list[str]) -> int:
        """Up to the end of the string, or of the piece."""
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
        """Up to the next mark of the document, or the end of the piece."""
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


class Restoration:
    """The originals of one conversation, as they were when the answer began to come.

    Args:
        sanitizer: of the conversation. in_json: the request asked for messages in JSON, which are
            to stay JSON.
    """

    def __init__(self, sanitizer: Sanitizer, in_json: bool = False) -> None:
        self._sanitizer, self.in_json = sanitizer, in_json
        self._said: dict[tuple[str, str, str], None] = {}
        self._texts: Restorer | None = None

    @property
    def texts(self) -> Restorer:
        """For text."""
        if self._texts is None:
            self._texts = self._sanitizer.inner.restorer()
        return self._texts

    def stream(self, sort: str) -> RestoredStream | JsonText:
        """For a text in pieces; of sort "arguments" if it is JSON."""
        return (
            JsonText(self._strings, self.texts.originals)
            if sort == "arguments"
            else self.texts.stream()
        )

    @cached_property
    def _strings(self) -> Restorer:
        """For strings of JSON, so that it stays JSON: originals are escaped, released values found
        escaped.
        """
        originals = self.texts.originals
        return Restorer(
            {
                form: inner(original)
                for value, original in originals.items()
                for form in _spellings(value)
            }
        )

    def remember(self, sent: str, restored: str, role: str) -> None:
        """Something the assistant said, to go back as it came; `settle` lets it.

        Args:
            role: "assistant" of a message, ARGUMENTS_ROLE of a call's arguments, whole.
        """
        if self._sanitizer.policy.perturb and len(self._said) <= MAX_REMEMBERED_TEXTS:
            self._said[sent, restored, role] = None

    def settle(self) -> None:
        """The answer is complete. Nothing of one with many texts is kept: they could be guesses at
        private ones.
        """
        if len(self._said) <= MAX_REMEMBERED_TEXTS:
            for sent, restored, role in self._said:
                self._sanitizer.inner.remember_answer(sent, restored, role)

    def document(self, shape: JsonShape, document: Any, remember: bool = False) -> Any:
        """The document restored; the same object if there is nothing to restore."""
        walker = TextFinder(answer=True)
        walked = walker.walk(shape, document)
        spoken: list[tuple[TextSlot, str, str]] = []
        if self.in_json or (remember and self._sanitizer.policy.perturb):  # else nobody asks
            spoken = [
                (leaf, leaf.text, role)
                for leaf, role in _spoken(walked)
                if isinstance(leaf, TextSlot)
            ]
        if self.in_json:
            for leaf in [*[leaf for leaf, _, _ in spoken], *_of_event(walked)]:
                leaf.sort = "arguments"
        changed = [self._restore(leaf) for leaf in walker.leaves]
        if remember:
            for leaf, sent, role in spoken:
                self.remember(sent, leaf.text, role)
        return walked if any(changed) else document

    def _restore(self, leaf: TextSlot) -> bool:
        sent = leaf.text
        if leaf.sort == "arguments":
            stream = self.stream(leaf.sort)
            leaf.text = stream.feed(sent) + stream.finish()
        else:
            leaf.text = self.texts.text(sent)
        return leaf.text != sent


def restored_body(endpoint: str, status: int, body: bytes, restoration: Restoration) -> bytes:
    """A whole answer restored. Bodies without anything to restore come back byte for byte.

    An error that is not JSON (a gateway's HTML page) is replaced by one in the API's shape, which
    quotes nothing of it.
    Not protected: tokens in `logprobs` stay as the API wrote them, placeholders too.

    Raises:
        UpstreamError: a 2xx answer that is not this endpoint's JSON.
    """
    try:
        document = loads(body.removeprefix(BOM_UTF8).decode(), strict=False)
    except ValueError:
        document = None
    if not 200 <= status < 300:
        known = isinstance(document, dict)
        return _written(ERROR, document, body, restoration) if known else _plain_error(status)
    if not isinstance(document, dict):
        raise UpstreamError("the API answered with something that is not a JSON object")
    if "error" not in document and not isinstance(document.get(_LISTS[endpoint]), list):
        raise UpstreamError("the API answered with JSON that is not of this endpoint")
    written = _written(
        ANSWERS[endpoint],
        document,
        body,
        restoration,
        endpoint in ("chat/completions", "responses"),
    )
    restoration.settle()
    return written


def _written(
    shape: JsonShape, document: Any, body: bytes, restoration: Restoration, remember: bool = False
) -> bytes:
    restored = restoration.document(shape, document, remember)
    return body if restored is document else dumps(restored)


def _spoken(document: Any) -> Iterator[tuple[Any, str]]:
    """What the assistant said, at the positions of messages and calls, and the role it is
    remembered in.
    """
    choices = [_field(choice, "message") for choice in _list(document, "choices")]
    for message in [*choices, *_list(document, "output"), *_list(_field(document, "response"), "output"),
                    _field(document, "item")]:  # fmt: skip
        if (
            _field(message, "role") not in (None, "assistant")
            or _field(message, "type") not in _SAID
        ):
            continue
        content = _field(message, "content")
        yield content, "assistant"
        for part in _list(message, "content"):
            if _field(part, "type") in ("text", "output_text"):
                yield _field(part, "text"), "assistant"
        for call in [message, _field(message, "function_call"), *_list(message, "tool_calls")]:
            yield _field(_field(call, "function") or call, "arguments"), ARGUMENTS_ROLE


def _of_event(event: Any) -> list[TextSlot]:
    """The text of a message that an event states again, whole."""
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


def _plain_error(status: int) -> bytes:
    message = f"the API answered with status {status} and a body that is not JSON, left out here"
    return dumps(
        {"error": {"message": message, "type": "upstream_error", "param": None, "code": None}}
    )


def _spellings(value: str) -> set[str]:
    """How JSON writers may spell a released value: some escape <, > and &, slashes, or all but
    ASCII.
    """
    plain = {str(encode(value))[1:-1] for encode in (encode_basestring, encode_basestring_ascii)}
    spelled = set(plain)
    for text in plain:
        for form in ("\\u{:04x}", "\\u{:04X}"):
            spelled.add("".join(form.format(ord(c)) if c in "<>&" else c for c in text))
    return spelled | {text.replace("/", "\\/") for text in spelled}
