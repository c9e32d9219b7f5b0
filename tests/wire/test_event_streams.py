"""Event streams: restored, however they are cut; held back as little as possible; closed at the
first doubt.
"""

from __future__ import annotations

import importlib
import json
import pkgutil
from collections import defaultdict
from typing import Any, get_args

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sanitizer import Sanitizer
from sanitizer.answers.links import Links
from sanitizer.answers.restorer import Restorer
from sanitizer.errors import UpstreamError
from sanitizer.storage.table import Wanted
from sanitizer.wire.event_streams import MAX_EVENT, EventStream
from sanitizer.wire.formats.typed_events import KNOWN
from tests.clients.tool_calls import EMAIL, RESPONSES, chat, send, toy
from tests.wire.cases import cases

SSE = "text/event-stream; charset=utf-8"
ORIGINALS = {"<EMAIL_1>": EMAIL, "<EMAIL_2>": "anna.nowak@example.org", "<TEXT_1>": "<EMAIL_2>"}
PROMPT = f"{EMAIL}, anna.nowak@example.org and <EMAIL_2>"
PIECES = st.lists(
    st.sampled_from(
        [
            "<",
            "<EMAIL",
            "_1>",
            "<EMAIL_1>",
            "<EMAIL_2>",
            "<TEXT_1>",
            "<EMAIL_9>",
            "é😀",
            ' "q"',
            "\\",
            "\n",
            "a ",
        ]
    )
)
quick = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])


def stream(path: str = "/v1/chat/completions", sanitizer: Sanitizer | None = None) -> EventStream:
    return send(
        {**chat(PROMPT), "input": PROMPT, "prompt": PROMPT, "stream": True, "n": 3}, sanitizer, path
    ).stream(SSE)


def restored(text: str, escaped: bool = True) -> str:
    """Without other spellings where the text came inside of JSON: there a backslash is an escape.

    Args:
        text: as it reads, not as JSON spells it.
    """
    return Restorer(ORIGINALS, Links(), escaped).text(text)


def event(data: Any, name: str = "", end: str = "\n") -> bytes:
    head = f"event: {name}{end}" if name else ""
    return f"{head}data: {data if isinstance(data, str) else json.dumps(data)}{end}{end}".encode()


def chunk(delta: Any, finish: str | None = None, index: int = 0) -> dict[str, Any]:
    choice = {"index": index, "delta": delta, "logprobs": None, "finish_reason": finish}
    return {
        "id": "c",
        "object": "chat.completion.chunk",
        "created": 1.0,
        "model": "m",
        "choices": [choice],
    }


def call(arguments: str, index: int = 0) -> dict[str, Any]:
    return {"tool_calls": [{"index": index, "function": {"arguments": arguments}}]}


def through(filtered: EventStream, raw: bytes, cuts: list[int] | None = None) -> bytes:
    places = sorted({c % (len(raw) + 1) for c in cuts or []})
    parts = [raw[a:b] for a, b in zip([0, *places], [*places, len(raw)], strict=True)]
    return b"".join([*[filtered.feed(part) for part in parts], filtered.finish()])


def events(raw: bytes) -> list[Any]:
    """Read back, without the code under test."""
    blocks = [
        b
        for b in raw.decode().replace("\r\n", "\n").replace("\r", "\n").split("\n\n")
        if b.strip("\n")
    ]
    data = [
        "\n".join(line[5:].strip() for line in b.split("\n") if line.startswith("data:"))
        for b in blocks
    ]
    return [json.loads(d) for d in data if d and d != "[DONE]"]


def concatenated(raw: bytes) -> dict[tuple[Any, ...], str]:
    """The deltas of each text put together, as a client does it."""
    texts: defaultdict[tuple[Any, ...], str] = defaultdict(str)
    for choice in (c for e in events(raw) for c in e["choices"]):
        if "text" in choice:
            texts[choice["index"], "text"] += choice["text"]
        for key, value in choice.get("delta", {}).items():
            if key == "tool_calls":
                for tool in value:
                    texts[choice["index"], tool["index"]] += tool["function"]["arguments"]
            elif key == "function_call":
                texts[choice["index"], key] += value["arguments"]
            elif isinstance(value, str) and key != "role":
                texts[choice["index"], key] += value
    return texts


@given(
    pieces=st.lists(
        st.tuples(
            st.sampled_from(["content", "refusal", "reasoning_content"]), st.integers(0, 2), PIECES
        )
    ),
    cuts=st.lists(st.integers(0, 10_000), max_size=12),
    end=st.sampled_from(["\n", "\r\n", "\r"]),
    finished=st.booleans(),
)
@quick
def test_any_split_of_a_chat_stream_gives_the_restored_text(
    pieces: list[tuple[str, int, list[str]]], cuts: list[int], end: str, finished: bool
) -> None:
    sent: defaultdict[tuple[Any, ...], str] = defaultdict(str)
    raw = b"\xef\xbb\xbf: hello" + end.encode() * 2
    for field, index, parts in pieces:
        for part in parts:
            sent[index, field] += part
            raw += event(chunk({field: part}, index=index), end=end)
    if finished:
        raw += b"".join(event(chunk({}, "stop", i), end=end) for i in range(3)) + event(
            "[DONE]", end=end
        )
    out = through(stream(), raw, cuts)
    assert concatenated(out) == {key: restored(text) for key, text in sent.items()}
    assert out == through(stream(), raw)


@given(
    values=st.lists(PIECES, min_size=1, max_size=3),
    sizes=st.lists(st.integers(1, 9), min_size=1),
    data=st.data(),
)
@quick
def test_streamed_arguments_stay_json_whatever_the_originals(
    values: list[list[str]], sizes: list[int], data: st.DataObject
) -> None:
    ascii_only, html = data.draw(st.booleans()), data.draw(st.booleans())
    texts = ["".join(v) for v in values]
    raw = b""
    sent: list[str] = []
    for index, text in enumerate(texts):
        arguments = json.dumps({"a": text, "b": [text, 1.0]}, ensure_ascii=ascii_only)
        if html:
            arguments = arguments.replace("<", "\\u003c").replace(">", "\\u003e")
        while arguments:
            size = sizes[len(sent) % len(sizes)]
            sent.append(arguments[:size])
            raw += event(chunk(call(arguments[:size], index)))
            arguments = arguments[size:]
    raw += event(chunk({}, "tool_calls"))
    got = concatenated(
        through(stream(), raw, data.draw(st.lists(st.integers(0, 10_000), max_size=5)))
    )
    for index, text in enumerate(texts):
        shown = restored(text, escaped=False)
        assert json.loads(got[0, index]) == {"a": shown, "b": [shown, 1.0]}


def test_originals_with_quotes_are_escaped_inside_arguments() -> None:
    sanitizer = Sanitizer(policy="identifiers")
    original = 'say "x\ny"'
    vault = sanitizer.inner.vault
    with vault.edit(sanitizer.conversation) as table:
        table.assign(Wanted("TEXT", original), "<TEXT_1>")
    filtered = send(chat("hi"), sanitizer).stream(SSE)
    raw = b"".join(event(chunk(call(p))) for p in ['{"a": "<TE', 'XT_1>"', "}"]) + event(
        chunk({}, "tool_calls")
    )
    assert json.loads(concatenated(through(filtered, raw))[0, 0]) == {"a": original}


def test_only_what_may_become_a_released_value_is_held_back() -> None:
    filtered = stream()
    assert concatenated(filtered.feed(event(chunk({"content": "Write to "})))) == {
        (0, "content"): "Write to "
    }
    assert concatenated(filtered.feed(event(chunk({"content": "you <EMA"})))) == {
        (0, "content"): "you "
    }
    assert concatenated(filtered.feed(event(chunk({"content": "IL_1>!"})))) == {
        (0, "content"): f"{EMAIL}!"
    }


def test_what_is_held_back_comes_before_the_finish() -> None:
    out = through(
        stream(), event(chunk({"content": "a <EMAIL"})) + event(chunk({}, "stop")) + event("[DONE]")
    )
    first, held, finish = events(out)
    assert first["choices"][0]["delta"] == {"content": "a "}
    assert held["choices"] == [{"index": 0, "delta": {"content": "<EMAIL"}, "finish_reason": None}]
    assert {k: v for k, v in held.items() if k != "choices"} == {
        k: v for k, v in first.items() if k != "choices"
    }
    assert finish["choices"][0]["finish_reason"] == "stop"
    assert out.endswith(b"data: [DONE]\n\n")


def test_a_finish_that_goes_on_with_the_text_holds_nothing_back() -> None:
    assert events(through(stream(), event(chunk({"content": "a <EMAIL"}, "length")))) == [
        chunk({"content": "a <EMAIL"}, "length")
    ]


def test_legacy_and_strange_deltas_are_restored() -> None:
    deltas = [
        {"function_call": {"name": "f", "arguments": '"<EMA'}},
        {"function_call": {"arguments": 'IL_1>"'}},
        {"reasoning_details": [{"type": "reasoning.text", "text": "<EMAIL_1>", "index": 0}]},
        {"content": [{"type": "text", "text": "see <EMAIL_1>"}]},
        {"annotations": [{"url_citation": {"title": "by <EMAIL_1>"}}]},
    ]
    out = through(stream(), b"".join(event(chunk(d)) for d in deltas)).decode()
    assert out.count(EMAIL) == 4
    assert "EMAIL_1" not in out


def test_completions_are_restored() -> None:
    choices = [{"index": 0, "text": t, "finish_reason": None} for t in ("to <EMA", "IL_1> <")]
    raw = b"".join(event({"object": "text_completion", "choices": [c]}) for c in choices)
    assert concatenated(through(stream("/v1/completions"), raw)) == {(0, "text"): f"to {EMAIL} <"}


def test_what_needs_no_restoring_passes_byte_for_byte() -> None:
    raw = (
        b": keep-alive\n\nid: 7\nretry: 10\n"
        + event(chunk({"content": "plain", "x": 1e5}))
        + event({"object": "", "choices": [], "prompt_filter_results": [{"a": 1}]})
        + b"event: nothing\n\ndata:\n\n"
        + event('{"choices":\ndata: []}')
        + event("[DONE]")
    )
    assert through(stream(), raw) == raw


@given(cuts=st.lists(st.integers(0, 200), max_size=9), end=st.sampled_from(["\n", "\r\n", "\r"]))
@quick
def test_an_event_of_many_lines_stays_one(cuts: list[int], end: str) -> None:
    lines = [
        "id: 7",
        'data: {"choices": [{"index": 0,',
        ": a comment",
        'data: "delta": {"content": "<EMAIL_1>"}}]}',
        "",
        "",
    ]
    out = through(stream(), end.join(lines).encode(), cuts)
    assert out.startswith(b"id: 7\n: a comment\ndata: ")
    assert concatenated(out) == {(0, "content"): EMAIL}


def test_a_streamed_answer_goes_back_for_free() -> None:
    sanitizer = toy()
    filtered = stream(sanitizer=sanitizer)
    raw = b"".join(event(chunk({"content": p})) for p in ["Zorblaxian at <EMA", "IL_1>"])
    raw += b"".join(
        event(chunk(call(p))) for p in ['{"who": "Gromble', 'field <EMAIL_1>", "n": 1}']
    )
    texts = concatenated(through(filtered, raw + event(chunk({}, "stop")) + event("[DONE]")))
    tool = {"id": "c", "type": "function", "function": {"name": "f", "arguments": texts[0, 0]}}
    history = send(chat(texts[0, "content"], "assistant", tool_calls=[tool]), sanitizer)
    assert history.record.charged == 0
    message = json.loads(history.body)["messages"][0]
    assert message["content"] == "Zorblaxian at <EMAIL_1>"
    assert (
        message["tool_calls"][0]["function"]["arguments"]
        == '{"who": "Gromblefield <EMAIL_1>", "n": 1}'
    )


@pytest.mark.parametrize(("path", "kind", "raw"), cases("streams"))
def test_a_stream_that_cannot_be_read_is_closed(path: str, kind: str, raw: str) -> None:
    exchange = send({"messages": [], "contents": []}, path=path)
    with pytest.raises(UpstreamError) as error:
        through(exchange.stream(kind), raw.encode("latin-1"))
    assert error.value.__cause__ is None


@pytest.mark.parametrize("raw", [event("[" * 10_000), b"data: " + b"x" * (MAX_EVENT + 1)])
def test_an_event_that_is_too_long_or_too_deep_ends_the_stream(raw: bytes) -> None:
    with pytest.raises(UpstreamError):
        stream().feed(raw)


@pytest.mark.parametrize(
    "raw", [b"data: {", b'data: {"choices":[]}', b'data: {"choices":[]}\n', b"event: x"]
)
def test_a_stream_that_ends_inside_an_event_is_an_error(raw: bytes) -> None:
    filtered = stream()
    assert filtered.feed(raw) == b""
    with pytest.raises(UpstreamError, match="inside an event"):
        filtered.finish()


def test_a_last_done_without_its_blank_line_is_enough() -> None:
    out = through(stream(), event(chunk({"content": "<EM"})) + b"data: [DONE]")
    assert concatenated(out) == {(0, "content"): "<EM"}
    assert out.endswith(b"data: [DONE]")


def test_errors_inside_a_stream_are_restored() -> None:
    out = through(
        stream(),
        event({"error": {"message": "bad <EMAIL_1>", "type": "server_error", "code": None}}),
    )
    assert events(out) == [
        {"error": {"message": f"bad {EMAIL}", "type": "server_error", "code": None}}
    ]


def delta(kind: str, text: Any, number: int, **place: Any) -> bytes:
    name = f"response.{kind}.delta"
    return event(
        {
            "type": name,
            "item_id": "i",
            "output_index": 0,
            **place,
            "delta": text,
            "sequence_number": number,
        },
        name,
    )


KINDS = {
    "output_text": "text",
    "refusal": "refusal",
    "reasoning_text": "text",
    "reasoning_summary_text": "text",
    "function_call_arguments": "arguments",
    "mcp_call_arguments": "arguments",
    "code_interpreter_call_code": "code",
    "custom_tool_call_input": "input",
    "shell_call_command": "command",
}


@pytest.mark.parametrize("kind", sorted(KINDS))
@given(pieces=PIECES, cuts=st.lists(st.integers(0, 10_000), max_size=8), done=st.booleans())
@quick
def test_any_split_of_a_responses_stream_gives_the_restored_text(
    kind: str, pieces: list[str], cuts: list[int], done: bool
) -> None:
    text, in_json = "".join(pieces), KINDS[kind] == "arguments"
    if in_json:
        pieces = ['{"a":"', *[json.dumps(p)[1:-1] for p in pieces], '"}']
    whole = "".join(pieces)
    raw = b"".join(delta(kind, p, n, content_index=0) for n, p in enumerate(pieces))
    last: dict[str, Any] = {
        "type": f"response.{kind}.done",
        "item_id": "i",
        "output_index": 0,
        "content_index": 0,
        KINDS[kind]: whole,
    }
    raw += event({**last, "sequence_number": len(pieces)}, last["type"]) if done else b""
    raw += event(
        {
            "type": "response.completed",
            "response": {"output": []},
            "sequence_number": len(pieces) + done,
        }
    )
    out = events(through(stream(RESPONSES), raw, cuts))
    together = "".join(e["delta"] for e in out if e["type"].endswith(".delta"))
    expected = restored(text, escaped=not in_json)
    assert (json.loads(together) == {"a": expected}) if in_json else (together == expected)
    assert [e["sequence_number"] for e in out] == sorted({e["sequence_number"] for e in out})
    if done:
        assert out[-2][KINDS[kind]] == together


def test_texts_of_one_response_do_not_mix() -> None:
    raw = delta("output_text", "<EMA", 0, content_index=0) + delta(
        "output_text", "<EMAIL", 1, content_index=1
    )
    raw += delta("output_text", "IL_1>", 2, content_index=0) + delta(
        "output_text", "_2>", 3, content_index=1
    )
    out = events(through(stream(RESPONSES), raw))
    texts = ["".join(e["delta"] for e in out if e["content_index"] == i) for i in (0, 1)]
    assert texts == [EMAIL, "anna.nowak@example.org"]


def test_output_of_shells_is_restored() -> None:
    raw = delta("shell_call_output_content", {"stdout": "to <EMA"}, 0) + delta(
        "shell_call_output_content", {"stdout": "IL_1> <", "stderr": "<EMAIL_2>"}, 1
    )
    raw += event(
        {"type": "response.output_item.done", "output_index": 0, "item": {"type": "shell_call"}}
    )
    deltas = [e["delta"] for e in events(through(stream(RESPONSES), raw)) if "delta" in e]
    assert "".join(d.get("stdout", "") for d in deltas) == f"to {EMAIL} <"
    assert "".join(d.get("stderr", "") for d in deltas) == "anna.nowak@example.org"


def test_whole_objects_in_events_are_restored_and_remembered() -> None:
    sanitizer = toy()
    item = {
        "type": "message",
        "id": "m",
        "role": "assistant",
        "content": [{"type": "output_text", "text": "Zorblaxian <EMAIL_1>", "annotations": []}],
    }
    raw = event(
        {
            "type": "response.created",
            "response": {"id": "r", "instructions": "<EMAIL_1>", "output": []},
        }
    )
    raw += event({"type": "response.output_item.done", "output_index": 0, "item": item})
    raw += event({"type": "response.completed", "response": {"id": "r", "output": [item]}})
    created, done, completed = events(through(stream(RESPONSES, sanitizer), raw))
    assert created["response"]["instructions"] == EMAIL
    assert done["item"]["content"][0]["text"] == f"Zorblaxian {EMAIL}"
    assert completed["response"]["output"] == [done["item"]]
    history = send({"input": [done["item"]]}, sanitizer, RESPONSES)
    assert json.loads(history.body)["input"] == [item]
    assert history.record.charged == 0


def test_every_event_of_the_sdk_is_known() -> None:
    responses = pytest.importorskip("openai.types.responses")
    known: set[str] = set()
    for module in pkgutil.iter_modules(responses.__path__):
        if module.name.endswith("_event") and not module.name.startswith(
            ("responses_client", "response_steer_event")
        ):
            found = importlib.import_module(f"openai.types.responses.{module.name}")
            for name in getattr(found, "__all__", ()):
                field = getattr(getattr(found, name), "model_fields", {}).get("type")
                known |= set(get_args(field.annotation)) if field else set()
    kinds = {k for k in known if k.startswith("response.") or k == "error"} - {
        "response.create",
        "response.steer",
    }
    assert len(kinds) > 40
    assert kinds <= KNOWN


def test_a_stream_without_end_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sanitizer.wire.event_streams.MAX_ANSWER", 10_000)
    filtered = stream()
    piece = event(chunk({"content": "and on "}))
    with pytest.raises(UpstreamError, match="longer than 10,000"):
        filtered.feed(piece * 200)
