"""A causal model that says what a test wants, with the real tokenizer: for what depends on the text
it writes.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from sanitizer.lm.causal import Logits, TokenLists
from sanitizer.lm.files import model_folder
from sanitizer.lm.tokens import ByteTokens

FOLDER = model_folder("lm")
TOKENS = ByteTokens(FOLDER / "tokenizer.json")
END = TOKENS.special("<|im_end|>")


class ScriptedLM:
    """Implements `CausalLM`: every prompt is continued with the same text. Without one it finds all
    tokens alike.

    Attributes:
        read: the prompts that came, as text.
    """

    folder = FOLDER
    sha256 = "scripted"
    n_vocabulary = TOKENS.n_tokens

    def __init__(self, text: str | None, max_length: int = 8192, ends: bool = True) -> None:
        self.script = [] if text is None else [*TOKENS.encode(text), *([END] if ends else [])]
        self.max_length = max_length
        self.read: list[str] = []

    def prefill(self, prompts: TokenLists) -> ScriptedRows:
        self.read += [TOKENS.decode(prompt) for prompt in prompts]
        return ScriptedRows(self.script, [len(prompt) for prompt in prompts])

    def scores(self, ids: Sequence[int], at: Sequence[int]) -> Logits:
        raise NotImplementedError

    def vectors(self) -> NDArray[np.float32]:
        raise NotImplementedError

    def forget(self) -> None:
        """Nothing is kept."""


class ScriptedRows:
    """Implements `Rows`. Where the script is over it begins anew."""

    def __init__(self, script: list[int], lengths: list[int], at: int = 0) -> None:
        self._script, self.lengths, self._at = script, lengths, at
        self.logits = np.zeros((len(lengths), TOKENS.n_tokens), np.float32)
        if script:
            self.logits[:, script[at % len(script)]] = 100

    def step(self, tokens: Sequence[int]) -> Logits:
        self.__init__(self._script, [n + 1 for n in self.lengths], self._at + 1)  # type: ignore[misc]
        return self.logits

    def extend(self, row: int, tokens: Sequence[int]) -> Logits:
        raise NotImplementedError

    def fork(self, rows: Sequence[int]) -> ScriptedRows:
        return ScriptedRows(self._script, [self.lengths[row] for row in rows], self._at)
