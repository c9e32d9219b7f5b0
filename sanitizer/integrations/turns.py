"""The filter for frameworks that hand out messages instead of HTTP requests.

A framework's call is written as a request of OpenAI's API, sanitized as such, and its answer
restored as such. So every integration shares one reading of what is text, and one table.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator
from typing import Any

from sanitizer.errors import UpstreamError
from sanitizer.pipeline.sanitizer import Sanitizer
from sanitizer.wire.event_streams import Frames
from sanitizer.wire.filter import Exchange, Filter
from sanitizer.wire.headers import WireRecord

Json = dict[str, Any]

JSON, EVENTS = "application/json", "text/event-stream"


class Turns:
    """Sanitizer of a conversation's calls, each given as a request of the API. Thread-safe.

    Guarantee: as `Filter`: every string of a call is sanitized or is at a position that holds no
    text; anything else raises, and nothing may be sent then.
    Not protected: what a framework sends beside the call.

    >>> from sanitizer import Sanitizer
    >>> turns = Turns(Sanitizer(policy="identifiers"))
    >>> turn = turns.begin({"messages": [{"role": "user", "content": "Ask anna@example.org"}]})
    >>> turn.request
    {'messages': [{'role': 'user', 'content': 'Ask <EMAIL_1>'}]}
    >>> turn.message({"role": "assistant", "content": "<EMAIL_1>?"})["content"]
    'anna@example.org?'
    """

    def __init__(self, sanitizer: Sanitizer) -> None:
        self._filter = Filter(sanitizer)

    def begin(self, request: Json, endpoint: str = "chat/completions") -> Turn:
        """Sanitize one call.

        Args:
            request: body of a request to the endpoint, as JSON values.
            endpoint: "chat/completions", "responses", "completions" or "embeddings".

        Raises:
            RequestRefused, SanitizerError: as `Filter.request`; nothing may be sent then.
            TypeError: the call holds something that is no JSON value.
        """
        given = {"content-type": JSON}, json.dumps(request).encode()
        return Turn(self._filter.request("POST", f"/v1/{endpoint}", *given))


class Turn:
    """One call: what may be sent in its place, what that released, and what restores its answer."""

    def __init__(self, exchange: Exchange) -> None:
        self._exchange = exchange
        self.request: Json = json.loads(exchange.body)
        self.record: WireRecord = exchange.record

    def answer(self, answer: Json) -> Json:
        """Return a whole answer restored. Raises UpstreamError, VaultError."""
        body = json.dumps(answer).encode()
        restored: Json = json.loads(self._exchange.response(200, JSON, body))
        return restored

    def message(self, message: Json) -> Json:
        """Return one message of the assistant restored, as the only choice of a chat's answer."""
        restored = self.answer({"choices": [{"index": 0, "message": message}]})
        found: Json = restored["choices"][0]["message"]
        return found

    def events(self) -> TurnEvents:
        """Return what restores an answer that comes in events. Raises UpstreamError."""
        return TurnEvents(self._exchange)


class TurnEvents:
    """A streamed answer: events of the API in, restored events out, as JSON values.

    Text that may become a released value is held back, so events come later, or one more comes.
    """

    def __init__(self, exchange: Exchange) -> None:
        self._stream = exchange.stream(EVENTS)
        self._frames = Frames()

    def feed(self, event: Json) -> list[Json]:
        """Feed one event; return those that can be passed on now. Raises UpstreamError."""
        name = f"event: {event['type']}\n" if isinstance(event.get("type"), str) else ""
        data = f"{name}data: {json.dumps(event)}\n\n".encode()
        return _events(list(self._frames.feed(self._stream.feed(data))))

    def finish(self) -> list[Json]:
        """End the stream; return the events still held back. Raises UpstreamError."""
        blocks = list(self._frames.feed(self._stream.finish()))
        return _events([*blocks, self._frames.finish()])

    def leave(self) -> None:
        """Keep what came of a stream that is left in its middle. Raises VaultError."""
        self._stream.leave()

    def through(self, events: Iterator[Json]) -> Iterator[Json]:
        """Yield a whole stream restored."""
        try:
            for event in events:
                yield from self.feed(event)
            yield from self.finish()
        finally:
            self.leave()

    async def athrough(self, events: AsyncIterator[Json]) -> AsyncIterator[Json]:
        """Yield a whole stream restored, as it comes."""
        try:
            async for event in events:
                for restored in self.feed(event):
                    yield restored
            for restored in self.finish():
                yield restored
        finally:
            self.leave()


def _events(blocks: list[bytes]) -> list[Json]:
    found = []
    for block in blocks:
        lines = [line[5:].strip() for line in block.splitlines() if line.startswith(b"data:")]
        if not (data := b"\n".join(lines)) or data == b"[DONE]":
            continue
        event = json.loads(data)
        if not isinstance(event, dict):
            raise UpstreamError("the stream holds an event that is no JSON object")
        found.append(event)
    return found
