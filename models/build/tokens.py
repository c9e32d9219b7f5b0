"""The corpus as flat arrays of token ids, and batches of masked windows made from them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from models.build.corpus import documents
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
        loaded = tokenizer(cache)
        ids: list[NDArray[np.uint16]] = []
        starts: list[NDArray[np.bool_]] = []
        batch: list[str] = []

        def flush() -> None:
            for encoding in loaded.encode_batch(batch, add_special_tokens=False):
                words = np.array([-1, *encoding.word_ids, -1], dtype=np.int64)
                ids.append(np.array([*encoding.ids, SEP], dtype=np.uint16))
                starts.append(words[1:] != words[:-1])
            batch.clear()

        for text in documents(split, cache):
            batch.append(text)
            if len(batch) == 512:
                flush()
        flush()
        np.savez(path, ids=np.concatenate(ids), starts=np.concatenate(starts))
    with np.load(path) as data:
        return Tokens(data["ids"], data["starts"])


def frequent(corpus: Tokens, n_public: int) -> NDArray[np.bool_]:
    """Return bool [n_vocabulary]: whole-word tokens among the `n_public` most frequent."""
    single = corpus.starts & np.append(corpus.starts[1:], True)
    counts = np.bincount(corpus.ids[single], minlength=28996)
    mask = np.zeros(28996, dtype=bool)
    mask[np.argsort(-counts)[:n_public]] = True
    return mask


class Windows:
    """Random windows with parts masked, in three regimes, chosen per window by `shares`:

    - single tokens at random (rate 12 to 30 %), pieces of words among them: the usual yardstick;
    - whole words at random (rate 10 to 40 %), a masked word being ONE [MASK], as in use;
    - as in use: nine tenths of the words that are not among the 200 or the 3,000 most frequent
    tokens.

    Where a word of several tokens became one mask there is no target.
    """

    def __init__(
        self,
        corpus: Tokens,
        rng: np.random.Generator,
        shares: tuple[float, float, float] = (0.3, 0.3, 0.4),
    ) -> None:
        self.corpus, self.rng, self.shares = corpus, rng, shares
        self.hide = [~frequent(corpus, n) for n in (200, 3000)]

    def _row(self, length: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        reach = 3 * length
        at = int(self.rng.integers(0, len(self.corpus.ids) - reach))
        at += int(np.argmax(self.corpus.starts[at : at + 32]))
        ids = self.corpus.ids[at : at + reach].astype(np.int64)
        starts = self.corpus.starts[at : at + reach]
        regime = int(self.rng.choice(3, p=self.shares))
        if regime == 0:
            masked = (self.rng.random(reach) < self.rng.uniform(0.12, 0.30)) & (ids != SEP)
            shown, target = np.where(masked, MASK, ids), np.where(masked, ids, -100)
        else:
            shown, target = self._words(ids, starts, as_in_use=regime == 2)
        shown, target = shown[: length - 2], target[: length - 2]
        return np.concatenate(([CLS], shown, [SEP])), np.concatenate(([-100], target, [-100]))

    def _words(
        self, ids: NDArray[np.int64], starts: NDArray[np.bool_], as_in_use: bool
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        word, first = np.cumsum(starts) - 1, np.flatnonzero(starts)
        sizes = np.diff(np.append(first, len(ids)))
        if as_in_use:
            hide = self.hide[int(self.rng.integers(0, 2))]
            chosen = (hide[ids[first]] | (sizes > 1)) & (self.rng.random(len(first)) < 0.9)
        else:
            chosen = self.rng.random(len(first)) < self.rng.uniform(0.10, 0.40)
        chosen &= ids[first] != SEP
        masked = chosen[word]
        target = np.where(masked & starts & (sizes == 1)[word], ids, -100)
        kept = starts | ~masked
        return np.where(masked, MASK, ids)[kept], target[kept]

    def batch(self, n_rows: int, length: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return (ids, targets), each int64 [n_rows, length]; target -100 means no loss."""
        rows = [self._row(length) for _ in range(n_rows)]
        return np.stack([r[0] for r in rows]), np.stack([r[1] for r in rows])
