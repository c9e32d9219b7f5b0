"""Public training text: Wikipedia paragraphs (enwik8) and IMDb reviews, cleaned and split.

Documents go to one of three splits by position, never by content: of every 100, number 98 is
"calibration" (for choosing settings), number 99 is "heldout" (for reported quality), the rest
"train".
"""

from __future__ import annotations

import gzip
import html
import json
import re
from collections.abc import Iterator
from pathlib import Path

from models.build.fetch import CACHE, member

SPLITS = ("train", "calibration", "heldout")

_PAGE = re.compile(r"<text [^>]*>(.*?)</text>", re.S)
_DROP = re.compile(
    r"<!--.*?-->|<ref[^>/]*/>|<ref.*?</ref>|<math>.*?</math>|<gallery.*?</gallery>"
    r"|<(?:table|div|span|small|sub|sup|center|br|i|b|u|code|nowiki)[^>]*>|</[a-z]+>",
    re.S | re.I,
)
_TEMPLATE = re.compile(r"\{\{[^{}]*\}\}|\{\|.*?\|\}", re.S)
_FILE_LINK = re.compile(
    r"\[\[(?:Image|File|Category|[a-z\-]{2,12}):[^\[\]]*(?:\[\[[^\[\]]*\]\][^\[\]]*)*\]\]", re.I
)
_LINK = re.compile(r"\[\[(?:[^|\[\]]*\|)?([^\[\]]*)\]\]")
_URL = re.compile(r"\[(?:https?|ftp)://\S+ ?([^\]]*)\]|https?://\S+")
_SPACES = re.compile(r"[ \t]+")


def strip_wiki(page: str) -> list[str]:
    """Return the plain paragraphs of one wiki page, given the text between the page's text tags."""
    text = html.unescape(html.unescape(page))
    text = _DROP.sub(" ", text)
    for _ in range(3):
        text = _TEMPLATE.sub(" ", text)
    text = _FILE_LINK.sub("", text)
    text = _URL.sub(r"\1", _LINK.sub(r"\1", text)).replace("'''", "").replace("''", "")
    lines = (_SPACES.sub(" ", line).strip() for line in text.split("\n"))
    return [
        line
        for line in lines
        if len(line) >= 80 and line[0] not in "*#:;|!=<{}[]" and "|" not in line
    ]


def wikipedia(cache: Path = CACHE) -> Iterator[str]:
    """Yield the documents of enwik8: each page's paragraphs joined by newlines."""
    raw = gzip.decompress(member("enwik8", "data/enwik8.gz", cache)).decode("utf-8", "ignore")
    for match in _PAGE.finditer(raw):
        if match.group(1).lstrip()[:9].upper() != "#REDIRECT":
            paragraphs = strip_wiki(match.group(1))
            if paragraphs:
                yield "\n".join(paragraphs)


def imdb(cache: Path = CACHE) -> Iterator[str]:
    """Yield the IMDb reviews without markup."""
    for review in json.loads(member("imdb", "package/reviews.json", cache)):
        text = html.unescape(str(review["t"])).replace("<br />", "\n")
        yield "\n".join(_SPACES.sub(" ", line).strip() for line in text.split("\n") if line.strip())


def split_of(index: int) -> str:
    """Return the split of the document with this position in its collection."""
    return {98: "calibration", 99: "heldout"}.get(index % 100, "train")


def documents(split: str, cache: Path = CACHE) -> Iterator[str]:
    """Yield all documents of one split, the two collections one after the other."""
    if split not in SPLITS:
        raise ValueError(f"split must be one of {SPLITS}, got {split!r}")
    for collection in (wikipedia, imdb):
        for index, text in enumerate(collection(cache)):
            if split_of(index) == split:
                yield text
