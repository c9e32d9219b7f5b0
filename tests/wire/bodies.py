"""Hypothesis strategies: request bodies of each endpoint, with secrets at every position that holds
text.
"""

from __future__ import annotations

import json
from typing import Any

from hypothesis import strategies as st

from tests.clients.tool_calls import EMAIL, WORD, number

Json = st.SearchStrategy[Any]

SPELLINGS = (
    "0",
    "-0",
    "1.0",
    "1e5",
    "1E+05",
    "0.10",
    "12345678901234567890",
    "-1.50e-7",
    "1" + "0" * 4400,
)
NUMBERS = st.sampled_from([number(s) for s in SPELLINGS])
FILLERS = st.sampled_from(
    ["", "\n", "please ", 'a "quoted" ', "emoji 😀 ", "\\ ", "é ", "\x00", "the answer is "]
)


def texts(secrets: tuple[str, ...]) -> Json:
    """Text with a secret in it."""
    return st.builds(lambda a, s, b: f"{a} {s} {b}", FILLERS, st.sampled_from(secrets), FILLERS)


def trees(secrets: tuple[str, ...]) -> Json:
    """Free JSON, secrets in values and (identifiers only) in keys."""
    keys = st.sampled_from(["a", "city", "long name", "user_id", EMAIL])
    leaves = texts(secrets) | NUMBERS | st.none() | st.booleans()
    return st.recursive(
        leaves,
        lambda t: st.lists(t, max_size=3) | st.dictionaries(keys, t, max_size=3),
        max_leaves=6,
    )


def optional(required: dict[str, Json], **more: Json) -> Json:
    return st.fixed_dictionaries(required, optional=more)


def unknown(secrets: tuple[str, ...], body: Json) -> Json:
    """With a field that nobody knows."""
    return st.builds(lambda b, extra: {**b, "brand_new_field": extra}, body, trees(secrets)) | body


def arguments(secrets: tuple[str, ...]) -> Json:
    tree = trees(secrets).map(lambda t: json.dumps(t).replace('"@@', "").replace('@@"', ""))
    return tree | st.builds(lambda t: t + " {", texts(secrets))


def parts(secrets: tuple[str, ...], kinds: tuple[str, ...]) -> Json:
    text = texts(secrets)
    part = optional(
        {"type": st.sampled_from(kinds), "text": text}, cache_control=st.just({"type": "ephemeral"})
    )
    refusal = st.fixed_dictionaries({"type": st.just("refusal"), "refusal": text})
    strange = st.builds(lambda t: {"type": "brand_new_part", "payload": t}, trees(secrets))
    return st.lists(part | refusal | strange, min_size=1, max_size=3)


def tools(secrets: tuple[str, ...]) -> Json:
    schema = {
        "type": "object",
        "properties": {"city": {"type": "string", "enum": ["here", "there"]}},
    }
    function = {
        "name": "look_up",
        "description": f"Ask {EMAIL} for it.",
        "parameters": schema,
        "strict": True,
    }
    return st.sampled_from(
        [[{"type": "function", "function": function}], [{"type": "function", **function}], []]
    )


def message_kinds(secrets: tuple[str, ...]) -> dict[str, Json]:
    """Messages of a chat, by who says them."""
    text = texts(secrets)
    content = text | parts(secrets, ("text",)) | st.none()
    call = st.builds(
        lambda a: {
            "id": "call_1",
            "type": "function",
            "function": {"name": "look_up", "arguments": a},
        },
        arguments(secrets),
    )
    custom = st.builds(
        lambda t: {"id": "call_2", "type": "custom", "custom": {"name": "run", "input": t}}, text
    )
    said = optional(
        {"role": st.sampled_from(["system", "developer", "user"]), "content": content}, name=text
    )
    answered = st.fixed_dictionaries({
        "role": st.just("assistant"),
        "content": content,
        "refusal": text,
        "reasoning_content": text,
        "tool_calls": st.lists(call | custom, max_size=2),
        "function_call": st.builds(
            lambda a: {"name": "look_up", "arguments": a}, arguments(secrets)
        ),
        "reasoning_details": st.builds(
            lambda t: [{"type": "reasoning.text", "text": t, "index": number("0")}], text
        ),
        "annotations": st.builds(
            lambda t: [{"type": "url_citation", "url_citation": {"title": t, "url": t}}], text
        ),
    })  # fmt: skip
    result = st.fixed_dictionaries(
        {"role": st.just("tool"), "tool_call_id": st.just("call_1"), "content": content}
    )
    return {"said": said, "answered": answered, "result": result}


def chats(secrets: tuple[str, ...]) -> Json:
    text = texts(secrets)
    messages = st.lists(st.one_of(*message_kinds(secrets).values()), min_size=1, max_size=4)
    body = optional(
        {"model": st.just("gpt-4o-2024-08-06"), "messages": messages},
        **common(secrets),
        stop=text | st.lists(text, max_size=2),
        prediction=st.builds(
            lambda c: {"type": "content", "content": c}, text | parts(secrets, ("text",))
        ),
        response_format=st.just(
            {"type": "json_schema", "json_schema": {"name": "a", "schema": {"const": "x y"}}}
        ),
        logit_bias=st.just({"50256": number("-100")}),
        web_search_options=st.builds(
            lambda t: {"user_location": {"type": "approximate", "approximate": {"city": t}}}, text
        ),
    )
    return unknown(secrets, body)


def common(secrets: tuple[str, ...]) -> dict[str, Json]:
    text = texts(secrets)
    return {
        "temperature": NUMBERS,
        "stream": st.booleans(),
        "user": text,
        "safety_identifier": text,
        "prompt_cache_key": text,
        "metadata": st.dictionaries(st.sampled_from(["team", EMAIL]), text, max_size=2),
        "tools": tools(secrets),
        "tool_choice": st.sampled_from(
            ["auto", {"type": "function", "function": {"name": "look_up"}}]
        ),
    }


def item_kinds(secrets: tuple[str, ...]) -> dict[str, Json]:
    """Items of a response's input, by type."""
    text, free = texts(secrets), trees(secrets)
    content = text | parts(secrets, ("input_text", "output_text", "summary_text"))
    done = {"id": st.just("it_1"), "call_id": st.just("call_1"), "status": st.just("completed")}
    fields: dict[str, dict[str, Json]] = {
        "message": {"role": st.just("assistant"), "content": content},
        "function_call": {"name": st.just("look_up"), "arguments": arguments(secrets)},
        "function_call_output": {"output": content},
        "custom_tool_call": {"name": st.just("run"), "input": text},
        "custom_tool_call_output": {"output": content},
        "reasoning": {
            "summary": parts(secrets, ("summary_text",)),
            "encrypted_content": st.just("gAAAAA+/="),
        },
        "file_search_call": {
            "queries": st.lists(text),
            "results": text.map(lambda t: [{"text": t, "file_id": "f"}]),
        },
        "web_search_call": {
            "action": text.map(lambda t: {"type": "search", "query": t, "queries": [t]})
        },
        "computer_call": {"action": text.map(lambda t: {"type": "type", "text": t})},
        "code_interpreter_call": {
            "code": text,
            "outputs": text.map(lambda t: [{"type": "logs", "logs": t}]),
        },
        "local_shell_call": {
            "action": text.map(lambda t: {"type": "exec", "command": [t], "env": {"A": t}})
        },
        "mcp_call": {
            "server_label": st.just("crm"),
            "arguments": arguments(secrets),
            "output": text,
            "error": text,
        },
        "mcp_approval_response": {"approve": st.booleans(), "reason": text},
        "brand_new_item": {"payload": free, "content": content},
    }
    easy = optional({"role": st.sampled_from(["user", "assistant", "system"]), "content": content})
    typed = {
        k: st.fixed_dictionaries({"type": st.just(k), **done, **inside})
        for k, inside in fields.items()
    }
    return {"text": text, "easy": easy, **typed}


def responses(secrets: tuple[str, ...]) -> Json:
    text = texts(secrets)
    body = optional(
        {
            "model": st.just("gpt-5"),
            "input": text | st.lists(st.one_of(*item_kinds(secrets).values()), max_size=4),
        },
        **common(secrets),
        instructions=text,
        prompt=st.builds(lambda t: {"id": "pmpt_1", "variables": {"who": t, EMAIL: t}}, text),
        text=st.just(
            {"format": {"type": "json_schema", "schema": {"const": "x y"}}, "verbosity": "low"}
        ),
        reasoning=st.just({"effort": "low", "summary": "auto"}),
        previous_response_id=st.just("resp_1"),
    )
    return unknown(secrets, body)


def completions(secrets: tuple[str, ...]) -> Json:
    text = texts(secrets)
    body = optional(
        {"model": st.just("davinci-002"), "prompt": text | st.lists(text, max_size=3)},
        suffix=text,
        stop=text,
        user=text,
        temperature=NUMBERS,
    )
    return unknown(secrets, body)


def embeddings(secrets: tuple[str, ...]) -> Json:
    text = texts(secrets)
    return optional(
        {"model": st.just("text-embedding-3-small"), "input": text | st.lists(text, max_size=3)},
        user=text,
        dimensions=NUMBERS,
    )


BODIES = {
    "chat/completions": chats,
    "responses": responses,
    "completions": completions,
    "embeddings": embeddings,
}
IDENTIFIERS = (EMAIL, "DE89 3704 0044 0532 0130 00", "4111 1111 1111 1111")
PRIVATE = (EMAIL, WORD, f"{WORD} {EMAIL}")
