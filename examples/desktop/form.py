"""The window's widgets and their layout; their behaviour is in `window`."""

from __future__ import annotations

import os
from itertools import pairwise

from PySide6.QtCore import Qt
from PySide6.QtGui import QPalette
from PySide6.QtWidgets import (
    QBoxLayout,
    QComboBox,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QPlainTextEdit,
    QPushButton,
    QSlider,
    QSplitter,
    QVBoxLayout,
    QWidget,
)

from .marked import MarkedText
from .source import SourceText
from .wish import DEFAULT_EPSILON, DEFAULT_POLICY, EPSILON_MAX, EPSILON_MIN, POLICIES

STEPS = 2  # of the slider, per unit of epsilon
ADDRESS, MODEL = "http://127.0.0.1:11434/v1", "llama3.2"


class Form(QWidget):
    """Three steps side by side, settings above, the API below; widgets in the order of the tab key.

    Alt and the letter after & in a title move the focus to its widget.
    """

    def __init__(self) -> None:
        super().__init__()
        self.text = SourceText()
        self.policy = _policies()
        self.epsilon, self.meaning = _epsilons(), QLabel()
        self.leaving = MarkedText()
        self.guarantee, self.balance = QLabel(), QLabel()
        self.notices, self.notes = _noted(), _noted()
        self.address, self.model = QLineEdit(ADDRESS), QLineEdit(MODEL)
        self.key = QLineEdit(os.environ.get("OPENAI_API_KEY", ""))
        self.key.setEchoMode(QLineEdit.EchoMode.Password)
        self.send = QPushButton("&Send")
        self.send.setToolTip("Ctrl+Enter")
        self.send.setDefault(True)
        self.status = QLabel()
        self.answer = QPlainTextEdit()
        self.answer.setReadOnly(True)
        self.text.setPlaceholderText("Write or paste here. Nothing leaves before you send it.")
        self.leaving.setPlaceholderText("What would leave is shown here first.")
        self.answer.setPlaceholderText("The answer comes back with your own words in it.")
        self._arrange()
        self.setWindowTitle("What leaves this machine")
        self.resize(1180, 640)

    def _arrange(self) -> None:
        steps = QSplitter(Qt.Orientation.Horizontal)
        steps.setChildrenCollapsible(False)
        legend = QLabel(
            "Marked: private, stays here. Wavy line: may be private, and leaves as you wrote it. "
            "Point at either to see what leaves."
        )
        steps.addWidget(_step("1", "&Write", self.text, legend))
        steps.addWidget(
            _step("2", "What &leaves this machine", self.leaving, self.notices, self.guarantee)
        )
        steps.addWidget(_step("3", "The a&nswer, restored", self.answer, self.notes, self.status))
        for line in (legend, self.guarantee, self.status, self.notices, self.notes, self.balance):
            line.setWordWrap(True)
            line.setTextFormat(Qt.TextFormat.PlainText)
        for line in (legend, self.guarantee, self.status):
            line.setAlignment(Qt.AlignmentFlag.AlignTop)
            line.setMinimumHeight(3 * line.fontMetrics().lineSpacing())
        steps.setSizes([390, 390, 390])
        column = QVBoxLayout(self)
        column.addLayout(self._settings())
        column.addWidget(steps, 1)
        column.addLayout(self._target())
        column.addWidget(self.balance)
        self._order()

    def _settings(self) -> QHBoxLayout:
        row = QHBoxLayout()
        _add(row, "&Policy", self.policy)
        row.addSpacing(12)
        _add(row, "&Epsilon", self.epsilon)
        self.meaning.setWordWrap(True)
        row.addWidget(self.meaning, 1)
        return row

    def _target(self) -> QHBoxLayout:
        row = QHBoxLayout()
        _add(row, "&Address", self.address, 3)
        _add(row, "&Model", self.model, 2)
        _add(row, "&Key", self.key, 2)
        row.addWidget(self.send)
        return row

    def _order(self) -> None:
        stops: list[QWidget] = [self.text, self.policy, self.epsilon, self.leaving]
        stops += [self.address, self.model, self.key, self.send, self.answer]
        for before, after in pairwise(stops):
            self.setTabOrder(before, after)
        for pane in (self.text, self.leaving, self.answer):
            pane.setTabChangesFocus(True)
            pane.setMinimumHeight(70)
        self.text.setFocus()


def _policies() -> QComboBox:
    box = QComboBox()
    for at, (name, explained) in enumerate(POLICIES.items()):
        box.addItem(name)
        box.setItemData(at, explained, Qt.ItemDataRole.ToolTipRole)
    box.setCurrentText(DEFAULT_POLICY)
    return box


def _epsilons() -> QSlider:
    slider = QSlider(Qt.Orientation.Horizontal)
    slider.setRange(round(EPSILON_MIN * STEPS), round(EPSILON_MAX * STEPS))
    slider.setValue(round(DEFAULT_EPSILON * STEPS))
    slider.setFixedWidth(160)
    return slider


def _noted() -> QLabel:
    """Return a line that stands out, hidden as long as it is empty."""
    line = QLabel()
    line.setAutoFillBackground(True)
    line.setBackgroundRole(QPalette.ColorRole.ToolTipBase)
    line.setForegroundRole(QPalette.ColorRole.ToolTipText)
    line.setMargin(4)
    line.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
    line.hide()
    return line


def _step(number: str, title: str, pane: QWidget, *below: QLabel) -> QWidget:
    """Return a step: its number and title, the pane, and lines below it."""
    step, head = QWidget(), QHBoxLayout()
    column = QVBoxLayout(step)
    column.setContentsMargins(0, 0, 0, 0)
    column.addLayout(head)
    label = QLabel(f"{number}  {title}")
    font = label.font()
    font.setBold(True)
    font.setPointSizeF(font.pointSizeF() * 1.15)
    label.setFont(font)
    label.setBuddy(pane)
    pane.setAccessibleName(title.replace("&", ""))
    head.addWidget(label)
    column.addWidget(pane, 1)
    for line in below:
        column.addWidget(line)
    return step


def _add(place: QBoxLayout, title: str, widget: QWidget, stretch: int = 0) -> None:
    """Add a title and the widget it names, for the eye and for screen readers."""
    label = QLabel(title)
    label.setBuddy(widget)
    widget.setAccessibleName(title.replace("&", ""))
    place.addWidget(label)
    place.addWidget(widget, stretch)
