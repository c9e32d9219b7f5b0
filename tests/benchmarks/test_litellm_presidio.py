"""The session through LiteLLM and Presidio: what a turn counts, and what stands for Presidio."""

from __future__ import annotations

import json
from typing import Any

import pytest

from benchmarks.peers.tools import FEW
from benchmarks.speed import litellm_presidio as bench
from benchmarks.speed.session import JSON, first_request
from sanitizer import Sanitizer
from sanitizer.testing.server import Answer, Received, RecordingServer
from sanitizer.wire.filter import Filter

OWNERS = ["owner1@example.com", "owner2@example.com", "owner3@example.com"]


def asked() -> dict[str, Any]:
    content = " ".join(f"Ask {owner} about this." for owner in OWNERS)
    return {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": content}]}


def test_without_a_proxy_the_first_and_the_last_owner_reach_the_api_and_come_back() -> None:
    with RecordingServer(bench.api) as upstream:
        row = bench.turn(upstream.host, asked(), OWNERS, upstream)
    assert (row["owners"], row["hidden"], row["back"]) == (2, 0, 2)


def test_a_request_that_is_not_answered_ends_the_measurement() -> None:
    with RecordingServer(bench.api) as upstream:
        upstream.script(Answer(b"{}", 503))
        with pytest.raises(RuntimeError, match="status 503"):
            bench.turn(upstream.host, asked(), OWNERS, upstream)


def test_what_the_api_repeats_is_put_back_by_ours() -> None:
    filter_ = Filter(Sanitizer(policy="code"))
    sent = filter_.request("POST", "/v1/messages", JSON, json.dumps(asked()).encode())
    assert b"@example.com" not in sent.body
    answer = bench.api(Received("POST", "/v1/messages", (), sent.body))
    assert isinstance(answer.body, bytes)
    back = sent.response(200, "application/json", answer.body)
    assert all(owner in back.decode() for owner in (OWNERS[0], OWNERS[-1]))


class Worker:
    """A tool that finds one address."""

    def ask(self, request: dict[str, Any]) -> Any:
        assert request == {"do": "find", "texts": ["to a@example.com"]}
        return {"spans": [[[3, 16, "EMAIL_ADDRESS", 1.0]]]}


def test_what_was_found_is_told_in_the_analyzers_shape() -> None:
    worker: Any = Worker()
    analyzed = Received("POST", "/analyze", (), b'{"text": "to a@example.com", "language": "en"}')
    assert json.loads(bench.presidio(worker, analyzed).body) == [  # type: ignore[arg-type]
        {"start": 3, "end": 16, "entity_type": "EMAIL_ADDRESS", "score": 1.0}
    ]
    (guard,) = bench.settings("http://api", "http://presidio")["guardrails"]
    assert set(guard["litellm_params"]["pii_entities_config"]) == set(FEW)


def test_a_session_begins_with_the_request_that_is_measured_alone_too() -> None:
    with RecordingServer(bench.api) as upstream:
        rows = bench.session({"direct": upstream.host}, upstream, most=100)
    assert rows[0]["kb"] == len(json.dumps(first_request())) / 1000
    assert [row["direct"]["owners"] for row in rows[:3]] == [0, 1, 2]
    assert rows[-1]["kb"] >= 100 > rows[-2]["kb"]
