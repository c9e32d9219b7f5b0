"""Open the window: `python -m examples.desktop [FILE]`, with the text of a file in it."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

LIBRARIES = (
    *("libxcb-cursor.so.0", "libxcb-icccm.so.4", "libxcb-image.so.0", "libxcb-keysyms.so.1"),
    *("libxcb-randr.so.0", "libxcb-render-util.so.0", "libxcb-shape.so.0", "libxcb-xkb.so.1"),
    *("libxkbcommon-x11.so.0", "libEGL.so.1", "libGL.so.1"),
)
"""What Qt loads to draw on an X server; without one of them it aborts and does not say which."""


def missing(libraries: Sequence[str] = LIBRARIES) -> list[str]:
    """Return those libraries of the system that are not there; none where Qt brings its own."""
    if sys.platform != "linux" or not os.environ.get("DISPLAY"):
        return []
    return [name for name in libraries if not _loads(name)]


def _loads(name: str) -> bool:
    try:
        ctypes.CDLL(name)
    except OSError:
        return False
    return True


def main() -> int:
    """Show the window until it is closed; return the exit status."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl+C in the terminal ends the program at once
    if lacking := missing():
        hint = "examples/desktop/README.md names the packages"
        sys.stderr.write(f"desktop: error: the system lacks {', '.join(lacking)}; {hint}\n")
        return 2
    from PySide6.QtWidgets import QApplication

    from .window import Window

    app = QApplication(sys.argv)
    texts: list[str] = []
    for name in app.arguments()[1:2]:
        try:
            texts.append(Path(name).read_text("utf-8"))
        except (OSError, UnicodeDecodeError) as error:
            reason = getattr(error, "strerror", None) or "not UTF-8; convert it first"
            sys.stderr.write(f"desktop: error: {name}: {reason}\n")
            return 2
    window = Window()
    for text in texts:
        window.text.setPlainText(text)
    window.show()
    try:
        return int(app.exec())
    finally:
        window.stop()


if __name__ == "__main__":
    sys.exit(main())
