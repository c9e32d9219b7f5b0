"""One question to an OpenAI-compatible API. The transport sanitizes, restores, and fails closed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager

import httpx

from sanitizer import Sanitizer
from sanitizer.clients.httpx import FilterTransport

from .wish import Failure, Target

TIMEOUT = httpx.Timeout(120.0, connect=10.0)
UNKNOWN = (401, 403, 407)  # whoever asks is not let in


def reach(target: Target) -> None:
    """Ask the address for its models, with nothing of the text: does an API answer there?

    Raises:
        Failure: nothing answers, or the key is refused.
    """
    headers = {"authorization": f"Bearer {target.key}"} if target.key else {}
    with _plainly(), httpx.Client(timeout=TIMEOUT) as client:
        response = client.get(target.address.rstrip("/") + "/models", headers=headers)
    if response.status_code in UNKNOWN:
        raise Failure(f"The API refuses this key: {_status(response)}.")


def _status(response: httpx.Response) -> str:
    return f"{response.status_code} {response.reason_phrase}"


@contextmanager
def _plainly() -> Iterator[None]:
    """Say in plain words what went wrong on the way to the API."""
    try:
        yield
    except (httpx.UnsupportedProtocol, httpx.InvalidURL):
        raise Failure("The address must begin with http:// or https:// and name a host.") from None
    except httpx.ConnectError:
        raise Failure("Nothing answers at this address.") from None
    except httpx.TimeoutException:
        raise Failure("The API took too long to answer.") from None
    except httpx.TransportError:
        raise Failure("The connection to the API broke.") from None


def ask(sanitizer: Sanitizer, target: Target, text: str) -> Iterator[str]:
    """Yield the restored answer to a text, in pieces as they come.

    Args:
        sanitizer: decides what leaves.
        text: as typed.

    Raises:
        SanitizerError: nothing was sent, or the answer cannot be restored.
        Failure: the API did not answer.
    """
    question = {
        "model": target.model,
        "messages": [{"role": "user", "content": text}],
        "stream": True,
    }
    headers = {"authorization": f"Bearer {target.key}"} if target.key else {}
    url = target.address.rstrip("/") + "/chat/completions"
    transport = FilterTransport(httpx.HTTPTransport(), sanitizer)
    with (
        _plainly(),
        httpx.Client(transport=transport, timeout=TIMEOUT) as client,
        client.stream("POST", url, headers=headers, json=question) as response,
    ):
        if response.status_code != httpx.codes.OK:
            raise Failure(f"The API answered with an error: {_status(response)}.")
        yield from _said(response)


def _said(response: httpx.Response) -> Iterator[str]:
    """Yield the text of a streamed answer."""
    for data in _events(response):
        event = json.loads(data)
        if event.get("error"):
            raise Failure("The API ended the stream with an error.")
        for choice in event.get("choices", ()):
            if piece := choice["delta"].get("content"):
                yield piece


def _events(response: httpx.Response) -> Iterator[bytes]:
    """Yield the data of the events.

    Split at newlines only: `iter_lines` would also split at U+2028 inside a text.
    """
    rest = b""
    for received in response.iter_bytes():
        *lines, rest = (rest + received).split(b"\n")
        for line in lines:
            if line.startswith(b"data:") and line[5:].strip() != b"[DONE]":
                yield line[5:]
