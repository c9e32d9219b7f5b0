"""The table of the API: which strings of a document are not text.

Every string at a position that is not listed is text: it
is sanitized on the way out and restored on the way back, whether the field is known or not. What a
position may hold instead:

TEXT       Text: all strings below it, however deep; keys of objects are treated as LIGHT.
LIGHT      Text in which identifiers are replaced but words are not perturbed, and numbers that are
           identifiers: what developers write for the model to read exactly (descriptions of tools,
           JSON schemas, names of files), parameters of machines (stop, metadata), and keys of
           objects, which schemas name. All below it, however deep.
NAME       A model, type, role or id: stays as it is, and must look like one (no spaces, no e-mail
           address, no number of a card, an account or a person).
OPAQUE     Bytes of the API's own in base64 or hexadecimal (encrypted reasoning, signatures): stays
           if it looks like that, and says no identifier of these kinds.
KEEP       A subtree that stays whole: grammars, settings of hosted tools. Refused if an identifier
           of these kinds is in it.
SECRET     A subtree that stays whatever it holds: credentials and addresses of hosted tools.
ARGUMENTS  A JSON document in a string: its values are TEXT, its keys LIGHT; all of it is TEXT if it
           is not JSON. Numbers that are originals of the conversation are replaced, here and in
           objects with unknown fields.
INPUT      A call's arguments as an object: as ARGUMENTS, but not in a string.
PERSON     A participant's name: text, but its replacement has no characters that the API forbids in
           names. NAME if the role is "tool" or "function".
TOKENS     Text, or a list of texts; lists of token numbers are text in disguise and refused.
LOGPROBS   Tokens of an answer: stay in answers (placeholders in them are not restored), refused in
           requests.
Media      Images, audio, files: refused unless the policy lets them pass.
JsonShape  An object with fields of its own, by its "type" if the shape tells several apart; a
           string in its place is text; a list in its place holds several.

Answers are restored at TEXT, PERSON, ARGUMENTS and INPUT positions only: what is restored anywhere
else would leave again with the next request.

Numbers beside known fields are parameters, such as a temperature: replaced only if their form or
their name tells an identifier (a card, `customer_number`), and never in `seed`.

Not protected: what occurs at SECRET positions, what else occurs at OPAQUE, KEEP and NAME positions,
numbers that are no identifiers, and words (not identifiers) at LIGHT positions.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum, auto


class Rule(Enum):
    """What happens to the strings at a position; the module's docstring explains each member."""

    TEXT = auto()
    LIGHT = auto()
    NAME = auto()
    OPAQUE = auto()
    KEEP = auto()
    SECRET = auto()
    ARGUMENTS = auto()
    INPUT = auto()
    PERSON = auto()
    TOKENS = auto()
    LOGPROBS = auto()


TEXT, LIGHT, NAME, OPAQUE, KEEP = Rule.TEXT, Rule.LIGHT, Rule.NAME, Rule.OPAQUE, Rule.KEEP
ARGUMENTS, PERSON, TOKENS, LOGPROBS = Rule.ARGUMENTS, Rule.PERSON, Rule.TOKENS, Rule.LOGPROBS
INPUT, SECRET = Rule.INPUT, Rule.SECRET
"""The rules under names of the module: up to Python 3.11 a look-up in an Enum costs a call."""


@dataclass(frozen=True, slots=True)
class Media:
    """A position that holds something other than text.

    Attributes:
        reason: reason of the refusal: "image", "audio" or "file".
    """

    reason: str


@dataclass(frozen=True, eq=False)
class JsonShape:
    """An object with known fields.

    Attributes:
        fields: key -> rule; other keys hold text.
        role: whose text it holds; "" for that of the object around it.
        speaks: the object's own role or type says whose text it holds.
        string: rule for a string in place of the object.
        kinds: value of "type" -> shape of an object of this type, in place of this one.
        is_call: the object is a call of the tool that its "name" says.
    """

    fields: Mapping[str, Rule | Media | JsonShape]
    role: str = ""
    speaks: bool = False
    string: Rule = Rule.TEXT
    kinds: Mapping[str, JsonShape] = field(default_factory=dict)
    is_call: bool = False


MEDIA_TYPES = {
    **dict.fromkeys(
        ("image", "image_url", "input_image", "output_image", "image_file", "computer_screenshot"),
        "image",
    ),
    **dict.fromkeys(("video", "video_url", "input_video"), "image"),
    **dict.fromkeys(("audio", "audio_url", "input_audio", "output_audio"), "audio"),
    **dict.fromkeys(("file", "file_url", "input_file", "document"), "file"),
}
"""Values of "type" that mark an object as something that is not text."""

ROLES = {
    "function": "tool",
    "model": "assistant",
    **{r: r for r in ("system", "developer", "user", "assistant", "tool")},
}

_IDS = dict.fromkeys(("id", "type", "status", "call_id", "index", "object"), Rule.NAME)
_IMAGE, _AUDIO, _FILE = Media("image"), Media("audio"), Media("file")


def settings(*names: str) -> JsonShape:
    """Return the shape of an object of settings; a string in its place is a name."""
    return JsonShape(dict.fromkeys(names, Rule.NAME), string=Rule.NAME)


CACHE = settings("type", "ttl", "mode", "scope")

_CITED = {
    "type": Rule.NAME,
    "file_id": Rule.NAME,
    "container_id": Rule.NAME,
    "filename": Rule.LIGHT,
}
ANNOTATION = JsonShape({**_CITED, "url_citation": JsonShape(_CITED)})

PART = JsonShape({
    **_IDS,
    "annotations": ANNOTATION,
    "logprobs": Rule.LOGPROBS,
    "cache_control": CACHE,
    "prompt_cache_breakpoint": CACHE,
    "detail": Rule.NAME,
    "format": Rule.NAME,
    "signature": Rule.OPAQUE,
    "filename": Rule.LIGHT,
    **dict.fromkeys((
        "image_url", "image", "image_file",
        "video_url", "video", "input_image",
    ), _IMAGE),
    **dict.fromkeys(("input_audio", "audio", "audio_url"), _AUDIO),
    **dict.fromkeys(("file", "file_data", "file_id", "file_url"), _FILE),
    "url": _IMAGE,  # an image that a code interpreter drew
})  # fmt: skip

# Calls of tools, beside the items whose type ends in "_call", say so.
FUNCTION_CALL = JsonShape(
    {"name": Rule.NAME, "namespace": Rule.NAME, "arguments": Rule.ARGUMENTS}, is_call=True
)
CUSTOM_CALL = JsonShape({"name": Rule.NAME}, is_call=True)
CALL = JsonShape({
    **_IDS,
    "function": FUNCTION_CALL,
    "namespace": Rule.NAME,
    "custom": CUSTOM_CALL,
    "extra_content": JsonShape({"google": JsonShape({"thought_signature": Rule.OPAQUE})}),
}, role="assistant", is_call=True)  # fmt: skip

REASONING_DETAIL = JsonShape({
    **_IDS, "format": Rule.NAME, "signature": Rule.OPAQUE, "data": Rule.OPAQUE,
}, role="assistant")  # fmt: skip

MESSAGE = JsonShape({
    "role": Rule.NAME,
    "content": PART,
    "name": Rule.PERSON,
    "tool_call_id": Rule.NAME,
    "tool_calls": CALL,
    "function_call": FUNCTION_CALL,
    "audio": _AUDIO,
    "images": _IMAGE,
    "logprobs": Rule.LOGPROBS,
    "annotations": ANNOTATION,
    "reasoning_details": REASONING_DETAIL,
}, speaks=True)  # fmt: skip

_SCHEMA = dict.fromkeys(
    ("parameters", "input_schema", "output_schema", "format", "strict"), Rule.LIGHT
)
_LOCATION = JsonShape({"type": Rule.NAME})
_FILTER = JsonShape({"type": Rule.NAME, "key": Rule.NAME, "allowed_domains": Rule.KEEP})
_FILTER.fields["filters"] = _FILTER  # type: ignore[index]  # "and" and "or" hold filters
_FUNCTION = JsonShape({"name": Rule.NAME, "description": Rule.LIGHT, **_SCHEMA})
TOOL = JsonShape({
    **_IDS,
    **_SCHEMA,
    "name": Rule.NAME,
    "description": Rule.LIGHT,
    "function": _FUNCTION,
    "custom": _FUNCTION,
    "cache_control": CACHE,
    "user_location": _LOCATION,
    "filters": _FILTER,
    "server_description": Rule.LIGHT,
    "server_label": Rule.KEEP,
    **dict.fromkeys((
        "vector_store_ids", "ranking_options",
        "search_context_size", "search_content_types",
    ), Rule.KEEP),
    **dict.fromkeys((
        "container", "environment", "execution",
        "allowed_callers", "syntax", "definition",
    ), Rule.KEEP),
    **dict.fromkeys((
        "server_url", "connector_id",
        "tunnel_id", "headers", "authorization",
    ), Rule.SECRET),
    **dict.fromkeys(("allowed_tools", "require_approval", "annotations"), Rule.KEEP),
    **dict.fromkeys((
        "model", "quality", "size", "background",
        "output_format", "moderation", "action",
    ), Rule.KEEP),
    "input_fidelity": Rule.KEEP,
    "input_image_mask": _IMAGE,
})  # fmt: skip
TOOL.fields["tools"] = TOOL  # type: ignore[index]  # namespaces hold tools

_STATED = JsonShape({**_IDS, "role": Rule.NAME, "code": Rule.NAME})
_ACTION = JsonShape(
    {
        "type": Rule.NAME,
        "button": Rule.NAME,
        "keys": Rule.NAME,
        "sources": JsonShape({"type": Rule.NAME}),
    }
)

ITEM = JsonShape({
    **MESSAGE.fields,
    **_IDS,
    **dict.fromkeys((
        "phase", "namespace", "server_label",
        "approval_request_id", "container_id",
    ), Rule.NAME),
    **dict.fromkeys((
        "execution", "output_format", "size",
        "quality", "background", "model",
    ), Rule.NAME),
    "arguments": Rule.ARGUMENTS,
    "output": PART,
    "outputs": PART,
    "summary": PART,
    "result": _IMAGE,
    "encrypted_content": Rule.OPAQUE,
    "fingerprint": Rule.OPAQUE,
    "signature": Rule.OPAQUE,
    "action": _ACTION,
    "actions": _ACTION,
    "operation": JsonShape({"type": Rule.NAME}),
    "caller": JsonShape({"type": Rule.NAME, "caller_id": Rule.NAME}),
    "environment": Rule.KEEP,
    "pending_safety_checks": _STATED,
    "acknowledged_safety_checks": _STATED,
    "results": JsonShape({**_CITED, "attributes": Rule.TEXT}),
    "tools": TOOL,
    "error": _STATED,
}, speaks=True)  # fmt: skip

MACHINE = (
    "stop",
    "user",
    "safety_identifier",
    "prompt_cache_key",
    "metadata",
    "provider",
    "guided_json",
    "guided_regex",
    "guided_choice",
    "guided_grammar",
    "guided_decoding_backend",
    "guided_whitespace_pattern",
    "structured_outputs",
    "chat_template_kwargs",
    "keep_alive",
    "data_sources",
)
"""Parameters that machines read: words stay, identifiers in them are replaced."""

_CHOICE_OF_TOOL = dict.fromkeys(("tool_choice", "function_call"), Rule.NAME)
_COMMON: dict[str, Rule | Media | JsonShape] = {
    **dict.fromkeys(
        ("model", "models", "service_tier", "include", "truncation", "verbosity"), Rule.NAME
    ),
    **dict.fromkeys(
        ("reasoning_effort", "prompt_cache_retention", "encoding_format", "modalities"), Rule.NAME
    ),
    "previous_response_id": Rule.NAME,
    "conversation": settings("id"),
    "reasoning": settings("effort", "summary", "generate_summary", "context", "mode"),
    "thinking": settings("type", "display", "effort"),
    "moderation": settings("type", "model", "mode", "level"),
    "stream_options": settings(),
    "context_management": settings("type"),
    **dict.fromkeys(("cache_control", "prompt_cache_options"), CACHE),
    "access_programs": settings("id", "type", "name"),
    "response_format": Rule.LIGHT,
    "logit_bias": Rule.KEEP,
    **dict.fromkeys(MACHINE, Rule.LIGHT),
    "tools": TOOL,
    "functions": _FUNCTION,
    # Its role is not "assistant", because it came from the user: no earlier answer is like it.
    "prediction": JsonShape({"type": Rule.NAME, "content": PART}, role="prediction"),
    "web_search_options": JsonShape({"search_context_size": Rule.NAME, "user_location": _LOCATION}),
    "audio": _AUDIO,
}

REQUESTS: Mapping[str, JsonShape] = {
    "chat/completions": JsonShape({**_COMMON, **_CHOICE_OF_TOOL, "messages": MESSAGE}, role="user"),
    "responses": JsonShape({
        **_COMMON,
        "tool_choice": Rule.NAME,
        "input": ITEM,
        "instructions": JsonShape(PART.fields, role="system"),
        "text": JsonShape({"format": Rule.LIGHT, "verbosity": Rule.NAME}),
        "prompt": JsonShape({"id": Rule.NAME, "version": Rule.NAME}),
    }, role="user"),
    "completions": JsonShape({**_COMMON, "prompt": Rule.TOKENS}, role="user"),
    "embeddings": JsonShape({**_COMMON, "input": Rule.TOKENS}, role="user"),
}  # fmt: skip
"""Endpoint -> shape of a request."""

_ERROR = JsonShape({"type": Rule.NAME, "code": Rule.NAME})
_ANSWER: dict[str, Rule | Media | JsonShape] = {
    **dict.fromkeys(
        ("id", "object", "model", "system_fingerprint", "service_tier", "type", "status"), Rule.NAME
    ),
    **dict.fromkeys(("usage", "prompt_filter_results", "obfuscation"), Rule.KEEP),
    "error": _ERROR,
}
CHOICE = JsonShape({
    "finish_reason": Rule.NAME,
    "logprobs": Rule.LOGPROBS,
    "content_filter_results": Rule.KEEP,
    "message": JsonShape(MESSAGE.fields, role="assistant", speaks=True),
})  # fmt: skip
CHUNK = JsonShape({**CHOICE.fields, "delta": JsonShape(MESSAGE.fields, role="assistant")})

ANSWERS: Mapping[str, JsonShape] = {
    "chat/completions": JsonShape({**_ANSWER, "choices": CHOICE}),
    "completions": JsonShape({**_ANSWER, "choices": CHOICE}),
    "responses": JsonShape({
        **REQUESTS["responses"].fields,
        **_ANSWER,
        "output": ITEM,
        "incomplete_details": Rule.NAME,
    }),
    "embeddings": JsonShape({**_ANSWER, "data": Rule.KEEP}),
}  # fmt: skip
"""Endpoint -> shape of a whole answer."""

ERROR = JsonShape({**_ANSWER, "detail": Rule.TEXT})
"""Shape of an answer that says what went wrong."""

EVENT = JsonShape({
    **_ANSWER,
    **dict.fromkeys((
        "item_id", "call_id", "name",
        "partial_image_b64", "code_interpreter_call_id",
    ), Rule.KEEP),
    "response": ANSWERS["responses"],
    "item": ITEM,
    "part": JsonShape(PART.fields, role="assistant"),
    "annotation": ANNOTATION,
    "logprobs": Rule.LOGPROBS,
    "arguments": Rule.ARGUMENTS,
})  # fmt: skip
"""Shape of an event of a Responses stream."""
