"""The page for everyone: keyboard, screen readers, both colour schemes, narrow screens, all
directions of writing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, expect

import sanitizer.proxy
from sanitizer import Sanitizer
from sanitizer.lm.masked import OnnxMaskedLM
from tests.proxy.pages import TEXT, Visit, served, visiting

PAGE = Path(sanitizer.proxy.__file__).parent / "page"
STYLE = (PAGE / "style.css").read_text("utf-8")
LIGHT, DARK = (
    dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6});", part))
    for part in STYLE.split("(prefers-color-scheme: dark)")
)
WRITTEN = [  # text on what lies behind it
    *[("ink", ground) for ground in ("ground", "paper", "word", "vault", "active")],
    *[
        (text, ground)
        for text in ("muted", "accent", "good", "bad")
        for ground in ("ground", "paper")
    ],
    ("on-accent", "accent"),
    ("on-active", "active"),
]
DRAWN = [
    (line, ground)
    for line in ("word-line", "vault-line", "article-line", "edge")
    for ground in ("ground", "paper")
]
STOP = """() => {
    const stop = document.activeElement;
    return stop.id || stop.name || stop.tagName.toLowerCase();
}"""
CONTROLS = {
    "button",
    "textbox",
    "radio",
    "slider",
    "region",
    "DisclosureTriangle",
    "radiogroup",
}


@pytest.fixture(scope="module")
def address(model: OnnxMaskedLM) -> Iterator[str]:
    with served(Sanitizer(model=model, budget=200.0, policy="words")) as found:
        yield found


@pytest.fixture
def visit(browser: Browser, address: str) -> Iterator[Visit]:
    with visiting(browser, address) as found:
        yield found


def stops(visit: Visit, n: int) -> list[str]:
    """Where the next presses of the tab key lead."""
    found = []
    for _ in range(n):
        visit.page.keyboard.press("Tab")
        found.append(str(visit.page.evaluate(STOP)))
    return found


def test_all_is_done_with_the_keyboard_alone(visit: Visit) -> None:
    keys = visit.page.keyboard
    assert stops(visit, 5) == ["new", "policy", "summary", "text", "example"]
    visit.page.locator("#text").focus()
    keys.type(TEXT)
    visit.settled()
    assert stops(visit, 3) == ["clear", "mark", "copy"]
    visit.page.locator("#strength-box > summary").focus()
    keys.press("Enter")
    assert stops(visit, 2) == ["epsilon", "mechanism"]
    visit.page.locator("#epsilon").focus()
    keys.press("ArrowRight")
    assert visit.page.locator("#epsilon-value").inner_text() == "5.5"
    visit.settled()
    visit.page.locator("#copy").focus()
    keys.press("Enter")
    expect(visit.page.locator("#status")).to_have_text(re.compile("^Copied"))
    assert visit.clipboard() == visit.page.locator("#result").text_content()
    assert stops(visit, 4) == ["summary", "button", "button", "button"]  # one for each change


def test_arrows_walk_the_marks_and_show_their_originals(visit: Visit) -> None:
    visit.write(TEXT)
    visit.page.locator("#clear").focus()
    visit.page.keyboard.press("Tab")
    caption = visit.page.locator("#caption")
    for key, original in [
        ("Home", "Peter"),
        ("ArrowRight", "hepatitis"),
        ("End", "Leeds"),
        ("ArrowLeft", "hepatitis"),
    ]:
        visit.page.keyboard.press(key)
        expect(caption).to_have_text(re.compile(f"^{original} → "))
    visit.page.keyboard.press("Tab")
    assert visit.page.evaluate(STOP) == "copy"
    visit.page.keyboard.press("Shift+Tab")
    expect(caption).to_have_text(re.compile("^hepatitis → "))


def test_a_mark_brings_its_original_into_sight(visit: Visit) -> None:
    visit.write("It is so.\n" * 60 + TEXT)
    visit.page.locator("#text").evaluate("(text) => text.scrollTo(0, 0)")
    # Focused again if a later answer drew the marks anew.
    inside = """() => {
        [...document.querySelectorAll("#result mark")].pop().focus();
        const active = [...(CSS.highlights.get("active") ?? [])][0];
        if (!active) return false;
        const word = active.getBoundingClientRect();
        const sheet = document.getElementById("text").getBoundingClientRect();
        return word.top >= sheet.top && word.bottom <= sheet.bottom;
    }"""
    visit.page.wait_for_function(inside)


def test_every_control_has_a_name_and_focus_can_be_seen(visit: Visit) -> None:
    visit.write(TEXT)
    visit.tune()
    tree = visit.context.new_cdp_session(visit.page).send("Accessibility.getFullAXTree")
    found: list[dict[str, Any]] = [
        n for n in tree["nodes"] if n.get("role", {}).get("value") in CONTROLS
    ]
    assert {n["role"]["value"] for n in found} >= {"button", "textbox", "radio", "slider"}
    assert [n for n in found if not n["name"]["value"]] == []
    marks = [
        n for n in found if re.search(", in place of (Peter|hepatitis|Leeds): ", n["name"]["value"])
    ]
    assert len(marks) == 3
    for selector in (
        "#text",
        "#copy",
        "#epsilon",
        "summary",
        ".change",
        "#result mark",
    ):
        visit.page.locator(selector).first.focus()
        visit.page.keyboard.press("Shift")  # focus that came by keyboard
        outlined = (
            "(one) => getComputedStyle(one.id === 'text' ? one.parentElement : one).outlineStyle"
        )
        assert visit.page.locator(selector).first.evaluate(outlined) == "solid", selector


def luminance(colour: str) -> float:
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    """As WCAG 2.2 defines it: 1 to 21."""
    low, high = sorted([luminance(one), luminance(other)])
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("colours", [LIGHT, DARK], ids=["light", "dark"])
def test_contrast_is_enough(colours: dict[str, str]) -> None:
    assert set(LIGHT) == set(DARK)
    assert {
        pair: ratio for pair in WRITTEN if (ratio := contrast(*(colours[c] for c in pair))) < 4.5
    } == {}
    assert {
        pair: ratio for pair in DRAWN if (ratio := contrast(*(colours[c] for c in pair))) < 3
    } == {}


def test_all_colours_are_those_that_were_checked() -> None:
    rules = re.sub(r"--[\w-]+: #[0-9a-f]{6};", "", STYLE)
    assert re.findall(r"#[0-9a-f]{3,8}\b(?=[;\s)])|rgba?\(|hsla?\(", rules) == []


def test_the_page_follows_the_colour_scheme(browser: Browser, address: str) -> None:
    seen = {}
    for scheme in ("light", "dark"):
        with browser.new_context() as context:
            page = Visit(context, address, scheme=scheme).open()
            seen[scheme] = page.evaluate(
                "['background-color', 'color'].map((name) => getComputedStyle(document.body)[name])"
            )
    assert seen == {
        scheme: [rgb(colours["ground"]), rgb(colours["ink"])]
        for scheme, colours in (("light", LIGHT), ("dark", DARK))
    }


def rgb(colour: str) -> str:
    return f"rgb({', '.join(str(int(colour[i : i + 2], 16)) for i in (1, 3, 5))})"


@pytest.mark.parametrize("width", [320, 390, 1280])
def test_nothing_scrolls_sideways(browser: Browser, address: str, width: int) -> None:
    with browser.new_context() as context:
        visit = Visit(context, address, width=width)
        visit.open()
        visit.write(f"{TEXT} {'Supercalifragilistic' * 12} reader@{'long.' * 20}example")
        visit.page.locator("#record summary").click()
        visit.tune()
        visit.page.locator("#result mark").last.hover()
        assert visit.page.evaluate("document.documentElement.scrollWidth") <= width
        for sheet in ("text", "result"):
            assert visit.page.evaluate(f"{sheet}.scrollWidth - {sheet}.clientWidth") <= 0


@pytest.mark.parametrize(
    "text",
    [
        "\n\n so\n",
        "wide\ttabs\tand  spaces   ",
        "l" + "o" * 900 + "ng",
        "שלום Peter עולם",
        "😀👩‍👩‍👧 " * 80,
        TEXT * 40,
    ],
)
@pytest.mark.parametrize("width", [390, 1280])
def test_the_marked_sheet_lies_exactly_under_the_text(
    browser: Browser, address: str, text: str, width: int
) -> None:
    with browser.new_context() as context:
        visit = Visit(context, address, width=width)
        visit.open()
        visit.page.locator("#text").fill(text)
        # Both at one moment: when the answer comes, both grow.
        above, below = visit.page.evaluate(
            "[text, original].map((sheet) => [sheet.scrollHeight, sheet.clientWidth])"
        )
        assert above == below


def test_each_line_is_written_in_its_own_direction(visit: Visit) -> None:
    visit.prefer("identifiers")
    visit.write("שלום עולם\nto reader@library.example")
    for sheet in ("text", "result"):
        assert visit.page.evaluate(f"getComputedStyle({sheet}).direction") == "rtl"
        assert visit.page.evaluate(f"getComputedStyle({sheet}).unicodeBidi") == "plaintext"


def test_nothing_moves_for_those_who_ask_for_it(visit: Visit) -> None:
    visit.page.emulate_media(reduced_motion="reduce")
    moving = (
        "[...document.querySelectorAll('*')]"
        ".filter((one) => parseFloat(getComputedStyle(one).transitionDuration))"
    )
    assert visit.page.evaluate(f"{moving}.length") == 0


def test_the_page_is_small_and_plain() -> None:
    files = {path.name: path.read_text("utf-8") for path in PAGE.iterdir()}
    assert sum(len(content.encode()) for content in files.values()) < 91_000
    scripts = "".join(content for name, content in files.items() if name.endswith(".js"))
    assert not re.search(
        r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval|new Function", scripts
    )
    # The conversation's random name alone is kept by the browser, for a reload.
    assert not re.search(r"localStorage|indexedDB|caches|cookie", scripts)
    assert re.findall(r"Storage\.setItem\(.*", scripts) == ["Storage.setItem(NAMED, name);"]
    assert not re.search(r"style=|onclick=|<script>|<style", files["index.html"])
