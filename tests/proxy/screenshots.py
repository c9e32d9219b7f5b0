"""Pictures of the page for the documents: `python -m tests.proxy.screenshots` writes them to
docs/images.

Needs Pillow, for pictures of 256 colours: a third of the bytes, and no difference to the eye.
"""

from __future__ import annotations

import sys
from importlib import import_module
from io import BytesIO
from pathlib import Path
from typing import Any

from sanitizer import Sanitizer
from tests.proxy.pages import Visit, chromium, served

IMAGES = Path(__file__).parents[2] / "docs" / "images"


def main(folder: Path = IMAGES) -> None:
    """The example text at two widths, with the pointer on a replaced word."""
    folder.mkdir(parents=True, exist_ok=True)
    with served(Sanitizer(budget=200.0, policy="words")) as address, chromium() as browser:
        for width in (1280, 390):
            with browser.new_context() as context:
                page = (visit := Visit(context, address, width=width)).open()
                page.locator("#example").click()
                visit.settled()
                page.locator("#result mark").nth(1).hover()
                save(page.screenshot(full_page=True), folder / f"page-{width}.png")


def save(picture: bytes, path: Path) -> None:
    """The picture with few colours."""
    image: Any = import_module("PIL.Image")
    image.open(BytesIO(picture)).convert("RGB").quantize(256, dither=0).save(path, optimize=True)


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
