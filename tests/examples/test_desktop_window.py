"""The desktop example's window: marks, keyboard, colours, size; and it never waits."""

from __future__ import annotations

import re
import time

import pytest

from tests.examples.screens import TEXT, Person, application, until

from PySide6.QtCore import Qt, QTimer  # isort: skip  # after screens, which skips without PySide6
from PySide6.QtGui import QColor, QPalette, QTextCharFormat, QTextCursor  # isort: skip
from PySide6.QtTest import QTest  # isort: skip
from PySide6.QtWidgets import QToolTip  # isort: skip

LONG = (TEXT + "\n") * (200_000 // len(TEXT))


def test_replaced_words_are_marked_and_say_what_they_stand_for(someone: Person) -> None:
    someone.chooses("strict")
    someone.pastes("😀 Leeds 😀 and peter@example.org")
    seen = someone.reads()
    town = seen.removeprefix("😀 ").removesuffix(" 😀 and <EMAIL_1>")
    mail = "<span>In place of “peter@example.org”: email, restored in the answer</span>"
    assert [(m.toolTip(), n) for m, n in marks(someone)] == [
        ("<span>In place of “Leeds”: drawn anew</span>", len(town)),
        (mail, len("<EMAIL_1>")),
    ]


def test_the_keyboard_shows_what_a_word_stands_for(someone: Person) -> None:
    someone.pastes("peter@example.org")
    someone.reads()
    someone.window.leaving.setFocus()
    QTest.keyClick(someone.window.leaving, Qt.Key.Key_End)
    until(lambda: "In place of “peter@example.org”" in QToolTip.text())


def test_private_words_are_marked_where_they_were_written(someone: Person) -> None:
    someone.pastes("😀 Elena in\nLeeds 😀, peter@example.org")
    seen = someone.reads()
    found = [each.cursor.selectedText() for each in someone.window.text.extraSelections()]
    assert found == ["Elena", "Leeds", "peter@example.org"]
    assert re.fullmatch(r"😀 <[A-Z]+_1> in\n<[A-Z]+_[12]> 😀, <EMAIL_1>", seen)
    source = someone.window.text
    assert source.hint(source.toPlainText().index("Leeds") + 1) == (
        "<span>Leaves as “&lt;PLACE_1&gt;”</span>"
    )
    assert source.hint(0) == ""
    someone.types("!")
    assert source.extraSelections() == [], "what changed is not known to be private yet"


def test_what_leaves_though_it_may_be_private_is_underlined(someone: Person) -> None:
    someone.pastes("😀 He drinks. Elena knows.")
    someone.reads()
    source = someone.window.text
    lines = [
        each.cursor.selectedText()
        for each in source.extraSelections()
        if each.format.underlineStyle() != QTextCharFormat.UnderlineStyle.NoUnderline
    ]
    assert lines == ["drinks"]
    place = source.toPlainText().index("drinks") + 3  # Qt counts the face twice
    assert source.hint(place) == "<span>Leaves as you wrote it</span>"


def test_only_marks_in_view_are_drawn(someone: Person) -> None:
    someone.chooses("identifiers")
    someone.pastes(LONG)
    someone.reads()
    source = someone.window.text
    first = [each.cursor.selectionStart() for each in source.extraSelections()]
    assert 0 < len(first) < 100
    source.verticalScrollBar().setValue(source.verticalScrollBar().maximum())
    assert min(each.cursor.selectionStart() for each in source.extraSelections()) > max(first)


def test_originals_in_hints_are_no_markup(someone: Person) -> None:
    someone.window.policy.setCurrentText("identifiers")
    someone.pastes("What does <EMAIL_1> mean?")
    someone.reads()
    ((mark, _),) = marks(someone)
    told = "<span>In place of “&lt;EMAIL_1&gt;”: text, restored in the answer</span>"
    assert mark.toolTip() == told


def marks(someone: Person) -> list[tuple[QTextCharFormat, int]]:
    """Return the formats of the marked runs, and how many characters each has."""
    cursor, found = QTextCursor(someone.window.leaving.document()), []
    while cursor.movePosition(QTextCursor.MoveOperation.Right):
        form = cursor.charFormat()
        if form.underlineStyle() != QTextCharFormat.UnderlineStyle.NoUnderline:
            found.append(form)
    distinct = [form for i, form in enumerate(found) if form not in found[:i]]
    return [(form, found.count(form)) for form in distinct]


def test_the_window_stays_responsive_while_a_long_text_is_drawn(someone: Person) -> None:
    someone.types("Hello.")
    someone.reads()
    gaps, last = [], time.monotonic()

    def tick() -> None:
        nonlocal last
        gaps.append(time.monotonic() - last)
        last = time.monotonic()

    timer = QTimer()
    timer.timeout.connect(tick)
    timer.start(10)
    someone.pastes(LONG)
    until(lambda: len(gaps) > 200)
    assert someone.window.status.text() == "Looking for what is private …"
    someone.window.policy.setCurrentText("identifiers")  # what is being drawn is left
    assert someone.reads() == LONG.replace("peter@example.org", "<EMAIL_1>")
    assert sorted(gaps)[len(gaps) * 9 // 10] < 0.2
    assert max(gaps) < 2.0


def test_the_keyboard_reaches_everything_in_order(someone: Person) -> None:
    window = someone.window
    someone.chooses("guarded")  # so that the noise can be chosen
    someone.types(TEXT)
    someone.reads()
    names = "policy epsilon leaving address model key send answer text".split()
    for widget in (getattr(window, name) for name in names):
        focused = application().focusWidget()
        assert focused is not None
        QTest.keyClick(focused, Qt.Key.Key_Tab)
        reached = application().focusWidget()
        assert reached is not None
        assert reached is widget
        assert reached is window.send or reached.accessibleName()


def test_the_window_fits_small_screens(someone: Person) -> None:
    smallest = someone.window.minimumSizeHint()
    assert (smallest.width() <= 800, smallest.height() <= 600) == (True, True)


@pytest.mark.parametrize("ground", ["white", "#1e1e1e"])
def test_marks_can_be_read_on_light_and_dark(someone: Person, ground: str) -> None:
    palette = QPalette(QColor(ground))
    palette.setColor(QPalette.ColorRole.Base, QColor(ground))
    palette.setColor(QPalette.ColorRole.Text, QColor("black" if ground == "white" else "white"))
    someone.window.setPalette(palette)
    someone.types(TEXT)
    someone.reads()
    (written, *_) = someone.window.text.extraSelections()
    assert contrast(written.format.background().color(), palette.text().color()) >= 7.0
    leaving = [contrast(mark.foreground().color(), QColor(ground)) for mark, _ in marks(someone)]
    assert len(leaving) == 4
    assert min(leaving) >= 7.0


def contrast(one: QColor, other: QColor) -> float:
    """Return the contrast ratio that WCAG defines."""

    def luminance(color: QColor) -> float:
        values: tuple[float, float, float] = (color.redF(), color.greenF(), color.blueF())
        red, green, blue = (
            c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in values
        )
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    dark, light = sorted([luminance(one), luminance(other)])
    return (light + 0.05) / (dark + 0.05)
