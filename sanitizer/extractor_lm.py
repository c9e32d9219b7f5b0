"""The extractor that is a language model: the packaged small one writes the answer anew, on this machine."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from sanitizer.causal import MAX_CELLS, CausalLM, Logits
from sanitizer.chat_format import ChatFormat
from sanitizer.errors import ModelError
from sanitizer.extractor import EndedEarly, NotExtracted
from sanitizer.text import ByteTokens

MAX_TOKENS = 1024
REPEATED = 4
"""Tokens in a row that may stand once in an answer: small models fall into loops."""
BONUS = 2.5
"""Nats by which the draft's next token is favoured: what the model writes stays an edition of the draft."""
AHEAD = 4
"""How far ahead the draft is looked at; each token that is left out costs SKIP nats of the bonus."""
SKIP = 0.5

SYSTEM = "You write only the text that is asked for."
INSTRUCTIONS = (
    "Continue the prompt. Take everything from the notes; change only what does not fit the prompt.\n\n"
    "Prompt: {prompt}\n\nNotes: {draft}\n\nContinuation:"
)


class LmExtractor:
    """Asks a causal model for the answer to the original prompt, with the noisy answer as its material.

    Deterministic: the likeliest token comes next, where those that go on with the draft are favoured, and none comes
    that would repeat four tokens of the answer. Implements `Extractor`.

    Args:
        load: gives model and tokenizer; called before each answer. max_tokens: longer drafts are not rewritten.
    """

    def __init__(self, load: Callable[[], tuple[CausalLM, ByteTokens]], max_tokens: int = MAX_TOKENS) -> None:
        if max_tokens < 1:
            raise ValueError(f"max_tokens must be at least 1, got {max_tokens!r}")
        self._load, self._max_tokens = load, max_tokens

    def load(self) -> None:
        """See `Extractor.load`."""
        self._load()

    def rewrite(self, prompt: str, draft: str) -> Iterator[str]:
        """See `Extractor.rewrite`. An answer has at most half as many tokens again as the draft, and 16."""
        model, tokens = self._load()
        form = ChatFormat(tokens)
        ids = form.prompt(INSTRUCTIONS.format(prompt=prompt, draft=draft), SYSTEM)
        known = _Draft(tokens.encode(draft), form.end)
        n_most = len(known.ids) * 3 // 2 + 16
        if len(known.ids) > self._max_tokens or len(ids) + n_most > min(model.max_length, MAX_CELLS):
            raise NotExtracted("prompt and answer are too long for the local model")
        try:
            yield from _texts(tokens, _continued(model, ids, known, n_most))
        except ModelError:
            raise NotExtracted("the local model failed on this answer") from None


class _Draft:
    """The draft, and how far the answer has come in it.

    Args:
        ids: its tokens. end: tokens at which an answer ends.
    """

    def __init__(self, ids: Sequence[int], end: frozenset[int]) -> None:
        self.ids, self.end, self._at = ids, end, 0

    def next(self, scores: Logits, written: Sequence[int]) -> int:
        """The token of the highest score.

        A token that goes on with the draft gets a bonus, and an end after its last; an end long before loses as
        much. Of all other tokens, none comes that would repeat a run of REPEATED tokens.
        """
        scores = scores.copy()
        ahead = list(self.ids[self._at : self._at + AHEAD])
        scores[list(_repeating(written) - set(ahead))] = -np.inf
        for token in set(ahead):
            scores[token] += BONUS - SKIP * ahead.index(token)
        scores[list(self.end)] += BONUS if not ahead else -BONUS if len(ahead) == AHEAD else 0
        best = int(scores.argmax())
        self._at += ahead.index(best) + 1 if best in ahead else 0
        return best


def _continued(model: CausalLM, ids: Sequence[int], draft: _Draft, n_most: int) -> Iterator[int]:
    """The answer's tokens, one by one."""
    rows = model.prefill([ids])
    written: list[int] = []
    while (token := draft.next(rows.logits[0], written)) not in draft.end:
        yield token
        written.append(token)
        if len(written) == n_most:
            raise EndedEarly(f"the local model came to no end within {n_most} tokens")
        rows.step([token])


def _repeating(written: Sequence[int]) -> set[int]:
    """Tokens that would end a second run of REPEATED tokens."""
    n = REPEATED - 1
    last = tuple(written[len(written) - n :])
    return {written[i + n] for i in range(len(written) - n) if tuple(written[i : i + n]) == last}


def _texts(tokens: ByteTokens, ids: Iterator[int]) -> Iterator[str]:
    """Tokens as text, without the spaces at both ends; a character comes once all its bytes are there."""
    known: list[int] = []
    shown = 0
    for token in ids:
        known.append(token)
        text = tokens.decode(known).lstrip()
        if (done := len(text.rstrip("\ufffd").rstrip())) > shown:
            yield text[shown:done]
            shown = done
