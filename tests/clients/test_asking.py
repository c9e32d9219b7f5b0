"""An answer asks for a hidden value: a person decides, and only what was chosen leaves."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
from openai import AsyncOpenAI, OpenAI

from sanitizer import Sanitizer
from sanitizer.answers.asking import NEED, NOTE
from sanitizer.clients.shielding import shield
from sanitizer.lm.files import model_folder
from sanitizer.lm.tokens import ByteTokens
from sanitizer.storage.vault import MemoryVault
from sanitizer.testing import RecordingServer
from sanitizer.testing.server import answer
from tests.conftest import Told

TEXT = "Elena has eczema and owes 410 euros."
ASKED = "I cannot say. [need <CONDITION_1>] [need <MONEY_1>] [need <PERSON_1>]"


@pytest.fixture
def server(told: Told) -> Iterator[RecordingServer]:
    told(PERSON="Elena", CONDITION="eczema", MONEY="410 euros")
    with RecordingServer() as running:
        yield running


@pytest.fixture
def sanitizer() -> Sanitizer:
    return Sanitizer(vault=MemoryVault(numbers="from 1"), conversation="a")


def said(server: RecordingServer, *texts: str) -> None:
    server.script(*(answer("chat/completions", {}, text) for text in texts))


def ask(server: RecordingServer, sanitizer: Sanitizer, chosen: list[str] | None) -> str:
    asked: list[tuple[str, str]] = []

    def on_need(needs: list[tuple[str, str]]) -> list[str]:
        asked.extend(needs)
        return chosen or []

    client = shield(
        OpenAI(base_url=server.url, api_key="test"),
        sanitizer,
        on_need=None if chosen is None else on_need,
    )
    messages = [{"role": "user", "content": TEXT}]
    found = client.chat.completions.create(model="m", messages=messages)  # type: ignore[arg-type]
    client.close()
    if chosen is not None:
        assert asked == [("CONDITION", "<CONDITION_1>"), ("MONEY", "<MONEY_1>")]
    return str(found.choices[0].message.content)


def sent(server: RecordingServer) -> list[str]:
    return [each.json["messages"][0]["content"] for each in server.requests]


def test_what_a_person_chooses_leaves_behind_the_text(
    server: RecordingServer, sanitizer: Sanitizer
) -> None:
    said(server, ASKED, "It is <MONEY_1>, <PERSON_1:first>.")
    assert ask(server, sanitizer, ["<MONEY_1>", "<PERSON_1>"]) == "It is 410 euros, Elena."
    first, second = sent(server)
    head, _, note = first.partition("\n\n")
    assert second == f"{head}\n<MONEY_1> = 410 euros\n\n{note}"
    assert "eczema" not in second
    assert "Elena" not in second
    record = sanitizer.sanitize(TEXT).record
    assert record.asked == ("refused CONDITION", "released MONEY")
    assert record.left == ("MONEY",)


def test_of_a_stream_it_is_asked_at_its_end_and_leaves_with_the_next_request(
    server: RecordingServer, sanitizer: Sanitizer
) -> None:
    said_in_pieces = answer("chat/completions", {"stream": True}, ASKED)
    server.script(said_in_pieces, answer("chat/completions", {}, "<MONEY_1>"))
    asked: list[tuple[str, str]] = []

    def on_need(needs: list[tuple[str, str]]) -> list[str]:
        asked.extend(needs)
        return ["<MONEY_1>"]

    client = shield(OpenAI(base_url=server.url, api_key="test"), sanitizer, on_need=on_need)
    messages: list[Any] = [{"role": "user", "content": TEXT}]
    stream = client.chat.completions.create(model="m", messages=messages, stream=True)
    text = "".join(chunk.choices[0].delta.content or "" for chunk in stream)
    assert text == ASKED
    assert asked == [("CONDITION", "<CONDITION_1>"), ("MONEY", "<MONEY_1>")]
    assert len(server.requests) == 1
    client.chat.completions.create(model="m", messages=messages)
    client.close()
    assert "\n<MONEY_1> = 410 euros\n" in sent(server)[1]


def test_nothing_leaves_without_a_person(server: RecordingServer, sanitizer: Sanitizer) -> None:
    said(server, ASKED)
    assert ask(server, sanitizer, None) == ASKED
    assert len(server.requests) == 1


def test_a_refusal_is_one_decision(server: RecordingServer, sanitizer: Sanitizer) -> None:
    said(server, ASKED, ASKED)
    assert ask(server, sanitizer, []) == ASKED
    assert ask(server, sanitizer, ["<MONEY_1>"]) == ASKED
    assert len(server.requests) == 2
    assert sent(server)[0] == sent(server)[1]


def test_guarded_asks_for_nothing(server: RecordingServer) -> None:
    sanitizer = Sanitizer(policy="guarded", vault=MemoryVault(numbers="from 1"), conversation="a")
    sent = sanitizer.sanitize(TEXT)
    assert (len(sent.replacements), sent.text.count("<")) == (3, 2), "the illness is drawn"
    assert "[need" not in sanitizer.instruction
    assert not sanitizer.needs(ASKED)


def test_after_two_messages_nothing_more_is_released(told: Told) -> None:
    told(MONEY="410 520 630 740")
    sanitizer = Sanitizer(vault=MemoryVault(numbers="from 1"), conversation="a")
    every = [f"<MONEY_{i}>" for i in range(1, 5)]

    def n_released(text: str, *asked: str) -> int:
        sanitizer.sanitize(text)
        needs = sanitizer.needs(" ".join(f"[need {value}]" for value in asked))
        return sanitizer.release(text, needs, every).text.count(" = ")

    assert n_released("She owes 410 and 520.", "<MONEY_1>", "<MONEY_2>") == 2
    assert n_released("She owes 630.", "<MONEY_3>") == 1
    assert n_released("She owes 740.", "<MONEY_4>") == 0


def test_asynchronous_clients_ask_too(server: RecordingServer, sanitizer: Sanitizer) -> None:
    said(server, ASKED, "<MONEY_1>")

    async def asked() -> str:
        client = shield(
            AsyncOpenAI(base_url=server.url, api_key="test"),
            sanitizer,
            on_need=lambda needs: [placeholder for _, placeholder in needs],
        )
        messages = [{"role": "user", "content": TEXT}]
        found = await client.chat.completions.create(model="m", messages=messages)  # type: ignore[arg-type]
        await client.close()
        return str(found.choices[0].message.content)

    assert asyncio.run(asked()) == "410 euros"
    assert len(server.requests) == 2


def test_hints_are_told_before_a_request_is_sent(told: Told) -> None:
    told("MONEY", MONEY="410 euros")
    hints: list[str] = []
    with RecordingServer() as server:
        client = shield(
            OpenAI(base_url=server.url, api_key="test"), Sanitizer(), on_hint=hints.append
        )
        messages = [{"role": "user", "content": "Is 410 euros enough?"}]
        client.chat.completions.create(model="m", messages=messages)  # type: ignore[arg-type]
        client.close()
    assert "MONEY" in hints[0]
    assert "410" not in hints[0]


def test_an_answer_about_a_stand_in_says_so(told: Told) -> None:
    told(CONDITION="eczema")
    sanitizer = Sanitizer(policy="guarded")
    with RecordingServer() as server:
        client = shield(OpenAI(base_url=server.url, api_key="test"), sanitizer)
        messages = [{"role": "user", "content": "I have eczema."}]
        found = client.chat.completions.create(model="m", messages=messages)  # type: ignore[arg-type]
        client.close()
        drawn = sent(server)[0].removeprefix("I have ").partition(".")[0]
    (note,) = found.sanitizer_notes  # type: ignore[attr-defined]
    assert note.startswith(f'the model was told "{drawn}" where you wrote "eczema"')


def test_the_note_is_short() -> None:
    pieces = ByteTokens(model_folder("lm") / "tokenizer.json")
    assert len(pieces.encode(NOTE.format(NEED))) <= 90
