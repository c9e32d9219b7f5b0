"""Open the window: `python -m examples.desktop [FILE]`, with the text of a file in it."""

from __future__ import annotations

import signal
import sys
from pathlib import Path

from PySide6.QtWidgets import QApplication

from .window import Window


def main() -> int:
    """Show the window until it is closed; return the exit status."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl+C in the terminal ends the program at once
    app = QApplication(sys.argv)
    window = Window()
    for name in app.arguments()[1:2]:
        window.text.setPlainText(Path(name).read_text("utf-8"))
    window.show()
    try:
        return int(app.exec())
    finally:
        window.stop()


if __name__ == "__main__":
    sys.exit(main())
