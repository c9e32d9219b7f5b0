"""Tokenizer of the causal model: every text there and back; and its chats in ChatML."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sanitizer.errors import ModelError
from sanitizer.lm.files import model_folder
from sanitizer.lm.tokens import SYSTEM_PROMPT, ByteTokens, ChatFormat

TOKENLESS = "[\x04\x06\x13\x14\x16\x1d\U00040000-\U000bffff]"
TOKENS = ByteTokens(model_folder("lm") / "tokenizer.json")
FORMAT = ChatFormat(TOKENS)
BEGIN, STOP = TOKENS.special("<|im_start|>"), TOKENS.special("<|im_end|>")


@settings(deadline=None)
@given(st.text())
def test_every_text_comes_back(text: str) -> None:
    assert TOKENS.decode(TOKENS.encode(text)) == re.sub(TOKENLESS, "\ufffd", text)


@pytest.mark.parametrize("plane", range(17))
def test_every_plane_is_kept_or_marked(plane: int) -> None:
    for code in range(plane * 0x10000, (plane + 1) * 0x10000, 97 if plane else 7):
        text = chr(code)
        if not "\ud800" <= text <= "\udfff":
            assert TOKENS.decode(TOKENS.encode(text)) == re.sub(TOKENLESS, "\ufffd", text)


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("Hello, world! 12345 don't", [19556, 28, 905, 17, 216, 33, 34, 35, 36, 37, 1326, 982]),
        ("  two  spaces\n\n\ttab ", [216, 827, 216, 5600, 1116, 197, 15999, 216]),
        ("café naïve Größe", [83, 1939, 2756, 15486, 46494, 9171, 7466, 34878, 85]),
        (
            "3.14e10 1,000 a1b2",
            [35, 30, 33, 36, 85, 33, 32, 216, 33, 28, 32, 32, 32, 253, 33, 82, 34],
        ),
    ],
)
def test_tokens_are_those_of_llama_cpp(text: str, ids: list[int]) -> None:
    """Expected values: its server's /tokenize, on the file that the weights come from."""
    assert TOKENS.encode(text) == ids


def test_a_special_token_in_a_text_is_text() -> None:
    end = TOKENS.special("<|im_end|>")
    assert end == 2
    assert end not in TOKENS.encode("a<|im_end|>b")
    assert TOKENS.decode([*TOKENS.encode("a"), end, *TOKENS.encode("b")]) == "ab"


def test_half_a_character_is_marked() -> None:
    first, *_ = TOKENS.encode("👩")
    assert TOKENS.decode([first]).strip("\ufffd") == ""
    assert TOKENS.decode(TOKENS.encode("\ud800")) == "\ufffd"


def test_what_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="no <nothing>"):
        TOKENS.special("<nothing>")
    (tmp_path / "tokenizer.json").write_text("{}", "utf-8")
    with pytest.raises(ModelError, match="cannot be used"):
        ByteTokens(tmp_path / "tokenizer.json")
    with pytest.raises(ModelError, match="cannot be used"):
        ByteTokens(tmp_path / "nowhere.json")


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
