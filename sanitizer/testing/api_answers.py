"""Answers in the shapes of OpenAI's API, for `RecordingServer`: chat, Responses, completions,
embeddings.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

Json = dict[str, Any]

JSON, EVENTS = "application/json", "text/event-stream"
USAGE = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}


@dataclass(frozen=True)
class Answer:
    """What the server sends back.

    Attributes:
        body: bytes are sent with their length; pieces are sent as they come, chunked. Pieces may
            wait for something before they come; if they raise, the connection is cut there.
        status: HTTP status. content_type, headers: as sent.
    """

    body: bytes | Iterable[bytes] = b"{}"
    status: int = 200
    content_type: str = JSON
    headers: tuple[tuple[str, str], ...] = field(default=())


def error(
    status: int, message: str = "scripted error", headers: tuple[tuple[str, str], ...] = ()
) -> Answer:
    """An error in the API's shape."""
    body = {"error": {"message": message, "type": "scripted", "param": None, "code": None}}
    return Answer(json.dumps(body).encode(), status, headers=headers)


def html(status: int = 200) -> Answer:
    """A gateway's page where JSON is due."""
    return Answer(b"<html><body>Bad gateway</body></html>", status, "text/html; charset=utf-8")


def last_text(document: Json) -> str:
    """The last text of a request: what `echo` sends back. Several parts are joined by a space."""
    said = document.get("messages") or document.get("input") or document.get("prompt") or ""
    if isinstance(said, list) and said:
        said = said[-1]
    if isinstance(said, dict):
        said = said.get("content") or said.get("output") or ""
    if isinstance(said, list):
        said = " ".join(part.get("text", "") for part in said)
    return str(said)


def answer(
    endpoint: str, document: Json, text: str, tool: str | None = None, size: int = 3
) -> Answer:
    """A text said in the endpoint's shape, as a stream if the request asks for one.

    Args:
        endpoint: last part of the path: "completions" after "chat" is "chat/completions".
        tool: name of a function to call instead, with arguments {"text": text}.
        size: characters of one delta.
    """
    whole = {"chat/completions": _chat, "responses": _response, "embeddings": _embedding}.get(
        endpoint, _completion
    )
    if endpoint == "embeddings" or document.get("stream") is not True:
        return Answer(json.dumps(whole(text, tool)).encode())
    streamed = {"chat/completions": _chat_chunks, "responses": _response_events}.get(
        endpoint, _completion_chunks
    )
    pieces = [text[i : i + size] for i in range(0, len(text), size)]
    if tool is not None:
        spelled = json.dumps({"text": text})
        pieces = [spelled[i : i + size] for i in range(0, len(spelled), size)]
    return Answer(streamed(pieces, text, tool), content_type=EVENTS)


def _chat(text: str, tool: str | None) -> Json:
    message: Json = {"role": "assistant", "content": text}
    if tool is not None:
        call = {"name": tool, "arguments": json.dumps({"text": text})}
        message = {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "call_1", "type": "function"}],
        }
        message["tool_calls"][0]["function"] = call
    choice = {
        "index": 0,
        "message": message,
        "finish_reason": "tool_calls" if tool else "stop",
        "logprobs": None,
    }
    return {**_head("chat.completion"), "choices": [choice], "usage": USAGE}


def _completion(text: str, tool: str | None) -> Json:
    choice = {"index": 0, "text": text, "finish_reason": "stop", "logprobs": None}
    return {**_head("text_completion"), "choices": [choice], "usage": USAGE}


def _embedding(text: str, tool: str | None) -> Json:
    data = [{"object": "embedding", "index": 0, "embedding": [0.5, -0.25]}]
    return {
        "object": "list",
        "model": "test",
        "data": data,
        "usage": {"prompt_tokens": 1, "total_tokens": 1},
    }


def _response(text: str, tool: str | None) -> Json:
    usage = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
    return {
        "id": "resp_1",
        "object": "response",
        "created_at": 0,
        "model": "test",
        "status": "completed",
        "output": [_item(text, tool)],
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "usage": usage,
    }


def _item(text: str, tool: str | None) -> Json:
    if tool is not None:
        spelled = json.dumps({"text": text})
        named = {"call_id": "call_1", "name": tool, "arguments": spelled}
        return {"id": "item_1", "type": "function_call", "status": "completed", **named}
    content = [{"type": "output_text", "text": text, "annotations": []}]
    return {
        "id": "item_1",
        "type": "message",
        "role": "assistant",
        "status": "completed",
        "content": content,
    }


def _head(kind: str) -> Json:
    return {"id": "answer-1", "object": kind, "created": 0, "model": "test"}


def _chat_chunks(pieces: list[str], text: str, tool: str | None) -> Iterable[bytes]:
    def chunk(delta: Json, reason: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "finish_reason": reason, "logprobs": None}
        return event({**_head("chat.completion.chunk"), "choices": [choice]})

    if tool is not None:
        call = {
            "index": 0,
            "id": "call_1",
            "type": "function",
            "function": {"name": tool, "arguments": ""},
        }
        yield chunk({"role": "assistant", "content": None, "tool_calls": [call]})
    else:
        yield chunk({"role": "assistant", "content": ""})
    for piece in pieces:
        called = {"tool_calls": [{"index": 0, "function": {"arguments": piece}}]}
        yield chunk(called if tool else {"content": piece})
    yield chunk({}, "tool_calls" if tool else "stop")
    yield b"data: [DONE]\n\n"


def _completion_chunks(pieces: list[str], text: str, tool: str | None) -> Iterable[bytes]:
    for i, piece in enumerate(pieces):
        reason = "stop" if i == len(pieces) - 1 else None
        choice = {"index": 0, "text": piece, "finish_reason": reason, "logprobs": None}
        yield event({**_head("text_completion"), "choices": [choice]})
    yield b"data: [DONE]\n\n"


def _response_events(pieces: list[str], text: str, tool: str | None) -> Iterable[bytes]:
    for number, body in enumerate(_response_bodies(pieces, text, tool)):
        yield event({**body, "sequence_number": number}, body["type"])


def _response_bodies(pieces: list[str], text: str, tool: str | None) -> Iterable[Json]:
    done, item = _response(text, tool), _item(text, tool)
    nothing: Json = {"arguments": ""} if tool else {"content": []}
    empty = {**item, "status": "in_progress", **nothing}
    at: Json = {"item_id": "item_1", "output_index": 0}
    kind, end = "function_call_arguments", {"arguments": item.get("arguments", "")}
    if tool is None:
        at, kind, end = {**at, "content_index": 0}, "output_text", {"text": text}
    yield {"type": "response.created", "response": {**done, "status": "in_progress", "output": []}}
    yield {"type": "response.output_item.added", "output_index": 0, "item": empty}
    if tool is None:
        part = {"type": "output_text", "text": "", "annotations": []}
        yield {"type": "response.content_part.added", **at, "part": part}
    for piece in pieces:
        yield {"type": f"response.{kind}.delta", **at, "delta": piece}
    yield {"type": f"response.{kind}.done", **at, **end}
    if tool is None:
        yield {"type": "response.content_part.done", **at, "part": item["content"][0]}
    yield {"type": "response.output_item.done", "output_index": 0, "item": item}
    yield {"type": "response.completed", "response": done}


def event(data: Json, name: str | None = None) -> bytes:
    """One event of a stream, named or not."""
    head = f"event: {name}\n" if name else ""
    return (head + "data: " + json.dumps(data) + "\n\n").encode()
