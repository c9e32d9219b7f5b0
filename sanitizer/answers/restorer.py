"""Restoring: released values become originals again, by exact match, in texts and in streams."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import NamedTuple

from sanitizer.answers import formulas
from sanitizer.answers.asking import ASKS, BEGINS
from sanitizer.answers.links import DEFUSED, MAY_LINK, LinkReader, Links
from sanitizer.answers.values import Reader
from sanitizer.answers.variants import Found, Variants
from sanitizer.storage.table import Originals

BEFORE = 8
"""Characters before a text that tell whether a value begins there."""

_ALL_LINKS = Links()
_BARE = re.compile(r"[A-Z]+(?:_[A-Z]+)*(?:_[0-9]+)+_?")
"""A placeholder as code has it."""


_OF_NAMES = re.compile(r"\W*(?:PERSON|ORGANIZATION)(?:_[0-9]+)+>?\Z")
_NAME = re.compile(r"[^\W\d_]+(?:[ '’-]{1,2}[^\W\d_]+)*")
_CAPITAL = re.compile(r"(?<!\w)[A-Z][a-z]")
_BEFORE_CODE, _IN_CODE = frozenset("@/_#.=:\\$-"), re.compile(r"[@/_#=\\$]|[.:-]\w")
"""What stands before and behind the name of a user, a file or a program."""
_LONGEST_AFTER = 2


class Part(NamedTuple):
    """Stretch of an answer.

    Attributes:
        text: the stretch as it came.
        original: the original if the stretch is a released value, else None.
    """

    text: str
    original: str | None = None


def joined(parts: Iterable[Part]) -> str:
    """Return parts as they are shown."""
    return "".join([part.text if part.original is None else part.original for part in parts])


class Restorer:
    """Mapping of released values to originals, applied to texts.

    It scans from the left; where several released values match, the longest wins. Each stretch is
    replaced once: an original that looks like a released value stays as it is, and so does what an
    answer asks for (`[need <MONEY_1>]`). Placeholders are
    found escaped too, and stand-ins that were drawn with endings and in any case; values inside
    links stay as they are, unless the link was sent.

    >>> restorer = Restorer({"<EMAIL_1>": "anna@example.org"})
    >>> restorer.text("I wrote to <EMAIL_1>, yes, to &lt;EMAIL_1&gt;.")
    'I wrote to anna@example.org, yes, to anna@example.org.'
    >>> restorer.text("![](https://example.com/?q=<EMAIL_1>)")
    '![](https://example.com/?q=<EMAIL_1>)'

    Args:
        originals: released value -> original; no released value is empty. `Originals` are used as
            they are, and what is added to them later is restored too; other mappings are copied.
        links: tells what stands in links; None restores there too.
        escaped: find other spellings of placeholders.
        computes: what `formulas` says of values is computed, where `guard` finds no other link.
        capitals: names that were typed in lower case come back with capitals where the answer is
            prose that uses them.
    """

    def __init__(
        self,
        originals: Mapping[str, str],
        links: Links | None = _ALL_LINKS,
        escaped: bool = True,
        computes: bool = False,
        capitals: bool = False,
    ) -> None:
        self.originals = originals if isinstance(originals, Originals) else Originals(originals)
        self.links, self.guard = links, links or _ALL_LINKS
        self.computes, self.capitals = computes, capitals
        self._variants = Variants(self.originals, escaped)
        self._values: tuple[Reader, int] | None = None

    def text(self, text: str) -> str:
        """Return a whole text with originals."""
        return joined(self.parts(text)[0])

    def stream(self) -> RestoredStream:
        """Return a stream that restores one text which comes in pieces, however it is split."""
        return RestoredStream(self)

    def parts(
        self,
        text: str,
        final: bool = True,
        before: str = "",
        reader: LinkReader | None = None,
        style: Style | None = None,
        came: str = "",
    ) -> tuple[list[Part], str]:
        """Return the text in parts, and its end that may become a released value.

        Args:
            final: no more text comes, so that no end is held back.
            before: the last characters of the answer before it.
            reader: has read the answer before it, and reads what is returned in parts.
            came: the answer before it, as far as it may hold a link: then no formula is computed.
                Of a text that goes on the first formula is held back, with all behind it.
        """
        style = style or Style(self.capitals)
        if reader is None and self.links is not None:
            reader = self.links.reader()
        whole = came + text if final else came
        computes = self.computes and not self.guard.holds_other(whole)
        end = len(text) if final else self._shown_to(text, before, computes)
        finders: list[_Finder] = [
            partial(self._exact, text, final=final, before=before),
            partial(self._variants.find, text, before=before),
            partial(_asked, text),
            *([partial(self._formula, text, final=final)] if computes else ()),
            *([partial(_definition, text)] if reader is not None else ()),
        ]
        parts: list[Part] = []
        done = at = read = 0
        ahead = _Ahead(finders)
        while (found := ahead.next(at)) is not None and found.start < end:
            at = found.start
            if reader is not None:
                reader.read(text[read:at])
                read = at
            written, after = text[at : found.end], text[found.end : found.end + _LONGEST_AFTER]
            waits = len(after) < _LONGEST_AFTER and style.has_name(written, found.original)
            stays: bool | None = False
            if found.end == at or (waits and not final):  # may grow: a longer one, a name of code
                stays = None
            elif reader is not None:
                stays = _stays(reader, text, found, final)
                read = found.end
            if stays:
                at = found.end
                continue
            style.read(text[done:at])
            parts.append(Part(text[done:at]))
            if stays is None:
                return parts, text[at:]
            parts.append(Part(written, style.shown(written, found.original, after)))
            done = at = found.end
        end = max(end, done)
        style.read(text[done:end])
        if reader is not None:
            reader.read(text[read:end])
        return [*parts, Part(text[done:end])], text[end:]

    def _shown_to(self, text: str, before: str, computes: bool) -> int:
        """Return where the end of a text that goes on may become a released value, or the like."""
        begun = BEGINS.search(text)
        return min(
            self._variants.grows_from(text, before),
            begun.start() if begun else len(text),
            len(text) - (formulas.longest_begun(text) if computes else 0),
        )

    def notes(self) -> tuple[str, ...]:
        """Return a note for each thing that was drawn, also where the draw equals the original.

        >>> from sanitizer.storage.table import Drawn
        >>> drawn = Originals({Drawn("gout", 5.0): "asthma"})
        >>> Restorer(drawn).notes()[0][:50]
        'the model was told "gout" where you wrote "asthma"'
        """
        pairs = [(told, self.originals[told]) for told in tuple(self.originals.drawn)]
        return tuple(
            f'the model was told "{told}" where you wrote "{wrote}": what it says of {told} may '
            f"not hold for {wrote}"
            for told, wrote in pairs
        )

    def spelled(self, text: str) -> list[tuple[int, int]]:
        """Return where a text has placeholders of the conversation, however they are spelled.

        Those are left out that only a table without the conversation's number has.
        """
        return [(found.start, found.end) for found in self._variants.tagged(text)]

    def _exact(self, text: str, at: int, final: bool, before: str) -> Found | None:
        """Return the first value at or after a place; an empty one where one may grow."""
        first = self.originals.first
        while first is not None and (found := first.search(text, at)) is not None:
            at = found.start()
            if not final and self._may_grow(text, at):
                return Found(at, at, "")
            if (pair := self._longest(text, at, before)) is not None:
                return Found(at, at + len(pair[0]), pair[1])
            at += 1
        return None

    def _longest(self, text: str, at: int, before: str) -> tuple[str, str] | None:
        """Return the longest released value that begins at `at`, and its original.

        A placeholder of code counts as a whole name or between underscores: "GRID_1" holds no ID_1.
        Values that are words have rules of their own.
        """
        for length in self.originals.lengths:
            value = text[at : at + length]
            original = self.originals.get(value)
            if original is None or value in self.originals.drawn or value in self.originals.names:
                continue
            around = (text[at - 1] if at else before[-1:]) + text[at + length : at + length + 1]
            if _BARE.fullmatch(value) is None or not any(c.isalnum() for c in around):
                return value, original
        return None

    def _may_grow(self, text: str, at: int) -> bool:
        """Return True if the rest of the text may be the beginning of a longer released value."""
        if len(text) - at > self.originals.lengths[0]:
            return False
        rest = text[at:]
        bare = rest in self.originals and _BARE.fullmatch(rest) is not None
        return bare or rest in self.originals.beginnings

    def _formula(self, text: str, at: int, final: bool) -> Found | None:
        """Return the first formula at or after a place that can be shown; an empty one to wait."""
        while (at := text.find(formulas.OPENS, at)) >= 0:
            closing = formulas.closing(text, at)
            if closing >= 0:
                written = text[at : closing + len(formulas.CLOSES)]
                if not final and formulas.is_one(written, self.originals):
                    return Found(at, at, "")
                if final and (result := self._result(written)) is not None:
                    return Found(at, at + len(written), result)
            elif not final and len(text) - at <= formulas.LONGEST:
                return Found(at, at, "")
            at += len(formulas.OPENS)
        return None

    def has_formula(self, held: str) -> bool:
        """Return True if what is held back of a text begins with a whole formula."""
        stop = formulas.closing(held, 0) if held.startswith(formulas.OPENS) else -1
        return stop >= 0 and formulas.is_one(held[: stop + len(formulas.CLOSES)], self.originals)

    def _result(self, written: str) -> str | None:
        """Return what is shown of a formula; values are read once until others are added."""
        if self._values is None or self._values[1] != len(self.originals):
            self._values = Reader(self.originals), len(self.originals)
        result = formulas.compute(written, self.originals, self.text, self._values[0])
        if result is None and (plain := formulas.plainly(written)) is not None:
            return self.text(plain)
        return result


def _stays(reader: LinkReader, text: str, found: Found, final: bool) -> bool | None:
    """Return True if what was found stays as it came, and read it; None if more must come first."""
    written = text[found.start : found.end]
    if found.original is DEFUSED:
        defines = reader.defines(text[found.start :], final)
        stays = None if defines is None else not defines
    else:
        stays = reader.holds(written, found.original, text[found.end :], final)
    # Only a value glued to the user's own link can change where that leads.
    if stays is False and text.startswith("<", found.end) and MAY_LINK.search(found.original):
        reader.read_restored(found.original, written)
    elif stays is not None:
        reader.read(written)
    return stays


def _definition(text: str, at: int) -> Found | None:
    """Return where the first label of a definition may end, at or after a place."""
    ends = text.find("]", at)
    while ends >= 0 and text[ends + 1 : ends + 2] not in ("", ":"):
        ends = text.find("]", ends + 1)
    return Found(ends, ends + 2, DEFUSED) if ends >= 0 else None


def _asked(text: str, at: int) -> Found | None:
    """Return the first request for a value at or after a place: it is shown as it came."""
    found = ASKS.search(text, at)
    return Found(found.start(), found.end(), found[0]) if found else None


_Finder = Callable[[int], Found | None]
"""Function (place) -> the first of something at or after it."""


class _Ahead:
    """The first of what several functions find in one text; each searches for the next one once."""

    def __init__(self, finders: Iterable[_Finder]) -> None:
        self._found = [(find, find(0)) for find in finders]

    def next(self, at: int) -> Found | None:
        """Return the first from a place on; of several there, what the first function finds."""
        self._found = [
            (find, find(at) if found is not None and found.start < at else found)
            for find, found in self._found
        ]
        return min((f for _, f in self._found if f), key=lambda f: f.start, default=None)


class Style:
    """How an answer is written so far: with capitals or without, in code or not."""

    def __init__(self, capitals: bool) -> None:
        self._restores = capitals
        self._n_ticks, self._last = 0, ""
        self._has_letters = self._has_capitals = False

    def read(self, text: str) -> None:
        """Read what comes next of the answer, stand-ins left out."""
        self._n_ticks += text.count("`")
        self._has_letters = self._has_letters or any(map(str.isalpha, text))
        whole = self._last + text
        self._has_capitals = self._has_capitals or _CAPITAL.search(whole) is not None
        self._last = whole[-2:]

    def has_name(self, written: str, original: str) -> bool:
        """Return True for a name that was typed in lower case."""
        is_lower = self._restores and original.islower() and _OF_NAMES.match(written)
        return bool(is_lower and _NAME.fullmatch(original))

    def shown(self, written: str, original: str, after: str) -> str:
        """Return an original as prose shows it: with capitals a name typed in lower case.

        Args:
            written: what stood for it. after: the characters behind it.
        """
        if not self.has_name(written, original):
            return original
        beside = self._last[-1:] in _BEFORE_CODE or _IN_CODE.match(after)
        in_code = self._n_ticks % 2 or beside
        if in_code or (self._has_letters and not self._has_capitals):
            return original
        return formulas.titled(original)


class RestoredStream:
    """Stream that restores one text; it holds back only what may become a released value.

    Of a text with formulas everything from the first one on is held back until it ends: a link that
    came behind a result would be asked for or not by what is hidden.

    >>> stream = Restorer({"<EMAIL_1>": "anna@example.org"}).stream()
    >>> stream.feed("to <EM"), stream.feed("AIL_1>."), stream.finish()
    ('to ', 'anna@example.org.', '')

    Attributes:
        held: what was fed and cannot be shown yet, as it came.
        waits: a formula came, so that nothing is shown until the text ends.
    """

    def __init__(self, restorer: Restorer) -> None:
        self.held, self.waits = "", False
        self._restorer = restorer
        self._came, self._link = list[str](), ""
        self._before = ""
        self._reader = None if restorer.links is None else restorer.links.reader()
        self._style = Style(restorer.capitals)

    def feed(self, piece: str) -> str:
        """Feed one piece; return the text that can be shown now."""
        return joined(self.parts(piece))

    def finish(self) -> str:
        """End the stream; return the text still held back."""
        return joined(self.parts("", final=True))

    def parts(self, piece: str, final: bool = False) -> list[Part]:
        """Feed one piece, the last one if it is final; return the parts that can be shown now."""
        text = self.held + piece
        if self.waits and not final:
            self.held = text
            return []
        restorer = self._restorer
        came = "".join(self._came) if final else self._link
        state = (self._before, self._reader, self._style, came)
        parts, self.held = restorer.parts(text, final, *state)
        if restorer.computes and not final:
            self._came.append(text[: len(text) - len(self.held)])
            if restorer.has_formula(self.held):
                came = "".join(self._came)
                self.waits = not restorer.guard.holds_other(came)
                self._link = "" if self.waits else "//"
        self._before = (self._before + text[: len(text) - len(self.held)])[-BEFORE:]
        return parts
