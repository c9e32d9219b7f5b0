"""Identifiers that the conversation knows already, found wherever they stand in a text.

What a finder takes for an identifier depends on what stands next to it: "a078-05-1120b" is a number
to nobody. Once one is in the table of the conversation, it is hidden there too. So is what reads as
a placeholder of the conversation ("Person 48213-1"): in an answer it would be restored. Only texts
that are the user's are searched; what an API wrote or could know is never compared with the table.
"""

from __future__ import annotations

import re
import threading
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterator, Mapping
from decimal import Decimal, InvalidOperation
from itertools import islice

from sanitizer.answers import Restorer
from sanitizer.detect import is_everyday
from sanitizer.storage import Originals
from sanitizer.text import CLASSES

Span = tuple[int, int, str]
Kinds = Callable[[Collection[str]], Mapping[str, str]]
"""Function: forms -> the class of each that is a thing of the conversation."""

PREFIX = 3
"""Characters by which an identifier is looked for, and the fewest that it has."""
SURE = 8
"""Letters and digits of an identifier that is found inside of longer words and numbers too."""
LONG = 5
"""Letters and digits of an ID that is told apart where no detector reads."""
MAX_NUMBER = 40
"""Characters of the longest number that is compared by its value."""

_SPACED = re.compile(
    r"(?<![\w.,])\(?\+?[0-9](?:[ ()./-]{0,2}[0-9]){6,19}(?![\w]|[.,][0-9])", re.ASCII
)
"""A number that is long enough to be one identifier, however its digits are grouped."""
_NUMERIC = re.compile(r"[0-9eE\s().+/-]*[0-9][0-9eE\s().+/-]*", re.ASCII)
_ROLES = frozenset(["NUMBER", "DATE", "MONEY"])  # private by their role, and so not linked


class KnownIdentifiers:
    """The identifiers of one conversation; safe for many threads.

    Kept up to date with the vault's `Originals`, which are never copied: each call of `follow`
    looks at new ones only.

    Args:
        kinds: tells the class of an original.
        detected: classes whose things are for a detector, which says where each stands. All by
            default.
    """

    def __init__(self, kinds: Kinds, detected: Collection[str] | None = None) -> None:
        self._kinds_of = kinds
        self._detected = CLASSES if detected is None else detected
        self._lock = threading.Lock()
        self._clear(Originals())

    def _clear(self, source: Originals) -> None:
        self._source = source
        self._restorer = Restorer(source, links=None)
        self._n_seen = 0
        self._kinds: dict[str, str] = {}
        self._numbers: dict[str, str] = {}
        self._prefixes: set[str] = set()
        self._firsts: set[str] = set()
        self._begin: re.Pattern[str] | None = None
        self._lengths: tuple[int, ...] = ()

    def follow(self, originals: Originals) -> None:
        """Add the originals that are new since the last call."""
        if originals is self._source and len(originals) == self._n_seen:
            return
        with self._lock:
            if originals is not self._source:
                self._clear(originals)
            new = _after(originals, self._n_seen)
            self._n_seen += len(new)
            n_firsts = len(self._firsts)
            wanted = {form: value for value, form in new if value not in originals.drawn}
            for form, kind in self._kinds_of(wanted).items():
                if self._is_told_apart(form, kind):
                    self._add(form, kind)
                    self._numbers |= dict.fromkeys(_spellings(form), form)
            if len(self._firsts) > n_firsts:
                firsts = "".join(sorted(self._firsts))
                self._begin = re.compile(f"[{re.escape(firsts)}]")

    def _is_told_apart(self, form: str, kind: str) -> bool:
        """Return True if a form means the same thing wherever it stands."""
        if kind in _ROLES or len(form) < PREFIX or kind in self._detected:
            return False
        if kind in CLASSES and sum(map(str.isalnum, form)) < LONG:
            return False
        return not (form.isalpha() and is_everyday(form))

    def _add(self, form: str, kind: str) -> None:
        self._kinds[form] = kind
        self._prefixes.add(form[:PREFIX])
        self._firsts.add(form[0])
        if len(form) not in self._lengths:
            self._lengths = tuple(sorted({*self._lengths, len(form)}, reverse=True))

    def spans(self, text: str) -> list[Span]:
        """Return (start, end, class) of what is found, ascending and apart; the longest wins."""
        found = [(start, end, "TEXT") for start, end in self._restorer.spelled(text)]
        for some in (self._found(text), self._grouped(text)):
            apart = [span for span in some if not _overlaps(span, found)]
            found = sorted([*found, *apart])
        return found

    def _found(self, text: str) -> Iterator[Span]:
        begin = self._begin
        if begin is None:
            return
        done = 0
        for match in begin.finditer(text):
            at = match.start()
            if at < done or text[at : at + PREFIX] not in self._prefixes:
                continue
            if (form := self._longest(text, at)) is not None:
                done = at + len(form)
                yield at, done, self._kinds[form]

    def _grouped(self, text: str) -> Iterator[Span]:
        """Yield numbers whose digits are those of an identifier, in other groups."""
        if not self._numbers:
            return
        for match in _SPACED.finditer(text):
            if (form := self.number(match[0])) is not None:
                yield *match.span(), self._kinds[form]

    def number(self, spelling: str) -> str | None:
        """Return the identifier that a JSON number is; None for any other."""
        return next((self._numbers[s] for s in _spellings(spelling) if s in self._numbers), None)

    def kind(self, form: str) -> str:
        """Return the class of an identifier."""
        return self._kinds[form]

    def _longest(self, text: str, at: int) -> str | None:
        """Return the longest form that occurs here on its own, or is sure."""
        for length in self._lengths:
            form = text[at : at + length]
            if (kind := self._kinds.get(form)) is None:
                continue
            sure = kind not in CLASSES and sum(map(str.isalnum, form)) >= SURE
            if sure or not (_joined(text, at) or _joined(text, at + length)):
                return form
        return None


def _overlaps(span: Span, found: list[Span]) -> bool:
    """Return True if a span touches one of those found, which are ascending and apart."""
    at = bisect_left(found, span)
    return (at < len(found) and found[at][0] < span[1]) or (at > 0 and span[0] < found[at - 1][1])


def _joined(text: str, at: int) -> bool:
    """Return True if a place is inside of a word or of a number."""
    if not 0 < at < len(text):
        return False
    before, after = text[at - 1], text[at]
    return (before.isalpha() and after.isalpha()) or (before.isdigit() and after.isdigit())


def _after(originals: Originals, n_seen: int) -> list[tuple[str, str]]:
    """Return the pairs that were added after the first `n_seen`."""
    # Counted from the end, since there may be many before; again if another thread adds meanwhile.
    while True:
        n = len(originals)
        new = list(islice(reversed(originals.items()), max(0, n - n_seen)))
        if len(originals) == n:
            return new[::-1]


def _spellings(text: str) -> set[str]:
    """Return what a number is compared by: its digits, and its value; nothing if it is none."""
    if len(text) > MAX_NUMBER or not _NUMERIC.fullmatch(text):
        return set()
    found = {re.sub(r"[^0-9]", "", text).lstrip("0") or "0"} if "e" not in text.lower() else set()
    try:
        value = abs(Decimal(text))
    except InvalidOperation:
        return found
    if abs(value.adjusted()) < MAX_NUMBER:
        found.add(f"{value.normalize():f}")
    return found
