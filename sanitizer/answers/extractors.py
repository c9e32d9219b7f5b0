"""Extraction: from the answer to a sanitized prompt, an answer to the original one.

It happens on this machine, and works on what was released already: it costs no budget. An extractor
is "lexical" (`lexical`), the packaged small language model (`LmExtractor`), a model server on this
machine that speaks OpenAI's API (`RemoteExtractor`), or an object of one's own (`Extractor`).
`AnswerStream` restores an answer and has it rewritten.
"""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import (
    AsyncGenerator,
    AsyncIterable,
    AsyncIterator,
    Callable,
    Iterable,
    Iterator,
    Sequence,
)
from dataclasses import dataclass
from itertools import chain
from queue import SimpleQueue
from typing import Protocol, Self

import numpy as np

from sanitizer.answers.lexical import MappedStream, WordMap, between
from sanitizer.answers.restorer import Part, Restorer
from sanitizer.errors import ModelError
from sanitizer.lm.causal import MAX_CELLS, CausalLM
from sanitizer.lm.loading import Models
from sanitizer.lm.tokens import ByteTokens, ChatFormat
from sanitizer.results import SanitizedText
from sanitizer.text.policy import Policy
from sanitizer.text.words import WORD_KINDS
from sanitizer.urls import check_base_url, is_loopback

NAMED = ("lexical", "lm")
MAX_PROMPTS = 16
"""Prompts that are remembered at most."""
MAX_TOKENS = 1024
"""Longest answer, in tokens, that the packaged model rewrites."""
REPEATED = 4
"""Length of runs of tokens that may occur only once in an answer: small models fall into loops."""
BONUS = 2.5
"""Nats that favour the noisy answer's next token, so that the new answer is an edition of it."""
AHEAD = 4
"""Tokens of the noisy answer that are looked at ahead."""
SKIP = 0.5
"""Nats of the bonus that each token left out costs."""
MAX_BYTES = 2_000_000
"""Largest answer that is read from a server."""

SYSTEM_PROMPT = "You write only the text that is asked for."
INSTRUCTIONS = (
    "Continue the prompt. Take everything from the notes; change only what does not fit the "
    "prompt.\n\nPrompt: {prompt}\n\nNotes: {noisy_answer}\n\nContinuation:"
)

_REVERTED = (*WORD_KINDS, "article")

NO_PROMPT = "no prompt is known that this answer belongs to; pass prompt="
NO_RELEASED = "no word of the answer stands for one of the prompt beyond doubt"
NO_WORDS = "no word of the prompt was replaced, so there is nothing to put right"
LOST = "the extractor left out an identifier of the answer"
NOTHING = "the extractor wrote nothing"


class RestoredAnswer(str):
    """Answer as the user reads it: a string that knows how it was made.

    >>> answer = RestoredAnswer("Rest.", extracted=True)
    >>> answer.upper(), answer.extracted, answer.note
    ('REST.', True, None)

    Attributes:
        extracted: True if it was rewritten for the original prompt, beyond identifiers.
        note: why not, or what is wrong with it; None if there is nothing to say. It holds no text
            of prompt or answer.
        notes: what the model was told instead of something private that was drawn; one for each
            such thing of the prompt, or of the conversation. They hold private words.
    """

    extracted: bool
    note: str | None
    notes: tuple[str, ...]

    def __new__(
        cls,
        text: str,
        extracted: bool = False,
        note: str | None = None,
        notes: tuple[str, ...] = (),
    ) -> Self:
        answer = super().__new__(cls, text)
        answer.extracted, answer.note, answer.notes = extracted, note, notes
        return answer


class NotExtracted(Exception):
    """No better answer than the noisy one was made; the message says why, and quotes nothing."""


class EndedEarly(NotExtracted):
    """The answer was cut off; what was written so far is part of it."""


class Extractor(Protocol):
    """Writer of answers to original prompts.

    It must be safe for many threads, and send nothing off the machine.

    >>> class Shouting:
    ...     def load(self) -> None: ...
    ...     def rewrite(self, prompt: str, noisy_answer: str) -> Iterator[str]:
    ...         yield noisy_answer.upper()
    >>> from sanitizer import Policy, Sanitizer
    >>> sanitizer = Sanitizer(policy="identifiers", extractor=Shouting())
    """

    def load(self) -> None:
        """Load now what is otherwise loaded at first use; raise ModelError if that fails."""

    def rewrite(self, prompt: str, noisy_answer: str) -> Iterator[str]:
        """Yield the new answer in pieces.

        Args:
            prompt: the original prompt, with placeholders for its identifiers.
            noisy_answer: the answer to the sanitized prompt, with placeholders.

        Raises:
            NotExtracted: there is no answer.
            EndedEarly: the answer ends too early; what was yielded is its beginning.
            ModelError: a model could not be loaded.
        """


def original_prompt(result: SanitizedText) -> str:
    """Return the prompt before it was sanitized, with placeholders for its identifiers."""
    own = [r.original if r.kind in _REVERTED else r.replacement for r in result.replacements]
    return "".join(chain.from_iterable(zip(between(result), [*own, ""], strict=True)))


def replaced_words(result: SanitizedText) -> bool:
    """Return True if any word or number of the prompt was replaced by another one."""
    return any(r.kind in WORD_KINDS and r.replacement != r.original for r in result.replacements)


class RecentPrompts:
    """Memory of the last prompts that were sanitized, in this process only. Safe for many threads.

    They hold originals, so they are never written to a file, nor shown by `repr`.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._results: dict[tuple[str, str], SanitizedText] = {}

    def add(self, result: SanitizedText) -> None:
        """Add the newest prompt; of more than MAX_PROMPTS, the oldest is forgotten."""
        key = (result.text, original_prompt(result))
        with self._lock:
            self._results.pop(key, None)
            self._results[key] = result
            if len(self._results) > MAX_PROMPTS:
                del self._results[next(iter(self._results))]

    def last(self) -> tuple[SanitizedText, ...]:
        """Return the prompts that are remembered, the newest last."""
        with self._lock:
            return tuple(self._results.values())


class LmExtractor:
    """Extractor that asks a causal model, with the noisy answer as material for the new one.

    It is deterministic: the likeliest token comes next, where those that continue the noisy answer
    are favoured, and none comes that would repeat four tokens of the new one. Implements
    `Extractor`.

    Args:
        load: returns model and tokenizer; called before each answer.
    """

    def __init__(self, load: Callable[[], tuple[CausalLM, ByteTokens]]) -> None:
        self._load = load

    def load(self) -> None:
        self._load()

    def rewrite(self, prompt: str, noisy_answer: str) -> Iterator[str]:
        """See `Extractor.rewrite`.

        The new answer has at most 16 tokens more than one and a half times the noisy one.
        """
        model, tokens = self._load()
        chat_format = ChatFormat(tokens)
        asked = INSTRUCTIONS.format(prompt=prompt, noisy_answer=noisy_answer)
        ids = chat_format.prompt(asked, SYSTEM_PROMPT)
        draft = tokens.encode(noisy_answer)
        n_most = len(draft) * 3 // 2 + 16
        if len(draft) > MAX_TOKENS or len(ids) + n_most > min(model.max_length, MAX_CELLS):
            raise NotExtracted("prompt and answer are too long for the local model")
        read: list[int] = []
        shown = 0
        try:
            for token in _edited(model, ids, draft, chat_format.end, n_most):
                read.append(token)
                text = tokens.decode(read).lstrip()
                # U+FFFD at the end may be a character whose last bytes are still to come.
                if (done := len(text.rstrip("\ufffd").rstrip())) > shown:
                    yield text[shown:done]
                    shown = done
        except ModelError:
            raise NotExtracted("the local model failed on this answer") from None


def _edited(
    model: CausalLM, ids: Sequence[int], draft: Sequence[int], end: frozenset[int], n_most: int
) -> Iterator[int]:
    """Yield the tokens of the new answer, an edition of a draft.

    A token that continues the draft gets a bonus, and an end after its last one; an end long before
    loses as much. Of all other tokens, none comes that would repeat a run of REPEATED tokens.

    Args:
        ids: tokens of the prompt. end: tokens at which an answer ends.
    """
    rows = model.prefill([ids])
    written: list[int] = []
    at = 0
    while True:
        scores = rows.logits[0].copy()
        ahead = list(draft[at : at + AHEAD])
        scores[list(_repeating(written) - set(ahead))] = -np.inf
        for token in set(ahead):
            scores[token] += BONUS - SKIP * ahead.index(token)
        scores[list(end)] += BONUS if not ahead else -BONUS if len(ahead) == AHEAD else 0
        best = int(scores.argmax())
        if best in end:
            return
        at += ahead.index(best) + 1 if best in ahead else 0
        yield best
        written.append(best)
        if len(written) == n_most:
            raise EndedEarly(f"the local model came to no end within {n_most} tokens")
        rows.step([best])


def _repeating(written: Sequence[int]) -> set[int]:
    """Return the tokens that would end a run of REPEATED tokens which occurred before."""
    n = REPEATED - 1
    last = tuple(written[len(written) - n :])
    return {written[i + n] for i in range(len(written) - n) if tuple(written[i : i + n]) == last}


class RemoteExtractor:
    """Extractor that asks a server, with the noisy answer as material for the new one.

    The server is sent the ORIGINAL words of the prompt (but placeholders for identifiers), so it
    must be on this machine. No redirect is followed, and no proxy of the environment is used.
    Implements `Extractor`; safe for many threads.

    Args:
        url: base URL, such as "http://127.0.0.1:8080/v1".
        timeout: seconds for the whole answer.
        trusted_extractor_host: allow a host that is not this machine: original prompts are sent
            there.

    Raises:
        ValueError: the URL is unusable, its host is not this machine, or the timeout is not
            above 0.
    """

    def __init__(
        self, url: str, *, timeout: float = 120.0, trusted_extractor_host: bool = False
    ) -> None:
        host = check_base_url("extractor", url)
        if not (is_loopback(host) or trusted_extractor_host):
            raise ValueError(
                "extractor must be a server on this machine, such as http://127.0.0.1:8080/v1: "
                "it is sent the original prompt (trusted_extractor_host=True allows another)"
            )
        if not timeout > 0:
            raise ValueError(f"timeout must be above 0, got {timeout!r}")
        self._url = url.rstrip("/") + "/chat/completions"
        self._timeout = timeout

    def load(self) -> None:
        """Do nothing: the server loads its model by itself."""

    def rewrite(self, prompt: str, noisy_answer: str) -> Iterator[str]:
        """See `Extractor.rewrite`. The answer comes in one piece."""
        import httpx

        asked = INSTRUCTIONS.format(prompt=prompt, noisy_answer=noisy_answer)
        messages = [
            {"role": "system", "content": SYSTEM_PROMPT},
            {"role": "user", "content": asked},
        ]
        body = {"model": "local", "messages": messages, "temperature": 0, "stream": False}
        ends = time.monotonic() + self._timeout
        received = bytearray()
        try:
            with (
                httpx.Client(
                    trust_env=False, follow_redirects=False, timeout=self._timeout
                ) as client,
                client.stream(
                    "POST", self._url, json=body, headers={"accept-encoding": "identity"}
                ) as response,
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
            text = str.strip(json.loads(received)["choices"][0]["message"]["content"])
        except httpx.HTTPError as error:  # its message may hold the address only
            raise NotExtracted(
                f"the extractor's server could not be asked ({type(error).__name__})"
            ) from None
        except (ValueError, LookupError, TypeError, RecursionError):
            raise NotExtracted(
                "the extractor's server answered with something that is no chat completion"
            ) from None
        yield text


def extractor_for(
    wanted: Extractor | str | None, models: Models, trusted_extractor_host: bool = False
) -> Extractor | str | None:
    """Return an extractor by name or URL; "lexical" and None are returned as they are.

    >>> from sanitizer.lm.loading import Models
    >>> type(extractor_for("http://127.0.0.1:8080/v1", Models(None, None))).__name__
    'RemoteExtractor'

    Args:
        models: holds the causal model, for "lm".
        trusted_extractor_host: allow a URL whose host is not this machine.

    Raises:
        ValueError: an unknown name, or a URL that is not of this machine.
        TypeError: an object that is no extractor.
    """
    if wanted is None or wanted == "lexical":
        return wanted
    if wanted == "lm":
        return LmExtractor(models.causal)
    if isinstance(wanted, str):
        if "://" not in wanted:
            raise ValueError(
                f"extractor must be one of {', '.join(NAMED)}, or a URL, got {wanted!r}"
            )
        return RemoteExtractor(wanted, trusted_extractor_host=trusted_extractor_host)
    if not callable(getattr(wanted, "rewrite", None)):
        raise TypeError(
            "extractor must be a name, a URL, or have a method rewrite, "
            f"got {type(wanted).__name__}"
        )
    return wanted


@dataclass(frozen=True)
class AnswerContext:
    """What restores one answer; of the prompts that it may speak of, it answers the last."""

    restorer: Restorer
    extractor: Extractor | str | None
    prompts: tuple[SanitizedText, ...]
    policy: Policy

    def drawn(self) -> dict[str, str]:
        """Return stand-in -> original of what was drawn for the prompts, or else in all.

        All of them alike, whether the answer speaks of them or not.
        """
        originals = self.restorer.originals
        values = list(originals.drawn)
        if self.prompts:
            used = {r.replacement.lower() for each in self.prompts for r in each.replacements}
            values = [value for value in values if value.lower() in used]
        return {value: originals[value] for value in values}

    def notes(self) -> tuple[str, ...]:
        """Return a note for each drawn thing."""
        told = 'the model was told "{}" where you wrote "{}"'
        return tuple(told.format(*pair) for pair in self.drawn().items())

    def note(self) -> str | None:
        """Return why there is nothing to extract; None if there is something, or no extractor."""
        if self.extractor is None:
            return None
        if not self.prompts:
            return NO_PROMPT
        asked = self.prompts if self.extractor == "lexical" else self.prompts[-1:]
        return None if any(map(replaced_words, asked)) else NO_WORDS


class AnswerStream(Iterator[str]):
    """Answer as the user reads it, piece by piece.

    >>> from sanitizer import Policy
    >>> restorer = Restorer({"<EMAIL_1>": "anna@example.org"})
    >>> context = AnswerContext(restorer, None, (), Policy.preset("identifiers"))
    >>> "".join(AnswerStream(["Write to <EM", "AIL_1>."], context))
    'Write to anna@example.org.'

    Args:
        pieces: the noisy answer, as it comes.
        whole: the answer is shown only once it is complete, so that nothing of one that breaks off
            need be shown.

    Attributes:
        extracted: True if the answer was rewritten; final after the last piece.
        note: as in `RestoredAnswer`; final after the last piece.
        drawn: what the model was told instead of something private -> what that is.
    """

    def __init__(self, pieces: Iterable[str], context: AnswerContext, whole: bool = False) -> None:
        self.extracted = False
        self.note = context.note()
        self.notes = context.notes()
        self.drawn = context.drawn()
        self._context = context
        self._whole = whole
        if context.extractor is None or self.note is not None:
            shown = self._restored(pieces)
        elif isinstance(context.extractor, str):
            shown = self._mapped(pieces)
        else:
            shown = self._rewritten(pieces, context.extractor)
        self._shown = filter(None, shown)

    def __next__(self) -> str:
        return next(self._shown)

    def answer(self) -> RestoredAnswer:
        """Return all that is left of the answer, as one string."""
        text = "".join(self)
        return RestoredAnswer(text, self.extracted, self.note, self.notes)

    def _restored(self, pieces: Iterable[str]) -> Iterator[str]:
        """Yield the answer with its identifiers restored, and nothing else."""
        stream = self._context.restorer.stream()
        yield from map(stream.feed, pieces)
        yield stream.finish()

    def _mapped(self, pieces: Iterable[str]) -> Iterator[str]:
        """Yield the answer with identifiers restored and words mapped."""
        mapped = self._words(self._context.prompts)
        yield from self._around(mapped, pieces, restored=True)
        self.extracted = mapped.n_mapped > 0
        self.note = None if self.extracted else NO_RELEASED

    def _words(self, prompts: Iterable[SanitizedText]) -> MappedStream:
        words_map = WordMap(prompts, self._context.policy)
        return words_map.stream(self._context.restorer.links)

    def _rewritten(self, pieces: Iterable[str], extractor: Extractor) -> Iterator[str]:
        """Yield what the extractor writes, or the answer as it came.

        The latter if the extractor fails, or loses an identifier.
        """
        noisy = "".join(pieces)
        identifiers = {part.text for part in self._parts([noisy]) if part.original is not None}
        # An answer with identifiers is checked for them before any of it is shown.
        checked = self._whole or bool(identifiers)
        prompt = original_prompt(self._context.prompts[-1])
        text = ""
        stream = self._context.restorer.stream()
        try:
            # Its words are mapped, and identifiers are as the API wrote them.
            mapped = self._around(self._words(self._context.prompts[-1:]), [noisy], restored=False)
            for piece in extractor.rewrite(prompt, "".join(mapped)):
                text += piece
                if not checked:
                    yield stream.feed(piece)
        except EndedEarly as error:
            self.note = str(error)
        except NotExtracted as error:
            self.note = str(error)
            text = "" if checked else text  # what was shown already cannot be taken back
        if text and all(value in text for value in identifiers):
            self.extracted = True
            yield self._context.restorer.text(text) if checked else stream.finish()
            return
        self.note = self.note or (LOST if text else NOTHING)
        yield self._context.restorer.text(noisy)

    def _around(self, mapped: MappedStream, pieces: Iterable[str], restored: bool) -> Iterator[str]:
        """Yield an answer with the words between its identifiers mapped."""
        for part in self._parts(pieces):
            if part.original is None:
                yield mapped.feed(part.text)
            else:
                yield mapped.finish() + (part.original if restored else part.text)
                mapped.passed(part.text)
        yield mapped.finish()

    def _parts(self, pieces: Iterable[str]) -> Iterator[Part]:
        stream = self._context.restorer.stream()
        for piece in pieces:
            yield from stream.parts(piece)
        yield from stream.parts("", final=True)


_Passed = str | BaseException | None
"""A piece; an error that ends the stream; None at its end."""


class AsyncAnswerStream(AsyncIterator[str]):
    """Answer as the user reads it, piece by piece; vault and extractor never hold the loop up.

    The thread begins with the first piece that is asked for, and ends with the answer, or with
    `aclose`, which ends the pieces too.

    >>> async def pieces() -> AsyncIterator[str]:
    ...     yield "Write to <EM"
    ...     yield "AIL_1>."
    >>> async def main() -> str:
    ...     from sanitizer import Sanitizer
    ...     sanitizer = Sanitizer(policy="identifiers")
    ...     prompt = sanitizer.sanitize("Who is anna@example.org?")
    ...     stream = sanitizer.arestored_stream(pieces(), prompt)
    ...     return "".join([piece async for piece in stream])
    >>> asyncio.run(main())
    'Write to anna@example.org.'

    Args:
        opened: makes the stream that restores; called in the thread, and may read a vault.

    Attributes:
        extracted, note, notes: as those of `AnswerStream`; final after the last piece.
    """

    def __init__(
        self, pieces: AsyncIterable[str], opened: Callable[[Iterable[str]], AnswerStream]
    ) -> None:
        self.extracted = False
        self.note: str | None = None
        self.notes: tuple[str, ...] = ()
        self._pieces = pieces
        self._opened = opened
        self._given: SimpleQueue[_Passed] = SimpleQueue()
        self._shown = self._restored()

    async def __anext__(self) -> str:
        return await anext(self._shown)

    async def aclose(self) -> None:
        """End the stream: nothing more is read or shown."""
        await self._shown.aclose()

    async def _restored(self) -> AsyncGenerator[str, None]:
        shown: asyncio.Queue[_Passed] = asyncio.Queue()
        loop = asyncio.get_running_loop()

        def show(piece: _Passed) -> None:
            if not loop.is_closed():
                loop.call_soon_threadsafe(shown.put_nowait, piece)

        feeder = asyncio.create_task(self._feed())
        # Not of the loop's pool: one that waits for a slow API would keep others from working.
        threading.Thread(target=self._restore, args=(show,), daemon=True).start()
        try:
            while isinstance(piece := await shown.get(), str):
                yield piece
            if piece is not None:
                raise piece
        finally:
            feeder.cancel()
            await asyncio.gather(feeder, return_exceptions=True)

    async def _feed(self) -> None:
        """Hand each piece to the thread, then how it ended."""
        end: _Passed = None
        try:
            async for piece in self._pieces:
                self._given.put(piece)
        except BaseException as error:
            end = error
            if isinstance(error, asyncio.CancelledError):
                raise
        finally:
            self._given.put(end)

    def _restore(self, show: Callable[[_Passed], None]) -> None:
        try:
            stream = self._opened(self._received())
            for piece in stream:
                show(piece)
            self.extracted, self.note = stream.extracted, stream.note
            self.notes = stream.notes
            show(None)
        except BaseException as error:
            show(error)

    def _received(self) -> Iterator[str]:
        while (piece := self._given.get()) is not None:
            if isinstance(piece, BaseException):
                raise piece
            yield piece
