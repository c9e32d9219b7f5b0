"""The corpus as flat arrays of token ids.

python -m models.build.tokens --texts FOLDER --data FOLDER
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from models.build.corpus import documents, imdb, split_of, wikipedia
from models.build.everyday import everyday
from models.build.fetch import CACHE, member

CLS, SEP, MASK = 101, 102, 103


@dataclass(frozen=True)
class Tokens:
    """ids uint16 [n]; starts bool [n], true where a word begins."""

    ids: NDArray[np.uint16]
    starts: NDArray[np.bool_]


def tokenizer(cache: Path = CACHE) -> Tokenizer:
    """Load the pinned cased WordPiece tokenizer, without padding or truncation."""
    loaded = Tokenizer.from_str(member("distilbert", "tokenizer.json", cache).decode())
    loaded.no_padding()
    loaded.no_truncation()
    return loaded


def tokens(split: str, cache: Path = CACHE) -> Tokens:
    """Return all tokens of one split, documents joined by [SEP]; cached as an .npz file."""
    path = cache / f"tokens-{split}.npz"
    if not path.exists():
        ids = encoded(documents(split, cache), cache)
        np.savez(path, ids=ids, starts=~continues(cache)[ids])
    with np.load(path) as data:
        return Tokens(data["ids"], data["starts"])


def continues(cache: Path = CACHE) -> NDArray[np.bool_]:
    """Return bool [n_vocabulary]: the pieces that continue a word."""
    vocabulary = tokenizer(cache).get_vocab()
    found = np.zeros(len(vocabulary), dtype=np.bool_)
    found[[i for piece, i in vocabulary.items() if piece.startswith("##")]] = True
    return found


def encoded(texts: Iterable[str], cache: Path = CACHE) -> NDArray[np.uint16]:
    """Return the tokens of texts, joined by [SEP]: uint16 [n]."""
    loaded, found = tokenizer(cache), []
    batch: list[str] = []

    def flush() -> None:
        for encoding in loaded.encode_batch(batch, add_special_tokens=False):
            found.append(np.array([*encoding.ids, SEP], dtype=np.uint16))
        batch.clear()

    for text in texts:
        batch.append(text)
        if len(batch) == 512:
            flush()
    flush()
    return np.concatenate(found)


def written(texts: Path, data: Path, out: Path) -> None:
    """Write what `models.build.train` reads, as an .npz file.

    Args:
        texts: the folder of collections. data: see `models.build.filled`.
    """
    parts: dict[str, Any] = {}
    for name, collection in (("wikipedia", wikipedia), ("imdb", imdb)):
        train = (t for i, t in enumerate(collection()) if split_of(i) == "train")
        parts[name] = encoded(train)
    parts["heldout"] = tokens("heldout").ids
    collected = [text for _, text in everyday(texts, data)]
    for split, name in (("train", "everyday"), ("heldout", "everyday_heldout")):
        parts[name] = encoded(t for i, t in enumerate(collected) if split_of(i) == split)
    parts["continues"] = continues()
    np.savez(out, **parts)
    for name, ids in parts.items():
        print(f"{name}: {len(ids):,}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--texts", type=Path, required=True, help="see models.build.everyday")
    parser.add_argument("--data", type=Path, required=True, help="see models.build.filled")
    parser.add_argument("--out", type=Path, default=CACHE / "tokens.npz")
    options = parser.parse_args()
    written(options.texts, options.data, options.out)
