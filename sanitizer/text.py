"""Text to words with character offsets, and public text to tokens.

A word is a run of letters, marks and digits of any script, with apostrophes and joiners inside. All
else (spaces, punctuation, symbols, emoji) is the text between words; it is never changed.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tokenizers import Tokenizer

from sanitizer.errors import ModelError
from sanitizer.sampling import Source
from sanitizer.types import Unit

PublicRule = Callable[[str, bool], bool]

_CLITIC = re.compile(r"(.+?)(['’ʼ](?:s|d|ll|m|re|ve|t))", re.I | re.S)
_SENTENCE_END = re.compile(r"(?:[.!?…][\"')\]»”’*_]*\s|[。！？]|\n\s*\n)")
_SURROGATE = re.compile("[\ud800-\udfff]")
_LAST_MARK = 0xE01F0
_AN_SOUND = re.compile(r"(?:[aeio]|u(?!ni[^mn]|s[aeiu]|ti|r[aeiou]|b[aeiou]|k[aeiou])|hono|honest|hour|heir)", re.I)
_A_SOUND = re.compile(r"(?:eu|ewe|one|once)", re.I)


@dataclass(frozen=True, slots=True)
class Article:
    """A public "a" or "an" directly before unit number `unit`; its form follows the released word."""

    start: int
    end: int
    unit: int


@dataclass(frozen=True, slots=True)
class Segmented:
    """The units of a text in order, the articles that lean on them, and the number of public words."""

    units: tuple[Unit, ...]
    articles: tuple[Article, ...]
    n_public: int


@cache
def _word_pattern() -> re.Pattern[str]:
    """Built at first use: Python's `re` has no class for combining marks, which belong to words."""
    codes = [c for c in range(0x300, 0x20000) if unicodedata.category(chr(c))[0] == "M"]
    codes += range(0xE0100, _LAST_MARK)
    marks = re.escape("".join(map(chr, codes)))
    letter = f"(?:[^\\W_]|[{marks}])"
    keycap = "\\d+(?=\ufe0f?\u20e3)"
    return re.compile(f"{keycap}|[^\\W_]{letter}*(?:['’ʼ\u200c\u200d]+[^\\W_]{letter}*)*")


def words(text: str) -> Iterator[tuple[int, int]]:
    """Character spans of all words, in order."""
    return (match.span() for match in _word_pattern().finditer(text))


def segment(text: str, is_public: PublicRule) -> Segmented:
    """Split a text into public words and units.

    Args:
        text: any string, lone surrogates included.
        is_public: (word, opens_sentence) -> whether the word is released as it is.
    """
    units: list[Unit] = []
    articles: list[Article] = []
    n_public, previous_end, article = 0, 0, None
    for begin, end in words(text):
        gap, token = text[previous_end:begin], text[begin:end]
        opens = previous_end == 0 or _SENTENCE_END.search(gap) is not None
        previous_end = end
        if article is not None and not gap.isspace():
            article = None
        word = token if is_public(token, opens) else _without_clitic(token)
        if is_public(word, opens):
            n_public += 1
            article = (begin, end) if word.lower() in ("a", "an") else None
            continue
        kind = "number" if word.isdecimal() else "word"
        if article is not None and kind == "word":
            articles.append(Article(*article, len(units)))
        article = None
        units.append(Unit(begin, begin + len(word), word, kind, opens))
        n_public += len(word) < len(token)
    return Segmented(tuple(units), tuple(articles), n_public)


def _without_clitic(token: str) -> str:
    """ "Peter's" -> "Peter"; anything else unchanged."""
    match = _CLITIC.fullmatch(token)
    return match.group(1) if match else token


def random_number(digits: str, source: Source) -> str:
    """A uniform number of the same shape: as many digits, in the same scripts, the first not zero.

    Guarantee: independent of the value; depends on the length and script only.

    Args:
        digits: decimal digits of any script, at least one.
    """
    zeros = [ord(c) - unicodedata.decimal(c) for c in digits]
    first = source.randbelow(10) if len(digits) == 1 else 1 + source.randbelow(9)
    values = [first, *(source.randbelow(10) for _ in digits[1:])]
    return "".join(chr(zero + value) for zero, value in zip(zeros, values, strict=True))


def cased(word: str, opens_sentence: bool) -> str:
    """The output word as it stands in the vocabulary, capitalized where a sentence begins."""
    return word[:1].upper() + word[1:] if opens_sentence else word


def article_for(word: str, original: str) -> str:
    """ "a" or "an" as `word` needs it, capitalized like the public original."""
    form = "an" if _AN_SOUND.match(word) and not _A_SOUND.match(word) else "a"
    return form.capitalize() if original[:1].isupper() else form


class WordPieces:
    """The model's tokenizer, for public text and for single words.

    Args:
        path: tokenizer.json.

    Raises:
        ModelError: if the file cannot be used.
    """

    def __init__(self, path: Path) -> None:
        try:
            self._tokenizer = Tokenizer.from_file(str(path))
        except Exception as error:  # the library raises bare Exception
            raise ModelError(f"{path.name} cannot be used as a tokenizer") from error
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()
        self._tokenizer.encode_special_tokens = True  # "[MASK]" typed by a user is text like any other
        self.mask, self.cls, self.sep, self.unknown = (self._id(t) for t in ("[MASK]", "[CLS]", "[SEP]", "[UNK]"))

    def _id(self, token: str) -> int:
        found = self._tokenizer.token_to_id(token)
        if found is None:
            raise ModelError(f"tokenizer.json has no {token}")
        return int(found)

    def encode(self, text: str) -> list[int]:
        """Token ids of a stretch of text, without special tokens."""
        if not text or text.isspace():
            return []
        clean = _SURROGATE.sub("\ufffd", text)
        ids: list[int] = self._tokenizer.encode(clean, add_special_tokens=False).ids
        return ids

    def token(self, index: int) -> str:
        """The token as a word or word piece, without its continuation marks."""
        return str(self._tokenizer.id_to_token(index)).removeprefix("##")

    def whole_words(self) -> list[str]:
        """Tokens that are words of letters by themselves, in the order of their ids."""
        tokens = (str(self._tokenizer.id_to_token(i)) for i in range(self._tokenizer.get_vocab_size()))
        return [token for token in tokens if token.isalpha()]
