"""The causal model: batches, cache and shared beginnings change nothing but speed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from models.build.causal_reference import Reference
from sanitizer.errors import ModelError
from sanitizer.lm.causal import PREFIX_BLOCK, OnnxCausalLM, PrefixCache
from sanitizer.lm.files import Manifest, fetch, model_folder
from sanitizer.lm.tokens import ByteTokens
from sanitizer.lm.weights_file import Gguf, ModelShape, floats
from tests.lm import toy_lm

CLOSE = 2e-4
PROMPTS = [[5, 6, 7], [9] * 40, [1], [*range(70, 20, -1), 3]]
ids = st.integers(0, toy_lm.SHAPE.n_vocabulary - 1)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with toy.gguf, toy.whl, the model folder `toy-lm`, and its weights in the cache."""
    home = tmp_path_factory.mktemp("home")
    toy_lm.write_folder(home / "toy-lm")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SANITIZER_CACHE", str(home / "cache"))
        fetch("toy", home / "toy.whl", folder=home / "toy-lm")
    return home


@pytest.fixture
def toy(home: Path, monkeypatch: pytest.MonkeyPatch) -> OnnxCausalLM:
    monkeypatch.setenv("SANITIZER_CACHE", str(home / "cache"))
    return OnnxCausalLM(home / "toy-lm", threads=1)


@pytest.fixture(scope="module")
def shared_toy(home: Path) -> OnnxCausalLM:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SANITIZER_CACHE", str(home / "cache"))
        return OnnxCausalLM(home / "toy-lm", threads=1)


@pytest.fixture(scope="module")
def real() -> OnnxCausalLM:
    path = Manifest.read(model_folder("lm")).weights
    if path is None or not path.exists():
        pytest.skip("the weights are not on this machine: sanitizer models fetch lm")
    return OnnxCausalLM(threads=1)


def last(model: OnnxCausalLM, prompt: list[int]) -> NDArray[np.float32]:
    return np.asarray(model.scores(prompt, [len(prompt) - 1])[0])


def divergence(p: NDArray[np.float32], q: NDArray[np.float32]) -> float:
    a, b = (x.astype(np.float64) - np.logaddexp.reduce(x.astype(np.float64)) for x in (p, q))
    return float((np.exp(a) * (a - b)).sum())


def test_the_graph_agrees_with_numpy(home: Path, toy: OnnxCausalLM) -> None:
    prompt = [(7 * i) % 96 for i in range(50)]
    expected = Reference(home / "toy.gguf").logits(np.array(prompt))
    assert expected.std() > 0.5
    np.testing.assert_allclose(toy.scores(prompt, range(50)), expected, atol=CLOSE)


@settings(max_examples=25, deadline=None)
@given(st.lists(st.lists(ids, min_size=1, max_size=80), min_size=1, max_size=5), st.data())
def test_a_row_scores_in_a_batch_as_it_does_alone(
    shared_toy: OnnxCausalLM, prompts: list[list[int]], data: st.DataObject
) -> None:
    rows = shared_toy.prefill(prompts)
    texts = prompts
    for _ in range(3):
        np.testing.assert_allclose(
            rows.logits, [last(shared_toy, text) for text in texts], atol=CLOSE
        )
        tokens = data.draw(st.lists(ids, min_size=len(texts), max_size=len(texts)))
        rows.step(tokens)
        texts = [[*text, token] for text, token in zip(texts, tokens, strict=True)]
    assert rows.lengths == [len(text) for text in texts]


def test_steps_beyond_the_room_score_as_read_again(toy: OnnxCausalLM) -> None:
    texts = [[3, 4], [5]]
    rows = toy.prefill(texts)
    for i in range(150):
        rows.step([i % 96, 95 - i % 96])
        texts = [[*texts[0], i % 96], [*texts[1], 95 - i % 96]]
    np.testing.assert_allclose(rows.logits, [last(toy, text) for text in texts], atol=CLOSE)


def test_a_shared_beginning_is_read_once_and_changes_nothing(toy: OnnxCausalLM) -> None:
    begin = [(5 * i) % 96 for i in range(2 * PREFIX_BLOCK + 3)]
    texts = [[*begin, 1, 2], [*begin, 3], begin]
    fresh = [last(toy, text) for text in texts]
    assert len(toy.kept) == 0
    for _ in range(2):
        np.testing.assert_allclose(toy.prefill(texts).logits, fresh, atol=CLOSE)
        assert len(toy.kept) == 2 * PREFIX_BLOCK
    toy.forget()
    assert len(toy.kept) == 0


def test_other_texts_do_not_take_a_kept_beginning(toy: OnnxCausalLM) -> None:
    begin = [(5 * i) % 96 for i in range(2 * PREFIX_BLOCK)]
    toy.prefill([[*begin, 1]])
    other = [95, *begin[1:], 1]
    np.testing.assert_allclose(toy.prefill([other]).logits[0], last(toy, other), atol=CLOSE)


def test_kept_beginnings_are_bounded(home: Path, toy: OnnxCausalLM) -> None:
    small = OnnxCausalLM(home / "toy-lm", threads=1, max_kept=PREFIX_BLOCK)
    none = OnnxCausalLM(home / "toy-lm", threads=1, max_kept=0)
    for prompt in ([1] * 100, [2] * 100):
        for model in (small, none):
            np.testing.assert_allclose(
                model.prefill([prompt]).logits[0], last(toy, prompt), atol=CLOSE
            )
    assert (len(small.kept), len(none.kept)) == (PREFIX_BLOCK, 0)


def test_a_row_that_grows_alone_scores_as_read_at_once(toy: OnnxCausalLM) -> None:
    rows = toy.prefill([[3, 4], [5]])
    before, kept = rows.logits, rows.logits.copy()
    longer = [(11 * i) % 96 for i in range(90)]
    rows.extend(1, longer[:1])
    scores = rows.extend(1, longer[1:])
    np.testing.assert_allclose(scores, [last(toy, [3, 4]), last(toy, [5, *longer])], atol=CLOSE)
    np.testing.assert_array_equal(before, kept)
    np.testing.assert_allclose(rows.step([7, 8])[1], last(toy, [5, *longer, 8]), atol=CLOSE)
    assert rows.lengths == [3, 92]


def test_a_row_grows_by_several_tokens_when_its_room_is_not_quite_used_up(
    toy: OnnxCausalLM,
) -> None:
    ids = [(11 * i) % 96 for i in range(3 + 5 * 40)]
    rows = toy.prefill([ids[:3]])
    for begin in range(3, len(ids), 5):
        rows.extend(0, ids[begin : begin + 5])
    np.testing.assert_allclose(rows.logits[0], last(toy, ids), atol=CLOSE)


def test_the_input_table_is_the_gguf_s(home: Path, toy: OnnxCausalLM) -> None:
    expected = floats(Gguf(home / "toy.gguf").tensors["token_embd.weight"])
    np.testing.assert_array_equal(toy.vectors(), expected)


def test_a_fork_goes_its_own_way(toy: OnnxCausalLM) -> None:
    rows = toy.prefill(PROMPTS)
    forked = rows.fork([3, 0, 0])
    np.testing.assert_array_equal(forked.logits, rows.logits[[3, 0, 0]])
    forked.step([1, 2, 3])
    rows.step([4, 4, 4, 4])
    expected = [[*PROMPTS[3], 1], [*PROMPTS[0], 2], [*PROMPTS[0], 3]]
    np.testing.assert_allclose(forked.logits, [last(toy, text) for text in expected], atol=CLOSE)
    np.testing.assert_allclose(rows.logits, [last(toy, [*text, 4]) for text in PROMPTS], atol=CLOSE)


def test_scores_come_in_the_order_asked(toy: OnnxCausalLM) -> None:
    prompt = PROMPTS[3]
    everywhere = toy.scores(prompt, range(len(prompt)))
    np.testing.assert_allclose(toy.scores(prompt, [40, 2, 40]), everywhere[[40, 2, 40]], atol=CLOSE)
    assert toy.scores(prompt, []).shape == (0, toy.n_vocabulary)


def test_the_same_calls_give_the_same_bits(home: Path, toy: OnnxCausalLM) -> None:
    again = OnnxCausalLM(home / "toy-lm", threads=1)
    for model in (toy, again):
        model.prefill(PROMPTS)
    assert (
        toy.prefill(PROMPTS).step([1, 2, 3, 4]).tobytes()
        == again.prefill(PROMPTS).step([1, 2, 3, 4]).tobytes()
    )


def test_bad_arguments_are_refused_without_naming_tokens(home: Path, toy: OnnxCausalLM) -> None:
    rows = toy.prefill([[1, 2], [3]])
    for call in (
        lambda: toy.prefill([]),
        lambda: toy.prefill([[1], []]),
        lambda: toy.prefill([[1, 9631]]),
        lambda: toy.prefill([[-9631]]),
        lambda: toy.prefill([[1] * 257]),
        lambda: toy.scores([1, 2], [2]),
        lambda: toy.scores([1, 2], [-1]),
        lambda: rows.step([1]),
        lambda: rows.step([1, 9631]),
        lambda: rows.extend(2, [1]),
        lambda: rows.extend(0, []),
        lambda: rows.extend(0, [9631]),
        lambda: rows.extend(0, [1] * 256),
        lambda: rows.fork([2]),
        lambda: rows.fork([]),
        lambda: OnnxCausalLM(home / "toy-lm", threads=0),
        lambda: OnnxCausalLM(home / "toy-lm", max_cells=0),
        lambda: OnnxCausalLM(home / "toy-lm", max_kept=-1),
    ):
        with pytest.raises(ValueError, match=r"must|at most") as error:
            call()
        assert "9631" not in str(error.value)
    assert rows.lengths == [2, 1]


def test_memory_is_bounded(home: Path, toy: OnnxCausalLM) -> None:
    small = OnnxCausalLM(home / "toy-lm", threads=1, max_cells=8)
    rows = small.prefill([[1, 2, 3], [4]])
    before = rows.step([5, 6])
    with pytest.raises(ValueError, match="at most 8"):
        rows.step([7, 8])
    assert rows.lengths == [4, 2]
    assert rows.logits is before
    with pytest.raises(ValueError, match="at most 8"):
        rows.fork([0, 0, 0])


def test_without_weights_the_error_names_the_command(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SANITIZER_CACHE", str(tmp_path))
    with pytest.raises(ModelError, match="sanitizer models fetch toy-lm"):
        OnnxCausalLM(home / "toy-lm")
    path = Manifest.read(home / "toy-lm").weights
    assert path is not None
    path.parent.mkdir(parents=True)
    path.write_bytes(b"damaged")
    with pytest.raises(ModelError, match="sanitizer models fetch toy-lm"):
        OnnxCausalLM(home / "toy-lm")


def test_graphs_are_what_the_builder_makes(home: Path) -> None:
    pytest.importorskip("onnx", reason="only the builder needs onnx")
    from models.build.causal_lm import EXACT, FAST, build

    real = ModelShape(**Manifest.read(model_folder("lm")).data["shape"])
    for path, made in (
        (toy_lm.GRAPH, build(toy_lm.SHAPE, EXACT)),
        (model_folder("lm") / "model.onnx", build(real, FAST)),
    ):
        assert path.read_bytes() == made.SerializeToString(deterministic=True)


def test_the_real_model_knows_some_english(real: OnnxCausalLM) -> None:
    tokens = ByteTokens(real.folder / "tokenizer.json")
    asked = [tokens.special("<|im_start|>"), *tokens.encode("user\nWhat is the capital of France?")]
    asked += [tokens.special("<|im_end|>"), *tokens.encode("\n"), tokens.special("<|im_start|>")]
    rows = real.prefill([[*asked, *tokens.encode("assistant\n")]])
    answer = [int(rows.logits.argmax())]
    while len(answer) < 12:
        answer.append(int(rows.step(answer[-1:]).argmax()))
    assert "Paris" in tokens.decode(answer)


def test_the_real_model_in_batches_with_a_shared_beginning(real: OnnxCausalLM) -> None:
    """Inputs are rounded to 8 bits, so a last digit may tip a rounding: close in distribution, not
    in every bit.
    """
    tokens = ByteTokens(real.folder / "tokenizer.json")
    begin = (
        "The following is a short review of a film about a family that moves to the sea after "
        "the war. " * 2
    )
    texts = [
        tokens.encode(begin + end)
        for end in ("I liked", "The actors were", "In the end, nobody", "It")
    ]
    alone = [last(real, text) for text in texts]
    real.forget()
    (the,) = tokens.encode(" the")
    for _ in range(2):
        rows = real.prefill(texts)
        assert np.mean([divergence(a, b) for a, b in zip(alone, rows.logits, strict=True)]) < 0.02
        rows.step([the] * 4)
        again = [last(real, [*text, the]) for text in texts]
        assert np.mean([divergence(a, b) for a, b in zip(again, rows.logits, strict=True)]) < 0.02


prefixes = st.lists(
    st.lists(st.integers(0, 1), max_size=4).map(
        lambda bits: [b for b in bits for _ in range(PREFIX_BLOCK)]
    )
)


def keep(cache: PrefixCache, ids: list[int]) -> None:
    """Values that tell which tokens they stand for."""

    def values(begin: int, end: int) -> NDArray[np.float32]:
        return np.array([[hash(tuple(ids[:end])) % 10_007, begin]], np.float32)

    cache.keep(ids, values)


@settings(deadline=None)
@given(prefixes, st.integers(0, 6 * PREFIX_BLOCK))
def test_what_is_found_was_kept_for_the_same_beginning(
    prompts: list[list[int]], max_tokens: int
) -> None:
    cache = PrefixCache(max_tokens)
    for ids in prompts:
        keep(cache, ids)
        assert len(cache) <= max_tokens
        found = cache.find(ids)
        assert len(found) == min(len(ids), cache.max_tokens) // PREFIX_BLOCK
        for i, block in enumerate(found):
            assert block.tolist() == [
                [hash(tuple(ids[: (i + 1) * PREFIX_BLOCK])) % 10_007, i * PREFIX_BLOCK]
            ]


def test_a_beginning_in_use_outlives_what_came_after_it() -> None:
    cache = PrefixCache(3 * PREFIX_BLOCK)
    shared = [1] * PREFIX_BLOCK
    for end in range(2, 20):
        keep(cache, [*shared, *[end] * PREFIX_BLOCK])
    assert len(cache.find([*shared, *[19] * PREFIX_BLOCK])) == 2
    assert len(cache.find([*shared, *[2] * PREFIX_BLOCK])) == 1


def test_part_of_a_block_is_not_kept_and_clearing_forgets() -> None:
    cache = PrefixCache(3 * PREFIX_BLOCK)
    keep(cache, [1] * (PREFIX_BLOCK - 1))
    assert len(cache) == 0
    keep(cache, [1] * (2 * PREFIX_BLOCK - 1))
    assert len(cache) == PREFIX_BLOCK
    cache.clear()
    assert cache.find([1] * PREFIX_BLOCK) == []
    with pytest.raises(ValueError, match="negative"):
        PrefixCache(-1)
