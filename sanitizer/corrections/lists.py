"""What memories of corrections say, where they are named, and the lists of contacts and customers
that they take in: CSV tables and vCards.

The memories themselves are loaded only where there is one. Of contacts full names, nicknames,
firms, mail addresses and telephone numbers are taken. A single word of everyday language ("Rose")
is left out, since it would be hidden in every text.
"""

from __future__ import annotations

import csv
import os
import quopri
import re
import threading
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from sanitizer.detect.view import is_everyday
from sanitizer.storage.table import same_thing
from sanitizer.text.words import word_spans

if TYPE_CHECKING:
    from sanitizer.corrections.memory import Corrections

VARIABLE = "SANITIZER_CORRECTIONS"
"""Environment variable with the paths of memories, separated as in PATH; the first is one's own."""
NAMES = frozenset(
    "name|full name|display name|contact|contact name|customer|customer name|client|client name|"
    "account|account name|company|company name|organization|organisation|organization name|firm|"
    "nickname|supplier|vendor|patient|employee|"
    "kunde|kundenname|firma|unternehmen|anzeigename|spitzname|"
    "nom complet|client|soci\u00e9t\u00e9|entreprise|nombre completo|cliente|empresa".split("|")
)
"""Heads of columns whose cells are names."""
FIRST = frozenset("first name|given name|firstname|forename|vorname|pr\u00e9nom|nombre".split("|"))
LAST = frozenset(
    "last name|family name|lastname|surname|nachname|familienname|nom|apellido|apellidos".split("|")
)
_OTHERS = re.compile(
    r"e-?mails?( address(es)?)?( \d+( - value)?)?|(home|work|mobile|business)? ?(tele)?phones?"
    r"( numbers?)?( \d+( - value)?)?|mobile( number)?|telefon|handy|t\u00e9l\u00e9phone"
)
_VCARD = ("FN", "NICKNAME", "ORG", "EMAIL", "TEL")
_ESCAPED = re.compile(r"\\(.)", re.S)
LEAST = 3
"""Letters and digits of the shortest phrase that is taken."""


@dataclass(frozen=True)
class Listed:
    """What memories say at one time.

    Attributes:
        hidden: phrases that go to the vault wherever they occur, in any case.
        kept: phrases that leave as they are, where they are written like this.
        mark: tells lists apart; follows from them and a secret, so that it tells nothing of them.
    """

    hidden: frozenset[str] = field(default=frozenset(), repr=False)
    kept: frozenset[str] = field(default=frozenset(), repr=False)
    mark: str = ""


class Memories:
    """Several memories read as one, a user's and a team's: what one of them hides is hidden.

    Args:
        memories: the first is one's own, and takes what is added.
    """

    def __init__(self, memories: Sequence[Corrections]) -> None:
        self.memories, self.own = tuple(memories), memories[0]
        self._lock = threading.Lock()
        self._seen: tuple[list[Listed], Listed] | None = None

    def current(self) -> Listed:
        """Return what all of them say now; the same object while nothing changes."""
        found = [memory.current() for memory in self.memories]
        with self._lock:
            if self._seen is None or [id(a) for a in self._seen[0]] != [id(b) for b in found]:
                hidden = frozenset[str]().union(*(each.hidden for each in found))
                folded = {same_thing(phrase) for phrase in hidden}
                kept = frozenset[str]().union(*(each.kept for each in found))
                kept = frozenset(phrase for phrase in kept if same_thing(phrase) not in folded)
                self._seen = found, Listed(hidden, kept, " ".join(each.mark for each in found))
            return self._seen[1]


def memories_of(
    corrections: Corrections | Memories | str | Path | Sequence[str | Path] | None,
) -> Memories | None:
    """Return the memories that an argument names; None if there are none.

    Args:
        corrections: a memory, the path of one or several; None: those of the environment variable
            SANITIZER_CORRECTIONS; an empty sequence: none.

    Raises:
        ValueError, VaultError: as `Corrections`.
    """
    if isinstance(corrections, Memories):
        return corrections
    if corrections is None:
        named = os.environ.get(VARIABLE, "")
        corrections = [path for path in named.split(os.pathsep) if path]
    if isinstance(corrections, Sequence) and not corrections:
        return None
    # Encryption takes a while to import, so only where there is a memory.
    from sanitizer.corrections.memory import Corrections

    if isinstance(corrections, Corrections):
        return Memories([corrections])
    paths = [corrections] if isinstance(corrections, str | Path) else corrections
    return Memories([Corrections(path) for path in paths])


@dataclass(frozen=True)
class Contacts:
    """What a file holds: phrases to hide, and how many cells are everyday words or too short."""

    phrases: tuple[str, ...] = field(repr=False)
    n_left_out: int


def contacts_in(path: Path, columns: Sequence[str] = ()) -> Contacts:
    """Read a table (.csv, .tsv) with heads, or vCards (.vcf), in UTF-8.

    Args:
        columns: heads of the columns that are taken; default those that are known.

    Raises:
        ValueError: another kind of file, not UTF-8, or no known column. No message quotes the file.
        OSError: the file cannot be read.
    """
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError:
        raise ValueError("contacts must be UTF-8; export or convert them so") from None
    if path.suffix.lower() in (".vcf", ".vcard"):
        found = list(_in_cards(text))
    elif path.suffix.lower() in (".csv", ".tsv", ".txt"):
        found = list(_in_table(text, [name.casefold().strip() for name in columns]))
    else:
        raise ValueError("contacts must be a .csv, .tsv or .vcf file")
    cells = list(dict.fromkeys(" ".join(cell.split()) for cell in found if cell.strip()))
    phrases = tuple(cell for cell in cells if _tells(cell))
    return Contacts(phrases, len(cells) - len(phrases))


def _tells(cell: str) -> bool:
    """Return True for a phrase that is worth hiding wherever it stands."""
    words = [cell[a:b] for a, b in word_spans(cell)]
    if sum(map(str.isalnum, cell)) < LEAST or not words:
        return False
    return len(words) > 1 or not is_everyday(words[0])


def _in_table(text: str, columns: Sequence[str]) -> Iterator[str]:
    head = text.partition("\n")[0]
    delimiter = max(",;\t", key=head.count)
    rows = csv.reader(text.splitlines(keepends=True), delimiter=delimiter)
    heads = [cell.casefold().strip() for cell in next(rows, [])]
    known = columns or [name for name in heads if name in NAMES or _OTHERS.fullmatch(name)]
    taken = [i for i, name in enumerate(heads) if name in known]
    firsts, lasts = ([i for i, name in enumerate(heads) if name in own] for own in (FIRST, LAST))
    pair = [firsts[0], lasts[0]] if firsts and lasts and not columns else []
    if (not taken and not pair) or set(columns) - set(heads):
        raise ValueError("the table has no such column; name its headers with --column")
    for row in rows:
        cells = dict(enumerate(row))
        yield from (cells.get(i, "") for i in taken)
        if pair:
            yield " ".join(cells.get(i, "") for i in pair)


def _in_cards(text: str) -> Iterator[str]:
    """Yield the values of vCards, versions 2.1 to 4.0."""
    if "BEGIN:VCARD" not in text.upper():
        raise ValueError("the file holds no vCard")
    for line in _unfolded(text.splitlines()):
        head, colon, value = line.partition(":")
        name, *parameters = head.upper().split(";")
        name = name.rpartition(".")[2]  # without its group: "item1.EMAIL"
        if not colon or name not in (*_VCARD, "N"):
            continue
        if any("QUOTED-PRINTABLE" in each for each in parameters):
            value = quopri.decodestring(value.encode()).decode("utf-8", "replace")
        parts = [_ESCAPED.sub(r"\1", part).strip() for part in re.split(r"(?<!\\);", value)]
        if name == "N":
            yield " ".join(part for part in [*parts[1:2], *parts[:1]] if part)
        elif name == "ORG":
            yield parts[0]
        elif name == "NICKNAME":
            yield from (_ESCAPED.sub(r"\1", each) for each in re.split(r"(?<!\\),", value))
        else:
            value = _ESCAPED.sub(r"\1", value)
            yield re.sub(r"(?i)^(?:tel|mailto):", "", value)


def _unfolded(lines: Iterable[str]) -> Iterator[str]:
    """Yield the lines of a vCard, continued ones joined."""
    held = ""
    for line in lines:
        soft = held.endswith("=") and "QUOTED-PRINTABLE" in held.upper()
        if soft or (held and line[:1] in (" ", "\t")):
            held = held[:-1] + line if soft else held + line[1:]
            continue
        yield from [held] * bool(held)
        held = line
    yield from [held] * bool(held)
