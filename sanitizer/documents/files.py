"""Opening a document by its format, edits of its text, and what all formats share."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from difflib import SequenceMatcher
from importlib import import_module
from itertools import accumulate
from pathlib import Path
from typing import NamedTuple

from sanitizer.errors import PolicyError, plural, to_install
from sanitizer.results import SanitizedText

MAX_BYTES = 50_000_000
"""Largest document that is opened; unpacked parts may be as large together."""
FORMATS = {
    ".docx": "sanitizer.documents.office",
    ".pptx": "sanitizer.documents.office",
    ".xlsx": "sanitizer.documents.sheets",
    ".eml": "sanitizer.documents.mail",
    ".pdf": "sanitizer.documents.mail",
}
"""Suffix -> module with `read(path, images)`, which is imported when needed."""
UNREADABLE = (".doc", ".xls", ".ppt", ".docm", ".xlsm", ".pptm", ".odt", ".ods", ".odp", ".msg")
"""Formats that are told apart from text, and refused by name."""
_TOKENS = re.compile(r"\w+|\W")


class Edit(NamedTuple):
    """New characters for a stretch of a text, by character offsets before any edit."""

    start: int
    end: int
    text: str

    def shifted(self, by: int) -> Edit:
        """Return the edit in a longer text, in which this one begins at `by`."""
        return Edit(self.start + by, self.end + by, self.text)


def edits_of(original: str, result: SanitizedText) -> list[Edit]:
    """Return what was replaced in a text as edits of the original, ascending."""
    pairs = zip(result.covered, result.replacements, strict=True)
    edits = [Edit(start, end, each.replacement) for (start, end), each in pairs]
    if applied(original, edits) != result.text:
        raise ValueError("original must be the text that was sanitized")
    return edits


def edits_between(before: Sequence[str], after: Sequence[str]) -> list[Edit]:
    """Return edits that make one list of lines of another, each within a cell between tabs.

    Args:
        before, after: as many lines each; offsets count one character between lines.

    >>> edits_between(["Dear <PERSON_1>,", "hello"], ["Dear Anna,", "hello"])
    [Edit(start=5, end=15, text='Anna')]
    >>> edits_between(["<A_1>\\t<B_1>"], ["Anna\\tLeeds"])
    [Edit(start=0, end=5, text='Anna'), Edit(start=6, end=11, text='Leeds')]
    """
    edits: list[Edit] = []
    at = 0
    for old, new in zip(before, after, strict=True):
        cells, others = old.split("\t"), new.split("\t")
        if len(cells) != len(others):  # a stand-in of several cells, or a value with a tab in it
            cells, others = [old], [new]
        for cell, other in zip(cells, others, strict=True):
            if cell != other:
                edits += [edit.shifted(at) for edit in _line_edits(cell, other)]
            at += len(cell) + 1
    return edits


def _line_edits(old: str, new: str) -> list[Edit]:
    words, others = _TOKENS.findall(old), _TOKENS.findall(new)
    starts = list(accumulate(map(len, words), initial=0))
    edits: list[Edit] = []
    for tag, i, j, k, m in SequenceMatcher(None, words, others, autojunk=False).get_opcodes():
        if tag == "equal":
            continue
        start, text = starts[i], "".join(others[k:m])
        if edits and edits[-1].end >= start - 1:
            # A character between two edits belongs to a stand-in such as <PERSON_1>.
            last = edits.pop()
            start, text = last.start, last.text + old[last.end : start] + text
        edits.append(Edit(start, starts[j], text))
    return edits


def applied(text: str, edits: Sequence[Edit]) -> str:
    """Return a text after its edits."""
    return "".join(apply_to_pieces([text], edits))


def apply_to_pieces(pieces: Sequence[str], edits: Sequence[Edit]) -> list[str]:
    """Return the pieces of a text after edits of the whole.

    What is new stands in the piece in which the edit begins; other pieces lose what was replaced
    in them, so that each keeps its place, and a document its layout.

    Args:
        pieces: which together are the text.
        edits: ascending, not overlapping.

    >>> apply_to_pieces(["Dear An", "na", ", hello"], [Edit(5, 9, "<PERSON_1>")])
    ['Dear <PERSON_1>', '', ', hello']
    """
    found: list[str] = []
    start = n_edit = 0
    for number, piece in enumerate(pieces):
        end = start + len(piece)
        is_last = number == len(pieces) - 1
        shown: list[str] = []
        at = start
        while n_edit < len(edits) and (edits[n_edit].start < end or is_last):
            edit = edits[n_edit]
            shown.append(piece[at - start : max(edit.start - start, at - start)])
            if edit.start >= start:
                shown.append(edit.text)
            at = max(at, min(edit.end, end))
            if edit.end > end and not is_last:
                break  # the next piece loses the rest of it
            n_edit += 1
        shown.append(piece[at - start :])
        found.append("".join(shown))
        start = end
    return found


class Piece(NamedTuple):
    """A stretch of a document; `put` writes others in its place, None for what only separates."""

    text: str
    put: Callable[[str], None] | None = None


class Document:
    """A document that was read, made of pieces, each of which knows its place in the file.

    Args:
        pieces: in order of reading.
        write: writes the file after the pieces were put.

    Attributes:
        text: all that it says, in order. suffix: of the format that `save` writes.
    """

    def __init__(self, pieces: Sequence[Piece], write: Callable[[Path], None], suffix: str) -> None:
        self._pieces = pieces
        self._write = write
        self.suffix = suffix
        self.text = "".join(piece.text for piece in pieces)

    def save(self, path: Path, edits: Sequence[Edit]) -> None:
        """Write the document with edits of its text in place. Once for each document."""
        new = apply_to_pieces([piece.text for piece in self._pieces], edits)
        for piece, text in zip(self._pieces, new, strict=True):
            if piece.put is not None and text != piece.text:
                piece.put(text)
        self._write(path)


def is_document(path: Path) -> bool:
    """Return True if a file is read as a document, not as text, by its suffix.

    >>> is_document(Path("letter.DOCX")), is_document(Path("letter.txt"))
    (True, False)
    """
    return path.suffix.lower() in (*FORMATS, *UNREADABLE)


def open_document(path: Path, images: bool = False) -> Document:
    """Read a document.

    Guarantee: every text of the file is in `text`, or is removed when it is written, or the
    document is refused. Not protected: layout, names of styles and bookmarks, and with `images`
    what images show.

    Args:
        images: True if images may stay as they are; otherwise a document with any is refused.

    Raises:
        PolicyError: the format or something in the document cannot be read.
        ValueError: the extra "documents" is not installed.
        OSError: the file cannot be read.
    """
    suffix = path.suffix.lower()
    if suffix not in FORMATS:
        raise PolicyError(f"{suffix} files cannot be read; save it as one of {', '.join(FORMATS)}")
    if path.stat().st_size > MAX_BYTES:
        raise PolicyError(f"a document must have at most {MAX_BYTES} bytes")
    try:
        document: Document = import_module(FORMATS[suffix]).read(path, images)
    except ImportError as error:
        told = f"{suffix} files need {error.name}: {to_install('documents')}"
        raise ValueError(told) from None
    return document


def target_pieces(target: str, put: Callable[[str], None]) -> Iterator[Piece]:
    """Yield where a link leads, as a line of its own.

    Programs take a file with other characters in an address for damaged, so they are escaped. An
    address of mail is shown without its scheme: it is no link that sends what it holds.
    """
    start = len("mailto:") if target[:7].lower() == "mailto:" else 0

    def put_escaped(new: str) -> None:
        put(target[:start] + new.replace("<", "%3C").replace(">", "%3E").replace(" ", "%20"))

    yield Piece(target[start:].replace("%3C", "<").replace("%3E", ">"), put_escaped)
    yield Piece("\n")


def refused(what: str) -> PolicyError:
    """Return the error for something in a document that is not read."""
    return PolicyError(f"the document holds {what}, which cannot be sanitized; remove it first")


def check_images(n_images: int, images: bool) -> None:
    """Raise PolicyError for images, unless they may stay."""
    if n_images and not images:
        raise PolicyError(
            f"the document holds {plural(n_images, 'image')}; images are not read: remove them, or "
            'let them leave as they are with a policy of [wire] images = "pass"'
        )
