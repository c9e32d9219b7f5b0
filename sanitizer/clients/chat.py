"""A chat with an API: only sanitized text leaves, and answers come as the API wrote them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any

import httpx

from sanitizer.clients.transport import TransportFilter
from sanitizer.errors import UpstreamError
from sanitizer.pipeline.sanitizer import Sanitizer
from sanitizer.urls import check_base_url
from sanitizer.wire.event_streams import Frames

MAX_COMPLAINT = 300
"""Longest part of the API's error message that is shown, in characters."""
MAX_SILENCE = 600.0
"""Longest silence of the API, in seconds."""


class ChatConnection(AbstractContextManager["ChatConnection"]):
    """Connection to one API's /chat/completions whose answers still have to be restored.

    `Sanitizer.restored_stream` restores them.

    Guarantee: as `FilterTransport`. No redirect is followed.
    Not protected: the model's name, and the key, which the API has to know.

    >>> from sanitizer import Sanitizer
    >>> from sanitizer.testing import RecordingServer
    >>> sanitizer = Sanitizer(policy="identifiers")
    >>> with RecordingServer() as api:
    ...     with ChatConnection(api.url, sanitizer, model="any") as connection:
    ...         message = {"role": "user", "content": "Ask anna@example.org"}
    ...         answer = "".join(connection.answer([message]))
    >>> answer, sanitizer.restore(answer)
    ('Ask <EMAIL_1>', 'Ask anna@example.org')

    Args:
        upstream: base URL of the API.
        model: its name at the API.
        key: sent as `Authorization: Bearer`; None sends none.

    Raises:
        ValueError: the URL is no base URL, or the key is not visible ASCII.
    """

    def __init__(
        self, upstream: str, sanitizer: Sanitizer, *, model: str, key: str | None = None
    ) -> None:
        check_base_url("upstream", upstream)
        if key is not None and not (key.isascii() and key.isprintable() and " " not in key):
            raise ValueError("key must be visible ASCII without spaces")
        self._url = upstream.rstrip("/") + "/chat/completions"
        self._model = model
        self._headers = {"content-type": "application/json", "accept-encoding": "identity"}
        if key is not None:
            self._headers["authorization"] = f"Bearer {key}"
        self._filter = TransportFilter(sanitizer)
        self._client = httpx.Client(timeout=MAX_SILENCE)

    def answer(self, messages: Sequence[dict[str, str]]) -> Iterator[str]:
        """Yield the API's answer to a chat, in pieces, with placeholders.

        Args:
            messages: {"role", "content"}, ORIGINAL texts; they are sanitized before they are sent.

        Raises:
            UpstreamError: the API cannot be reached, or its answer is an error or cannot be read.
            SanitizerError: as `Sanitizer.sanitize`; nothing was sent.
        """
        request = {"model": self._model, "messages": list(messages), "stream": True}
        path = httpx.URL(self._url).raw_path
        given = json.dumps(request).encode()
        body = self._filter.request("POST", path, self._headers, given).body
        try:
            with self._client.stream(
                "POST", self._url, content=body, headers=self._headers
            ) as response:
                if response.status_code != httpx.codes.OK:
                    raise UpstreamError(_complaint(response))
                if response.headers.get("content-type", "").startswith("text/event-stream"):
                    frames = Frames()
                    for data in response.iter_bytes():
                        yield from map(_delta, frames.feed(data))
                    yield _delta(frames.finish())
                else:
                    yield _text(_document(response.read()), "message")
        except httpx.TimeoutException:
            raise UpstreamError("the API did not answer in time", 504) from None
        except httpx.HTTPError as error:
            raise UpstreamError(f"the API could not be reached ({type(error).__name__})") from None

    def __exit__(self, *_: object) -> None:
        self._client.close()


def _complaint(response: httpx.Response) -> str:
    """Return what the API says is wrong; what it quotes is text as it was sent, sanitized."""
    try:
        said = json.loads(response.read())["error"]["message"]
    except (ValueError, LookupError, TypeError, RecursionError):
        said = None
    stated = f"the API answered with status {response.status_code}"
    return f"{stated}: {said[:MAX_COMPLAINT]}" if isinstance(said, str) else stated


def _delta(block: bytes) -> str:
    """Return the delta of the first choice in an event."""
    lines = [line[5:].strip() for line in block.splitlines() if line.startswith(b"data:")]
    if not (data := b"\n".join(lines)) or data == b"[DONE]":
        return ""
    return _text(_document(data), "delta")


def _document(data: bytes) -> Any:
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        raise UpstreamError("the API sent something that is not JSON") from None


def _text(document: Any, field: str) -> str:
    """Return the text of a chat's first choice; "" for an event without choices, such as usage."""
    try:
        if "error" in document:
            raise UpstreamError("the API broke off with an error")
        choices = document["choices"]
        text = choices[0][field].get("content") if choices else None
    except (LookupError, TypeError, AttributeError):
        raise UpstreamError("the API sent something that is no chat completion") from None
    return text if isinstance(text, str) else ""
