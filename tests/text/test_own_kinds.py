"""Kinds of identifiers in a policy: some switched off, some of its own."""

from __future__ import annotations

import pickle

import pytest

from sanitizer import Policy, PolicyError, Sanitizer

TICKET = {
    "name": "our-ticket",
    "class": "ID",
    "label": "ticket of the help desk",
    "form": r"\bHD[- ][0-9]{4} [A-Z]{2}\b",
}


def own(**identifiers: object) -> dict[str, object]:
    return {"base": "identifiers", "identifiers": identifiers}


def test_a_row_of_a_policy_finds_several_words() -> None:
    policy = Policy.from_dict(own(rows=[TICKET]))
    out = Sanitizer(policy=policy).sanitize("See HD-4471 QX, or write to ada@example.org.")
    assert [(each.kind, each.original) for each in out.replacements] == [
        ("ID", "HD-4471 QX"),
        ("EMAIL", "ada@example.org"),
    ]
    assert pickle.loads(pickle.dumps(policy)).own_kinds == policy.own_kinds  # noqa: S301


def test_a_kind_that_is_off_is_not_searched_for() -> None:
    text = "skype: mira.velde"
    assert Policy.from_dict(own()).find_identifiers(text)
    off = Policy.from_dict(own(off=["handle"]))
    assert off.find_identifiers(text) == []
    assert off.digest != Policy.from_dict(own()).digest


@pytest.mark.parametrize(
    ("identifiers", "message"),
    [
        ({"off": ["hubbub"]}, r"\[identifiers\] off: there is no kind 'hubbub'"),
        ({"rows": ["x"]}, r"must be tables"),
        ({"rows": [{"name": "x", "class": "ID"}]}, "kind x: it needs a form"),
        ({"rows": [{"name": "email", "class": "ID", "form": "x"}]}, "taken"),
    ],
)
def test_a_row_that_cannot_be_used_is_named(identifiers: dict[str, object], message: str) -> None:
    with pytest.raises(PolicyError, match=message):
        Policy.from_dict(own(**identifiers))


def test_a_pattern_for_one_word_has_no_blank() -> None:
    with pytest.raises(PolicyError, match="compared with one word"):
        Policy.from_dict({"sensitive": {"patterns": ["HD [0-9]{4}"]}})
