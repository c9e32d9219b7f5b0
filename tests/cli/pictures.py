"""Pictures of the command line for the documents: `python -m tests.cli.pictures` writes them to
docs/images.

Needs tmux, for a true terminal, chromium, which draws what the terminal holds, and Pillow.
"""

from __future__ import annotations

import html
import os
import re
import subprocess
import sys
import time
from pathlib import Path

from tests.cli.running import PROMPT
from tests.proxy.pages import chromium
from tests.proxy.screenshots import IMAGES, save

WIDTH = 100
COMMANDS = {
    "terminal.png": (f'sanitizer sanitize "{PROMPT}"', "sanitizer demo"),
    "terminal-help.png": ("sanitizer --help",),
}
COLOURS = ("#8b949e", "#ff7b72", "#7ee787", "#e3b341", "#79c0ff", "#d2a8ff", "#76e3ea", "#e6edf3")
PAGE = """<meta charset=utf-8><style>
body {{ margin: 0; background: #0d1117 }}
pre {{ display: inline-block; margin: 0; padding: 18px 22px; color: #e6edf3;
  font: 15px/1.4 "DejaVu Sans Mono", monospace }}
</style><pre>{}</pre>"""


def shown(commands: tuple[str, ...]) -> str:
    """Run commands in a terminal; what it shows at the end, with its colours."""
    server = ["tmux", "-L", f"pictures-{os.getpid()}"]
    lines = [f"printf '$ %s\\n' {quoted(each)}; {each}; echo" for each in commands]
    script = "; ".join(["clear", *lines, "echo THE-END; sleep 600"])
    script = script.replace("; sanitizer ", f"; {sys.executable} -m sanitizer ")
    size = ["-x", str(WIDTH), "-y", "70"]
    subprocess.run([*server, "new-session", "-d", *size, script], check=True)
    try:
        for _ in range(600):
            time.sleep(0.1)
            done = subprocess.run(
                [*server, "capture-pane", "-p", "-e"], check=True, capture_output=True, text=True
            )
            if "THE-END" in done.stdout:
                return done.stdout.partition("THE-END")[0].rstrip()
    finally:
        subprocess.run([*server, "kill-server"], check=True)
    raise TimeoutError("the commands did not end")


def quoted(command: str) -> str:
    return "'" + command.replace("'", "'\\''") + "'"


def drawn(text: str) -> str:
    """A terminal's text as HTML: bold, underlined and its first colours."""
    found, style = [], ""
    for piece in re.split(r"(\x1b\[[\d;]*m)", text):
        if not piece.startswith("\x1b["):
            found.append(f'<span style="{style}">{html.escape(piece)}</span>')
            continue
        for code in map(int, re.findall(r"\d+", piece) or ["0"]):
            if code in (0, 39):
                style = ""
            elif code in (1, 4):
                style += {1: "font-weight:bold;", 4: "text-decoration:underline;"}[code]
            elif 30 <= code < 38 or 90 <= code < 98:
                style += f"color:{COLOURS[code % 10]};"
    return "".join(found)


def main(folder: Path = IMAGES) -> None:
    """Save a picture of each group of commands."""
    folder.mkdir(parents=True, exist_ok=True)
    with chromium() as browser:
        page = browser.new_page()
        for name, commands in COMMANDS.items():
            page.set_content(PAGE.format(drawn(shown(commands))))
            save(page.locator("pre").screenshot(), folder / name)


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
