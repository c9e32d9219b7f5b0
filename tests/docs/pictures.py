"""A picture of the README for the documents: `python -m tests.docs.pictures` writes it to
docs/images.

Needs chromium, Pillow, and the library that the extra `docs` brings (markdown).
"""

from __future__ import annotations

import sys
import tempfile
from importlib import import_module
from pathlib import Path
from typing import Any

from tests.proxy.pages import chromium
from tests.proxy.screenshots import IMAGES, save

ROOT = Path(__file__).parents[2]
STYLE = """<meta charset=utf-8><style>
body { font: 16px/1.5 "DejaVu Sans", sans-serif; max-width: 960px; margin: 24px auto }
pre, code { background: #f3f4f6; font: 14px/1.45 "DejaVu Sans Mono", monospace }
pre { padding: 14px } code { padding: 2px 4px } pre code { padding: 0 }
table { border-collapse: collapse; margin: 16px 0 }
td, th { border: 1px solid #d1d9e0; padding: 6px 13px; text-align: left }
h1, h2 { border-bottom: 1px solid #d1d9e0 } img { max-width: 100% } a { color: #0550ae }
</style>"""


def main(folder: Path = IMAGES) -> None:
    """Save the README as a browser shows it."""
    markdown: Any = import_module("markdown")
    text = (
        (ROOT / "README.md")
        .read_text("utf-8")
        .replace("](benchmarks/", f"]({ROOT.as_uri()}/benchmarks/")
    )
    body = markdown.markdown(text, extensions=["tables", "fenced_code"])
    with tempfile.TemporaryDirectory() as made, chromium() as browser:
        file = Path(made) / "readme.html"
        file.write_text(STYLE + body, encoding="utf-8")
        page = browser.new_page(viewport={"width": 1280, "height": 800})
        page.goto(file.as_uri())
        save(page.screenshot(full_page=True), folder / "readme.png", colours=24)


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
