"""The extractor behind an address: this machine only, and an answer is never lost to it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from sanitizer import Sanitizer
from sanitizer.answers.extractors import MAX_BYTES, RemoteExtractor, RestoredAnswer
from sanitizer.testing.models import SeededSource
from sanitizer.testing.server import Answer, Received, RecordingServer, Responder, error, html, says
from tests.clients.tool_calls import toy

MAIL = "peter.quill@example.com"
TEXT = f"My Zorblaxian has a Quizzik. Write to {MAIL}."


def asked(server: RecordingServer, answer: str = "Hm.", **settings: Any) -> RestoredAnswer:
    sanitizer = toy("strict", extractor=RemoteExtractor(server.url, **settings))
    sanitizer.sanitize(TEXT, source=SeededSource(1))
    return sanitizer.restore(answer)


def test_the_server_writes_the_answer() -> None:
    with RecordingServer(says("Your Zorblaxian wrote to <EMAIL_1>.")) as server:
        answer = asked(server, "The draft, <EMAIL_1>.", model="tiny")
        (request,) = server.requests
    assert (answer, answer.extracted, answer.note) == (
        f"Your Zorblaxian wrote to {MAIL}.",
        True,
        None,
    )
    assert request.endpoint == "chat/completions"
    assert request.json["model"] == "tiny"
    assert "Zorblaxian" in request.json["messages"][-1]["content"]
    assert "The draft, <EMAIL_1>." in request.json["messages"][-1]["content"]
    assert MAIL not in json.dumps(request.json)


def redirect(received: Received) -> Answer:
    return Answer(b"", 307, headers=(("location", "/v1/elsewhere"),))


FAILURES: list[Responder] = [
    lambda received: error(500),
    lambda received: html(),
    lambda received: Answer(b'{"choices": []}'),
    lambda received: Answer(b'{"choices": [{"message": {"content": null}}]}'),
    lambda received: Answer(b"[" * 100_000),
    lambda received: Answer([b" " * (MAX_BYTES // 2)] * 3),
    says(""),
    redirect,
]


@pytest.mark.parametrize("failure", FAILURES)
def test_a_failing_server_loses_no_answer(failure: Responder) -> None:
    with RecordingServer(failure) as server:
        answer = asked(server, "Mail <EMAIL_1>.")
        assert len(server.requests) == 1
    assert (answer, answer.extracted) == (f"Mail {MAIL}.", False)
    assert answer.note


def test_a_server_that_is_not_there_loses_no_answer() -> None:
    with RecordingServer() as server:
        pass
    answer = asked(server)
    assert (answer, answer.extracted) == ("Hm.", False)
    assert "could not be asked" in str(answer.note)


def test_a_server_that_says_nothing_is_not_waited_for() -> None:
    with RecordingServer() as server:

        def silent(received: Received) -> Answer:
            server.ended.wait()
            return Answer()

        server.script(silent)
        answer = asked(server, timeout=0.05)
    assert (answer, answer.extracted) == ("Hm.", False)


def test_a_server_that_drips_is_not_waited_for() -> None:
    with RecordingServer() as server:
        drops = iter(lambda: None if server.ended.wait(0.01) else b" ", None)
        server.script(Answer(drop for drop in drops))
        answer = asked(server, timeout=0.1)
    assert "too slowly" in str(answer.note)


def test_proxies_of_the_environment_are_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    with RecordingServer(says("Good.")) as server, RecordingServer() as proxy:
        for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
            monkeypatch.setenv(name, f"http://{proxy.host}")
        assert asked(server) == "Good."
        assert proxy.n_connections == 0


@pytest.mark.parametrize(
    "url",
    [
        "https://api.example.com/v1",
        "http://127.0.0.1.example.com/v1",
        "http://10.0.0.7:8080/v1",
        "http://0.0.0.0:8080/v1",
        "http://localhost.example/v1",
    ],
)
def test_another_machine_needs_to_be_trusted_by_name(url: str) -> None:
    with pytest.raises(ValueError, match="on this machine"):
        Sanitizer(extractor=url)
    Sanitizer(extractor=url, trusted_extractor_host=True)


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1:8080/v1", "http://localhost/v1", "http://[::1]:1/v1"]
)
def test_this_machine_needs_no_trust(url: str) -> None:
    Sanitizer(extractor=url)


@pytest.mark.parametrize(
    "url", ["http://a:b@127.0.0.1/v1", "ftp://127.0.0.1/", "http://127.0.0.1/v1?x=1", "http://"]
)
def test_an_address_must_be_what_it_seems(url: str) -> None:
    with pytest.raises(ValueError, match="extractor must"):
        Sanitizer(extractor=url)


def test_a_timeout_must_be_above_zero() -> None:
    with pytest.raises(ValueError, match="timeout"):
        RemoteExtractor("http://127.0.0.1/v1", timeout=0)
