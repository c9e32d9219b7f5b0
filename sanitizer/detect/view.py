"""The view of a text: what every reader of it sees, and the hidden runs that only one reader sees.

A word is visible if its written form is on the list of everyday words of the text's language or of
English. Hidden words that stand together are one run, and every run is one slot of the view. Code
keeps its syntax and names of fields, which follow from punctuation, fixed sets of words and a
name's own words. Escaped letters are decoded before words are found.

Guarantee: a run that is replaced by another hidden run (or an identifier by another of its kind)
leaves the view as it is, byte for byte (docs/guarantees.md, "Local reading").
"""

from __future__ import annotations

import html
import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote_to_bytes

from sanitizer.errors import ModelError
from sanitizer.lm.files import Manifest, model_folder
from sanitizer.progress import pulse
from sanitizer.text.layout import ROW, Layer, Layout
from sanitizer.text.prompt import merged
from sanitizer.text.syntax import Piece, is_code_word
from sanitizer.text.words import folded, overlapping, straight, word_spans

RUN = "run"
"""Kind of a slot that stands for hidden words; every other kind is one of identifiers."""
ENGLISH = "en"
_JOINS = re.compile(r"[ \u00a0\u202f./&_'’ʼ\u2010\u2011\u2013-]|\. | & ")
_JOINS_DIGITS = frozenset(".,:")
"""What parts two hidden words of one run; and two that meet with digits."""
_OPENS = re.compile(r"[.!?…:;•>|\"“„«。！？؟\n][\"'“„«(*_#\s-]*\Z")
"""What is between words where the second opens a sentence, a line or an item."""
_NO_BLANKS = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]"
)
"""Letters of scripts that put no blanks between words."""
_APOSTROPHE = re.compile("['’ʼ]+")
_LONGEST_GAP = 24
"""Characters before a word that are looked at for whether it opens."""
_LEAST_LINE = 4
"""Function words from which a line has a language of its own."""
_LOWER, _ANY = "l", "a"
_NAME_PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[^\W\d_A-Z]+|[^\W\d_]+")
"""Words of a name such as "firstName" or "first_name_2"."""
_FENCE = re.compile(r"(?m)^[ \t>]*(?:`{3,}|~{3,})[ \t]*([\w+-]{1,20})")
_ESCAPED = re.compile(
    r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|"
    r"\\u[0-9a-fA-F]{4}|\\x[0-9a-fA-F]{2}|&#(?:[0-9]{2,7}|x[0-9a-fA-F]{2,6});|&[A-Za-z]{2,8};|"
    r"(?:%[0-9a-fA-F]{2})+|(?:=[0-9A-F]{2})+"
)


class Word(NamedTuple):
    """One word, as offsets in its text, or in its run."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Language:
    """The everyday words of one language.

    Attributes:
        code: ISO 639-1 code. words: word in lower case, or its exact written form -> "" if it is
            visible in lower case, where a sentence opens and in capitals; "l" if in lower case
            only; "a" if in every case.
        functions: words visible in every text, by which the language is told.
        least: share of function words from which a text is in this language.
    """

    code: str
    words: Mapping[str, str]
    functions: frozenset[str]
    least: float

    @classmethod
    def read(cls, path: Path) -> Language:
        """Read a language's file: its least share, its function words, a blank line, the others."""
        lines = path.read_text("utf-8").split("\n")
        body = [line for line in lines if not line.startswith("#")]
        end = body.index("")
        entries = (line.partition("\t") for line in [*body[1:end], *body[end + 1 :]] if line)
        words = {word: flag for word, _, flag in entries}
        functions = frozenset(word.partition("\t")[0] for word in body[1:end])
        return cls(path.stem, words, functions, float(body[0]))

    def shows(self, word: str, opens: bool) -> bool:
        """Return True if this written form is visible in a text of the language.

        Args:
            opens: a sentence, line or item opens with it, judged by layout.
        """
        if word in self.words:
            return True
        flag = self.words.get(plain(word))
        if flag is None or flag == _LOWER:
            return False
        if word.isupper() and len(word) > 1:
            return len(word) > 3
        return (flag == _ANY and len(word) > 1) or (opens and _is_capitalized(word))


def plain(word: str) -> str:
    """Return the form in which words are listed: lower case, straight apostrophes, NFC."""
    return word.lower() if word.isascii() else straight(folded(word))


@cache
def languages() -> Mapping[str, Language]:
    """Return all languages by code; raise ModelError if a list is missing or damaged."""
    folder = model_folder("languages")
    manifest = Manifest.read(folder)
    manifest.verify()
    names = [name for name in manifest.data["files"] if name.endswith(".txt")]
    try:
        return {name[:-4]: Language.read(folder / name) for name in sorted(names)}
    except (OSError, ValueError):
        raise ModelError("a list of a language cannot be read") from None


@cache
def _functions() -> Mapping[str, tuple[str, ...]]:
    """Function word -> the languages that have it."""
    found: dict[str, tuple[str, ...]] = {}
    for code, language in languages().items():
        for word in language.functions:
            found[word] = (*found.get(word, ()), code)
    return found


@dataclass(frozen=True, slots=True)
class View:
    """What everybody may see of a text.

    Attributes:
        shown: visible text around the slots, one stretch more than there are slots.
        slots: in order, the kind of what each stands for: that alone is seen.
        words: visible words: number of the stretch, and offsets in it.
        language: of the text, None if it has none of those with a list.
    """

    shown: tuple[str, ...]
    slots: tuple[str, ...]
    words: tuple[tuple[int, Word], ...]
    language: str | None


@dataclass(frozen=True, slots=True)
class Run:
    """Hidden words that stand together; they are read in sight of the view alone.

    Attributes:
        written: their characters. words: offsets in `written`; empty for an identifier, which is
            not read.
    """

    written: str = field(repr=False)
    words: tuple[Word, ...]


@dataclass(frozen=True, slots=True)
class Parted:
    """A text as a view and its runs.

    Attributes:
        view: what everybody may see. runs: one for each slot of the view. starts: offset of each
            run in the text. gaps: offset of each visible stretch in the text.
    """

    view: View
    runs: tuple[Run, ...]
    starts: tuple[int, ...]
    gaps: tuple[int, ...]


def parted(
    text: str,
    identifiers: Sequence[tuple[int, int, str]] = (),
    declared: Sequence[tuple[int, int]] = (),
    cells: Sequence[int] = (),
) -> Parted:
    """Part a text into what is visible and what is hidden.

    Args:
        identifiers: (start, end, kind) of what is hidden as a whole, ascending, apart.
        declared: stretches that are visible whatever they hold, ascending, apart from those.
        cells: where cells of a table begin, ascending; no run goes across one of these, nor over
            a declared stretch.

    Raises:
        ModelError: a list is missing or damaged.
    """
    words, shown = _words(text, identifiers, declared)
    language = _show(text, words, shown)
    borders = sorted([*cells, *(end for _, end in declared)])
    runs = _runs(text, words, shown, identifiers, borders)
    return _with_view(text, runs, words, shown, language)


class _Stretch(NamedTuple):
    start: int
    end: int
    kind: str
    words: tuple[Word, ...]


def _words(
    text: str, taken: Sequence[tuple[int, int, str]], declared: Sequence[tuple[int, int]]
) -> tuple[list[Word], set[Word]]:
    """Return the words of a text outside of what is taken, and those in declared stretches.

    None crosses a border of a stretch.
    """
    found: list[Word] = []
    shown: set[Word] = set()
    at = 0
    wholes = [(start, end, True) for start, end, _ in taken]
    wholes += [(start, end, False) for start, end in declared]
    for start, end, hidden in [*sorted(wholes), (len(text), len(text), True)]:
        found += [Word(at + a, at + b) for a, b in word_spans(text[at:start])]
        if not hidden:
            inside = [Word(start + a, start + b) for a, b in word_spans(text[start:end])]
            found += inside
            shown.update(inside)
        at = end
    return found, shown


@dataclass(slots=True)
class _Line:
    """Function words of a line by language, and stretches of other words between them."""

    hits: Counter[str] = field(default_factory=Counter)
    n_stretches: int = 0


class _Told(NamedTuple):
    """A word as it is written, whether it opens a sentence by layout, and its line's number."""

    word: Word
    written: str
    opens: bool
    line: int


def _told(text: str, words: Sequence[Word]) -> tuple[list[_Told], list[_Line]]:
    """Return the words of a text with their lines."""
    functions = _functions()
    told: list[_Told] = []
    lines = [_Line()]
    last, inside = 0, False
    for number, word in enumerate(words):
        if "\n" in text[last : word.start]:
            lines.append(_Line())
            inside = False
            pulse()
        written = text[word.start : word.end]
        gap = text[max(last, word.start - _LONGEST_GAP) : word.start]
        opens = not number or _OPENS.search(gap) is not None
        last = word.end
        told.append(_Told(word, written, opens, len(lines) - 1))
        shows = written.islower() or (opens and _is_capitalized(written))
        its = functions.get(plain(written), ()) if shows else ()
        lines[-1].hits.update(its)
        lines[-1].n_stretches += not its and not inside
        inside = not its
    return told, lines


def _show(text: str, words: list[Word], shown: set[Word]) -> str | None:
    """Add the visible words and return the language; split hidden words at their apostrophes."""
    told, lines = _told(text, words)
    hits = sum((line.hits for line in lines), Counter[str]())
    language = _language(hits, sum(line.n_stretches for line in lines), 1)
    active = [_active(language, line) for line in lines]
    parts: list[Word] = []
    for word, written, opens, line in told:
        if word in shown:
            parts.append(word)
            continue
        if len(parts) % 1000 == 999:
            pulse()
        for part in [word] if _shows(active[line], written, opens) else _split(text, word):
            first = opens and part.start == word.start
            if _shows(active[line], text[part.start : part.end], first):
                shown.add(part)
            parts.append(part)
    words[:] = parts
    return language


def _active(language: str | None, line: _Line) -> tuple[Language, ...]:
    """Return the lists by which words of a line are visible: English, the text's, the line's."""
    codes = {ENGLISH, language or ENGLISH}
    codes.add(_language(line.hits, line.n_stretches, _LEAST_LINE) or ENGLISH)
    return tuple(languages()[code] for code in sorted(codes))


def _language(hits: Mapping[str, int], n_stretches: int, least: int) -> str | None:
    """Return the language with most function words, if they are enough; English needs one."""
    if not hits:
        return None
    code = max(hits, key=lambda each: (hits[each], each == ENGLISH, each))
    if code == ENGLISH and least == 1:
        return code
    share = hits[code] / (hits[code] + n_stretches)
    return code if hits[code] >= least and share >= languages()[code].least else None


def _shows(active: Iterable[Language], written: str, opens: bool) -> bool:
    shows = written.islower() or (opens and _is_capitalized(written))
    return (shows and plain(written) in _functions()) or any(
        language.shows(written, opens) for language in active
    )


def _is_capitalized(word: str) -> bool:
    return len(word) == 1 or word[1:].islower()


def _split(text: str, word: Word) -> list[Word]:
    """Return the parts of a word between its apostrophes."""
    parts, at = [], word.start
    for mark in _APOSTROPHE.finditer(text, word.start, word.end):
        parts.append(Word(at, mark.start()))
        at = mark.end()
    return [*parts, Word(at, word.end)]


def _runs(
    text: str,
    words: Sequence[Word],
    shown: set[Word],
    identifiers: Sequence[tuple[int, int, str]],
    cells: Sequence[int],
) -> list[_Stretch]:
    """Return hidden runs and identifiers in order."""
    found = [_Stretch(*span, ()) for span in identifiers]
    run: list[Word] = []
    for word in words:
        if word in shown:
            continue
        if run and not _joined(text, run[-1], word, cells):
            found.append(_Stretch(run[0].start, run[-1].end, RUN, tuple(run)))
            run = []
        run.append(word)
    if run:
        found.append(_Stretch(run[0].start, run[-1].end, RUN, tuple(run)))
    return sorted(found)


def _joined(text: str, word: Word, following: Word, cells: Sequence[int]) -> bool:
    border = bisect_right(cells, word.end)
    if border < len(cells) and cells[border] <= following.start:
        return False
    gap = text[word.end : following.start]
    if _JOINS.fullmatch(gap):
        return True
    digits = text[word.end - 1].isdecimal() and text[following.start].isdecimal()
    return digits and gap in _JOINS_DIGITS


def _with_view(
    text: str,
    stretches: Sequence[_Stretch],
    words: Sequence[Word],
    shown: set[Word],
    language: str | None,
) -> Parted:
    ends = [0, *(each.end for each in stretches)]
    starts = [*(each.start for each in stretches), len(text)]
    visible: list[tuple[int, Word]] = []
    number = 0
    for word in words:
        if word not in shown:
            continue
        while word.start >= starts[number]:
            number += 1
        visible.append((number, Word(word.start - ends[number], word.end - ends[number])))
    view = View(
        tuple(text[a:b] for a, b in zip(ends, starts, strict=True)),
        tuple(each.kind for each in stretches),
        tuple(visible),
        language,
    )
    runs = [
        Run(text[s.start : s.end], tuple(Word(a - s.start, b - s.start) for a, b in s.words))
        for s in stretches
    ]
    return Parted(view, tuple(runs), tuple(starts[:-1]), tuple(ends))


def is_everyday(word: str) -> bool:
    """Return True if a word is on the list of any language, in whatever case it is written."""
    return plain(word) in _everyday()


@cache
def _everyday() -> frozenset[str]:
    return frozenset(word for language in languages().values() for word in language.words)


def has_no_blanks(written: str) -> bool:
    """Return True for a word of a script that puts no blanks between words."""
    return _NO_BLANKS.search(written) is not None


def _syntax(text: str, parts: Sequence[Piece]) -> list[tuple[int, int]]:
    """Return the stretches of code that stay: keywords, tags, and names of everyday words."""
    found = [tag.span(1) for tag in _FENCE.finditer(text)]
    for piece in parts:
        name = text[piece.start : piece.end]
        if piece.role in ("keyword", "tag") or (
            piece.role == "name"
            and (is_code_word(name, piece) or all(map(is_everyday, _NAME_PARTS.findall(name))))
        ):
            found.append((piece.start, piece.end))
    return sorted(found)


def _cells(text: str, parts: Sequence[Piece]) -> list[int]:
    """Return where the cells of tables begin, ascending: no run goes across.

    Where a line has a blank behind its commas, one without is a part of a number: "Lund, £2,310".
    """
    found = []
    for piece in parts:
        if piece.language == "csv":
            begin = max(text.rfind(end, 0, piece.start) for end in ("\n", r"\n"))
            line = text[begin + 1 : piece.start]
            if text[piece.start - 1 : piece.start] != "," or ", " not in line:
                found.append(piece.start)
    return found


@dataclass(frozen=True, slots=True)
class Decoded:
    """A text whose escaped letters are letters, and where each of its characters came from.

    Attributes:
        text: decoded. origins: offset of each character, and of the end; empty if nothing changed.
    """

    text: str
    origins: tuple[int, ...]

    @classmethod
    def of(cls, text: str, also: Sequence[tuple[int, int, str]] = ()) -> Decoded:
        r"""Decode what is escaped as in JSON, HTML, addresses and mail, and what else is said.

        >>> Decoded.of(r"\u0410\u043d\u043d\u0430 &#1054; M=C3=BCller").text
        'Анна О Müller'
        """
        parts: list[str] = []
        origins: list[int] = []
        at = 0
        found = [(*m.span(), letters) for m in _ESCAPED.finditer(text) if (letters := _meant(m[0]))]
        for start, end, letters in sorted([*found, *also], key=lambda each: (each[0], -each[1])):
            if start < at:
                continue
            parts += [text[at:start], letters]
            origins += range(at, start)
            origins += [start] * len(letters)
            at = end
        if not parts:
            return cls(text, ())
        parts.append(text[at:])
        return cls("".join(parts), (*origins, *range(at, len(text) + 1)))

    def origin(self, offset: int) -> int:
        """Return where an offset of the decoded text is in the original."""
        return self.origins[offset] if self.origins else offset

    def outside(self, spans: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
        """Return stretches of the decoded text as stretches of the original."""
        return [(self.origin(start), self.origin(end)) for start, end in spans]

    def inside(self, spans: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
        """Return stretches of the original as stretches of the decoded text."""
        if not self.origins:
            return list(spans)
        return [(bisect_left(self.origins, a), bisect_left(self.origins, b)) for a, b in spans]


@dataclass(frozen=True, slots=True)
class Opened:
    """A text parted into what is visible and what is hidden.

    Attributes:
        text: as it is written. parted: the decoded text. decoded: with the way back. shown: what is
            visible whatever it holds, as offsets in the text. closed: the same, and what is hidden
            as a whole. code: what stays as syntax. pieces: all code of the text.
    """

    text: str = field(repr=False)
    parted: Parted
    decoded: Decoded
    shown: tuple[tuple[int, int], ...]
    closed: tuple[tuple[int, int], ...]
    code: tuple[tuple[int, int], ...]
    pieces: tuple[Piece, ...]


def opened(
    text: str,
    taken: Sequence[tuple[int, int, str]] = (),
    declared: Sequence[tuple[int, int]] = (),
    layout: Layout | None = None,
) -> Opened:
    """Part a text as it is read.

    Args:
        taken: (start, end, kind) of what is hidden as a whole, ascending, apart.
        declared: stretches that are visible whatever they hold, ascending, apart from those.
        layout: how its lines are read, if not as they are written.

    Raises:
        ModelError: a list is missing or damaged.
    """
    rows = ROW.finditer(text) if layout is not None else ()
    cells = [row.start() + i for row in rows for i, sign in enumerate(row[0], 1) if sign == ","]
    layout = layout or Layout((Layer(text, None, ()),))
    parts = layout.pieces()
    wholes = [(start, end) for start, end, _ in taken]
    closed = merged([*wholes, *declared])
    code = [span for span in merged(_syntax(text, parts)) if not overlapping(closed, *span)]
    shown = merged([*declared, *code])
    margins = [(start, end, "") for start, end in layout.margins]
    decoded = Decoded.of(text, (*layout.escapes, *margins))
    spans = decoded.inside(wholes)
    hidden = [(a, b, kind) for (a, b), (_, _, kind) in zip(spans, taken, strict=True)]
    borders = [a for a, _ in decoded.inside([(at, at) for at in (*cells, *_cells(text, parts))])]
    found = parted(decoded.text, hidden, decoded.inside(shown), borders)
    closed = merged([*closed, *code])
    stays = merged([*code, *layout.margins])
    return Opened(text, found, decoded, shown, closed, stays, parts)


def _meant(escape: str) -> str:
    """Return what an escape stands for, "" if it is none.

    Of `=20` and `%20` letters only: a sum or a share may be written so.
    """
    if escape[0] == "&":
        found = html.unescape(escape)
    elif escape[0] == "\\":
        units = b"".join(int(part[1:], 16).to_bytes(2) for part in escape.split("\\")[1:])
        found = units.decode("utf-16-be", "replace")
    else:
        found = unquote_to_bytes(escape.replace("=", "%")).decode("utf-8", "replace")
        found = found if found.isalpha() else ""
    return found if found != escape else ""
