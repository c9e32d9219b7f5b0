"""The filter: what it refuses, what the record says, what comes back, and what stays here."""

from __future__ import annotations

import json
import logging
import traceback
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from math import inf
from typing import Any

import pytest

from sanitizer import BudgetExceeded, Policy, Sanitizer
from sanitizer.errors import RequestRefused, UpstreamError
from sanitizer.text.policy import WireRules
from sanitizer.wire.filter import Filter
from sanitizer.wire.headers import sent_headers
from tests.clients.tool_calls import (
    CHAT,
    EMAIL,
    JSON,
    RESPONSES,
    WORD,
    chat,
    number,
    read,
    send,
    sent,
    spelled,
    toy,
)
from tests.conftest import Told
from tests.wire.cases import cases

EMBED = "/v1/embeddings"


def pairs(kind: str) -> list[Any]:
    """Two messages, the second of which may go on with the first."""
    return [(one, two) for of, one, two in cases("two_messages") if of == kind]


def refusal(headers: dict[str, str], body: bytes, most: int | None = None) -> tuple[str, int]:
    with pytest.raises(RequestRefused) as refused:
        Filter(Sanitizer(policy="identifiers")).read("POST", CHAT, headers, body, most)
    return refused.value.reason, refused.value.status


@pytest.mark.parametrize(
    "content_type",
    [
        "",
        "text/plain",
        "multipart/form-data; boundary=x",
        "application/json; charset=utf-16",
        "json",
    ],
)
def test_only_json_is_read(content_type: str) -> None:
    assert refusal({"content-type": content_type}, b"{}") == ("content-type", 415)
    assert refusal({}, b"{}") == ("content-type", 415)


@pytest.mark.parametrize(
    "content_type",
    ["application/json", "Application/JSON; charset=UTF-8", 'application/json;charset="utf8"'],
)
def test_json_may_say_that_it_is_utf8(content_type: str) -> None:
    Filter(Sanitizer(policy="identifiers")).request(
        "POST", CHAT, {"content-type": content_type}, spelled(chat("x"))
    )


@pytest.mark.parametrize("encoding", ["compress", "x", "gzip, br"])
def test_bodies_in_other_encodings_are_refused(encoding: str) -> None:
    assert refusal({**JSON, "content-encoding": encoding}, b"{}") == ("content-encoding", 415)


def test_large_bodies_and_texts_are_refused() -> None:
    assert refusal(JSON, spelled(chat("x" * 200)), most=200) == ("size", 413)
    with pytest.raises(RequestRefused) as refused:
        send(chat("x" * 11), Sanitizer(policy="identifiers", max_chars=10))
    assert (refused.value.reason, refused.value.status) == ("size", 413)


def test_roles_are_treated_as_the_policy_says() -> None:
    head = f"You help {WORD} <{EMAIL}>."
    body = chat(f"{WORD} <{EMAIL}>")
    for role in ("system", "developer"):
        body["messages"].insert(0, {"role": role, "content": [{"type": "text", "text": head}]})
    roles = {"system": "public", "developer": "identifiers"}
    for policy in ("words", "identifiers"):
        exchange = send(body, toy(replace(Policy.preset(policy), roles=roles)))
        developer, system, user = read(exchange.body)["messages"]
        assert system["content"][0]["text"] == head
        assert developer["content"][0]["text"] == f"You help {WORD} <<EMAIL_1>>."
        assert EMAIL not in user["content"]
        assert (WORD in user["content"]) is (policy == "identifiers")
        assert exchange.record.certified is (policy == "words")
    instructed = {"model": "m", "instructions": head, "input": WORD}
    sent = read(send(instructed, toy(replace(Policy.preset("words"), roles=roles)), RESPONSES).body)
    assert sent["instructions"] == head
    assert sent["input"] != WORD


def test_a_public_role_leaves_as_it_is_after_an_answer_gave_an_original_away() -> None:
    policy = replace(Policy.preset("identifiers"), roles={"system": "public"})
    sanitizer = Sanitizer(policy=policy)
    sanitizer.sanitize("Mail anna@example.org")
    body = chat("anna@example.org")
    body["messages"].insert(0, {"role": "system", "content": "anna@example.org answers"})
    sent = read(send(body, sanitizer).body)["messages"]
    assert [each["content"] for each in sent] == ["anna@example.org answers", "<EMAIL_1>"]


def test_embeddings_are_as_the_policy_says() -> None:
    body = {"model": "m", "input": f"{WORD} <{EMAIL}>"}
    with pytest.raises(RequestRefused) as refused:
        send(body, toy(), EMBED)
    assert refused.value.reason == "embeddings"
    base = Policy.preset("words")
    exchange = send(body, toy(replace(base, wire=WireRules(embeddings="identifiers"))), EMBED)
    assert read(exchange.body)["input"] == f"{WORD} <<EMAIL_1>>"
    assert (exchange.record.epsilon_total, exchange.record.n_identifiers) == (0.0, 1)
    assert WORD not in str(
        send(body, toy(replace(base, wire=WireRules(embeddings="perturb"))), EMBED).body
    )


def test_words_of_an_embedding_do_not_come_back_in_a_chat() -> None:
    sanitizer = toy(replace(Policy.preset("words"), wire=WireRules(embeddings="identifiers")))
    send({"model": "m", "input": WORD, "user": WORD}, sanitizer, EMBED)
    assert WORD not in send(chat(WORD), sanitizer).body.decode()


def test_the_record_of_identifiers_claims_nothing() -> None:
    exchange = send(chat(f"to {EMAIL}", name="alice"))
    record = exchange.record
    assert (record.epsilon_total, record.certified, record.mechanism) == (inf, False, "none")
    assert (record.policy, record.n_texts, record.n_identifiers, record.n_units) == (
        "identifiers",
        2,
        1,
        0,
    )
    assert record.as_dict()["epsilon_total"] is None
    json.dumps(record.as_dict(), allow_nan=False)
    assert exchange.record.headers()["sanitizer-epsilon-total"] == "inf"
    assert exchange.record.headers()["sanitizer-certified"] == "false"


def test_the_record_adds_up() -> None:
    sanitizer = toy()
    tools = [{"type": "function", "function": {"name": "f", "description": f"{WORD} by {EMAIL}"}}]
    record = send(
        {**chat(f"{WORD} to {EMAIL}"), "extra": "Gromblefield", "tools": tools}, sanitizer
    ).record
    epsilon = sanitizer.mechanism.epsilon
    assert record.epsilon_total == pytest.approx(2 * epsilon)
    assert record.epsilon_per_unit == epsilon
    assert record.charged == pytest.approx(2 * epsilon)
    assert record.certified
    assert (record.n_texts, record.n_units, record.n_identifiers) == (3, 2, 2)
    assert record.mechanism == "cape"


def test_headers_are_plain_ascii_whatever_the_policy_is_called() -> None:
    policy = replace(Policy.preset("identifiers"), name="é\r\nx: y")
    headers = send(chat("x"), Sanitizer(policy=policy)).record.headers()
    assert headers["sanitizer-policy"] == "???x: y"
    assert all(
        k.startswith("sanitizer-") and v.isascii() and v.isprintable() for k, v in headers.items()
    )


@pytest.mark.parametrize(
    ("stream", "expected"),
    [(True, True), (False, False), (None, False), ("true", False), ("@@1@@", False)],
)
def test_whether_a_stream_is_asked_for(stream: Any, expected: bool) -> None:
    assert send({**chat("x"), "stream": stream}).streams is expected


def test_when_the_budget_ends_nothing_is_returned() -> None:
    with pytest.raises(BudgetExceeded):
        send(chat([{"type": "text", "text": f"{WORD} {i}"} for i in range(9)]), toy(budget=10.0))


def test_no_repr_and_no_traceback_holds_private_text() -> None:
    exchange = send(chat(f"{WORD} {EMAIL}"))
    assert EMAIL not in repr(exchange)
    assert WORD not in repr(exchange)
    for body in (
        chat(f"data:{EMAIL};base64,{WORD}"),
        {"model": f"{WORD} {EMAIL}"},
        f'{{"{WORD}": "{EMAIL}", '.encode(),
    ):
        try:
            send(body)
        except RequestRefused as error:
            shown = "".join(traceback.format_exception(error))
            assert EMAIL not in shown
            assert WORD not in shown
        else:
            pytest.fail("not refused")


def test_one_filter_serves_many_threads() -> None:
    filtered = Filter(Sanitizer(policy="identifiers"))

    def round_trip(n: int) -> bool:
        original = f"peter{n % 7}@example.com"
        exchange = filtered.request("POST", CHAT, JSON, spelled(chat(original)))
        released = read(exchange.body)["messages"][0]["content"]
        answer = json.dumps(
            {"choices": [{"message": {"role": "assistant", "content": released}}]}
        ).encode()
        restored = read(exchange.response(200, "application/json", answer))
        return bool(restored["choices"][0]["message"]["content"] == original != released)

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(round_trip, range(200)))


def test_an_answer_without_anything_to_restore_comes_back_byte_for_byte() -> None:
    raw = b'{ "choices": [ {"message": {"content": "hi", "x": 1.0}, "logprobs": NaN} ], "n": 1e5 }'
    assert send(chat(f"to {EMAIL}")).response(200, "application/json", raw) == raw


def test_ids_and_logprobs_of_an_answer_stay() -> None:
    policy = replace(Policy.preset("identifiers"), style="same-form")
    exchange = send(chat(f"to {EMAIL}"), Sanitizer(policy=policy))
    value = read(exchange.body)["messages"][0]["content"].removeprefix("to ")
    answer = {
        "id": value,
        "choices": [{"message": {"content": value}, "logprobs": {"content": [{"token": value}]}}],
    }
    restored = read(exchange.response(200, "application/json", json.dumps(answer).encode()))
    assert restored["choices"][0]["message"]["content"] == EMAIL
    assert (restored["id"], restored["choices"][0]["logprobs"]["content"][0]["token"]) == (
        value,
        value,
    )


def test_placeholders_forged_by_user_or_model() -> None:
    exchange = send(chat(f"{EMAIL} wrote <EMAIL_1> and <EMAIL_2>"))
    released = read(exchange.body)["messages"][0]["content"]
    assert released == "<EMAIL_1> wrote <TEXT_1> and <TEXT_2>"
    answer = json.dumps({"choices": [{"message": {"content": f"{released} <EMAIL_7>"}}]}).encode()
    content = read(exchange.response(200, "", answer))["choices"][0]["message"]["content"]
    assert content == f"{EMAIL} wrote <EMAIL_1> and <EMAIL_2> <EMAIL_7>"


def test_a_whole_answer_goes_back_for_free() -> None:
    sanitizer = toy()
    call = {
        "id": "c",
        "type": "function",
        "function": {"name": "f", "arguments": '{"who": "Gromblefield"}'},
    }
    message = {"role": "assistant", "content": f"{WORD} <EMAIL_1>", "tool_calls": [call]}
    exchange = send(chat(f"I am {EMAIL}"), sanitizer)
    raw = json.dumps({"choices": [{"index": 0, "message": message}]}).encode()
    shown = read(exchange.response(200, "application/json", raw))["choices"][0]["message"]
    assert shown["content"] == f"{WORD} {EMAIL}"
    again = send({"messages": [shown]}, sanitizer)
    assert json.loads(again.body) == {"messages": [message]}
    assert again.record.charged == 0


@pytest.mark.parametrize(
    ("path", "body"),
    [
        (CHAT, b""),
        (CHAT, b"<html>EMAIL</html>"),
        (CHAT, b"[]"),
        (CHAT, b"{}"),
        (CHAT, b'{"choices": {}}'),
        (CHAT, b'{"output": []}'),
        (CHAT, b'{"choices": ["\xff"]}'),
        (CHAT, b'{"choices":' + b"[" * 10_000),
        (CHAT, b'{"choices":' + b"[" * 500 + b"]" * 500 + b"}"),
        (RESPONSES, b'{"choices": []}'),
    ],
)
def test_a_success_that_is_not_the_endpoints_json_is_an_error(path: str, body: bytes) -> None:
    with pytest.raises(UpstreamError) as error:
        send({**chat("x"), "input": "x"}, path=path).response(200, "text/html", body)
    assert error.value.status == 502
    assert "html" not in str(error.value)


def test_errors_are_restored() -> None:
    body = (
        b'{"error": {"message": "no <EMAIL_1>", "type": "invalid_request_error",'
        b' "code": null, "n": 1.0}}'
    )
    restored = send(chat(f"to {EMAIL}")).response(400, "application/json", body)
    assert (
        restored
        == b'{"error":{"message":"no '
        + EMAIL.encode()
        + b'","type":"invalid_request_error","code":null,"n":1.0}}'
    )


@pytest.mark.parametrize(
    "body", [b"", b"<html>bad gateway at 10.0.0.7</html>", b"[1]", b"\xff", b"[" * 10_000]
)
def test_an_error_that_is_not_json_is_replaced_by_one_that_is(body: bytes) -> None:
    error = json.loads(send(chat("x")).response(502, "text/html", body))["error"]
    assert error["type"] == "upstream_error"
    assert "502" in error["message"]
    assert "10.0.0.7" not in error["message"]


def test_embeddings_pass_as_they_are() -> None:
    policy = replace(Policy.preset("identifiers"), wire=WireRules(embeddings="identifiers"))
    exchange = send({"model": "m", "input": "x"}, Sanitizer(policy=policy), EMBED)
    raw = (
        b'{"object": "list", "data": [{"embedding": [0.10, -1e-7]},'
        b' {"embedding": "AAAA<EMAIL_1>"}]}'
    )
    assert exchange.response(200, "application/json", raw) == raw


@pytest.mark.parametrize("policy", ["identifiers", "words"])
def test_what_machines_read_keeps_its_words(policy: str) -> None:
    sanitizer = Sanitizer(policy="identifiers") if policy == "identifiers" else toy()
    machine = {
        "stop": ["Observation:", WORD],
        "user": EMAIL,
        "metadata": {"team": WORD, "owner": EMAIL},
        "guided_choice": [WORD, "no"],
        "chat_template_kwargs": {"enable_thinking": False, "n": 12345678},
        "response_format": {"type": "json_schema", "json_schema": {"name": "x", "schema": {}}},
    }
    out = sent({**chat("x"), **machine}, sanitizer)
    assert out["stop"] == ["Observation:", WORD]
    assert out["guided_choice"] == [WORD, "no"]
    assert out["chat_template_kwargs"] == {"enable_thinking": False, "n": "@@12345678@@"}
    assert out["response_format"] == machine["response_format"]
    assert out["metadata"]["team"] == WORD
    assert out["user"] == out["metadata"]["owner"] != EMAIL


def test_identifiers_in_schemas_are_replaced_apart_from_those_of_the_user() -> None:
    sanitizer = Sanitizer(policy="identifiers")
    schema = {
        "type": "object",
        "properties": {
            "to": {
                "type": "string",
                "enum": [EMAIL, "nobody"],
                "default": EMAIL,
                "description": f"Not {EMAIL}?",
            },
            "card": {"default": 4111111111111111, "minimum": 10**12},
        },
    }
    tool = {"type": "function", "function": {"name": "mail", "parameters": schema}}
    exchange = send({**chat(f"Ask {EMAIL}"), "tools": [tool]}, sanitizer)
    out = json.loads(exchange.body)
    to, card = out["tools"][0]["function"]["parameters"]["properties"].values()
    assert out["messages"][0]["content"] == "Ask <EMAIL_1>"
    assert to["enum"] == ["<EMAIL_2>", "nobody"]
    assert (to["default"], to["description"]) == ("<EMAIL_2>", "Not <EMAIL_2>?")
    assert card == {"default": "<CARD_1>", "minimum": 10**12}
    raw = b'{"choices": [{"message": {"role": "assistant", "content": "<EMAIL_2>"}}]}'
    assert EMAIL.encode() in exchange.response(200, "application/json", raw)


def test_numbers_in_arguments_are_identifiers_by_form_or_name() -> None:
    arguments = '{"card": 4111111111111111, "ssn": 219099999, "n": 1234567}'
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": arguments}}
    out = sent(chat(None, "assistant", tool_calls=[call]))
    written = json.loads(out["messages"][0]["tool_calls"][0]["function"]["arguments"])
    assert written == {"card": "<CARD_1>", "ssn": "<SSN_1>", "n": 1234567}


def test_a_number_that_one_argument_tells_is_hidden_in_the_others_at_once() -> None:
    arguments = '{"first": 471188123, "phone": 471188123, "n": [471188123, 471188124]}'
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": arguments}}
    out = sent(chat(None, "user", tool_calls=[call]))
    written = json.loads(out["messages"][0]["tool_calls"][0]["function"]["arguments"])
    assert written == {"first": "<PHONE_1>", "phone": "<PHONE_1>", "n": ["<PHONE_1>", 471188124]}


def test_what_a_later_message_announces_is_hidden_in_those_before_it() -> None:
    body = chat("Is 471188 paid?")
    body["messages"].append({"role": "user", "content": "My customer number is 471188."})
    first, second = sent(body)["messages"]
    assert "471188" not in first["content"] + second["content"]


def test_headers_with_identifiers_are_refused_and_credentials_pass() -> None:
    assert sent_headers([("authorization", f"Bearer {EMAIL}"), ("x-title", "Mails")])
    with pytest.raises(RequestRefused, match="x-user"):
        sent_headers([("x-user", EMAIL)])
    with pytest.raises(RequestRefused, match="EMAIL"):
        sent_headers([(b"x-user", EMAIL.encode())])


@pytest.mark.parametrize(("one", "two"), pairs("cut"))
def test_an_identifier_that_is_cut_in_two_is_refused(one: str, two: str) -> None:
    parts = [{"type": "text", "text": text} for text in (f"It is {one}", f"{two} ok")]
    with pytest.raises(RequestRefused, match="cut in two"):
        send(chat(parts))
    messages = [{"role": "user", "content": part["text"]} for part in parts]
    with pytest.raises(RequestRefused, match="cut in two"):
        send({"messages": messages})
    send(chat([parts[0], {"type": "text", "text": " and more"}]))


@pytest.mark.parametrize(("one", "two"), pairs("whole"))
def test_what_only_looks_cut_in_two_is_sent(one: str, two: str) -> None:
    assert sent({"messages": [{"role": "user", "content": text} for text in (one, two)]})


@pytest.mark.parametrize(("one", "two"), pairs("announced"))
def test_a_message_that_the_one_before_announces_is_hidden(one: str, two: str) -> None:
    body = {"messages": [{"role": "user", "content": text} for text in (one, two)]}
    first, second = sent(body)["messages"]
    assert two.strip() not in second["content"]
    assert first["content"] == one
    parts = [{"type": "text", "text": text} for text in (one, two)]
    assert two.strip() not in str(sent(chat(parts)))


@pytest.mark.parametrize(("one", "two"), pairs("other words"))
def test_a_message_that_goes_on_in_other_words_stays(one: str, two: str) -> None:
    body = {"messages": [{"role": "user", "content": text} for text in (one, two)]}
    assert [each["content"] for each in sent(body)["messages"]] == [one, two]


def test_the_record_names_what_left_untouched_and_never_a_word() -> None:
    schema = {"type": "object", "properties": {"a": {"enum": ["red", "blue"]}}}
    function = {"name": "f", "description": f"Ask {EMAIL}.", "parameters": schema}
    hosted = {"type": "mcp", "server_url": "https://mcp.example.com", "allowed_tools": ["b"]}
    body = {
        **chat("Hello", oddly_named={"zebra": "x"}),
        "metadata": {"yak": "blue team", EMAIL: "me"},
        "stop": ["END"],
        "temperature": number("0.5"),
        "tools": [{"type": "function", "function": function}, hosted],
    }
    record = send(body).record
    assert record.untouched == {
        "api_names": 5,  # the model, a role, two types of tools, the name of a function
        "keys": 9,  # temperature, oddly_named, zebra, two of metadata, four of the schema
        "metadata": 2,
        "stop": 1,
        "description": 1,
        "parameters": 3,
        "numbers": 1,
        "credentials": 1,
        "settings": 1,
    }
    assert record.as_dict()["untouched"] == record.untouched
    header = record.headers()["sanitizer-untouched"]
    assert header.startswith("api_names=5, credentials=1, description=1, ")
    assert not any(word in header for word in ("zebra", "yak", "oddly", EMAIL))


def test_messages_of_which_only_identifiers_are_replaced_are_named() -> None:
    policy = replace(Policy.preset("words"), roles={"system": "identifiers"})
    body = chat("x")
    body["messages"].insert(0, {"role": "system", "content": f"You help {WORD}."})
    assert send(body, toy(policy)).record.untouched["messages of system"] == 1


def test_warnings_and_hints_are_counted_and_logged(
    told: Told, caplog: pytest.LogCaptureFixture
) -> None:
    told("MONEY", MONEY="410", FACT="cheated")
    caplog.set_level(logging.INFO, "sanitizer")
    text = "He cheated me of 410: is that much?"
    body = json.dumps({"messages": [{"role": "user", "content": text}]}).encode()
    headers = {"content-type": "application/json"}
    exchange = Filter(Sanitizer()).request("POST", "/v1/chat/completions", headers, body)
    assert (exchange.record.n_warnings, exchange.record.n_hints) == (1, len(exchange.hints))
    assert exchange.record.headers()["sanitizer-n-warnings"] == "1"
    assert exchange.record.headers()["sanitizer-untouched"].endswith("needed MONEY=1")
    assert "sensitive fact and leave: 1" in caplog.text
    assert "410" not in caplog.text
