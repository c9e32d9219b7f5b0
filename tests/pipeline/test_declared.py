"""Declared text through the Sanitizer: it leaves as it is, under every policy and in every role."""

from __future__ import annotations

from dataclasses import replace

import pytest

from sanitizer import Cape, Policy, PolicyError, Prompt, Sanitizer
from sanitizer.lm.loading import Models
from sanitizer.testing.models import SeededSource, ToyBackbone, ToyReader
from sanitizer.text.policy import WordSet
from sanitizer.text.prompt import DeclaredText
from tests.pipeline.recording import Recording, zeros

PROMPT = Prompt("Tell Zoltan of {team:public} in 3 words: {letter} Signed, Quorn")
FILLED = PROMPT.fill(team="Acme Leeds", letter="Peter of Ulm, peter@x.org, has 7 cats.")
HEAD, TAIL = "Tell Zoltan of Acme Leeds in 3 words: ", " Signed, Quorn"
PRESETS = ["identifiers", "deidentify", "balanced", "strict"]


@pytest.fixture(autouse=True)
def reader(monkeypatch: pytest.MonkeyPatch) -> None:
    """No model is run: every hidden word is a person."""
    monkeypatch.setattr(Models, "reader", lambda self: ToyReader("PERSON"))


def of(policy: str | Policy, **roles: str) -> Sanitizer:
    rules = replace(Policy.load(policy), roles=roles)
    return Sanitizer(Cape(5.0), rules, model=ToyBackbone(zeros), budget=10_000.0)


@pytest.mark.parametrize("preset", PRESETS)
def test_a_template_leaves_as_it_is_and_its_values_are_treated(preset: str) -> None:
    out = of(preset).sanitize(FILLED)
    assert out.text.startswith(HEAD)
    assert out.text.endswith(TAIL)
    assert "peter@x.org" not in out.text
    assert ("Peter" in out.text) is (preset == "identifiers")
    assert out.record.declared == 10
    assert out.record.n_public >= 10
    assert "declared public" in out.record.public
    assert all(len(HEAD) <= r.start < r.end <= len(out.text) - len(TAIL) for r in out.replacements)


@pytest.mark.parametrize("preset", PRESETS)
def test_values_come_back_byte_for_byte(preset: str) -> None:
    sanitizer = of(preset)
    out = sanitizer.sanitize(FILLED)
    if preset in ("identifiers", "deidentify"):
        assert sanitizer.restore(out.text) == FILLED.text
    assert "peter@x.org" in sanitizer.restore(out.text)


@pytest.mark.parametrize("preset", PRESETS)
def test_without_declarations_the_record_is_as_before(preset: str) -> None:
    record = of(preset).sanitize("Zoltan of Acme").record
    assert record.declared == 0
    assert "declared" not in record.public


@pytest.mark.parametrize("preset", PRESETS)
def test_an_empty_value_and_a_template_without_fields(preset: str) -> None:
    sanitizer = of(preset)
    for filled in (PROMPT.fill(team="", letter=""), Prompt("Zoltan has 7 cats").fill()):
        out = sanitizer.sanitize(filled)
        assert (out.text, out.replacements, out.record.charged) == (filled.text, (), 0.0)
    assert sanitizer.sanitize(Prompt("").fill()).text == ""


@pytest.mark.parametrize("preset", ["deidentify", "balanced", "strict"])
def test_kept_phrases_leave_wherever_they_occur(preset: str) -> None:
    text = "Zoltan put it in Jira, step 4. Jira's Zoltan is not Jiranek, nor zoltan@jira.org Jira 4"
    kept = of(preset).sanitize(text, keep=["Jira", "step 4"])
    assert kept.text.count("Jira") == 3
    assert "step 4" in kept.text
    assert "Jira's" in kept.text
    assert not any(word in kept.text for word in ("Zoltan", "Jiranek", "zoltan", "jira"))
    assert kept.record.declared == 5


def test_a_small_word_between_kept_dates_is_no_date() -> None:
    text = "My son Tom was off school on 14 and 15 May with a fever. He comes back on Monday."
    kept = of("balanced").sanitize(text, keep=["14", "15 May", "Monday"])
    assert "on 14 and 15 May with" in kept.text
    assert kept.text.endswith("back on Monday.")
    assert not {"Tom", "fever"} & set(kept.text.split())


def test_a_kept_phrase_is_public_context_for_the_words_around() -> None:
    model = Recording()
    sanitizer = Sanitizer(Cape(5.0), "strict", model=model)
    sanitizer.sanitize("Zoltan met violin Quorn", keep=["violin"])
    token = sanitizer.inner.models().pieces.encode("violin")
    assert set(token) <= {each for ids in model.seen for each in ids}


def test_a_batch_and_a_stream_take_prompts_and_texts_together() -> None:
    other = Prompt("Zoltan {x}").fill(x="Otto")
    texts: list[str | DeclaredText] = [FILLED, "Zoltan", FILLED, other, FILLED.text]
    outs = of("strict").sanitize_batch(texts, keep=["Ulm"], source=SeededSource(1))
    assert [out.record.declared for out in outs] == [11, 0, 11, 1, 1]
    assert outs[0].text == outs[2].text
    assert outs[2].record.charged == 0
    assert "of Ulm," in outs[4].text
    assert outs[4].text.split()[1] != "Zoltan"
    streamed = of("identifiers").sanitize_stream(iter(texts))
    assert [out.record.declared for out in streamed] == [10, 0, 10, 1, 0]


@pytest.mark.parametrize("preset", ["words", "strict"])
def test_another_declaration_is_another_message(preset: str) -> None:
    sanitizer = of(preset)
    first = sanitizer.sanitize(FILLED)
    assert sanitizer.sanitize(FILLED).text == first.text
    assert sanitizer.sanitize(FILLED).record.charged == 0
    assert sanitizer.sanitize(FILLED, keep=["Peter"]).text.startswith(HEAD + "Peter")
    assert sanitizer.sanitize(FILLED.text).record.declared == 0
    assert sanitizer.sanitize(FILLED.text, keep=["Peter"]).record.charged > 0
    again = sanitizer.sanitize(FILLED.text, keep=["Peter", "Peter"])
    assert again.record.charged == 0


def test_a_preview_is_adopted_for_the_same_declaration_only() -> None:
    sanitizer = of("strict")
    shown = sanitizer.derive(charged=False).sanitize(FILLED, keep=["Ulm"])
    assert sanitizer.adopt(FILLED, shown, keep=["Ulm"]) == shown
    assert sanitizer.spent == shown.record.charged > 0
    assert sanitizer.sanitize(FILLED, keep=["Ulm"]).text == shown.text
    assert sanitizer.sanitize(FILLED, keep=["Ulm"]).record.charged == 0
    assert sanitizer.sanitize(FILLED).record.charged > 0


def test_a_derived_sanitizer_takes_prompts() -> None:
    other = of("words").derive(conversation="b", policy="strict")
    assert other.sanitize(FILLED).text.startswith(HEAD)


def test_refusals_look_at_declared_text_too() -> None:
    rules = replace(Policy.preset("strict"), refuse=WordSet.of(["zoltan"]))
    with pytest.raises(PolicyError):
        of(rules).sanitize(FILLED)
    with pytest.raises(PolicyError):
        of(rules, system="public").sanitize("Zoltan", role="system")


def test_mistakes_are_type_errors() -> None:
    sanitizer = of("strict")
    with pytest.raises(TypeError, match="fill it first"):
        sanitizer.sanitize(PROMPT)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="got one str"):
        sanitizer.sanitize("Zoltan", keep="Zoltan")
    with pytest.raises(TypeError, match="must be a str, got int"):
        sanitizer.sanitize(3)  # type: ignore[arg-type]


@pytest.mark.parametrize("preset", PRESETS)
class TestRoles:
    TEXT = "You help Zoltan of Acme, 12 May 2020; write to zoltan@x.org."

    def test_a_public_role_leaves_as_it_is(self, preset: str) -> None:
        sanitizer = of(preset, system="public")
        out = sanitizer.sanitize(self.TEXT, role="system")
        assert (out.text, out.record.charged, out.record.n_units) == (self.TEXT, 0.0, 0)
        assert out.record.declared == out.record.n_public == 13
        assert out.record.certified is (preset != "identifiers")
        assert "zoltan@x.org" not in sanitizer.sanitize(self.TEXT).text
        assert "zoltan@x.org" not in sanitizer.sanitize(self.TEXT, role="developer").text

    def test_only_identifiers_of_a_role(self, preset: str) -> None:
        sanitizer = of(preset, developer="identifiers")
        out = sanitizer.sanitize(self.TEXT, role="developer")
        assert out.text == "You help Zoltan of Acme, 12 May 2020; write to <EMAIL_1>."
        assert (out.record.certified, out.record.charged) == (False, 0.0)
        assert sanitizer.restore(out.text) == self.TEXT
        user = sanitizer.sanitize("zoltan@x.org")
        assert user.text == "<EMAIL_1>"

    def test_a_treated_role_and_one_that_is_not_named(self, preset: str) -> None:
        sanitizer = of(preset, system="treated")
        roles = ["system", "developer", "user"]
        outs = sanitizer.sanitize_batch([self.TEXT] * 3, role=roles)
        assert {out.record.declared for out in outs} == {0}
        assert not any("zoltan@x.org" in out.text for out in outs)

    def test_roles_keep_their_order_in_a_batch(self, preset: str) -> None:
        sanitizer = of(preset, system="public", developer="identifiers")
        roles = ["user", "system", "user", "developer", "user"]
        texts = ["Otto A", "Otto B", "Otto C", "Otto D", "Otto E"]
        outs = sanitizer.sanitize_batch(texts, role=roles)
        assert [outs[1].text, outs[3].text] == ["Otto B", "Otto D"]
        same = [out.text == text for out, text in zip(outs, texts, strict=True)]
        assert same.count(True) == (5 if preset == "identifiers" else 2)

    def test_a_preview_in_a_role_is_adopted(self, preset: str) -> None:
        sanitizer = of(preset, system="public", developer="identifiers")
        for role in ("system", "developer"):
            shown = sanitizer.derive(charged=False).sanitize(self.TEXT, role=role)
            assert sanitizer.adopt(self.TEXT, shown, role).text == shown.text
        assert sanitizer.spent == 0
