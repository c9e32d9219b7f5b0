"""The table of Ollama's own API: shapes of requests and answers; a line of a stream is an answer.

Not protected: as in `shapes`. The `context` of an earlier answer is refused: its token numbers are
text in disguise. Chats send messages instead.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sanitizer.wire.shapes import (
    INPUT,
    KEEP,
    LIGHT,
    LOGPROBS,
    NAME,
    TEXT,
    TOKENS,
    TOOL,
    JsonShape,
    Media,
    Rule,
)

_Fields = dict[str, Rule | Media | JsonShape]

_IMAGES = Media("image")
_FUNCTION = JsonShape({"name": NAME, "arguments": INPUT}, is_call=True)
_CALL = JsonShape({"id": NAME, "type": NAME, "function": _FUNCTION}, role="assistant", is_call=True)
_MESSAGE: _Fields = {
    **dict.fromkeys(("role", "name", "tool_name", "tool_call_id"), NAME),
    "content": TEXT,
    "thinking": TEXT,
    "images": _IMAGES,
    "tool_calls": _CALL,
}
_COMMON: _Fields = {
    **dict.fromkeys(("model", "think", "keep_alive"), NAME),
    "format": LIGHT,
    "options": JsonShape({"stop": LIGHT}),
}

REQUESTS: Mapping[str, JsonShape] = {
    "api/chat": JsonShape({
        **_COMMON,
        "messages": JsonShape(_MESSAGE, speaks=True),
        "tools": TOOL,
    }, role="user"),
    "api/generate": JsonShape({
        **_COMMON,
        "system": JsonShape({}, role="system"),
        "template": LIGHT,
        "images": _IMAGES,
        "context": TOKENS,
    }, role="user"),
}  # fmt: skip
"""Endpoint -> shape of a request."""

_ENDING: _Fields = {
    **dict.fromkeys(("model", "created_at", "done_reason", "remote_model", "remote_host"), NAME),
    "context": KEEP,
    "logprobs": LOGPROBS,
}
ANSWERS: Mapping[str, JsonShape] = {
    "api/chat": JsonShape({
        **_ENDING,
        "message": JsonShape(_MESSAGE, role="assistant", speaks=True),
    }),
    "api/generate": JsonShape(_ENDING, role="assistant"),
}  # fmt: skip
"""Endpoint -> shape of a whole answer, and of a line of a stream."""


def asks_for_json(document: Mapping[str, Any]) -> bool:
    """Return True if a request asks for answers in JSON: by name, or by a schema."""
    form = document.get("format")
    return form == "json" or isinstance(form, dict)
