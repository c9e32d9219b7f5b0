"""Step 3 of the page in a browser: sent through the proxy, read restored; and corrections."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Route, expect

from sanitizer import Corrections, Sanitizer
from sanitizer.lm.masked import OnnxMaskedLM
from tests.conftest import Told
from tests.proxy.pages import TEXT, Visit, served, visiting
from tests.proxy.servers import MAIL, Received, Upstream, an_api, chat, reply, upstream

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
    expect(page.locator("#status")).to_have_text(re.compile("^Sent, 5 of your budget."))
    (asked,) = [each for each in api.requests if each.body]
    assert asked.headers["authorization"] == f"Bearer {KEY}"
    left = asked.json()["messages"]
    assert [each["content"].split()[:2] for each in left] == [shown.split()[:2]]
    assert not {"Peter", "hepatitis", "Leeds"} & set(re.findall(r"\w+", json.dumps(left)))
    seen, note, _ = left[0]["content"].partition("\n\n[Note")
    assert note, "placeholders are explained"
    turn = page.locator(".turn")
    expect(turn.locator(".you > .said")).to_have_text(TEXT)
    expect(turn.locator(".model .said")).to_contain_text(f"You wrote: {TEXT}")
    turn.locator("summary").click()
    expect(turn.locator("details .said")).to_have_text([seen, note_of(left[0]["content"])])
    turn.get_by_role("button", name="Copy what left").click()
    expect(turn.get_by_role("button", name="Copied")).to_be_visible()
    assert visit.clipboard() == left[0]["content"]
    expect(page.locator("#text")).to_have_value("")
    expect(page.locator("#left li")).to_have_count(1)
    page.reload()
    expect(turn.locator(".model .said")).to_contain_text(f"You wrote: {TEXT}")
    expect(page.locator("#model")).to_have_value("small-1")
    expect(page.locator("#key")).to_have_value("")


def note_of(sent: str) -> str:
    return sent[sent.index("[Note") :]


def ask(visit: Visit, text: str, n_turns: int) -> None:
    visit.write(text)
    visit.page.locator("#send-now").click()
    expect(visit.page.locator(".turn")).to_have_count(n_turns)


def test_the_whole_conversation_is_sent_and_a_turn_can_be_written_anew(
    visit: Visit, api: Upstream
) -> None:
    page = visit.page
    page.locator("#model").fill("small-1")
    ask(visit, "Write to Peter, please.", 1)
    ask(visit, "Peter is away. Write to Elena.", 2)
    first, second = [each.json()["messages"] for each in api.requests if each.body]
    assert [each["role"] for each in second] == ["user", "assistant", "user"]
    assert second[0] == first[0], "what left before leaves as it left"
    assert second[1]["content"] == f"You wrote: {first[0]['content']}"
    assert not {"Peter", "Elena"} & set(re.findall(r"\w+", json.dumps(second)))
    axe: Any = import_module("axe_playwright_python.sync_playwright").Axe()
    assert axe.run(page).response["violations"] == []
    page.locator(".turn").first.get_by_role("button", name="Edit and send again").click()
    expect(page.locator("#text")).to_have_value("Write to Peter, please.")
    ask(visit, "Write to Peter, at once.", 1)
    third = [each.json()["messages"] for each in api.requests if each.body][-1]
    assert [each["role"] for each in third] == ["user"]
    page.locator("#new").click()
    expect(page.locator("#chat")).to_be_hidden()


def test_what_the_model_asks_for_leaves_once_a_person_says_so(browser: Browser, told: Told) -> None:
    told(MONEY="410 euros", PERSON="Peter")

    async def asking(received: Received, writer: asyncio.StreamWriter) -> None:
        hidden = re.search(r"<MONEY_\w+>", received.said() if received.body else "")
        said = chat(f"I cannot say. [need {hidden[0]}]") if hidden else b'{"data": []}'
        writer.write(reply(said))
        await writer.drain()

    with upstream(asking) as up, visiting(browser, Sanitizer(), upstream=up.url) as visit:
        visit.page.locator("#model").fill("small-1")
        ask(visit, "Peter owes 410 euros.", 1)
        asked = visit.page.locator(".turn .notices li")
        expect(asked).to_contain_text("410 euros")
        asked.get_by_role("button", name="Let it leave").click()
        expect(visit.page.locator("#send-status")).to_contain_text("send it again")
        visit.settled()
        visit.page.locator("#send-now").click()
        expect(visit.page.locator("#send-status")).to_have_text("small-1 has answered.")
        (last,) = [each.json()["messages"] for each in up.requests if each.body][-1]
        assert "= 410 euros" in last["content"]
        assert "Peter" not in last["content"]


def test_hidden_amounts_are_computed_here_and_the_model_is_told_how_once(
    browser: Browser, model: OnnxMaskedLM
) -> None:
    async def adding(received: Received, writer: asyncio.StreamWriter) -> None:
        hidden = re.findall(r"<MONEY_\w+>", received.said() if received.body else "")
        said = chat(f"It is {{{{= {' + '.join(hidden[:2])} }}}}.") if hidden else b'{"data": []}'
        writer.write(reply(said))
        await writer.drain()

    sanitizer = Sanitizer(policy="guarded", model=model)
    with upstream(adding) as up, visiting(browser, sanitizer, upstream=up.url) as visit:
        visit.page.locator("#model").fill("small-1")
        ask(visit, "Peter owes £240 and Elena owes £95. How much in total?", 1)
        answered = visit.page.locator(".turn .model .said")
        expect(answered).to_have_text(re.compile("^It is £335"))
        ask(visit, "And £10 and £20 in total?", 2)
        visit.prefer("balanced")  # each turn is read as it was sent
        visit.page.reload()
        expect(answered).to_have_text([re.compile("^It is £335"), re.compile("^It is £30")])
        sent = [each.json()["messages"] for each in up.requests if each.body][-1]
        told = ["write a formula" in each["content"] for each in sent]
        assert told == [True, False, False]
        assert "£" not in json.dumps(sent, ensure_ascii=False)


def test_what_leaves_as_it_is_needed_can_be_hidden_and_is_not_warned_of_then(
    browser: Browser, model: OnnxMaskedLM
) -> None:
    with visiting(browser, Sanitizer(model=model)) as visit:
        visit.write("Peter owes £240 and Elena owes £95. How much in total?")
        said = visit.page.locator("#notices li").filter(has_text="leaves as you wrote it")
        with visit.page.expect_response("**/page/preview"):
            said.get_by_role("button", name="Hide “£240”").click()
        expect(visit.page.locator("#result")).not_to_contain_text("£240")
        expect(said.get_by_role("button", name="Hide “£240”")).to_have_count(0)
        expect(visit.page.locator("#notices")).not_to_contain_text("Let “£240”")
        with visit.page.expect_response("**/page/preview"):
            said.get_by_role("button", name="calculate here").click()
        expect(visit.page.locator("input[value=guarded]")).to_be_checked()
        expect(visit.page.locator("#result")).not_to_contain_text("£95")
        expect(said).to_have_count(0)


def of_an_api_elsewhere(visit: Visit) -> None:
    """The page as it is where the API is on another machine and wants a key."""

    def told(route: Route) -> None:
        found = route.fetch()
        route.fulfill(response=found, json=found.json() | {"upstream_is_local": False})

    visit.page.route("**/page/settings", told)
    visit.open()


def test_models_are_listed_once_a_key_is_there(visit: Visit, api: Upstream) -> None:
    listed = visit.page.locator("#models option")
    expect(listed).to_have_count(2)  # on this machine no key is asked for
    del api.requests[:]
    of_an_api_elsewhere(visit)
    visit.page.locator("#model").focus()
    visit.write(TEXT)
    assert api.requests == []
    visit.page.locator("#key").fill(KEY)
    visit.page.locator("#key").press("Tab")
    expect(listed).to_have_count(2)
    expect(visit.page.locator("#model")).to_have_attribute("placeholder", "2 models")
    assert [each.headers["authorization"] for each in api.requests] == [f"Bearer {KEY}"]


def test_where_models_cannot_be_listed_a_name_can_be_typed(browser: Browser) -> None:
    with (
        upstream(an_api(status=401)) as up,
        visiting(browser, Sanitizer(policy="identifiers"), upstream=up.url) as visit,
    ):
        of_an_api_elsewhere(visit)
        visit.page.locator("#key").fill("wrong")
        visit.page.locator("#key").press("Tab")
        expect(visit.page.locator("#send-status")).to_have_text(
            "The API refuses this key (status 401). Its models cannot be listed: type a name."
        )
        expect(visit.page.locator("#model")).to_be_editable()


def test_what_an_api_says_against_it_is_shown(browser: Browser) -> None:
    sanitizer = Sanitizer(policy="identifiers")
    answered = reply(b'{"error": {"message": "There is no such model"}}', status=404)
    with (
        upstream(an_api(answered=answered)) as up,
        visiting(browser, sanitizer, upstream=up.url) as visit,
    ):
        expect(visit.page.locator("#send-now")).to_be_disabled()
        visit.write(MAIL)
        visit.page.locator("#model").fill("none")
        visit.page.locator("#send-now").click()
        expect(visit.page.locator("#send-status")).to_have_text(
            "It left, but the API answered with status 404: There is no such model. "
            "Sending the same text again is free."
        )
        expect(visit.page.locator("#text")).to_have_value(MAIL)
        expect(visit.page.locator("#left li")).to_have_count(1)


def test_nothing_leaves_where_no_api_answers(browser: Browser) -> None:
    sanitizer = Sanitizer(policy="identifiers")
    with visiting(browser, sanitizer) as visit:
        visit.write(MAIL)
        visit.page.locator("#model").fill("small-1")
        visit.page.locator("#send-now").click()
        expect(visit.page.locator("#send-status")).to_have_text(
            re.compile(r"The upstream \S+:\d+ could not be reached, or is no HTTP server\.")
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
            actions = ["Let this place leave", "Never hide it again", "Always hide it", "Another"]
            expect(visit.page.locator("#menu button")).to_have_text(
                [re.compile(f"^{each}") for each in actions]
            )
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
