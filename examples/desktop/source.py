"""The text that is written. What is private is marked, what leaves all the same is underlined;
pointing at it shows what leaves.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, cast

from PySide6.QtCore import QEvent, Signal
from PySide6.QtGui import QColor, QHelpEvent, QResizeEvent, QTextCharFormat, QTextCursor
from PySide6.QtWidgets import QPlainTextEdit, QTextEdit, QToolTip, QWidget

if TYPE_CHECKING:
    from sanitizer import SanitizedText

LIGHT, DARK = "#ffe3b0", "#5a4312"  # grounds of marks; the text keeps the window's colour


@dataclass(frozen=True)
class Mark:
    """A stretch of what was written: where Qt counts it, and what leaves in its place; "" for what
    leaves as it was written though it may be private.
    """

    start: int
    end: int
    leaves: str


def marks(text: str, result: SanitizedText) -> list[Mark]:
    """Return where the replaced stretches are in the text as written.

    What lies between replacements is the same in both texts, so that lengths are enough. Qt counts
    in units of UTF-16.
    """
    found, at, units, end = [], 0, 0, 0
    for each in result.replacements:
        between = text[at : at + each.start - end]
        units += _units(between)
        length = _units(each.original)
        if each.original:
            found.append(Mark(units, units + length, each.replacement))
        at += len(between) + len(each.original)
        units, end = units + length, each.end
    return found


def noticed(text: str, result: SanitizedText) -> list[Mark]:
    """Return what leaves as it was written: needed, or a sensitive fact in everyday words."""
    found = [(each.start, each.end) for each in result.left]
    found += [(each.start, each.end) for each in result.warnings]
    return [Mark(_units(text[:start]), _units(text[:end]), "") for start, end in found]


def _units(text: str) -> int:
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


class SourceText(QPlainTextEdit):
    """Where the person writes. Only marks in view are drawn, so that long texts stay quick."""

    marked = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._marks: list[Mark] = []
        self._noticed: list[Mark] = []
        self.verticalScrollBar().valueChanged.connect(self._draw)

    def show_marks(self, found: list[Mark], noticed: list[Mark]) -> None:
        """Mark the first and underline the others, in place of those before."""
        self._marks, self._noticed = found, noticed
        self._draw()
        self.marked.emit()

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802 - the base class names it so
        """Draw the marks that came into view."""
        super().resizeEvent(event)
        self._draw()

    def changeEvent(self, event: QEvent) -> None:  # noqa: N802 - the base class names it so
        """Draw again when the colours of the window change."""
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange:
            self._draw()

    def event(self, event: QEvent) -> bool:
        """Say of a stretch under the pointer what leaves in its place."""
        if event.type() != QEvent.Type.ToolTip:
            return bool(super().event(event))
        hint = cast(QHelpEvent, event)
        place = self.cursorForPosition(self.viewport().mapFrom(self, hint.pos())).position()
        QToolTip.showText(hint.globalPos(), self.hint(place), self)
        return True

    def hint(self, place: int) -> str:
        """Return what leaves in place of the stretch at a position; "" where nothing is marked."""
        number = bisect_right([mark.start for mark in self._marks], place) - 1
        if number < 0 or place > self._marks[number].end:
            stays = any(each.start <= place <= each.end for each in self._noticed)
            return "<span>Leaves as you wrote it</span>" if stays else ""
        return f"<span>Leaves as “{escape(self._marks[number].leaves)}”</span>"

    def _draw(self) -> None:
        first = self.firstVisibleBlock().position()
        last = self.cursorForPosition(self.viewport().rect().bottomRight()).position()
        starts = [mark.start for mark in self._marks]
        visible = self._marks[
            max(0, bisect_left(starts, first) - 1) : bisect_right(starts, last + 1)
        ]
        noticed = [mark for mark in self._noticed if mark.start <= last and mark.end >= first]
        self.setExtraSelections([self._selection(mark) for mark in [*visible, *noticed]])

    def _selection(self, mark: Mark) -> QTextEdit.ExtraSelection:
        selection, cursor = QTextEdit.ExtraSelection(), QTextCursor(self.document())
        cursor.setPosition(mark.start)
        cursor.setPosition(mark.end, QTextCursor.MoveMode.KeepAnchor)
        dark = self.palette().base().color().lightness() < 128
        if mark.leaves:
            selection.format.setBackground(QColor(DARK if dark else LIGHT))
        else:
            selection.format.setUnderlineStyle(QTextCharFormat.UnderlineStyle.WaveUnderline)
            selection.format.setUnderlineColor(QColor("#ff7b6b" if dark else "#c0261c"))
        selection.cursor = cursor
        return selection
