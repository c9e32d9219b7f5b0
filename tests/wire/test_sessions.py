"""A long session: what left once leaves again, byte for byte, and is not read again."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import pytest

from sanitizer import Sanitizer
from sanitizer.storage.vault import MemoryVault
from sanitizer.wire.filter import Filter

JSON = {"content-type": "application/json"}
TEXTS = (
    "Is 471188 paid? Elena Marsh asked for it.",
    "My customer number is 471188.",
    "Then write to anna@example.org, and ask about Project Falcon.",
    "Elena Marsh wrote that Falcon is late.",
)
"""A later text tells what 471188 and Falcon are."""


def sent(filter_: Filter, n: int, path: str = "/v1/messages") -> bytes:
    """What leaves of a request with the first n texts, one answer after each but the last."""
    messages: list[dict[str, Any]] = []
    for i, text in enumerate(TEXTS[:n]):
        messages += [{"role": "user", "content": text}]
        messages += [{"role": "assistant", "content": f"Answer {i}."}] * (i < n - 1)
    body = {"model": "m", "max_tokens": 9, "messages": messages}
    exchange = filter_.request("POST", path, JSON, json.dumps(body).encode())
    answer = {"type": "message", "content": [{"type": "text", "text": f"Answer {n - 1}."}]}
    exchange.response(200, "application/json", json.dumps(answer).encode())
    return exchange.body


@pytest.mark.parametrize("policy", ["identifiers", "deidentify"])
def test_each_request_begins_with_the_bytes_of_the_one_before(policy: str) -> None:
    filter_ = Filter(Sanitizer(policy=policy, conversation="c"))
    bodies = [sent(filter_, n) for n in range(1, len(TEXTS) + 1)]
    for before, after in pairwise(bodies):
        assert after.startswith(before.removesuffix(b"]}"))
    first, _, rest = bodies[-1].partition(b"Answer 0")
    assert b"471188" not in rest
    assert (b"471188" in first) == (policy == "identifiers")  # as it left: nothing told of it yet


def test_what_comes_for_the_first_time_is_hidden_wherever_a_text_of_it_tells() -> None:
    body = sent(Filter(Sanitizer(policy="identifiers", conversation="c")), 2)
    assert b"471188" not in body


@pytest.fixture
def treated(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The texts that were treated anew."""
    seen: list[str] = []
    treat = Sanitizer._treated

    def noted(self: Sanitizer, found: Any, *more: Any) -> Any:
        seen.append(found.text)
        return treat(self, found, *more)

    monkeypatch.setattr(Sanitizer, "_treated", noted)
    return seen


def test_only_what_is_new_is_treated(treated: list[str]) -> None:
    filter_ = Filter(Sanitizer(policy="deidentify", conversation="c"))
    sent(filter_, 3)
    treated.clear()
    sent(filter_, 4)
    assert treated == [TEXTS[3]]


def test_another_conversation_or_policy_or_role_treats_it_anew(treated: list[str]) -> None:
    sanitizer = Sanitizer(policy="identifiers", conversation="c")
    text = "Write to anna@example.org."
    first = sanitizer.sanitize(text)
    assert sanitizer.sanitize(text) == first
    sanitizer.sanitize(text, role="tool")
    sanitizer.sanitize(text, fresh=True)
    sanitizer.sanitize(text, keep=["Write"])
    sanitizer.derive(policy="deidentify").sanitize(text)
    sanitizer.derive(conversation="d").sanitize(text)
    sanitizer.derive(vault=MemoryVault()).sanitize(text)
    assert len(treated) == 7
    preview = sanitizer.derive(charged=False)
    assert preview.sanitize(text) == first  # as it left
    preview.sanitize(text + " Please.")
    sanitizer.sanitize(text + " Please.")  # what was only looked at did not leave
    assert len(treated) == 9


def test_a_conversation_that_the_vault_forgot_gets_stand_ins_that_come_back() -> None:
    vault = MemoryVault(max_entries=1)
    sanitizer = Sanitizer(policy="identifiers", conversation="c", vault=vault)
    text = "Write to anna@example.org."
    first = sanitizer.sanitize(text)
    sanitizer.derive(conversation="d").sanitize("Write to otto@example.org.")
    again = sanitizer.sanitize(text)
    assert again.text != first.text
    assert sanitizer.restore(again.text) == text


def test_what_a_person_lets_leave_is_added_to_a_text_that_had_left() -> None:
    sanitizer = Sanitizer(
        policy={"base": "deidentify", "classes": {"MONEY": "vault unless needed"}}
    )
    text = "Elena wrote to us about her 1200 euros."
    prompt = sanitizer.sanitize(text)
    money = next(each for each in prompt.replacements if each.kind == "MONEY")
    needs = sanitizer.needs(f"[need {money.replacement}]")
    assert sanitizer.sanitize(text) == prompt
    out = sanitizer.release(text, needs, [money.replacement])
    assert out.text.endswith("1200 euros")
    assert sanitizer.sanitize(text) == out
