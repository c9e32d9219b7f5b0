"""What leaves: no private string, the same shape, every other value as it was spelled."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sanitizer import Policy, Sanitizer
from sanitizer.errors import RequestRefused
from sanitizer.text.policy import WireRules
from sanitizer.wire.shapes import shapes
from tests.clients.tool_calls import (
    CHAT,
    EMAIL,
    RESPONSES,
    WORD,
    chat,
    number,
    outline,
    read,
    send,
    sent,
    spelled,
    strings,
    toy,
)
from tests.wire.bodies import BODIES, IDENTIFIERS, PRIVATE, item_kinds, message_kinds

PERTURBS = replace(Policy.preset("words"), wire=WireRules(embeddings="perturb"))
REPLACES = replace(Policy.preset("identifiers"), wire=WireRules(embeddings="identifiers"))
slow = settings(
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


few = settings(slow, max_examples=15)


def refusal(body: Any, path: str = CHAT, sanitizer: Sanitizer | None = None) -> tuple[str, int]:
    with pytest.raises(RequestRefused) as refused:
        send(body, sanitizer, path)
    assert EMAIL not in str(refused.value)
    assert WORD not in str(refused.value)
    assert refused.value.__cause__ is None
    return refused.value.reason, refused.value.status


@pytest.fixture(scope="module")
def perturbing() -> Sanitizer:
    return toy(PERTURBS)


@pytest.mark.parametrize("endpoint", sorted(BODIES))
@given(data=st.data())
@slow
def test_no_identifier_leaves_and_the_shape_stays(endpoint: str, data: st.DataObject) -> None:
    body = data.draw(BODIES[endpoint](IDENTIFIERS))
    exchange = send(body, Sanitizer(policy=REPLACES), f"/v1/{endpoint}")
    for secret in IDENTIFIERS:
        assert secret.encode() not in exchange.body
        assert all(secret not in s for s in strings(read(exchange.body)))
    assert outline(read(exchange.body)) == outline(read(spelled(body)))


@pytest.mark.parametrize("endpoint", sorted(BODIES))
@given(data=st.data())
@slow
def test_no_private_word_leaves_under_a_perturbing_policy(
    endpoint: str, perturbing: Sanitizer, data: st.DataObject
) -> None:
    body = data.draw(BODIES[endpoint](PRIVATE))
    exchange = send(body, perturbing, f"/v1/{endpoint}")
    assert EMAIL.encode() not in exchange.body
    machine = shapes("openai")["Machine"].fields  # is not perturbed
    texts = {k: v for k, v in read(exchange.body).items() if k not in machine}
    assert WORD.lower() not in json.dumps(texts).lower()
    assert outline(read(exchange.body)) == outline(read(spelled(body)))


@pytest.mark.parametrize("kind", sorted(item_kinds(PRIVATE)))
@given(data=st.data())
@few
def test_no_item_of_any_type_leaks(kind: str, perturbing: Sanitizer, data: st.DataObject) -> None:
    body = {"input": [data.draw(item_kinds(PRIVATE)[kind])]}
    exchange = send(body, perturbing, RESPONSES)
    assert EMAIL.encode() not in exchange.body
    assert WORD.lower().encode() not in exchange.body.lower()
    assert outline(read(exchange.body)) == outline(read(spelled(body)))


@pytest.mark.parametrize("kind", sorted(message_kinds(PRIVATE)))
@given(data=st.data())
@few
def test_no_message_of_any_role_leaks(
    kind: str, perturbing: Sanitizer, data: st.DataObject
) -> None:
    body = {"messages": [data.draw(message_kinds(PRIVATE)[kind])]}
    exchange = send(body, perturbing)
    assert EMAIL.encode() not in exchange.body
    assert WORD.lower().encode() not in exchange.body.lower()
    assert outline(read(exchange.body)) == outline(read(spelled(body)))


@pytest.mark.parametrize("endpoint", ["chat/completions", "responses", "completions"])
@given(data=st.data())
@slow
def test_an_echo_comes_back_as_the_original(endpoint: str, data: st.DataObject) -> None:
    """restore(sanitize(x)) is x, for text in every field that answers have."""
    body = data.draw(st.builds(lambda t: t, BODIES["completions"](IDENTIFIERS)))["prompt"]
    text = "\n".join([body] if isinstance(body, str) else body) or "nothing"
    exchange = send(
        {
            "model": "m",
            "messages": [{"role": "user", "content": text}],
            "input": text,
            "prompt": text,
        },
        path=f"/v1/{endpoint}",
    )
    out = read(exchange.body)
    released = out["messages"][0]["content"]
    assert all(secret not in released for secret in IDENTIFIERS)
    calls = [
        {
            "id": "c",
            "type": "function",
            "function": {"name": "f", "arguments": json.dumps({"a": [released]})},
        }
    ]
    message = {"role": "assistant", "content": released, "refusal": released, "tool_calls": calls}
    answer = {
        "choices": [{"index": 0, "message": message, "text": released}],
        "output": [
            {
                "type": "message",
                "role": "assistant",
                "content": [{"type": "output_text", "text": released}],
            },
            {"type": "function_call", "arguments": json.dumps({"a": [released]})},
            {"type": "brand_new_item", "payload": {"deep": [released]}},
        ],
    }
    restored = read(exchange.response(200, "application/json", json.dumps(answer).encode()))
    message = restored["choices"][0]["message"]
    if endpoint == "responses":
        assert restored["output"][0]["content"][0]["text"] == text
        assert json.loads(restored["output"][1]["arguments"]) == {"a": [text]}
        assert restored["output"][2]["payload"]["deep"] == [text]
    else:
        assert message["content"] == message["refusal"] == restored["choices"][0]["text"] == text
        assert json.loads(message["tool_calls"][0]["function"]["arguments"]) == {"a": [text]}


def test_numbers_keep_their_spelling() -> None:
    raw = (
        b'{"model":"m","messages":[],"a":1.0,"b":[1e5,-0,12345678901234567890,0.10],"c":{"d":1E+2}}'
    )
    assert send(raw).body == raw


def test_lone_surrogates_go_through_escaped() -> None:
    assert (
        sent(rb'{"messages":[{"role":"user","content":"cut \ud83d off"}]}')["messages"][0][
            "content"
        ]
        == "cut \ud83d off"
    )


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"[]",
        b'"text"',
        b"null",
        b'{"a":NaN}',
        b'{"a":-Infinity}',
        b'{"model":"a","model":"b"}',
        b'{"m":[{"x":1,"x":2}]}',
        b'\xef\xbb\xbf{"model":"m"}',
        b'{"a":"\xff"}',
        b'{"a":"\xed\xa0\x80"}',
        b'{"a":1}{"b":2}',
        b'{"a":01}',
        b'{"messages":' + b"[" * 10_000 + b"]" * 10_000 + b"}",
        b"[" * 10_000,
        b'{"response_format":' + b'{"a":' * 500 + b"1" + b"}" * 501,
    ],
)
def test_what_is_not_one_plain_json_object_is_refused(body: bytes) -> None:
    assert refusal(body) == ("json", 400)


@pytest.mark.parametrize(
    "arguments", ["[" * 10_000 + "]" * 10_000, '{"a":' * 500 + "1" + "}" * 500, '{"a":"x","a":"y"}']
)
def test_arguments_that_readers_take_differently_are_refused(arguments: str) -> None:
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": arguments}}
    assert refusal(chat(None, "assistant", tool_calls=[call])) == ("json", 400)


def test_arguments_keep_everything_but_their_strings() -> None:
    arguments = (
        '{ "to" : "peter.quill@example.com",\n "n": 1.0,'
        ' "x": "\\u0070eter.quill@example.com", "same": "\\u00e9" }'
    )
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": arguments}}
    out = sent(chat(None, "assistant", tool_calls=[call]))["messages"][0]["tool_calls"][0][
        "function"
    ]["arguments"]
    assert out == '{ "to" : "<EMAIL_1>",\n "n": 1.0, "x": "<EMAIL_1>", "same": "é" }'


def test_identifiers_in_keys_of_arguments_are_replaced(perturbing: Sanitizer) -> None:
    call = {
        "type": "function_call",
        "name": "f",
        "arguments": json.dumps({EMAIL: 1, "Zorblaxian": 2, "a b": "x"}),
    }
    out = json.loads(sent({"input": [call]}, perturbing, RESPONSES)["input"][0]["arguments"])
    replaced, *kept = out
    assert replaced.startswith("<EMAIL_")
    assert kept == ["Zorblaxian", "a b"]


def test_arguments_that_are_not_json_are_text() -> None:
    call = {
        "id": "c",
        "type": "function",
        "function": {"name": "f", "arguments": f'{{"to": "{EMAIL}'},
    }
    out = sent(chat(None, "assistant", tool_calls=[call]))
    assert out["messages"][0]["tool_calls"][0]["function"]["arguments"] == '{"to": "<EMAIL_1>'


@pytest.mark.parametrize(
    ("part", "reason"),
    [
        ({"type": "image_url", "image_url": {"url": "https://example.com/a.png"}}, "image"),
        ({"type": "text", "text": "x", "image_url": "https://example.com/a.png"}, "image"),
        ({"type": "input_audio", "input_audio": {"data": "AAAA", "format": "wav"}}, "audio"),
        ({"type": "file", "file": {"file_data": "AAAA", "filename": "a.pdf"}}, "file"),
        ({"type": "input_file", "file_id": "file-1"}, "file"),
        ({"type": "brand_new", "inner": {"type": "input_image"}}, "image"),
        ({"type": "text", "text": "data:image/png;base64,AAAA"}, "image"),
        ({"type": "brand_new", "url": "x", "blob": "data:application/pdf;base64,AAAA"}, "image"),
    ],
)
def test_images_audio_and_files_pass_only_if_the_policy_says_so(
    part: dict[str, Any], reason: str
) -> None:
    assert refusal(chat([part])) == (reason, 400)
    policy = replace(Policy.preset("identifiers"), wire=WireRules(images="pass"))
    assert sent(chat([part]), Sanitizer(policy=policy))["messages"][0]["content"] == [part]


@pytest.mark.parametrize(
    ("item", "reason"),
    [
        (
            {
                "type": "computer_call_output",
                "output": {"type": "computer_screenshot", "image_url": "x"},
            },
            "image",
        ),
        ({"type": "image_generation_call", "result": "AAAA"}, "image"),
        ({"type": "code_interpreter_call", "outputs": [{"type": "image", "url": "x"}]}, "image"),
        (
            {"type": "function_call_output", "output": [{"type": "input_file", "file_data": "A"}]},
            "file",
        ),
        (
            {
                "role": "assistant",
                "content": [{"type": "output_text", "text": "", "logprobs": [{"bytes": [80]}]}],
            },
            "tokens",
        ),
    ],
)
def test_items_that_are_not_text_are_refused(item: dict[str, Any], reason: str) -> None:
    assert refusal({"input": [item]}, RESPONSES) == (reason, 400)


@pytest.mark.parametrize("tokens", [[1, 2, 3], [[1, 2], [3]], ["text", 5], [None]])
def test_token_numbers_are_refused(tokens: list[Any]) -> None:
    assert refusal({"prompt": tokens}, "/v1/completions") == ("tokens", 400)
    assert refusal({"input": tokens}, "/v1/embeddings", Sanitizer(policy=REPLACES)) == (
        "tokens",
        400,
    )


@pytest.mark.parametrize(
    "body",
    [
        {"model": f"ask {EMAIL}"},
        {"model": EMAIL},
        {"messages": [{"role": "my name is Peter", "content": "x"}]},
        {"messages": [{"role": "tool", "tool_call_id": f"of {WORD} and so on"}]},
        {"tool_choice": {"function": {"name": "two words"}}},
    ],
)
def test_text_in_the_place_of_a_name_is_refused(body: dict[str, Any]) -> None:
    assert refusal(body) == ("structure", 400)


@pytest.mark.parametrize(
    "model", ["gpt-4o", "@cf/meta/llama-3", "ft:gpt-4o:acme::x1", "claude@20240620", "a/b:free", ""]
)
def test_names_of_models_stay(model: str) -> None:
    assert sent({"model": model})["model"] == model


@pytest.mark.parametrize(
    "text", [f"data: of {EMAIL}", f"data:text/plain;base64,QUJD {EMAIL}", f"see ;base64, {EMAIL}"]
)
def test_text_that_looks_like_data_is_no_way_around(text: str) -> None:
    policy = replace(Policy.preset("identifiers"), wire=WireRules(images="pass"))
    assert EMAIL not in str(sent(chat(text), Sanitizer(policy=policy)))


def test_images_inside_a_text_are_refused() -> None:
    assert refusal(chat(f"look: ![x](DATA:image/png;BASE64,{'iVBOR' * 20})")) == ("image", 400)
    assert sent(chat("write data:image/png;base64,... here"))["messages"]


def test_schemas_and_formats_are_never_touched(perturbing: Sanitizer) -> None:
    schema = {
        "type": "object",
        "properties": {WORD: {"enum": ["Alice Zorblax"], "description": "Its Bobness"}},
    }
    tools = [
        {
            "type": "function",
            "function": {"name": "f", "description": "Weather at Leeds.", "parameters": schema},
        }
    ]
    form = {"type": "json_schema", "json_schema": {"name": "n", "schema": schema}}
    out = sent({"tools": tools, "response_format": form}, perturbing)
    assert out == {"tools": tools, "response_format": form}


DIALECTS = (
    "http://json-schema.org/draft-07/schema#",
    "https://json-schema.org/draft/2020-12/schema",
)


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("endpoint", ["messages", "chat/completions"])
def test_the_dialect_of_a_schema_stays(dialect: str, endpoint: str) -> None:
    # An API refuses the schema of a tool whose dialect is no address it knows.
    schema = {"$schema": dialect, "type": "object", "description": f"As {dialect} at {EMAIL}."}
    tool = {"name": "Bash", "input_schema": schema, "parameters": schema}
    body = {**chat("Hello"), "tools": [tool]}
    out = sent(body, Sanitizer(policy="identifiers"), f"/v1/{endpoint}")["tools"][0]
    assert out["input_schema"]["$schema"] == out["parameters"]["$schema"] == dialect
    assert EMAIL not in out["input_schema"]["description"]


@pytest.mark.parametrize("address", [f"http://json-schema.org/{EMAIL}", f"{DIALECTS[1]}/x?{EMAIL}"])
def test_another_address_in_the_place_of_a_dialect_does_not(address: str) -> None:
    tool = {"name": "Bash", "input_schema": {"$schema": address}}
    out = sent({**chat("Hello"), "tools": [tool]}, Sanitizer(policy="identifiers"))
    assert EMAIL not in json.dumps(out)


def test_descriptions_of_tools_lose_identifiers_only(perturbing: Sanitizer) -> None:
    tools = [{"type": "function", "name": "f", "description": f"Zorblaxian weather, by {EMAIL}"}]
    out = sent({"tools": tools}, perturbing, RESPONSES)["tools"][0]["description"]
    assert out.startswith("Zorblaxian weather, by <EMAIL_")


def test_a_participants_name_keeps_a_form_the_api_accepts() -> None:
    assert sent(chat("hi", name=EMAIL))["messages"][0]["name"] == "EMAIL_1"
    assert sent(chat("hi", name="alice"))["messages"][0]["name"] == "alice"


def test_the_name_of_a_tool_stays(perturbing: Sanitizer) -> None:
    assert (
        sent(chat("x", "tool", name="Zorblax_Lookup"), perturbing)["messages"][0]["name"]
        == "Zorblax_Lookup"
    )
    call = {"type": "function_call", "name": "Zorblax_Lookup", "arguments": "{}"}
    assert sent({"input": [call]}, perturbing, RESPONSES)["input"][0]["name"] == "Zorblax_Lookup"


def test_logit_bias_stays() -> None:
    assert sent({"logit_bias": {"50256": number("-1.0")}}) == {
        "logit_bias": {"50256": number("-1.0")}
    }


def test_arguments_of_a_call_stay_json_at_a_place_that_no_api_has() -> None:
    """A number in them is written as a string, and not as a stand-in without quotes."""
    call = {"name": "f", "arguments": '{"card": 4111111111111111, "n": 1.50}'}
    for body in ({"turns": [{"function": call}]}, chat("x", a={"function_call": call})):
        (written,) = [text for text in strings(sent(body)) if text.startswith("{")]
        inside = read(written)
        assert inside["card"].startswith("<CARD_")
        assert inside["n"] == number("1.50")
    # Read in two ways, or no JSON: a text like others.
    for text in ('{"a": 1, "a": 4111111111111111}', "4111111111111111 x", '""'):
        body = {"extra": {"name": "f", "arguments": text}}
        assert "4111111111111111" not in str(sent(body))


def test_listed_words_are_found_in_plain_keys_too(tmp_path: Any) -> None:
    (tmp_path / "p.toml").write_text('base = "identifiers"\n[sensitive]\nwords = ["bluebird"]\n')
    assert "bluebird" not in str(
        sent({"metadata": {"bluebird": "bluebird"}}, Sanitizer(policy=tmp_path / "p.toml"))
    )


def test_the_same_request_again_is_the_same_bytes_and_free(perturbing: Sanitizer) -> None:
    sanitizer = perturbing.derive(conversation="again")
    body = chat(f"{WORD} wrote to {EMAIL} about Gromblefield.")
    first, second = send(body, sanitizer), send(body, sanitizer)
    assert first.body == second.body
    assert first.record.charged > 0
    assert second.record.charged == 0
