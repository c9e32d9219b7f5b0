"""Answers in the shape of Anthropic's, Gemini's and Ollama's own APIs, whole and streamed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from sanitizer.wire.endpoints import format_of

Json = dict[str, Any]

LINES = "application/x-ndjson"
_USAGE = {"input_tokens": 1, "output_tokens": 1}


def answer(
    endpoint: str, document: Json, text: str, tool: str | None = None, size: int = 3
) -> tuple[bytes, Iterator[bytes] | None]:
    """Return the body of an answer, and its events or lines if the request asks for a stream.

    >>> json.loads(answer("api/chat", {"stream": False}, "Hello")[0])["message"]["content"]
    'Hello'

    Args:
        endpoint: name of one of their endpoints.
        tool: name of a function to call instead, with arguments {"text": text}.
        size: characters of one delta.
    """
    if format_of(endpoint) == "anthropic":
        return _of_messages(endpoint, document, text, tool, size)
    pieces = [text[i : i + size] for i in range(0, len(text), size)]
    if endpoint == "countTokens":
        return json.dumps({"totalTokens": len(text)}).encode(), None
    if format_of(endpoint) == "gemini":
        part: Json = {"text": text}
        if tool is not None:
            part = {"functionCall": {"id": "call_1", "name": tool, "args": {"text": text}}}
        if endpoint == "generateContent":
            return json.dumps(content([part])).encode(), None
        parts = [part] if tool is not None else [{"text": piece} for piece in pieces]
        return b"", events(parts)
    if document.get("stream", True) is False:
        return json.dumps(_line(endpoint, text, tool, done=True)).encode(), None
    return b"", _lines(endpoint, [text] if tool is not None else pieces, tool)


def content(parts: list[Json], finish: str | None = "STOP") -> Json:
    """Return an answer of Gemini, or an event of its stream."""
    candidate: Json = {"content": {"role": "model", "parts": parts}, "index": 0}
    if finish is not None:
        candidate["finishReason"] = finish
    usage = {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2}
    named = {"modelVersion": "test", "responseId": "answer-1"}
    return {"candidates": [candidate], "usageMetadata": usage, **named}


def events(parts: list[Json]) -> Iterator[bytes]:
    """Yield the events of an answer of Gemini, one for each part."""
    for i, part in enumerate(parts):
        event = content([part], "STOP" if i == len(parts) - 1 else None)
        yield b"data: " + json.dumps(event).encode() + b"\r\n\r\n"


def _line(endpoint: str, text: str, tool: str | None, done: bool) -> Json:
    line: Json = {"model": "test", "created_at": "2026-01-31T09:30:00.000000Z", "done": done}
    if done:
        line |= {"done_reason": "stop", "total_duration": 1, "eval_count": 1}
    if endpoint == "api/generate":
        return {**line, "response": text}
    message: Json = {"role": "assistant", "content": "" if tool else text}
    if tool is not None and text:
        message["tool_calls"] = [{"function": {"name": tool, "arguments": {"text": text}}}]
    return {**line, "message": message}


def _lines(endpoint: str, pieces: list[str], tool: str | None) -> Iterator[bytes]:
    for piece in pieces:
        yield json.dumps(_line(endpoint, piece, tool, done=False)).encode() + b"\n"
    yield json.dumps(_line(endpoint, "", None, done=True)).encode() + b"\n"


def _of_messages(
    endpoint: str, document: Json, text: str, tool: str | None, size: int
) -> tuple[bytes, Iterator[bytes] | None]:
    if endpoint == "messages/count_tokens":
        return json.dumps({"input_tokens": len(text)}).encode(), None
    block: Json = {"type": "text", "text": text}
    if tool is not None:
        block = {"type": "tool_use", "id": "toolu_1", "name": tool, "input": {"text": text}}
    if document.get("stream") is True:
        return b"", message_events([block], size)
    return json.dumps(message([block])).encode(), None


def message(blocks: list[Json]) -> Json:
    """Return a whole message of the assistant."""
    calls = any(block["type"] == "tool_use" for block in blocks)
    reason = "tool_use" if calls else "end_turn"
    named = {"id": "msg_1", "type": "message", "role": "assistant", "model": "test"}
    ending = {"stop_reason": reason, "stop_sequence": None, "usage": _USAGE}
    return {**named, "content": blocks, **ending}


def message_events(blocks: list[Json], size: int = 3) -> Iterator[bytes]:
    """Yield the events of a message that is streamed."""
    whole = message(blocks)
    yield message_event("message_start", message={**whole, "content": [], "stop_reason": None})
    yield message_event("ping")
    for index, block in enumerate(blocks):
        empty, deltas = _cut(block, size)
        yield message_event("content_block_start", index=index, content_block=empty)
        for delta in deltas:
            yield message_event("content_block_delta", index=index, delta=delta)
        yield message_event("content_block_stop", index=index)
    ending = {"stop_reason": whole["stop_reason"], "stop_sequence": None}
    yield message_event("message_delta", delta=ending, usage={"output_tokens": 1})
    yield message_event("message_stop")


def message_event(kind: str, **fields: Any) -> bytes:
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
