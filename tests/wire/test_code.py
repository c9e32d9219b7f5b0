"""Requests of coding agents under `code`: what programs say to an API loses names alone."""

from __future__ import annotations

import json
from typing import Any

from sanitizer import Sanitizer
from sanitizer.wire.filter import Exchange, Filter

PROMPT = (
    "You are the release agent. Mark tasks as done in PLAN.md within 3 days.\n"
    "Git user: Marit Solberg <marit@example.org>\nHost: db-prod-03.corp.internal"
)


def sent(policy: str, **body: Any) -> Exchange:
    headers = {"content-type": "application/json"}
    content = json.dumps({"model": "m", **body}).encode()
    return Filter(Sanitizer(policy=policy)).request(
        "POST", "/v1/chat/completions", headers, content
    )


def test_system_prompts_lose_names_and_identifiers_and_the_record_says_so() -> None:
    messages = [
        {"role": "user", "content": "Marit Solberg asks: mark it"},
        {"role": "system", "content": PROMPT},
    ]
    exchange = sent("code", messages=messages)
    said = json.loads(exchange.body)["messages"][1]["content"]
    assert said.startswith(
        "You are the release agent. Mark tasks as done in PLAN.md within 3 days."
    )
    assert not [part for part in ("Marit", "example.org", "db-prod") if part in said]
    assert exchange.record.untouched["messages of system"] == 1
    assert "messages of system" not in sent("balanced", messages=messages).record.untouched


def test_descriptions_of_tools_lose_names_and_schemas_stay() -> None:
    about = "Asks Marit Solberg of the billing team to approve a release."
    schema = {"type": "object", "properties": {"plan": {"type": "string", "enum": ["gold"]}}}
    tool = {"name": "approve", "description": about, "parameters": schema}
    exchange = sent(
        "code",
        messages=[{"role": "user", "content": "Hi"}],
        tools=[{"type": "function", "function": tool}],
    )
    found = json.loads(exchange.body)["tools"][0]["function"]
    assert found["name"] == "approve"
    assert found["parameters"] == schema
    assert "Marit" not in found["description"]
    assert found["description"].endswith("of the billing team to approve a release.")
    assert exchange.record.untouched["description"] == 1


def test_the_record_counts_what_was_hidden_by_class() -> None:
    messages = [
        {"role": "user", "content": PROMPT},
        {"role": "user", "content": "Ask marit@example.org and Marit Solberg, then bo@example.org"},
    ]
    record = sent("code", messages=messages).record
    assert record.classes == {"PERSON": 1, "EMAIL": 2, "HOST": 1}
    assert record.headers()["sanitizer-classes"] == "EMAIL=2, HOST=1, PERSON=1"
    assert record.as_dict()["classes"] == record.classes
    assert sent("code", messages=[{"role": "user", "content": "Hi"}]).record.classes == {}


def test_what_machines_read_gets_no_note() -> None:
    exchange = sent("code", messages=[{"role": "user", "content": "Ask a@example.org"}])
    assert "[Note:" in json.loads(exchange.body)["messages"][0]["content"]
    body = {"client_metadata": {"id": "9d0c1f7e-4f6b-4c59-9d7e-0b9a4f0a2c11"}, "input": "a@x.org"}
    headers = {"content-type": "application/json"}
    exchange = Filter(Sanitizer(policy="code")).request(
        "POST", "/v1/responses", headers, json.dumps(body).encode()
    )
    document = json.loads(exchange.body)
    assert document["client_metadata"] == body["client_metadata"]
    assert "[Note:" in document["input"]
