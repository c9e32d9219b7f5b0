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
from playwright.sync_api import Browser, expect

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
    expect(page.locator("#status")).to_have_text(re.compile("^Sent, charged 5 epsilon."))
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
    expect(turn.locator("details .said")).to_have_text(seen + note_of(left[0]["content"]))
    expect(page.locator("#text")).to_have_value("")
    expect(page.locator("#left li")).to_have_count(1)
    page.reload()
    expect(turn.locator(".model .said")).to_contain_text(f"You wrote: {TEXT}")
    expect(page.locator("#model")).to_have_value("small-1")
    expect(page.locator("#key")).to_have_value("")


def note_of(sent: str) -> str:
    return sent[sent.index("\n\n[Note") :]


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
            re.compile(r"The upstream \S+:\d+ cannot be reached, or does not speak HTTP\.")
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
