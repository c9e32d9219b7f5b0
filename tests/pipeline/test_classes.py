"""Stand-ins drawn within a class: what one draw guarantees, and what a conversation does."""

from __future__ import annotations

import tomllib
from fractions import Fraction
from math import exp
from pathlib import Path

import numpy as np
import pytest

from sanitizer import BudgetExceeded, Cape, DynText, FileVault, Policy, PolicyError, Sanitizer
from sanitizer.detect.classes import (
    LISTS,
    class_members,
    concept_of,
    content_words,
    group_of,
    list_of,
)
from sanitizer.lm.loading import Models
from sanitizer.lm.masked import OnnxMaskedLM
from sanitizer.lm.tokens import WordPieces
from sanitizer.pipeline.classes import ClassDraws, _shared, common_first
from sanitizer.pipeline.surrogates import count_draws, surrogates
from sanitizer.privacy.weights import LOW, high_level
from sanitizer.risk.classes import distributions
from sanitizer.storage.vault import MemoryVault
from sanitizer.testing.models import SeededSource
from sanitizer.text.words import Segmented, Unit
from tests.conftest import Told

CASES = tomllib.loads(Path(__file__).with_name("cases.toml").read_text("utf-8"))
LETTER = "My brother has asthma. His asthma is bad, and I know what asthma does."


@pytest.fixture(autouse=True)
def read(told: Told) -> None:
    """What is read is not the subject here."""
    told(
        CONDITION="asthma asthmatic coeliac epilepsy psoriasis gout migraine lupus hypertension "
        "hepatitis hepatits HCV C Asthma",
        BELIEF="Buddhist Buddhists Muslim socialist",
        PERSON="Elena Marsh Okafor Thomas Whitfield Brandt Michael Crawford Olga Judah Ost",
        DATE="2019 2014 1971",
        NUMBER="20 9 4 12",
    )


@pytest.fixture(scope="module")
def pieces(model: OnnxMaskedLM) -> WordPieces:
    return WordPieces(model.folder / "tokenizer.json")


def inputs(model: OnnxMaskedLM, kind: str) -> list[str]:
    """All members of a class, 1,000 words outside of it, and names that nothing knows."""
    words = [bytes(word).decode() for word in model.words.words[:: len(model.words.words) // 1000]]
    return [*class_members(kind), *words, "\x00", "Xq zzyx-7", ""]


@pytest.mark.parametrize("width", [1, 3, 40])
def test_the_direction_that_all_share_is_the_first_singular_one(width: int) -> None:
    rng = np.random.default_rng(width)
    rows = (rng.normal(size=(25, width)) + np.linspace(1, 2, width)).astype(np.float32)
    expected = np.linalg.svd(rows, full_matrices=False)[2][0]
    found = _shared(rows)
    assert found.dtype == np.float32
    assert abs(float(found @ expected)) == pytest.approx(1.0, abs=1e-6)
    assert float(np.linalg.norm(found)) == pytest.approx(1.0, abs=1e-6)


@pytest.mark.parametrize(
    ("kind", "epsilon"), [*((kind, 5.0) for kind in LISTS), ("CRIME", 0.5), ("CRIME", 8.0)]
)
def test_the_exact_epsilon_of_a_draw_is_the_certified_one(
    model: OnnxMaskedLM, pieces: WordPieces, kind: str, epsilon: float
) -> None:
    draws = ClassDraws(Cape(epsilon), model, pieces)
    public, _ = draws.distribution(kind, "any name")
    raised: set[int] = set()
    for name in inputs(model, kind):
        outputs, weights = draws.distribution(kind, name)
        assert weights is not None
        assert outputs.tolist() == public.tolist()
        # One output has the high level, all others the low one: every ratio is that of the levels.
        assert weights.totals == (high_level(epsilon), LOW * (len(outputs) - 1))
        assert sorted(np.concatenate(weights.members)) == list(range(len(outputs)))
        raised.add(int(weights.members[0][0]))
    assert len(raised) > 1, "so two inputs differ by just that ratio"
    assert Fraction(high_level(epsilon), LOW) <= Fraction(exp(epsilon))
    assert high_level(epsilon) / LOW == pytest.approx(exp(epsilon), rel=1e-9)


def test_all_classes_are_prepared_at_once(model: OnnxMaskedLM, pieces: WordPieces) -> None:
    draws = ClassDraws(Cape(5.0), model, pieces)
    draws.load()
    assert set(draws._classes) == set(LISTS)


@pytest.mark.parametrize("kind", LISTS)
def test_dyntext_keeps_its_epsilon_too(model: OnnxMaskedLM, pieces: WordPieces, kind: str) -> None:
    draws = ClassDraws(DynText(6.0), model, pieces)
    found = []
    for name in inputs(model, kind)[::17]:
        outputs, weights = draws.distribution(kind, name)
        assert weights is not None
        found.append([float(p) for p in weights.probabilities(len(outputs))])
    assert np.log(np.max(found, axis=0) / np.min(found, axis=0)).max() <= 6.0 + 1e-9


@pytest.mark.parametrize("kind", LISTS)
def test_what_is_taken_is_left_out_before_the_draw(
    model: OnnxMaskedLM, pieces: WordPieces, kind: str
) -> None:
    draws = ClassDraws(Cape(5.0), model, pieces)
    taken = class_members(kind)[:3]
    first, _ = draws.distribution(kind, class_members(kind)[5], taken)
    second, _ = draws.distribution(kind, "nothing known", taken)
    assert first.tolist() == second.tolist()
    assert not {class_members(kind)[i] for i in first} & set(taken)
    assert draws.distribution(kind, "x", class_members(kind)[1:])[1] is None, "too few are left"


def test_one_s_own_name_is_the_last_to_leave(model: OnnxMaskedLM, pieces: WordPieces) -> None:
    draws = ClassDraws(Cape(5.0), model, pieces)
    for name in class_members("CONDITION"):
        outputs, weights = draws.distribution("CONDITION", name)
        assert weights is not None
        (best,) = weights.members[0]
        nearest = class_members("CONDITION")[outputs[best]]
        assert set(content_words(name)).isdisjoint(content_words(nearest))


def test_common_things_are_not_served_by_outputs_of_their_own(
    model: OnnxMaskedLM, pieces: WordPieces
) -> None:
    """What the price of the best guess buys: with a high one it is right less often."""
    success = []
    for price in (0.0, 0.3, 3.0):
        rows = distributions(ClassDraws(Cape(5.0, guess_price=price), model, pieces), "CRIME")
        success.append(float((rows * common_first(len(rows))[:, None]).max(axis=0).sum()))
    assert success[0] > success[1] > success[2]
    assert success[1] < 0.3  # 0.43 with 45 outputs and no caps


def test_an_illness_mostly_becomes_one_of_its_group(
    model: OnnxMaskedLM, pieces: WordPieces
) -> None:
    """Groups rank the outputs and choose them; which one a thing is of stays private."""
    draws = ClassDraws(Cape(5.0), model, pieces)
    members = class_members("CONDITION")
    joint = distributions(draws, "CONDITION") * common_first(len(members))[:, None]
    groups = np.array([group_of(member) for member in members])
    assert set(groups) > {"mind", "food", "lungs"}
    assert "" not in groups
    assert float((joint * (groups[:, None] == groups[None, :])).sum()) > 0.7  # .39 without them
    assert float(joint.max(axis=0).sum()) < 0.22  # the best guess


def test_an_adjective_gets_a_placeholder(model: OnnxMaskedLM) -> None:
    """No member of a class fits its place; beside the noun it is a thing of its own."""
    one = Sanitizer(policy="guarded", model=model)
    text = "My wife is coeliac, and her asthma is bad. Is an asthmatic, coeliac child at risk?"
    out = one.sanitize(text)
    assert (out.record.n_drawn, out.text.count("CONDITION")) == (1, 3)
    assert "is <CONDITION" in out.text
    assert one.restore(out.text) == text


def test_members_are_names_of_their_own_class() -> None:
    for kind in LISTS:
        names = class_members(kind)
        assert len(names) >= 100
        assert [concept_of(kind, name.upper()) for name in names] == list(names)


def test_a_religion_is_drawn_for_a_religion(model: OnnxMaskedLM) -> None:
    """Once "royalist" came for "Muslim": one list held both."""
    for seed in range(6):
        for text, name in (("She is a Muslim.", "RELIGION"), ("She is a socialist.", "POLITICS")):
            result = Sanitizer(policy="guarded", model=model).sanitize(
                text, source=SeededSource(seed)
            )
            (drawn,) = [r.replacement for r in result.replacements if r.kind == "BELIEF"]
            shown = {member.lower() for member in class_members(name)}
            assert drawn.lower() in shown
    assert {list_of("BELIEF", member) for member in class_members("BELIEF")} == {
        "RELIGION",
        "POLITICS",
    }


@pytest.fixture
def s(model: OnnxMaskedLM) -> Sanitizer:
    return Sanitizer(policy="guarded", model=model)


class TestConversation:
    def test_a_thing_is_drawn_once_and_charged_once(self, s: Sanitizer) -> None:
        first = s.sanitize(LETTER)
        drawn = next(r.replacement for r in first.replacements if r.kind == "CONDITION")
        assert first.text.lower().count(drawn.lower()) == 3
        assert "asthma" not in first.text
        record = first.record
        assert (record.charged, record.epsilon_total, record.n_units) == (5.0, 5.0, 1)
        assert (record.n_drawn, record.conversation_epsilon) == (1, 5.0)
        for n in range(20):  # a growing text, which once was a new release each time
            again = s.sanitize(LETTER + " More." * n)
            assert drawn in again.text
            assert again.record.charged == 0.0
        assert s.spent == 5.0

    def test_a_synonym_and_a_typing_error_are_the_same_thing(self, s: Sanitizer) -> None:
        first = s.sanitize("She was told that she has hepatitis C. Does hepatits C affect her?")
        assert [r.kind for r in first.replacements] == ["CONDITION"] * 2
        assert len({r.replacement.lower() for r in first.replacements}) == 1
        later = s.sanitize("My sister has HCV.")
        assert later.record.charged == 0.0
        assert "HCV" not in later.text

    def test_a_word_of_two_classes_is_one_thing(self, s: Sanitizer) -> None:
        """Found as a place first, and as an origin later: its first class holds."""
        segmented = Segmented(
            (
                Unit(0, 8, "Georgian", "PLACE", False),
                Unit(9, 17, "Georgian", "ORIGIN", False, concept="Georgian"),
            ),
            (),
            0,
            language="en",
        )
        draws, text = s.inner.class_draws(), "Georgian Georgian"
        with MemoryVault(numbers="from 1").edit("c") as table:
            assert count_draws(table, segmented, s.policy, "") == 0
            values = surrogates(table, text, segmented, s.policy, SeededSource(1), "", draws, 1)
        assert values == ["<PLACE_1>", "<PLACE_1>"]

    def test_a_thing_is_the_same_thing_where_it_is_read_as_a_name(
        self, s: Sanitizer, told: Told
    ) -> None:
        """Once a synonym beside it got a person's placeholder, and capitals its original."""
        first = s.sanitize("My sister has hepatitis C. Her hep C, or HCV, is bad.")
        assert [r.kind for r in first.replacements] == ["CONDITION"] * 3
        told(PERSON="HCV ELENA MARSH")
        later = s.sanitize("ELENA MARSH: does HCV count?")
        assert [r.kind for r in later.replacements] == ["PERSON", "CONDITION"]
        assert later.record.charged == 0.0
        assert s.restore(later.text) == "ELENA MARSH: does hepatitis C count?"

    def test_a_thing_is_hidden_wherever_it_stands(self, s: Sanitizer, told: Told) -> None:
        """Once the illness left beside its stand-in, where a later question was about nobody."""
        s.sanitize("My sister has hypertension and hepatitis C.")
        told()
        questions = ("Is hypertension curable?", "Explain Hep-C to a child.", "Is HCV one?")
        for question in (*questions, "What is high blood pressure?"):
            assert [r.kind for r in s.sanitize(question).replacements] == ["CONDITION"]
        assert s.sanitize("Donate blood under high pressure.").replacements == ()
        assert s.derive(conversation="other").sanitize(questions[0]).replacements == ()
        told(ORGANIZATION="Halden Blue Trading")
        s.sanitize("My boss works at Halden Blue Trading.")
        told()
        assert "halden" not in s.sanitize("What does halden blue trading sell?").text

    def test_a_part_of_a_name_is_hidden_where_it_is_taken_for_a_word(
        self, s: Sanitizer, told: Told
    ) -> None:
        name, text = "My sister Elena Marsh lives here.", "Make it warmer. Marsh is a nice word."
        s.sanitize(name)
        told()
        assert "Marsh" not in s.sanitize(text).text
        assert s.derive(conversation="other").sanitize(text).text == text, "nobody has this name"

    @pytest.mark.parametrize(("text", "released"), CASES["plurals"])
    def test_number_follows_the_visible_text_and_never_the_private_form(
        self, s: Sanitizer, text: str, released: str
    ) -> None:
        out = s.sanitize(text, source=SeededSource(7))
        (drawn,) = [r for r in out.replacements if r.kind == "BELIEF"]
        assert drawn.replacement == released
        assert s.restore(out.text, out) == text

    def test_a_plural_comes_back_as_one(self, s: Sanitizer) -> None:
        s.sanitize("My mother is a Buddhist.", source=SeededSource(7))
        assert s.restore("Some Taoists and a Taoist.") == "Some Buddhists and a Buddhist."

    def test_what_a_conversation_draws_is_capped(self, s: Sanitizer) -> None:
        names = "asthma", "epilepsy", "psoriasis", "gout", "lupus"
        results = [s.sanitize(f"My brother was diagnosed with {name}.") for name in names]
        assert sum(result.record.charged for result in results) == 15.0
        assert "<CONDITION_4>" in results[3].text
        assert results[4].record.conversation_epsilon == 15.0
        # So few draws add up, but for the part of delta.
        bound = results[4].record.conversation_epsilon_at_delta
        assert bound is not None
        assert 14.9999 < bound <= 15.0
        assert s.derive(conversation="other").sanitize(LETTER).record.charged == 5.0

    def test_a_policy_sets_the_cap_and_each_class(self, s: Sanitizer, tmp_path: Path) -> None:
        path = tmp_path / "p.toml"
        path.write_text(
            'base = "guarded"\n[conversation]\nmax_drawn = 0\n[classes]\nCRIME = "vault"\n'
        )
        result = s.derive(policy=path).sanitize(LETTER)
        assert "<CONDITION_1>" in result.text
        assert result.record.conversation_epsilon == 0.0
        assert Policy.load(path).drawn == {"CONDITION", "BELIEF", "ORIGIN"}
        path.write_text('[classes]\nPERSON = "draw"\n')
        with pytest.raises(PolicyError, match="PERSON"):
            Policy.load(path)

    def test_the_budget_refuses_before_anything_leaves(self, model: OnnxMaskedLM) -> None:
        s = Sanitizer(policy="guarded", model=model, budget=9.0)
        with pytest.raises(BudgetExceeded, match="needs epsilon 10, the budget has 9 of 9 left"):
            s.sanitize("He was diagnosed with asthma and with epilepsy.")
        assert s.spent == 0.0, "nothing is charged for what cannot be paid as a whole"
        assert s.sanitize("He was diagnosed with asthma.").record.charged == 5.0
        again = "He had asthma and his asthma came back with asthma."
        assert s.sanitize(again).record.charged == 0.0, "drawn already"

    @pytest.mark.parametrize("kind", ["memory", "file"])
    def test_all_draws_of_a_text_are_reserved_at_once(
        self, kind: str, model: OnnxMaskedLM, tmp_path: Path
    ) -> None:
        key = "a key of at least sixteen bytes"
        vault = FileVault(tmp_path / "v", key) if kind == "file" else None
        s = Sanitizer(policy="guarded", model=model, budget=20.0, vault=vault)
        first = s.sanitize("He has asthma, epilepsy, asthma, gout and also migraine.").record
        assert (first.charged, first.n_drawn, s.spent) == (15.0, 3, 15.0), "at most three"
        assert s.sanitize("He has lupus and asthma.").record.charged == 0.0

    def test_a_text_pays_only_for_what_is_new(self, model: OnnxMaskedLM) -> None:
        s = Sanitizer(policy="guarded", model=model, budget=10.0)
        assert s.sanitize("He was diagnosed with asthma.").record.charged == 5.0
        both = "He was diagnosed with asthma and with epilepsy."
        assert s.sanitize(both).record.charged == 5.0, "the budget fits exactly"

    def test_a_preview_draws_in_a_table_of_its_own(self, s: Sanitizer) -> None:
        preview = s.derive(charged=False)
        shown = preview.sanitize(LETTER)
        assert shown.record.charged == 5.0, "what it would cost"
        assert s.spent == 0.0
        assert s.adopt(LETTER, shown).record.charged == 5.0
        assert s.sanitize(LETTER).record.charged == 0.0
        assert s.derive(charged=False).sanitize(LETTER).record.charged == 0.0, "known by now"

    def test_a_file_keeps_what_was_drawn(self, model: OnnxMaskedLM, tmp_path: Path) -> None:
        key = "a key of at least sixteen bytes"
        with FileVault(tmp_path / "v", key) as vault:
            first = Sanitizer(policy="guarded", model=model, vault=vault).sanitize(LETTER).text
        with FileVault(tmp_path / "v", key) as vault:
            s = Sanitizer(policy="guarded", model=model, vault=vault)
            assert s.sanitize(LETTER).text == first
            assert (s.spent, s.restore(first)) == (0.0, LETTER)

    def test_other_languages_draw_nothing(self, s: Sanitizer) -> None:
        text = "Mein Bruder hat Asthma und wohnt in einer kleinen Stadt, er ist sehr krank."
        result = s.sanitize(text)
        assert (result.record.language, result.record.charged) == ("de", 0.0)

    def test_published_variants_need_a_policy_that_draws_words(self) -> None:
        for mechanism in (Cape(variant="published"), Cape(backbone="causal")):
            with pytest.raises(ValueError, match="strict"):
                Sanitizer(mechanism, "guarded")
            Sanitizer(mechanism)
            Sanitizer(mechanism, "strict")


class TestDefault:
    """`balanced` draws nothing, and keeps what is known of lists."""

    def test_it_loads_no_vectors_and_costs_nothing(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(Models, "tables", None)
        monkeypatch.setattr(Models, "masked", None)
        one = Sanitizer(budget=1.0)
        one.load()
        out = one.sanitize(LETTER)
        assert out.text.count("<CONDITION_1>") == 3
        assert (out.record.n_drawn, out.record.epsilon_per_unit, one.spent) == (0, 0.0, 0.0)
        assert (out.record.mechanism, out.record.certified) == ("none", True)
        assert one.restore(out.text, out) == LETTER
        with pytest.raises(TypeError):
            one.derive(policy="guarded").sanitize(LETTER)

    def test_synonyms_and_typing_errors_are_forms_of_one_thing(self, told: Told) -> None:
        one = Sanitizer()
        text = "She was told that she has hepatitis C. Does hepatits C affect her?"
        out = one.sanitize(text)
        assert [r.replacement for r in out.replacements] == ["<CONDITION_1>", "<CONDITION_1_2>"]
        assert one.restore(out.text, out) == text
        told()
        assert one.sanitize("Explain HCV to a child.").text == "Explain <CONDITION_1_3> to a child."

    def test_what_was_drawn_before_stays_and_is_said(self, s: Sanitizer) -> None:
        """A person who changes the policy of a conversation changes no stand-in of it."""
        drawn = s.sanitize(LETTER)
        later = s.derive(policy="balanced").sanitize(LETTER)
        assert later.text == drawn.text
        assert (later.record.n_drawn, later.record.charged) == (1, 0.0)
        assert (later.record.epsilon_per_unit, later.record.conversation_epsilon) == (5.0, 5.0)


class TestNeighbours:
    """Things replaced by others that are read the same: every byte that leaves is equal, once the
    draws are forced to the same outputs."""

    CHAT = (
        "Dear Dr. {0}, my brother {1} was diagnosed with {2} in {3}. Yours, Elena Marsh",
        "Is {2} dangerous? {2} runs in the family, and {1} is worried.",
        "Please write to {4} about the {2} again.",
        "Sort by hours.\n\nname,diagnosis,born,hours\n{1},{2},{3},20\nOlga Brandt,gout,1971,9",
        'Is this right? {{"patient": {{"name": "{1}", "diagnosis": "{2}", "visits": 4}}}}',
        "| guest | illness | room |\n|---|---|---|\n| {1} | {2} | 12 |\n| Judah Ost | none | 9 |",
    )
    ONE = ("Okafor", "Thomas Whitfield", "asthma", "2019", "anna@example.org")
    OTHER = ("Brandt", "Michael Crawford", "epilepsy", "2014", "bo@example.net")

    def released(self, model: OnnxMaskedLM, values: tuple[str, ...]) -> list[tuple[str, object]]:
        s = Sanitizer(policy="guarded", model=model)
        found: list[tuple[str, object]] = []
        for message in self.CHAT:
            result = s.sanitize(message.format(*values))
            kinds = [r.kind for r in result.replacements]
            found.append((result.text, (kinds, result.record)))
        return found

    def test_all_that_leaves_is_equal(
        self, model: OnnxMaskedLM, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        forced = ("lupus", "OCD", "epilepsy")
        monkeypatch.setattr(ClassDraws, "draw", lambda *given: forced[len(given[3])])
        assert self.released(model, self.ONE) == self.released(model, self.OTHER)

    @pytest.mark.slow
    def test_draws_are_as_likely_as_certified(self, model: OnnxMaskedLM) -> None:
        """Each output's share under two neighbours, over seeds, against the exact bound."""
        counts: list[dict[str, int]] = [{}, {}]
        for side, name in enumerate(("asthma", "epilepsy")):
            first = Sanitizer(Cape(1.0), "guarded", model=model)
            for seed in range(150):
                s = first.derive(conversation=f"{side} {seed}")
                text = s.sanitize(f"He has {name}.", source=SeededSource(seed)).text
                counts[side][text] = counts[side].get(text, 0) + 1
        n = len(first.inner.class_draws().distribution("CONDITION", "asthma")[0])
        assert set(counts[0]) == set(counts[1])
        assert len(counts[0]) == n
        low = 1 / (n - 1 + np.e)
        for found in counts:
            assert max(found.values()) / 150 == pytest.approx(np.e * low, abs=0.15)
            assert min(found.values()) / 150 == pytest.approx(low, abs=0.15)
