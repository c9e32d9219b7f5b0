"""Excel files: the cells of each sheet as a table, and what else is written in a workbook."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import date, datetime, time
from functools import partial
from pathlib import Path
from typing import Any

from openpyxl import load_workbook
from openpyxl.packaging.core import DocumentProperties
from openpyxl.packaging.custom import CustomPropertyList

from sanitizer.documents.files import Document, Piece, check_images, refused, target_pieces
from sanitizer.errors import PolicyError

_LITERAL = re.compile(r'"((?:[^"]|"")*)"')
_NUMBER = re.compile(r"-?(?:0|[1-9]\d{0,14})(?:\.\d+)?")
MAX_TITLE = 31  # characters of a sheet's name, by the format


def read(path: Path, images: bool) -> Document:
    """Read an .xlsx file; see `open_document`."""
    try:
        book = load_workbook(path)
    except Exception:  # the library raises what it meets: zip, XML, key and value errors
        raise PolicyError("the document is damaged, encrypted or of another format") from None
    if book._external_links or book.chartsheets:
        raise refused("a chart or links to other workbooks")
    pieces: list[Piece] = []
    titles = {sheet.title: sheet for sheet in book.worksheets}
    for title, sheet in titles.items():
        if sheet._charts or sheet._pivots:
            raise refused("a chart or a pivot table")
        check_images(len(sheet._images), images)
        pieces += [Piece(title, partial(_put_title, sheet)), Piece("\n")]
        pieces += _cells(sheet)
        pieces += _around(sheet)
    for name in book.defined_names.values():
        pieces += _literals(name.attr_text or "", partial(setattr, name, "attr_text"))

    def write(to: Path) -> None:
        book.properties = DocumentProperties()
        book.custom_doc_props = CustomPropertyList()
        for old, sheet in titles.items():
            if sheet.title != old:
                _rename(book, old, sheet.title)
            for table in sheet.tables.values():
                _name_columns(sheet, table)
        book.save(to)

    return Document(pieces, write, ".xlsx")


def _cells(sheet: Any) -> Iterator[Piece]:
    """Yield the cells of a sheet as the table they are, then what belongs to single cells."""
    beside: list[Piece] = []
    yield Piece("\n")
    for row in sheet.iter_rows():
        for number, cell in enumerate(row):
            if number:
                yield Piece("\t")
            if cell.data_type == "f":
                if not isinstance(cell.value, str):
                    raise refused("an array formula")
                beside += _literals(cell.value, partial(setattr, cell, "value"))
            elif cell.value is not None:
                is_time = isinstance(cell.value, datetime | date | time)
                shown = cell.value.isoformat() if is_time else str(cell.value)
                yield Piece(shown, partial(_put_cell, cell))
            beside += _beside(cell)
        yield Piece("\n")
    yield from (Piece("\n"), *beside)


def _beside(cell: Any) -> Iterator[Piece]:
    """Yield the comment and the link of a cell."""
    if cell.comment is not None:
        cell.comment.author = "author"
        yield Piece(cell.comment.text, partial(setattr, cell.comment, "text"))
        yield Piece("\n")
    if cell.hyperlink is not None:
        cell.hyperlink.tooltip = cell.hyperlink.display = None
        put = partial(setattr, cell.hyperlink, "target")
        yield from target_pieces(cell.hyperlink.target or "", put)


def _put_cell(cell: Any, text: str) -> None:
    was_text = isinstance(cell.value, str)
    if was_text and not cell.quotePrefix and _NUMBER.fullmatch(text):
        # A number that was taken out of its cell comes back as one.
        cell.value = float(text) if "." in text else int(text)
        return
    if was_text and _NUMBER.fullmatch(cell.value):
        cell.quotePrefix = True  # digits written as text stay text when they come back
    cell.value = text
    cell.data_type = "s"  # a text that begins with "=" is no formula


def _put_title(sheet: Any, text: str) -> None:
    sheet.title = re.sub(r"[\[\]:*?/\\]", "_", text)[:MAX_TITLE]


def _literals(formula: str, put: Callable[[str], None]) -> Iterator[Piece]:
    """Yield the texts inside a formula; the formula itself stays."""
    parts = _LITERAL.split(formula)  # every second one is a text
    texts = dict(enumerate(parts))

    def put_one(number: int, text: str) -> None:
        texts[number] = text.replace('"', '""')
        put("".join(f'"{each}"' if i % 2 else each for i, each in texts.items()))

    for number in range(1, len(parts), 2):
        yield Piece(parts[number].replace('""', '"'), partial(put_one, number))
        yield Piece("\n")


def _around(sheet: Any) -> Iterator[Piece]:
    """Yield headers, footers, choices and conditions of a sheet; filters are removed."""
    for kind in ("odd", "even", "first"):
        for where in ("Header", "Footer"):
            margin = getattr(sheet, f"{kind}{where}")
            for side in (margin.left, margin.center, margin.right):
                if side.text:
                    yield Piece(side.text, partial(setattr, side, "text"))
                    yield Piece("\n")
    for choice in sheet.data_validations.dataValidation:
        choice.prompt = choice.promptTitle = choice.error = choice.errorTitle = None
        for which in ("formula1", "formula2"):
            yield from _literals(getattr(choice, which) or "", partial(setattr, choice, which))
    for area in sheet.conditional_formatting:
        for rule in area.rules:
            rule.text = None
            for i, formula in enumerate(rule.formula):
                yield from _literals(formula, partial(rule.formula.__setitem__, i))
    sheet.auto_filter.filterColumn = []


def _rename(book: Any, old: str, new: str) -> None:
    """Let formulas name a sheet as it is called now."""
    named = re.compile(rf"'{re.escape(old)}'!|(?<![\w'.]){re.escape(old)}!")
    for sheet in book.worksheets:
        for row in sheet.iter_rows():
            for cell in row:
                if cell.data_type == "f":
                    cell.value = named.sub(lambda _: f"'{new}'!", cell.value)


def _name_columns(sheet: Any, table: Any) -> None:
    """Name a table's columns as the cells above them, or programs take the file for damaged."""
    cells = sheet[table.ref][0]
    for column, cell in zip(table.tableColumns, cells, strict=False):
        if table.headerRowCount != 0:
            column.name = str(cell.value)
