"""Fields: cells of tables and values of JSON, with the name of their column or key.

What a field holds is told by that name ("born", "salary", "diagnosis"), if it is public text. The
values themselves are not looked at.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from sanitizer.text.lexers import separator
from sanitizer.text.syntax import Piece

NAME_PARTS = re.compile(
    r"(?!(?<![A-Za-z])[QqHh][1-4](?![A-Za-z0-9]))"
    r"(?:[A-Z]+(?![a-z])|[A-Z]?[^\W\d_A-Z]+|[^\W\d_]+)"
)
"""Words of a name such as "firstName", "first_name_2" or "actual_q1", where "q1" is none."""
_RULE = re.compile(r"^[ \t]*\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)+\|?[ \t]*$", re.M)
_HEAD_ALONE = re.compile(
    r"^[ \t]*\|?[ \t]*[A-Za-z][\w .-]{0,30}(?:\|[ \t]*[A-Za-z][\w .-]{0,30})+\|?[ \t]*$", re.M
)
_CELL = re.compile(r"[^|\n]+")
_OF_COLUMNS = frozenset(
    "id no nr date time day year age qty quantity item note notes on at".split()
)
"""Last words of columns' names that tell no class."""
_KINDS = {
    "CONDITION": "diagnosis condition illness disease allergy allergies disability symptoms",
    "TREATMENT": "medication medications medicine drug drugs treatment prescription meds therapy",
    "BELIEF": "religion faith denomination confession party",
    "ORIGIN": "nationality ethnicity origin citizenship race",
    "SEXUALITY": "orientation sexuality",
    "CRIME": "offence offense conviction crime",
    "OCCUPATION": "job occupation profession position",
    "DATE": "dob birth born birthday birthdate geburtsdatum geboren naissance nacimiento",
    "MONEY": "salary income wage wages pay debt rent bonus earnings due paid owed owing balance "
    "arrears outstanding deposit refund loan credit overdraft salaries donation donations pledged "
    "gift budget actual revenue turnover spend spent profit premium excess commission payout fee "
    "fees amount price prices cost costs principal subtotal net gross expense expenses allowance "
    "surcharge fine fines tax payment payments sales gehalt lohn miete kaltmiete betrag umsatz "
    "preis kosten gewinn salaire loyer montant prix chiffre sueldo salario alquiler "
    "importe precio coste",
    "NUMBER": "age weight height wt ht bmi egfr glucose cholesterol pulse bp gpa iq hba ferritin "
    "creatinine sodium potassium tsh crp ldl hdl systolic diastolic dose "
    "rate margin discount pct percent percentage share stake absence absences interest",
    "ID": "ticket invoice ref reference claim room ssn phone mobile account iban passport licence "
    "license",
    "ORGANIZATION": "company employer organisation organization firm school hospital clinic "
    "insurer supplier vendor bank firma lieferant arbeitgeber entreprise fournisseur empresa "
    "proveedor",
    "PLACE": "city town address street county birthplace country location ort wohnort "
    "stadt stra\u00dfe adresse anschrift ville rue ciudad calle direcci\u00f3n",
    "PERSON": "name customer client patient employee student contact author owner tenant guest "
    "manager assignee applicant surname firstname lastname teacher doctor player member staff rep "
    "reps salesperson kunde kundin nachname vorname mitarbeiter patientin mieter nom pr\u00e9nom "
    "apellido apellidos cliente empleado paciente",
}
_KEY = "KEY"
"""Class of the rows' own numbers, before it is known whether another table names them."""
LISTED = "LISTED"
"""Class of a field that names a group or a state: its listed words stay."""
_KINDS[LISTED] = (
    "department departments dept team division section status priority category type currency unit "
    "month weekday day quarter severity stage channel method shift region territory market segment "
    "language sex gender"
)
_KIND_OF = {word: kind for kind, words in reversed(_KINDS.items()) for word in words.split()}
_PERIOD = re.compile(
    r"(?:[QT][1-4]|H[12]|S[12]|FY|KW ?[0-9]{1,2})(?:[ /-]?(?:FY)?'?(?:20)?[0-9]{2})?"
)
"""A name of a column that is a quarter, half or week of a year, in four languages."""
_PERSONS = frozenset("first last full middle given family maiden user legal preferred nick".split())
"""Words before "name" that say that it is a person's."""


@dataclass(frozen=True, slots=True)
class FieldSpan:
    """A cell or value: character offsets, and its class; "" where its name is public and tells
    none."""

    start: int
    end: int
    kind: str


class Fields:
    """The fields of one text whose names are public.

    Args:
        text: any string. code: its pieces, ascending.
        public: tells of a word of a name whether it may stay.

    Attributes:
        separators: stretches between the cells of a line, ascending; no name goes across one.
        names: names of columns of Markdown tables that stay, as offsets.

    Example:
        >>> fields = Fields("| guest | age |\\n|---|---|\\n| Ann | 9 |", (), lambda word: True)
        >>> fields.kind_at(29), fields.kind_at(35), fields.kind_at(2)
        ('PERSON', 'NUMBER', None)
    """

    def __init__(self, text: str, code: Sequence[Piece], public: Callable[[str], bool]) -> None:
        self._text, self._public = text, public
        self.separators: list[tuple[int, int]] = []
        self.names: list[tuple[int, int]] = []
        found = [*self._json(code), *self._csv(code), *self._piped()]
        keyed = any(each.kind == "ID" for each in found)  # another table may name these rows
        found = [replace(each, kind="ID" * keyed) if each.kind == _KEY else each for each in found]
        self._fields = sorted(found, key=lambda each: each.start)
        self._starts = [each.start for each in self._fields]
        self.separators.sort()

    def of_kinds(self, kinds: Collection[str]) -> frozenset[int]:
        """Return where fields of some classes begin."""
        return frozenset(each.start for each in self._fields if each.kind in kinds)

    def kind_at(self, place: int) -> str | None:
        """Return the class of the field at a place; "" if it tells none, None outside of fields."""
        i = bisect_right(self._starts, place) - 1
        return self._fields[i].kind if i >= 0 and place < self._fields[i].end else None

    def _named(self, start: int, end: int, name: str) -> Iterator[FieldSpan]:
        words = NAME_PARTS.findall(name)
        if words and all(map(self._public, words)):
            yield FieldSpan(start, end, _kind([word.lower() for word in words]))

    def _json(self, code: Sequence[Piece]) -> Iterator[FieldSpan]:
        name = ""
        for piece in code:
            if piece.language != "json":
                continue
            if piece.role == "name":
                name = self._text[piece.start : piece.end]
            elif name in ("first", "last") and self._text[piece.start].isupper():
                yield FieldSpan(
                    piece.start, piece.end, "PERSON"
                )  # as in {"name": {"last": "Storm"}}
            elif name:
                yield from self._named(piece.start, piece.end, name)

    def _csv(self, code: Sequence[Piece]) -> Iterator[FieldSpan]:
        names: list[str] = []
        line, column, mark, before = -1, 0, ",", -1
        for piece in code:
            if piece.language != "csv":
                continue
            begin = self._text.rfind("\n", 0, piece.start) + 1
            if begin != line:
                if piece.role == "name":
                    stop = self._text.find("\n", begin)
                    names, mark = [], separator(self._text[begin : stop if stop >= 0 else None])
                line, column, before = begin, 0, begin
            between = self._text[before : piece.start]
            column += between.count(mark)
            if column and mark in between:
                self.separators.append((before, piece.start))
            before = piece.end
            if piece.role == "name":
                names += [""] * (column + 1 - len(names))
                names[column] = self._text[piece.start : piece.end]
            elif column < len(names):
                yield from self._named(piece.start, piece.end, names[column])

    def _piped(self) -> Iterator[FieldSpan]:
        """Yield the cells of tables with a line below their head, as Markdown has, or without."""
        text = self._text
        if "|" not in text:
            return
        for rule in _RULE.finditer(text):
            head = text.rfind("\n", 0, max(0, rule.start() - 1)) + 1
            names = self._heads(head, rule.start())
            yield from self._rows(names, rule.end() + 1)
        for line in _HEAD_ALONE.finditer(text):
            names = [name.strip() for name in line.group().strip(" \t|").split("|")]
            parts = [NAME_PARTS.findall(name) for name in names]
            if not all(part and all(map(self._public, part)) for part in parts):
                continue
            told = sum(_tells([word.lower() for word in part]) for part in parts)
            if 2 * told >= len(names) and self._is_first(line.start(), line.end(), len(names)):
                names = self._heads(line.start(), line.end())
                rows = self._rows(names, line.end() + 1)
                yield from (each for each in rows if each.kind)  # others are judged as ever

    def _heads(self, start: int, end: int) -> list[str]:
        """Return the names of columns, and note where those are that stay."""
        heads = [cell.span() for cell in _CELL.finditer(self._text, start, end)]
        names = [self._text[slice(*span)].strip() for span in heads]
        self.names += [
            span
            for span, name in zip(heads, names, strict=True)
            if _PERIOD.fullmatch(name)
            or (name and all(map(self._public, NAME_PARTS.findall(name))))
        ]
        return names

    def _is_first(self, start: int, end: int, n_cells: int) -> bool:
        """Return True for the first line of a table of lines with as many cells."""
        text = self._text
        line = text[start:end].strip()
        before = text[text.rfind("\n", 0, max(0, start - 1)) + 1 : start]
        stop = text.find("\n", end + 1)
        after = text[end + 1 : stop if stop >= 0 else None].strip()
        same = after.count("|") == line.count("|") and not _RULE.fullmatch(after)
        return "|" not in before and same and n_cells > 1

    def _rows(self, names: Sequence[str], begin: int) -> Iterator[FieldSpan]:
        """Yield the cells of the lines from a place on, as long as they are of the table."""
        text = self._text
        while begin < len(text):
            stop = text.find("\n", begin)
            stop = len(text) if stop < 0 else stop
            cells = list(_CELL.finditer(text, begin, stop))
            if "|" not in text[begin:stop]:
                break
            inside = [cell for cell in cells if cell.group().strip()]
            self.separators += [(a.end(), b.start()) for a, b in pairwise(inside)]
            shift = 1 if text[begin:stop].lstrip().startswith("|") else 0
            cells = cells[1:] if shift and cells and not cells[0].group().strip() else cells
            for name, cell in zip([n for n in names if n], cells, strict=False):
                yield from self._named(*cell.span(), name)
            begin = stop + 1


def _tells(words: Sequence[str]) -> bool:
    """Return True if the words of a name are those of a column."""
    return bool(_kind(words)) or words[-1] in _OF_COLUMNS


def _kind(words: Sequence[str]) -> str:
    """Return the class that the words of a name tell, "" if they tell none."""
    if len(words) > 1 and words[-1] == "name":
        before = words[-2]
        if before in ("product", "project"):
            return "PRODUCT"
        return "PERSON" if before in _PERSONS else _KIND_OF.get(before, "")
    for word in reversed(words):
        if word in _KIND_OF:
            return _KIND_OF[word]
    if list(words) == ["id"]:
        return _KEY
    return "ID" if words[-1] in ("id", "number", "no") and len(words) > 1 else ""
