"""The table of Anthropic's Messages: shapes of requests, answers and events of streams.

What a conversation holds are blocks, told apart by their type. What tools on the API's side found
stands in the assistant's own messages, so it is the assistant's here too.

Not protected: as in `shapes`; and the signature of a thinking block fits the block only as the API
sent it, so the API refuses one whose conversation has been forgotten (a vault that is gone).
"""

from __future__ import annotations

from collections.abc import Mapping

from sanitizer.wire.shapes import (
    CACHE,
    INPUT,
    KEEP,
    LIGHT,
    NAME,
    OPAQUE,
    SECRET,
    TEXT,
    TOOL,
    JsonShape,
    Media,
    Rule,
    settings,
)

_Fields = dict[str, Rule | Media | JsonShape]

_IMAGE, _FILE = Media("image"), Media("file")
_CITATION = JsonShape({
    "type": NAME,
    "file_id": NAME,
    "encrypted_index": OPAQUE,
})  # fmt: skip
_TOOL = JsonShape({
    **TOOL.fields,
    **dict.fromkeys(("mcp_server_name", "response_inclusion"), NAME),
    **dict.fromkeys(("allowed_domains", "blocked_domains", "url_sources"), KEEP),
    **dict.fromkeys(("configs", "default_config", "citations"), KEEP),
    **dict.fromkeys(("input_examples", "definition"), LIGHT),
    "caching": CACHE,
})  # fmt: skip

_BLOCK: _Fields = {
    **dict.fromkeys(("type", "id", "tool_use_id", "toolset_name", "server_name"), NAME),
    **dict.fromkeys(("mcp_server_name", "error_code", "tool_name", "stop_reason"), NAME),
    **dict.fromkeys(("name", "file_type", "media_type"), NAME),
    **dict.fromkeys(("signature", "encrypted_content", "encrypted_stdout"), OPAQUE),
    **dict.fromkeys(("from", "to"), settings("model")),
    "trigger": settings("type", "category"),
    "cache_control": CACHE,
    "caller": settings("type", "tool_id"),
    "citations": _CITATION,
    **dict.fromkeys(("tabs", "state_changes"), JsonShape({"type": NAME, "tab_id": NAME})),
}
_KINDS: dict[str, JsonShape] = {}
BLOCK = JsonShape(_BLOCK, kinds=_KINDS)
"""Shape of a block, by its type; one of an unknown type holds text."""

# Blocks hold blocks: what a tool found, parts of a document.
_BLOCK |= dict.fromkeys(("content", "tool_references", "tool_changes"), BLOCK)
_SOURCE = JsonShape(
    {"type": NAME, "media_type": NAME, **dict.fromkeys(("data", "url", "file_id"), _FILE)},
    kinds={
        "text": JsonShape({"type": NAME, "media_type": NAME, "data": TEXT}),
        "content": JsonShape({"type": NAME, "content": BLOCK}),
    },
)
_KINDS |= {
    **dict.fromkeys(
        ("tool_use", "server_tool_use", "mcp_tool_use"),
        JsonShape({**_BLOCK, "input": INPUT}, role="assistant"),
    ),
    "tool_result": JsonShape(_BLOCK, role="tool"),
    "redacted_thinking": JsonShape({**_BLOCK, "data": OPAQUE}),
    "image": JsonShape({**_BLOCK, "source": _IMAGE}),
    "document": JsonShape({**_BLOCK, "source": _SOURCE}),
    "container_upload": JsonShape({**_BLOCK, "file_id": _FILE}),
    **dict.fromkeys(
        ("code_execution_output", "bash_code_execution_output"),
        JsonShape({**_BLOCK, "file_id": NAME}),
    ),
    **dict.fromkeys(("mcp_tool_listing", "tool_addition", "tool_removal"), JsonShape({
        **_BLOCK, "tools": _TOOL, "tool": _TOOL,
    })),
}  # fmt: skip

_MESSAGE = JsonShape({"role": NAME, "content": BLOCK, "id": NAME, "type": NAME}, speaks=True)
_FORMAT = JsonShape({"effort": NAME, "format": LIGHT, "task_budget": settings("type")}, string=NAME)
_THINKING = settings("type", "display", "effort")
_EDIT = JsonShape({
    **dict.fromkeys(("type", "exclude_tools", "clear_tool_inputs"), NAME),
    **dict.fromkeys(("trigger", "keep", "clear_at_least"), settings("type")),
}, role="system")  # fmt: skip
_REQUEST = JsonShape({
    **dict.fromkeys(("model", "service_tier", "inference_geo", "speed", "betas"), NAME),
    **dict.fromkeys(("user_profile_id", "workspace_id"), NAME),
    "messages": _MESSAGE,
    "system": JsonShape(_BLOCK, role="system", kinds=_KINDS),
    "tools": _TOOL,
    "tool_choice": NAME,
    "thinking": _THINKING,
    "output_config": _FORMAT,
    "output_format": LIGHT,
    "stop_sequences": LIGHT,
    "metadata": LIGHT,
    "cache_control": CACHE,
    "container": JsonShape(
        {"id": NAME, "skills": settings("type", "skill_id", "version")}, string=NAME
    ),
    "context_management": JsonShape({"edits": _EDIT}),
    "compaction": JsonShape({"type": NAME}, role="system"),
    "mcp_servers": JsonShape({
        **dict.fromkeys(("type", "name"), NAME),
        **dict.fromkeys(("url", "authorization_token"), SECRET),
        "tool_configuration": KEEP,
    }),
    "diagnostics": settings("previous_message_id"),
    "fallbacks": JsonShape({
        **dict.fromkeys(("model", "speed"), NAME),
        "thinking": _THINKING,
        "output_config": _FORMAT,
    }, string=NAME),
    "fallback_credit_token": settings("token", "mode"),
    "billing_policy": settings("type", "bill_to"),
}, role="user")  # fmt: skip

REQUESTS: Mapping[str, JsonShape] = {"messages": _REQUEST, "messages/count_tokens": _REQUEST}
"""Endpoint -> shape of a request."""

# What the assistant did not say: it does not come back.
_ENDING: _Fields = {
    "stop_reason": NAME,
    "stop_sequence": JsonShape({}, role="stop"),
    "stop_details": JsonShape({"type": NAME, "category": NAME}, role="stop"),
    **dict.fromkeys(("container", "context_management", "usage"), KEEP),
    **dict.fromkeys(("diagnostics", "input_transformations"), KEEP),
}
_WHOLE = JsonShape({
    **_ENDING,
    **dict.fromkeys(("id", "type", "role", "model"), NAME),
    "content": BLOCK,
}, role="assistant")  # fmt: skip

ANSWERS: Mapping[str, JsonShape] = {"messages": _WHOLE, "messages/count_tokens": _WHOLE}
"""Endpoint -> shape of a whole answer."""

EVENT = JsonShape({
    "type": NAME,
    "message": _WHOLE,
    "content_block": JsonShape(_BLOCK, role="assistant", kinds=_KINDS),
    "delta": JsonShape({
        **_ENDING,
        **_BLOCK,
        "stop_reason": NAME,
        "citation": _CITATION,
    }, role="assistant"),
    **dict.fromkeys(("usage", "context_management", "input_transformations"), KEEP),
})  # fmt: skip
"""Shape of an event of a stream, as far as its text comes in one piece."""
