"""A hostile API that writes formulas, labels, links and fences, and programs that show its answers.

Two users differ in every hidden value. The API sends both the same script. The application strips,
wraps, quotes or edits what it was shown and resends it, and shows each answer, and each beginning
of one that streams, as Markdown with HTML. Every byte that leaves must be the same, and so must be
what is asked for to show the answers: by any attribute that loads, and in a browser.

    pytest -m nightly tests/wire/test_rendered.py    # 5,000 scripts, some minutes
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from html.parser import HTMLParser
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from sanitizer import Sanitizer
from sanitizer.errors import UpstreamError
from sanitizer.storage.table import Wanted
from sanitizer.storage.vault import MemoryVault
from sanitizer.wire.filter import Filter
from tests.clients.tool_calls import CHAT, JSON
from tests.wire.test_event_streams import chunk, concatenated, event

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Route

KINDS = ("MONEY_1", "MONEY_2", "DATE_1", "NUMBER_1", "PERSON_1", "ID_1")
Script = Sequence[str]
Change = Callable[[str], str]
"""What an application does to an answer before it resends it."""
USERS = (
    ("£1,250.00", "£980.50", "12 May 2025", "34", "Elena Marsh", "AX-4471"),
    ("£7.10", "£12,000.00", "3 January 2024", "7", "Ruth Brandt", "QB-9"),
)
MARKDOWN = MarkdownIt("commonmark", {"html": True}).enable("table")
EVIL = "https://evil.example/"
VALUES = [f"<{kind}>" for kind in KINDS]
CHOICES = ["1", "x", " ", " !", "a !", "`", "a`", "```a", "~~~", "<!-- a", "<b", "img src=x", "a"]
CHOICES += [
    "a\\",
    "[a]",
    "(b)",
    "- a",
    "# a",
    "> a",
    "b",
    "Elena",
    "evil.example",
    "    a",
    "| a",
    "&lt;",
]
FORMULAS = [
    "{{= <MONEY_1> + <MONEY_2> }}",
    "{{= VALUE(<MONEY_1>) }}",
    '{{= DAYS(<DATE_1>, "1 January 2024") }}',
    "{{= FIRST(<PERSON_1>) }}",
    *(f'{{{{= IF(<MONEY_1> > 500, "{yes}", "x") }}}}' for yes in CHOICES),
    *(f'{{{{= IF(<NUMBER_1> < 9, "{yes}", "a") }}}}' for yes in CHOICES),
    *(f"{{{{= ROWS DESC\n<MONEY_1> :: {row}\n<MONEY_2> :: b\n}}}}" for row in CHOICES),
    *(f"{{{{= ROWS WHERE > 900\n<MONEY_1> :: {row}\n<MONEY_2> :: 1. b\n}}}}" for row in CHOICES),
]
GUESSES = [*USERS[0], "1250.00", "Elena", "a", "b", "x", "1"]
FRAMES = [
    *["{f}"] * 3,
    "{f}.      ![]({e}1)",
    "{f}![a]({e}2)",
    "{f}\n![a]({e}3)\n```\n",
    "{f}\n    ![a]({e}4)\n",
    "{f} ![a]({e}5) {f}",
    "{f}[a]({e}6) -->\n",
    "<{f} src={e}7>",
    "![][{f}] ![{f}]\n\n[{g}]: {e}8\n",
    "![][{v}] ![{v}] [{v}]\n\n[{g}]: {e}9\n",
    "[{g}]: {e}10\n\n![{v}] [{v}][]\n",
    "![{g}] [{g}]\n\n[{v}]: {e}11\n\n",
    "![{g}]\n\n[{f}]: {e}12\n\n",
    "![a]\n\n> [a]: {v}\n\n",
    "![a]({v}) [b](x/{v}) ![c](<{f}>)",
    '<img src="{v}"> <a href="x{v}">a</a>',
    '<img alt="{v}" src="{e}13{f}">',
    "<!-- {v} {f} ![a]({e}14) -->",
    "`{f} ![a]({e}15)`",
    "| {f} | ![a]({e}16) |\n|---|---|\n| {v} | b |\n",
    "\n- [{v}]\n- {f}\n\n[{g}]: {e}17\n",
    "]{f} ]{v} {f}.com {f}({e}18)",
]
SIGNS = [
    "![",
    "[",
    "]",
    "](",
    "][",
    "]: ",
    "(",
    ")",
    "!",
    "`",
    "```\n",
    "<!--",
    "-->",
    "<",
    ">",
    ".",
]
SIGNS += ["\n", "\n\n", " ", "      ", "- ", "1. ", "> ", "| ", "\\", '">', "<pre>", "</pre>", EVIL]
SIGNS += [f"![x]({EVIL})", '<img src="', "the total is ", "so it stays with you, then. "]
FRAME = st.builds(
    lambda frame, f, v, g: str(frame.format(f=f, v=v, g=g, e=EVIL)),
    *map(st.sampled_from, (FRAMES, FORMULAS, VALUES, GUESSES)),
)
PIECE = st.one_of(FRAME, *map(st.sampled_from, (FORMULAS, VALUES, SIGNS, SIGNS, GUESSES)))
SCRIPTS = st.lists(st.lists(PIECE, max_size=6).map("".join), min_size=1, max_size=3)


def strip(text: str) -> str:
    return text.strip()


def wrap(text: str) -> str:
    return f"Assistant: {text}\n"


def quote(text: str) -> str:
    return "\n".join(f"> {line}" for line in text.split("\n"))


def edit(text: str) -> str:
    return f"{text}\nNOTE: edited."


class _Asked(HTMLParser):
    """Everything that a page names by its attributes, and its tags."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self.feed(page)

    def parse_marked_section(self, i: int, report: bool = True) -> int:
        """As browsers do: `<![` begins a comment."""
        return self.parse_bogus_comment(i, report)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = {"src", "srcset", "href", "poster", "data", "background", "action", "style"}
        self.found += [f"{tag} {name}={value}" for name, value in attrs if name in names]


def opened(values: Sequence[str]) -> Sanitizer:
    """A conversation in which these values are hidden, and formulas are computed."""
    vault = MemoryVault(numbers="from 1")
    policy = {"base": "identifiers", "wire": {"formulas": True}}
    sanitizer = Sanitizer(policy=policy, vault=vault, conversation="c")
    with vault.edit("c") as table:
        for kind, value in zip(KINDS, values, strict=True):
            table.assign(Wanted(kind.rpartition("_")[0], value), f"<{kind}>")
    return sanitizer


def conversation(
    values: Sequence[str], script: Script, change: Change, streams: bool
) -> tuple[list[bytes], list[str]]:
    """What leaves in a conversation with one user, and every page that is shown meanwhile."""
    filtered = Filter(opened(values))
    history: list[dict[str, Any]] = [{"role": "user", "content": "Total these."}]
    sent: list[bytes] = []
    pages: list[str] = []
    for said in [*script, ""]:
        body = json.dumps({"messages": history, "stream": streams}).encode()
        exchange = filtered.request("POST", CHAT, JSON, body)
        sent.append(exchange.body)
        if streams:
            stream, raw = exchange.stream("text/event-stream"), b""
            for piece in [said[i : i + 5] for i in range(0, len(said), 5)]:
                raw += stream.feed(event(chunk({"content": piece})))
                pages.append(concatenated(raw).get((0, "content"), ""))
            raw += stream.feed(event(chunk({}, "stop")) + event("[DONE]")) + stream.finish()
            shown = concatenated(raw).get((0, "content"), "")
        else:
            message = {"role": "assistant", "content": said}
            answer = json.dumps({"choices": [{"index": 0, "message": message}]}).encode()
            shown = json.loads(exchange.response(200, "application/json", answer))
            shown = shown["choices"][0]["message"]["content"]
        pages.append(shown)
        history += [{"role": "assistant", "content": change(shown)}]
        history += [{"role": "user", "content": "Go on."}]
    return sent, [MARKDOWN.render(page) for page in pages]


def pages_of(script: Script, change: Change, streams: bool) -> list[list[str]]:
    """The pages that two users see, who send the same bytes and name the same addresses."""
    both = [conversation(values, script, change, streams) for values in USERS]
    assert both[0][0] == both[1][0]
    named = [sorted({each for page in pages for each in _Asked(page).found}) for _, pages in both]
    assert named[0] == named[1]
    return [pages for _, pages in both]


REPORTED = [
    [f"![][{{{{= VALUE(<MONEY_1>) }}}}]\n\n[1250.00]: {EVIL}1\n[7.10]: {EVIL}2"],
    [f"[Elena Marsh]: {EVIL}3\n\n![][<PERSON_1>] ![<PERSON_1>] [<PERSON_1>]"],
    [f"![<PERSON_1>] [<PERSON_1>] and\n\n[Elena Marsh]: {EVIL}3\n"],
    [f'{{{{= IF(<MONEY_1> > 500, "1", "x") }}}}.      ![]({EVIL})'],
    [f'Ah{{{{= IF(<MONEY_1> > 500, " !", " ") }}}}[a]({EVIL})'],
    [f'{{{{= IF(<MONEY_1> > 500, "```", "") }}}}\n![a]({EVIL})\n```'],
    ['{{= IF(<MONEY_1> > 500, " ", "x") }}', "so?"],
    ['<img src="<MONEY_1>"> [a](<PERSON_1>) ![b](x/<ID_1>)'],
    ["{{= ROWS DESC\n<MONEY_1> ::  \n<MONEY_2> :: b\n}}"],
    ["<pre><![][{{= <MONEY_1> + <MONEY_2> }}]"],
    ["{{= ROWS DESC\n<MONEY_1> :: > a\n<MONEY_2> :: b\n}}"],
    ["It is {{= <MONEY_1> + <MONEY_2> }} in all, as you know.", "Yes."],
]
CHANGES = [strip, wrap, quote, edit]
many = partial(settings, deadline=None, suppress_health_check=list(HealthCheck))


@pytest.mark.parametrize("streams", [False, True])
@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("script", REPORTED)
def test_what_was_found_once(script: Script, change: Change, streams: bool) -> None:
    pages_of(script, change, streams)


def test_these_answers_are_computed_and_restored() -> None:
    shown = [pages[-2] for pages in pages_of(REPORTED[-1][:1], strip, True)]
    assert ["£2,230.50" in shown[0], "£12,007.10" in shown[1]] == [True, True]
    shown = [pages[-2] for pages in pages_of(["[<PERSON_1>] and (<ID_1>)"], strip, True)]
    assert ["[Elena Marsh] and (AX-4471)" in shown[0], "QB-9" in shown[1]] == [True, True]


@given(SCRIPTS, st.sampled_from(CHANGES), st.booleans())
@many(max_examples=150)
def test_no_byte_and_no_address_differs(script: Script, change: Change, streams: bool) -> None:
    pages_of(script, change, streams)


_ADDRESS = re.compile(
    r"(?i)\b(?:src|srcset|href|data|poster|background|action|style)\b|url\(|@import"
)


class Window:
    """A browser window of an application; nothing that it asks for is there."""

    def __init__(self, browser: Browser) -> None:
        self._asked: list[str] = []
        self._page = browser.new_page()
        self._page.route("**/*", self._answer)
        self._page.goto("http://app.example/")

    def _answer(self, route: Route) -> None:
        self._asked.append(route.request.url)
        route.fulfill(status=200, content_type="text/html", body="<p>x</p>")

    def asked(self, page: str) -> list[str]:
        """What is asked for to show a page."""
        self._asked.clear()
        self._page.set_content(page, wait_until="load")
        return sorted(self._asked)


@pytest.fixture(scope="module")
def window() -> Iterator[Window]:
    from tests.proxy.pages import chromium

    with chromium() as browser:
        yield Window(browser)


def shown_alike(window: Window, script: Script, change: Change, streams: bool) -> None:
    first, second = pages_of(script, change, streams)
    # Equal pages ask for the same, and those without an address for nothing.
    differ = [pair for pair in zip(first, second, strict=True) if len(set(pair)) > 1]
    for one, two in [*differ[-3:], *differ[:-3:8]]:
        if _ADDRESS.search(one) or _ADDRESS.search(two):
            assert window.asked(one) == window.asked(two)


@pytest.mark.slow
def test_a_browser_asks_for_the_same(window: Window) -> None:
    assert window.asked(f"<img src={EVIL}1>") == [f"{EVIL}1"]
    for script in REPORTED:
        for streams in (False, True):
            shown_alike(window, script, strip, streams)


@pytest.mark.nightly
@given(SCRIPTS, st.sampled_from(CHANGES), st.booleans())
@many(max_examples=5_000, database=None)
def test_five_thousand_scripts(
    window: Window, script: Script, change: Change, streams: bool
) -> None:
    shown_alike(window, script, change, streams)


def test_a_text_with_formulas_that_goes_on_after_its_end_closes_the_stream() -> None:
    """A link could come, and what was shown before would say how it is read."""
    sanitizer = opened(USERS[0])
    body = json.dumps({"messages": [{"role": "user", "content": "Go."}], "stream": True}).encode()
    for said, goes_on in (("{{= <MONEY_1> + 1 }}", False), ("<MONEY_1>", True)):
        stream = Filter(sanitizer).request("POST", CHAT, JSON, body).stream("text/event-stream")
        raw = stream.feed(event(chunk({"content": said})) + event(chunk({}, "stop")))
        assert b"1,25" in raw
        if goes_on:
            assert b"more" in stream.feed(event(chunk({"content": " and more"})))
        else:
            with pytest.raises(UpstreamError, match="goes on after its end"):
                stream.feed(event(chunk({"content": " and more"})))


@pytest.mark.parametrize("script", [["<NUMBER_1>", "34"], ["34", "<NUMBER_1>"], ["34", "7", "34"]])
def test_answers_that_an_application_wraps_alike_keep_their_places(script: Script) -> None:
    for change in (wrap, quote, edit, strip):
        pages_of(script, change, False)
