"""The tokenizers of the two language models."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from tokenizers import Tokenizer

from sanitizer.errors import ModelError

_SURROGATE = re.compile("[\ud800-\udfff]")


_TOKENLESS = re.compile("[\x04\x06\x13\x14\x16\x1d\ud800-\udfff\U00040000-\U000bffff]")


class WordPieces:
    """The model's tokenizer, for public text and for single words.

    Args:
        path: tokenizer.json.

    Raises:
        ModelError: if the file cannot be used.
    """

    def __init__(self, path: Path) -> None:
        self._tokenizer = _tokenizer(path)
        tokens = ("[MASK]", "[CLS]", "[SEP]", "[UNK]")
        self.mask, self.cls, self.sep, self.unknown = (
            _id(self._tokenizer, token) for token in tokens
        )

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
        tokens = (
            str(self._tokenizer.id_to_token(i)) for i in range(self._tokenizer.get_vocab_size())
        )
        return [token for token in tokens if token.isalpha()]


class ByteTokens:
    """The causal model's tokenizer: byte-level pairs, so that every text has tokens.

    Guarantee: decode(encode(text)) is `text`, but for lone surrogates and what the vocabulary has
    no bytes for (six control characters, the unassigned planes 4 to 11): these become U+FFFD.

    Args:
        path: tokenizer.json.

    Raises:
        ModelError: if the file cannot be used.
    """

    def __init__(self, path: Path) -> None:
        self._tokenizer = _tokenizer(path)
        self.n_tokens = int(self._tokenizer.get_vocab_size())

    def encode(self, text: str) -> list[int]:
        """Token ids, without special tokens: one that is written out in the text is text like any
        other.
        """
        ids: list[int] = self._tokenizer.encode(
            _TOKENLESS.sub("\ufffd", text), add_special_tokens=False
        ).ids
        return ids

    def decode(self, ids: Sequence[int]) -> str:
        """The text, special tokens left out; bytes that are not UTF-8 become U+FFFD."""
        return str(self._tokenizer.decode(ids, skip_special_tokens=True))

    def special(self, token: str) -> int:
        """Id of a token such as "<|im_end|>".

        Raises:
            ModelError: if there is none.
        """
        return _id(self._tokenizer, token)


def _tokenizer(path: Path) -> Tokenizer:
    """A tokenizer that neither pads nor cuts, and takes text for text."""
    try:
        tokenizer = Tokenizer.from_file(str(path))
    except Exception:  # the library raises bare Exception
        raise ModelError(f"{path.name} cannot be used as a tokenizer") from None
    tokenizer.no_padding()
    tokenizer.no_truncation()
    tokenizer.encode_special_tokens = True  # "[MASK]" typed by a user is text like any other
    return tokenizer


def _id(tokenizer: Tokenizer, token: str) -> int:
    found = tokenizer.token_to_id(token)
    if found is None:
        raise ModelError(f"tokenizer.json has no {token}")
    return int(found)
