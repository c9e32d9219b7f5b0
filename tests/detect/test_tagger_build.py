"""What the scripts that make the tagger do with labelled texts and weights."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, cast

import numpy as np
import pytest

from models.build.tagger import data
from models.build.tagger.data import Example
from models.build.tagger.encode import NOTHING, Encoder, word_labels
from sanitizer.detect.skeleton import NUMBER, WORD

if TYPE_CHECKING:
    from models.build.tagger.fill import Fillers


class Counting:
    """Fills slots with numbers."""

    def __init__(self) -> None:
        self.rng = random.Random(1)
        self.n = 0

    def value(self, slot: str) -> str:
        self.n += 1
        return f"{slot}-{self.n}"


def filled(template: str) -> Example:
    return data.filled(template, cast("Fillers", Counting()))


def labels(example: Example) -> list[tuple[str, str]]:
    return [(example.text[start:end], kind) for start, end, kind in example.spans]


def test_marks_become_spans_and_task_marks_vanish() -> None:
    text, spans = data.parsed("⟪Ask⟫ ⟦PERSON:Ada⟧ about ⟦DATE:1 May⟧.")
    assert text == "Ask Ada about 1 May."
    assert spans == [(4, 7, "PERSON"), (14, 19, "DATE")]


def test_a_numbered_slot_has_one_value_and_others_each_their_own() -> None:
    example = filled("{per1} and {per1} met {per} on {pub_place}")
    assert example.text == "per-1 and per-1 met per-2 on pub_place-3"
    assert labels(example) == [("per-1", "PERSON"), ("per-1", "PERSON"), ("per-2", "PERSON")]


def test_a_slot_inside_a_mark_has_the_class_of_the_mark() -> None:
    assert labels(filled("I ⟦FACT:left {org}⟧")) == [("left org-1", "FACT")]


def test_a_numbered_slot_has_one_value_inside_and_outside_of_marks() -> None:
    example = filled("{last1} in ⟦ID:{last1}_cv.pdf⟧, ⟦FACT:left {org}⟧ {last1}")
    assert labels(example) == [
        ("last-1", "PERSON"),
        ("last-1_cv.pdf", "ID"),
        ("left org-2", "FACT"),
        ("last-1", "PERSON"),
    ]


@pytest.mark.parametrize("seed", range(3))
def test_an_escaped_bar_is_no_choice(seed: int) -> None:
    found = data.expanded(r"(a \| b|c \| d) | e", random.Random(seed)).replace("\x04", "|")
    assert found in {"a | b | e", "c | d | e"}


def test_no_template_is_taken_for_a_comment() -> None:
    for file in data.TEMPLATES.glob("*.txt"):
        comments = [x for x in file.read_text("utf-8").split("\n") if x.startswith("#")]
        assert not [comment for comment in comments if "{" in comment or "⟦" in comment], file


def test_escaped_brackets_and_parentheses_without_a_choice_stay() -> None:
    assert filled(r"f\(x\) = \{x\} (once) {other}").text == "f(x) = {x} (once) {other}"


@pytest.mark.parametrize("seed", range(5))
def test_of_nested_choices_one_is_taken(seed: int) -> None:
    found = data.expanded("a(b|c(d|e)f|)g", random.Random(seed))
    assert found in {"abg", "acdfg", "acefg", "ag"}


@pytest.mark.parametrize("name", ["sensitive", "negative"])
def test_every_template_can_be_filled(name: str) -> None:
    for template in data.templates(name):
        example = filled(template)
        assert not set("⟦⟧⟪⟫\x00\x01\x02\x03\x04") & set(example.text)
        assert {kind for _, _, kind in example.spans} <= data.ALL | {"IDENTIFIER"}


def test_tokens_of_a_corpus_become_running_text() -> None:
    tagged = [("@ada", "O"), ("met", "O"), ('"', "O"), ("Bo", "B-PER"), ("Li", "I-PER")]
    tagged += [('"', "O"), (",", "O"), ("German", "B-MISC"), ("landlord", "B-PER")]
    example = data.running(tagged, "toy", data.NAMES, frozenset({"german"}))
    assert example.text == '@ada met "Bo Li", German landlord'
    assert labels(example) == [("@ada", "IGNORE"), ("Bo Li", "PERSON"), ("German", "ORIGIN")]


def test_sentences_are_joined_with_their_spans() -> None:
    one, two = Example("Ada", [(0, 3, "PERSON")]), Example("in Rome", [(3, 7, "PLACE")])
    assert labels(data.joined([one, two])) == [("Ada", "PERSON"), ("Rome", "PLACE")]


def test_each_word_of_a_run_has_the_label_of_the_span_it_is_in() -> None:
    text = "please call Oluwaseun Bakare on 14 about it"
    encoded = Encoder().encode(text)
    name, number = encoded.runs
    assert (name.kind, number.kind) == (WORD, NUMBER)
    spans = [(12, 21, "PERSON"), (22, 28, "IGNORE")]
    assert word_labels(name, spans) == [1 + data.CLASSES.index("PERSON"), NOTHING]
    assert word_labels(number, spans) == [0]
    assert encoded.ids[encoded.at[0]] == Encoder().pieces.mask


@pytest.mark.slow
def test_four_bits_keep_what_they_can_hold_and_lose_little_else() -> None:
    pytest.importorskip("torch", reason="only the scripts need torch")
    pytest.importorskip("onnx", reason="only the scripts need onnx")
    from models.build.tagger.export import four_bits
    from models.build.tagger.model import BLOCK

    rng = np.random.default_rng(1)
    exact = rng.integers(-8, 8, (3, 2 * BLOCK)).astype(np.float32)
    exact[:, ::BLOCK] = -8  # the extreme of each block
    for weight, largest in ((exact, 0.0), (rng.standard_normal((3, 64), np.float32), 0.3)):
        packed, scale = four_bits(weight)
        codes = np.stack([packed & 15, packed >> 4], -1).reshape(len(weight), -1, BLOCK)
        found = ((codes - 8.0) * scale[:, :, None]).reshape(weight.shape)
        assert np.abs(found - weight).max() <= largest


@pytest.mark.slow
def test_a_packaged_tagger_comes_back_as_it_was_for_more_training() -> None:
    pytest.importorskip("torch", reason="only the scripts need torch")
    pytest.importorskip("onnx", reason="only the scripts need onnx")
    from models.build.tagger.export import four_bits
    from models.build.tagger.model import Tagger, packaged_arrays, packaged_state
    from sanitizer.lm import model_folder

    model = Tagger(packaged_arrays())
    state = packaged_state(model_folder("tagger"))
    model.load_state_dict(state)
    weight = state["layers.0.ffn1.weight"].numpy()
    packed, scale = four_bits(weight)
    codes = np.stack([packed & 15, packed >> 4], -1).reshape(len(weight), -1, 32)
    back = ((codes.astype(np.float32) - 8) * scale[:, :, None]).reshape(weight.shape)
    np.testing.assert_array_equal(back, weight)


def test_the_second_stage_says_the_same_without_its_training() -> None:
    torch = pytest.importorskip("torch", reason="only the scripts need torch")
    pytest.importorskip("onnx", reason="only the scripts need onnx")
    from models.build.encoder import WIDTH
    from models.build.tagger.known import Learner
    from models.build.tagger.model import LEAST_SHARE

    torch.manual_seed(1)
    scores, slots, known = torch.randn(50, 18), torch.randn(50, WIDTH) + 2, torch.rand(50, 64) * 3
    logs = torch.log(torch.softmax(scores, -1) + LEAST_SHARE)
    learner = Learner([logs, slots, known], [torch.tensor(0.5)] * 3).eval()
    with torch.no_grad():
        wanted = learner([logs, slots, known])
        found = learner.plain()(scores, slots, known)
    torch.testing.assert_close(found, wanted, atol=1e-4, rtol=1e-4)


def test_what_no_text_says_of_a_word_is_not_learnt() -> None:
    pytest.importorskip("torch", reason="only the scripts need torch")
    pytest.importorskip("onnx", reason="only the scripts need onnx")
    from models.build.tagger.known import Words, excluded

    names, every = sorted(data.NAMES), sorted(data.ALL)
    rows = [
        (["plot", "Ada"], WORD, 0, 0, "imdb", names),
        (["plot", "Ada"], WORD, 1, 0, "imdb", names),
        (["gout"], WORD, 0, 0, "btc", names),
        (["gout"], WORD, 0, 0, "template", every),
        (["gout"], WORD, 0, 5, "template", every),
    ]
    nothing = np.zeros((len(rows), 1), np.float32)
    found = excluded(Words(nothing, nothing, rows))
    assert found.sum(1).tolist() == [17, 0, 4, 17, 0]
    assert not found[:, 0].any()


def test_scores_that_tell_private_words_apart_are_told_so() -> None:
    pytest.importorskip("torch", reason="only the scripts need torch")
    pytest.importorskip("onnx", reason="only the scripts need onnx")
    from models.build.tagger.known import Words, told_apart

    labels = [0, 0, 1, 5, 17]
    rows: list[tuple[list[str], str, int, int, str, list[str]]] = [
        (["Ada" if i % 2 else "ada"], WORD, 0, label, "open", []) for i, label in enumerate(labels)
    ]
    scores = np.zeros((5, 18), np.float32)
    words = Words(scores, scores, rows)
    scores[[0, 1], 0], scores[2, 1], scores[3, 6] = 3, 2, 2
    found = told_apart(words, scores)
    assert (found["auc"], found["right"]) == (1.0, 0.5)
    assert told_apart(words, -scores)["auc"] < 0.5
