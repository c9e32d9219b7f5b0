"""Step 3 of the page in a browser: sent through the proxy, read restored; and corrections."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from sanitizer import Corrections, Sanitizer
from sanitizer.lm.masked import OnnxMaskedLM
from tests.proxy.pages import TEXT, Visit, served, visiting
from tests.proxy.servers import MAIL, Upstream, an_api, reply, upstream

KEY = "a-key-of-the-api"
MEMORY_KEY = b"a key for the tests of the page"


@pytest.fixture
def api() -> Iterator[Upstream]:
    with upstream(an_api()) as running:
        yield running


@pytest.fixture
def visit(browser: Browser, model: OnnxMaskedLM, api: Upstream) -> Iterator[Visit]:
    sanitizer = Sanitizer(policy="guarded", model=model, budget=100.0)
    with visiting(browser, sanitizer, upstream=api.url) as found:
        yield found


def test_a_letter_is_sent_and_its_answer_read_restored(visit: Visit, api: Upstream) -> None:
    page = visit.page
    shown = visit.write(TEXT)["text"]
    page.locator("#key").fill(KEY)
    page.locator("#model").focus()
    expect(page.locator("#models option")).to_have_count(2)
    page.locator("#model").fill("small-1")
    page.keyboard.press("Enter")
    expect(page.locator("#send-status")).to_have_text("small-1 has answered.")
    expect(page.locator("#status")).to_have_text(re.compile("^Sent, charged 5 epsilon."))
    (asked,) = [each for each in api.requests if each.body]
    assert asked.headers["authorization"] == f"Bearer {KEY}"
    left = asked.json()["messages"]
    assert [each["content"].split()[:2] for each in left] == [shown.split()[:2]]
    assert not {"Peter", "hepatitis", "Leeds"} & set(re.findall(r"\w+", json.dumps(left)))
    seen, note, _ = left[0]["content"].partition("\n\n[Note")
    assert note, "placeholders are explained"
    expect(page.locator("#result")).to_have_text(seen)
    expect(page.locator("#answer")).to_have_value("You wrote: " + left[0]["content"])
    expect(page.locator("#restored")).to_contain_text(f"You wrote: {TEXT}")
    expect(page.locator("#left li")).to_have_count(1)
    page.reload()
    expect(page.locator("#restored")).to_contain_text(f"You wrote: {TEXT}")
    expect(page.locator("#model")).to_have_value("small-1")
    expect(page.locator("#key")).to_have_value("")


def test_what_an_api_says_against_it_is_shown(browser: Browser) -> None:
    sanitizer = Sanitizer(policy="identifiers")
    answered = reply(b'{"error": {"message": "There is no such model"}}', status=404)
    with (
        upstream(an_api(answered=answered)) as up,
        visiting(browser, sanitizer, upstream=up.url) as visit,
    ):
        expect(visit.page.locator("#send-now")).to_be_disabled()
        visit.write(MAIL)
        visit.page.locator("#answer").fill("An answer to an earlier text.")
        visit.page.locator("#model").fill("none")
        visit.page.locator("#send-now").click()
        expect(visit.page.locator("#send-status")).to_have_text(
            "It left, but the API answered with status 404: There is no such model. "
            "Sending the same text again is free."
        )
        expect(visit.page.locator("#answer")).to_have_value("")
        expect(visit.page.locator("#left li")).to_have_count(1)


def test_nothing_leaves_where_no_api_answers(browser: Browser) -> None:
    sanitizer = Sanitizer(policy="identifiers")
    with visiting(browser, sanitizer) as visit:
        visit.write(MAIL)
        visit.page.locator("#model").fill("small-1")
        visit.page.locator("#send-now").click()
        expect(visit.page.locator("#send-status")).to_have_text(
            "The upstream cannot be reached, or does not speak HTTP."
        )
        expect(visit.page.locator("#status")).to_contain_text("Nothing was sent.")
        expect(visit.page.locator("#left li")).to_have_count(0)


def test_waiting_for_an_answer_can_be_cancelled(visit: Visit) -> None:
    visit.prefer("identifiers")
    visit.write(MAIL)
    visit.page.route("**/page/send", lambda route: None)
    visit.page.locator("#model").fill("small-1")
    visit.page.locator("#send-now").click()
    visit.page.locator("#send-cancel").click()
    expect(visit.page.locator("#send-status")).to_contain_text("Cancelled.")
    expect(visit.page.locator("#send-cancel")).to_be_hidden()
    expect(visit.page.locator("#send-now")).to_be_enabled()


def test_one_click_hides_or_keeps_a_word_for_good(
    browser: Browser, model: OnnxMaskedLM, tmp_path: Path
) -> None:
    path = tmp_path / "corrections"
    text = f"{TEXT} We like the green umbrella."
    sanitizer = Sanitizer(model=model, corrections=Corrections(path, MEMORY_KEY, create=True))
    with served(sanitizer) as address:
        with visiting(browser, address) as visit:
            visit.write(text)
            visit.page.locator(".change").filter(has_text="Leeds").click()
            with visit.page.expect_response("**/page/remember") as kept:
                visit.page.locator("#menu").get_by_role("button", name="Never hide").click()
            assert kept.value.json() == {"changed": True}
            select = "(text) => { text.focus(); const at = text.value.indexOf('green');"
            visit.page.locator("#text").evaluate(select + "text.setSelectionRange(at, at + 14); }")
            with visit.page.expect_response("**/page/remember") as hidden:
                visit.page.locator("#hide").click()
            assert hidden.value.json() == {"changed": True}
            expect(visit.page.locator("#rules li")).to_have_count(2)
        with visiting(browser, address) as visit:  # another person, who shares the memory
            answer = visit.write(text)
            hidden_words = {each["original"] for each in answer["replacements"]}
            assert "Leeds" not in hidden_words
            assert {"Peter", "green umbrella"} <= hidden_words
    assert b"umbrella" not in path.read_bytes()
