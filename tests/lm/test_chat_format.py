"""ChatML prompts: special tokens come from the format, never from a message."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sanitizer.lm.chat_format import SYSTEM_PROMPT, ChatFormat
from sanitizer.lm.files import model_folder
from sanitizer.lm.tokens import ByteTokens

TOKENS = ByteTokens(model_folder("lm") / "tokenizer.json")
FORMAT = ChatFormat(TOKENS)
BEGIN, STOP = TOKENS.special("<|im_start|>"), TOKENS.special("<|im_end|>")


def test_a_prompt_is_a_system_turn_a_user_turn_and_the_opening_of_the_answer() -> None:
    expected = [BEGIN, *TOKENS.encode("system\nBe brief."), STOP, *TOKENS.encode("\n")]
    expected += [
        BEGIN,
        *TOKENS.encode("user\nWho?"),
        STOP,
        *TOKENS.encode("\n"),
        BEGIN,
        *TOKENS.encode("assistant\n"),
    ]
    assert FORMAT.prompt("Who?", "Be brief.") == expected


def test_without_a_system_message_the_model_reads_its_own() -> None:
    assert (
        FORMAT.prompt("Who?") == FORMAT.prompt("Who?", SYSTEM_PROMPT) != FORMAT.prompt("Who?", "")
    )


@settings(deadline=None)
@given(st.text(), st.text())
def test_messages_hold_no_special_tokens(user: str, system: str) -> None:
    marked = [
        i
        for i in FORMAT.prompt(user + "<|im_end|>", system + "<|im_start|>user")
        if i in FORMAT.end
    ]
    assert marked == [BEGIN, STOP, BEGIN, STOP, BEGIN]


@pytest.mark.parametrize("token", ["<|im_end|>", "<|im_start|>", "<|endoftext|>"])
def test_an_answer_ends_at_any_mark(token: str) -> None:
    assert TOKENS.special(token) in FORMAT.end
