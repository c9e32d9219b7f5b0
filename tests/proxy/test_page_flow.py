"""The page under the default policy: write, see what leaves, decide on each change, restore."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib import import_module
from typing import Any, Literal

import pytest
from playwright.sync_api import Browser, Locator, Route, expect

from sanitizer import Sanitizer
from sanitizer.lm.masked import OnnxMaskedLM
from tests.proxy.pages import TEXT, Visit, served, visiting

LETTER = f"{TEXT} He takes apixaban. Write to reception@clinic.example, in Leeds."
FACT = "I drank too much again and she left me last night, I cut myself."
GERMAN = "Ich wohne mit meiner Frau Petra Müller in Bonn und sie hat Krebs."


@pytest.fixture(scope="module")
def address(model: OnnxMaskedLM) -> Iterator[str]:
    with served(Sanitizer(policy="guarded", model=model, budget=1000.0)) as found:
        yield found


@pytest.fixture
def visit(browser: Browser, address: str) -> Iterator[Visit]:
    with visiting(browser, address) as found:
        yield found


def drawn(answer: dict[str, Any]) -> dict[str, str]:
    """Original -> stand-in of the things that were drawn."""
    return {r["original"]: r["replacement"] for r in answer["replacements"] if r["drawn"]}


def left(visit: Visit) -> dict[str, Any]:
    """Copy what leaves; what the proxy answered."""
    with visit.page.expect_response("**/page/copy") as answer:
        visit.copy()
    found: dict[str, Any] = answer.value.json()
    return found


def act(visit: Visit, original: str, action: str) -> None:
    """Choose what to do with a change from the list; waits for the text that follows."""
    visit.page.locator(".change").filter(has_text=original).first.click()
    with visit.page.expect_response("**/page/preview"):
        visit.page.locator("#menu").get_by_role("button", name=action).click()
    visit.settled()


def test_an_answer_that_is_pasted_comes_back_with_the_originals(visit: Visit) -> None:
    visit.write(LETTER)
    sent = {r["original"]: r["replacement"] for r in left(visit)["replacements"]}
    told = sent["hepatitis"]
    visit.paste_answer(
        f"Dear {sent['Peter']} of {sent['Leeds']}, with {told} take {sent['apixaban']}; "
        "ask &lt;EMAIL_1&gt;."
    )
    restored = "Dear Peter of Leeds, with hepatitis take apixaban; ask reception@clinic.example."
    expect(visit.page.locator("#restored")).to_have_text(restored)
    expect(visit.page.locator("#answer-status")).to_have_text("5 stand-ins were put back.")
    expect(visit.page.locator("#notes li")).to_have_text(
        [f"{told} stood for hepatitis: advice about {told} may not hold for hepatitis."]
    )
    visit.page.locator("#copy-answer").click()
    expect(visit.page.locator("#answer-status")).to_contain_text("Answer copied")
    assert visit.clipboard() == restored


def test_the_note_comes_for_answers_that_do_not_speak_of_the_thing_too(visit: Visit) -> None:
    visit.write(TEXT)
    visit.paste_answer("")
    left(visit)
    visit.paste_answer("Drink more water.")
    expect(visit.page.locator("#notes li")).to_contain_text(["stood for hepatitis"])


def test_where_nothing_is_drawn_the_share_of_known_words_is_one_number(visit: Visit) -> None:
    answer = visit.write("Peter's letter to Anna Berg came back, and so did Peter's.")

    def figure(term: str) -> Locator:
        return visit.page.locator(f"#figures dt:text-is('{term}') + dd")

    words = answer["risk"]["words"]
    expect(figure("Words read or guessed")).to_have_text(re.compile(r"^\d+%$"))
    said = f"{words['shown']} of {words['total']} words leave as you wrote them."
    expect(visit.page.locator("#told")).to_contain_text(said)


def test_before_anything_left_nothing_is_put_back(visit: Visit) -> None:
    visit.write(TEXT)
    visit.paste_answer("Dear <PERSON_1>.")
    expect(visit.page.locator("#answer-status")).to_contain_text("has left yet")
    expect(visit.page.locator("#restored")).to_have_text("Dear <PERSON_1>.")


def test_the_list_names_each_thing_once(visit: Visit) -> None:
    answer = visit.write(LETTER)
    things = {r["original"] for r in answer["replacements"]}
    expect(visit.page.locator(".change")).to_have_count(len(things))
    expect(visit.page.locator("#summary")).to_have_text(f"{len(things)} hidden")
    place = visit.page.locator(".change").filter(has_text="Leeds")
    expect(place).to_have_text(re.compile("^Leeds → <PLACE_1>place, kept on this machine2 times$"))


def test_a_change_can_be_kept_and_the_rule_undone(visit: Visit) -> None:
    visit.write(LETTER)
    visit.page.locator("#result mark", has_text="<PLACE_1>").first.click()
    expect(visit.page.locator("#menu-title")).to_have_text("Leeds → <PLACE_1>")
    expect(visit.page.locator("#menu")).to_contain_text("as you wrote it, wherever it stands")
    visit.page.keyboard.press("Escape")
    expect(visit.page.locator("#menu")).to_be_hidden()
    act(visit, "Leeds", "Let this place leave")
    assert str(visit.page.locator("#result").text_content()).count("Leeds") == 2
    expect(visit.page.locator("#rules li")).to_contain_text(["Leeds leaves as it is"])
    with visit.page.expect_response("**/page/preview"):
        visit.page.get_by_role("button", name="Undo: Leeds").click()
    visit.settled()
    assert "Leeds" not in str(visit.page.locator("#result").text_content())


def test_the_keyboard_opens_and_chooses(visit: Visit) -> None:
    visit.write(TEXT)
    visit.page.locator("#result mark").first.focus()
    visit.page.keyboard.press("Enter")
    expect(visit.page.locator("#menu button").first).to_be_focused()
    with visit.page.expect_response("**/page/preview"):
        visit.page.keyboard.press("Enter")
    visit.settled()
    assert "Peter" in str(visit.page.locator("#result").text_content())


def test_what_would_be_drawn_can_be_a_placeholder_for_nothing(visit: Visit) -> None:
    assert drawn(visit.write(TEXT)).keys() == {"hepatitis"}
    costs = visit.page.locator("#figures dt:text-is('Copying costs') + dd")
    expect(costs).to_have_text("5 epsilon")
    act(visit, "hepatitis", "Another stand-in")
    expect(costs).to_have_text("nothing")
    assert all(mark.startswith("<") for mark in visit.marks())
    assert left(visit)["record"]["charged"] == 0


def test_what_has_left_keeps_its_stand_in(visit: Visit) -> None:
    visit.write(TEXT)
    told = drawn(left(visit))["hepatitis"]
    again = visit.write(TEXT + " So it is.")
    assert drawn(again) == {"hepatitis": told}
    visit.page.locator(".change").filter(has_text="hepatitis").click()
    buttons = visit.page.locator("#menu button")
    expect(buttons).to_have_count(1)
    expect(buttons).to_contain_text(f"A reader then knows what {told} stood for")
    expect(visit.page.locator("#menu-note")).to_contain_text("It has left like this")


def test_what_is_selected_can_be_hidden(visit: Visit) -> None:
    visit.write("We like the green umbrella and the green boat.")
    assert visit.marks() == []
    select = "(text) => { text.focus(); text.setSelectionRange(12, 26); }"
    visit.page.locator("#text").evaluate(select)
    with visit.page.expect_response("**/page/preview"):
        visit.page.get_by_role("button", name="Always hide “green umbrella”").click()
    visit.settled()
    expect(visit.page.locator("#result")).to_have_text(
        re.compile("^We like the <[A-Z]+_1> and the green boat.$")
    )


def test_a_fact_in_everyday_words_is_pointed_out(visit: Visit) -> None:
    visit.write(FACT)
    notices = visit.page.locator("#notices li")
    expect(notices).to_contain_text(["may reveal something sensitive"])
    marked = visit.page.evaluate("[...CSS.highlights.get('fact')].map(String)")
    assert marked
    assert all(each in FACT for each in marked)
    for each in marked:
        expect(notices.get_by_role("button", name=f"Hide “{each.strip()}”")).to_be_visible()
    with visit.page.expect_response("**/page/preview"):
        notices.get_by_role("button", name="Hide all").click()
    visit.settled()
    left = str(visit.page.locator("#result").text_content())
    assert not [each for each in marked if each.strip() in left]
    expect(visit.page.locator("#notices")).not_to_contain_text(marked[0].strip())
    # It was chosen there, so the keyboard goes on beside it.
    assert visit.page.evaluate("document.activeElement !== document.body")


def test_a_task_that_needs_hidden_amounts_is_hinted_at(visit: Visit) -> None:
    visit.page.locator("input[value=guarded]").check(force=True)
    visit.write("Sort these by price: Elena Marsh owes £240, Otto Quill owes £95.")
    said = visit.page.locator("#notices li")
    expect(said).to_contain_text(["Amounts are hidden"])
    expect(said).to_contain_text(["write formulas instead, and they are computed here"])
    expect(said).not_to_contain_text(["policy file"])
    with visit.page.expect_response("**/page/preview"):
        said.get_by_role("button", name="Let “£240” leave").click()
    visit.settled()
    result = visit.page.locator("#result")
    expect(result).to_contain_text("£240")
    expect(result).not_to_contain_text("£95")
    with visit.page.expect_response("**/page/preview"):
        said.get_by_role("button", name="Let “£95” leave").click()
    expect(visit.page.locator("#notices")).to_be_hidden()
    expect(visit.page.locator("#rules li")).to_contain_text(["£240 leaves", "£95 leaves"])


def test_what_is_needed_is_offered_in_languages_without_hints(visit: Visit) -> None:
    visit.write("Die Miete kostet 1.250 €, ich verdiene 3.400 €. Wie viel bleibt mir übrig?")
    said = visit.page.locator("#notices li").filter(has_text="seems to need what is hidden")
    expect(said).to_contain_text("they are computed here")
    with visit.page.expect_response("**/page/preview"):
        said.get_by_role("button", name="Let all 2 leave").click()
    expect(visit.page.locator("#result")).to_contain_text("1.250 €, ich verdiene 3.400 €")
    expect(visit.page.locator("#notices")).not_to_contain_text("seems to need")


def test_the_figures_are_said_in_words_and_numbers_are_behind_them(visit: Visit) -> None:
    answer = visit.write(TEXT)
    risk, words = answer["risk"], answer["risk"]["words"]
    place = next(r["replacement"] for r in answer["replacements"] if not r["drawn"])
    expect(visit.page.locator("#told li")).to_have_text(
        [
            f"In place of 2 things a reader sees {place} and the like: what kind of thing it is, "
            "where the same one comes again, and nothing else about it.",
            "In place of the illness a reader sees another one, drawn by chance when it leaves "
            "(here you see an example). The best guess is right about 1 time in "
            f"{round(1 / risk['expected'])}; without the text, about 1 time in "
            f"{round(1 / risk['blind'])}.",
            f"{words['shown']} of {words['total']} words leave as you wrote them. They may give "
            "away what is hidden, or be private without being recognized: no figure here covers "
            "that.",
            re.compile("^Sending takes 5 of your budget for draws; [0-9,.]+ are left now.$"),
        ]
    )
    expect(visit.page.locator("#figures")).to_be_hidden()
    visit.page.locator("#record summary").click()
    expect(visit.page.locator("#figures")).to_be_visible()
    expect(visit.page.locator("#verdict-meaning")).to_contain_text("at most a factor of 148")
    left(visit)
    expect(visit.page.locator("#told")).not_to_contain_text("example")


def test_a_hidden_name_may_leave_or_get_another_stand_in(visit: Visit) -> None:
    visit.write(TEXT)
    visit.page.locator(".change").filter(has_text="Peter").click()
    expect(visit.page.locator("#menu button")).to_have_text(
        [re.compile("^Let this name leave"), re.compile("^Another stand-in")]
    )
    expect(visit.page.locator("#menu-note")).to_contain_text("SANITIZER_CORRECTIONS")
    visit.page.keyboard.press("Escape")
    act(visit, "Peter", "Another stand-in")
    expect(visit.page.locator("#result")).to_have_text(re.compile(r"^My father <TERM_\d"))
    assert visit.page.evaluate("document.activeElement !== document.body")
    visit.page.locator(".change").filter(has_text="hepatitis").click()
    expect(visit.page.locator("#menu-note")).to_contain_text("a second draw would reveal more")


def test_the_language_is_said_where_it_changes_what_is_done(visit: Visit) -> None:
    visit.write(GERMAN)
    expect(visit.page.locator("#notices li")).to_contain_text(["read as German"])


def test_a_change_in_the_list_brings_its_word_into_sight_and_moves_nothing_else(
    visit: Visit,
) -> None:
    visit.write("It is so.\n" * 60 + "Write to reader@library.example.\n" + "It is so.\n" * 60)
    for sheet in ("text", "result"):
        visit.page.locator(f"#{sheet}").evaluate("(sheet) => sheet.scrollTo(0, 0)")
    visit.page.locator(".change").hover()
    before = visit.page.evaluate("scrollY")
    visit.page.wait_for_function(
        """() => {
            const mark = document.querySelector("#result mark").getBoundingClientRect();
            const sheet = document.getElementById("result").getBoundingClientRect();
            return mark.top >= sheet.top && mark.bottom <= sheet.bottom;
        }"""
    )
    assert visit.page.evaluate("scrollY") == before


# ---- long texts ----


def test_a_long_text_shows_its_progress_and_can_be_cancelled(visit: Visit) -> None:
    failed: list[str] = []
    visit.page.on("requestfailed", lambda request: failed.append(request.url))

    def unanswered(route: Route) -> None:
        """A request that waits."""

    visit.write("Anna Berg is here.")
    visit.page.route("**/page/preview", unanswered)
    visit.page.route("**/page/progress", lambda route: route.fulfill(json={"done": 3, "total": 12}))
    visit.page.locator("#text").fill(TEXT)
    bar = visit.page.locator("#progress")
    bar.wait_for()
    assert bar.evaluate("(bar) => bar.position") == 0.25
    expect(visit.page.locator("#waiting-text")).to_have_text(
        re.compile(r"^Reading 49 characters on this machine, about \d+ (seconds|minutes) more\.$")
    )
    visit.page.locator("#cancel").click()
    expect(visit.page.get_by_role("alert")).to_contain_text("Cancelled")
    expect(visit.page.locator("#copy")).to_be_disabled()
    expect(visit.page.locator("#changes li")).to_have_count(0)
    expect(visit.page.locator("#status")).to_have_text("")
    visit.page.unroute("**/page/preview")
    visit.page.get_by_role("button", name="Try again").click()
    visit.settled()
    assert len(visit.marks()) == 3


def test_a_long_texts_empty_pane_says_at_once_that_it_is_read(visit: Visit) -> None:
    visit.page.route("**/page/preview", lambda route: None)
    visit.page.clock.install()
    visit.page.locator("#text").fill(TEXT)
    visit.page.clock.run_for(1000)
    expect(visit.page.locator("#waiting")).to_be_hidden()
    visit.page.locator("#text").fill(TEXT * 150)
    visit.page.clock.run_for(500)
    expect(visit.page.locator("#waiting-text")).to_contain_text("Reading 7,350 characters")


def test_the_proxy_tells_how_far_it_has_come(visit: Visit) -> None:
    visit.page.locator("#text").fill("We met Anna Berg in Oslo, and it was a good day. " * 400)
    visit.page.wait_for_function("() => document.getElementById('progress').position > 0")
    visit.page.locator("#cancel").click()
    visit.write(TEXT)  # it does not wait for the end of the long one


def test_the_limit_is_shown_before_anything_is_sent(visit: Visit) -> None:
    expect(visit.page.locator("#count.muted")).to_have_text("0 of 100,000 characters")
    visit.paste("😀" * 60_000)  # two units each in the browser, one character for the proxy
    expect(visit.page.locator("#count")).to_have_text("60,000 of 100,000 characters")
    visit.settled()
    asked = len(visit.requests)
    visit.paste("so " * 34_000)
    expect(visit.page.locator("#count.bad")).to_have_text("102,000 of 100,000 characters")
    expect(visit.page.get_by_role("alert")).to_contain_text("at most 100,000 characters")
    assert [url for url in visit.requests[asked:] if "preview" in url] == []


# ---- reload ----


def test_all_survives_a_reload_but_a_new_conversation_is_empty(visit: Visit) -> None:
    visit.write(LETTER)
    act(visit, "Leeds", "Let this place leave")
    shown = left(visit)["text"]
    visit.paste_answer("Dear <PERSON_1>.")
    expect(visit.page.locator("#restored")).to_have_text("Dear Peter.")
    visit.page.reload()
    visit.settled()
    expect(visit.page.locator("#text")).to_have_value(LETTER)
    expect(visit.page.locator("#result")).to_have_text(shown)
    expect(visit.page.locator("#restored")).to_have_text("Dear Peter.")
    expect(visit.page.locator("#rules li")).to_contain_text(["Leeds leaves as it is"])
    expect(visit.page.locator("#left li")).to_have_count(1)
    again = "This text has left. Copying or sending it again: free."
    expect(visit.page.locator("#status")).to_have_text(again)
    visit.page.get_by_role("button", name="New conversation").click()
    for empty in ("#text", "#answer"):
        expect(visit.page.locator(empty)).to_have_value("")
    expect(visit.page.locator("#left li")).to_have_count(0)
    visit.page.reload()
    visit.page.locator("#empty").wait_for()
    expect(visit.page.locator("#text")).to_have_value("")


def test_what_was_typed_last_survives_though_no_preview_was_asked(visit: Visit) -> None:
    visit.prefer("identifiers")
    visit.page.locator("#text").fill("a")
    visit.settled()
    visit.page.locator("#text").fill("It is so.")
    visit.page.reload()
    expect(visit.page.locator("#text")).to_have_value("It is so.")
    expect(visit.page.locator("input[value=identifiers]")).to_be_checked()


def test_what_has_left_can_be_exported_without_originals(visit: Visit) -> None:
    visit.write(TEXT)
    shown = left(visit)["text"]
    with visit.page.expect_download() as download:
        visit.page.get_by_role("button", name="Export as JSON").click()
    written = download.value.path().read_text("utf-8")
    assert shown in written
    assert not {"Peter", "hepatitis", "Leeds"} & set(re.findall(r"\w+", written))


# ---- the panes ----


def test_panes_share_their_height_grow_and_scroll_together(visit: Visit) -> None:
    height = "() => ['paper', 'result-paper'].map((id) => document.getElementById(id).offsetHeight)"
    visit.prefer("identifiers")
    visit.write("It is so.")
    low = visit.page.evaluate(height)
    visit.write("It is so.\n" * 14)
    grown = visit.page.evaluate(height)
    assert low[0] == low[1] < grown[0] == grown[1]
    visit.write("It is so.\n" * 300)
    visit.page.locator("#text").evaluate("(text) => text.scrollTo(0, 0)")
    visit.page.locator("#text").hover()
    visit.page.mouse.wheel(0, 4000)
    visit.page.wait_for_function(
        """() => {
            const [one, other] = ["text", "result"].map((id) => document.getElementById(id));
            return other.scrollTop > 1000 && Math.abs(one.scrollTop - other.scrollTop) < 40;
        }"""
    )


# ---- rules of accessibility ----


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_axe_finds_nothing(
    browser: Browser, address: str, width: int, scheme: Literal["light", "dark"]
) -> None:
    axe = import_module("axe_playwright_python.sync_playwright").Axe()
    with browser.new_context(reduced_motion="reduce") as context:
        visit = Visit(context, address, width=width, scheme=scheme)
        page = visit.open()
        page.emulate_media(reduced_motion="reduce", color_scheme=scheme)

        def check(state: str) -> None:
            found = axe.run(page).response["violations"]
            rules = {each["id"]: [node["html"] for node in each["nodes"]] for each in found}
            assert rules == {}, state

        check("empty")
        visit.write(f"{FACT} {LETTER}")
        left(visit)
        visit.paste_answer("Dear <PERSON_1>.")
        expect(page.locator("#restored")).to_have_text("Dear Peter.")
        visit.tune()
        for summary in page.locator("#record summary, #left summary").all():
            summary.click()
        check("filled")
        page.locator("#result mark").first.click()
        page.locator("#menu").wait_for()
        check("menu")
