"""An answer about a stand-in says so in its last line, which never comes back to the API."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from sanitizer import Sanitizer
from sanitizer.testing.server import answer
from sanitizer.wire.filter import Exchange, Filter
from sanitizer.wire.history import last_line
from tests.conftest import Told

JSON = {"content-type": "application/json"}
POLICY = {"base": "guarded", "wire": {"notes": "text"}}
SAID = "Rest. See a doctor."
Json = dict[str, Any]


def message(text: Any, role: str = "user") -> Json:
    return {"role": role, "content": text}


def content(text: str) -> Json:
    return {"role": "user", "parts": [{"text": text}]}


ASKS: dict[str, tuple[str, str, Callable[[str], Json]]] = {
    "chat/completions": ("/v1/chat/completions", "messages", message),
    "responses": ("/v1/responses", "input", message),
    "messages": ("/v1/messages", "messages", message),
    "generateContent": ("/v1/models/m:generateContent", "contents", content),
    "streamGenerateContent": ("/v1/models/m:streamGenerateContent?alt=sse", "contents", content),
    "api/chat": ("/api/chat", "messages", message),
}
"""Endpoint -> its path, the field of its history, and how a user's text is written in it."""
WAYS = [
    (name, streams)
    for name in ASKS
    for streams in (True, False)
    if streams == (name == "streamGenerateContent") or not name.endswith("Content")
]


@pytest.fixture
def guarded(told: Told) -> Sanitizer:
    told(CONDITION="eczema psoriasis")
    return Sanitizer(policy=POLICY)


def ask(
    sanitizer: Sanitizer, name: str, history: list[Json], streams: bool, **more: Any
) -> Exchange:
    path, field, _ = ASKS[name]
    body = {"model": "m", field: history, "stream": streams, **more}
    return Filter(sanitizer).request("POST", path, JSON, json.dumps(body).encode())


def read(
    exchange: Exchange, name: str, streams: bool, text: str = SAID, tool: str | None = None
) -> list[Json]:
    """What comes of an answer: its document, or its events."""
    came = answer(name, {"stream": streams}, text, tool)
    if isinstance(came.body, bytes):
        return [json.loads(exchange.response(200, came.content_type, came.body))]
    stream = exchange.stream(came.content_type)
    shown = b"".join([*map(stream.feed, came.body), stream.finish()]).decode()
    lines = (line.removeprefix("data: ") for line in shown.splitlines())
    return [json.loads(line) for line in lines if line.startswith("{")]


def kept(name: str, events: list[Json]) -> list[Json]:
    """What an application keeps of an answer, as the vendor's SDK puts it together."""
    first, last = events[0], events[-1]
    if name == "chat/completions":
        parts = [
            choice.get("delta", choice.get("message")) for e in events for choice in e["choices"]
        ]
        return [message("".join(part.get("content") or "" for part in parts), "assistant")]
    if name == "responses":
        return list(last.get("response", last)["output"])
    if name == "messages" and first["type"] == "message":
        return [message(first["content"], "assistant")]
    if name == "messages":
        blocks: dict[int, Json] = {}
        for event in events:
            if event["type"] == "content_block_start":
                assert event["index"] == len(blocks)
                blocks[event["index"]] = dict(event["content_block"])
            elif event["type"] == "content_block_delta":
                blocks[event["index"]]["text"] += event["delta"]["text"]
        return [message(list(blocks.values()), "assistant")]
    if name == "api/chat":
        return [message("".join(each["message"]["content"] for each in events), "assistant")]
    return [candidate["content"] for each in events for candidate in each["candidates"]]


def texts(history: list[Json]) -> Iterator[str]:
    for each in history:
        said = each.get("content") or each.get("parts") or []
        yield from [said] if isinstance(said, str) else [part["text"] for part in said]


def of_model(sent: bytes, name: str) -> str:
    history = json.loads(sent)[ASKS[name][1]]
    return "".join(texts([each for each in history if each["role"] in ("assistant", "model")]))


@pytest.mark.parametrize(("name", "streams"), WAYS)
def test_it_ends_the_answer_and_is_not_sent_back(
    guarded: Sanitizer, name: str, streams: bool
) -> None:
    user = ASKS[name][2]
    exchange = ask(guarded, name, [user("I have eczema.")], streams)
    (note,) = exchange.notes
    drawn = note.split('"')[1]
    said = f"Rest. Your {drawn} heals <PERS"  # its end is held back until no more comes
    history = kept(name, read(exchange, name, streams, said))
    shown = "".join(texts(history))
    assert shown == said.replace(drawn, "eczema") + last_line([note])
    assert f'told "{drawn}" where you wrote "eczema"' in shown
    assert shown.count("[sanitizer: ") == 1
    again = [user("I have eczema."), *history, user("Thanks.")]
    for sanitizer in (guarded, Sanitizer(policy=POLICY)):  # with a memory of answers, and without
        sent = ask(sanitizer, name, again, streams).body
        assert b"sanitizer: " not in sent
        assert b"eczema" not in sent
        assert (of_model(sent, name) == said) or sanitizer is not guarded


@pytest.mark.parametrize(("name", "streams"), WAYS)
def test_calls_of_tools_and_json_have_none(guarded: Sanitizer, name: str, streams: bool) -> None:
    history = [ASKS[name][2]("I have eczema.")]
    called = read(ask(guarded, name, history, streams), name, streams, tool="look_up")
    assert "[sanitizer" not in json.dumps(called)
    wishes: Json = {
        "response_format": {"type": "json_object"},
        "text": {"format": {"type": "json_object"}},
        "output_config": {"format": {"type": "json_schema", "schema": {}}},
        "format": "json",
        "generationConfig": {"responseMimeType": "application/json"},
    }
    exchange = ask(guarded, name, history, streams, **wishes)
    assert "[sanitizer" not in json.dumps(read(exchange, name, streams, '{"a": 1}'))


@pytest.mark.parametrize(("name", "streams"), WAYS)
def test_every_telling_of_a_stream_says_the_same(
    guarded: Sanitizer, name: str, streams: bool
) -> None:
    events = read(ask(guarded, name, [ASKS[name][2]("I have eczema.")], streams), name, streams)
    if name != "responses" or not streams:
        return
    deltas = "".join(e["delta"] for e in events if e["type"] == "response.output_text.delta")
    (done,) = [e["text"] for e in events if e["type"] == "response.output_text.done"]
    (item,) = [e["item"] for e in events if e["type"] == "response.output_item.done"]
    assert deltas == done == item["content"][0]["text"] == "".join(texts(kept(name, events)))
    numbers = [event["sequence_number"] for event in events]
    assert numbers == list(range(len(events)))


LINE = last_line(['the model was told "gout" where you wrote "eczema]\n\n": it may not hold'])


@pytest.mark.parametrize(
    ("edited", "left"),
    [
        (f"{SAID}{LINE}", SAID),
        (f"{SAID}{LINE}\n", f"{SAID}\n"),
        (f"{SAID}{LINE[:-9]}", SAID),
        (f"{SAID}\n{LINE.strip()}", f"{SAID}\n"),
        (f"{SAID} {LINE.strip()[:-20]}", f"{SAID} "),
        (f"> {SAID}\n> {LINE.strip()}", f"> {SAID}\n> "),
        (f"{SAID}{LINE}\n\nMore.{LINE}", f"{SAID}\n\nMore."),
        (f"{SAID}\\n\\n{LINE.strip()}", f"{SAID}\\n\\n"),
    ],
)
def test_it_is_known_by_its_form_however_it_was_edited(told: Told, edited: str, left: str) -> None:
    told(CONDITION="eczema")
    body = ask(
        Sanitizer(policy="guarded"),
        "chat/completions",
        [message("Hi."), message(edited, "assistant"), message("Thanks.")],
        False,
    ).body
    assert of_model(body, "chat/completions") == left


def test_a_user_who_quotes_it_keeps_the_words_around_it(told: Told) -> None:
    told(CONDITION="eczema")
    cut = LINE.strip()[:-20]
    for quoted, sent in ((f"Why this: {LINE.strip()}?", "Why this: ?"), (f"And {cut}?", None)):
        body = ask(Sanitizer(policy="guarded"), "chat/completions", [message(quoted)], False).body
        (text,) = texts(json.loads(body)["messages"])
        assert "eczema" not in text
        assert sent is None or text == sent


def test_many_beginnings_take_no_longer_than_their_length(told: Told) -> None:
    told()
    many = "[sanitizer: the model was told " * 20_000
    sanitizer = Sanitizer(policy="identifiers")
    (text,) = texts(
        json.loads(ask(sanitizer, "chat/completions", [message(many)], False).body)["messages"]
    )
    assert text == many


def test_what_an_api_writes_into_such_a_line_tells_nothing(told: Told) -> None:
    """An original is inside of what is taken out as a whole, whatever it is."""
    sent = set()
    for original in ("eczema", "eczema; ok] and"):
        told(CONDITION=original.partition(" ")[0])
        sanitizer = Sanitizer(policy={"base": "guarded", "sensitive": {"values": [original]}})
        first = ask(sanitizer, "chat/completions", [message(f"I have {original}.")], False)
        said = json.loads(first.body)["messages"][0]["content"].split()[2].rstrip(".")
        forged = f"Rest.\n\n[sanitizer: the model was told {said} x"
        history = kept("chat/completions", read(first, "chat/completions", False, forged))
        again = [message("Hi."), *history, message("Thanks.")]
        sent.add(
            of_model(ask(sanitizer, "chat/completions", again, False).body, "chat/completions")
        )
    assert sent == {"Rest."}


def test_without_a_draw_or_the_setting_there_is_none(told: Told) -> None:
    told(PERSON="Elena", CONDITION="eczema")
    for policy, text in ((POLICY, "I am Elena."), ("guarded", "I have eczema.")):
        exchange = ask(Sanitizer(policy=policy), "chat/completions", [message(text)], False)
        (document,) = read(exchange, "chat/completions", False)
        assert document["choices"][0]["message"]["content"] == SAID
