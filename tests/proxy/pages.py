"""The page in a real browser, served by the real proxy."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Literal

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from sanitizer import Sanitizer
from sanitizer.proxy.server import Listener
from tests.proxy.servers import proxy

CHROMIUM = Path("/usr/bin/chromium")
QUIET = (
    "--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync --disable-lcd-text"
)
PATIENCE_MS = 120_000
"""How long to wait for anything: machines that run tests may be busy with others."""
expect.set_options(timeout=PATIENCE_MS)
TEXT = "My father Peter has hepatitis and lives in Leeds."


@contextmanager
def chromium() -> Iterator[Browser]:
    """Start Debian's Chromium without a window; without it skip the test, but fail in CI."""
    if not CHROMIUM.exists() and "CI" not in os.environ:
        pytest.skip(f"{CHROMIUM} is not installed")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=QUIET.split())
        try:
            yield browser
        finally:
            browser.close()


@contextmanager
def served(sanitizer: Sanitizer, *, port: int = 0, **settings: Any) -> Iterator[str]:
    """The proxy's address on loopback. Nothing answers at its upstream unless one is given."""
    upstream = settings.pop("upstream", "http://127.0.0.1:9/v1")
    with proxy(upstream, sanitizer, Listener(port=port), **settings) as running:
        yield f"http://127.0.0.1:{running.port}"


class Visit:
    """One person's visit: a fresh browser profile, and all that the browser was seen to do.

    Attributes:
        requests: every URL that was asked for. complaints: errors, and violations of the content
            security policy.
    """

    def __init__(
        self,
        context: BrowserContext,
        address: str,
        width: int = 1280,
        scheme: Literal["light", "dark"] = "light",
    ) -> None:
        self.context, self.address = context, address
        self.requests: list[str] = []
        self.complaints: list[str] = []
        context.grant_permissions(["clipboard-read", "clipboard-write"], origin=address)
        context.on("request", lambda request: self.requests.append(request.url))
        context.on("weberror", lambda error: self.complaints.append(str(error.error)))
        context.on("console", lambda said: self._console(said.type, said.text))
        context.set_default_timeout(PATIENCE_MS)
        self.page: Page = context.new_page()
        self.page.set_viewport_size({"width": width, "height": 860})
        self.page.emulate_media(color_scheme=scheme)

    def _console(self, kind: str, text: str) -> None:
        if kind in ("error", "warning") and not text.startswith(
            "Failed to load resource"
        ):  # a refusal's status
            self.complaints.append(text)

    def open(self) -> Page:
        """The page with its settings."""
        self.page.goto(self.address)
        self.page.locator("input[name=policy]:checked").wait_for()
        return self.page

    def write(self, text: str) -> dict[str, Any]:
        """Put the text in, and wait until what would leave is shown; the proxy's answer."""
        with self.page.expect_response("**/page/preview") as answer:
            self.page.locator("#text").fill(text)
        self.settled()
        found: dict[str, Any] = answer.value.json()
        return found

    def paste(self, text: str) -> None:
        """Put a long text in at once: browsers type line by line, in a time that grows with its
        square.
        """
        self.page.evaluate("(text) => navigator.clipboard.writeText(text)", text)
        self.page.locator("#text").press("Control+a")
        self.page.keyboard.press("Control+v")

    def settled(self) -> None:
        """Wait until what is shown answers what is written."""
        self.page.locator("#copy:enabled").wait_for()

    def choose(self, policy: str) -> None:
        """Another policy; waits for the text that follows from it."""
        self.prefer(policy)
        self.settled()

    def prefer(self, policy: str) -> None:
        """Another policy, before there is a text."""
        self.page.locator(f"input[value={policy}]").check()

    def paste_answer(self, text: str) -> None:
        """Paste what a model answered elsewhere."""
        if self.page.locator("#elsewhere").get_attribute("open") is None:
            self.page.locator("#elsewhere > summary").click()
        self.page.locator("#answer").fill(text)

    def tune(self) -> None:
        """Open what lies behind the strength of the noise."""
        self.page.locator("#strength-box > summary").click()

    def copy(self) -> None:
        """Copy what leaves, and wait until it has left."""
        self.page.locator("#copy").click()
        expect(self.page.locator("#status")).to_have_text(re.compile("^Copied"))

    def marks(self) -> list[str]:
        """The released words as marked in the result."""
        return self.page.locator("#result mark").all_text_contents()

    def originals(self) -> list[str]:
        """The words marked in the original, in the order of the text."""
        found: list[str] = self.page.evaluate(
            """() => ["word", "vault", "article"]
                .flatMap((name) => [...(CSS.highlights.get(name) ?? [])])
                .sort((a, b) => a.startOffset - b.startOffset).map(String)"""
        )
        return found

    def clipboard(self) -> str:
        """What was copied."""
        return str(self.page.evaluate("navigator.clipboard.readText()"))

    def status(self) -> str:
        """What a screen reader was told last."""
        return self.page.locator("#status").inner_text()


@contextmanager
def visiting(browser: Browser, at: Sanitizer | str, **settings: Any) -> Iterator[Visit]:
    """A visit to a proxy, one of its own or that at an address; whatever happens, nothing is asked
    of another address, and no rule is broken.
    """
    with ExitStack() as stack:
        address = at if isinstance(at, str) else stack.enter_context(served(at, **settings))
        visit = Visit(stack.enter_context(browser.new_context()), address)
        visit.open()
        yield visit
        assert {url for url in visit.requests if not url.startswith(f"{address}/")} == set()
        assert len(visit.requests) > 4
        assert visit.complaints == []
