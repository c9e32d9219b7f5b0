"""The guard endpoints: texts in and out, by session, whole and in pieces."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sanitizer import Sanitizer
from sanitizer.answers.restorer import Restorer
from sanitizer.proxy.guard_api import Carry, redacted, rehydrated, step
from sanitizer.proxy.shared import Conversations
from sanitizer.storage.stored_vault import FileVault
from tests.proxy.servers import Proxy, Upstream, proxy, upstream

MAIL, CARD = "peter.lund@example.com", "4111 1111 1111 1111"
TOKEN = "a-token-of-the-tests"  # noqa: S105
RESTORER = Restorer({"<EMAIL_1>": MAIL, "<SECRET_1>": 'a "b"\\c'})


@pytest.fixture(scope="module")
def guard() -> Iterator[Proxy]:
    with upstream() as up, proxy(up.url, token=TOKEN) as running:
        yield running


def ask(guard: Proxy, path: str, session: str | None = "s1", **body: Any) -> httpx.Response:
    headers = {"authorization": f"Bearer {TOKEN}"}
    if session is not None:
        headers["x-session-id"] = session
    return guard.client.post(f"/v1/guard/{path}", json=body, headers=headers)


class TestTexts:
    def test_redacted_and_rehydrated(self, guard: Proxy) -> None:
        texts = [f"Write to {MAIL}.", f"{MAIL}, card {CARD}", "nothing", ""]
        sent = ask(guard, "redact", texts=texts).json()["texts"]
        assert sent == ["Write to <EMAIL_1>.", "<EMAIL_1>, card <CARD_1>", "nothing", ""]
        assert ask(guard, "rehydrate", texts=sent).json()["texts"] == texts

    def test_arguments_of_tools_stay_json(self, guard: Proxy) -> None:
        arguments = json.dumps({"text": f"line\n{MAIL}", "n": 1})
        (sent,) = ask(guard, "redact", texts=[arguments]).json()["texts"]
        assert json.loads(sent) == {"text": "line\n<EMAIL_1>", "n": 1}
        (back,) = ask(guard, "rehydrate", texts=[sent]).json()["texts"]
        assert json.loads(back) == json.loads(arguments)

    def test_sessions_do_not_see_each_other(self, guard: Proxy) -> None:
        ask(guard, "redact", "mine", texts=[MAIL])
        texts = ask(guard, "rehydrate", "other", texts=["<EMAIL_1>"]).json()["texts"]
        assert texts == ["<EMAIL_1>"]

    def test_originals_are_escaped_where_the_answer_is_json(self) -> None:
        back = rehydrated(RESTORER, '{"a": "<SECRET_1>", "b": "\\u003cEMAIL_1\\u003E"}')
        assert json.loads(back) == {"a": 'a "b"\\c', "b": MAIL}
        assert rehydrated(RESTORER, "is <SECRET_1>") == 'is a "b"\\c'
        assert json.loads(rehydrated(RESTORER, '["\\\\u003cEMAIL_1"]')) == ["\\u003cEMAIL_1"]


class TestPieces:
    @given(st.lists(st.integers(1, 9), min_size=1, max_size=40), st.booleans())
    def test_any_split_gives_the_whole(self, sizes: list[int], in_json: bool) -> None:
        whole = "Ask <EMAIL_1>, <EMAIL_12>, \\<EMAIL_1\\> or <SECRET_1>: <EM"
        whole = json.dumps({"text": whole}) if in_json else whole
        shown, carry, at = "", "", 0
        while at < len(whole):
            size = sizes[at % len(sizes)]
            piece, at = whole[at : at + size], at + size
            text, carry = step(RESTORER, piece, Carry.read(carry, piece), False)
            shown += text
        text, carry = step(RESTORER, "", Carry.read(carry, ""), True)
        shown += text
        assert carry == ""
        assert shown == (rehydrated(RESTORER, whole) if in_json else RESTORER.text(whole))

    def test_over_http(self, guard: Proxy) -> None:
        ask(guard, "redact", "pieces", texts=[f"Write to {MAIL}"])
        shown, carry = "", ""
        for piece in ("To <EMA", "IL_", "1> and", " on"):
            answer = ask(
                guard, "rehydrate/stream", "pieces", text=piece, carry=carry, final=False
            ).json()
            shown, carry = shown + answer["text"], answer["carry"]
        last = ask(guard, "rehydrate/stream", "pieces", text="", carry=carry, final=True).json()
        assert shown + last["text"] == f"To {MAIL} and on"
        assert last["carry"] == ""


class TestPortkey:
    def test_request_and_answer(self, guard: Proxy) -> None:
        request = {"model": "m", "messages": [{"role": "user", "content": f"to {MAIL}"}]}
        webhook: dict[str, Any] = {
            "eventType": "beforeRequestHook",
            "requestType": "chatComplete",
            "request": {"json": request},
        }
        done = ask(guard, "portkey", **webhook).json()
        assert done["verdict"] is True
        sent = done["transformedData"]["request"]["json"]
        assert sent["messages"][0]["content"] == "to <EMAIL_1>"
        answer = {"choices": [{"message": {"content": "<EMAIL_1>"}}], "n": 1}
        webhook |= {"eventType": "afterRequestHook", "response": {"json": answer}}
        back = ask(guard, "portkey", **webhook).json()["transformedData"]["response"]["json"]
        assert back == {"choices": [{"message": {"content": MAIL}}], "n": 1}

    @pytest.mark.parametrize(
        "body",
        [
            {},
            {"eventType": "beforeRequestHook", "request": {"json": None}},
            {"eventType": "beforeRequestHook", "requestType": "embed", "request": {"json": {}}},
            {"eventType": "afterRequestHook", "response": {}},
        ],
    )
    def test_others_are_refused(self, guard: Proxy, body: Any) -> None:
        assert ask(guard, "portkey", **body).status_code in (400, 404)


class TestRefusals:
    def test_the_token(self, guard: Proxy) -> None:
        answer = guard.client.post("/v1/guard/redact", json={"texts": []})
        assert answer.status_code == 401

    def test_a_session_is_needed(self, guard: Proxy) -> None:
        assert ask(guard, "redact", None, texts=["a"]).json()["error"]["code"] == "conversation"
        assert ask(guard, "redact", "no spaces", texts=["a"]).status_code == 400

    @pytest.mark.parametrize(
        ("path", "body"),
        [
            ("redact", {"texts": "a"}),
            ("redact", {"texts": [1]}),
            ("redact", {}),
            ("rehydrate", {"texts": [None]}),
            ("rehydrate/stream", {"text": 1}),
            ("rehydrate/stream", {"text": "", "carry": "{", "final": False}),
            ("rehydrate/stream", {"text": "", "carry": "[1, 2, 3]", "final": False}),
            ("rehydrate/stream", {"text": "", "carry": "", "final": "yes"}),
        ],
    )
    def test_bad_bodies(self, guard: Proxy, path: str, body: Any) -> None:
        answer = ask(guard, path, **body)
        assert answer.status_code == 400
        assert answer.json()["error"]["code"] == "field"

    def test_too_many(self, guard: Proxy) -> None:
        assert ask(guard, "redact", texts=[""] * 10_001).status_code == 413

    def test_what_the_policy_refuses_is_an_error_without_text(self, tmp_path: Path) -> None:
        refusing = tmp_path / "policy.toml"
        refusing.write_text('name = "own"\nbase = "identifiers"\n[refuse]\nwords = ["heron"]\n')
        with upstream() as up, proxy(up.url, Sanitizer(policy=refusing)) as running:
            answer = ask(running, "redact", texts=["Codename Heron"])
            assert answer.status_code == 403
            assert "Heron" not in answer.text
            assert not up.raw


def test_nothing_is_asked_of_the_upstream(up: Upstream) -> None:
    with proxy(up.url) as running:
        ask(running, "redact", texts=[MAIL])
        assert not up.raw
        assert running.client.get("/v1/guard/redact").status_code == 405


class TestSessions:
    def test_the_oldest_lose_their_originals(self) -> None:
        sessions = Conversations(Sanitizer(policy="identifiers"), b"k" * 32, most=2, short=True)
        redacted(sessions.of("a")[1], [MAIL])
        redacted(sessions.of("b")[1], [MAIL])
        sessions.of("a")
        sessions.of("c")
        assert rehydrated(sessions.of("a")[0].inner.answers.restorer(), "<EMAIL_1>") == MAIL
        assert rehydrated(sessions.of("b")[0].inner.answers.restorer(), "<EMAIL_1>") == "<EMAIL_1>"

    def test_with_a_vault_on_disk_they_are_found_again(self, tmp_path: Any) -> None:
        with FileVault(tmp_path / "v.vault", key=b"k" * 32) as vault:
            sessions = Conversations(
                Sanitizer(policy="identifiers", vault=vault), b"k" * 32, most=1, short=True
            )
            redacted(sessions.of("a")[1], [MAIL])
            sessions.of("b")
            assert rehydrated(sessions.of("a")[0].inner.answers.restorer(), "<EMAIL_1>") == MAIL
