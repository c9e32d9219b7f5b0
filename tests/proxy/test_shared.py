"""What all requests share: who belongs to which conversation, and what is counted."""

from __future__ import annotations

import asyncio

from prometheus_client.parser import text_string_to_metric_families

from sanitizer import Sanitizer
from sanitizer.proxy.shared import Conversations, Metrics
from tests.proxy.servers import MAIL, Proxy, Received, Upstream, chat, proxy, reply, upstream

PRIVATE = "hepatitis"


def names(*headers: dict[str, str]) -> list[str]:
    conversations = Conversations(Sanitizer(policy="identifiers"), b"k" * 32)
    return [conversations.holder(each).plain for each in headers]


def test_each_key_has_its_own_conversation_and_is_not_in_its_name() -> None:
    one, again, other, azure = names(
        {"authorization": "Bearer a"},
        {"authorization": "Bearer a"},
        {"authorization": "Bearer b"},
        {"api-key": "a"},
    )
    assert one == again
    assert len({one, other, azure}) == 3
    assert "Bearer" not in one


def test_a_named_conversation_belongs_to_its_key() -> None:
    mine, yours, plain = names(
        {"sanitizer-conversation": "c", "authorization": "Bearer a"},
        {"sanitizer-conversation": "c", "authorization": "Bearer b"},
        {"sanitizer-conversation": "c"},
    )
    assert len({mine, yours, plain}) == 3
    assert mine.startswith("c/")
    assert plain == "c"


def test_nobody_can_name_the_conversation_of_a_key(up: Upstream, api: Proxy) -> None:
    whole = api.chat("x", authorization="Bearer a", sanitizer_conversation="c").headers[
        "sanitizer-conversation"
    ]
    answer = api.chat("x", sanitizer_conversation=whole)
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "conversation")
    assert len(up.requests) == 1


def test_what_one_key_said_is_not_restored_for_another() -> None:
    async def says_placeholder(received: Received, writer: asyncio.StreamWriter) -> None:
        writer.write(reply(chat("It is <EMAIL_1>.")))

    with upstream(says_placeholder) as up, proxy(up.url) as api:
        mine = api.chat(f"Mine is {MAIL}", authorization="Bearer a", sanitizer_conversation="c")
        yours = api.chat("Which address?", authorization="Bearer b", sanitizer_conversation="c")
        again = api.chat("Which address?", authorization="Bearer a", sanitizer_conversation="c")
    said = [each.json()["choices"][0]["message"]["content"] for each in (mine, yours, again)]
    assert said == [f"It is {MAIL}.", "It is <EMAIL_1>.", f"It is {MAIL}."]


# ---- metrics ----


def test_metrics_count_by_fixed_words(api: Proxy) -> None:
    api.chat(MAIL)
    api.client.post("/v1/files")
    lines = api.client.get("/metrics").text.splitlines()
    who = 'policy="identifiers",status="{}",tenant=""'
    requests = 'sanitizer_requests_total{{endpoint="{}",{}}} 1.0'
    assert requests.format("chat/completions", who.format(200)) in lines
    assert requests.format("other", who.format(404)) in lines
    assert 'sanitizer_refusals_total{reason="endpoint"} 1.0' in lines
    assert "sanitizer_filter_seconds_count 1.0" in lines
    assert "sanitizer_epsilon_spent_total 0.0" in lines
    buckets = [line for line in lines if line.startswith("sanitizer_request_seconds_bucket")]
    assert buckets[-1] == 'sanitizer_request_seconds_bucket{le="+Inf"} 1.0'
    counts = [float(line.rpartition(" ")[2]) for line in buckets]
    assert counts == sorted(counts)


def test_epsilon_spent_is_counted() -> None:
    with upstream() as up, proxy(up.url, Sanitizer(policy="words")) as api:
        api.chat(f"My father has {PRIVATE}.")
        assert "sanitizer_epsilon_spent_total 5.0" in api.client.get("/metrics").text.splitlines()
    assert PRIVATE.encode() not in up.raw


def test_the_names_of_metrics_are_fixed_and_each_application_has_its_own() -> None:
    one, other = Metrics(), Metrics()
    one.requests.labels("responses", "200", "ada", "strict").inc()
    families = {f.name: f.type for f in text_string_to_metric_families(one.text().decode())}
    assert families == {
        "sanitizer_requests": "counter",
        "sanitizer_refusals": "counter",
        "sanitizer_filter_seconds": "histogram",
        "sanitizer_upstream_seconds": "histogram",
        "sanitizer_request_seconds": "histogram",
        "sanitizer_epsilon_spent": "counter",
        "sanitizer_requests_under_way": "gauge",
    }
    assert b"_created" not in one.text()
    assert b"responses" not in other.text()


def test_requests_under_way_are_counted() -> None:
    metrics = Metrics()
    assert [metrics.enter(), metrics.enter()] == [1, 2]
    metrics.leave()
    assert b"\nsanitizer_requests_under_way 1.0\n" in metrics.text()
