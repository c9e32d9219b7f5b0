"""What the page's endpoints answer and charge."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest

from sanitizer import Cape, Corrections, Sanitizer
from sanitizer.progress import reported_to
from sanitizer.proxy.page_api import binomial_range
from sanitizer.storage.ledger import Ledger, Scope
from tests.proxy.servers import (
    JSON,
    MAIL,
    Proxy,
    an_api,
    cases,
    fixed,
    proxy,
    reply,
    upstream,
)

TEXT = f"My father Peter has hepatitis; write to {MAIL}."
WISH = {"text": TEXT, "policy": "words", "mechanism": "cape", "epsilon": 5}
KEY = b"a key for the tests of the page"


@pytest.fixture(scope="module")
def page() -> Iterator[Proxy]:
    with upstream() as up, proxy(up.url, Sanitizer(budget=60.0, policy="words")) as api:
        yield api
        assert not up.raw


def ask(api: Proxy, what: str, conversation: str = "page-1", **changes: Any) -> dict[str, Any]:
    answer = api.client.post(
        f"/page/{what}", json=WISH | changes, headers={"sanitizer-conversation": conversation}
    )
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def test_the_settings_are_the_proxys(page: Proxy) -> None:
    assert page.client.get("/page/settings").json() == {
        "policies": ["identifiers", "deidentify", "code", "balanced", "guarded", "strict", "words"],
        "policy": "words",
        "mechanisms": ["cape", "dyntext"],
        "mechanism": "cape",
        "epsilon": 5.0,
        "epsilon_min": 1.0,
        "epsilon_max": 12.0,
        "max_chars": 100_000,
        "remembers": False,
        "upstream": page.upstream,
        "upstream_is_local": True,
        "needs_key": True,
    }


def test_a_preview_shows_what_would_leave_and_charges_nothing(page: Proxy) -> None:
    found = ask(page, "preview")
    again = ask(page, "preview")
    assert found["budget"] == again["budget"] == {"spent": 0.0, "left": 60.0}
    assert found["text"] == again["text"]
    assert found["record"]["charged"] == again["record"]["charged"] == 10.0
    for each in found["replacements"]:
        assert found["text"][each["start"] : each["end"]] == each["replacement"]
    originals = {each["original"] for each in found["replacements"]}
    assert {"Peter", "hepatitis", MAIL} <= originals


def test_a_copy_is_what_was_shown_and_is_charged_once(page: Proxy) -> None:
    shown = ask(page, "preview", "page-2")
    copied, again = ask(page, "copy", "page-2"), ask(page, "copy", "page-2")
    assert shown["text"] == copied["text"] == again["text"]
    assert copied["record"]["charged"] == 10.0
    assert copied["budget"]["spent"] - shown["budget"]["spent"] == 10.0
    assert again["budget"] == copied["budget"]
    assert again["record"]["charged"] == 0.0


@pytest.mark.parametrize(
    "changes", [{"policy": "strict"}, {"mechanism": "dyntext"}, {"epsilon": 2.5}]
)
def test_other_settings_draw_anew(page: Proxy, changes: dict[str, Any]) -> None:
    found = ask(page, "preview", "page-3", **changes)
    record = found["record"]
    assert record["epsilon_per_unit"] == changes.get("epsilon", 5)
    assert record["policy"] == changes.get("policy", "words")
    assert record["mechanism"] == changes.get("mechanism", "cape")
    assert record["certified"]
    assert 0.0 < found["risk"]["ceiling"] < 1.0
    assert 0.0 <= found["risk"]["expected"] <= 1.0
    assert found["risk"]["note"]


def test_without_noise_the_risk_is_said(page: Proxy) -> None:
    found = ask(page, "preview", policy="identifiers")
    assert MAIL not in found["text"]
    assert "Peter has hepatitis" in found["text"]
    assert found["record"]["epsilon_total"] is None
    assert found["risk"]["ceiling"] == found["risk"]["expected"] == 1.0
    assert "leave as they are" in found["risk"]["note"]


@pytest.mark.parametrize(
    "text",
    ["", "   ", "the and of", "?!", "\ud800 lone", "😀 Peter 😀", "a\u0000b", "<b>&amp;</b>"],
)
def test_any_text_is_answered(page: Proxy, text: str) -> None:
    body = json.dumps(WISH | {"text": text})  # a lone surrogate can only be written escaped
    answer = page.client.post("/page/preview", content=body, headers=JSON)
    assert answer.status_code == 200
    found = answer.json()
    for each in found["replacements"]:
        assert found["text"][each["start"] : each["end"]] == each["replacement"]


def refused(answer: httpx.Response, status: int, code: str) -> None:
    assert (answer.status_code, answer.json()["error"]["code"]) == (status, code)
    assert MAIL not in answer.text


@cases("wish")
def test_wishes_that_cannot_be_met_are_named(page: Proxy, case: dict[str, Any]) -> None:
    for endpoint in ("preview", "draft"):
        refused(page.client.post(f"/page/{endpoint}", json=WISH | case["changes"]), 400, "field")


def test_a_text_of_the_page_has_a_limit(page: Proxy) -> None:
    too_long = WISH | {"text": "a" * 100_001}
    refused(page.client.post("/page/preview", json=too_long), 413, "size")


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"[" * 100_000, b'"\xff"', b'{"epsilon": NaN}'])
def test_what_is_no_json_is_refused(page: Proxy, body: bytes) -> None:
    answer = page.client.post("/page/copy", content=body, headers=JSON)
    assert answer.status_code == 400
    assert answer.json()["error"]["code"] in ("json", "field")


def test_a_form_of_another_page_cannot_post(page: Proxy) -> None:
    refused(page.client.post("/page/copy", data={"text": "x"}), 415, "content_type")


def test_a_copy_beyond_the_budget_is_refused_and_a_preview_is_not() -> None:
    with upstream() as up, proxy(up.url, Sanitizer(Cape(5.0), budget=6.0, policy="words")) as api:
        assert ask(api, "preview")["budget"] == {"spent": 0.0, "left": 6.0}
        refused(api.client.post("/page/copy", json=WISH), 403, "budget_exceeded")
        assert ask(api, "preview")["budget"] == {"spent": 0.0, "left": 6.0}


def test_a_ledger_is_charged_for_the_pages_conversation_when_it_copies(tmp_path: Path) -> None:
    path = tmp_path / "ledger"
    Ledger.create(path, KEY).close()
    ledger = Ledger(path, KEY)
    sanitizer = Sanitizer(ledger=ledger, conversation="default", budget=50.0, policy="words")
    with ledger, upstream() as up, proxy(up.url, sanitizer) as api:
        assert ask(api, "preview", "page-7")["budget"] == {"spent": 0.0, "left": 50.0}
        assert ask(api, "copy", "page-7")["budget"] == {"spent": 10.0, "left": 40.0}
        assert ledger.balance(Scope("conversation", "page-7")).spent == 10.0
        assert ledger.balance(Scope("conversation", "default")).spent == 0.0


def test_without_a_limit_none_is_left() -> None:
    with upstream() as up, proxy(up.url) as api:
        assert ask(api, "preview", policy="identifiers")["budget"] == {"spent": 0.0, "left": None}


# ---- rules, answers, and what a reload shows ----


def test_phrases_are_kept_and_hidden_as_the_person_says(page: Proxy) -> None:
    found = ask(page, "preview", "page-8", policy="identifiers", hide=["Peter"], keep=[MAIL])
    assert MAIL in found["text"]
    assert "Peter" not in found["text"]


def state(api: Proxy, conversation: str) -> dict[str, Any]:
    headers = {"sanitizer-conversation": conversation}
    found: dict[str, Any] = api.client.get("/page/state", headers=headers).json()
    return found


def test_the_state_is_that_of_the_conversation_alone(page: Proxy) -> None:
    assert state(page, "page-9") == {"wish": None, "left": [], "turns": []}
    ask(page, "draft", "page-9", text="It is so.", answer="Yes.", hide=["so"])
    assert state(page, "page-9")["wish"] == WISH | {
        "text": "It is so.",
        "answer": "Yes.",
        "model": "",
        "keep": [],
        "hide": ["so"],
    }
    assert state(page, "page-10")["wish"] is None


def test_what_left_is_listed_once_and_without_originals(page: Proxy) -> None:
    for _ in range(2):
        copied = ask(page, "copy", "page-11", policy="identifiers")
    ask(page, "preview", "page-11", policy="identifiers", text=f"Or {MAIL}.")
    (left,) = state(page, "page-11")["left"]
    assert left["text"] == copied["text"]
    assert left["record"]["policy"] == "identifiers"
    assert MAIL not in str(left)


def test_an_answer_is_restored_by_what_left(page: Proxy) -> None:
    wish = {"policy": "identifiers", "answer": "I wrote to <EMAIL_1>."}
    before = ask(page, "restore", "page-12", **wish)
    assert before["left"] == 0
    assert [part["original"] for part in before["parts"]] == [None]
    ask(page, "copy", "page-12", **wish)
    found = ask(page, "restore", "page-12", **wish)
    assert [part["original"] for part in found["parts"]] == [None, MAIL, None]
    assert found["notes"] == []
    assert [p["original"] for p in ask(page, "restore", "page-13", **wish)["parts"]] == [None]


def test_words_are_counted_over_the_same_text_under_every_policy(page: Proxy) -> None:
    known = {
        policy: ask(page, "preview", "page-14", policy=policy)["risk"]["words"]
        for policy in ("identifiers", "words", "strict")
    }
    assert len({each["total"] for each in known.values()}) == 1
    assert known["identifiers"]["shown"] > known["words"]["shown"] > known["strict"]["shown"]
    for each in known.values():
        assert 0 <= each["low"] <= each["high"] <= each["total"] - each["shown"]


@pytest.mark.parametrize(("n", "p"), [(1, 0.0), (1, 1.0), (7, 0.3), (1000, 0.01), (5000, 0.2)])
def test_the_range_holds_in_95_of_100_cases(n: int, p: float) -> None:
    low, high = binomial_range(n, p)
    counts = np.random.default_rng(5).binomial(n, p, 20_000)
    assert np.mean((counts >= low) & (counts <= high)) > 0.94
    assert 0 <= low <= high <= n


def test_work_that_nobody_waits_for_ends_between_two_steps() -> None:
    sanitizer, steps = Sanitizer(policy="deidentify", budget=1.0), list[int]()

    def watch(done: int, total: int, charged: bool) -> None:
        steps.append(done)
        if 0 < done < total and not charged:
            raise InterruptedError

    with pytest.raises(InterruptedError), reported_to(watch):
        sanitizer.sanitize("We met Anna Berg in Oslo. " * 120)
    assert steps[-1] > 0
    assert not sanitizer.inner.vault.originals("")


def test_nothing_under_way_has_no_progress(page: Proxy) -> None:
    assert page.client.get("/page/progress").json() == {"done": 0, "total": 0}


# ---- the files ----


def test_the_page_is_served_with_a_strict_policy(page: Proxy) -> None:
    answer = page.client.get("/")
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    policy = answer.headers["content-security-policy"]
    assert policy.startswith("default-src 'none'; script-src 'self';")
    assert "unsafe" not in policy
    assert answer.headers["cache-control"] == "no-store"
    assert page.client.get("/page/app.js").headers["content-type"].startswith("text/javascript")
    assert page.client.get("/page/style.css").headers["content-type"].startswith("text/css")


@pytest.mark.parametrize(
    "path", ["/page/", "/page/index.html", "/page/../app.py", "/page/%2e%2e/app.py", "/page/app.py"]
)
def test_nothing_else_is_served(page: Proxy, path: str) -> None:
    head = f"GET {path} HTTP/1.1\r\nhost: 127.0.0.1:{page.port}\r\nconnection: close\r\n\r\n"
    assert page.raw(head.encode()).startswith(b"HTTP/1.1 404 ")


def test_the_page_can_be_left_out() -> None:
    with upstream() as up, proxy(up.url, page=False) as api:
        for path in ("/", "/page/settings", "/page/app.js"):
            assert api.client.get(path).status_code == 404
        assert api.client.get("/healthz").status_code == 200


def test_a_correction_of_the_page_holds_for_every_text_to_come(tmp_path: Path) -> None:
    memory = Corrections(tmp_path / "memory", KEY, create=True)
    text = "Jira says that Project Falcon is late."
    with (
        upstream() as up,
        proxy(up.url, Sanitizer(policy="identifiers", corrections=memory)) as api,
    ):
        assert api.client.get("/page/settings").json()["remembers"] is True

        def remember(phrase: Any, treatment: str) -> httpx.Response:
            return api.client.post(
                "/page/remember",
                json={"phrase": phrase, "treatment": treatment},
                headers={"sanitizer-conversation": "page-1"},
            )

        assert remember("project falcon", "hide").json() == {"changed": True}
        assert remember("Jira", "keep").json() == {"changed": True}
        shown = ask(api, "preview", "another", text=text, policy="identifiers")["text"]
        assert shown == "Jira says that <TERM_1> is late."
        assert Corrections(memory.path, KEY).entries() == [
            ("keep", "Jira"),
            ("hide", "project falcon"),
        ]
        assert remember("Project Falcon", "forget").json() == {"changed": True}
        assert ask(api, "preview", "a", text=text, policy="identifiers")["text"] == text
        for phrase, treatment in ((5, "hide"), ("...", "hide"), ("4", "keep"), ("Jira", "drop")):
            refused = remember(phrase, treatment)
            assert refused.status_code == 400
            assert "Jira" not in refused.text
    with upstream() as up, proxy(up.url, Sanitizer(policy="identifiers")) as api:
        assert remember("Jira", "keep").status_code == 400


# ---- sending through the proxy ----

SENT = WISH | {"policy": "identifiers", "model": "small-1"}


def sent(api: Proxy, **changes: Any) -> httpx.Response:
    return api.client.post(
        "/page/send", json=SENT | changes, headers={"sanitizer-conversation": "page-s"}
    )


def test_what_is_sent_is_the_preview_alone_and_its_answer_is_restored() -> None:
    with upstream(an_api()) as up, proxy(up.url, Sanitizer(policy="identifiers")) as api:
        found = sent(api, key="a-key", text=f"Write to {MAIL}.").json()
        assert found["failed"] == ""
        (turn,) = found["turns"]
        assert turn["answer"] == f"You wrote: {found['text']}"
        assert (turn["wrote"], turn["sent"]) == (f"Write to {MAIL}.", found["text"])
        assert MAIL.encode() not in up.raw
        tried, asked = up.requests
        assert (tried.line, tried.body) == ("GET /v1/models HTTP/1.1", b"")
        assert asked.json() == {
            "model": "small-1",
            "messages": [{"role": "user", "content": found["text"]}],
        }
        assert asked.headers["authorization"] == tried.headers["authorization"] == "Bearer a-key"
        state = api.client.get("/page/state", headers={"sanitizer-conversation": "page-s"}).json()
        assert (state["wish"]["text"], state["wish"]["model"]) == ("", "small-1")
        assert state["turns"] == found["turns"]
        assert [each["text"] for each in state["left"]] == [found["text"]]
        assert "a-key" not in json.dumps(state)
        assert MAIL in "".join(p["original"] or p["text"] for p in turn["parts"])


def test_a_turn_is_sent_behind_those_before_it_or_in_place_of_one() -> None:
    with upstream(an_api()) as up, proxy(up.url) as api:
        for text in ("One.", "Two."):
            sent(api, text=text)
        assert len(sent(api, text="Other.", turn=1).json()["turns"]) == 2
        refused(sent(api, turn=3), 400, "field")
        refused(sent(api, turn=True), 400, "field")
        asked = [
            [m["content"] for m in each.json()["messages"]] for each in up.requests if each.body
        ]
        assert asked == [
            ["One."],
            ["One.", "You wrote: One.", "Two."],
            ["One.", "You wrote: One.", "Other."],
        ]


def test_the_proxys_own_key_is_used_and_models_are_listed() -> None:
    with upstream(an_api()) as up, proxy(up.url, key="own-key") as api:
        assert not api.client.get("/page/settings").json()["needs_key"]
        listed = api.client.post("/page/models", json={"key": "another"}).json()
        assert listed == {"models": ["small-1", "large-1"]}
        sent(api, key="another")
        keys = {each.headers["authorization"] for each in up.requests}
        assert keys == {"Bearer own-key"}


@pytest.mark.parametrize("models", [401, None])
def test_nothing_is_charged_or_sent_before_an_api_takes_the_key(models: int | None) -> None:
    sanitizer = Sanitizer(budget=60.0, policy="words")
    behave = an_api(models) if models else fixed(b"no HTTP at all")
    with upstream(behave) as up, proxy(up.url, sanitizer) as api:
        refused(sent(api, policy="words"), 502, "upstream")
        assert sanitizer.spent == 0.0
        assert [each.line.split()[0] for each in up.requests] == ["GET"]


@pytest.mark.parametrize(
    ("reply_", "told"),
    [
        (reply(b'{"error": {"message": "no such model"}}', status=404), "404: no such model"),
        (reply(b'{"error": "busy"}', status=503), "503: busy"),
        (reply(b"<html>", "text/html", 500), "status 500"),
        (reply(b'{"choices": []}'), "without text"),
        (reply(b"[]"), "without text"),
        (b"HTTP/1.1 200 X\r\ncontent-length: 50\r\n\r\n{", "ended its answer too early"),
    ],
)
def test_an_api_that_fails_is_told_and_the_text_counts_as_left(reply_: bytes, told: str) -> None:
    with upstream(an_api(answered=reply_)) as up, proxy(up.url) as api:
        found = sent(api).json()
        assert told in found["failed"]
        assert found["turns"] == []
        state = api.client.get("/page/state", headers={"sanitizer-conversation": "page-s"}).json()
        assert len(state["left"]) == 1


@pytest.mark.parametrize("changes", [{"model": ""}, {"key": 5}, {"key": "two words"}, {"key": "é"}])
def test_a_model_and_a_key_that_cannot_be_are_refused(changes: dict[str, Any]) -> None:
    with upstream() as up, proxy(up.url) as api:
        refused(sent(api, **changes), 400, "field")
        assert not up.raw
