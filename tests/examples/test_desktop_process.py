"""The desktop example as a process: how soon it shows, what it writes to disk, and how it ends."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from sanitizer.testing.server import Answer
from tests.examples.conftest import Api
from tests.examples.screens import PATIENCE, SECRETS, TEXT

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.usefixtures("display")


def python(
    code: str, *arguments: str, folder: Path = ROOT, **variables: str
) -> subprocess.CompletedProcess[str]:
    """Run code in a process of its own."""
    return subprocess.run(
        [sys.executable, "-c", code, *arguments],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(ROOT)} | variables,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )


STARTED = """
import sys, time
from PySide6.QtWidgets import QApplication
from PySide6.QtCore import QTimer
from examples.desktop.window import Window
begun = float(sys.argv[1])
app = QApplication([])
window = Window()
window.show()
app.processEvents()
print(time.time() - begun)
window.work.ready.connect(app.quit)
app.exec()
print(time.time() - begun)
window.stop()
"""


def test_the_window_is_there_at_once() -> None:
    run = python(STARTED, str(time.time()))
    assert (run.returncode, run.stderr) == (0, "")
    shown, _ready = map(float, run.stdout.split())
    assert shown < 2.0 * (1 + os.getloadavg()[0] / (os.cpu_count() or 1))


USED = """
import sys
from tests.examples.conftest import Api
from tests.examples.screens import person
with person() as someone:
    someone.types(sys.argv[2])
    someone.sends(sys.argv[1])
    print(someone.window.answer.toPlainText())
"""


def test_nothing_private_is_written_to_the_disk(api: Api, tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    places = dict.fromkeys(
        ["HOME", "TMPDIR", "XDG_RUNTIME_DIR", "XDG_CACHE_HOME", "XDG_CONFIG_HOME"], str(tmp_path)
    )
    run = python(USED, api.url, TEXT, folder=tmp_path, **places, OPENAI_API_KEY="key-of-mine")
    assert "peter@example.org" in run.stdout, run.stderr
    planted = [
        secret.encode(coding)
        for secret in (*SECRETS, "key-of-mine")
        for coding in ("utf-8", "utf-16-le")
    ]
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert not [path.name for path in files for secret in planted if secret in path.read_bytes()]


CLOSED = """
import sys
from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QApplication
from examples.desktop import __main__ as program, window

URL, WRITTEN = sys.argv[1:]
del sys.argv[1:]  # the program takes a file's name

class Busy(window.Window):
    def __init__(self):
        super().__init__()
        self.address.setText(URL)
        self.text.setPlainText("Hello.")
        self.leaving.written.connect(self.send.click)
        self.work.said.connect(self.next)

    def next(self, piece):
        self.text.setPlainText(WRITTEN * 1000)
        QTimer.singleShot(500, self.close)

window.Window = Busy
sys.exit(program.main())
"""


def test_closing_the_window_ends_the_program_whatever_is_under_way(api: Api) -> None:
    def hangs() -> Iterator[bytes]:
        yield b'data: {"choices":[{"index":0,"delta":{"content":"So far"}}]}\n\n'
        api.ended.wait()

    api.script(Answer(hangs(), content_type="text/event-stream"))
    run = python(CLOSED, api.url, TEXT)
    assert (run.returncode, run.stdout, run.stderr) == (0, "", "")


@pytest.mark.parametrize(
    ("given", "told"),
    [("nosuch.txt", "No such file or directory"), ("latin.txt", "not UTF-8; convert it first")],
)
def test_a_file_that_cannot_be_read_is_one_line(tmp_path: Path, given: str, told: str) -> None:
    (tmp_path / "latin.txt").write_bytes("Köln".encode("latin-1"))
    path = tmp_path / given
    run = python("from examples.desktop.__main__ import main; raise SystemExit(main())", str(path))
    assert (run.returncode, run.stderr) == (2, f"desktop: error: {path}: {told}\n")


def test_a_library_that_the_system_lacks_is_named() -> None:
    code = (
        "import examples.desktop.__main__ as m;"
        "m._loads = lambda name: name != 'libEGL.so.1';"
        "raise SystemExit(m.main())"
    )
    run = python(code)
    assert run.returncode == 2
    assert run.stderr.startswith("desktop: error: the system lacks libEGL.so.1; ")
