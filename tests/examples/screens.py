"""A virtual screen, and a person in front of the real window."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec

import pytest

if find_spec("PySide6") is None and "CI" not in os.environ:
    pytest.skip("PySide6 is not installed", allow_module_level=True)

from PySide6.QtCore import QEventLoop, Qt, QTimer
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication
from shiboken6 import delete

from examples.desktop.__main__ import missing
from examples.desktop.window import Window
from examples.desktop.wish import DEFAULT_BUDGET, REDRAWN

TEXT = "My father Peter has hepatitis and lives in Leeds: peter@example.org."
SECRETS = ("Peter", "hepatitis", "Leeds", "peter@example.org")
PATIENCE = 120.0  # seconds; for machines that are busy with other things


@contextmanager
def screen() -> Iterator[None]:
    """Use the present display, or start a virtual one."""
    if os.environ.get("DISPLAY"):
        yield
        return
    if shutil.which("Xvfb") is None and "CI" not in os.environ:
        pytest.skip("Xvfb is not installed")
    command = ["Xvfb", "-displayfd", "1", "-screen", "0", "1400x1000x24", "-nolisten", "tcp"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as server:
        assert server.stdout is not None
        number = server.stdout.readline().strip()
        assert number, "Xvfb did not start"
        os.environ["DISPLAY"] = f":{number}"
        try:
            yield
        finally:
            del os.environ["DISPLAY"]
            server.terminate()


def application() -> QApplication:
    """Return the one application of this process."""
    lacking = missing()
    if lacking and "CI" not in os.environ:
        pytest.skip(f"the system lacks {', '.join(lacking)}")
    app = QApplication.instance()
    return app if isinstance(app, QApplication) else QApplication(["desktop"])


def until(true: Callable[[], bool], seconds: float = PATIENCE) -> None:
    """Run the interface until something holds.

    Other threads run too, which they do not in `QTest.qWait`.
    """
    loop, timer, end = QEventLoop(), QTimer(), time.monotonic() + seconds
    timer.timeout.connect(lambda: loop.quit() if true() or time.monotonic() > end else None)
    timer.start(5)
    if not true():
        loop.exec()
    timer.stop()
    assert true(), "it took too long"


class Person:
    """A person who types, clicks and reads, and sees nothing else."""

    def __init__(self, window: Window) -> None:
        self.window = window

    def types(self, text: str) -> None:
        """Type key by key, at the end."""
        QTest.keyClicks(self.window.text, text)

    def pastes(self, text: str) -> None:
        """Paste in place of all that was there."""
        self.window.text.setPlainText(text)

    def reads(self) -> str:
        """Return the text that would leave, once it is shown."""
        until(self.window.send.isEnabled)
        return str(self.window.leaving.toPlainText())

    def sends(self, address: str) -> str:
        """Send once a preview is shown, and again if something was drawn only now.

        Returns the window's status when that is over.
        """
        self.window.address.setText(address)
        if (status := self.clicks()) == REDRAWN:
            status = self.clicks()
        return status

    def clicks(self) -> str:
        """Click on Send once a preview is shown; return the status when that is over."""
        until(self.window.send.isEnabled)
        QTest.mouseClick(self.window.send, Qt.MouseButton.LeftButton)
        assert not self.window.send.isEnabled()
        until(self.window.send.isEnabled)
        return str(self.window.status.text())

    def chooses(self, policy: str) -> None:
        """Choose another policy."""
        self.window.policy.setCurrentText(policy)


@contextmanager
def person(budget: float = DEFAULT_BUDGET) -> Iterator[Person]:
    """Put a person in front of a new window."""
    application()
    window = Window(budget)
    window.show()
    window.activateWindow()
    try:
        until(window.isActiveWindow)
        yield Person(window)
    finally:
        window.stop()
        window.close()
        delete(
            window
        )  # now and in this thread; left to the garbage collector, any thread might do it
