"""The packaged model loads, scores, and refuses damaged files; rows cover each word once."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnxruntime
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sanitizer import ModelError, Sanitizer
from sanitizer.lm.files import Manifest, model_folder
from sanitizer.lm.masked import (
    PRECISE,
    PROBE,
    OnnxMaskedLM,
    batches,
    centred_rows,
    rows,
    saturates,
    session,
)
from sanitizer.lm.tokens import WordPieces

MASK, CLS, SEP = 103, 101, 102
FILES = sorted(
    json.loads((model_folder("masked-lm") / "manifest.json").read_text("utf-8"))["files"]
)


def replace(folder: Path, name: str, content: bytes) -> None:
    (folder / name).unlink()
    (folder / name).write_bytes(content)


def best(model: OnnxMaskedLM, text: str, n: int) -> list[str]:
    pieces = WordPieces(model.folder / "tokenizer.json")
    before, after = text.split("*")
    ids = [pieces.cls, *pieces.encode(before), pieces.mask, *pieces.encode(after), pieces.sep]
    at = np.array([ids.index(pieces.mask)])
    logits = model.logits(np.array([ids]), np.array([len(ids)]), at)
    return [model.outputs[i] for i in np.argsort(-logits[0])[:n]]


def test_the_model_knows_some_english(model: OnnxMaskedLM) -> None:
    assert {"actor", "actress", "director"} & set(best(model, "He won the award for best *.", 10))
    assert {"film", "movie"} & set(best(model, "I saw this * at the cinema and hated it.", 10))


def test_padding_does_not_change_a_row(model: OnnxMaskedLM) -> None:
    ids = np.array([[101, 1188, 103, 1110, 1632, 102]])
    alone = model.logits(ids, np.array([6]), np.array([2]))
    padded = model.logits(np.pad(ids, ((0, 0), (0, 30))), np.array([6]), np.array([2]))
    assert alone.shape == (1, len(model.outputs))
    np.testing.assert_allclose(padded, alone, atol=0.02)


def test_a_rows_scores_do_not_depend_on_the_rows_beside_it(model: OnnxMaskedLM) -> None:
    """Each token's inputs of int8 products have a scale of their own."""
    row = [101, 1188, 103, 1110, 1632, 102]
    alone = model.logits(np.array([row]), np.array([6]), np.array([2]))
    beside = [101, *range(2000, 2038), 102]
    ids = np.array([beside, row + [0] * 34, beside[::-1]])
    among = model.logits(ids, np.array([40, 6, 40]), np.array([40 + 2]))
    np.testing.assert_allclose(among, alone, atol=0.02)


def test_full_logits_agree_with_the_output_logits(model: OnnxMaskedLM) -> None:
    ids, lengths, at = np.array([[101, 1188, 103, 1110, 1632, 102]]), np.array([6]), np.array([2])
    full = model.full_logits(ids, lengths, at)
    assert full.shape == (1, model.pieces.n_rows)
    assert np.corrcoef(full[0, model.output_ids], model.logits(ids, lengths, at)[0])[0, 1] > 0.99


def test_outputs_are_whole_words_of_the_tokenizer(model: OnnxMaskedLM) -> None:
    pieces = WordPieces(model.folder / "tokenizer.json")
    assert len(set(model.outputs)) == len(model.outputs) > 10_000
    assert all(word.isalpha() and word.isascii() for word in model.outputs)
    assert all(
        pieces.token(int(i)) == w for w, i in zip(model.outputs, model.output_ids, strict=True)
    )


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("damage", ["one byte", "cut short", "missing", "empty"])
def test_a_damaged_file_is_refused(model_copy: Path, name: str, damage: str) -> None:
    content = bytearray((model_copy / name).read_bytes())
    content[len(content) // 2] ^= 1
    if damage == "missing":
        (model_copy / name).unlink()
    else:
        replace(
            model_copy,
            name,
            {"one byte": bytes(content), "cut short": bytes(content[:-7])}.get(damage, b""),
        )
    with pytest.raises(ModelError) as error:
        Sanitizer(model=model_copy, policy="words").sanitize("My father Peter")
    assert name in str(error.value)
    assert "Peter" not in str(error.value)


@pytest.mark.parametrize("content", [b"", b"{}", b"not json"])
def test_a_damaged_manifest_is_refused(model_copy: Path, content: bytes) -> None:
    replace(model_copy, "manifest.json", content)
    with pytest.raises(ModelError, match="manifest"):
        OnnxMaskedLM(model_copy)


def test_a_folder_that_is_no_model(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="manifest"):
        OnnxMaskedLM(tmp_path)
    with pytest.raises(ValueError, match="threads"):
        OnnxMaskedLM(threads=0)


@pytest.mark.parametrize("name", ["languages", "lm", "masked-lm", "reader", "words"])
def test_manifests_name_sources_and_licences(name: str) -> None:
    manifest = Manifest.read(model_folder(name))
    manifest.verify()
    assert manifest.data["summary"]
    assert all(source["licence"] and source["sha256"] for source in manifest.data["sources"])
    on_disk = {path.name for path in model_folder(name).iterdir() if path.is_file()} - {
        "manifest.json",
        "manifest.json.sha256",
        "CARD.md",
        "judgements.tsv",
    }
    assert on_disk == set(manifest.data["files"])


def test_int8_products_are_exact_on_this_processor(model: OnnxMaskedLM) -> None:
    """The mode that is chosen gives the bits of the mode that never saturates."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.add_session_config_entry(PRECISE, "1")
    precise = onnxruntime.InferenceSession(
        model.folder / "model.onnx", options, providers=["CPUExecutionProvider"]
    )
    ids = np.arange(2 * 40).reshape(2, 40) + 1000
    feed = {
        "input_ids": ids,
        "attention_mask": np.ones_like(ids),
        "positions_at": np.arange(2 * 40),
    }
    expected = precise.run(None, feed)
    for ours, theirs in zip(
        session(model.folder / "model.onnx", 1).run(None, feed), expected, strict=True
    ):
        np.testing.assert_array_equal(ours, theirs)


def test_the_probe_is_the_one_that_is_built() -> None:
    pytest.importorskip("onnx", reason="only the builder needs onnx")
    from models.build.probe import build

    assert build() == PROBE


def test_the_probe_does_not_saturate_in_the_precise_mode() -> None:
    options = onnxruntime.SessionOptions()
    options.add_session_config_entry(PRECISE, "1")
    probe = onnxruntime.InferenceSession(PROBE, options, providers=["CPUExecutionProvider"])
    (found,) = probe.run(None, {"x": np.full((3, 16), 255, np.float32)})
    assert (np.asarray(found) == 16 * 255 * 127).all()


def test_where_the_probe_fails_the_precise_mode_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*arguments: object, **options: object) -> None:
        raise RuntimeError("no such kernel")

    monkeypatch.setattr(onnxruntime, "InferenceSession", fails)
    assert saturates.__wrapped__()
    with pytest.raises(ModelError):
        session(model_folder("masked-lm") / "model.onnx", 1)


@given(st.integers(1, 2000), st.sets(st.integers(0, 1999), max_size=60), st.integers(64, 256))
def test_rows_cover_each_word_once_and_fit(
    n_tokens: int, places: set[int], max_length: int
) -> None:
    slots = np.array(sorted(p for p in places if p < n_tokens), dtype=np.intp)
    ids = np.arange(n_tokens) + 1000
    ids[slots] = MASK
    cut = rows(0, ids, slots, np.arange(len(slots)), max_length)
    assert [int(w) for row in cut for w in row.words] == list(range(len(slots)))
    for row in cut:
        assert len(row.ids) <= max_length - 2
        assert all(row.ids[row.at] == MASK)


def test_rows_read_context_on_both_sides_of_a_cut() -> None:
    ids = np.arange(600) + 1000
    cut = rows(0, ids, np.arange(600), np.arange(600), 256)
    assert len(cut) > 1
    assert cut[1].at[0] >= 20
    assert max(len(r.ids) for r in cut) - min(len(r.ids) for r in cut) <= 30


@given(st.lists(st.integers(1, 60), min_size=1, max_size=20), st.integers(1, 200))
def test_batches_keep_order_and_point_at_the_masks(lengths: list[int], max_tokens: int) -> None:
    planned = []
    for text, length in enumerate(lengths):
        ids = np.arange(length) + 1000
        ids[length // 2] = MASK
        planned += rows(text, ids, np.array([length // 2]), np.array([0]), 128)
    seen = []
    for batch in batches(planned, (CLS, SEP), max_tokens):
        assert batch.ids.size <= max(max_tokens, max(lengths) + 2)
        assert all(batch.ids.reshape(-1)[batch.at] == MASK)
        assert all(batch.ids[:, 0] == CLS)
        assert all(batch.ids[np.arange(len(batch.ids)), batch.lengths - 1] == SEP)
        seen += [text for text, _ in batch.units]
    assert seen == list(range(len(lengths)))


def test_a_centred_row_masks_one_word_whole_and_keeps_the_others() -> None:
    ids = np.array([1, 2, 3, 4, 5, 6, 7])
    (row,) = centred_rows(0, ids, np.array([2]), np.array([5]), np.array([0]), MASK, 128)
    assert list(row.ids) == [1, 2, MASK, 6, 7]
    assert list(row.at) == [2]
    (short,) = centred_rows(
        0, np.arange(1000), np.array([500]), np.array([501]), np.array([0]), MASK, 65
    )
    assert len(short.ids) == 63
    assert short.ids[short.at[0]] == MASK


def test_threads_of_a_model_do_not_wait_in_loops(model: OnnxMaskedLM) -> None:
    options = model._session.get_session_options()
    assert options.get_session_config_entry("session.intra_op.allow_spinning") == "0"


def test_the_runtime_is_told_not_to_report_to_its_makers(tmp_path: Path) -> None:
    # Where it may report, importing it leaves a number of the machine and a queue in the cache.
    program = "from sanitizer.lm.masked import saturates; saturates()"
    silent = {"HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    environment = {k: v for k, v in os.environ.items() if k != "ORT_DISABLE_TELEMETRY"} | silent
    subprocess.run([sys.executable, "-c", program], env=environment, check=True, timeout=60)
    assert list(tmp_path.rglob("*")) == []
