"""The single-file build: it runs where there is no Python, and marks private words."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from importlib.util import find_spec
from pathlib import Path

import pytest

from examples.desktop.build import build, command
from sanitizer.lm.files import model_root
from tests.examples.screens import PATIENCE

SIZE = (1200, 700)
PIXELS = SIZE[0] * SIZE[1] * 4
MARK = bytes.fromhex("ffe3b0")[::-1]  # blue, green, red: as the screen's memory has them
TEXT = "My father Peter has hepatitis and lives in Leeds."


def test_every_model_is_put_into_the_file_however_the_package_is_installed() -> None:
    given = command(Path("launcher.py"), Path("built"))
    for name in ("classes", "languages", "lm", "masked-lm", "reader", "words"):
        folder = model_root() / name
        assert (folder / "manifest.json").is_file()
        assert f"--add-data={folder}:sanitizer/models/{name}" in given


@pytest.mark.nightly
def test_the_built_file_runs_without_python_and_marks_private_words(tmp_path: Path) -> None:
    if find_spec("PyInstaller") is None or shutil.which("Xvfb") is None:
        pytest.skip("PyInstaller or Xvfb is not installed")
    built = build(tmp_path / "built")
    home = tmp_path / "home"
    home.mkdir()
    (home / "letter.txt").write_text(TEXT, "utf-8")
    assert marks_on_screen(built, home) > 100


def marks_on_screen(built: Path, home: Path) -> int:
    """Run the file on a screen of its own, with nothing on the path; return how many pixels are
    marked once there are some.
    """
    frame = home / "Xvfb_screen0"
    screen = ["Xvfb", "-displayfd", "1", "-screen", "0", f"{SIZE[0]}x{SIZE[1]}x24"]
    with subprocess.Popen(
        [*screen, "-fbdir", str(home), "-nolisten", "tcp"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as server:
        assert server.stdout is not None
        display = f":{server.stdout.readline().strip()}"
        environment = {"DISPLAY": display, "HOME": str(home), "PATH": str(home), "LANG": "C.UTF-8"}
        with subprocess.Popen([str(built), "letter.txt"], env=environment, cwd=home) as program:
            try:
                return _wait_for_marks(frame, program)
            finally:
                program.terminate()
                program.wait(PATIENCE)
                server.terminate()


def _wait_for_marks(frame: Path, program: subprocess.Popen[bytes]) -> int:
    end, step = time.monotonic() + 5 * PATIENCE, 0.5
    while time.monotonic() < end:
        assert program.poll() is None, "it ended by itself"
        pixels = frame.read_bytes()[-PIXELS:]
        if found := sum(pixels[at : at + 3] == MARK for at in range(0, PIXELS, 4)):
            if picture := os.environ.get("SANITIZER_TEST_PICTURE"):
                _save(pixels, Path(picture))
            return found
        time.sleep(step)
    return 0


def _save(pixels: bytes, path: Path) -> None:
    from PIL import Image

    Image.frombytes("RGB", SIZE, pixels, "raw", "BGRX").save(path)
