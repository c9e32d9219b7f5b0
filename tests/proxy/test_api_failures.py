"""Whatever fails, nothing private is received upstream, and the client gets an error in the API's
shape.
"""

from __future__ import annotations

import asyncio
import json
import logging
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import pytest

from sanitizer import Policy, Sanitizer
from sanitizer.errors import VaultError
from sanitizer.proxy.api import log_failure
from sanitizer.storage.ledger import Ledger
from sanitizer.storage.stored_vault import FileVault
from sanitizer.storage.vault import MemoryVault
from sanitizer.wire.event_streams import EventStream
from tests.proxy.servers import (
    MAIL,
    STREAM_HEAD,
    Behave,
    Received,
    chat,
    chunk,
    fixed,
    piece,
    proxy,
    reply,
    upstream,
)

KEY = b"a key for the tests of the proxy"
PRIVATE = "hepatitis"


def code(answer: httpx.Response) -> tuple[int, str]:
    return answer.status_code, answer.json()["error"]["code"]


# ---- the upstream ----

HTML = b"<html><body>Bad gateway</body></html>"


UNFIT = {
    "HTML": (reply(HTML, "text/html"), 502),
    "HTML 503": (reply(HTML, "text/html", 503), 503),
    "no JSON": (reply(HTML), 502),
    "empty": (reply(b"", "application/json"), 502),
    "deep": (reply(b"[" * 10_000, "application/json"), 502),
    "gzip": (reply(chat("x"), "application/json", 200, "content-encoding: gzip"), 502),
    "redirect": (reply(b"", "text/plain", 302, "location: https://elsewhere.example/"), 502),
    "cut off": (reply(chat("x"))[:-20], 502),
    "no HTTP": (b"SSH-2.0-OpenSSH_9.6\r\n", 502),
    "half a head": (b"HTTP/1.1 200 OK\r\n", 502),
    "none": (b"", 502),
}


@pytest.mark.parametrize(("answer", "status"), UNFIT.values(), ids=UNFIT)
def test_answers_that_cannot_be_restored_become_errors(answer: bytes, status: int) -> None:
    async def behave(received: Received, writer: asyncio.StreamWriter) -> None:
        writer.write(answer)
        await writer.drain()
        writer.close()

    with upstream(behave) as up, proxy(up.url, timeout=5) as api:
        got = api.chat(MAIL)
        assert code(got) == (status, "upstream")
        assert MAIL.encode() not in up.raw
        assert len(up.requests) == 1


def test_an_upstream_that_is_down_is_told() -> None:
    with upstream() as gone:
        pass
    with proxy(gone.url) as api:
        assert code(api.chat("x")) == (502, "upstream")


async def silence(received: Received, writer: asyncio.StreamWriter) -> None:
    await asyncio.Event().wait()


def test_a_silent_upstream_times_out() -> None:
    with upstream(silence) as up, proxy(up.url, timeout=0.2) as api:
        assert code(api.chat("x")) == (504, "upstream")
        assert up.closed.wait(10)


def saying(*pieces: bytes, then: str = "hang") -> Behave:
    async def behave(received: Received, writer: asyncio.StreamWriter) -> None:
        writer.write(STREAM_HEAD + b"".join(piece(each) for each in pieces))
        await writer.drain()
        if then == "hang":
            await asyncio.Event().wait()
        if then == "end":
            writer.write(piece(b""))
        writer.close()

    return behave


def last_event(answer: httpx.Response) -> dict[str, Any]:
    """The error that ends a stream."""
    event = answer.text.rstrip("\n").rpartition("\n\n")[2]
    found: dict[str, Any] = json.loads(event.rpartition("data: ")[2])
    return found


HALF = b'data: {"id": "c1", "choices": [{"delta": {"content": "secret'
BROKEN = {
    "half then hangs": saying(chunk("One"), HALF),
    "half then ends": saying(chunk("One"), HALF, then="end"),
    "half then breaks": saying(chunk("One"), HALF, then="break"),
    "not JSON": saying(chunk("One"), b"data: secret\n\n", then="end"),
}


@pytest.mark.parametrize("behave", BROKEN.values(), ids=BROKEN)
def test_a_broken_stream_ends_in_an_error_event_and_nothing_raw(behave: Behave) -> None:
    with upstream(behave) as up, proxy(up.url, timeout=0.3) as api:
        answer = api.chat("x", stream=True)
    assert answer.status_code == 200
    assert "secret" not in answer.text
    assert "[DONE]" not in answer.text
    assert last_event(answer)["error"]["code"] == "upstream"


def test_responses_streams_end_in_their_own_error_event() -> None:
    with upstream(saying(b"event: response.novel\ndata: {}\n\n")) as up, proxy(up.url) as api:
        answer = api.client.post("/v1/responses", json={"input": "x", "stream": True})
    assert answer.text.startswith("event: error\ndata: ")
    event = last_event(answer)
    assert [event["type"], event["code"], event["error"]["code"]] == ["error", *["upstream"] * 2]


def test_a_filter_that_fails_in_a_stream_ends_it(monkeypatch: pytest.MonkeyPatch) -> None:
    fed = EventStream.feed

    def failing(self: EventStream, data: bytes) -> bytes:
        if b"second" in data:
            raise KeyError("second")
        return fed(self, data)

    async def behave(received: Received, writer: asyncio.StreamWriter) -> None:
        writer.write(STREAM_HEAD + piece(chunk("first")))
        await writer.drain()
        await asyncio.sleep(0.2)  # so that the pieces arrive apart
        writer.write(piece(chunk("second")) + piece(b""))

    monkeypatch.setattr(EventStream, "feed", failing)
    with upstream(behave) as up, proxy(up.url) as api:
        answer = api.chat("x", stream=True)
    assert "first" in answer.text
    assert "second" not in answer.text
    assert last_event(answer)["error"]["code"] == "internal"


# ---- the proxy's own parts ----


def never(answer: httpx.Response, expected: str, up: Any) -> None:
    assert code(answer) == (500, expected)
    assert answer.headers["x-should-retry"] == "false"
    assert MAIL not in answer.text
    assert not up.raw


@pytest.mark.parametrize("method", ["edit", "originals"])
def test_a_vault_that_fails_stops_the_request(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    vault = MemoryVault()

    def full(*_: Any) -> Any:
        raise VaultError("the vault cannot be written (No space left on device)")

    with (
        upstream() as up,
        proxy(up.url, Sanitizer(policy="identifiers", vault=vault), may_block=True) as api,
    ):
        assert api.chat(MAIL).status_code == 200
        before = bytes(up.raw)
        monkeypatch.setattr(vault, method, full)
        answer = api.chat(f"{MAIL} other@private.example")
        assert code(answer) == (500, "vault")
        assert answer.headers["x-should-retry"] == "false"
        assert MAIL not in answer.text
        assert b"private.example" not in up.raw
        assert method == "originals" or bytes(up.raw) == before


def test_a_defect_stops_the_request_and_shows_nothing(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*_: object) -> None:
        raise KeyError(MAIL)

    monkeypatch.setattr(MemoryVault, "edit", broken)
    with upstream() as up, proxy(up.url) as api:
        never(api.chat(MAIL), "internal", up)
    assert "KeyError at test_api_failures.py" in caplog.text
    assert MAIL not in caplog.text


def test_what_was_logged_when_it_began_is_not_logged_for_each_request(
    caplog: pytest.LogCaptureFixture,
) -> None:
    down = VaultError("PostgreSQL cannot be used: it did not answer a moment ago")
    log_failure(down)
    assert len(caplog.records) == 1
    down.is_repeated = True
    log_failure(down)
    assert len(caplog.records) == 1


def ledger_sanitizer(path: Path, budget: float = 100.0) -> Sanitizer:
    Ledger.create(path, KEY).close()
    return Sanitizer(
        policy="words", ledger=Ledger(path, KEY), conversation="default", budget=budget
    )


def edit(path: Path, statement: str) -> None:
    """What damage to the file amounts to, done by another program."""
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.execute(statement)


@pytest.mark.parametrize(
    "statement", ["DROP TABLE head", "UPDATE head SET seal = zeroblob(28)", "DELETE FROM account"]
)
def test_a_ledger_that_is_damaged_stops_the_request(tmp_path: Path, statement: str) -> None:
    path = tmp_path / "ledger"
    with upstream() as up, proxy(up.url, ledger_sanitizer(path)) as api:
        edit(path, statement)
        never(api.chat(f"My father has {PRIVATE}."), "ledger", up)


@pytest.mark.parametrize(
    "statement", ["DROP TABLE entry", "DELETE FROM entry", "UPDATE head SET body = x'00'"]
)
def test_a_vault_file_that_is_damaged_stops_the_request(tmp_path: Path, statement: str) -> None:
    path = tmp_path / "vault"
    vault = FileVault(path, KEY)
    sanitizer = Sanitizer(policy="identifiers", vault=vault)
    with vault, upstream() as up, proxy(up.url, sanitizer, may_block=True) as api:
        assert api.chat(MAIL, sanitizer_conversation="c").status_code == 200
        before = bytes(up.raw)
        edit(path, statement)
        answer = api.chat("second@private.example", sanitizer_conversation="c")
        assert code(answer) == (500, "vault")
        assert bytes(up.raw) == before


def test_a_spent_budget_is_refused_and_not_tried_again(tmp_path: Path) -> None:
    with upstream() as up, proxy(up.url, ledger_sanitizer(tmp_path / "ledger", 6.0)) as api:
        assert api.chat(f"My father has {PRIVATE}.").status_code == 200
        again = api.chat(f"My father has {PRIVATE}.")
        assert (again.status_code, again.headers["sanitizer-charged"]) == (200, "0.0")
        before = bytes(up.raw)
        answer = api.chat("My mother has asthma.")
        assert code(answer) == (403, "budget_exceeded")
        assert answer.json()["error"]["type"] == "insufficient_quota"
        assert answer.headers["x-should-retry"] == "false"
        assert bytes(up.raw) == before
        other = api.chat("My mother has asthma.", sanitizer_conversation="other")
        assert other.status_code == 200
        assert b"asthma" not in up.raw
        assert PRIVATE.encode() not in up.raw


def test_without_a_ledger_all_conversations_share_the_limit() -> None:
    with upstream() as up, proxy(up.url, Sanitizer(budget=6.0, policy="words")) as api:
        assert api.chat(f"My father has {PRIVATE}.").status_code == 200
        answer = api.chat(f"My father has {PRIVATE}.", sanitizer_conversation="other")
        assert code(answer) == (403, "budget_exceeded")
        assert len(up.requests) == 1


def test_what_the_policy_refuses_is_not_sent(tmp_path: Path) -> None:
    path = tmp_path / "firm.toml"
    path.write_text('base = "identifiers"\n[refuse]\nwords = ["codename"]\n')
    with upstream() as up, proxy(up.url, Sanitizer(policy=Policy.load(path))) as api:
        answer = api.chat("The codename is secret.")
        assert code(answer) == (403, "policy")
        assert not up.raw


# ---- nothing private in anything the proxy writes ----


def test_planted_secrets_stay_out_of_logs_metrics_and_errors(
    caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.DEBUG)
    secrets = {"mail": MAIL, "key": "sk-client-0123456789abcdef", "name": "case-4711-peter"}
    asked = {"messages": [{"role": "user", "content": MAIL}]}
    bodies: Mapping[str, bytes] = {
        "/v1/chat/completions": json.dumps(asked).encode(),
        "/v1/responses": MAIL.encode(),
        "/v1/embeddings": json.dumps({"input": MAIL}).encode(),
        f"/v1/files?q={MAIL}": b"{}",
        f"/v1/{secrets['name']}": b"{}",
        "/page/preview": json.dumps({"text": MAIL, "policy": MAIL}).encode(),
    }
    headers = {"authorization": f"Bearer {secrets['key']}", "content-type": "application/json"}
    shown: list[str] = []
    with upstream(fixed(reply(HTML, "text/html"))) as up, proxy(up.url) as api:
        for path, body in bodies.items():
            shown.append(api.client.post(path, content=body, headers=headers).text)
        shown.append(
            api.client.post("/v1/responses", content=b"{", headers={"host": secrets["name"]}).text
        )
        shown.append(api.client.get("/metrics").text)
        written = capfd.readouterr()
        others = ("httpx", "httpcore", "hypothesis")
        mine = [r.getMessage() for r in caplog.records if not r.name.startswith(others)]
        for secret in secrets.values():
            assert secret not in "".join([*shown, *mine, written.out, written.err])
            assert secret.encode() not in up.raw.replace(f"Bearer {secrets['key']}".encode(), b"")
