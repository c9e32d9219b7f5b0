"""The window's widgets and their layout; their behaviour is in `window`."""

from __future__ import annotations

import os
from itertools import pairwise

from PySide6.QtCore import Qt
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
from .wish import DEFAULT_EPSILON, DEFAULT_POLICY, EPSILON_MAX, EPSILON_MIN, POLICIES

STEPS = 2  # of the slider, per unit of epsilon
ADDRESS, MODEL = "http://127.0.0.1:11434/v1", "llama3.2"


class Form(QWidget):
    """Widgets in the order of the tab key.

    Alt and the letter after & in a title move the focus to its widget.
    """

    def __init__(self) -> None:
        super().__init__()
        self.text = QPlainTextEdit()
        self.policy = _policies()
        self.epsilon, self.meaning = _epsilons(), QLabel()
        self.leaving = MarkedText()
        self.guarantee, self.balance = QLabel(), QLabel()
        self.address, self.model = QLineEdit(ADDRESS), QLineEdit(MODEL)
        self.key = QLineEdit(os.environ.get("OPENAI_API_KEY", ""))
        self.key.setEchoMode(QLineEdit.EchoMode.Password)
        self.send = QPushButton("&Send")
        self.send.setToolTip("Ctrl+Enter")
        self.status = QLabel()
        self.answer = QPlainTextEdit()
        self.answer.setReadOnly(True)
        self._arrange()
        self.setWindowTitle("What leaves this machine")
        self.resize(1100, 700)

    def _arrange(self) -> None:
        texts = QSplitter(Qt.Orientation.Horizontal)
        texts.addWidget(_titled("Your &text", self.text))
        texts.addWidget(_titled("What &leaves this machine", self.leaving))
        upper, halves = QWidget(), QSplitter(Qt.Orientation.Vertical)
        column = QVBoxLayout(upper)
        column.setContentsMargins(0, 0, 0, 0)
        column.addLayout(self._settings())
        column.addWidget(texts, 1)
        for line in (self.guarantee, self.balance, self.status):
            line.setWordWrap(True)
            line.setTextFormat(Qt.TextFormat.PlainText)
        column.addWidget(self.guarantee)
        column.addWidget(self.balance)
        column.addLayout(self._target())
        column.addWidget(self.status)
        for splitter in (texts, halves):
            splitter.setChildrenCollapsible(False)
        halves.addWidget(upper)
        halves.addWidget(_titled("A&nswer, restored", self.answer))
        halves.setSizes([480, 220])
        QVBoxLayout(self).addWidget(halves)
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


def _titled(title: str, widget: QWidget) -> QWidget:
    """Return a widget below its title."""
    both = QWidget()
    column = QVBoxLayout(both)
    column.setContentsMargins(0, 0, 0, 0)
    _add(column, title, widget, 1)
    return both


def _add(place: QBoxLayout, title: str, widget: QWidget, stretch: int = 0) -> None:
    """Add a title and the widget it names, for the eye and for screen readers."""
    label = QLabel(title)
    label.setBuddy(widget)
    widget.setAccessibleName(title.replace("&", ""))
    place.addWidget(label)
    place.addWidget(widget, stretch)
