"""The table of Gemini's generateContent: shapes of requests, answers and events of streams.

The API reads both spellings of a field ("inlineData" and "inline_data"), so every field is listed
in both. What tools on the API's side did stands in the model's own content, and is the model's
here too.

Not protected: as in `shapes`; and the signature of a thought, which fits only what the API sent.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from sanitizer.wire.shapes import (
    INPUT,
    KEEP,
    LIGHT,
    LOGPROBS,
    NAME,
    OPAQUE,
    TEXT,
    JsonShape,
    Media,
    Rule,
    settings,
)

_Fields = dict[str, Rule | Media | JsonShape]


def _spelled(fields: Mapping[str, Rule | Media | JsonShape]) -> _Fields:
    """Return fields under both of their names.

    >>> sorted(_spelled({"inlineData": KEEP}))
    ['inlineData', 'inline_data']
    """
    return {
        spelling: rule
        for name, rule in fields.items()
        for spelling in (name, re.sub("[A-Z]", lambda m: "_" + m[0].lower(), name))
    }


_MEDIA = Media("file")
_CALL = JsonShape(
    _spelled({"id": NAME, "name": NAME, "toolType": NAME, "args": INPUT}),
    role="assistant",
    is_call=True,
)
_RESULT: _Fields = _spelled({
    **dict.fromkeys(("id", "name", "scheduling", "toolType", "outcome"), NAME),
    "response": TEXT,
})  # fmt: skip
_PART: _Fields = _spelled({
    "text": TEXT,
    "thoughtSignature": OPAQUE,
    "functionCall": _CALL,
    "toolCall": _CALL,
    "toolResponse": JsonShape(_RESULT, role="assistant"),
    "executableCode": JsonShape({"id": NAME, "language": NAME}, role="assistant"),
    "codeExecutionResult": JsonShape({"id": NAME, "outcome": NAME}, role="assistant"),
    "inlineData": _MEDIA,
    "fileData": _MEDIA,
    "videoMetadata": KEEP,
    "mediaResolution": settings("level"),
    "mediaProcessing": settings(),
})  # fmt: skip
PART = JsonShape(_PART)
"""Shape of a part of a content: a text, a call, a result, a file."""
_PART |= _spelled({
    "functionResponse": JsonShape({**_RESULT, "parts": PART}, role="tool"),
})  # fmt: skip
CONTENT = JsonShape({"role": NAME, "parts": PART}, speaks=True)
"""Shape of what one of the two says."""

_DECLARED = JsonShape(_spelled({
    "name": NAME,
    "behavior": NAME,
    **dict.fromkeys(("description", "parameters", "parametersJsonSchema"), LIGHT),
    **dict.fromkeys(("response", "responseJsonSchema"), LIGHT),
}))  # fmt: skip
_TOOL = JsonShape(_spelled({
    "functionDeclarations": _DECLARED,
    **dict.fromkeys(("googleSearch", "googleSearchRetrieval", "googleMaps"), KEEP),
    **dict.fromkeys(("enterpriseWebSearch", "urlContext", "codeExecution"), KEEP),
    **dict.fromkeys(("computerUse", "retrieval", "mcpServers"), KEEP),
    "fileSearch": JsonShape(_spelled({"fileSearchStoreNames": NAME, "metadataFilter": LIGHT})),
}))  # fmt: skip
_GENERATION = JsonShape(_spelled({
    "stopSequences": LIGHT,
    **dict.fromkeys(("responseMimeType", "responseModalities", "mediaResolution"), NAME),
    **dict.fromkeys(("responseSchema", "responseJsonSchema", "responseFormat"), LIGHT),
    "thinkingConfig": settings("thinkingLevel", "thinking_level"),
    "speechConfig": KEEP,
    "imageConfig": KEEP,
    "routingConfig": KEEP,
    "modelSelectionConfig": KEEP,
}))  # fmt: skip
_CALLING = settings("mode", "allowedFunctionNames", "allowed_function_names")
_FIELDS: _Fields = _spelled({
    "model": NAME,
    "contents": CONTENT,
    "systemInstruction": JsonShape({"role": NAME, "parts": PART}, role="system"),
    "tools": _TOOL,
    "toolConfig": JsonShape(_spelled({
        "functionCallingConfig": _CALLING,
        "retrievalConfig": JsonShape(_spelled({"languageCode": NAME})),
    })),
    "safetySettings": settings("category", "threshold", "method"),
    "generationConfig": _GENERATION,
    "cachedContent": NAME,
    "serviceTier": NAME,
    "labels": LIGHT,
})  # fmt: skip
_REQUEST = JsonShape(_FIELDS, role="user")
_COUNTED = JsonShape(
    {**_FIELDS, **_spelled({"generateContentRequest": _REQUEST})},
    role="user",
)

REQUESTS: Mapping[str, JsonShape] = {
    "generateContent": _REQUEST,
    "streamGenerateContent": _REQUEST,
    "countTokens": _COUNTED,
}
"""Method -> shape of a request."""

CANDIDATE = JsonShape(_spelled({
    "content": JsonShape(CONTENT.fields, role="assistant", speaks=True),
    "finishReason": NAME,
    "safetyRatings": KEEP,
    "logprobsResult": LOGPROBS,
    "citationMetadata": JsonShape({}, role="source"),
    # What the model looked for and found: it does not come back.
    **dict.fromkeys(("groundingMetadata", "urlContextMetadata"), JsonShape({}, role="source")),
}))  # fmt: skip
ANSWER = JsonShape(_spelled({
    "candidates": CANDIDATE,
    "promptFeedback": KEEP,
    "usageMetadata": KEEP,
    "modelStatus": KEEP,
    **dict.fromkeys(("modelVersion", "responseId", "createTime"), NAME),
}))  # fmt: skip
"""Shape of a whole answer, and of an event of a stream."""

ANSWERS: Mapping[str, JsonShape] = {
    "generateContent": ANSWER,
    "streamGenerateContent": ANSWER,
    "countTokens": JsonShape({"promptTokensDetails": KEEP}),
}
"""Method -> shape of an answer."""

KNOWN = frozenset(ANSWER.fields)
"""Fields of which an answer or an event has at least one."""


def asks_for_json(document: Mapping[str, Any]) -> bool:
    """Return True if a request asks for answers in JSON."""
    for name in _spelled({"generationConfig": KEEP}):
        found = document.get(name)
        for field in _spelled({"responseMimeType": KEEP}):
            if isinstance(found, dict) and found.get(field) == "application/json":
                return True
    return False


def n_candidates(document: Mapping[str, Any], number: Callable[[Any], int | None]) -> int | None:
    """Return how many answers a request asks for; None if it does not tell.

    Args:
        number: reads a number of the document; None is one.
    """
    found = [
        config.get(field)
        for name in _spelled({"generationConfig": KEEP})
        if isinstance(config := document.get(name), dict)
        for field in _spelled({"candidateCount": KEEP})
        if config.get(field) is not None
    ]
    return number(found[0]) if found else 1


def comes_in_pieces(document: Mapping[str, Any]) -> bool:
    """Return True if a history has texts of the model next to each other, as SDKs keep a stream.

    Told by what is there alone, never by what it says.
    """
    before: bool | None = None  # whether the part before is a thought; None if it is no text
    contents = document.get("contents")
    for content in contents if isinstance(contents, list) else []:
        if not isinstance(content, dict) or content.get("role") != "model":
            before = None
            continue
        parts = content.get("parts")
        for part in parts if isinstance(parts, list) else []:
            is_text = isinstance(part, dict) and isinstance(part.get("text"), str)
            now = part.get("thought") is True if is_text else None
            if now is not None and now == before:
                return True
            before = now
    return False
