"""The tiny causal model with a tokenizer of its own: one token for each ASCII character, so that it
reads text.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sanitizer.lm.causal import OnnxCausalLM
from sanitizer.lm.files import fetch, file_sha256, model_folder
from tests.lm import toy_lm

SPECIAL = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
CHARACTERS = "ĊĠ" + "".join(
    c for c in map(chr, range(33, 127)) if c not in "^`|~"
)  # newline and space, as bytes


def load_toy(home: Path) -> OnnxCausalLM:
    """Make the folder `toy-lm` in `home`, its weights in the cache beside it, and load it."""
    data = toy_lm.write_folder(home / "toy-lm")
    path = home / "toy-lm" / "tokenizer.json"
    write_tokenizer(path)
    data["files"]["tokenizer.json"] = {"sha256": file_sha256(path)}
    toy_lm.write_manifest(home / "toy-lm", data)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SANITIZER_CACHE", str(home / "cache"))
        fetch("toy", home / "toy.whl", folder=home / "toy-lm")
        return OnnxCausalLM(home / "toy-lm", threads=1)


def write_tokenizer(path: Path) -> None:
    """The real tokenizer without its merges, and with as many tokens as the toy knows."""
    data = json.loads((model_folder("lm") / "tokenizer.json").read_text("utf-8"))
    known = [*SPECIAL, *CHARACTERS][: toy_lm.SHAPE.n_vocabulary]
    data["model"] |= {"vocab": {token: i for i, token in enumerate(known)}, "merges": []}
    data["added_tokens"] = [token for token in data["added_tokens"] if token["content"] in SPECIAL]
    path.unlink()
    path.write_text(json.dumps(data), "utf-8")
