"""Build the window as one file that runs without Python: `python -m examples.desktop.build`.

Needs PyInstaller (`pip install pyinstaller ".[desktop]"`), which builds for the system it runs
on. With FOLDER the file goes there, else into build-cache/desktop.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from sanitizer.lm.files import model_root

ROOT = Path(__file__).parents[2]
NAME = "what-leaves"
LAUNCHER = "import sys\nfrom examples.desktop.__main__ import main\nsys.exit(main())\n"
UNUSED = (
    "sanitizer.bulk",
    "sanitizer.cli",
    "sanitizer.documents",
    "sanitizer.integrations",
    "sanitizer.proxy",
    "tkinter",
)
"""What the window does not use, and what would bring more libraries along."""


def command(launcher: Path, folder: Path) -> list[str]:
    """Return PyInstaller's command line; some modules load by name, so that all are named."""
    work = folder / "work"
    # An editable install has its models beside the package, where --collect-data does not look.
    models = [path.parent for path in sorted(model_root().glob("*/manifest.json"))]
    return [
        *(sys.executable, "-m", "PyInstaller", str(launcher), "--onefile", "--windowed"),
        *("--name", NAME, "--noconfirm", "--log-level", "WARN"),
        *("--distpath", str(folder), "--workpath", str(work), "--specpath", str(work)),
        *("--paths", str(ROOT), "--copy-metadata", "dp-sanitizer"),
        *("--collect-submodules", "sanitizer", "--collect-data", "sanitizer"),
        *(f"--add-data={path}:sanitizer/models/{path.name}" for path in models),
        *(part for name in UNUSED for part in ("--exclude-module", name)),
    ]


def build(folder: Path) -> Path:
    """Build into a folder; return the file.

    Raises:
        subprocess.CalledProcessError: PyInstaller failed.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as place:
        launcher = Path(place) / "launcher.py"
        launcher.write_text(LAUNCHER, "utf-8")
        subprocess.run(command(launcher, folder), check=True, cwd=place)
    (built,) = [path for path in folder.iterdir() if path.stem == NAME and path.is_file()]
    return built


if __name__ == "__main__":
    given = sys.argv[1:]
    made = build(Path(given[0]) if given else ROOT / "build-cache" / "desktop")
    sys.stdout.write(f"{made}: {made.stat().st_size / 1e6:.0f} MB\n")
