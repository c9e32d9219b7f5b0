"""Answers in the shape of Anthropic's Messages, whole and streamed, for `RecordingServer`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

Json = dict[str, Any]

USAGE = {"input_tokens": 1, "output_tokens": 1}


def answer(
    endpoint: str, document: Json, text: str, tool: str | None = None, size: int = 3
) -> tuple[bytes, Iterator[bytes] | None]:
    """Return the body of an answer, and its events if the request asks for a stream.

    >>> json.loads(answer("messages", {}, "Hello")[0])["content"]
    [{'type': 'text', 'text': 'Hello'}]

    Args:
        endpoint: "messages" or "messages/count_tokens".
        document: body of the request.
        text: what is said.
        tool: name of a tool to call instead, with input {"text": text}.
        size: characters of one delta.
    """
    if endpoint == "messages/count_tokens":
        return json.dumps({"input_tokens": len(text)}).encode(), None
    block: Json = {"type": "text", "text": text}
    if tool is not None:
        block = {"type": "tool_use", "id": "toolu_1", "name": tool, "input": {"text": text}}
    if document.get("stream") is True:
        return b"", events([block], size)
    return json.dumps(message([block])).encode(), None


def message(blocks: list[Json]) -> Json:
    """Return a whole message of the assistant."""
    calls = any(block["type"] == "tool_use" for block in blocks)
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "test",
        "content": blocks,
        "stop_reason": "tool_use" if calls else "end_turn",
        "stop_sequence": None,
        "usage": USAGE,
    }


def events(blocks: list[Json], size: int = 3) -> Iterator[bytes]:
    """Yield the events of a message that is streamed.

    Args:
        blocks: its content.
        size: characters of one delta.
    """
    whole = message(blocks)
    yield event("message_start", message={**whole, "content": [], "stop_reason": None})
    yield event("ping")
    for index, block in enumerate(blocks):
        empty, deltas = _cut(block, size)
        yield event("content_block_start", index=index, content_block=empty)
        for delta in deltas:
            yield event("content_block_delta", index=index, delta=delta)
        yield event("content_block_stop", index=index)
    ending = {"stop_reason": whole["stop_reason"], "stop_sequence": None}
    yield event("message_delta", delta=ending, usage={"output_tokens": 1})
    yield event("message_stop")


def event(kind: str, **fields: Any) -> bytes:
    """Return one event, named by its type."""
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **fields})}\n\n".encode()


def _cut(block: Json, size: int) -> tuple[Json, list[Json]]:
    """Return a block as it begins, and the deltas that fill it."""

    def pieces(kind: str, field: str, text: str) -> list[Json]:
        return [{"type": kind, field: text[i : i + size]} for i in range(0, len(text), size)]

    if block["type"] == "text":
        return {**block, "text": ""}, pieces("text_delta", "text", block["text"])
    if block["type"] == "thinking":
        signed = {"type": "signature_delta", "signature": block["signature"]}
        thought = pieces("thinking_delta", "thinking", block["thinking"])
        return {**block, "thinking": "", "signature": ""}, [*thought, signed]
    if "input" in block:
        spelled = block["input"] if isinstance(block["input"], str) else json.dumps(block["input"])
        return {**block, "input": {}}, pieces("input_json_delta", "partial_json", spelled)
    return block, []
