"""Synthetic texts: what is public decides what is read and paid for."""

from __future__ import annotations

import copy
import json
from collections.abc import Sequence
from dataclasses import fields, replace
from inspect import signature
from pathlib import Path
from typing import Any, get_type_hints

import pytest

from sanitizer import SynthesizedText, synthesize, synthesize_batch
from sanitizer.errors import BudgetExceeded, ModelError, NotCertified
from sanitizer.lm.causal import OnnxCausalLM
from sanitizer.lm.files import model_folder
from sanitizer.privacy.invisibleink import InvisibleInk
from sanitizer.privacy.next_token import cost
from sanitizer.storage.ledger import Ledger, Scope
from sanitizer.synthesis.plan import RELATION, UNIT, OptionKeywords, SynthesisOptions
from sanitizer.testing.models import SeededSource
from tests.synthesis.conftest import QUERY, REFERENCES

REFUSED = Path(__file__).with_name("cases_refused.jsonl").read_text("utf-8").splitlines()
"""Options that are refused, with a part of what is said."""


def write_some(
    toy: OnnxCausalLM, references: Sequence[Any] = REFERENCES, **options: Any
) -> SynthesizedText:
    return synthesize(
        references, options.pop("query", QUERY), model=toy, **{"max_tokens": 6} | options
    )


def test_a_text_is_a_string_with_a_record(toy: OnnxCausalLM) -> None:
    text = write_some(toy, source=SeededSource(1))
    assert isinstance(text, str)
    assert text == write_some(toy, source=SeededSource(1))
    assert text.as_dict() == {"text": str(text), "record": text.record.as_dict()}
    again = copy.deepcopy(text)
    assert (again, again.record) == (text, text.record)


def test_the_record_states_the_bound_that_the_decoder_gives(toy: OnnxCausalLM) -> None:
    record = write_some(toy, epsilon=3.0, delta=1e-5, temperature=1.2, top_k=20).record
    decoder = InvisibleInk(record.settings["clip_norm"], 6, 1.2, 20)
    assert record.epsilon == cost(decoder.event(UNIT, RELATION), 6, 1e-5)
    assert 2.9 < record.epsilon <= 3.0
    assert record.claimed_epsilon is not None
    assert record.claimed_epsilon >= record.epsilon
    assert record.certified
    paid = (record.delta, record.charged, record.fell_back, record.note)
    assert paid == (1e-5, record.epsilon, False, None)
    assert (record.n_references, record.max_tokens, record.n_charged) == (6, 6, 6)
    assert 1 <= record.n_tokens <= 6
    assert record.settings | decoder.settings() == record.settings


def test_more_texts_from_the_same_references_leave_less_for_each(toy: OnnxCausalLM) -> None:
    one, many = (write_some(toy, n_queries=n).record for n in (1, 10))
    assert many.n_charged == 60
    assert many.settings["clip_norm"] < one.settings["clip_norm"]
    assert max(one.epsilon, many.epsilon) <= 10


def test_a_batch_reads_each_reference_for_one_text_only(toy: OnnxCausalLM) -> None:
    texts = synthesize_batch(REFERENCES, QUERY, 3, model=toy, max_tokens=4, source=SeededSource(0))
    assert [text.record.n_references for text in texts] == [2, 2, 2]
    changed = [*REFERENCES[:4], "something else", REFERENCES[5]]
    others = synthesize_batch(changed, QUERY, 3, model=toy, max_tokens=4, source=SeededSource(0))
    assert texts[:2] == others[:2]
    assert "no other text reads these" in texts[0].record.public
    assert texts[0].record.epsilon == write_some(toy, REFERENCES[:2], max_tokens=4).record.epsilon


def test_long_references_are_cut_at_a_public_length(toy: OnnxCausalLM) -> None:
    short, long = (write_some(toy, [text, "Bye"]).record for text in ("Hi", "Hi" * 500))
    assert replace(short, n_tokens=0) == replace(long, n_tokens=0)
    limit = short.settings["max_reference_tokens"]
    kept = "H" * limit
    assert write_some(toy, [kept], source=SeededSource(2)) == write_some(
        toy, [kept + "i!"], source=SeededSource(2)
    )
    assert write_some(toy, max_reference_tokens=20).record.settings["max_reference_tokens"] == 20


@pytest.mark.parametrize("references", [[""], ["one"], ["", "", ""], ["\ud800 \x00"]])
def test_few_and_empty_references_are_references(toy: OnnxCausalLM, references: list[str]) -> None:
    record = write_some(toy, references).record
    assert record.n_references == len(references)
    assert not record.fell_back


def test_too_small_an_epsilon_reads_nothing_and_says_so(toy: OnnxCausalLM) -> None:
    texts = [
        write_some(toy, references, epsilon=1e-6, source=SeededSource(4))
        for references in (REFERENCES, ["x"] * 6)
    ]
    assert texts[0] == texts[1]
    record = texts[0].record
    assert record.fell_back
    assert record.note is not None
    assert "no reference was read" in record.note
    assert (record.epsilon, record.claimed_epsilon, record.charged, record.n_references) == (
        0,
        0,
        0,
        0,
    )


def test_the_published_accounting_is_the_claim(toy: OnnxCausalLM) -> None:
    published, certified = (write_some(toy, variant=v).record for v in ("published", "certified"))
    assert published.epsilon == published.claimed_epsilon
    assert published.settings["clip_norm"] < certified.settings["clip_norm"]
    assert published.certified  # its theorem holds; it only costs more


@pytest.mark.parametrize("line", REFUSED)
def test_bad_arguments_are_named_before_anything_is_drawn(toy: OnnxCausalLM, line: str) -> None:
    source, case = SeededSource(0), json.loads(line)
    options = {"references": REFERENCES, "source": source} | case["options"]
    with pytest.raises(ValueError, match=case["said"]) as error:
        write_some(toy, options.pop("references"), **options)
    assert "coat" not in str(error.value)
    assert source.randbelow(10**9) == SeededSource(0).randbelow(10**9)


@pytest.mark.parametrize(
    "options",
    [
        {"references": "one"},
        {"references": [1]},
        {"references": ["a", {"b": "c"}]},
        {"query": {"a": "b"}},
        {"template": 3},
    ],
)
def test_wrong_types_are_refused(toy: OnnxCausalLM, options: dict[str, Any]) -> None:
    with pytest.raises(TypeError, match=r"references|query|template"):
        write_some(toy, options.pop("references", REFERENCES), **options)


def test_more_texts_than_references_are_refused(toy: OnnxCausalLM) -> None:
    with pytest.raises(ValueError, match="each of 7 texts, got 6"):
        synthesize_batch(REFERENCES, QUERY, 7, model=toy)
    with pytest.raises(ValueError, match="n_texts"):
        synthesize_batch(REFERENCES, QUERY, 0, model=toy)


def test_a_ledger_is_charged_once_before_the_texts(toy: OnnxCausalLM, tmp_path: Path) -> None:
    day = Scope("day")
    with Ledger.create(tmp_path / "ledger", b"0123456789abcdef") as ledger:
        ledger.set_limit(day, 5.0)
        texts = synthesize_batch(
            REFERENCES, QUERY, 2, model=toy, max_tokens=3, epsilon=3.0, ledger=ledger, scopes=[day]
        )
        spent = ledger.balance(day).spent
        assert texts[0].record == replace(texts[1].record, n_tokens=texts[0].record.n_tokens)
        assert texts[0].record.charged <= spent == pytest.approx(texts[0].record.charged)
        with pytest.raises(BudgetExceeded):
            write_some(toy, epsilon=3.0, ledger=ledger, scopes=[day])
        write_some(toy, epsilon=1e-6, ledger=ledger, scopes=[day])
        with pytest.raises(ValueError, match="ledger"):
            write_some(toy, scopes=[day])
        published: Any = {"method": "dps-mozo", "variant": "published", "n_shots": 1}
        with pytest.raises(NotCertified):
            write_some(toy, epsilon=2.0, ledger=ledger, scopes=[day], **published)
        with pytest.raises(ValueError, match="n_queries"):
            write_some(toy, epsilon=0.5, n_queries=2, ledger=ledger, scopes=[day])
        assert ledger.balance(day).spent == spent


def test_without_weights_the_command_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SANITIZER_CACHE", str(tmp_path))
    with pytest.raises(ModelError, match="sanitizer models fetch lm"):
        synthesize(REFERENCES, QUERY, model=model_folder("lm"))


def test_the_real_model_writes_a_review(real: OnnxCausalLM) -> None:
    reviews = [
        f"A {a} film with {b}; the {c} was the best part of it."
        for a in ("dull", "warm", "odd", "slow")
        for b in ("songs", "dogs", "no plot", "old jokes")
        for c in ("end", "music", "cast", "colour")
    ]
    assert len(reviews) == 64
    steps: list[int] = []
    text = synthesize(
        reviews,
        "Write a short review of a film.",
        model=real,
        max_tokens=16,
        batch_size=4,
        on_token=steps.append,
        source=SeededSource(11),
    )
    words = text.lower().split()
    assert len(words) >= 6
    assert sum(word.isascii() for word in words) == len(words)
    assert {"the", "a", "film", "movie", "of", "and", "is", "was"} & set(words)
    assert sum(steps) == text.record.n_tokens <= 16
    assert text.record.n_references == 4
    assert text.record.epsilon <= 10


@pytest.mark.parametrize(
    ("function", "first"),
    [
        (synthesize, ["references", "query"]),
        (synthesize_batch, ["references", "query", "n_texts"]),
    ],
)
def test_options_are_the_same_everywhere(function: Any, first: list[str]) -> None:
    shown = signature(function).parameters
    named = {field.name: field.default for field in fields(SynthesisOptions)}
    assert list(shown) == [*first, *named]
    assert {name: shown[name].default for name in named} == named
    assert get_type_hints(SynthesisOptions) == get_type_hints(OptionKeywords)


def test_unknown_options_are_refused() -> None:
    with pytest.raises(TypeError, match=r"^synthesize\(\) got an unexpected keyword argument 'x'$"):
        synthesize(REFERENCES, QUERY, x=1)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match=r"^synthesize_batch\(\) got an unexpected"):
        synthesize_batch(REFERENCES, QUERY, 1, max_token=3)  # type: ignore[call-arg]
