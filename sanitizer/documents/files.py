"""Opening a document by its format, and what all formats share."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import NamedTuple, Protocol

from sanitizer.documents.edits import Edit, apply_to_pieces
from sanitizer.errors import PolicyError

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


class Document(Protocol):
    """A document that was read.

    Attributes:
        text: all that it says, in order.
        suffix: suffix of the format that `save` writes.
    """

    @property
    def text(self) -> str: ...

    @property
    def suffix(self) -> str: ...

    def save(self, path: Path, edits: Sequence[Edit]) -> None:
        """Write the document with edits of its text in place. Once for each document."""


class Piece(NamedTuple):
    """A stretch of a document's text.

    Attributes:
        text: the characters.
        put: writes others in their place; None for what only separates.
    """

    text: str
    put: Callable[[str], None] | None = None


class PiecedDocument:
    """A document made of pieces, each of which knows its place in the file.

    Args:
        pieces: in order of reading.
        write: writes the file after the pieces were put.
        suffix: suffix of the format that is written.
    """

    def __init__(self, pieces: Sequence[Piece], write: Callable[[Path], None], suffix: str) -> None:
        self._pieces = pieces
        self._write = write
        self.suffix = suffix
        self.text = "".join(piece.text for piece in pieces)

    def save(self, path: Path, edits: Sequence[Edit]) -> None:
        """See `Document.save`."""
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
        raise ValueError(
            f'{suffix} files need {error.name}: pip install "dp-sanitizer[documents]"'
        ) from None
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
            f"the document holds {n_images} images, which are not read; remove them, or let them "
            'leave as they are with a policy of [wire] images = "pass"'
        )
