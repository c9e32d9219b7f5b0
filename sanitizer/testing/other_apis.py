"""Answers in the shape of Gemini's and Ollama's own APIs, whole and streamed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

Json = dict[str, Any]

GEMINI = ("generateContent", "streamGenerateContent", "countTokens")
OLLAMA = ("api/chat", "api/generate")
LINES = "application/x-ndjson"


def answer(
    endpoint: str, document: Json, text: str, tool: str | None = None, size: int = 3
) -> tuple[bytes, Iterator[bytes] | None]:
    """Return the body of an answer, and its events or lines if the request asks for a stream.

    >>> json.loads(answer("api/chat", {"stream": False}, "Hello")[0])["message"]["content"]
    'Hello'

    Args:
        endpoint: one of GEMINI or OLLAMA.
        document: body of the request.
        text: what is said.
        tool: name of a function to call instead, with arguments {"text": text}.
        size: characters of one delta.
    """
    pieces = [text[i : i + size] for i in range(0, len(text), size)]
    if endpoint == "countTokens":
        return json.dumps({"totalTokens": len(text)}).encode(), None
    if endpoint in GEMINI:
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
    return {
        "candidates": [candidate],
        "usageMetadata": usage,
        "modelVersion": "test",
        "responseId": "answer-1",
    }


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
