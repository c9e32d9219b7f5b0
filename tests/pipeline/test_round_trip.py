"""What is put back is what was written, byte for byte, where everything went to the vault."""

from __future__ import annotations

import tomllib
from itertools import islice
from pathlib import Path

import pytest

from sanitizer import PolicyError, Sanitizer
from sanitizer.lm.masked import OnnxMaskedLM
from sanitizer.storage.vault import MemoryVault
from tests.pipeline.random_texts import Texts

A_KEY = "ghp_nqRz8AaVYtBkwW5oJd3HpXgLmE7vTfSc2345"
CASES = tomllib.loads(Path(__file__).with_name("cases.toml").read_text("utf-8"))
TURNS = 5
"""Texts of one conversation: later ones may not change what earlier ones come back as."""


def check(first: Sanitizer, texts: Texts, n: int) -> int:
    """Round trips of n texts, whole and in pieces, at once and at the end of the conversation."""
    n_done = 0
    for number in range(n // TURNS):
        s = first.derive(conversation=f"{number}")
        done: list[tuple[str, str]] = []
        for text in islice(texts, TURNS):
            try:
                released = s.sanitize(text).text
            except PolicyError:  # neither English, German, French nor Spanish
                continue
            assert s.restore(released) == text, ascii(text)
            assert "".join(s.restored_stream(texts.splits(released))) == text, ascii(text)
            done.append((text, released))
        for text, released in done:
            assert s.restore(released) == text, ascii(text)
        n_done += len(done)
    return n_done


def roomy(policy: str, model: OnnxMaskedLM) -> Sanitizer:
    return Sanitizer(policy=policy, model=model, vault=MemoryVault(max_entries=1_000_000))


def test_identifiers_come_back(model: OnnxMaskedLM) -> None:
    assert check(roomy("identifiers", model), Texts(1), 300) == 300


def test_things_come_back(model: OnnxMaskedLM) -> None:
    assert check(roomy("deidentify", model), Texts(2, longest=8), 20) >= 15


@pytest.mark.nightly
@pytest.mark.parametrize(("policy", "longest"), [("identifiers", 30), ("deidentify", 10)])
def test_ten_thousand_texts_come_back(model: OnnxMaskedLM, policy: str, longest: int) -> None:
    assert check(roomy(policy, model), Texts(8, longest), 10_000) >= 9_500


@pytest.mark.parametrize("text", CASES["once_lost"])
def test_texts_that_once_did_not_come_back(model: OnnxMaskedLM, text: str) -> None:
    text = text.replace("{key}", A_KEY).replace("{upper}", A_KEY.upper())
    for policy in ("identifiers", "deidentify"):
        s = Sanitizer(policy=policy, model=model)
        code = '```python\nElena = "Elena Marsh"  # ruth.brandt@example.org, 3 March 1971\n```'
        s.sanitize(f"Elena Marsh, 3 March 1971, <PERSON_2>\n{code}")
        released = s.sanitize(text).text
        assert s.restore(released) == text
        for at in range(len(released)):
            assert "".join(s.restored_stream([released[:at], released[at:]])) == text


@pytest.mark.parametrize("texts", CASES["bare_and_string"])
def test_a_bare_value_of_code_is_told_from_a_string(texts: list[str], model: OnnxMaskedLM) -> None:
    """Once the placeholder of one was that of the other, and the quotes of a string went."""
    s = Sanitizer(policy="deidentify", model=model)
    sent = [s.sanitize(text).text for text in texts]
    assert all("62200" not in each and "Copperhouse" not in each for each in sent)
    assert [s.restore(each) for each in sent] == texts
    assert ["".join(s.restored_stream(each)) for each in sent] == texts
    bare = sent[0].partition("<")[2].partition(">")[0]
    assert "<" not in s.restore(f"The value <{bare}>, or {bare}_0 as well: <{bare}>.")


def test_a_link_that_was_sent_long_ago_comes_back_with_its_prompt(model: OnnxMaskedLM) -> None:
    s = Sanitizer(policy="identifiers", model=model)
    text = "See https://example.org/?q=anna@example.org"
    sent = s.sanitize(text)
    for n in range(100):
        s.sanitize(f"https://example.org/{n}?q=bob@example.org")
    assert s.restore(sent.text, sent) == text


def test_a_placeholder_of_code_is_a_whole_name(model: OnnxMaskedLM) -> None:
    s = Sanitizer(policy="deidentify", model=model)
    sent = s.sanitize("```python\nElena = load(1)\nprint(Elena)\n```").text
    assert "PERSON_1 = load" in sent
    answer = "PERSON_1 = 2; XPERSON_1 = PERSON_12 + get_PERSON_1"
    expected = "Elena = 2; XPERSON_1 = PERSON_12 + get_Elena"
    assert s.restore(answer) == expected
    assert "".join(s.restored_stream(answer)) == expected


@pytest.mark.usefixtures("apart")
@pytest.mark.parametrize("policy", ["identifiers", "deidentify"])
def test_what_the_user_writes_like_a_placeholder_comes_back(
    policy: str, model: OnnxMaskedLM
) -> None:
    """In an answer it is restored, in whatever spelling; so it may not leave as it is."""
    s = Sanitizer(policy=policy, model=model)
    released = s.sanitize("My mail is anna.kern@example.org, please note it.").text
    tag = released.partition("EMAIL_")[2].partition("_")[0]
    for text in (
        f"EMAIL_{tag}_1",
        f"Tell Email {tag}-1 that it is late, and {{email_{tag}_1}} too.",
        f"`EMAIL_{tag}_1`, **Correo {tag}-1**, < EMAIL_{tag}_1 >",
    ):
        sent = s.sanitize(text).text
        assert tag + "-1" not in sent
        assert s.restore(sent) == text
        assert "".join(s.restored_stream(iter(sent))) == text
