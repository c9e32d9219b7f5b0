"""Extraction: from the answer to a sanitized prompt, an answer to the original one, on this
machine.

What is shared by the ways to do it: what they are given, what they give back, and which prompts are
remembered. Everything here works on what was released already: it costs no budget.

The extractor that is a language model: the packaged small one writes the answer anew, on this
machine.

The extractor behind an address: a model server on this machine that speaks OpenAI's API.
"""

from __future__ import annotations

import json
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from typing import Protocol, Self

import httpx
import numpy as np

from sanitizer.errors import ModelError
from sanitizer.lm import MAX_CELLS, ByteTokens, CausalLM, ChatFormat, Logits
from sanitizer.results import SanitizedText
from sanitizer.urls import check_base_url, is_loopback

MAX_PROMPTS = 16
WORD_KINDS = ("word", "number")
_REVERTED = (*WORD_KINDS, "article")

NO_PROMPT = "no prompt is known that this answer belongs to; pass prompt="
NO_RELEASED = "no word of the answer stands for one of the prompt beyond doubt"
NO_WORDS = "no word of the prompt was replaced, so there is nothing to put right"
LOST = "the extractor left out an identifier of the answer"
NOTHING = "the extractor wrote nothing"


class RestoredAnswer(str):
    """An answer as the user reads it: a string that knows how it came to be.

    Attributes:
        extracted: whether it was rewritten for the original prompt, beyond identifiers.
        note: why not, or what is wrong with it; None if there is nothing to say. Holds no text of
            prompt or answer.
    """

    extracted: bool
    note: str | None

    def __new__(cls, text: str, extracted: bool = False, note: str | None = None) -> Self:
        answer = super().__new__(cls, text)
        answer.extracted, answer.note = extracted, note
        return answer

    def __reduce__(self) -> tuple[type[Self], tuple[str, bool, str | None]]:
        return type(self), (str(self), self.extracted, self.note)


class NotExtracted(Exception):
    """There is no better answer than the one that came; the message says why, and quotes nothing."""


class EndedEarly(NotExtracted):
    """What was written is the answer, but it was cut off."""


class Extractor(Protocol):
    """Writes the answer to an original prompt. Must be safe for many threads, and must not leave
    the machine.
    """

    def load(self) -> None:
        """Load now what is otherwise loaded at first use. Raises ModelError."""

    def rewrite(self, prompt: str, draft: str) -> Iterator[str]:
        """The new answer, in pieces.

        Args:
            prompt: the original; placeholders stand in it for identifiers.
            draft: the answer to the sanitized prompt, with placeholders.

        Raises:
            NotExtracted: there is no answer. EndedEarly: there is, up to here.
            ModelError: a model could not be loaded.
        """


def original_prompt(result: SanitizedText) -> str:
    """The prompt before it was sanitized, with what stands for its identifiers."""
    parts: list[str] = []
    at = 0
    for r in result.replacements:
        parts += [result.text[at : r.start], r.original if r.kind in _REVERTED else r.replacement]
        at = r.end
    return "".join([*parts, result.text[at:]])


def replaced_words(result: SanitizedText) -> bool:
    """Whether any word or number of the prompt was drawn anew."""
    return any(r.kind in WORD_KINDS and r.replacement != r.original for r in result.replacements)


class RecentPrompts:
    """The last prompts that were sanitized, in this process only. Safe for many threads.

    They hold originals, so there is no file of them, and nothing of them in a repr.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._results: OrderedDict[tuple[str, str], SanitizedText] = OrderedDict()

    def add(self, result: SanitizedText) -> None:
        """The newest one; the oldest of more than 16 is forgotten."""
        key = (result.text, original_prompt(result))
        with self._lock:
            self._results[key] = result
            self._results.move_to_end(key)
            if len(self._results) > MAX_PROMPTS:
                self._results.popitem(last=False)

    def last(self) -> tuple[SanitizedText, ...]:
        """Those that are remembered, the newest last."""
        with self._lock:
            return tuple(self._results.values())


MAX_TOKENS = 1024
REPEATED = 4
"""Tokens in a row that may stand once in an answer: small models fall into loops."""
BONUS = 2.5
"""Nats by which the draft's next token is favoured: what the model writes stays an edition of the
draft.
"""
AHEAD = 4
"""How far ahead the draft is looked at; each token that is left out costs SKIP nats of the bonus.
"""
SKIP = 0.5

SYSTEM_PROMPT = "You write only the text that is asked for."
INSTRUCTIONS = (
    "Continue the prompt. Take everything from the notes; change only what does not fit the prompt.\n\n"
    "Prompt: {prompt}\n\nNotes: {draft}\n\nContinuation:"
)


class LmExtractor:
    """Asks a causal model for the answer to the original prompt, with the noisy answer as its
    material.

    Deterministic: the likeliest token comes next, where those that go on with the draft are
    favoured, and none comes that would repeat four tokens of the answer. Implements `Extractor`.

    Args:
        load: gives model and tokenizer; called before each answer. max_tokens: longer drafts are
            not rewritten.
    """

    def __init__(
        self, load: Callable[[], tuple[CausalLM, ByteTokens]], max_tokens: int = MAX_TOKENS
    ) -> None:
        if max_tokens < 1:
            raise ValueError(f"max_tokens must be at least 1, got {max_tokens!r}")
        self._load, self._max_tokens = load, max_tokens

    def load(self) -> None:
        """See `Extractor.load`."""
        self._load()

    def rewrite(self, prompt: str, draft: str) -> Iterator[str]:
        """See `Extractor.rewrite`. An answer has at most half as many tokens again as the draft,
        and 16.
        """
        model, tokens = self._load()
        form = ChatFormat(tokens)
        ids = form.prompt(INSTRUCTIONS.format(prompt=prompt, draft=draft), SYSTEM_PROMPT)
        known = DraftCursor(tokens.encode(draft), form.end)
        n_most = len(known.ids) * 3 // 2 + 16
        if len(known.ids) > self._max_tokens or len(ids) + n_most > min(
            model.max_length, MAX_CELLS
        ):
            raise NotExtracted("prompt and answer are too long for the local model")
        try:
            yield from _texts(tokens, _continued(model, ids, known, n_most))
        except ModelError:
            raise NotExtracted("the local model failed on this answer") from None


class DraftCursor:
    """The draft, and how far the answer has come in it.

    Args:
        ids: its tokens. end: tokens at which an answer ends.
    """

    def __init__(self, ids: Sequence[int], end: frozenset[int]) -> None:
        self.ids, self.end, self._at = ids, end, 0

    def next(self, scores: Logits, written: Sequence[int]) -> int:
        """The token of the highest score.

        A token that goes on with the draft gets a bonus, and an end after its last; an end long
        before loses as much. Of all other tokens, none comes that would repeat a run of REPEATED
        tokens.
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


def _continued(
    model: CausalLM, ids: Sequence[int], draft: DraftCursor, n_most: int
) -> Iterator[int]:
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
    """Tokens as text, without the spaces at both ends; a character comes once all its bytes are
    there.
    """
    known: list[int] = []
    shown = 0
    for token in ids:
        known.append(token)
        text = tokens.decode(known).lstrip()
        if (done := len(text.rstrip("\ufffd").rstrip())) > shown:
            yield text[shown:done]
            shown = done


MAX_BYTES = 2_000_000


class RemoteExtractor:
    """Asks a server for the answer to the original prompt, with the noisy answer as its material.

    It is sent the ORIGINAL words of the prompt (placeholders stand for identifiers), so it must be
    on this machine. No redirect is followed, and no proxy of the environment is used. Implements
    `Extractor`; serves many threads.

    Args:
        url: base URL, such as "http://127.0.0.1:8080/v1".
        model: name of the model, for servers that hold several.
        timeout: seconds for the whole answer.
        trusted_extractor_host: allow a host that is not this machine: original prompts are sent
            there.

    Raises:
        ValueError: no such URL, a host that is not this machine, or a timeout that is not above 0.
    """

    def __init__(
        self,
        url: str,
        *,
        model: str = "local",
        timeout: float = 120.0,
        trusted_extractor_host: bool = False,
    ) -> None:
        host = check_base_url("extractor", url)
        if not (is_loopback(host) or trusted_extractor_host):
            raise ValueError(
                "extractor must be a server on this machine, such as http://127.0.0.1:8080/v1: it is sent the original "
                "prompt (trusted_extractor_host=True allows another)"
            )
        if not timeout > 0:
            raise ValueError(f"timeout must be above 0, got {timeout!r}")
        self._url, self._model, self._timeout = (
            url.rstrip("/") + "/chat/completions",
            model,
            timeout,
        )

    def load(self) -> None:
        """See `Extractor.load`: the server is asked when an answer comes."""

    def rewrite(self, prompt: str, draft: str) -> Iterator[str]:
        """See `Extractor.rewrite`. The answer comes in one piece."""
        asked = INSTRUCTIONS.format(prompt=prompt, draft=draft)
        messages = [
            {"role": "system", "content": SYSTEM_PROMPT},
            {"role": "user", "content": asked},
        ]
        body = {"model": self._model, "messages": messages, "temperature": 0, "stream": False}
        try:
            yield _said(self._post(body))
        except httpx.HTTPError as error:  # its message may hold the address only
            raise NotExtracted(
                f"the extractor's server could not be asked ({type(error).__name__})"
            ) from None

    def _post(self, body: object) -> bytes:
        """What the server answers, if that is bounded in size and time."""
        ends = time.monotonic() + self._timeout
        received = bytearray()
        headers = {"accept-encoding": "identity"}
        with (
            httpx.Client(trust_env=False, follow_redirects=False, timeout=self._timeout) as client,
            client.stream("POST", self._url, json=body, headers=headers) as response,
        ):
            if response.status_code != httpx.codes.OK:
                raise NotExtracted(
                    f"the extractor's server answered with status {response.status_code}"
                )
            for piece in response.iter_raw():
                received += piece
                if len(received) > MAX_BYTES or time.monotonic() > ends:
                    raise NotExtracted(
                        "the extractor's server answered with too much, or too slowly"
                    )
        return bytes(received)


def _said(body: bytes) -> str:
    """The text of a chat's first choice."""
    try:
        text = json.loads(body)["choices"][0]["message"]["content"]
    except (ValueError, LookupError, TypeError, RecursionError):
        text = None
    if not isinstance(text, str):
        raise NotExtracted(
            "the extractor's server answered with something that is no chat completion"
        )
    return text.strip()
