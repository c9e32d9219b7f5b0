"""What a Sanitizer keeps and charges: same text, same output, and no more than the budget."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from sanitizer import BudgetExceeded, Cape, ModelError, Policy, PolicyError, Sanitizer
from sanitizer.errors import LedgerError
from sanitizer.lm.masked import OnnxMaskedLM
from sanitizer.pipeline.masked_text import Choices
from sanitizer.storage.budget import LocalBudget
from sanitizer.storage.ledger import DAY, Ledger, Scope
from sanitizer.text.policy import WordSet

PROMPT = "My father Peter has hepatitis and lives in Leeds."
KEY = b"a key of at least sixteen bytes"


@pytest.fixture
def sanitizer(model: OnnxMaskedLM) -> Sanitizer:
    return Sanitizer(model=model, budget=1000.0, policy="words")


def test_a_text_released_before_comes_back_as_it_was_and_costs_nothing(
    sanitizer: Sanitizer,
) -> None:
    first = sanitizer.sanitize(PROMPT)
    again = [sanitizer.sanitize(PROMPT) for _ in range(5)]
    assert {r.text for r in again} == {first.text}
    assert (first.record.charged, again[0].record.charged) == (15.0, 0.0)
    assert again[0].record.epsilon_total == first.record.epsilon_total
    assert sanitizer.spent == 15.0


def test_a_fresh_draw_is_paid_for_and_does_not_change_what_is_remembered(
    sanitizer: Sanitizer,
) -> None:
    first = sanitizer.sanitize(PROMPT).text
    assert len({sanitizer.sanitize(PROMPT, fresh=True).text for _ in range(40)}) > 1
    assert sanitizer.spent == 15.0 * 41
    assert sanitizer.sanitize(PROMPT).text == first


def test_another_role_is_another_message(sanitizer: Sanitizer) -> None:
    for role in ("user", "system", "tool"):
        sanitizer.sanitize(PROMPT, role=role)
    assert sanitizer.spent == 45.0


def test_equal_texts_in_one_batch_are_drawn_once(sanitizer: Sanitizer) -> None:
    outs = sanitizer.sanitize_batch([PROMPT, "Anna slept.", PROMPT])
    assert outs[0].text == outs[2].text
    assert [o.record.charged for o in outs] == [
        15.0,
        sanitizer.mechanism.epsilon * outs[1].record.n_units,
        0.0,
    ]
    # The likeliest draw of the three words comes in six of ten cases: 40 of it never come.
    fresh = sanitizer.sanitize_batch([PROMPT] * 40, fresh=True)
    assert len({o.text for o in fresh}) > 1
    assert all(o.record.charged == 15.0 for o in fresh)


def test_threads_that_race_for_one_text_release_one_output(model: OnnxMaskedLM) -> None:
    for _ in range(5):
        racing = Sanitizer(model=model, budget=1000.0, policy="words")
        with ThreadPoolExecutor(8) as pool:
            texts = set(pool.map(lambda s: s.sanitize(PROMPT).text, [racing] * 8))
        assert len(texts) == 1
        assert racing.spent == 15.0


class TestBudget:
    """Charged first; what does not fit is refused; what was paid for is not lost."""

    def test_a_batch_that_exceeds_it_keeps_what_was_paid_for(self, model: OnnxMaskedLM) -> None:
        limited = Sanitizer(model=model, budget=33.0, policy="words")
        texts = [PROMPT, "The of and", PROMPT + " ", PROMPT + "  ", "Anna"]
        with pytest.raises(BudgetExceeded) as error:
            limited.sanitize_batch(texts)
        released = error.value.released
        assert [r.record.n_units for r in released] == [3, 0, 3]
        assert limited.spent == 30.0
        assert [limited.sanitize(t).text for t in texts[:3]] == [r.text for r in released]
        assert limited.spent == 30.0

    def test_the_limit_itself_can_be_spent(self, model: OnnxMaskedLM) -> None:
        limited = Sanitizer(Cape(0.1), model=model, budget=0.6, policy="words")
        limited.sanitize(PROMPT)
        for i in range(3):
            limited.sanitize(f"Peter {'!' * i}")
        with pytest.raises(BudgetExceeded):
            limited.sanitize("Anna")

    def test_a_failure_before_release_costs_nothing(
        self, model: OnnxMaskedLM, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        limited = Sanitizer(model=model, budget=20.0, policy="words")
        limited.load()

        def fail(*args: object) -> None:
            raise LedgerError("broken")

        with monkeypatch.context() as broken:
            broken.setattr(LocalBudget, "reserve", fail)
            with pytest.raises(LedgerError):
                limited.sanitize(PROMPT)
        assert limited.spent == 0.0
        assert limited.sanitize(PROMPT).record.charged == 15.0

    def test_a_failure_after_a_draw_stays_charged(
        self, model: OnnxMaskedLM, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        limited = Sanitizer(model=model, budget=20.0, policy="words")

        def fail(*args: object) -> None:
            raise ModelError("broken")

        monkeypatch.setattr(Choices, "finish", fail)
        with pytest.raises(ModelError):
            limited.sanitize(PROMPT)
        assert limited.spent == 15.0

    @pytest.mark.slow
    def test_a_refusal_by_policy_keeps_what_was_paid_for(self, model: OnnxMaskedLM) -> None:
        policy = Policy("no zebras", frozenset(), refuse=WordSet.of(["zebra"]))
        careful = Sanitizer(policy=policy, model=model, budget=5000.0)
        with pytest.raises(PolicyError) as error:
            careful.sanitize_batch([f"Peter {'!' * i}" for i in range(70)] + ["zebra"])
        assert len(error.value.released) * 5.0 == careful.spent

    def test_a_stream_that_is_abandoned_stays_charged(self, model: OnnxMaskedLM) -> None:
        limited = Sanitizer(model=model, budget=100.0, policy="words")
        stream = limited.sanitize_stream([PROMPT, PROMPT + " "])
        next(stream)
        del stream
        assert limited.spent == 30.0

    def test_consistent_words_are_charged_once(self, model: OnnxMaskedLM) -> None:
        limited = Sanitizer(Cape(consistent=True), model=model, budget=100.0, policy="words")
        limited.sanitize("Peter met Peter and Peter")
        assert limited.spent == 5.0

    @pytest.mark.parametrize("bad", [0.0, -1.0, float("nan"), float("inf")])
    def test_limits_that_mean_nothing_are_refused(self, bad: float) -> None:
        with pytest.raises(ValueError, match="budget"):
            LocalBudget(bad)


class TestLedgerBudget:
    """The same, outliving the process."""

    def test_a_second_sanitizer_finds_what_the_first_spent(
        self, model: OnnxMaskedLM, tmp_path: Path
    ) -> None:
        with Ledger.create(tmp_path / "ledger", KEY) as ledger:
            first = Sanitizer(
                model=model, ledger=ledger, conversation="c-17", budget=20.0, policy="words"
            )
            first.sanitize(PROMPT)
            assert first.spent == 15.0
        with Ledger(tmp_path / "ledger", KEY) as ledger:
            second = Sanitizer(model=model, ledger=ledger, conversation="c-17", policy="words")
            assert second.spent == 15.0
            with pytest.raises(BudgetExceeded):
                second.sanitize(PROMPT)
            other = Sanitizer(
                model=model,
                ledger=ledger,
                conversation="c-18",
                scopes=[DAY, Scope("user", "anna")],
                policy="words",
            )
            other.sanitize(PROMPT)
            assert ledger.balance(DAY).spent == 15.0
        content = b"".join(p.read_bytes() for p in tmp_path.iterdir())
        assert b"c-17" not in content
        assert b"Peter" not in content

    def test_arguments_that_do_not_go_together_are_refused(self, tmp_path: Path) -> None:
        with Ledger.create(tmp_path / "ledger", KEY) as ledger:
            with pytest.raises(ValueError, match="scopes"):
                Sanitizer(ledger=ledger, policy="words")
            with pytest.raises(ValueError, match="conversation"):
                Sanitizer(ledger=ledger, budget=5.0, scopes=[DAY], policy="words")
        with pytest.raises(ValueError, match="ledger"):
            Sanitizer(scopes=[DAY], policy="words")

    @pytest.mark.parametrize("delta", [1.0, -0.1, float("nan"), 2.0])
    def test_bad_delta_is_named(self, delta: float) -> None:
        with pytest.raises(ValueError, match="delta"):
            Sanitizer(delta=delta, policy="words")


@pytest.mark.slow
def test_the_record_reports_the_smallest_valid_total(model: OnnxMaskedLM) -> None:
    text = " ".join(f"Peter met Anna in Leeds {i * '!'}." for i in range(40))
    pure = Sanitizer(model=model, policy="words").sanitize(text).record
    approximate = Sanitizer(model=model, delta=1e-6, policy="words").sanitize(text).record
    assert pure.epsilon_total == pytest.approx(pure.n_units * 5.0)
    assert (pure.delta, approximate.delta) == (0.0, 1e-6)
    assert approximate.epsilon_total < pure.epsilon_total
    assert approximate.charged == pure.epsilon_total
