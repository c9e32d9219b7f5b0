"""One Sanitizer, many conversations, previews and answers: what is shared, what is charged, what is
repeated.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from sanitizer import BudgetExceeded, Cape, FileVault, Ledger, Sanitizer
from sanitizer.storage.ledger import Scope
from sanitizer.storage.vault import MemoryVault
from sanitizer.testing.models import ToyBackbone
from tests.pipeline.recording import zeros

PROMPT = "My father Peter has hepatitis and lives in Leeds."
COST = 15.0
KEY = b"a key of at least sixteen bytes"


@pytest.fixture
def s() -> Sanitizer:
    model = ToyBackbone(zeros)
    return Sanitizer(Cape(5.0), model=model, budget=40.0, policy="words")


class TestDerive:
    def test_the_model_is_loaded_once(self, s: Sanitizer) -> None:
        other = s.derive(conversation="b", mechanism=Cape(3.0))
        assert other.inner.models().model is s.inner.models().model
        assert other.inner.models().engine is not s.inner.models().engine
        assert s.derive(conversation="b").inner.models() is s.inner.models()

    def test_without_a_ledger_all_conversations_share_the_limit(self, s: Sanitizer) -> None:
        s.derive(conversation="a").sanitize(PROMPT)
        s.derive(conversation="b").sanitize(PROMPT)
        assert s.spent == 2 * COST
        with pytest.raises(BudgetExceeded):
            s.derive(conversation="c").sanitize(PROMPT)
        assert s.budget_left == 10.0

    def test_with_a_ledger_each_conversation_has_its_own(
        self, s: Sanitizer, tmp_path: Path
    ) -> None:
        with Ledger.create(tmp_path / "ledger", KEY) as ledger:
            model = s.inner.models().model
            of: dict[str, Any] = {"model": model, "conversation": "a", "ledger": ledger}
            assert Sanitizer(Cape(5.0), "words", **of).budget_left is None, "no limit so far"
            first = Sanitizer(Cape(5.0), "words", budget=20.0, **of)
            second = first.derive(conversation="b")
            first.sanitize(PROMPT)
            second.sanitize(PROMPT)
            assert (first.budget_left, second.budget_left) == (5.0, 5.0)
            with pytest.raises(BudgetExceeded):
                second.sanitize("Another private sentence from Bradford")
            first.derive(conversation="preview", charged=False)
            assert ledger.balance(Scope("conversation", "preview")).limit is None

    def test_one_text_under_two_settings_is_two_messages(self, s: Sanitizer) -> None:
        s.sanitize(PROMPT)
        assert s.derive(mechanism=Cape(3.0)).sanitize(PROMPT).record.charged == 9.0
        assert s.derive(policy="strict", mechanism=Cape(1.0)).sanitize(PROMPT).record.charged > 0
        assert s.sanitize(PROMPT).record.charged == 0

    def test_the_first_is_left_as_it_was(self, s: Sanitizer) -> None:
        name = s.conversation
        s.derive(conversation="b", policy="identifiers", mechanism=Cape(3.0), charged=False)
        left = (s.conversation, s.policy.name, s.mechanism, s.budget_left)
        assert left == (name, "words", Cape(5.0), 40.0)


class TestPreview:
    def test_a_preview_is_free_and_adopting_it_is_charged_once(self, s: Sanitizer) -> None:
        preview = s.derive(charged=False)
        shown = preview.sanitize(PROMPT)
        assert (preview.sanitize(PROMPT).text, s.spent) == (shown.text, 0.0)
        adopted = s.adopt(PROMPT, preview.sanitize(PROMPT))
        assert (adopted.text, adopted.record.charged, s.spent) == (shown.text, COST, COST)
        assert s.adopt(PROMPT, shown).record.charged == 0
        again = s.sanitize(PROMPT)
        assert (again.text, again.record.charged, s.spent) == (shown.text, 0.0, COST)

    def test_a_preview_does_not_make_sanitize_free(self, s: Sanitizer) -> None:
        s.derive(charged=False).sanitize(PROMPT)
        s.sanitize(PROMPT)
        assert s.spent == COST

    def test_beyond_the_budget_a_preview_is_not_adopted(self, s: Sanitizer) -> None:
        texts = [PROMPT, PROMPT + "!", PROMPT + "?"]
        previews = [s.derive(charged=False).sanitize(text) for text in texts]
        for text, shown in list(zip(texts, previews, strict=True))[:2]:
            s.adopt(text, shown)
        with pytest.raises(BudgetExceeded):
            s.adopt(texts[2], previews[2])
        assert s.derive().spent == 2 * COST


class TestAnswers:
    def test_an_answer_goes_back_as_it_came(self, s: Sanitizer) -> None:
        s.sanitize("Write to anna@x.org")
        spent = s.spent
        sent = "Dear Madeleine at <EMAIL_1>"
        shown = s.restore(sent)
        assert shown == "Dear Madeleine at anna@x.org"
        s.inner.answers.remember_answer(sent, shown)
        again = s.sanitize(shown, role="assistant")
        cost = (again.record.charged, again.record.epsilon_total, s.spent)
        assert (again.text, *cost) == (sent, 0.0, 0.0, spent)

    def test_only_in_the_same_role_and_conversation(self, s: Sanitizer) -> None:
        s.inner.answers.remember_answer("Dear Madeleine", "Dear Madeleine")
        assert s.sanitize("Dear Madeleine").record.charged > 0
        other = s.derive(conversation="b").sanitize("Dear Madeleine", role="assistant")
        assert other.record.charged > 0

    def test_roles_may_be_given_one_by_one(self, s: Sanitizer) -> None:
        s.inner.answers.remember_answer("Paris", "Leeds")
        outs = s.sanitize_batch(["Leeds", "Leeds"], role=["assistant", "user"])
        assert outs[0].text == "Paris"
        assert outs[1].record.charged == 5.0
        with pytest.raises(ValueError, match="one for each text"):
            s.sanitize_batch(["Leeds", "Leeds"], role=["user"])

    def test_answers_never_push_out_what_was_released(self, s: Sanitizer) -> None:
        first = s.sanitize(PROMPT)
        for i in range(12_000):
            s.inner.answers.remember_answer(f"answer {i}", f"answer {i}")
        assert s.sanitize(PROMPT).record.charged == 0
        assert s.sanitize(PROMPT).text == first.text


class TestChoices:
    """Who looks at many draws and sends one pays for all."""

    def test_a_preview_repeated_in_a_batch_is_not_free(self, s: Sanitizer) -> None:
        shown = s.derive(charged=False).sanitize_batch([PROMPT, PROMPT])
        assert shown[0].text == shown[1].text
        s.adopt(PROMPT, shown[1])
        assert s.spent == COST

    def test_previews_in_several_roles_are_charged_together(self, s: Sanitizer) -> None:
        preview = s.derive(charged=False)
        shown = [preview.sanitize(PROMPT, role=role) for role in ("user", "system")]
        s.adopt(PROMPT, shown[1])
        assert s.spent == 2 * COST

    def test_only_a_preview_of_the_text_is_adopted(self, s: Sanitizer) -> None:
        others = [s.derive(charged=False).sanitize(PROMPT + " " * n) for n in (1, 2)]
        others.append(s.derive(charged=False, conversation="other").sanitize(PROMPT + "!"))
        for other, text in zip(others, [PROMPT, PROMPT, PROMPT + "!"], strict=True):
            with pytest.raises(ValueError, match="must be one of this text"):
                s.adopt(text, other)
        assert s.spent == 0.0

    @pytest.mark.usefixtures("quick_keys")
    def test_a_preview_drawn_before_a_restart_is_charged_too(self, tmp_path: Path) -> None:
        low, high = Cape(epsilon=2.0), Cape(epsilon=5.0)
        for is_again in (False, True):
            with FileVault(tmp_path / "v", "a long passphrase") as vault:
                model = ToyBackbone(zeros)
                s = Sanitizer(high, "words", model=model, vault=vault, conversation="c", budget=99)
                s.derive(charged=False, mechanism=low).sanitize(PROMPT)
                if is_again:
                    s.adopt(PROMPT, s.derive(charged=False, mechanism=high).sanitize(PROMPT))
                    assert s.spent == pytest.approx(COST * 7 / 5)

    @pytest.mark.parametrize("policy", ["words", "strict"])
    def test_what_is_only_looked_at_takes_no_number(self, policy: str) -> None:
        """A text previewed while somebody types it: numbers would tell how many letters it has."""
        text = 'Call 2071234567, mail anna@example.org. {"to": 4111111111111111}'
        seen = []
        for step in (1, 5, 100):
            model = ToyBackbone(zeros)
            vault = MemoryVault(numbers="from 1")
            s = Sanitizer(Cape(5.0), policy, model=model, vault=vault, conversation="c")
            typed = s.derive(charged=False)
            for end in range(1, len(text), step):
                typed.sanitize(text[:end])
            shown = s.derive(charged=False).sanitize(text)
            assert s.derive(charged=False).sanitize(text).text == shown.text
            adopted = s.adopt(text, typed.sanitize(text))
            assert adopted.text == s.sanitize(text).text == shown.text
            assert s.spent == adopted.record.epsilon_total
            kinds = [each.replacement for each in adopted.replacements if each.kind.isupper()]
            seen.append((kinds, dict(s.inner.vault.originals("c"))))
            assert s.sanitize("joe@example.org").text == "<EMAIL_2>"
        assert seen[0] == seen[1] == seen[2]
        # a number of JSON is a string
        assert seen[0][0] == ["<PHONE_1>", "<EMAIL_1>", '"<CARD_1>"']

    def test_a_preview_is_drawn_once(self, s: Sanitizer) -> None:
        with pytest.raises(ValueError, match="fresh"):
            s.derive(charged=False).sanitize(PROMPT, fresh=True)

    def test_previews_under_several_settings_are_charged_together(self, s: Sanitizer) -> None:
        shown = [
            s.derive(charged=False, mechanism=Cape(epsilon=epsilon)).sanitize(PROMPT)
            for epsilon in (2.0, 5.0)
        ]
        s.derive(charged=False, conversation="other").sanitize(PROMPT)
        s.adopt(PROMPT, shown[1])
        assert s.spent == pytest.approx(COST * 7 / 5)
