"""Copying from the page: charged first, once, and exactly what was shown."""

from __future__ import annotations

import re

import httpx
import pytest
from playwright.sync_api import Browser, expect

from sanitizer import Sanitizer
from sanitizer.lm.masked import OnnxMaskedLM
from tests.proxy.pages import TEXT, Visit, visiting


def test_copying_charges_once_and_copies_what_was_shown(visit: Visit, sanitizer: Sanitizer) -> None:
    shown = visit.write(TEXT)["text"]
    visit.page.locator("#copy").click()
    expect(visit.page.locator("#status")).to_have_text("Copied, 15 of your budget.")
    assert visit.clipboard() == shown
    assert sanitizer.spent == 15.0
    visit.page.locator("#copy").click()
    expect(visit.page.locator("#status")).to_have_text("Copied, free.")
    assert (visit.clipboard(), sanitizer.spent) == (shown, 15.0)
    visit.write(TEXT + " So")
    assert visit.status() == "This text has not left this machine."


def test_without_an_api_a_person_copies_with_a_note_and_pastes_the_answer(browser: Browser) -> None:
    with visiting(browser, Sanitizer(), upstream="") as visit:
        shown = visit.write("Write to my aunt Ida Lund in Leeds.")["text"]
        expect(visit.page.locator("#send")).to_be_hidden()
        visit.page.locator("#copy").click()
        expect(visit.page.locator("#status")).to_have_text(
            "Copied with a note for the model, free."
        )
        text, note = visit.clipboard().split("\n\n")
        assert text == shown
        assert note.startswith("[Note: <PERSON_1>")
        visit.page.locator("#answer").fill(f"Dear {re.findall('<PERSON.+?>', shown)[0]},")
        expect(visit.page.locator("#restored")).to_have_text(re.compile("^Dear .*Ida Lund,"))
        asked = httpx.post(f"{visit.address}/v1/chat/completions", json={}, trust_env=False)
        assert asked.status_code == 404
        assert "page only" in asked.text


def test_two_quick_clicks_are_one_copy(visit: Visit, sanitizer: Sanitizer) -> None:
    visit.write(TEXT)
    visit.page.locator("#copy").dblclick()
    expect(visit.page.locator("#status")).to_have_text(re.compile("^Copied"))
    assert sanitizer.spent == 15.0
    assert len([url for url in visit.requests if url.endswith("/page/copy")]) == 1


@pytest.mark.parametrize("selected", ["#result mark", "#result", "body"])
def test_copying_by_selection_is_charged_too(
    visit: Visit, sanitizer: Sanitizer, selected: str
) -> None:
    shown = visit.write(TEXT)["text"]
    visit.page.locator(selected).first.evaluate(
        "(it) => { it.focus(); getSelection().selectAllChildren(it); }"
    )
    visit.page.keyboard.press("Control+c")
    expect(visit.page.locator("#status")).to_have_text("Copied, 15 of your budget.")
    assert (visit.clipboard(), sanitizer.spent) == (shown, 15.0)


def test_a_copy_that_used_most_of_the_budget_is_not_called_too_dear(
    browser: Browser, model: OnnxMaskedLM
) -> None:
    with visiting(browser, Sanitizer(model=model, budget=20.0, policy="words")) as visit:
        visit.write(TEXT)
        visit.page.locator("#copy").click()
        figures = visit.page.locator("#figures")
        expect(figures.locator("dt:text-is('Charged') + dd")).to_have_text("15 epsilon")
        expect(figures.locator("dt:text-is('Budget') + dd")).to_have_text(
            "15 epsilon spent, 5 left"
        )


def test_copying_the_own_text_is_free(visit: Visit, sanitizer: Sanitizer) -> None:
    visit.write(TEXT)
    visit.page.locator("#text").press("Control+a")
    visit.page.keyboard.press("Control+c")
    assert (visit.clipboard(), sanitizer.spent) == (TEXT, 0.0)


def test_without_the_clipboard_interface_copying_works_the_old_way(visit: Visit) -> None:
    visit.page.add_init_script(
        "delete Navigator.prototype.clipboard"
    )  # as over plain http from another machine
    visit.open()
    shown = visit.write(TEXT)["text"]
    visit.page.locator("#copy").click()
    expect(visit.page.locator("#status")).to_have_text("Copied, 15 of your budget.")
    visit.page.locator("#text").fill("")
    visit.page.locator("#text").press("Control+v")
    assert visit.page.locator("#text").input_value() == shown


def test_a_copy_beyond_the_budget_is_refused_in_a_sentence(
    visit: Visit, sanitizer: Sanitizer
) -> None:
    visit.page.evaluate("navigator.clipboard.writeText('before')")
    visit.write(TEXT * 40)
    expect(visit.page.locator("#notices")).to_contain_text("epsilon, and 200 are left: it cannot")
    expect(visit.page.locator("#notices")).to_contain_text("with a larger --budget")
    visit.page.locator("#copy").click()
    expect(visit.page.locator("#status")).to_have_text(
        "The budget is used up: this text costs more than is left. Nothing was copied."
    )
    assert (visit.clipboard(), sanitizer.spent) == ("before", 0.0)
    visit.page.get_by_role("button", name="Use “Balanced”").click()
    visit.settled()
    expect(visit.page.locator("#notices")).not_to_contain_text("it cannot be copied")
    visit.copy()
    assert sanitizer.spent == 0.0
