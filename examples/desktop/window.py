"""The window's behaviour. Everything slow is done by `work`, in other threads."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QTimer
from PySide6.QtGui import QKeySequence, QShortcut, QTextCursor
from PySide6.QtWidgets import QLabel

from .form import STEPS, Form
from .sentences import balance, guarantee, meaning, notes, notices
from .source import marks, noticed
from .wish import DEFAULT_BUDGET, POLICIES, REDRAWN, Target, Wish
from .work import Work

if TYPE_CHECKING:
    from .desk import Preview

TYPING_MS = 200  # a preview is asked for when the person pauses this long


class Window(Form):
    """The window of one conversation. Only a visible preview of the present text and settings can
    be sent.

    Args:
        budget: the most epsilon to spend while the window is open.
    """

    def __init__(self, budget: float = DEFAULT_BUDGET) -> None:
        super().__init__()
        self._budget, self._spent = budget, 0.0
        self._asked: Wish | None = None  # the wish whose preview is on its way or here
        self._preview: Preview | None = None  # of that wish
        self._sent: Wish | None = None  # the last one that was tried
        self._paid: Wish | None = None  # the last one that was charged
        self._notes = ""  # on the answer to the last one that was sent
        self._loading, self._sending, self._failure = True, False, ""
        self._pause = QTimer(self)
        self._pause.setSingleShot(True)
        self._pause.setInterval(TYPING_MS)
        self.work = Work(budget, self)
        self._connect()
        self._change()
        self.work.start()

    def stop(self) -> None:
        """Stop the work; no more signals arrive."""
        self.work.stop()

    def _connect(self) -> None:
        self.text.textChanged.connect(self._change)
        self.policy.currentIndexChanged.connect(self._change)
        self.epsilon.valueChanged.connect(self._change)
        self._pause.timeout.connect(self._ask)
        self.leaving.written.connect(self._update)
        self.send.clicked.connect(self._send)
        for keys in ("Ctrl+Return", "Ctrl+Enter"):
            QShortcut(QKeySequence(keys), self).activated.connect(self.send.click)
        self.work.ready.connect(self._loaded)
        self.work.previewed.connect(self._show)
        self.work.preview_failed.connect(self._fail)
        self.work.spent.connect(self._charge)
        self.work.said.connect(self._say)
        self.work.sent.connect(self._end)
        self.work.send_failed.connect(self._end)

    def _change(self) -> None:
        """Drop the preview: text or settings changed, so it no longer holds."""
        self.work.cancel()
        self._asked = self._preview = None
        self._failure = ""
        self.text.show_marks([], [])
        self._pause.start()
        self._update()

    def _ask(self) -> None:
        text = self.text.toPlainText()
        if text.strip():
            self._asked = Wish(text, self.policy.currentText(), self.epsilon.value() / STEPS)
            self.work.preview(self._asked)
        else:
            self.leaving.show_result(None)
        self._update()

    def _loaded(self) -> None:
        self._loading = False
        self._update()

    def _show(self, preview: Preview) -> None:
        if preview.wish is self._asked:  # else it came too late
            self._preview = preview
            text, result = preview.wish.text, preview.result
            self.text.show_marks(marks(text, result), noticed(text, result))
            self.leaving.show_result(result)
            self._update()

    def _fail(self, failure: str) -> None:
        self._failure, self._asked = failure, None
        self._update()

    def _send(self) -> None:
        assert self._preview is not None
        self._sending, self._failure = True, ""
        self.answer.clear()
        _fill(self.notes, "")
        self._notes = notes(self._preview.result)
        target = Target(
            self.address.text().strip(), self.model.text().strip(), self.key.text().strip()
        )
        self._sent = self._preview.wish
        self.work.send(self._preview, target)
        self._update()

    def _charge(self, spent: float) -> None:
        self._spent, self._paid = spent, self._sent
        self._update()

    def _say(self, piece: str) -> None:
        bar = self.answer.verticalScrollBar()
        follow = bar.value() == bar.maximum()
        cursor = QTextCursor(self.answer.document())
        cursor.movePosition(QTextCursor.MoveOperation.End)
        cursor.insertText(piece)
        _fill(self.notes, self._notes)
        if follow:
            bar.setValue(bar.maximum())

    def _end(self, failure: str = "") -> None:
        """End an answer: complete, or ended by a failure."""
        self._sending, self._failure = False, failure
        if failure == REDRAWN:
            self._preview = None  # it no longer holds; the next one shows what was drawn
            self._ask()
        self._update()

    def _update(self) -> None:
        """Update all sentences, and whether sending is possible."""
        self.send.setEnabled(
            self._preview is not None and self.leaving.is_written and not self._sending
        )
        perturbs = self.policy.currentText() not in (
            "identifiers",
            "deidentify",
            "balanced",
            "code",
        )
        self.epsilon.setEnabled(perturbs)
        explained = POLICIES[self.policy.currentText()]
        self.policy.setToolTip(explained)
        self.meaning.setText(meaning(self.epsilon.value() / STEPS) if perturbs else explained)
        self._update_facts()
        self.status.setText(self._failure or self._doing())

    def _update_facts(self) -> None:
        record = self._preview.result.record if self._preview else None
        paid = self._preview is not None and self._preview.wish == self._paid
        self.guarantee.setText(guarantee(record) if record else "")
        found = self._preview and notices(self._preview.wish.text, self._preview.result)
        _fill(self.notices, found or "")
        self.balance.setText(
            balance(self._spent, self._budget, record.charged if record else None, paid)
        )

    def _doing(self) -> str:
        if self._sending:
            return "Sending, and waiting for the answer …"
        if self._loading:
            return "Loading the model …"
        return "Looking for what is private …" if self._asked and not self._preview else ""


def _fill(line: QLabel, text: str) -> None:
    line.setText(text)
    line.setVisible(bool(text))
