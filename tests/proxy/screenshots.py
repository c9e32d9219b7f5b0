"""Pictures of the page for the documents: `python -m tests.proxy.screenshots` writes them to
docs/images.

Needs Pillow, for pictures of 256 colours: a third of the bytes, and no difference to the eye.
"""

from __future__ import annotations

import asyncio
import re
import sys
from importlib import import_module
from io import BytesIO
from itertools import product
from pathlib import Path
from typing import Any, Literal

from sanitizer import Sanitizer
from tests.proxy.pages import Visit, chromium, served
from tests.proxy.servers import Received, chat, reply, upstream

SCHEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")
ANSWER = (
    "Dear Dr. {PERSON},\n\nMy father, NHS number {MEDICAL}, cannot come on {DATE}. "
    "Could he have an appointment on another day? We can be reached at {PHONE}."
)
IMAGES = Path(__file__).parents[2] / "docs" / "images"


async def secretary(received: Received, writer: asyncio.StreamWriter) -> None:
    """Answer with a letter that names the stand-ins that were sent."""
    if received.line.startswith("GET"):
        writer.write(reply(b'{"data": [{"id": "small-1"}]}'))
    else:
        said = received.said().partition("[Note")[0]
        sent = dict(re.findall(r"(?=(?:<)([A-Z]+)_\d)(<\w+>)", said))
        writer.write(reply(chat(ANSWER.format_map(sent))))
    await writer.drain()


def main(folder: Path = IMAGES) -> None:
    """The example text under the default policy, sent and answered: two widths, light and dark."""
    folder.mkdir(parents=True, exist_ok=True)
    with (
        upstream(secretary) as api,
        served(Sanitizer(budget=200.0), upstream=api.url) as address,
        chromium() as browser,
    ):
        for width, scheme in product((1280, 390), SCHEMES):
            with browser.new_context() as context:
                visit = Visit(context, address, width=width, scheme=scheme)
                page = visit.open()
                page.locator("#example").click()
                visit.settled()
                page.locator("#model").fill("small-1")
                page.locator("#send-now").click()
                page.locator(".turn mark").first.wait_for()
                page.locator("h1").click()  # no caret
                name = f"page-{width}.png" if scheme == "light" else f"page-{width}-dark.png"
                save(page.screenshot(full_page=True), folder / name)


def save(picture: bytes, path: Path, colours: int = 256) -> None:
    """The picture with few colours."""
    image: Any = import_module("PIL.Image")
    image.open(BytesIO(picture)).convert("RGB").quantize(colours, dither=0).save(
        path, optimize=True
    )


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
