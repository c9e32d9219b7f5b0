"""The last stage: an answer restored, and rewritten for its prompt if an extractor is set."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from sanitizer.answers.extractors import (
    LOST,
    NO_PROMPT,
    NO_RELEASED,
    NO_WORDS,
    NOTHING,
    EndedEarly,
    Extractor,
    LmExtractor,
    NotExtracted,
    RestoredAnswer,
    original_prompt,
    replaced_words,
)
from sanitizer.answers.lexical import WordMap
from sanitizer.answers.restorer import Part, Restorer
from sanitizer.lm import Models
from sanitizer.results import SanitizedText
from sanitizer.text import Policy

NAMED = ("lexical", "lm")


def extractor_for(
    wanted: Extractor | str | None, models: Models, trusted_extractor_host: bool = False
) -> Extractor | str | None:
    """An extractor by name or URL; "lexical" and None stay as they are.

    Raises:
        ValueError: an unknown name, or a URL that is not of this machine. TypeError: no extractor.
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
        from sanitizer.answers.extractors import RemoteExtractor

        return RemoteExtractor(wanted, trusted_extractor_host=trusted_extractor_host)
    if not callable(getattr(wanted, "rewrite", None)):
        raise TypeError(
            f"extractor must be a name, a URL, or have a method rewrite, got {type(wanted).__name__}"
        )
    return wanted


@dataclass(frozen=True)
class AnswerContext:
    """How one answer is put right.

    Attributes:
        restorer: of the conversation's identifiers. extractor: as `extractor_for` gives it.
        prompts: what the answer may speak of, the one it answers last.
        policy: under which they were sanitized.
    """

    restorer: Restorer
    extractor: Extractor | str | None
    prompts: tuple[SanitizedText, ...]
    policy: Policy

    def note(self) -> str | None:
        """Why there is nothing to extract; None if there is, or if nobody asked."""
        if self.extractor is None:
            return None
        if not self.prompts:
            return NO_PROMPT
        asked = self.prompts if self.extractor == "lexical" else self.prompts[-1:]
        return None if any(map(replaced_words, asked)) else NO_WORDS


class AnswerStream(Iterator[str]):
    """An answer as the user reads it, piece by piece.

    Attributes:
        extracted, note: as `RestoredAnswer`; settled once the last piece has come.
    """

    def __init__(self, pieces: Iterable[str], way: AnswerContext, whole: bool = False) -> None:
        self.extracted, self.note = False, way.note()
        self._way, self._whole = way, whole
        if way.extractor is None or self.note is not None:
            shown = self._plain(pieces)
        elif isinstance(way.extractor, str):
            shown = self._mapped(pieces)
        else:
            shown = self._rewritten(pieces, way.extractor)
        self._shown = filter(None, shown)

    def __next__(self) -> str:
        return next(self._shown)

    def answer(self) -> RestoredAnswer:
        """All that is left of it, as one string."""
        text = "".join(self)
        return RestoredAnswer(text, self.extracted, self.note)

    def _plain(self, pieces: Iterable[str]) -> Iterator[str]:
        """Identifiers restored, and nothing else."""
        stream = self._way.restorer.stream()
        yield from map(stream.feed, pieces)
        yield stream.finish()

    def _mapped(self, pieces: Iterable[str]) -> Iterator[str]:
        """Words mapped between the identifiers."""
        mapped = WordMap(self._way.prompts, self._way.policy).stream()
        for part in self._parts(pieces):
            if part.original is None:
                yield mapped.feed(part.text)
            else:
                yield mapped.finish() + part.original
        yield mapped.finish()
        self.extracted = mapped.n_mapped > 0
        self.note = None if self.extracted else NO_RELEASED

    def _rewritten(self, pieces: Iterable[str], extractor: Extractor) -> Iterator[str]:
        """What the extractor writes; as it came, if that fails or loses an identifier."""
        noisy = "".join(pieces)
        identifiers = {part.text for part in self._parts([noisy]) if part.original is not None}
        written = extractor.rewrite(original_prompt(self._way.prompts[-1]), self._draft(noisy))
        text = ""
        stream = self._way.restorer.stream()
        try:
            for piece in written:
                text += piece
                if not (self._whole or identifiers):  # else it is looked at before it is shown
                    yield stream.feed(piece)
        except EndedEarly as error:
            self.note = str(error)
        except NotExtracted as error:
            self.note = str(error)
            text = text if not (self._whole or identifiers) else ""
        if text and all(value in text for value in identifiers):
            self.extracted = True
            yield self._way.restorer.text(text) if self._whole or identifiers else stream.finish()
            return
        self.note = self.note or (LOST if text else NOTHING)
        yield self._way.restorer.text(noisy)

    def _draft(self, noisy: str) -> str:
        """The answer with its words mapped, identifiers as the API wrote them."""
        mapped = WordMap(self._way.prompts[-1:], self._way.policy).stream()
        parts = [
            mapped.feed(part.text) if part.original is None else mapped.finish() + part.text
            for part in self._parts([noisy])
        ]
        return "".join([*parts, mapped.finish()])

    def _parts(self, pieces: Iterable[str]) -> Iterator[Part]:
        stream = self._way.restorer.stream()
        for piece in pieces:
            yield from stream.parts(piece)
        yield from stream.last_parts()
