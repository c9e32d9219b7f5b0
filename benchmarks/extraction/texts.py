"""Beginnings of Wikipedia paragraphs, each with the text that follows it there."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from itertools import zip_longest
from pathlib import Path

from models.build.corpus import split_of, wikipedia
from models.build.fetch import CACHE

SHORTEST, LONGEST = 22, 40
FOLLOWING = 30
_NEXT = re.compile(r"(?<=[.!?])\s+(?=[A-Z])")


@dataclass(frozen=True)
class Item:
    """One beginning of SHORTEST to LONGEST words, whole sentences, and the up to FOLLOWING words
    after it.

    `document` numbers the page: paragraphs of one page are not independent.
    """

    document: int
    beginning: str
    following: str


def cut(document: int, paragraph: str) -> Item | None:
    """The paragraph's first sentences of SHORTEST words; None if they are too long, or too little
    follows.
    """
    sentences = _NEXT.split(paragraph)
    n_words = 0
    for i, sentence in enumerate(sentences, 1):
        n_words += len(sentence.split())
        if n_words >= SHORTEST:
            following = " ".join(sentences[i:]).split()
            fits = n_words <= LONGEST and len(following) >= 2 * FOLLOWING // 3
            return (
                Item(document, " ".join(sentences[:i]), " ".join(following[:FOLLOWING]))
                if fits
                else None
            )
    return None


def in_turn(documents: Iterable[str]) -> Iterator[Item]:
    """The first item of every document, then the second of each that has one, and so on."""
    found = [
        [item for paragraph in text.split("\n") if (item := cut(number, paragraph))]
        for number, text in enumerate(documents)
    ]
    for row in zip_longest(*found):
        yield from (item for item in row if item is not None)


def items(split: str, n: int, cache: Path = CACHE) -> list[Item]:
    """The first n items of a split of `models.build.corpus`, Wikipedia only; kept in the build
    cache.

    Raises:
        ValueError: there are fewer.
    """
    path = cache / f"extraction-{split}.json"
    if not path.exists():
        texts = (text for index, text in enumerate(wikipedia(cache)) if split_of(index) == split)
        path.write_text(json.dumps([asdict(item) for item in in_turn(texts)]), "utf-8")
    found = [Item(**entry) for entry in json.loads(path.read_text("utf-8"))]
    if not 1 <= n <= len(found):
        raise ValueError(f"n must be 1 to {len(found)}, got {n}")
    return found[:n]
