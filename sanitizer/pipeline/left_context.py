"""What the causal model reads before each private word of a text, and its scores there.

In the released context it reads public text, stand-ins and words released before, so its scores at
a word are the same whatever that word and the words to its right are.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from sanitizer.lm import ByteTokens, CausalLM, Rows
from sanitizer.pipeline.masked_text import MaskedText

START, HEAD = "<|endoftext|>", "Text:"
"""What stands before every text: between documents in training, and what a first word may follow.
"""
LONGEST = 1024
"""Tokens of left context; where a text is longer, the last half of them is read again as its
beginning.
"""
LOGIT_RANGE = (-6.407, 30.747)
"""Logits that count as 0 and as 1, of the packaged model after HEAD, by
benchmarks/causal_calibration.py.
"""

Logits = NDArray[np.float32]


class LeftReader:
    """Reads texts from left to right, one pass for each word that is drawn. Safe for many threads.

    A word is scored as if a space stood before it. Texts are read one after the other: a pass for a
    few tokens costs about as much as one for one token, and texts stop at different places.

    Args:
        model, tokens: the causal model and its tokenizer.
        columns: int [n_outputs], the outputs' tokens. original: read the original words, which is
            not certified.
    """

    def __init__(
        self, model: CausalLM, tokens: ByteTokens, columns: NDArray[np.intp], original: bool
    ) -> None:
        self.sha256, self._tokens, self._columns, self._original = (
            model.sha256,
            tokens,
            columns,
            original,
        )
        self._head = model.prefill([[tokens.special(START), *tokens.encode(HEAD)]])
        self._longest = min(LONGEST, model.max_length)

    def words(self, draft: MaskedText) -> Iterator[tuple[int, Logits]]:
        """(drawn word, its scores float32 [n_outputs]), in order.

        In the released context each word must be released before the next is asked for.

        Raises:
            RuntimeError: it was not.
        """
        due, text = set(draft.drawn), _Text(self._head, self._longest)
        unread = " "  # as after the head
        for word, stretch in enumerate(draft.stretches(self._original)):
            unread += stretch
            if word in due:
                known = unread.removesuffix(" ")  # a word's token holds the space before it
                text.read(self._tokens.encode(known))
                unread = unread[len(known) :]
                yield word, text.logits[self._columns]
            unread += draft.words[word].text if self._original else draft.written(word)


class _Text:
    """One text as far as it was read."""

    def __init__(self, head: Rows, longest: int) -> None:
        self._head, self._longest = head, longest
        self._rows, self._ids = head.fork([0]), list[int]()

    @property
    def logits(self) -> Logits:
        """Scores of the next token, float32 [n_vocabulary]."""
        return np.asarray(self._rows.logits[0])

    def read(self, ids: list[int]) -> None:
        """Read on."""
        if not ids:
            return
        self._ids += ids
        if self._rows.lengths[0] + len(ids) > self._longest:
            del self._ids[: -(self._longest // 2)]
            ids, self._rows = self._ids, self._head.fork([0])
        self._rows.extend(0, ids)
