"""A read-only text with marked replacements; pointer or cursor on one shows its original."""

from __future__ import annotations

import time
from collections.abc import Iterator
from html import escape
from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, Qt, QTimer, Signal
from PySide6.QtGui import QColor, QTextCharFormat, QTextCursor
from PySide6.QtWidgets import QPlainTextEdit, QToolTip, QWidget

from .sentences import is_drawn

if TYPE_CHECKING:
    from sanitizer import Replacement, SanitizedText

TURN_SECONDS = 0.02  # how long one turn may write before the window answers the person again
LIGHT = {"drawn": "#0b57a4", "kept": "#8a3b00"}  # on a light ground: at least 7:1 against white
DARK = {"drawn": "#8cc4ff", "kept": "#ffb977"}
UNDERLINES = {
    "drawn": QTextCharFormat.UnderlineStyle.SingleUnderline,
    "kept": QTextCharFormat.UnderlineStyle.DashUnderline,
}


class MarkedText(QPlainTextEdit):
    """The text that would leave. Long texts are written in turns, so that the window stays
    responsive.
    """

    written = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setReadOnly(True)
        by_keys = Qt.TextInteractionFlag.TextSelectableByKeyboard
        self.setTextInteractionFlags(by_keys | Qt.TextInteractionFlag.TextSelectableByMouse)
        self.setUndoRedoEnabled(False)
        self.cursorPositionChanged.connect(self._point)
        self._result: SanitizedText | None = None
        self._pieces: Iterator[tuple[str, Replacement | None]] = iter(())
        self._turn = QTimer(self)
        self._turn.timeout.connect(self._write)

    def show_result(self, result: SanitizedText | None) -> None:
        """Replace what is shown; `written` is emitted when all of it is."""
        self._result = result
        self._pieces = _pieces(result) if result else iter(())
        self.clear()
        self._turn.start()

    @property
    def is_written(self) -> bool:
        """True once all of it is shown."""
        return not self._turn.isActive()

    def changeEvent(self, event: QEvent) -> None:  # noqa: N802 - the base class names it so
        """Mark again when the colours of the window change."""
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange and self._result:
            self.show_result(self._result)

    def _point(self) -> None:
        """Show the pointer's hint to people who move the cursor by keys."""
        if self.hasFocus():
            place = self.viewport().mapToGlobal(self.cursorRect().bottomRight())
            QToolTip.showText(place, self.textCursor().charFormat().toolTip(), self)

    def _write(self) -> None:
        cursor, end = QTextCursor(self.document()), time.monotonic() + TURN_SECONDS
        cursor.movePosition(QTextCursor.MoveOperation.End)
        cursor.beginEditBlock()
        for text, replacement in self._pieces:
            cursor.insertText(text, self._format(replacement))
            if time.monotonic() > end:
                break
        else:
            self._turn.stop()
        cursor.endEditBlock()
        if self.is_written:
            self.moveCursor(QTextCursor.MoveOperation.Start)
            self.written.emit()

    def _format(self, replacement: Replacement | None) -> QTextCharFormat:
        form = QTextCharFormat()
        if replacement is not None:
            kind = "drawn" if is_drawn(replacement) else "kept"
            colors = DARK if self.palette().base().color().lightness() < 128 else LIGHT
            form.setForeground(QColor(colors[kind]))
            form.setUnderlineStyle(UNDERLINES[kind])
            form.setToolTip(_why(replacement))
        return form


def _pieces(result: SanitizedText) -> Iterator[tuple[str, Replacement | None]]:
    """Yield the text in order, piece by piece: Qt counts characters differently, so offsets stop
    here.
    """
    end = 0
    for replacement in result.replacements:
        yield result.text[end : replacement.start], None
        yield replacement.replacement, replacement
        end = replacement.end
    yield result.text[end:], None


def _why(replacement: Replacement) -> str:
    """Return the hint as markup with the original escaped, so that an original is not read as
    markup.
    """
    reason = {"word": "drawn anew", "number": "a random number", "article": "made to fit"}.get(
        replacement.kind,
        f"{replacement.kind.lower().replace('_', ' ')}{', drawn' * is_drawn(replacement)}, "
        "restored in the answer",
    )
    return f"<span>In place of “{escape(replacement.original)}”: {reason}</span>"
