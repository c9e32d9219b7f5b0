"""A look at what would leave: it tells all, and changes nothing."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sanitizer import FileVault, Ledger, Sanitizer
from sanitizer.errors import PolicyError, RequestRefused
from sanitizer.pipeline.surrogates import UNSENT
from sanitizer.storage.ledger import Scope
from sanitizer.storage.vault import MemoryVault
from sanitizer.testing.models import ToyBackbone
from sanitizer.testing.server import answer
from sanitizer.wire.filter import Filter, Preview
from tests.clients.tool_calls import scores
from tests.conftest import Told

KEY = b"a key of at least sixteen bytes"
JSON = {"content-type": "application/json"}
CHAT = "/v1/chat/completions"
TEXT = "Elena has eczema. Mail elena@x.org."
pytestmark = pytest.mark.usefixtures("quick_keys")


def body(*texts: str, **more: Any) -> bytes:
    roles = ["user", "assistant"] * len(texts)
    messages = [{"role": role, "content": t} for role, t in zip(roles, texts, strict=False)]
    return json.dumps({"model": "m", "messages": messages, **more}).encode()


def preview(sanitizer: Sanitizer, *texts: str, **more: Any) -> Preview:
    return Filter(sanitizer).preview(CHAT, JSON, body(*texts, **more))


def sent(sanitizer: Sanitizer, *texts: str) -> list[str]:
    found = Filter(sanitizer).request("POST", CHAT, JSON, body(*texts))
    return [each["content"] for each in json.loads(found.body)["messages"]]


@pytest.fixture
def vault(tmp_path: Path) -> Iterator[FileVault]:
    with FileVault(tmp_path / "vault", KEY, numbers="from 1") as opened:
        yield opened


def dump(path: Path) -> list[str]:
    """All that a vault's file holds."""
    db = sqlite3.connect(path)
    try:
        return list(db.iterdump())
    finally:
        db.close()


def test_it_tells_what_leaves_what_it_stands_for_and_what_it_costs(told: Told) -> None:
    told(PERSON="Elena", CONDITION="eczema")
    sanitizer = Sanitizer(policy="guarded", budget=20.0, vault=MemoryVault(numbers="from 1"))
    seen = preview(sanitizer, TEXT)
    (message,) = seen.body["messages"]
    assert message["content"].startswith(f"<PERSON_1> has {UNSENT}. Mail <EMAIL_1>.\n")
    stand_ins = [("<PERSON_1>", "Elena"), (UNSENT, "eczema"), ("<EMAIL_1>", "elena@x.org")]
    assert list(seen.stand_ins) == stand_ins
    assert (seen.record.charged, seen.record.n_drawn, seen.budget_left) == (5.0, 1, 20.0)
    assert (sanitizer.spent, seen.left, seen.warnings) == (0.0, (), ())
    assert json.loads(json.dumps(seen.as_dict()))["record"]["charged"] == 5.0
    assert "Elena" not in repr(seen)


def test_what_leaves_as_needed_is_told_in_words(told: Told) -> None:
    told("MONEY", MONEY="410 euros")
    seen = preview(Sanitizer(), "Is 410 euros enough?")
    assert seen.left == (("MONEY", "410 euros"),)
    assert "MONEY" in seen.hints[0]
    assert seen.record.untouched["needed MONEY"] >= 1


def test_facts_in_everyday_words_are_told() -> None:
    text = "My father Peter has hepatitis and lives in Leeds. He hit our son."
    seen = preview(Sanitizer(policy="guarded"), text)
    assert seen.warnings == ("hit our son",)
    assert seen.record.n_warnings == 1


def test_nothing_changes_and_numbers_go_on_as_without_it(
    told: Told, vault: FileVault, tmp_path: Path
) -> None:
    told(PERSON="Elena Tom", CONDITION="eczema")
    with Ledger.create(tmp_path / "ledger", KEY) as ledger:
        made: dict[str, Any] = {"vault": vault, "ledger": ledger, "conversation": "a"}
        sanitizer = Sanitizer(policy="guarded", budget=20.0, **made)
        filtered, scope = Filter(sanitizer), Scope("conversation", "a")
        first = filtered.request("POST", CHAT, JSON, body("I am Tom."))
        came = answer("chat/completions", {}, "Hello <PERSON_1>, see <EMAIL_1>.")
        assert isinstance(came.body, bytes)
        first.response(200, came.content_type, came.body)
        history = ("I am Tom.", "Hello Tom, see <EMAIL_1>.", TEXT)
        before = dump(tmp_path / "vault"), ledger.balance(scope)
        tools = [{"type": "function", "function": {"name": "f", "parameters": {}}}]
        seen = [filtered.preview(CHAT, JSON, body(*history, tools=tools)) for _ in range(3)]
        assert (dump(tmp_path / "vault"), ledger.balance(scope)) == before
        assert seen[0] == seen[1] == seen[2]
        shown = [each["content"] for each in seen[0].body["messages"]]
        left = sent(sanitizer, *history)
        assert shown[:2] == left[:2]
        assert shown[1] == "Hello <PERSON_1>, see <EMAIL_1>.", "an answer goes back as it came"
        assert ("<PERSON_1>", "Tom") in seen[0].stand_ins
        drawn = left[2].partition(" has ")[2].partition(".")[0]
        assert shown[2] == left[2].replace(drawn, UNSENT)
        assert "<PERSON_2>" in left[2]
        assert ledger.balance(scope).spent == seen[0].record.charged == 5.0


def test_what_was_drawn_before_is_shown(told: Told) -> None:
    told(CONDITION="eczema psoriasis")
    sanitizer = Sanitizer(policy="guarded")
    (left,) = sent(sanitizer, "I have eczema.")
    seen = preview(sanitizer, "I have eczema.", "Oh.", "And psoriasis. Eczema too.")
    first, _, second = (each["content"] for each in seen.body["messages"])
    assert first == left
    drawn = left.removeprefix("I have ").partition(".")[0]
    assert second == f"And {UNSENT}. {drawn.capitalize()} too."


@pytest.mark.parametrize(
    "policy",
    [
        "strict",
        {"base": "guarded", "style": {"names": "natural"}},
        {"base": "identifiers", "identifiers": {"style": "same-form"}},
    ],
)
def test_nothing_that_is_made_at_random_is_shown(told: Told, policy: Any) -> None:
    told(PERSON="Elena")
    sanitizer = Sanitizer(policy=policy, model=ToyBackbone(scores))
    text = "Elena paid by card 4111 1111 1111 1111 in Leeds on 4 May."
    seen = {json.dumps(preview(sanitizer, text).body) for _ in range(3)}
    assert len(seen) == 1
    assert UNSENT in seen.pop()
    (left,) = sent(sanitizer, text)
    shown = preview(sanitizer, text).body["messages"][0]["content"]
    assert shown == left, "what left is no secret from who sent it"
    assert preview(sanitizer, text).record.charged == 0


def test_the_numbers_of_words_do_not_come_from_a_look(told: Told) -> None:
    told()
    sanitizer = Sanitizer(policy="strict", model=ToyBackbone(scores))
    looked = sanitizer.unsent()
    assert looked.sanitize("I live in Leeds.").text == looked.sanitize("I live in Leeds.").text
    assert repr(sanitizer.inner.vault) == "MemoryVault(0 messages, 0 identifiers)"


def test_what_would_be_refused_is(told: Told) -> None:
    told("MONEY", MONEY="410")
    with pytest.raises(PolicyError):
        preview(Sanitizer(policy={"wire": {"ask": "refuse"}}), "Is 410 enough?")
    with pytest.raises(RequestRefused):
        Filter(Sanitizer(policy="identifiers")).preview("/v1/files", JSON, b"{}")
