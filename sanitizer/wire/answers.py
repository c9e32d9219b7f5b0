"""Restoring what the API answers: whole bodies, and the parts that streams use."""

from __future__ import annotations

from functools import cached_property
from json.encoder import encode_basestring, encode_basestring_ascii
from typing import Any

from sanitizer.errors import UpstreamError
from sanitizer.pipeline import Sanitizer
from sanitizer.restore import Restorer
from sanitizer.wire.codec import Leaf, dumps, inner, loads
from sanitizer.wire.shapes import ANSWERS, ERROR, Shape
from sanitizer.wire.walk import Walker, arguments_of

_LISTS = {"chat/completions": "choices", "completions": "choices", "responses": "output", "embeddings": "data"}
_SPOKEN = ("assistant", "tool")


class Restoration:
    """The originals of one conversation, as they were when the answer began to come.

    Args:
        sanitizer: of the conversation.
    """

    def __init__(self, sanitizer: Sanitizer) -> None:
        self._sanitizer = sanitizer

    @cached_property
    def texts(self) -> Restorer:
        """For text."""
        return self._sanitizer.restorer()

    @cached_property
    def arguments(self) -> Restorer:
        """For JSON inside strings, so that it stays JSON: originals are escaped, released values found escaped."""
        originals = self.texts.originals
        return Restorer({form: inner(original) for value, original in originals.items() for form in _spellings(value)})

    def remember(self, sent: str, restored: str, role: str = "assistant", sort: str = "text") -> None:
        """Let an answer go back as it came, when it comes again as history."""
        if not self._sanitizer.policy.perturb:
            return  # replacing identifiers again gives what was sent, at no cost
        pairs = [(sent, restored)]
        if sort == "arguments":
            pairs = list(zip(arguments_of(sent), arguments_of(restored), strict=False))
        for before, after in pairs:
            self._sanitizer.remember_answer(before, after, role)

    def document(self, shape: Shape, document: Any, remember: bool = False) -> Any:
        """The document restored; the same object if there is nothing to restore."""
        walker = Walker(answer=True)
        walked, changed = walker.walk(shape, document), False
        for leaf in walker.leaves:
            changed |= self._restore(leaf, remember)
        return walked if changed else document

    def _restore(self, leaf: Leaf, remember: bool) -> bool:
        sent = leaf.text
        leaf.text = (self.arguments if leaf.sort == "arguments" else self.texts).text(sent)
        if remember and leaf.role in _SPOKEN and leaf.sort in ("text", "arguments"):
            self.remember(sent, leaf.text, leaf.role, leaf.sort)
        return leaf.text != sent


def restored_body(endpoint: str, status: int, body: bytes, restoration: Restoration) -> bytes:
    """A whole answer restored. Bodies without anything to restore come back byte for byte.

    An error that is not JSON (a gateway's HTML page) is replaced by one in the API's shape, which quotes nothing of it.
    Not protected: tokens in `logprobs` stay as the API wrote them, placeholders too.

    Raises:
        UpstreamError: a 2xx answer that is not this endpoint's JSON.
    """
    try:
        document = loads(body.decode("utf-8-sig"), strict=False)
    except ValueError:
        document = None
    if not 200 <= status < 300:
        known = isinstance(document, dict)
        return _written(ERROR, document, body, restoration) if known else _plain_error(status)
    if not isinstance(document, dict):
        raise UpstreamError("the API answered with something that is not a JSON object")
    if "error" not in document and not isinstance(document.get(_LISTS[endpoint]), list):
        raise UpstreamError("the API answered with JSON that is not of this endpoint")
    return _written(ANSWERS[endpoint], document, body, restoration, endpoint in ("chat/completions", "responses"))


def _written(shape: Shape, document: Any, body: bytes, restoration: Restoration, remember: bool = False) -> bytes:
    restored = restoration.document(shape, document, remember)
    return body if restored is document else dumps(restored)


def _plain_error(status: int) -> bytes:
    message = f"the API answered with status {status} and a body that is not JSON, left out here"
    return dumps({"error": {"message": message, "type": "upstream_error", "param": None, "code": None}})


def _spellings(value: str) -> set[str]:
    """How JSON writers may spell a released value: some escape <, > and &, slashes, or all but ASCII."""
    plain = {str(encode(value))[1:-1] for encode in (encode_basestring, encode_basestring_ascii)}
    spelled = set(plain)
    for text in plain:
        for form in ("\\u{:04x}", "\\u{:04X}"):
            spelled.add("".join(form.format(ord(c)) if c in "<>&" else c for c in text))
    return spelled | {text.replace("/", "\\/") for text in spelled}
