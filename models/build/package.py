"""From a trained checkpoint to the shipped folder: export, measure, write manifest and card.

    python -m models.build.package --texts FOLDER --data FOLDER

The tables of word vectors (words.npy and so on) are made before, by `python -m models.build.vectors
--write`; DynText's lists are made here, by `models.build.density`.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import torch
from numpy.typing import NDArray
from onnx import numpy_helper

from models.build import density, manifest
from models.build.corpus import imdb, wikipedia
from models.build.encoder import LEVELS, N_LAYERS, MaskedLM
from models.build.everyday import COLLECTIONS, TEMPLATES, everyday
from models.build.export import build, quantized_rows, save
from models.build.fetch import CACHE, SOURCES, member
from models.build.filled.data import PROMPTS, Example, prompts
from models.build.quality import (
    OnnxScorer,
    Sample,
    measure,
    token_sample,
    torch_logits,
    word_sample,
)
from models.build.tokens import MASK, Tokens, continues, encoded, tokenizer, tokens
from sanitizer.lm.masked import FILES

FOLDER = Path(__file__).resolve().parents[1] / "masked-lm"
Array = NDArray[np.float32]
PARTS = ("weight", "bias")
CARD = Path(__file__).with_name("masked_card.md")
MAX_LENGTH = 256
DEVICE = "one NVIDIA H200 GPU"
PROMPTS_READ = ("open", "dev", "second_open")
"""Sets of prompts on which the model is measured; it learnt from none."""
EXAMPLES = [
    "The doctor said that my [MASK] needs surgery next week.",
    "She works as a [MASK] at the hospital in Boston.",
    "He was born in [MASK] and moved to London in 1998.",
    "The film was so [MASK] that I fell asleep.",
    "Please write an email to my [MASK] about the delayed invoice.",
    "The court found the company [MASK] of fraud.",
]


def load(checkpoint: Path) -> MaskedLM:
    """Load a trained model."""
    model = MaskedLM()
    model.load_state_dict(torch.load(checkpoint))
    return model.eval()


def packaged(folder: Path) -> MaskedLM:
    """Return the model that a packaged folder holds, as floats."""
    state = {
        {"words": "words.weight", "positions": "positions.weight"}.get(name, name): array
        for name, array in packaged_arrays(folder).items()
    }
    state["bias"] = np.load(folder / "bias.npy").astype(np.float32)
    model = MaskedLM()
    model.load_state_dict({name: torch.tensor(array) for name, array in state.items()})
    return model.eval()


def write_graph(model: MaskedLM, outputs: NDArray[np.int64], folder: Path) -> OnnxScorer:
    """Export into `folder` with the small tables beside it; return a scorer of the result."""
    weights = {name: value.numpy() for name, value in model.state_dict().items()}
    save(build(weights, outputs), folder)
    q, scale = quantized_rows(weights["words.weight"])
    np.save(folder / "embedding_scale.npy", scale)
    np.save(folder / "bias.npy", weights["bias"].astype(np.float32))
    return OnnxScorer(folder, q.astype(np.float32) * scale[:, None], weights["bias"])


def logit_range(model: MaskedLM, sample: Sample, outputs: NDArray[np.int64]) -> tuple[float, float]:
    """Return where logits over Y lie on calibration text: their 1 % quantile, and the 99.9 %
    quantile of each position's largest.
    """
    logits = torch_logits(model, sample, slice(0, len(sample.ids)))[:, outputs]
    return float(np.quantile(logits[:, ::7], 0.01)), float(np.quantile(logits.max(axis=1), 0.999))


def examples(model: MaskedLM) -> list[tuple[str, list[str]]]:
    """Return the five best tokens for each example sentence."""
    loaded, result = tokenizer(), []
    for text in EXAMPLES:
        ids = np.array([loaded.encode(text).ids])
        at = np.flatnonzero(ids.reshape(-1) == MASK)
        logits = torch_logits(model, Sample(ids, at, at), slice(0, 1))
        result.append((text, [loaded.id_to_token(int(t)) for t in np.argsort(-logits[0])[:5]]))
    return result


def own_prompts(name: str) -> list[Example]:
    """Return the prompts of a set of this project's."""
    return prompts(PROMPTS.with_stem(name))


def quality(model: MaskedLM, scorers: dict[str, OnnxScorer], n_rows: int) -> dict[str, Any]:
    """Measure on held-out text: tokens masked at 15 %, and words masked as in use."""
    held, train = tokens("heldout"), tokens("train")
    asked = encoded(example.text for name in PROMPTS_READ for example in own_prompts(name))
    return {
        "15 % of tokens masked, windows of 48": measure(model, token_sample(held, n_rows), scorers),
        "15 % of tokens masked, windows of 128": measure(
            model, token_sample(held, n_rows // 3, 128), scorers, 8
        ),
        "most words masked, windows of 128": measure(
            model, word_sample(held, train, n_rows // 6, 128), scorers, 8
        ),
        "15 % of tokens masked, own prompts, windows of 48": measure(
            model, token_sample(Tokens(asked, ~continues()[asked]), n_rows), scorers
        ),
    }


def card(
    facts: dict[str, Any], shown: list[tuple[str, list[str]]], log: list[Any], n_rows: int
) -> str:
    """Return the text of CARD.md."""
    last = log[-1]
    quality_ = [
        f"| {name} | {graph} | {row['top1']:.3f} | {row['top50']:.3f} | {row['nll']:.3f} "
        f"| {row['top1_agreement']:.3f} | {row['kl']:.4f} |"
        for name, rows in facts["quality"].items()
        for graph, row in rows.items()
    ]
    curve = [
        f"| {e['minutes']:.1f} | {e['tokens'] / 1e6:.0f} | {e['48']['top1']:.3f} "
        f"| {e['48']['top50']:.3f} | {e['128']['top1']:.3f} | {e['128']['top50']:.3f} "
        f"| {e['everyday 48']['top1']:.3f} |"
        for e in log
    ]
    texts = [
        f"| {entry['source']} | {entry['characters'] / 1e6:.1f} | {entry['licence']} |"
        for entry in facts["texts"]
    ]
    return CARD.read_text("utf-8").format(
        device=DEVICE,
        last=last,
        millions=last["tokens"] / 1e6,
        values=2 * LEVELS + 1,
        texts="\n".join(texts),
        n_windows=f"{n_rows}, {n_rows // 3}, {n_rows // 6} and {n_rows}",
        quality="\n".join(quality_),
        shown="\n".join(f"| {text} | {', '.join(best)} |" for text, best in shown),
        curve="\n".join(curve),
    )


def sources_read(texts: Path, data: Path) -> Iterator[dict[str, Any]]:
    """Yield what the masked LM was trained on: source, licence and characters."""
    for name, collection in (("enwik8", wikipedia), ("imdb", imdb)):
        source = SOURCES[name]
        size = sum(len(text) for text in collection())
        yield {"source": source.pin, "licence": source.licence, "characters": size}
    sizes: Counter[str] = Counter()
    for name, text in everyday(texts, data):
        sizes[name] += len(text)
    for one in COLLECTIONS:
        yield {"source": one.pin, "licence": one.licence, "characters": sizes[one.folder]}
    own = {"source": "the tagger's templates, filled", "licence": "this project's"}
    yield {**own, "characters": sizes[TEMPLATES]}


def main() -> None:
    """Write everything that belongs in the folder."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--checkpoint", type=Path, default=CACHE / "masked-lm.pt")
    parser.add_argument("--texts", type=Path, required=True, help="see models.build.everyday")
    parser.add_argument("--data", type=Path, required=True, help="see models.build.filled")
    parser.add_argument("--rows", type=int, default=1200, help="held-out windows measured")
    options = parser.parse_args()
    torch.set_num_threads(2)
    outputs = np.array(
        [index for _, index in json.loads((FOLDER / "outputs.json").read_text("utf-8"))]
    )
    model = load(options.checkpoint)
    shipped = write_graph(model, outputs, FOLDER)
    density.write(FOLDER, {"words": density.words(FOLDER), "tokens": density.tokens(FOLDER)})
    tokenizer = json.loads(member("distilbert", "tokenizer.json"))
    compact = json.dumps(tokenizer, ensure_ascii=False, separators=(",", ":"))
    (FOLDER / "tokenizer.json").write_text(compact, "utf-8")
    read = list(sources_read(options.texts, options.data))
    found = quality(model, {"shipped": shipped}, options.rows)
    low, high = logit_range(model, word_sample(tokens("calibration"), tokens("train"), 64), outputs)
    facts = {
        "summary": "DistilBERT-cased with a retrained masked-LM head, int8, "
        "and word vectors of 100,000 words",
        "sources": manifest.sources("distilbert", "enwik8", "imdb", "glove100", "potion"),
        "texts": read,
        "max_length": MAX_LENGTH,
        "logit_range": [round(low, 3), round(high, 3)],
        "quality": found,
    }
    log = json.loads(options.checkpoint.with_suffix(".json").read_text("utf-8"))
    (FOLDER / "CARD.md").write_text(card(facts, examples(model), log, options.rows), "utf-8")
    manifest.write(FOLDER, list(FILES), **facts)


def packaged_arrays(folder: Path) -> dict[str, Array]:
    """Return the packaged masked LM's arrays as floats, by name; matrices as [out, in]."""
    graph = onnx.load(folder / "model.onnx", load_external_data=False).graph
    raw = {tensor.name: tensor for tensor in graph.initializer}

    def array(name: str) -> NDArray[np.generic]:
        found: NDArray[np.generic] = numpy_helper.to_array(raw[name])
        return found

    words = np.load(folder / "embeddings.npy").astype(np.float32) * array("words.scale")
    found = {"words": words, "positions": array("positions.table")}
    plain = [f"{norm}.{part}" for norm in ("norm", "head_norm") for part in PARTS]
    matrices = [f"layers.{i}.{p}" for i in range(N_LAYERS) for p in ("qkv", "out", "ffn1", "ffn2")]
    for name in (*matrices, "transform"):
        scale = array(f"{name}.scale").astype(np.float32)
        found[f"{name}.weight"] = _dequantized(array(f"{name}.weight"), scale)
        plain.append(f"{name}.bias")
    for i in range(N_LAYERS):
        plain += [f"layers.{i}.{norm}.{p}" for norm in ("norm1", "norm2") for p in PARTS]
    return found | {name: array(name) for name in plain}


def _dequantized(weight: NDArray[np.generic], scale: Array) -> Array:
    """Return floats [out, in] of int8 [in, out] with column scales, or of uint8 [out, n, 32]."""
    floats = weight.astype(np.float32)
    if weight.dtype == np.int8:
        return (floats * scale).T
    n_out, n_blocks, _ = weight.shape
    return ((floats - 128) * scale.reshape(n_out, n_blocks, 1)).reshape(n_out, -1)


if __name__ == "__main__":
    main()
