"""Cape on left context: what the causal model reads and what it never reads, and the epsilon that
is there.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from sanitizer import Cape, ModelError, NotCertified, Policy, Sanitizer
from sanitizer.cli.program import main
from sanitizer.lm.causal import CausalLM, OnnxCausalLM
from sanitizer.lm.files import Manifest, model_folder
from sanitizer.lm.masked import OnnxMaskedLM
from sanitizer.lm.tokens import ByteTokens
from sanitizer.pipeline.engines import HEAD, LeftReader
from sanitizer.pipeline.masked_text import Choices
from sanitizer.privacy.weights import Weights
from sanitizer.risk.attacks import run_attacks
from sanitizer.risk.exact_audit import audit, domain
from sanitizer.testing.models import SeededSource, ToyCausalLM
from tests.pipeline.recording import check_shares

PROMPT = "My father Peter has hepatitis and lives in Leeds."
CAUSAL = Cape(backbone="causal")
Logits = NDArray[np.float32]


def scores(ids: Sequence[int]) -> Logits:
    """They depend on every token read."""
    return _scores(tuple(ids))


@lru_cache(maxsize=64)
def _scores(ids: tuple[int, ...]) -> Logits:
    return np.random.default_rng(ids).normal(size=49152).astype(np.float32)


class Recording(ToyCausalLM):
    """Keeps what was read before each pass."""

    def __init__(self, max_length: int = 8192) -> None:
        self.seen: list[list[int]] = []
        super().__init__(self._recorded, max_length=max_length)

    def _recorded(self, ids: Sequence[int]) -> Logits:
        self.seen.append(list(ids))
        return scores(ids)


def sanitizer_with(causal: CausalLM, model: OnnxMaskedLM, mechanism: Cape = CAUSAL) -> Sanitizer:
    return Sanitizer(mechanism, model=model, causal=causal, policy="words")


@pytest.fixture(scope="module")
def toy(model: OnnxMaskedLM) -> Sanitizer:
    return sanitizer_with(ToyCausalLM(scores), model)


@pytest.fixture(scope="module")
def tokens() -> ByteTokens:
    return ByteTokens(model_folder("lm") / "tokenizer.json")


@pytest.fixture(scope="module")
def real(model: OnnxMaskedLM) -> Sanitizer:
    path = Manifest.read(model_folder("lm")).weights
    if path is None or not path.exists():
        pytest.skip("the weights are not on this machine: sanitizer models fetch lm")
    return sanitizer_with(OnnxCausalLM(threads=1), model)


def left(sanitizer: Sanitizer) -> LeftReader:
    reader = sanitizer.inner.models().engine.left
    assert reader is not None
    return reader


def released_as(
    sanitizer: Sanitizer, text: str, outputs: Sequence[str]
) -> list[tuple[int, Logits]]:
    """(word, scores) of every draw, where the words of a text are released as told."""
    choices, found = Choices(sanitizer.inner.mask(text)), []
    for word, logits in left(sanitizer).words(choices):
        found.append((word, logits))
        choices.release(word, outputs[word], 103)
    return found


@pytest.mark.parametrize(
    "text",
    [
        PROMPT,
        "Peter, who met Anna (the nurse) in Leeds:\n\nhepatitis was found.",
        "Leeds",
        "\tPeter's vicar is\u00a0ill, 'Anna' said.  Zebras!",
        "naïve Ελλάδα \ud800 xqzzyvv",
    ],
)
def test_it_reads_public_and_released_text_to_the_left(
    model: OnnxMaskedLM, tokens: ByteTokens, text: str
) -> None:
    causal = Recording()
    out = sanitizer_with(causal, model).sanitize(text, source=SeededSource(2))
    expected = [out.text[: r.start].removesuffix(" ") for r in out.replacements if r.kind == "word"]
    read = [tokens.decode(ids).removeprefix(f"{HEAD} ").removeprefix(HEAD) for ids in causal.seen]
    last = list(dict.fromkeys(read))[-len(expected) :]
    assert [e.replace("\ud800", "\ufffd") for e in expected] == last


def test_articles_numbers_and_identifiers_are_stand_ins(
    model: OnnxMaskedLM, tokens: ByteTokens
) -> None:
    causal = Recording()
    text = "I saw an xyzzyist on 12 May, anna.smith@example.org, and Peter."
    sanitizer_with(causal, model).sanitize(text, source=SeededSource(2))
    read = tokens.decode(causal.seen[-1])
    assert " I saw a " in read
    assert "12" not in read
    assert "smith" not in read


@pytest.mark.parametrize("other", ["Anna", "xqzzyvvian", "Ελλάδα", "O'Neill", "in\u00adtern"])
@pytest.mark.parametrize("place", [0, 1, 2])
def test_neighbors_get_the_same_scores_given_the_same_outputs(
    toy: Sanitizer, other: str, place: int
) -> None:
    words = ["Peter", "hepatitis", "Leeds"]
    check_neighbors(toy, words, [*words[:place], other, *words[place + 1 :]])


def test_neighbors_of_the_real_model(real: Sanitizer) -> None:
    check_neighbors(real, ["Peter", "hepatitis", "Leeds"], ["Peter", "xqzzyvvian", "Leeds"])


def check_neighbors(sanitizer: Sanitizer, words: list[str], others: list[str]) -> None:
    """Same scores, bit for bit, at every word, and the same distributions at every word that is
    equal.
    """
    text = "My father {} has a {} and lives in {}."
    outputs, engine = ["George", "asthma", "London"], sanitizer.inner.models().engine
    first, second = (released_as(sanitizer, text.format(*w), outputs) for w in (words, others))
    assert len(first) == len(second) == 3
    for (i, logits), (j, same) in zip(first, second, strict=True):
        assert i == j
        assert logits.tobytes() == same.tobytes()
        if words[i] == others[i]:
            (a, p), (b, q) = (next(engine.distributions([words[i]], x)) for x in (logits, same))
            assert np.array_equal(a, b)
            assert exact(p) == exact(q)


def exact(weights: Weights) -> list[tuple[int, list[int]]]:
    return [
        (total, sorted(members.tolist()))
        for total, members in zip(weights.totals, weights.members, strict=True)
    ]


def test_later_words_read_what_was_released(toy: Sanitizer) -> None:
    first, second = (
        released_as(toy, PROMPT, [name, "asthma", "London"]) for name in ("George", "Paul")
    )
    assert np.array_equal(first[0][1], second[0][1])
    assert not np.array_equal(first[1][1], second[1][1])


def test_a_word_must_be_released_before_the_next_is_scored(toy: Sanitizer) -> None:
    words = left(toy).words(Choices(toy.inner.mask(PROMPT)))
    next(words)
    with pytest.raises(RuntimeError):
        next(words)


@pytest.mark.parametrize("word", ["hepatitis", "xqzzyvv"])
def test_what_is_released_has_the_certified_probabilities(model: OnnxMaskedLM, word: str) -> None:
    """End to end: one output of five at the high level, whatever the private word is."""
    mechanism = Cape(1.0, backbone="causal", n_shortlist=5, n_top=1)
    check_shares(sanitizer_with(ToyCausalLM(scores), model, mechanism), word, 500, SeededSource(5))


@pytest.mark.parametrize("profile", ["staircase", "geometric", "prior", "medoids"])
@pytest.mark.parametrize("position", [0, 2])
def test_the_audit_finds_the_certified_epsilon(
    model: OnnxMaskedLM, profile: str, position: int
) -> None:
    mechanism = Cape(5.0, backbone="causal", profile=profile)
    sanitizer = sanitizer_with(ToyCausalLM(scores), model, mechanism)
    report = audit(sanitizer, position=position, n_inputs=300)
    assert report.certified == 5.0
    assert report.exact == pytest.approx(5.0, abs=1e-9)
    assert report.exact <= 5.0 + 1e-12


def test_the_published_variant_reads_the_original_words_and_claims_too_little(
    model: OnnxMaskedLM, tokens: ByteTokens
) -> None:
    causal = Recording()
    sanitizer = sanitizer_with(causal, model, Cape(1.0, backbone="causal", variant="published"))
    out = sanitizer.sanitize(PROMPT)
    assert tokens.decode(causal.seen[-1]).endswith("My father Peter has hepatitis and lives in")
    assert not out.record.certified
    assert out.record.claimed_epsilon is not None
    assert len(domain(sanitizer)) > 20_000
    assert audit(sanitizer, n_inputs=40).exact > 1.0


def test_consistent_words_are_drawn_at_their_first_place(model: OnnxMaskedLM) -> None:
    sanitizer = sanitizer_with(ToyCausalLM(scores), model, Cape(backbone="causal", consistent=True))
    out = sanitizer.sanitize("Peter told Anna that peter knows Peter in Leeds.")
    names = {r.replacement.lower() for r in out.replacements if r.original.lower() == "peter"}
    assert len(names) == 1
    n_distinct = len({r.original.lower() for r in out.replacements})
    assert out.record.epsilon_total == pytest.approx(5.0 * n_distinct)


def test_outputs_are_words_of_one_token(
    toy: Sanitizer, model: OnnxMaskedLM, tokens: ByteTokens
) -> None:
    space = toy.inner.models().engine.space
    assert 11_000 < space.n_outputs < len(model.outputs)
    for output in range(0, space.n_outputs, 97):
        assert space.text(output) in model.outputs
        assert len(tokens.encode(" " + space.text(output))) == 1
        token = list(model.output_ids).index(space.token(output))
        assert model.outputs[token] == space.text(output)


@settings(max_examples=25, deadline=None)
@given(st.text(max_size=30))
def test_any_text_gives_a_consistent_result(toy: Sanitizer, text: str) -> None:
    out, at, begin = toy.sanitize(text), 0, 0
    for r in out.replacements:
        between = out.text[at : r.start]
        assert text.startswith(between + r.original, begin)
        at, begin = r.end, begin + len(between) + len(r.original)
    assert out.text[at:] == text[begin:]


def test_a_long_text_is_read_in_windows(model: OnnxMaskedLM) -> None:
    causal = Recording(max_length=64)
    text = "the " * 100 + "zebra " + "sleeps at noon with Anna, " * 20
    out = sanitizer_with(causal, model).sanitize(text, source=SeededSource(2))
    assert len(out.replacements) > 40
    assert max(len(ids) for ids in causal.seen) == 64


def test_the_record_names_the_model_that_reads(toy: Sanitizer) -> None:
    record = toy.sanitize(PROMPT).record
    assert record.certified
    assert record.context == "released"
    assert record.settings["backbone"] == "causal"
    assert record.model_sha256 == "toy causal"


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_scores_that_are_not_finite_release_nothing(model: OnnxMaskedLM, value: float) -> None:
    broken = ToyCausalLM(lambda ids: np.full(49152, value, dtype=np.float32))
    with pytest.raises(NotCertified):
        sanitizer_with(broken, model).sanitize(PROMPT)


def test_a_batch_gives_what_single_texts_give(toy: Sanitizer) -> None:
    texts = [PROMPT, "Anna plays chess.", "the of and"]
    together = toy.sanitize_batch(texts, fresh=True, source=SeededSource(3))
    source = SeededSource(3)
    assert [t.text for t in together] == [
        toy.sanitize(t, fresh=True, source=source).text for t in texts
    ]


@pytest.mark.parametrize(
    ("variant", "context"), [("certified", "released"), ("published", "original")]
)
def test_attacks_measure_it(model: OnnxMaskedLM, variant: str, context: str) -> None:
    mechanism = Cape(3.0, backbone="causal", variant=variant, context=context)
    report = run_attacks(
        sanitizer_with(ToyCausalLM(scores), model, mechanism), ["Peter lives in Leeds."], 2
    )
    assert report.n_words == 2
    assert report.remembered_outputs == 1
    assert (report.posterior.success_ceiling is None) is (variant == "published")


def test_a_policy_file_may_choose_it(tmp_path: Path) -> None:
    path = tmp_path / "policy.toml"
    path.write_text('base = "words"\n[mechanism]\nname = "cape"\nbackbone = "causal"\n', "utf-8")
    assert Policy.load(path).mechanism == CAUSAL


@pytest.mark.parametrize("command", ["sanitize", "audit"])
def test_without_weights_the_command_line_names_the_command(
    command: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("SANITIZER_CACHE", str(tmp_path))
    text = [PROMPT] if command == "sanitize" else []
    assert main([command, *text, "--policy", "strict", "--backbone", "causal"]) == 1
    error = capsys.readouterr().err
    assert "sanitizer models fetch lm" in error
    assert "Peter" not in error
    with pytest.raises(ModelError):
        Sanitizer(CAUSAL, policy="words").load()


def test_threads_give_what_one_gives(real: Sanitizer) -> None:
    texts = ["Anna of York sleeps.", "Peter of Leeds sleeps.", "Ann of Bath sleeps."]

    def draw(i: int) -> str:
        return real.sanitize(texts[i], fresh=True, source=SeededSource(i)).text

    serial = [draw(i) for i in range(3)]
    with ThreadPoolExecutor(3) as pool:
        assert list(pool.map(draw, range(3))) == serial


def test_the_real_model_writes_english(real: Sanitizer) -> None:
    out = real.sanitize(PROMPT)
    assert out.text.startswith("My father ")
    assert out.record.certified
    ((_, logits),) = released_as(real, "My father lives in Paris.", ["London"])
    space = real.inner.models().engine.space
    assert {"London", "New", "America", "Germany", "England"} & {
        space.text(int(i)) for i in np.argsort(-logits)[:20]
    }
