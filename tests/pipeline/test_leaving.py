"""What leaves because a request needs it: once for a thing, only where a person asks."""

from __future__ import annotations

import logging

import pytest

from sanitizer import Policy, PolicyError, Prompt, Sanitizer
from sanitizer.pipeline.leaving import QUASI
from sanitizer.text.policy import ELIGIBLE
from sanitizer.wire.filter import Filter
from tests.conftest import Told

ASKS = "Which cream is good for eczema in Norwich, asks Elena?"
JSON = {"content-type": "application/json"}


def sent(sanitizer: Sanitizer, text: str, **options: str) -> str:
    return sanitizer.sanitize(text, **options).text  # type: ignore[arg-type]


@pytest.fixture
def needs(told: Told) -> Told:
    def tell(needs: str = "CONDITION PLACE", **classes: str) -> None:
        told(
            needs, **{"CONDITION": "eczema Eczema", "PLACE": "Norwich", "PERSON": "Elena"} | classes
        )

    return tell


def test_what_is_needed_leaves_and_who_asks_does_not(needs: Told) -> None:
    needs()
    result = Sanitizer().sanitize(ASKS)
    assert "eczema in Norwich, asks <PERSON" in result.text
    assert [(each.kind, ASKS[each.start : each.end]) for each in result.left] == [
        ("CONDITION", "eczema"),
        ("PLACE", "Norwich"),
    ]
    assert result.record.left == ("CONDITION", "PLACE")
    assert "request needs it" in result.record.not_protected
    assert result.record.n_drawn == 0
    assert "CONDITION, PLACE" in result.hints[0]


@pytest.mark.parametrize("policy", ["guarded", {"wire": {"ask": "hide"}}])
def test_nothing_leaves_where_the_policy_says_so(needs: Told, policy: str) -> None:
    needs()
    result = Sanitizer(policy=policy).sanitize(ASKS)
    assert not result.left
    assert "eczema" not in result.text
    assert "Norwich" not in result.text


def test_only_sums_and_numbers_leave_under_deidentify(needs: Told) -> None:
    needs("MONEY PLACE", MONEY="410")
    out = sent(Sanitizer(policy="deidentify"), "Is 410 enough for Norwich, Elena?")
    assert "410" in out
    assert "Norwich" not in out


def test_hidden_stays_hidden_and_left_stays_left(needs: Told) -> None:
    needs("")
    sanitizer = Sanitizer()
    hidden = sent(sanitizer, "Elena moved to Norwich.")
    needs()
    assert "Norwich" not in sent(sanitizer, ASKS)
    assert hidden.split()[-1].rstrip(".") in sent(sanitizer, "What is the weather in Norwich?")
    needs("")
    assert "eczema" in sent(sanitizer, "Elena told me of her Eczema and of eczema.")


def test_a_place_before_the_needed_one_decides(needs: Told, told: Told) -> None:
    needs()
    text = 'Elena wrote: "I live in Norwich". How far is Norwich?'
    assert "Norwich" not in sent(Sanitizer(), text)


@pytest.mark.parametrize(
    "text",
    [
        'Shorten: "Which cream helps with eczema?"',
        "Shorten this:\n> Which cream helps with eczema?",
        "Shorten:\n```\nWhich cream helps with eczema?\n```",
        "Shorten: <mail>Which cream helps with eczema?</mail>",
        "Shorten: <mail>Which cream helps with eczema?",
    ],
)
def test_what_is_not_the_users_needs_nothing(needs: Told, text: str) -> None:
    needs()
    assert not Sanitizer().sanitize(text).left


@pytest.mark.parametrize("role", ["assistant", "tool", "system", "developer"])
def test_only_a_user_needs(needs: Told, role: str) -> None:
    needs()
    assert not Sanitizer().sanitize(ASKS, role=role).left


def test_values_of_templates_are_no_request(needs: Told) -> None:
    needs()
    prompt = Prompt("Answer {question}").fill(question=ASKS)
    assert not Sanitizer().sanitize(prompt).left


def test_two_things_that_name_a_person_leave_at_most(needs: Told) -> None:
    needs("PLACE ORIGIN BELIEF", PLACE="Norwich Lund", ORIGIN="Tamil", BELIEF="Quaker")
    out = Sanitizer().sanitize("A Tamil Quaker in Norwich: may she move to Lund?")
    assert [each.kind for each in out.left] == ["ORIGIN", "BELIEF"]
    other = Sanitizer(policy={"conversation": {"leave_at_most": 3}})
    assert len(other.sanitize("A Tamil Quaker in Norwich: may she move to Lund?").left) == 3


def test_ages_count_among_them(needs: Told) -> None:
    needs("NUMBER AGE PLACE", NUMBER="17 44 61", PLACE="Norwich")
    out = Sanitizer().sanitize("Aged 17 and 44 and 61: what is the law in Norwich?")
    assert len(out.left) == 2


def test_births_never_leave(needs: Told) -> None:
    needs("DATE BIRTH", DATE="March")
    assert not Sanitizer().sanitize("Was it a Monday in March?").left


def test_a_treatment_stays_hidden_beside_a_hidden_condition(needs: Told) -> None:
    needs("TREATMENT", TREATMENT="insulin")
    assert not Sanitizer().sanitize("How much insulin for her eczema?").left
    needs("TREATMENT CONDITION", TREATMENT="insulin")
    assert len(Sanitizer().sanitize("How much insulin for her eczema?").left) == 2


def test_what_stands_for_another_thing_is_hidden(needs: Told) -> None:
    needs("")
    sanitizer = Sanitizer(policy={"classes": {"CONDITION": "draw unless needed"}})
    drawn = sanitizer.sanitize("Her eczema is bad.").replacements[0].replacement
    needs("CONDITION", CONDITION=f"eczema {drawn}")
    assert not sanitizer.sanitize(f"Which cream helps with {drawn}?").left


def test_programs_need_nothing(needs: Told) -> None:
    needs()
    sanitizer = Sanitizer()
    plain, with_tools = (
        Filter(sanitizer.derive(conversation=name)) for name in ("one/ada", "two/ada")
    )
    body = b'{"messages": [{"role": "user", "content": "Which cream for eczema?"}]%s}'
    path = "/v1/chat/completions"
    exchange = plain.request("POST", path, JSON, body % b"")
    assert exchange.record.untouched["needed CONDITION"] == 1
    assert "CONDITION" in exchange.hints[0]
    tools = b', "tools": [{"type": "function", "function": {"name": "f"}}]'
    assert b"eczema" not in with_tools.request("POST", path, JSON, body % tools).body
    third = Filter(sanitizer.derive(conversation="three/ada"))
    assert b"eczema" not in third.request("POST", path, JSON, body % b"").body
    other = Filter(sanitizer.derive(conversation="three/bob"))
    assert b"eczema" in other.request("POST", path, JSON, body % b"").body
    typed = sanitizer.derive(conversation="four/ada", policy={"roles": {"user": "typed"}})
    assert b"eczema" in Filter(typed).request("POST", path, JSON, body % b"").body


def test_a_policy_may_refuse_and_a_hint_is_logged(
    needs: Told, caplog: pytest.LogCaptureFixture
) -> None:
    needs()
    with pytest.raises(PolicyError, match="keep="):
        Sanitizer(policy={"wire": {"ask": "refuse"}}).sanitize(ASKS)
    caplog.set_level(logging.INFO, "sanitizer")
    Sanitizer().sanitize(ASKS)
    assert "CONDITION, PLACE" in caplog.text
    assert "eczema" not in caplog.text


def test_only_classes_of_what_and_how_much_may_be_needed() -> None:
    assert QUASI - {"AGE"} <= ELIGIBLE
    with pytest.raises(PolicyError, match="PERSON"):
        Policy.from_dict({"classes": {"PERSON": "vault unless needed"}})
    assert Policy.from_dict({"base": "guarded", "classes": {"MONEY": "vault unless needed"}}).left
