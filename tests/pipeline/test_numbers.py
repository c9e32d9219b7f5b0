"""No other conversation, process or replica has the placeholders of a conversation."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from sanitizer import FileVault, Policy, Sanitizer
from sanitizer.storage.vault import MemoryVault, Vault, tag_of

pytestmark = pytest.mark.usefixtures("quick_keys")

KEY = "a passphrase of many letters"
ANNA, OTTO = "Write to anna@example.org and eve@example.org", "Write to otto@example.org"
_NUMBER = re.compile(r"<EMAIL_\d{5}_(\d+)>")


def number_in(text: str) -> int:
    found = _NUMBER.search(text)
    assert found is not None, text
    return int(found[1])


@pytest.mark.usefixtures("apart")
class TestApart:
    """One patient's address must not come back as another's."""

    def test_another_sanitizer_restores_nothing(self) -> None:
        one, two = Sanitizer(policy="identifiers"), Sanitizer(policy="identifiers")
        sent = one.sanitize(ANNA).text
        two.sanitize(OTTO)
        assert two.restore(sent) == sent
        assert one.restore(sent) == ANNA

    def test_another_conversation_of_the_same_vault_restores_nothing(self, tmp_path: Path) -> None:
        vaults: list[Vault] = [MemoryVault(), FileVault(tmp_path / "vault", KEY)]
        for vault in vaults:
            one = Sanitizer(policy="identifiers", vault=vault, conversation="one")
            two = one.derive(conversation="two")
            sent = one.sanitize(ANNA).text
            two.sanitize(OTTO)
            assert two.restore(sent) == sent
            assert one.restore(sent) == ANNA

    def test_a_vault_in_a_file_goes_on_after_a_restart(self, tmp_path: Path) -> None:
        texts = []
        for text in (ANNA, OTTO):
            with FileVault(tmp_path / "vault", KEY) as vault:
                sanitizer = Sanitizer(policy="identifiers", vault=vault, conversation="c")
                texts.append(sanitizer.sanitize(text).text)
                assert sanitizer.restore(texts[0]) == ANNA
        assert number_in(texts[1]) == number_in(texts[0]) + 2

    def test_a_preview_shows_the_numbers_that_leave(self) -> None:
        sanitizer = Sanitizer(policy="identifiers")
        preview = sanitizer.derive(charged=False).sanitize(ANNA).text
        assert sanitizer.sanitize(ANNA).text == preview

    def test_later_forms_are_restored_however_they_are_written_and_never_taken_for_words(
        self,
    ) -> None:
        """A tag, a number and the number of a form: `<EMAIL_48213_1_2>`."""
        sanitizer = Sanitizer(policy="identifiers")
        sent = sanitizer.sanitize("Mail anna@example.org or ANNA@example.org").text
        second = sent.split()[-1]
        assert second.count("_") == 3
        for written in (second.replace("_", "\\_"), f"&lt;{second[1:-1]}&gt;", second.lower()):
            assert sanitizer.restore(f"To {written}.") == "To ANNA@example.org.", written
            stream = sanitizer.restored_stream(f"To {written}.")
            assert "".join(stream) == "To ANNA@example.org.", written
        typed = sanitizer.sanitize(f"What is {second}?").text
        assert second not in typed
        assert sanitizer.restore(typed) == f"What is {second}?"

    def test_values_of_the_same_form_are_still_made(self) -> None:
        policy = Policy.from_dict({"base": "identifiers", "identifiers": {"style": "same-form"}})
        assert "<" not in Sanitizer(policy=policy).sanitize(ANNA).text

    def test_tags_have_five_digits(self) -> None:
        tags = {tag_of(bytes([i] * 32), "c") for i in range(200)}
        assert len(tags) > 195
        assert all(10_000 <= tag < 100_000 for tag in tags)


def test_numbers_begin_at_one_where_that_was_asked_for() -> None:
    vault = MemoryVault(numbers="from 1")
    text = Sanitizer(policy="identifiers", vault=vault).sanitize(OTTO).text
    assert text == "Write to <EMAIL_1>"
