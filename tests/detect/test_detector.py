"""The detector: the same bits whatever else is hidden, escapes, odd input, remembered readings."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

import pytest

from sanitizer import Policy, Sanitizer
from sanitizer.detect.detector import Detector, encode_runs, encode_view
from sanitizer.detect.view import parted
from sanitizer.lm.reader import Ask, OnnxReader, Read
from sanitizer.testing.models import ToyReader
from tests.conftest import packaged_reader


class Counting(ToyReader):
    """Notes how many views it was asked to read."""

    def __init__(self) -> None:
        super().__init__("PERSON")
        self.n_read = 0

    def read(
        self,
        view: tuple[Sequence[int], Sequence[int], Sequence[int]],
        runs: Sequence[tuple[Sequence[int], Sequence[int]]],
        ask: Ask | None = None,
    ) -> Read:
        self.n_read += 1
        return super().read(view, runs, ask)


def read(reader: OnnxReader, text: str) -> Read:
    found = parted(text)
    runs = encode_runs(found, reader.pieces)
    return reader.read(encode_view(found.view, reader.pieces), [(r.ids, r.firsts) for r in runs])


@pytest.mark.parametrize("other", ["Zed", "Ngozi Adeyemi Quorn-Marsh", "王小明", "Zed " * 99])
def test_scores_of_a_run_are_equal_to_the_bit_whatever_another_holds(other: str) -> None:
    reader = packaged_reader()
    texts = [
        f"Call {first}, and tell Anna Lund of Leeds that it is about her asthma."
        for first in ("Otto", other.strip())
    ]
    one, two = (read(reader, text) for text in texts)
    assert one.visible.classes.tobytes() == two.visible.classes.tobytes()
    for first, second in zip(one.runs[1:], two.runs[1:], strict=True):
        assert first.classes.tobytes() == second.classes.tobytes()
        assert first.begins.tobytes() == second.begins.tobytes()


def test_a_long_view_is_read_in_windows_with_the_same_end() -> None:
    reader = packaged_reader()
    text = "It is late, and they are all here with us again. " * 30 + "Call Anna Lund of Leeds."
    scores = read(reader, text).runs[-1].classes
    assert scores.argmax(1).tolist()[0] > 0


@pytest.mark.parametrize(
    "escaped",
    [
        r"\u0410\u043d\u043d\u0430",
        "&#1040;&#1085;&#1085;&#1072;",
        "%D0%9D%D0%B8%D0%BD%D0%B0",
        "J=C3=BCrgen",
    ],
)
def test_escaped_letters_are_one_word_that_is_replaced_whole(escaped: str) -> None:
    s = Sanitizer(policy="deidentify")
    text = f"Please call my friend {escaped} today."
    out = s.sanitize(text)
    (replacement,) = out.replacements
    assert replacement.original == escaped
    assert s.restore(out.text, out) == text


def test_escapes_in_json_stay_valid() -> None:
    s = Sanitizer(policy="deidentify")
    text = json.dumps({"name": "Анна Лунд", "city": "Łódź"})
    out = s.sanitize(text)
    assert set(json.loads(out.text)) == {"name", "city"}
    assert "\\u0410" not in out.text
    assert s.restore(out.text, out) == text


@pytest.mark.parametrize(
    "text",
    [
        "7" * 4301,
        "a" * 100_000,
        "\u200b".join("Anna Lund " * 40),
        "A\u0301n\u0301n\u0301a\u0301 " * 40,
        '{"a":[' * 300,
        "1 " * 2000,
        "'".join("q" * 2000),
        "\ud800 Anna \udfff",
        "王" * 2000,
        "",
    ],
    ids=[
        "digits",
        "letters",
        "joined",
        "combining",
        "json",
        "ones",
        "apostrophes",
        "surrogates",
        "Han",
        "empty",
    ],
)
def test_odd_input_is_read_and_comes_back(text: str) -> None:
    s = Sanitizer(policy="balanced")
    out = s.sanitize(text)
    assert s.restore(out.text, out) == text or any(r.kind == "CONDITION" for r in out.replacements)


def test_a_word_that_the_model_has_no_piece_for_stays_hidden() -> None:
    detector = Detector(ToyReader(None))
    rare = "\U00016f00\U00016f01"  # letters of Miao
    found = detector.read(f"Tell {rare} and Otto about it.").findings
    assert [(each.start, each.end, each.kind) for each in found] == [(5, 7, "TERM")]


def test_a_text_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    reader = Counting()
    monkeypatch.setattr("sanitizer.lm.loading.Models.reader", lambda self: reader)
    s, text = Sanitizer(policy=Policy.preset("deidentify")), "Call Otto Lund"
    assert s.sanitize(text).text == s.sanitize(text).text
    assert reader.n_read == 1
    s.sanitize(text, keep=["Otto"])
    stricter = replace(Policy.preset("deidentify"), thresholds={"PERSON": 0.9})
    s.derive(policy=stricter).sanitize(text)
    assert reader.n_read == 3


def test_nobody_can_time_what_another_has_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tenants and holders of keys have conversations of their own, derived from one Sanitizer."""
    reader = Counting()
    monkeypatch.setattr("sanitizer.lm.loading.Models.reader", lambda self: reader)
    base = Sanitizer(policy=Policy.preset("deidentify"))
    for name in ("tenant a", "tenant b", "tenant a"):
        base.derive(conversation=name).sanitize("Tell Otto Lund about it.")
    assert reader.n_read == 2


def test_ten_turns_of_a_conversation_read_ten_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    reader = Counting()
    monkeypatch.setattr("sanitizer.lm.loading.Models.reader", lambda self: reader)
    s = Sanitizer(policy=Policy.preset("deidentify"))
    turns = [f"Turn {i}: tell Otto Lund about it." for i in range(10)]
    for n in range(1, 11):
        for text in turns[:n]:
            s.sanitize(text)
    assert reader.n_read == 10
