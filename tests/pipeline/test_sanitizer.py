"""The Sanitizer: what comes out, what the record says, and that it fails closed."""

from __future__ import annotations

import gc
import socket
import subprocess
import sys
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from math import log

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from sanitizer import BudgetExceeded, Cape, NotCertified, Policy, PolicyError, Sanitizer
from sanitizer.detect.units import document
from sanitizer.lm.masked import OnnxMaskedLM
from sanitizer.testing.models import SeededSource, ToyBackbone
from sanitizer.text.words import segment
from tests.pipeline.recording import Recording, Scores, check_shares, zeros

PROMPT = "My father Peter has hepatitis and lives in Leeds."
PRIVATE = ("Peter", "hepatitis", "Leeds")


@pytest.fixture(scope="module")
def sanitizer(model: OnnxMaskedLM) -> Sanitizer:
    return Sanitizer(model=model, policy="words")


def toy(scores: Scores, mechanism: Cape | None = None) -> Sanitizer:
    return Sanitizer(mechanism, model=ToyBackbone(scores), policy="words")


def random_scores(n: int, n_outputs: int) -> NDArray[np.float32]:
    return np.random.default_rng(n).normal(size=(n, n_outputs)).astype(np.float32)


def test_private_words_are_replaced_and_the_rest_is_not(sanitizer: Sanitizer) -> None:
    out = sanitizer.sanitize(PROMPT)
    assert out.text.startswith("My father ")
    assert " has " in out.text
    assert out.text.endswith(".")
    assert [r.original for r in out.replacements] == list(PRIVATE)
    for r in out.replacements:
        assert out.text[r.start : r.end] == r.replacement


@pytest.mark.parametrize("policy", ["balanced", "guarded", "identifiers", "strict"])
def test_after_load_the_first_text_reads_no_file(policy: str) -> None:
    code = f"""
import sys
from sanitizer import Sanitizer
files = []
sys.addaudithook(lambda event, given: files.append(given[0]) if event == "open" else None)
sanitizer = Sanitizer(policy={policy!r})
sanitizer.load()
assert files
files.clear()
out = sanitizer.sanitize("My father Peter has hepatitis, and his number is +49 30 901820.")
sanitizer.restore(out.text, out)
print(files)
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == "[]\n"


def test_texts_differ_from_run_to_run(sanitizer: Sanitizer) -> None:
    assert len({sanitizer.sanitize(PROMPT, fresh=True).text for _ in range(60)}) > 3


def test_the_record(sanitizer: Sanitizer) -> None:
    record = sanitizer.sanitize("Peter met Peter and Anna on 12 May.").record
    assert record.certified
    assert record.reason is None
    assert record.epsilon_per_unit == sanitizer.mechanism.epsilon
    counts = (record.n_units, record.n_numbers, record.n_identifiers, record.max_repeats)
    assert counts == (4, 0, 1, 2)
    assert record.epsilon_total == pytest.approx(4 * record.epsilon_per_unit)
    assert record.epsilon_per_word == pytest.approx(2 * record.epsilon_per_unit)
    assert record.delta == 0
    assert record.claimed_epsilon is None
    assert "replace-one" in record.neighboring_relation
    assert len(record.model_sha256) == 64


def test_the_published_record_claims_more_and_certifies_nothing(model: OnnxMaskedLM) -> None:
    published = Cape(6.0, variant="published")
    record = Sanitizer(published, model=model, policy="words").sanitize(PROMPT).record
    assert not record.certified
    assert record.reason
    assert record.epsilon_per_unit == 6.0
    assert record.claimed_epsilon is not None
    assert record.claimed_epsilon > 6.0
    assert record.epsilon_total > 3 * 6.0
    assert record.epsilon_per_word == record.epsilon_total
    assert record.charged == 18.0


def test_ranks_on_the_original_context_have_no_finite_bound(model: OnnxMaskedLM) -> None:
    original = Cape(context="original")
    record = Sanitizer(original, model=model, policy="words").sanitize(PROMPT).record
    assert not record.certified
    assert record.epsilon_total == record.epsilon_per_word == float("inf")


def test_originals_are_in_no_repr_and_in_json_only_on_request(sanitizer: Sanitizer) -> None:
    out = sanitizer.sanitize("Xanthippe works at Qzylphon Ltd.")
    shown = repr(out) + repr(out.replacements) + str(out.as_dict()) + repr(sanitizer.policy)
    assert "Xanthippe" not in shown
    assert "Qzylphon" not in shown
    assert "Xanthippe" in str(out.as_dict(reveal=True))


def test_consistent_words_are_drawn_once(model: OnnxMaskedLM) -> None:
    out = Sanitizer(Cape(consistent=True), model=model, policy="words").sanitize(
        "Peter told Anna that peter knows Peter."
    )
    names = [r.replacement.lower() for r in out.replacements if r.original.lower() == "peter"]
    assert len(names) == 3
    assert len(set(names)) == 1
    distinct = len({r.original.lower() for r in out.replacements})
    assert out.record.epsilon_total == pytest.approx(distinct * 5.0)
    assert out.record.epsilon_per_word == 5.0
    assert "wherever it stands" in out.record.neighboring_relation


@pytest.mark.parametrize("context", ["released", "original"])
@pytest.mark.parametrize("variant", ["certified", "published"])
@pytest.mark.parametrize("n_steps", [1, 3])
def test_every_combination_runs(
    model: OnnxMaskedLM, variant: str, context: str, n_steps: int
) -> None:
    mechanism = Cape(variant=variant, context=context, n_steps=n_steps)
    out = Sanitizer(mechanism, model=model, policy="words").sanitize(PROMPT)
    assert len(out.replacements) == 3
    assert out.record.certified is (variant == "certified" and context == "released")


def test_later_steps_read_what_earlier_steps_released() -> None:
    model = Recording(random_scores)
    out = Sanitizer(Cape(n_steps=3), model=model, policy="words").sanitize(PROMPT)
    assert [ids.count(103) for ids in model.seen] == [3, 2, 1]
    first = model.output_ids[model.outputs.index(out.replacements[0].replacement)]
    assert first in model.seen[1]


def test_the_model_never_reads_a_private_word() -> None:
    def ids_for(text: str) -> list[int]:
        model = Recording(random_scores)
        Sanitizer(Cape(n_steps=2), model=model, policy="words").sanitize(text, source=Fixed())
        return model.seen[0]

    class Fixed:
        def randbelow(self, n: int, /) -> int:
            return n - 1

    assert ids_for("I saw a lawyer in Leeds on day 17.") == ids_for(
        "I saw an xyzzyist in Ελλάδα on day 99."
    )


class TestAdversarialModel:
    """Whatever the model says, the certified variant meets its epsilon or releases nothing."""

    @pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
    def test_scores_that_are_not_finite_release_nothing(self, value: float) -> None:
        with pytest.raises(NotCertified) as error:
            toy(lambda n, m: np.full((n, m), value, dtype=np.float32)).sanitize(PROMPT)
        assert not any(word in str(error.value) for word in PRIVATE)

    def test_a_model_that_breaks_at_the_second_step_releases_nothing(self) -> None:
        calls: list[int] = []

        def scores(n: int, m: int) -> NDArray[np.float32]:
            calls.append(n)
            return np.full((n, m), np.nan if len(calls) > 1 else 0.0, dtype=np.float32)

        with pytest.raises(NotCertified):
            toy(scores, Cape(n_steps=2)).sanitize(PROMPT)
        assert len(calls) == 2

    @pytest.mark.parametrize("scores", [random_scores, zeros])
    def test_any_finite_scores_meet_epsilon(self, scores: Scores) -> None:
        mechanism = Cape(3.0, n_shortlist=40, n_top=2)
        model = ToyBackbone(scores)
        logits = scores(1, len(model.outputs))[0]
        outputs = mechanism.outputs(logits)
        highest, lowest = np.zeros(len(outputs)), np.ones(len(outputs))
        for word in ("hepatitis", "london", "peter", "lawyer", "guitar", "bankrupt"):
            distance = model.words.distance(model.words.row(word), outputs)
            weights = mechanism.weights(
                logits[outputs], distance, np.array([], dtype=np.intp), model.logit_range
            )
            p = np.array([float(weights.probability(i)) for i in range(len(outputs))])
            highest, lowest = np.maximum(highest, p), np.minimum(lowest, p)
        assert log((highest / lowest).max()) <= 3.0 + 1e-12


@pytest.mark.parametrize(
    "word", [pytest.param("Leeds", marks=pytest.mark.slow), "hepatitis", "xqzzyvv"]
)
def test_what_is_released_has_the_certified_probabilities(word: str) -> None:
    """End to end: one output of five at the high level, whatever the private word is."""
    same = toy(
        lambda n, m: np.repeat(random_scores(1, m), n, axis=0), Cape(1.0, n_shortlist=5, n_top=1)
    )
    check_shares(same, word, 2_000, SeededSource(12))


def test_sixteen_threads_give_what_one_gives(sanitizer: Sanitizer) -> None:
    def sent(i: int) -> str:
        text = f"{chr(65 + i)} of {('Leeds', 'York')[i % 2]} owes {i} crowns to the vicar."
        return sanitizer.sanitize(text, fresh=True, source=SeededSource(i)).text

    with ThreadPoolExecutor(16) as pool:
        assert list(pool.map(sent, range(16))) == [sent(i) for i in range(16)]


def test_threads_load_the_model_once(model: OnnxMaskedLM) -> None:
    fresh = Sanitizer(policy="words")
    with ThreadPoolExecutor(8) as pool:
        parts = list(pool.map(lambda _: fresh.inner.models().model, range(8)))
    assert len({id(p) for p in parts}) == 1


def test_a_batch_keeps_its_order(
    sanitizer: Sanitizer,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    texts = [f"Item {'x' * i}: the zebra sleeps." for i in range(70)]
    outs = sanitizer.sanitize_batch(texts, progress=True)
    assert [len(o.replacements) for o in outs] == [
        len(segment(t, sanitizer.policy).units) for t in texts
    ]
    assert all(o.text.endswith(".") and ": the " in o.text for o in outs)
    assert "70/70" in capsys.readouterr().err
    assert sanitizer.sanitize_batch([]) == []


def test_memory_is_flat_over_many_texts() -> None:
    def run(n: int) -> None:
        for _ in small.sanitize_stream("The zebra sleeps." for _ in range(n)):
            pass

    small = toy(zeros, Cape(n_shortlist=10, n_top=1))
    run(200)
    gc.collect()
    tracemalloc.start()
    run(200)
    first = tracemalloc.get_traced_memory()[0]
    run(2_000)
    gc.collect()
    grown = tracemalloc.get_traced_memory()[0] - first
    tracemalloc.stop()
    assert grown < 200_000


@pytest.mark.parametrize(
    "text",
    [
        "def f(x):\r\n\treturn {'a': [1, 2]}  # größe\r\n",
        '{"messages": [{"role": "user", "content": "hi \\u00e9"}]}',
        "# Title\n\n* **bold** _it_ `code`\n\n| a | b |\n|---|---|\n",
        "שלום, Peter! مرحبا 👩‍👩‍👧 ❤️ 1️⃣",
        "lone \ud800 surrogates \udfff \x00nul\x00",
        "",
        "?!... --- \t\n",
    ],
)
def test_everything_between_words_survives_byte_for_byte(sanitizer: Sanitizer, text: str) -> None:
    def between(spans: list[tuple[int, int]], whole: str) -> list[str]:
        edges = [0, *(edge for span in spans for edge in span), len(whole)]
        return [whole[a:b] for a, b in zip(edges[::2], edges[1::2], strict=True)]

    out = sanitizer.sanitize(text)
    units = segment(text, sanitizer.policy).units
    replaced = [r for r in out.replacements if r.kind != "article"]
    kept = between([(u.start, u.end) for u in units], text)
    now = between([(r.start, r.end) for r in replaced], out.text)
    assert [k.replace("an ", "a ") for k in now] == [k.replace("an ", "a ") for k in kept]


@settings(
    max_examples=25,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(st.text(st.characters(exclude_categories=[]), max_size=60))
@example("0.org")  # an identifier is a unit of its own
def test_any_text_gives_a_consistent_result(sanitizer: Sanitizer, text: str) -> None:
    out, policy = sanitizer.sanitize(text), sanitizer.policy
    units = segment(text, policy, document(text, policy).taken, policy.kinds).units
    assert [r.original for r in out.replacements if r.kind != "article"] == [u.text for u in units]
    for r in out.replacements:
        assert out.text[r.start : r.end] == r.replacement


def test_an_article_follows_the_released_word() -> None:
    model = ToyBackbone(zeros)
    apple = model.outputs.index("apple")

    def scores(n: int, m: int) -> NDArray[np.float32]:
        found = np.zeros((n, m), dtype=np.float32)
        found[:, apple] = 9.0
        return found

    class First:
        def randbelow(self, n: int, /) -> int:
            return 0

    out = toy(scores, Cape(lambda_l=0.5, lambda_d=0.0, n_shortlist=5, n_top=1)).sanitize(
        "She saw a xylophone.", source=First()
    )
    assert "an apple" in out.text
    assert ("article", "a") in [(r.kind, r.original) for r in out.replacements]


@pytest.mark.slow
def test_long_texts_are_windowed_not_cut(model: OnnxMaskedLM) -> None:
    text = " ".join(f"Then {name} saw the zebra." for name in ["Peter", "Anna"] * 300)
    out = Sanitizer(model=model, policy="words").sanitize(text)
    assert len(out.replacements) == out.record.n_units == 1200
    assert out.text.count("Then ") == 600


def test_a_budget_is_kept_and_what_exceeds_it_is_refused(model: OnnxMaskedLM) -> None:
    limited = Sanitizer(model=model, budget=20.0, policy="words")
    limited.sanitize(PROMPT)
    assert limited.spent == pytest.approx(15.0)
    with pytest.raises(BudgetExceeded) as error:
        limited.sanitize(PROMPT, fresh=True)
    assert "Peter" not in str(error.value)
    assert limited.spent == pytest.approx(15.0)
    limited.sanitize("The of and")
    published = Sanitizer(Cape(variant="published"), "words", model=model, budget=20.0)
    with pytest.raises(NotCertified, match="budget"):
        published.sanitize(PROMPT)


def test_a_policy_can_refuse(model: OnnxMaskedLM, tmp_path: object) -> None:
    policy = Policy("mine", frozenset({"the"}), refuse=Policy.preset("strict").refuse)
    assert Sanitizer(policy=policy, model=model).sanitize("the end").record.policy == "mine"
    from sanitizer.text.policy import WordSet

    strictest = Policy("no", frozenset(), refuse=WordSet.of(["zebra*"]))
    with pytest.raises(PolicyError):
        Sanitizer(policy=strictest, model=model).sanitize("two zebras")


def test_mistakes_are_named(sanitizer: Sanitizer) -> None:
    for bad in (0.0, -1.0, float("nan"), float("inf")):
        with pytest.raises(ValueError, match="budget"):
            Sanitizer(budget=bad, policy="words")
    with pytest.raises(TypeError, match="iterable"):
        sanitizer.sanitize_batch("Peter")
    with pytest.raises(AttributeError):
        sanitizer.policy = Policy.preset("strict")  # type: ignore[misc]
    with pytest.raises(TypeError, match="text must be a str"):
        sanitizer.sanitize(b"bytes")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="max_chars"):
        sanitizer.sanitize("x" * 1_000_001)
    with pytest.raises(ValueError, match="max_chars"):
        Sanitizer(max_chars=0, policy="words")
    out = sanitizer.sanitize("y" * 100_000)
    assert out.record.n_units == 1
    assert len(out.text) < 40
    digits = sanitizer.sanitize("7" * 100_000)
    assert digits.record.n_identifiers == 1
    assert sanitizer.restore(digits.text) == "7" * 100_000


def test_no_socket_is_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: object, **kwargs: object) -> None:
        raise AssertionError("a socket was opened")

    monkeypatch.setattr(socket, "socket", refuse)
    monkeypatch.setattr(socket, "create_connection", refuse)
    assert Sanitizer(policy="words").sanitize(PROMPT).record.certified


def test_a_record_s_settings_are_its_own() -> None:
    Sanitizer(policy="identifiers").sanitize("mail joe@x.org").record.settings["note"] = "joe"
    assert Sanitizer(policy="identifiers").sanitize("mail eve@x.org").record.settings == {}
