"""From a trained checkpoint to the shipped folder: export, measure, write manifest and card.

    python -m models.build.package --texts FOLDER --data FOLDER
    python -m models.build.package --packaged FOLDER  # models/masked-lm, or an older copy of it

The second quantizes anew what a packaged model holds, as floats, and measures against that: the
graph, its entry in the manifest and the table of the card are written, all else stays.
The tables of word vectors (words.npy and so on) are made before, by `python -m models.build.vectors
--write`; DynText's lists are made here, by `models.build.density`.
"""

from __future__ import annotations

import argparse
import json
import shutil
import tempfile
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
from models.build.export import ROWS, build, quantized_rows, save
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
from sanitizer.lm import FILES

FOLDER = Path(__file__).resolve().parents[1] / "masked-lm"
PEERS: dict[str, frozenset[str]] = {
    "tensors and blocks": frozenset({"ffn2"}),
    "tensors": frozenset(),
}
"""Other ways to quantize, for the card."""
Array = NDArray[np.float32]
PARTS = ("weight", "bias")
TABLE = "## Held-out quality"
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


def write_graph(
    model: MaskedLM, outputs: NDArray[np.int64], folder: Path, exact: str | frozenset[str] = ROWS
) -> OnnxScorer:
    """Export into `folder` with the small tables beside it; return a scorer of the result."""
    weights = {name: value.numpy() for name, value in model.state_dict().items()}
    save(build(weights, outputs, exact), folder)
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


def table(
    found: dict[str, Any], n_rows: int, source: str = "torch: float32 before export"
) -> list[str]:
    """Return the card's section on quality. source: what "torch" stands for."""
    lines = [
        TABLE,
        "",
        f"{n_rows}, {n_rows // 3}, {n_rows // 6} and {n_rows} windows.",
        "",
        "| text | graph | top-1 | top-50 | NLL (nats) | same top-1 as float32 | KL from float32 |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, rows in found.items():
        for graph, row in rows.items():
            lines.append(
                f"| {name} | {graph} | {row['top1']:.3f} | {row['top50']:.3f} | {row['nll']:.3f} "
                f"| {row['top1_agreement']:.3f} | {row['kl']:.4f} |"
            )
    return [
        *lines,
        "",
        "`shipped`: 6-bit weights with a scale for each output, inputs of 8 bits with one for each",
        "token.",
        "`tensors`: inputs with one scale for the whole tensor. `tensors and blocks`: so too, but",
        "the second feed-forward matrix of each layer by blocks of 32 (shipped until 2026-11-24).",
        f"`{source.replace(':', '`:', 1)}.",
        "",
    ]


def card(
    facts: dict[str, Any], shown: list[tuple[str, list[str]]], log: list[Any], n_rows: int
) -> str:
    """Return the text of CARD.md."""
    last = log[-1]
    lines = [
        "# masked-lm",
        "",
        "DistilBERT-cased (6 layers, 768 wide, 28,996 tokens) with a masked-language-model head.",
        "",
        "The encoder was recovered from a package that holds it as an int8 edit tagger; that",
        "package has no prediction head, so the head was **trained anew** and the body was",
        "unfrozen and trained with it. Of every 100 documents one is kept for calibration and one",
        "is held out. 45 of 100 training windows hide single tokens at random, 30 whole words at",
        "random, the others nearly every word that is not frequent, each word as ONE mask,",
        "because that is how the model is used.",
        "",
        f"Trained on {DEVICE} for {last['minutes']:.1f} minutes ({last['step']:,} steps of 65,536",
        f"tokens, {last['tokens'] / 1e6:.0f} million tokens in all, each about six times), bf16",
        "autocast, AdamW, from the weights of 2026-11-21 (96 minutes on two CPU cores). The word",
        "vectors were not trained: other packaged files share them. Every matrix of the layers was",
        f"rounded in each step as it is shipped, to {2 * LEVELS + 1} values for each output: no",
        "sum of two of their products saturates on processors without VNNI, and the file packs to",
        "less.",
        "Repeat with `python -m models.build.tokens`, `python -m models.build.train`,",
        "`python -m models.build.vectors --write` and `python -m models.build.package`.",
        "",
        "## Data",
        "",
        "Of these texts the repository holds weights and counts only.",
        "",
        "| collection | million characters | licence |",
        "|---|---|---|",
        *(
            f"| {entry['source']} | {entry['characters'] / 1e6:.1f} | {entry['licence']} |"
            for entry in facts["texts"]
        ),
        "",
        *(
            "Windows came from Wikipedia (32 %), film reviews (20 %) and all else (48 %). Many of "
            "the tasks\nof self-instruct ask about the same text in several ways, so that held-out "
            "ones of that part are\nno new texts: its figures below say little. The tagger's "
            "templates are this project's own."
        ).split("\n"),
        "",
        *table(facts["quality"], n_rows),
        "## What it says",
        "",
        "| text | five best tokens |",
        "|---|---|",
        *(f"| {text} | {', '.join(best)} |" for text, best in shown),
        "",
        "## Training curve",
        "",
        "On 384 held-out windows each; before: top-1 .409 and .430, all else .339.",
        "",
        "| minutes | million tokens | top-1, 48 | top-50 | top-1, 128 | top-50 | all else, 48 |",
        "|---|---|---|---|---|---|---|",
        *(
            f"| {e['minutes']:.1f} | {e['tokens'] / 1e6:.0f} | {e['48']['top1']:.3f} "
            f"| {e['48']['top50']:.3f} | {e['128']['top1']:.3f} | {e['128']['top50']:.3f} "
            f"| {e['everyday 48']['top1']:.3f} |"
            for e in log
        ),
        "",
        "## Limits",
        "",
        "English only; words of other scripts are mostly unknown to it. Int8 kernels differ",
        "between processors, so scores may differ in the last digits; the privacy guarantee does",
        "not depend on the scores.",
    ]
    return "\n".join(lines) + "\n"


def compared(
    model: MaskedLM, outputs: NDArray[np.int64], shipped: OnnxScorer, n_rows: int
) -> dict[str, Any]:
    """Return the quality of the shipped graph, and of its peers."""
    with tempfile.TemporaryDirectory() as spare:
        scorers = {"shipped": shipped} | {
            name: write_graph(model, outputs, Path(spare) / name.replace(" ", "-"), exact)
            for name, exact in PEERS.items()
        }
        return quality(model, scorers, n_rows)


def requantize(model: MaskedLM, outputs: NDArray[np.int64], n_rows: int) -> None:
    """Write the graph, the manifest, and the card's table of quality.

    Raises:
        RuntimeError: the words' weights would change, which other files share.
    """
    with tempfile.TemporaryDirectory() as spare:
        shipped = write_graph(model, outputs, Path(spare))
        words = (FOLDER / "embeddings.npy").read_bytes()
        if (Path(spare) / "embeddings.npy").read_bytes() != words:
            raise RuntimeError("the words' weights are not those of the packaged model")
        shutil.copy(Path(spare) / "model.onnx", FOLDER / "model.onnx")
    facts = json.loads((FOLDER / "manifest.json").read_text("utf-8"))
    del facts["files"]
    facts["quality"] = compared(model, outputs, shipped, n_rows)
    retabled(facts["quality"], n_rows)
    manifest.write(FOLDER, list(FILES), **facts)


def retabled(found: dict[str, Any], n_rows: int) -> None:
    """Write the card's table of quality anew."""
    path = FOLDER / "CARD.md"
    before, _, rest = path.read_text("utf-8").partition(TABLE)
    after = rest[rest.index("\n## ") + 1 :]
    reference = "torch: float32, with the packaged weights as they were before this step"
    lines = table(found, n_rows, reference)
    path.write_text(before + "\n".join(lines) + "\n" + after, "utf-8")


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
    parser.add_argument("--texts", type=Path, help="see models.build.everyday")
    parser.add_argument("--data", type=Path, help="see models.build.filled")
    parser.add_argument("--packaged", type=Path, help="a packaged folder to quantize anew")
    parser.add_argument("--rows", type=int, default=1200, help="held-out windows measured")
    options = parser.parse_args()
    torch.set_num_threads(2)
    outputs = np.array(
        [index for _, index in json.loads((FOLDER / "outputs.json").read_text("utf-8"))]
    )
    if options.packaged:
        requantize(packaged(options.packaged), outputs, options.rows)
        return
    if options.texts is None or options.data is None:
        parser.error("--texts and --data are needed: the card says what was read")
    model = load(options.checkpoint)
    shipped = write_graph(model, outputs, FOLDER)
    density.write(FOLDER, {"words": density.words(FOLDER), "tokens": density.tokens(FOLDER)})
    (FOLDER / "tokenizer.json").write_bytes(member("distilbert", "tokenizer.json"))
    read = list(sources_read(options.texts, options.data))
    found = compared(model, outputs, shipped, options.rows)
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
