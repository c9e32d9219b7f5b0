"""Calls as documents: sanitized, and restored whole or event by event."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from sanitizer import RequestRefused, UpstreamError
from sanitizer.integrations.turns import Turns
from tests.integrations.parties import CARD, MAIL, TEXT, identifiers

Json = dict[str, Any]


def said(text: str = TEXT) -> Json:
    return {"messages": [{"role": "user", "content": text}]}


def chunk(text: str, **more: Any) -> Json:
    return {"choices": [{"index": 0, "delta": {"content": text}, "finish_reason": None, **more}]}


def text_of(events: list[Json]) -> str:
    return "".join(event["choices"][0]["delta"].get("content") or "" for event in events)


def test_a_call_and_its_answer() -> None:
    turn = Turns(identifiers()).begin(said())
    sent = turn.request["messages"][0]["content"]
    assert sent == "Write to <EMAIL_1> about the card <CARD_1>."
    assert turn.record.n_identifiers == 2
    assert turn.message({"role": "assistant", "content": sent})["content"] == TEXT


@pytest.mark.parametrize("size", [1, 2, 3, 7, 100])
def test_events_however_they_are_split(size: int) -> None:
    turn = Turns(identifiers()).begin(said())
    sent = turn.request["messages"][0]["content"]
    pieces = [sent[i : i + size] for i in range(0, len(sent), size)]
    found = list(turn.events().through(chunk(piece) for piece in pieces))
    assert text_of(found) == TEXT
    assert not any("<" in json.dumps(event) for event in found)


def test_asynchronous_events() -> None:
    turn = Turns(identifiers()).begin(said())

    async def events() -> AsyncIterator[Json]:
        for piece in ("to <EMA", "IL_1>", "."):
            yield chunk(piece)

    async def collected() -> list[Json]:
        return [event async for event in turn.events().athrough(events())]

    assert text_of(asyncio.run(collected())) == f"to {MAIL}."


def test_events_of_the_responses_api() -> None:
    turn = Turns(identifiers()).begin({"input": TEXT}, "responses")
    at = {"item_id": "i", "output_index": 0, "content_index": 0}
    events = turn.events()
    kind = "response.output_text"
    shown = events.feed({"type": f"{kind}.delta", **at, "delta": "<CARD"})
    shown += events.feed({"type": f"{kind}.delta", **at, "delta": "_1>!"})
    shown += events.feed({"type": f"{kind}.done", **at, "text": "<CARD_1>!"})
    shown += events.finish()
    assert "".join(event.get("delta", "") for event in shown) == f"{CARD}!"
    assert shown[-1]["text"] == f"{CARD}!"


def test_a_conversation_keeps_its_stand_ins() -> None:
    turns = Turns(identifiers())
    first, second = (turns.begin(said(f"Ask {mail}")) for mail in (MAIL, MAIL))
    assert first.request == second.request


def test_what_is_not_let_through_raises() -> None:
    turns = Turns(identifiers())
    image = {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}}
    with pytest.raises(RequestRefused):
        turns.begin({"messages": [{"role": "user", "content": [image]}]})
    with pytest.raises(RequestRefused):
        turns.begin({"input": "x"}, "files")
    with pytest.raises(TypeError):
        turns.begin({"messages": [object()]})
    with pytest.raises(UpstreamError):
        turns.begin(said()).answer({"no": "choices"})
