"""A calendar, a payment and an extraction through the real SDKs: the API sees stand-ins alone, and
the application gets numbers, dates and members.
"""

from __future__ import annotations

import datetime
import json
import re
from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any, Literal

import pytest
from pydantic import BaseModel

from sanitizer import Sanitizer
from sanitizer.clients.shielding import shield
from sanitizer.testing import other_apis
from sanitizer.testing.server import Answer, Received, RecordingServer
from tests.clients.sdk_clients import shielded, since
from tests.lazily import lazily
from tests.wire.test_event_streams import call, event
from tests.wire.test_event_streams import chunk as chunk_of

anthropic: Any = lazily("anthropic", optional=True)
EVENTS = "text/event-stream"
SECRETS = ("Marta Quill", "1,250", "1250", "13 Feb", "2026", "2:30", "14:30")
BOOK = "Book a call with Marta Quill. It starts on 13 Feb 2026 at 2:30pm, and takes an hour."
PAY = "Pay Marta Quill the £1,250.00 that I owe her. It is due on 13 February 2026."
CALENDAR = {
    "type": "object",
    "properties": {
        "title": {"type": "string"},
        "start": {"type": "string", "format": "date-time"},
        "day": {"anyOf": [{"type": "string", "format": "date"}, {"type": "null"}]},
        "minutes": {"type": "integer"},
    },
}
PAYMENT = {
    "type": "object",
    "properties": {
        "to": {"type": "string"},
        "amount": {"type": "number"},
        "currency": {"type": "string", "enum": ["EUR", "GBP"]},
        "due": {"type": "string", "format": "date"},
    },
}


class Invoice(BaseModel):
    """What is to be extracted."""

    payee: str
    amount: float
    exact: Decimal
    whole: int
    currency: Literal["EUR", "GBP"]
    due: datetime.date


@pytest.fixture
def server() -> Iterator[RecordingServer]:
    with RecordingServer() as server:
        yield server


@pytest.fixture
def sanitizer() -> Sanitizer:
    return Sanitizer(policy="deidentify")


def filled(arguments: dict[str, Any], received: Received) -> str:
    """What a model writes: "PERSON 1" is the first placeholder of the class in the request."""
    sent = received.body.decode()

    def placeholder(name: re.Match[str]) -> str:
        found = dict.fromkeys(re.findall(f"<{name[1]}(?:_[0-9]+)+>", sent))
        return str(list(found)[int(name[2]) - 1])

    return re.sub(r"([A-Z]{4,}) ([12])", placeholder, json.dumps(arguments))


def answering(
    answer: Callable[[str], Answer], arguments: dict[str, Any]
) -> Callable[[Received], Answer]:
    return lambda received: answer(filled(arguments, received))


def check(server: RecordingServer) -> None:
    """Something came, and nothing hidden in it."""
    bodies = b"".join(received.body for received in server.requests)
    assert b"MONEY" in bodies or b"DATE" in bodies
    assert not [secret for secret in SECRETS if secret.encode() in bodies]


def chunk(delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
    return {**chunk_of(delta, finish), "created": 1}


def chat_call(arguments: str) -> Answer:
    function = {"name": "book", "arguments": ""}
    first = chunk(
        {"tool_calls": [{"index": 0, "id": "c1", "type": "function", "function": function}]}
    )
    pieces = [arguments[i : i + 3] for i in range(0, len(arguments), 3)]
    events = [event(first), *(event(chunk(call(piece))) for piece in pieces)]
    return Answer([*events, event(chunk({}, "tool_calls")), event("[DONE]")], content_type=EVENTS)


def chat_text(text: str) -> Answer:
    message = {"role": "assistant", "content": text}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    document = {"id": "a", "object": "chat.completion", "created": 1, "model": "m"}
    return Answer(json.dumps({**document, "choices": [choice]}).encode())


def response_text(text: str) -> Answer:
    part = {"type": "output_text", "text": text, "annotations": []}
    item = {"type": "message", "id": "m", "role": "assistant", "status": "completed"}
    answer = {"id": "r", "object": "response", "created_at": 1, "model": "m", "status": "completed"}
    more = {"parallel_tool_calls": False, "tool_choice": "auto", "tools": []}
    output = [{**item, "content": [part]}]
    return Answer(json.dumps({**answer, **more, "output": output}).encode())


def blocks(arguments: str) -> Answer:
    block = {"type": "tool_use", "id": "t1", "name": "pay", "input": json.loads(arguments)}
    return Answer(json.dumps(other_apis.message([block])).encode())


def block_events(arguments: str) -> Answer:
    block = {"type": "tool_use", "id": "t1", "name": "pay", "input": arguments}
    return Answer(other_apis.message_events([block]), content_type=EVENTS)


def text_block(text: str) -> Answer:
    return Answer(json.dumps(other_apis.message([{"type": "text", "text": text}])).encode())


@since(1, 92)
def test_a_calendar_tool(server: RecordingServer, sanitizer: Sanitizer) -> None:
    arguments = {"title": "PERSON 1", "start": "DATE 1 DATE 2", "day": "DATE 1", "minutes": 60}
    server.script(answering(chat_call, arguments), chat_text("Booked."))
    tools: Any = [{"type": "function", "function": {"name": "book", "parameters": CALENDAR}}]
    messages: list[Any] = [{"role": "user", "content": BOOK}]
    with shielded(server, sanitizer) as client:
        with client.chat.completions.stream(model="m", messages=messages, tools=tools) as stream:
            message = stream.get_final_completion().choices[0].message
        assert json.loads(message.tool_calls[0].function.arguments) == {
            "title": "Marta Quill",
            "start": "2026-02-13T14:30:00",
            "day": "2026-02-13",
            "minutes": 60,
        }
        messages.append(message.model_dump(exclude_none=True, warnings=False))
        result = {"booked": True, "start": "2026-02-13T14:30:00"}
        content = json.dumps(result)
        messages.append({"role": "tool", "tool_call_id": "c1", "content": content})
        answer = client.chat.completions.create(model="m", messages=messages, tools=tools)
    assert answer.sanitizer_record["n_claims_ended"] == 3
    check(server)
    (again,) = server.requests[1].json["messages"][1]["tool_calls"]
    assert again["function"]["arguments"] == filled(arguments, server.requests[0])


@pytest.mark.parametrize("streams", [False, True])
def test_a_payment_tool(server: RecordingServer, sanitizer: Sanitizer, streams: bool) -> None:
    arguments = {"to": "PERSON 1", "amount": "MONEY 1", "currency": "MONEY 1", "due": "DATE 1"}
    server.script(answering(block_events if streams else blocks, arguments), text_block("Paid."))
    ask: Any = {"model": "m", "max_tokens": 64}
    ask["tools"] = [{"name": "pay", "description": "Pay.", "input_schema": PAYMENT}]
    messages: list[Any] = [{"role": "user", "content": PAY}]
    base = server.url.removesuffix("/v1")
    with anthropic.Anthropic(base_url=base, api_key="test", max_retries=0) as plain:
        client = shield(plain, sanitizer)
        if streams:
            with client.messages.stream(**ask, messages=messages) as stream:
                content = stream.get_final_message().content
        else:
            content = client.messages.create(**ask, messages=messages).content
        assert content[0].input == {
            "to": "Marta Quill",
            "amount": 1250.0,
            "currency": "GBP",
            "due": "2026-02-13",
        }
        messages.append({"role": "assistant", "content": content})
        result = {"type": "tool_result", "tool_use_id": "t1", "content": '{"paid": 1250.0}'}
        messages.append({"role": "user", "content": [result]})
        answer = client.messages.create(**ask, messages=messages)
    ended = [name[1:].partition("_")[0] for name in answer.sanitizer_record["claims_ended"]]
    assert ended == ["DATE", "MONEY", "PERSON"]
    check(server)
    again = server.requests[1].json["messages"][1]["content"][0]["input"]
    assert again == json.loads(filled(arguments, server.requests[0]))


EXTRACTED = {
    "payee": "PERSON 1",
    "amount": "MONEY 1",
    "exact": "MONEY 1",
    "whole": "MONEY 1",
    "currency": "MONEY 1",
    "due": "DATE 1",
}
INVOICE = Invoice(
    payee="Marta Quill",
    amount=1250.0,
    exact=Decimal(1250),
    whole=1250,
    currency="GBP",
    due=datetime.date(2026, 2, 13),
)


@since(1, 92)
def test_an_extraction(server: RecordingServer, sanitizer: Sanitizer) -> None:
    server.script(answering(chat_text, EXTRACTED), answering(response_text, EXTRACTED))
    messages: list[Any] = [{"role": "user", "content": PAY}]
    with shielded(server, sanitizer) as client:
        parse = client.chat.completions.parse
        answer = parse(model="m", messages=messages, response_format=Invoice)
        assert answer.choices[0].message.parsed == INVOICE
        response = client.responses.parse(model="m", input=PAY, text_format=Invoice)
        assert response.output_parsed == INVOICE
        assert response.sanitizer_record["n_claims_ended"] == 2
    check(server)


def test_an_extraction_with_the_other_sdk(server: RecordingServer, sanitizer: Sanitizer) -> None:
    server.script(answering(text_block, EXTRACTED))
    base = server.url.removesuffix("/v1")
    with anthropic.Anthropic(base_url=base, api_key="test", max_retries=0) as plain:
        answer = shield(plain, sanitizer).messages.parse(
            model="m",
            max_tokens=64,
            messages=[{"role": "user", "content": PAY}],
            output_format=Invoice,
        )
    assert answer.parsed_output == INVOICE
    check(server)


def test_what_fits_no_field_is_noted(server: RecordingServer, sanitizer: Sanitizer) -> None:
    schema = {"type": "object", "properties": {"pounds": {"type": "integer"}}}
    form: Any = {"type": "json_schema", "json_schema": {"name": "n", "schema": schema}}
    server.script(answering(chat_text, {"pounds": "MONEY 1"}))
    messages: list[Any] = [{"role": "user", "content": "I owe Marta Quill £1,250.50 since May."}]
    with shielded(server, sanitizer) as client:
        answer = client.chat.completions.create(model="m", messages=messages, response_format=form)
    assert json.loads(answer.choices[0].message.content) == {"pounds": "£1,250.50"}
    assert any("£1,250.50" in note and "integer" in note for note in answer.sanitizer_notes)
    check(server)
