"""Gemini's and Ollama's own APIs through the filter: what leaves, what is refused, and that an
answer reads the same however its stream is cut.
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sanitizer import Sanitizer
from sanitizer.errors import RequestRefused
from sanitizer.testing.other_apis import content
from sanitizer.wire.filter import Exchange, Filter

JSON = {"content-type": "application/json"}
MAIL = "anna@example.org"
WHOLE, STREAM = "/v1beta/models/m:generateContent", "/v1beta/models/m:streamGenerateContent?alt=sse"
EVENTS, LINES = "text/event-stream", "application/x-ndjson"
Json = dict[str, Any]


def asked(path: str, document: Json, filtered: Filter | None = None) -> Exchange:
    found = filtered or Filter(Sanitizer(policy="identifiers"))
    return found.request("POST", path, JSON, json.dumps(document).encode())


def user(text: str = f"Ask {MAIL}") -> Json:
    return {"role": "user", "parts": [{"text": text}]}


def test_all_text_of_a_request_is_read() -> None:
    document = {
        "contents": [
            user(),
            {
                "role": "model",
                "parts": [{"functionCall": {"name": "f", "args": {MAIL: [MAIL], "n": 1.0}}}],
            },
            {
                "role": "user",
                "parts": [{"function_response": {"name": "f", "response": {"to": MAIL}}}],
            },
        ],
        "system_instruction": {"parts": [{"text": MAIL}]},
        "tools": [{"functionDeclarations": [{"name": "f", "description": f"As {MAIL}"}]}],
        "generation_config": {"stopSequences": [MAIL], "temperature": 0.50},
        "labels": {"by": MAIL},
        "unknown": {"field": [MAIL]},
    }
    exchange = asked(WHOLE, document)
    assert MAIL.encode() not in exchange.body
    assert json.loads(exchange.body)["contents"][1]["parts"][0]["functionCall"]["args"]["n"] == 1


def test_ollama_streams_unless_told_not_to() -> None:
    assert asked("/api/chat", {"messages": []}).streams
    assert not asked("/api/chat", {"messages": [], "stream": False}).streams
    assert asked("/api/chat", {"messages": []}).is_stream("application/x-ndjson; charset=utf-8")
    assert not asked("/api/chat", {"messages": []}).is_stream(EVENTS)


TEXTS = st.lists(
    st.sampled_from(["<EMAIL_1>", "<EMA", "IL_1>", " to ", "x", '"', "\\", "é", "\n"]), max_size=6
).filter(lambda texts: "\\\\" not in "".join(texts))  # in quotes that opens a link


def shown_of_gemini(body: bytes) -> tuple[str, str]:
    """What is said and what is thought in all events of a stream."""
    said, thought = "", ""
    for block in body.replace(b"\r\n", b"\n").split(b"\n\n"):
        if block.startswith(b"data: "):
            for candidate in json.loads(block[6:]).get("candidates", []):
                for part in candidate.get("content", {}).get("parts", []):
                    if part.get("thought"):
                        thought += part.get("text", "")
                    else:
                        said += part.get("text", "")
    return said, thought


def streamed(exchange: Exchange, kind: str, body: bytes, size: int) -> bytes:
    stream = exchange.stream(kind)
    shown = b"".join(stream.feed(body[i : i + size]) for i in range(0, len(body), size))
    return shown + stream.finish()


@given(TEXTS, TEXTS, st.integers(1, 40), st.booleans())
@example(["<EMA"], [], 3, False)
@example(["<EMA", "IL_1>"], ["IL_1>", "x"], 1, True)
def test_gemini_reads_the_same_however_it_is_cut(
    thoughts: list[str], texts: list[str], size: int, finished: bool
) -> None:
    parts: list[Json] = [{"text": each, "thought": True} for each in thoughts]
    parts += [{"text": each} for each in texts]
    events = [content([part], None) for part in parts]
    if finished:
        events.append(content([], "STOP"))
    body = b"".join(b"data: " + json.dumps(each).encode() + b"\r\n\r\n" for each in events)
    exchange = asked(STREAM, {"contents": [user()]})
    said, thought = shown_of_gemini(streamed(exchange, EVENTS, body, size))
    assert said == "".join(texts).replace("<EMAIL_1>", MAIL)
    assert thought == "".join(thoughts).replace("<EMAIL_1>", MAIL)


@given(TEXTS, st.integers(1, 40), st.booleans(), st.booleans())
def test_lines_read_the_same_however_they_are_cut(
    texts: list[str], size: int, finished: bool, ended: bool
) -> None:
    lines = [{"message": {"role": "assistant", "content": each}, "done": False} for each in texts]
    if finished:
        lines.append({"message": {"role": "assistant", "content": ""}, "done": True})
    body = b"\n".join(json.dumps(each).encode() for each in lines)
    exchange = asked("/api/chat", {"messages": [{"role": "user", "content": f"Ask {MAIL}"}]})
    shown = streamed(exchange, LINES, body + b"\n" if ended else body, size)
    found = [json.loads(line) for line in shown.splitlines() if line]
    said = "".join(line["message"]["content"] for line in found)
    assert said == "".join(texts).replace("<EMAIL_1>", MAIL)
    assert not finished or found[-1]["done"] is True


@pytest.mark.parametrize("merged", [False, True])
def test_a_history_goes_back_as_it_came(merged: bool) -> None:
    """As the SDK keeps it, an event a content; or as one text, as other clients do."""
    filtered = Filter(Sanitizer(policy="identifiers"))
    pieces = ["Is it <EM", "AIL_1> or gu", "est@exam", "ple.org?"]
    body = b"".join(
        b"data: " + json.dumps(content([{"text": each}], None)).encode() + b"\n\n"
        for each in pieces
    )
    exchange = asked(STREAM, {"contents": [user()]}, filtered)
    shown = streamed(exchange, EVENTS, body, 1000)
    contents = [
        candidate["content"]
        for block in shown.split(b"\n\n")
        if block.startswith(b"data: ")
        for candidate in json.loads(block[6:])["candidates"]
    ]
    if merged:
        said = "".join(part["text"] for each in contents for part in each["parts"])
        contents = [{"role": "model", "parts": [{"text": said}]}]
    again = asked(STREAM, {"contents": [user(), *contents, user("And?")]}, filtered)
    back = "".join(
        part["text"]
        for each in json.loads(again.body)["contents"]
        if each["role"] == "model"
        for part in each["parts"]
    )
    assert back == "".join(pieces)


@pytest.mark.parametrize("merged", [False, True])
def test_a_guess_tells_nothing(merged: bool) -> None:
    """Two users differ in one value; the API guesses it. What leaves next is the same."""
    sent = []
    for secret in ("078-05-1120", "219-09-9999"):
        filtered = Filter(Sanitizer(policy="identifiers"))
        exchange = asked(STREAM, {"contents": [user(f"It is {secret}.")]}, filtered)
        parts: list[list[Json]] = [
            [{"text": "one "}],
            [{"text": "<SSN_1>"}],
            [{"text": " two"}],
            [{"text": "078-05-1120", "thought": True}],
            [{"text": "<SSN_1>"}],
        ]
        body = b"".join(
            b"data: " + json.dumps(content(each, None)).encode() + b"\n\n" for each in parts
        )
        shown = streamed(exchange, EVENTS, body, 1000)
        found = [
            part
            for block in shown.split(b"\n\n")
            if block.startswith(b"data: ")
            for part in json.loads(block[6:])["candidates"][0]["content"]["parts"]
        ]
        if merged:
            first = "".join(part["text"] for part in found[:-2])
            found = [{"text": first}, *found[-2:]]
        contents = [{"role": "model", "parts": [part]} for part in found]
        again = asked(
            STREAM, {"contents": [user(f"It is {secret}."), *contents, user("And?")]}, filtered
        )
        sent.append(again.body)
    assert sent[0] == sent[1]
    assert b"078-05-1120" in sent[0]  # the guess itself goes back as it came


def test_a_response_is_read_and_restored() -> None:
    filtered = Filter(Sanitizer(policy="identifiers"))
    body = {"model": "m", "input": f"Ask {MAIL}", "background": True}
    asked("/v1/responses", body, filtered)
    exchange = filtered.request("GET", "/v1/responses/resp_1", {}, b"")
    text = {"type": "output_text", "text": "To <EMAIL_1>.", "annotations": []}
    item = {"type": "message", "role": "assistant", "content": [text]}
    answer = {"id": "resp_1", "status": "completed", "output": [item]}
    shown = exchange.response(200, "application/json", json.dumps(answer).encode())
    assert json.loads(shown)["output"][0]["content"][0]["text"] == f"To {MAIL}."
    history = {**item, "content": [{**text, "text": f"To {MAIL}."}]}
    again = asked("/v1/responses", {"model": "m", "input": [history]}, filtered)
    assert b"To <EMAIL_1>." in again.body


@pytest.mark.parametrize(
    "path",
    ["/v1/models", "/v1/models/gpt-5", "/v1beta/models/gemini-2.5-pro", "/api/tags"],
)
def test_models_are_read_as_they_are(path: str) -> None:
    exchange = Filter(Sanitizer(policy="identifiers")).request("GET", path, {}, b"")
    assert exchange.response(200, "application/json", b'{"data": [1.0]}') == b'{"data": [1.0]}'


@pytest.mark.parametrize(
    "path", ["/v1/models/4111111111111111", "/v1/responses/x?include_all=y", "/v1/models/a/b"]
)
def test_what_is_not_read(path: str) -> None:
    with pytest.raises(RequestRefused):
        Filter(Sanitizer(policy="identifiers")).request("GET", path, {}, b"")
