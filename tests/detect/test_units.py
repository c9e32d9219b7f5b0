"""What goes to the vault as a whole, and how it comes back."""

from __future__ import annotations

import json
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sanitizer import Policy, PolicyError, Sanitizer
from sanitizer.detect.classes import concept_of
from sanitizer.detect.units import document
from sanitizer.identifiers.checks import MONTHS
from sanitizer.lm.masked import OnnxMaskedLM
from sanitizer.storage.vault import MemoryVault

MAIL = "Write to anna.lee@uni-x.org and anna.lee@uni-x.org, not bo@uni-x.org."
PIECES = [
    "anna@x.org",
    "<EMAIL_1>",
    "<TEXT_2>",
    "<EMAIL_1",
    ">",
    "+44 113 496 0999",
    "an",
    "12.5",
    "4111 1111 1111 1111",
    "x",
    " ",
    "é\u0301",
    "<",
    "\ud800",
]


def test_equal_identifiers_share_a_placeholder_and_come_back() -> None:
    s = Sanitizer(policy="identifiers")
    out = s.sanitize(MAIL)
    assert out.text == "Write to <EMAIL_1> and <EMAIL_1>, not <EMAIL_2>."
    assert [r.kind for r in out.replacements] == ["EMAIL"] * 3
    assert (
        s.restore("Sent to <EMAIL_2>, <EMAIL_1> and <EMAIL_3>.")
        == "Sent to bo@uni-x.org, anna.lee@uni-x.org and <EMAIL_3>."
    )


def test_a_placeholder_typed_by_the_user_comes_back_as_typed() -> None:
    s = Sanitizer(policy="identifiers")
    text = "<EMAIL_1> is what anna@x.org looks like; <TEXT_1> too"
    out = s.sanitize(text)
    assert "<EMAIL_1> is" not in out.text
    assert s.restore(out.text) == text


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.sampled_from(PIECES), max_size=10).map(" ".join),
    st.sampled_from(["placeholder", "same-form"]),
)
def test_restoring_what_was_sanitized_gives_the_text(text: str, style: str) -> None:
    policy = Policy.preset("identifiers")
    object.__setattr__(policy, "style", style)
    s = Sanitizer(policy=policy)
    out = s.sanitize(text)
    assert s.restore(out.text) == text
    assert "anna@x.org" not in out.text


def test_no_value_of_the_same_form_stands_for_two_originals() -> None:
    """108 of the 144 dates of one notation."""
    policy = Policy.preset("identifiers")
    object.__setattr__(policy, "style", "same-form")
    s = Sanitizer(policy=policy, vault=MemoryVault())
    texts = [f"born on {month[:3].title()} {day}" for month in MONTHS for day in range(1, 10)]
    values = [s.sanitize(text).replacements[0].replacement for text in texts]
    assert len(set(values)) == len(values)
    assert values[0][0] != "<"
    assert s.restore(values[-1]) == "Dec 9"


def test_a_password_that_is_all_public_prefix_gets_a_placeholder() -> None:
    policy = Policy.preset("identifiers")
    object.__setattr__(policy, "style", "same-form")
    s = Sanitizer(policy=policy)
    assert s.sanitize("password=sk-ant-api03-").text == "password=<KEY_1>"


def test_conversations_share_nothing() -> None:
    first = Sanitizer(policy="identifiers", conversation="a")
    second = first.derive(conversation="b")
    first.sanitize(MAIL)
    assert second.restore("<EMAIL_1>") == "<EMAIL_1>"
    assert second.sanitize("bo@uni-x.org").text == "<EMAIL_1>"
    assert second.restore("<EMAIL_1>") == "bo@uni-x.org"


def test_a_number_is_one_placeholder_under_balanced(model: OnnxMaskedLM) -> None:
    s = Sanitizer(model=model, policy="words")
    out = s.sanitize("It was 1,250.00 at 12:30, and 1,250.00 again; 7 of us.")
    assert [r.replacement for r in out.replacements if r.kind == "NUMBER"] == [
        "<NUMBER_1>",
        "<NUMBER_2>",
        "<NUMBER_1>",
        "<NUMBER_3>",
    ]
    assert out.record.n_identifiers == 4


def test_an_article_before_an_identifier_tells_nothing_under_differential_privacy(
    model: OnnxMaskedLM,
) -> None:
    assert (
        Sanitizer(model=model, policy="words").sanitize("an 80 and a 12").text
        == "a <NUMBER_1> and a <NUMBER_2>"
    )
    assert Sanitizer(policy="identifiers").sanitize("an ok@x.org mail").text == "an <EMAIL_1> mail"


def test_listed_words_go_to_the_vault_where_words_are_not_perturbed() -> None:
    policy = Policy.preset("identifiers")
    object.__setattr__(policy, "sensitive", policy.sensitive.of(["bluebird*"]))
    s = Sanitizer(policy=policy)
    out = s.sanitize("Bluebirds fly; bluebird's nest")
    assert out.text == "<TERM_1> fly; <TERM_2>'s nest"
    assert s.restore(out.text) == "Bluebirds fly; bluebird's nest"


def test_the_model_is_not_loaded_where_words_are_not_perturbed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(*args: object) -> None:
        raise AssertionError("loaded")

    monkeypatch.setattr("sanitizer.lm.loading.OnnxMaskedLM", refuse)
    s = Sanitizer(policy="identifiers")
    s.load()
    record = s.sanitize("My father Peter").record
    assert (record.certified, record.epsilon_total, record.as_dict()["epsilon_total"]) == (
        False,
        float("inf"),
        None,
    )


def test_overlaps_go_to_the_first_sort() -> None:
    units = document("<EMAIL_1>@x.org anna@x.org", Policy.preset("identifiers")).taken
    assert [u.kind for u in units][:1] == ["TEXT"]
    assert all(a.end <= b.start for a, b in pairwise(units))


def test_names_alone_go_to_the_vault() -> None:
    policy = Policy.from_dict({"base": "identifiers", "identifiers": {"names": True}})
    s = Sanitizer(policy=policy, vault=MemoryVault())
    text = "Angela Lindqvist met Mr. Peter Brown's team in Lisbon about 12 asthma cases on Monday."
    out = s.sanitize(text)
    assert out.text == (
        "<PERSON_1> met Mr. <PERSON_2>'s team in <PLACE_1> about 12 asthma cases on Monday."
    )
    assert s.restore(out.text) == text


@pytest.mark.parametrize(
    ("base", "names", "error"),
    [("strict", True, "needs a base of identifiers"), ("deidentify", False, "names stay with")],
)
def test_names_that_a_base_cannot_have(base: str, names: bool, error: str) -> None:
    with pytest.raises(PolicyError, match=error):
        Policy.from_dict({"base": base, "identifiers": {"names": names}})


def test_a_word_of_another_first_letter_is_no_typing_error() -> None:
    assert concept_of("CRIME", "limping") is None
    assert concept_of("CONDITION", "astmha") == "asthma"


def test_a_number_of_json_leaves_as_a_string_and_comes_back_as_a_number() -> None:
    text = '{"card": 4111111111111111, "list": [4111111111111111, {"n": 4111111111111111}]}'
    s = Sanitizer(policy="identifiers")
    released = s.sanitize(text).text
    assert "4111" not in released
    assert isinstance(json.loads(released)["card"], str)
    assert s.restore(released) == text
