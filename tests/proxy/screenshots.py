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
LETTER = (
    "My son Tom was off school on 14 May with a fever. Please write to his teacher, Mrs Harding, "
    "for me: he is back on 19 May, and Dr. Okafor asks that he rests in PE until June."
)
SUM = (
    "Rent is £1,250, electricity £86.40 and the nursery £912 a month. I earn £3,400 and Mark earns "
    "£2,150. How much is left for us?"
)
ILLNESS = "My mother Ruth has asthma and takes propranolol. Is that safe, and what should she ask?"
ASKED = (("balanced", LETTER), ("guarded", SUM), ("balanced", ILLNESS))
NEXT = "Mark has epilepsy now. Write to his employer in Leeds that he cannot drive until 3 June."
FADED_MS = 1_000
KINDS = ("PERSON", "MONEY", "DATE")
IMAGES = Path(__file__).parents[2] / "docs" / "images"


async def assistant(received: Received, writer: asyncio.StreamWriter) -> None:
    """Answer as a model would that sees the stand-ins alone."""
    said = received.said().partition("[Note")[0] if received.body else ""
    person, money, date = (re.findall(rf"<{kind}_\w+>", said) for kind in KINDS)
    if not said:
        answer = ""
    elif "teacher" in said:
        answer = (
            f"Dear Mrs {person[1]},\n\nplease excuse {person[0]}, who was ill on {date[0]}. He is "
            f"back on {date[1]}; Dr. {person[2]} asks that he rests in PE until {date[2]}."
        )
    elif "Rent" in said:
        total = f"{{{{= {money[3]} + {money[4]} - {money[0]} - {money[1]} - {money[2]} }}}}"
        answer = f"{total} is left each month: what you and {person[0]} earn, less the three bills."
    else:
        answer = (
            f"Propranolol can narrow the airways, so it is mostly avoided with asthma. {person[0]} "
            "should not stop it by herself, and ask her doctor soon whether another one suits her."
        )
    writer.write(reply(chat(answer) if said else b'{"data": [{"id": "small-1"}]}'))
    await writer.drain()


def main(folder: Path = IMAGES) -> None:
    """A letter, a sum and a question about an illness, before the third leaves and once answered:
    two widths, light and dark.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with (
        upstream(assistant) as api,
        served(Sanitizer(budget=200.0), upstream=api.url) as address,
        chromium() as browser,
    ):
        for width, scheme in product((1280, 390), SCHEMES):
            with browser.new_context() as context:
                visit = Visit(context, address, width=width, scheme=scheme)
                page = visit.open()
                page.locator("#model").fill("small-1")
                for n, (policy, text) in enumerate(ASKED, 1):
                    visit.prefer(policy)
                    visit.write(text)
                    page.locator("#send-now").click()
                    page.locator(".turn .model").nth(n - 1).wait_for()
                page.locator(".turn summary").first.click()
                visit.prefer("guarded")
                visit.write(NEXT)
                page.locator("h1").click()  # no caret
                dark = "-dark" if scheme == "dark" else ""
                # As high as it is, so that what stays in sight lies where it belongs.
                height = page.evaluate("document.documentElement.scrollHeight")
                page.set_viewport_size({"width": width, "height": height})
                page.wait_for_timeout(FADED_MS)
                save(page.screenshot(full_page=True), folder / f"page-{width}{dark}.png")


def save(picture: bytes, path: Path, colours: int = 256) -> None:
    """The picture with few colours."""
    image: Any = import_module("PIL.Image")
    image.open(BytesIO(picture)).convert("RGB").quantize(colours, dither=0).save(
        path, optimize=True
    )


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
