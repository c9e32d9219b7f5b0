"""Tokenizers of the two language models, and the chat format of the causal one."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from tokenizers import Tokenizer

from sanitizer.errors import ModelError

SYSTEM_PROMPT = "You are a helpful AI assistant named SmolLM, trained by Hugging Face"
"""System message of the causal model's own chat template, for chats without one."""

_SURROGATE = re.compile("[\ud800-\udfff]")
# Characters that the byte-level vocabulary has no tokens for: encoding would drop them silently.
_TOKENLESS = re.compile("[\x04\x06\x13\x14\x16\x1d\ud800-\udfff\U00040000-\U000bffff]")


class WordPieces:
    """Tokenizer of the masked language model, for public text and for single words.

    >>> from sanitizer.lm.files import model_folder
    >>> pieces = WordPieces(model_folder("masked-lm") / "tokenizer.json")
    >>> [pieces.token(i) for i in pieces.encode("An unsanitized text")]
    ['An', 'un', 'san', 'iti', 'zed', 'text']

    Raises:
        ModelError: the file cannot be used.
    """

    def __init__(self, path: Path) -> None:
        self._tokenizer = _tokenizer(path)
        self.mask = _id(self._tokenizer, "[MASK]")
        self.cls = _id(self._tokenizer, "[CLS]")
        self.sep = _id(self._tokenizer, "[SEP]")
        self.unknown = _id(self._tokenizer, "[UNK]")

    def encode(self, text: str) -> list[int]:
        """Return the token ids of a stretch of text, without special tokens."""
        if not text or text.isspace():
            return []
        clean = _SURROGATE.sub("\ufffd", text)  # the library refuses lone surrogates
        ids: list[int] = self._tokenizer.encode(clean, add_special_tokens=False).ids
        return ids

    def token(self, index: int) -> str:
        """Return a token as a word or word piece, without its continuation marks."""
        return str(self._tokenizer.id_to_token(index)).removeprefix("##")

    def whole_words(self) -> list[str]:
        """Return the tokens that are words of letters by themselves, in the order of their ids."""
        tokens = (
            str(self._tokenizer.id_to_token(i)) for i in range(self._tokenizer.get_vocab_size())
        )
        return [token for token in tokens if token.isalpha()]


class ByteTokens:
    """Tokenizer of the causal language model: byte-level pairs, so that every text has tokens.

    >>> from sanitizer.lm.files import model_folder
    >>> tokens = ByteTokens(model_folder("lm") / "tokenizer.json")
    >>> tokens.encode("Hello, world!")
    [19556, 28, 905, 17]
    >>> tokens.decode([19556, 28, 905, 17])
    'Hello, world!'

    Guarantee: decode(encode(text)) is `text`, but for lone surrogates and what the vocabulary has
    no bytes for (six control characters, the unassigned planes 4 to 11): these become U+FFFD.

    Raises:
        ModelError: the file cannot be used.
    """

    def __init__(self, path: Path) -> None:
        self._tokenizer = _tokenizer(path)
        self.n_tokens = int(self._tokenizer.get_vocab_size())

    def encode(self, text: str) -> list[int]:
        """Return the token ids of a text.

        They hold no special tokens: one that is written out in the text is text like any other.
        """
        clean = _TOKENLESS.sub("\ufffd", text)
        ids: list[int] = self._tokenizer.encode(clean, add_special_tokens=False).ids
        return ids

    def decode(self, ids: Sequence[int]) -> str:
        """Return the text of token ids without special tokens.

        Bytes that are not UTF-8 become U+FFFD.
        """
        return str(self._tokenizer.decode(ids, skip_special_tokens=True))

    def special(self, token: str) -> int:
        """Return the id of a token such as "<|im_end|>"; raise ModelError if the model has none."""
        return _id(self._tokenizer, token)


class ChatFormat:
    """Format of chats in ChatML, which the packaged causal model was trained to answer.

    Special tokens come from the format only: one that is written out in a message is text.

    >>> from sanitizer.lm.files import model_folder
    >>> tokens = ByteTokens(model_folder("lm") / "tokenizer.json")
    >>> ids = ChatFormat(tokens).prompt("Who?", system="Be brief.")
    >>> tokens.decode(ids)  # without the special tokens
    'system\\nBe brief.\\nuser\\nWho?\\nassistant\\n'

    Args:
        tokens: tokenizer of a model whose chats are ChatML.

    Raises:
        ModelError: the tokenizer lacks a special token of the format.
    """

    def __init__(self, tokens: ByteTokens) -> None:
        self._tokens = tokens
        self._begin = tokens.special("<|im_start|>")
        self._stop = tokens.special("<|im_end|>")
        self._newline = tokens.encode("\n")
        self.end: frozenset[int] = frozenset(
            {self._begin, self._stop, tokens.special("<|endoftext|>")}
        )
        """Tokens at which an answer ends; they are not part of it."""

    def prompt(self, user: str, system: str | None = None) -> list[int]:
        """Return the tokens of a chat of one message, up to where the answer begins.

        Args:
            system: instructions before it; default those of the model's own template.
        """
        return self.chat([self._tokens.encode(user)], system)

    def chat(self, messages: Sequence[Sequence[int]], system: str | None = None) -> list[int]:
        """Return the tokens of a chat, up to where the next answer begins.

        Args:
            messages: tokens of each message: the user's, the assistant's and so on in turn, the
                user's last.
            system: instructions before them; default those of the model's own template.
        """
        instructions = SYSTEM_PROMPT if system is None else system
        found = self._turn("system", self._tokens.encode(instructions))
        for i, message in enumerate(messages):
            found += self._turn("assistant" if i % 2 else "user", message)
        return found + self._opening("assistant")

    def beginning(self, message: Sequence[int], system: str | None = None) -> list[int]:
        """Return the tokens that begin every chat whose first message begins with `message`."""
        opened = self.chat([], system)[: -len(self._opening("assistant"))]
        return [*opened, *self._opening("user"), *message]

    def _turn(self, role: str, message: Sequence[int]) -> list[int]:
        return [*self._opening(role), *message, self._stop, *self._newline]

    def _opening(self, role: str) -> list[int]:
        return [self._begin, *self._tokens.encode(f"{role}\n")]


def _tokenizer(path: Path) -> Tokenizer:
    """Return a tokenizer that neither pads nor truncates, and takes special tokens for text."""
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


class PlacedPieces:
    """Tokenizer of the reader: tokens with offsets, of many stretches at once.

    >>> from sanitizer.lm.files import model_folder
    >>> pieces = PlacedPieces(model_folder("reader") / "tokenizer.json")
    >>> [(a, b) for _, a, b in pieces.placed(["ein Haus"])[0]]
    [(0, 3), (3, 8)]

    Raises:
        ModelError: the file cannot be used.
    """

    def __init__(self, path: Path) -> None:
        self._tokenizer = _tokenizer(path)
        self.mask = self._tokenizer.get_vocab_size()
        self.line = _id(self._tokenizer, "\N{PILCROW SIGN}")
        self.unknown = _id(self._tokenizer, "<unk>")

    def placed(self, texts: Sequence[str]) -> list[list[tuple[int, int, int]]]:
        """Return the tokens of each text with offsets, (id, start, end), without special ones."""
        clean = [_SURROGATE.sub("\ufffd", text) for text in texts]
        found = self._tokenizer.encode_batch(clean, add_special_tokens=False)
        return [
            [(i, begin, end) for i, (begin, end) in zip(e.ids, e.offsets, strict=True)]
            for e in found
        ]

    def text(self, ids: Sequence[int]) -> str:
        """Return what tokens of a text say, for tests: those of no text are left out."""
        return str(self._tokenizer.decode([i for i in ids if i < self.mask]))
