"""The page in headless Chromium: what a person sees, and what leaves."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from playwright.sync_api import Browser, Route, expect

from sanitizer import Cape, Sanitizer
from sanitizer.lm.masked import OnnxMaskedLM
from tests.proxy.pages import TEXT, Visit, served, visiting

MANY = "Peter Leeds hepatitis Margaret Bristol diabetes Oslo violin Thomas asthma Madrid Helen "
NASTY = [
    "<script>window.hurt = 1</script>",
    "<img src=x onerror='window.hurt = 1'>",
    "</textarea><svg onload=window.hurt=1>",
    "<a href='javascript:window.hurt=1'>&lt;b&gt; &amp; {{hurt}} ${hurt}",
]


def unanswered(route: Route) -> None:
    """A request that waits."""


def test_each_replaced_word_is_marked_in_both_texts(visit: Visit) -> None:
    visit.page.locator("#text").press_sequentially(TEXT)
    visit.settled()
    answer = visit.write(TEXT + " His is peter@clinic.example.")
    assert visit.page.locator("#result").text_content() == answer["text"]
    assert visit.marks() == [r["replacement"] for r in answer["replacements"]]
    assert visit.originals() == ["Peter", "hepatitis", "Leeds", "peter@clinic.example"]
    assert visit.page.locator("#result mark.vault").get_attribute("title") == (
        "In place of “peter@clinic.example”: e-mail address, kept on this machine"
    )
    assert visit.status() == "Nothing has left this machine yet."
    expect(visit.page.locator("#told")).to_contain_text(
        f"Sending takes {answer['record']['charged']:g} of your budget for draws; 200 are left now."
    )


def test_pointing_at_a_mark_shows_its_original(visit: Visit) -> None:
    visit.write(TEXT)
    visit.page.locator("#result mark").nth(1).hover()
    assert visit.page.evaluate("[...CSS.highlights.get('active')].map(String)") == ["hepatitis"]
    expect(visit.page.locator("#caption")).to_have_text(
        f"hepatitis → {visit.marks()[1]} (drawn anew)"
    )
    visit.page.locator("h1").hover()
    assert visit.page.evaluate("CSS.highlights.get('active').size") == 0


def test_marks_move_with_their_words_while_a_person_types(visit: Visit) -> None:
    visit.write(TEXT)
    visit.page.route("**/page/preview", unanswered)
    visit.page.locator("#text").press("Control+Home")
    visit.page.keyboard.type("So, my ")
    assert visit.originals() == ["Peter", "hepatitis", "Leeds"]


def test_epsilon_changes_the_result_and_what_it_means(visit: Visit) -> None:
    before = visit.write(MANY)["text"]
    visit.tune()
    assert visit.page.locator("#epsilon-value").inner_text() == "5"
    assert "a factor of 148" in visit.page.locator("#epsilon-meaning").inner_text()
    visit.page.locator("#epsilon").fill("1")
    visit.settled()
    assert visit.page.locator("#epsilon-value").inner_text() == "1"
    assert "a factor of 2.72" in visit.page.locator("#epsilon-meaning").inner_text()
    assert visit.page.locator("#result").text_content() != before
    expect(visit.page.locator("#verdict-meaning")).to_have_text(
        "Epsilon 1 for each private word, by proof."
    )


def test_the_figures_are_those_of_the_record(visit: Visit) -> None:
    answer = visit.write(TEXT)
    figures = visit.page.locator("#figures")
    assert answer["record"]["epsilon_total"] == 15.0
    for term, value in {
        "Epsilon of the whole text": "15",
        "Copying costs": "15 epsilon",
        "Budget": "0 epsilon spent, 200 left",
    }.items():
        expect(figures.locator(f"dt:text-is('{term}') + dd")).to_have_text(value)
    expect(figures.locator("dt:text-is('Words read or guessed') + dd")).to_have_text(
        re.compile(r"^\d+%( \(in 95 of 100 draws \d+% to \d+%\))?$")
    )
    visit.page.locator("#record summary").click()
    assert answer["risk"]["note"] in visit.page.locator("#risk-note").inner_text()
    for name in ("unit", "neighboring_relation", "public", "not_protected"):
        expect(visit.page.locator("#terms")).to_contain_text(answer["record"][name])


def test_the_policy_for_identifiers_says_that_there_is_no_differential_privacy(
    visit: Visit,
) -> None:
    visit.write(TEXT + " Call +44 20 7946 0958.")
    visit.choose("identifiers")
    assert visit.marks() == ["<PHONE_1>"]
    expect(visit.page.locator("#verdict")).to_have_text("No differential privacy.")
    expect(visit.page.locator("#told")).to_contain_text("names included")
    expect(visit.page.locator("#strength-box")).to_be_hidden()
    visit.choose("strict")
    expect(visit.page.locator("#verdict")).to_have_text("Certified.")
    assert "Peter" not in str(visit.page.locator("#result").text_content())


def test_the_proxys_own_epsilon_is_where_the_slider_starts(
    browser: Browser, model: OnnxMaskedLM
) -> None:
    with visiting(browser, Sanitizer(Cape(epsilon=3.3), model=model, policy="words")) as visit:
        visit.tune()
        assert visit.page.locator("#epsilon-value").inner_text() == "3.3"
        assert visit.write(TEXT)["record"]["epsilon_per_unit"] == 3.3


@pytest.mark.parametrize("markup", NASTY)
def test_markup_is_text_and_runs_nothing(visit: Visit, markup: str) -> None:
    visit.prefer("identifiers")
    visit.write(f"{markup} {TEXT}")
    assert visit.page.locator("#result").text_content() == f"{markup} {TEXT}"
    visit.choose("balanced")
    assert visit.page.locator("main :is(script, img, svg, a)").count() == 0
    assert visit.page.evaluate("window.hurt") is None


def test_unseen_characters_are_shown_by_their_code(visit: Visit) -> None:
    visit.prefer("identifiers")
    text = "so \u202e it \u0007\u0007 is"
    visit.write(text)
    assert visit.page.locator("#result").text_content() == text
    codes = visit.page.locator("#result .control").evaluate_all(
        "(all) => all.map((one) => one.dataset.code)"
    )
    assert codes == ["U+202E", "U+0007 × 2"]


def test_offsets_count_emoji_as_the_proxy_does(visit: Visit) -> None:
    answer = visit.write("😀😀 Peter 👩‍👩‍👧 lives in Leeds 🎉 with Margaret 𝒳")
    assert visit.marks() == [r["replacement"] for r in answer["replacements"]]
    assert visit.originals() == [r["original"] for r in answer["replacements"]]
    assert {"Peter", "Leeds", "Margaret"} <= set(visit.originals())


Stretch = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r"), max_size=8)


def test_any_text_is_shown_as_it_is_with_its_marks_in_place(visit: Visit) -> None:
    word = Stretch.filter(bool)

    @settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
    @given(st.lists(st.tuples(Stretch, word, word), max_size=6), Stretch)
    def holds(parts: list[tuple[str, str, str]], end: str) -> None:
        released, replacements = "", []
        for between, old, new in parts:
            start = len(released) + len(between)
            released += between + new
            replacements.append(
                {
                    "start": start,
                    "end": len(released),
                    "replacement": new,
                    "kind": "word",
                    "original": old,
                }
            )
        original = "".join(between + old for between, old, _ in parts) + end
        shown = visit.page.evaluate(SHOW, [original, released + end, replacements])
        assert shown == released + end
        assert visit.marks() == [new for _, _, new in parts]
        assert visit.originals() == [old for _, old, _ in parts]

    holds()


SHOW = """async ([original, released, replacements]) => {
    document.getElementById("text").value = original;
    (await import("/page/texts.js")).showTexts(released, replacements);
    return document.getElementById("result").textContent;
}"""


HOLD = """() => {
    const asked = window.fetch;
    window.fetch = (path, options) => {
        if (path !== "/page/preview") return asked(path, options);
        window.fetch = asked;  // the first preview only; it is held back, though it was cancelled
        window.cancelled = () => options.signal.aborted;
        return new Promise((answer) => { window.release = (body) => answer(new Response(body)); });
    };
}"""


def test_an_answer_that_comes_late_is_dropped(visit: Visit) -> None:
    late = visit.write("It is Peter.")
    visit.page.evaluate(HOLD)
    visit.page.locator("#text").fill("It is Peter!")
    visit.page.wait_for_function("() => window.release")
    answer = visit.write(TEXT)
    assert visit.page.evaluate("window.cancelled()")
    visit.page.evaluate("async (body) => { release(body); await 0; }", json.dumps(late))
    visit.page.evaluate("() => new Promise((done) => setTimeout(done))")  # all that waits has run
    assert visit.page.locator("#result").text_content() == answer["text"]


def test_while_the_answer_is_awaited_nothing_can_be_copied(visit: Visit) -> None:
    visit.write(TEXT)
    visit.page.route("**/page/preview", unanswered)
    visit.page.locator("#text").fill("It is Peter.")
    expect(visit.page.locator("#copy")).to_be_disabled()
    expect(visit.page.locator("#result")).to_have_attribute("aria-busy", "true")


def test_the_example_and_the_empty_text(visit: Visit) -> None:
    expect(visit.page.locator("#empty")).to_be_visible()
    visit.page.locator("#example").click()
    visit.settled()
    assert {"EMAIL", "PHONE"} <= {mark[1:].split("_")[0] for mark in visit.marks()}
    visit.page.locator("#clear").click()
    expect(visit.page.locator("#empty")).to_be_visible()
    assert visit.page.locator("#result").text_content() == ""
    expect(visit.page.locator("#copy")).to_be_disabled()
    expect(visit.page.locator("#text")).to_be_focused()


def test_a_long_text_stays_editable(visit: Visit) -> None:
    visit.prefer("identifiers")
    text = (
        "Please write to reader@library.example about the books that came in on time this week.\n"
        * 1100
    )
    visit.paste(text)
    visit.settled()
    assert visit.page.locator("#result").text_content() == text.replace(
        "reader@library.example", "<EMAIL_1>"
    )
    visit.page.locator("#text").press("Control+Home")
    visit.page.keyboard.type("So ")
    visit.settled()
    assert str(visit.page.locator("#result").text_content()).startswith("So Please")
    assert len(visit.originals()) == len(visit.marks()) == 1100


def test_a_text_that_is_too_long_is_refused_in_a_sentence(visit: Visit) -> None:
    visit.paste(TEXT * 4100)  # 200 KB
    expect(visit.page.get_by_role("alert")).to_have_text(
        re.compile("^A text on the page may have at most .*characters.$")
    )
    assert visit.page.locator("#result").text_content() == ""
    visit.page.locator("#clear").click()
    assert visit.write(TEXT)["text"] == visit.page.locator("#result").text_content()


def test_when_the_proxy_is_gone_the_page_says_so_and_tries_again(
    browser: Browser, model: OnnxMaskedLM
) -> None:
    sanitizer = Sanitizer(model=model, policy="words")
    with browser.new_context() as context:
        with served(sanitizer) as address:
            visit = Visit(context, address)
            visit.open()
        visit.page.locator("#text").fill(TEXT)
        expect(visit.page.get_by_role("alert")).to_contain_text("does not answer")
        with served(sanitizer, port=int(address.rpartition(":")[2])):
            visit.page.get_by_role("button", name="Try again").click()
            visit.settled()
            assert len(visit.marks()) == 3


def test_a_proxy_with_a_token_lets_the_browser_ask_for_it(
    browser: Browser, model: OnnxMaskedLM
) -> None:
    sanitizer, token = Sanitizer(model=model, policy="words"), "a-token-of-16-chars"
    with (
        served(sanitizer, token=token) as address,
        browser.new_context(http_credentials={"username": "", "password": token}) as context,
    ):
        visit = Visit(context, address)
        visit.open()
        assert visit.write(TEXT)["text"] == visit.page.locator("#result").text_content()
