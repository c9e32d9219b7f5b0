"""An API tells an answer in ways that applications read differently, or leaves it in its middle.

Two users differ in one identifier, and get the same events: several choices, texts that come
interleaved, again or differently, thoughts that say what the answer says. Whatever an application
makes of them and sends back, every byte that leaves must be the same.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from jiter import from_json

from sanitizer import FileVault, Sanitizer
from sanitizer.errors import UpstreamError
from sanitizer.storage.vault import MemoryVault, Vault
from sanitizer.wire.filter import Exchange, Filter
from tests.clients.tool_calls import CHAT, JSON, RESPONSES
from tests.wire.cases import cases
from tests.wire.test_event_streams import event, events
from tests.wire.test_transcripts import KEY, MESSAGES, SECRETS

pytestmark = pytest.mark.usefixtures("quick_keys")
GEMINI = "/v1beta/models/gemini-2.5-pro:streamGenerateContent?alt=sse"
OLLAMA = "/api/chat"
GUESS = SECRETS[0]
ALIKE = (f"It is {GUESS} ok", "It is <SSN_1> ok")
Json = dict[str, Any]
Read = Callable[[list[Json]], list[Json]]
"""What an application sends back of the events that it saw."""


def prompt(path: str, secret: str, history: Sequence[Json], **more: Any) -> bytes:
    text = f"My SSN is {secret}."
    if path == GEMINI:
        body: Json = {"contents": [{"role": "user", "parts": [{"text": text}]}, *history]}
    else:
        key = "input" if path == RESPONSES else "messages"
        body = {"model": "m", key: [{"role": "user", "content": text}, *history], **more}
    return json.dumps(body).encode()


def first(path: str, secret: str, vault: Vault, **more: Any) -> Exchange:
    sanitizer = Sanitizer(policy="identifiers", vault=vault, conversation="c")
    return Filter(sanitizer).request("POST", path, JSON, prompt(path, secret, [], **more))


def again(path: str, secret: str, vault: Vault, history: Sequence[Json]) -> bytes:
    sanitizer = Sanitizer(policy="identifiers", vault=vault, conversation="c")
    return Filter(sanitizer).request("POST", path, JSON, prompt(path, secret, history)).body


def seen(exchange: Exchange, path: str, raw: Sequence[bytes], n: int | None = None) -> list[Json]:
    """The events that an application sees: all, or the first ones of a stream that it leaves."""
    stream = exchange.stream("application/x-ndjson" if path == OLLAMA else "text/event-stream")
    shown = []
    try:
        shown += [stream.feed(each) for each in raw[:n]]
        if n is None:
            shown.append(stream.finish())
    except UpstreamError:
        pass  # a stream that can be read in several ways is closed
    stream.leave()
    text = b"".join(shown)
    if path == OLLAMA:
        return [json.loads(line) for line in text.splitlines()]
    return events(text)


def leaves(
    path: str, raw: Sequence[bytes], read: Read, n: int | None = None, **more: Any
) -> list[bytes]:
    """What leaves of the answer's events, for either user."""
    sent = []
    for secret in SECRETS:
        # One filter for both turns: the vault in memory is of one process.
        sanitizer = Sanitizer(policy="identifiers", vault=MemoryVault(numbers="from 1"))
        filtered = Filter(sanitizer)
        body = prompt(path, secret, [], stream=True, **more)
        history = read(seen(filtered.request("POST", path, JSON, body), path, raw, n))
        sent.append(filtered.request("POST", path, JSON, prompt(path, secret, history)).body)
    return sent


def assistant(text: str) -> list[Json]:
    return [{"role": "assistant", "content": text}]


def chunk(delta: Json, index: Any = 0, finish: str | None = None) -> bytes:
    return event({"choices": [{"index": index, "delta": delta, "finish_reason": finish}]})


def first_choices(found: list[Json]) -> list[Json]:
    """As applications do that asked for one answer."""
    return assistant("".join(e["choices"][0]["delta"].get("content") or "" for e in found))


def of_choice(index: int) -> Read:
    def read(found: list[Json]) -> list[Json]:
        choices = [c for e in found for c in e["choices"] if float(c["index"]) == index]
        return assistant("".join(c["delta"].get("content") or "" for c in choices))

    return read


def with_calls(found: list[Json]) -> list[Json]:
    """The first choice with its calls, as SDKs put them together; thoughts too."""
    deltas = [c["delta"] for e in found for c in e["choices"] if float(c["index"]) == 0]
    message: Json = {"role": "assistant"}
    for field in ("content", "reasoning_content", "refusal"):
        message[field] = "".join(delta.get(field) or "" for delta in deltas) or None
    calls: dict[float, str] = {}
    for each in [call for delta in deltas for call in delta.get("tool_calls", ())]:
        place = float(each["index"])
        calls[place] = calls.get(place, "") + each["function"]["arguments"]
    if calls:
        message["tool_calls"] = [
            {"id": f"c{i}", "type": "function", "function": {"name": "f", "arguments": a}}
            for i, a in enumerate(calls.values())
        ]
    results = [
        {"role": "tool", "tool_call_id": f"c{i}", "content": "done"} for i in range(len(calls))
    ]
    return [message, *results]


def called(arguments: str, index: Any = 0, **more: Any) -> Json:
    function = {"arguments": arguments, **more.pop("function", {})}
    return {"tool_calls": [{"index": index, "function": function, **more}]}


def by_id(found: list[Json]) -> list[Json]:
    """As libraries do for APIs that give all calls the same index."""
    calls = [c for e in found for c in e["choices"][0]["delta"].get("tool_calls", ())]
    return [{"role": "assistant", "content": None, "tool_calls": calls}]


def text_delta(text: str, output: int = 0, content: int = 0) -> bytes:
    place = {"output_index": output, "content_index": content, "item_id": "m"}
    return event({"type": "response.output_text.delta", **place, "delta": text})


def message_item(text: str, output: int = 0) -> Json:
    content = [{"type": "output_text", "text": text, "annotations": []}]
    return {"type": "message", "id": f"m{output}", "role": "assistant", "content": content}


def reasoning_item(text: str, output: int = 0) -> Json:
    summary = [{"type": "summary_text", "text": text}]
    return {"type": "reasoning", "id": f"r{output}", "summary": summary}


def call_item(text: str, output: int = 0) -> Json:
    arguments = json.dumps({"q": text})
    return {"type": "function_call", "call_id": f"c{output}", "name": "f", "arguments": arguments}


def done(item: Json, output: int = 0) -> bytes:
    return event({"type": "response.output_item.done", "output_index": output, "item": item})


def completed(*items: Json) -> bytes:
    return event({"type": "response.completed", "response": {"output": items}})


def deltas(found: list[Json]) -> list[Json]:
    pieces = [e["delta"] for e in found if e["type"] == "response.output_text.delta"]
    return assistant("".join(pieces))


def answered(items: list[Json]) -> list[Json]:
    calls = [item["call_id"] for item in items if item["type"] == "function_call"]
    results = [{"type": "function_call_output", "call_id": c, "output": "done"} for c in calls]
    return [*items, *results]


def items(found: list[Json]) -> list[Json]:
    ended = [e for e in found if e["type"] == "response.output_item.done"]
    return answered([e["item"] for e in sorted(ended, key=lambda e: e["output_index"])])


def added(item: Json, output: int = 0) -> bytes:
    return event({"type": "response.output_item.added", "output_index": output, "item": item})


def items_added(found: list[Json]) -> list[Json]:
    return answered([e["item"] for e in found if e["type"] == "response.output_item.added"])


def response(found: list[Json]) -> list[Json]:
    ended = [e for e in found if e["type"] == "response.completed"]
    return answered(ended[-1]["response"]["output"]) if ended else []


def output_text(found: list[Json]) -> list[Json]:
    parts = [p for item in response(found) for p in item.get("content", ())]
    return assistant("".join(part["text"] for part in parts))


def whole_texts(found: list[Json]) -> list[Json]:
    ended = [e["text"] for e in found if e["type"] == "response.output_text.done"]
    return assistant("".join(ended))


def text_done(text: str, output: int = 0) -> bytes:
    place = {"output_index": output, "content_index": 0}
    return event({"type": "response.output_text.done", **place, "text": text})


BEGUN = event({"type": "message_start", "message": {"type": "message", "content": []}})
ENDED = event({"type": "message_stop"})


def block(index: int, kind: str = "text", text: str = "") -> bytes:
    begun: Json = {"type": kind, kind: text}
    if kind == "tool_use":
        begun = {"type": kind, "id": f"t{index}", "name": "f", "input": {}}
    return event({"type": "content_block_start", "index": index, "content_block": begun})


def grown(index: int, text: str, kind: str = "text") -> bytes:
    fields = {"text": "text_delta", "thinking": "thinking_delta", "partial_json": ""}
    delta = {"type": fields[kind] or "input_json_delta", kind: text}
    return event({"type": "content_block_delta", "index": index, "delta": delta})


def stopped(index: int) -> bytes:
    return event({"type": "content_block_stop", "index": index})


def blocks(found: list[Json]) -> list[Json]:
    """As the SDK puts them together."""
    content: list[Json] = []
    inputs: dict[int, str] = {}
    for each in found:
        if each["type"] == "content_block_start":
            content.append(dict(each["content_block"]))
        elif each["type"] == "content_block_delta":
            field, piece = [*each["delta"].items()][1]
            if field == "partial_json":
                inputs[each["index"]] = inputs.get(each["index"], "") + piece
            else:
                content[each["index"]][field] += piece
    for index, arguments in inputs.items():
        try:
            content[index]["input"] = from_json(arguments.encode(), partial_mode=True)
        except ValueError:
            content[index]["input"] = {}
    said = [each for each in content if each["type"] == "tool_use" or each[each["type"]]]
    results = [
        {"type": "tool_result", "tool_use_id": each["id"], "content": "done"}
        for each in said
        if each["type"] == "tool_use"
    ]
    history: list[Json] = [{"role": "assistant", "content": said}]
    return [*history, {"role": "user", "content": results}] if results else history


def texts_alone(found: list[Json]) -> list[Json]:
    content = blocks(found)[0]["content"]
    return assistant("".join(each["text"] for each in content if each["type"] == "text"))


def text_deltas(found: list[Json]) -> list[Json]:
    grew = [e["delta"] for e in found if e["type"] == "content_block_delta"]
    return assistant("".join(d["text"] for d in grew if d["type"] == "text_delta"))


def part(text: str, thought: bool = False) -> bytes:
    parts = [{"text": text, **({"thought": True} if thought else {})}]
    return event({"candidates": [{"index": 0, "content": {"role": "model", "parts": parts}}]})


def answer_parts(found: list[Json]) -> list[Json]:
    """The text without thoughts, as one part."""
    parts = [p for e in found for p in e["candidates"][0]["content"]["parts"]]
    text = "".join(p["text"] for p in parts if not p.get("thought"))
    return [{"role": "model", "parts": [{"text": text}]}]


def line(**message: str) -> bytes:
    return json.dumps({"message": {"role": "assistant", **message}, "done": False}).encode() + b"\n"


def contents(found: list[Json]) -> list[Json]:
    return assistant("".join(each["message"].get("content", "") for each in found))


READS: dict[str, Read] = {
    read.__name__: read
    for read in (
        *(first_choices, with_calls, by_id, deltas, items, items_added, response, output_text),
        *(whole_texts, blocks, texts_alone, text_deltas, answer_parts, contents),
    )
}


@pytest.mark.parametrize(("case", "path", "told", "read"), cases("tellings"))
def test_however_an_answer_is_told_what_leaves_is_the_same(
    case: str, path: str, told: list[Json], read: str
) -> None:
    raw = [json.dumps(e).encode() + b"\n" if path == OLLAMA else event(e) for e in told]
    sent = leaves(path, raw, READS[read])
    assert sent[0] == sent[1], case


@pytest.mark.parametrize("kept", [0, 1])
def test_of_choices_that_come_interleaved_the_first_is_the_one_kept(kept: int) -> None:
    """It is known by its number, whichever ends first."""
    raw = [chunk({"content": ALIKE[1 - kept]}, 1), chunk({}, 1, "stop")]
    raw.append(chunk({"content": ALIKE[kept]}, 0))
    sent = leaves(CHAT, raw, of_choice(0), n=2)
    assert sent[0] == sent[1]


def test_a_window_of_a_history_is_found_by_all_that_may_be_in_it() -> None:
    """Answers that look alike, of which the oldest is not sent any more."""
    sent = []
    for secret in SECRETS:
        filtered = Filter(Sanitizer(policy="identifiers", vault=MemoryVault(numbers="from 1")))
        history: list[Json] = []
        for text in ("Hello.", *ALIKE):
            body = prompt(CHAT, secret, history, stream=True)
            raw = [chunk({"content": text}), event("[DONE]")]
            history += first_choices(seen(filtered.request("POST", CHAT, JSON, body), CHAT, raw))
        body = prompt(CHAT, secret, [*history[1:], *assistant("Bye.")])
        sent.append(filtered.request("POST", CHAT, JSON, body).body)
    assert sent[0] == sent[1]


@pytest.mark.parametrize(
    ("path", "raw", "read"),
    [
        (CHAT, [chunk({"content": ALIKE[0] + " <SSN_1>"}), chunk({}, 0, "stop")], first_choices),
        (RESPONSES, [text_delta(ALIKE[0] + " <SSN_1>")], deltas),
        (RESPONSES, [done(message_item(ALIKE[0] + " <SSN_1>"))], items),
        (MESSAGES, [BEGUN, block(0), grown(0, ALIKE[0] + " <SSN_1>")], blocks),
        (GEMINI, [part(ALIKE[0] + " <SSN_1>")], answer_parts),
        (OLLAMA, [line(content=ALIKE[0] + " <SSN_1>")], contents),
    ],
)
def test_a_stream_that_was_left_is_known_after_a_restart(
    tmp_path: Path, path: str, raw: list[bytes], read: Read
) -> None:
    sent = []
    for secret in SECRETS:
        with FileVault(tmp_path / secret, KEY) as vault:
            history = read(seen(first(path, secret, vault, stream=True), path, raw, len(raw)))
        with FileVault(tmp_path / secret, KEY) as vault:
            sent.append(again(path, secret, vault, history))
    assert sent[0] == sent[1]


def test_an_answer_asked_about_while_it_came_is_kept_all_the_same(tmp_path: Path) -> None:
    """It was known by then, and so had not been written."""
    sent = []
    for secret in SECRETS:
        with FileVault(tmp_path / secret, KEY) as vault:
            stream = first(CHAT, secret, vault, stream=True).stream("text/event-stream")
            shown = stream.feed(chunk({"content": ALIKE[0]}) + chunk({}, 0, "stop"))
            history = first_choices(events(shown))
            again(CHAT, secret, vault, history)
            stream.feed(event("[DONE]"))
        with FileVault(tmp_path / secret, KEY) as vault:
            sent.append(again(CHAT, secret, vault, history))
    assert sent[0] == sent[1]


PIECES = [
    *SECRETS,
    *("<SSN_1>", "<SS", "N_1>", "078-", "05-1120", "It is ", "the number ", " ok.", "\n", "a"),
    "one two three four five six seven eight ",
]


class Tellers:
    """APIs that send random events of a kind, from few texts so that they meet again."""

    def __init__(self, source: random.Random) -> None:
        self.source = source
        self.texts = [self._piece() for _ in range(3)]

    def _piece(self) -> str:
        return "".join(self.source.choice(PIECES) for _ in range(self.source.randint(1, 3)))

    def text(self) -> str:
        return self.source.choice([*self.texts, self._piece()])

    def many(self, tell: Callable[[], bytes]) -> list[bytes]:
        return [tell() for _ in range(self.source.randint(1, 8))]

    def chat(self) -> list[bytes]:
        def one() -> bytes:
            field = self.source.choice(["content", "content", "reasoning_content", "refusal", ""])
            if field:
                delta: Json = {field: self.text()}
            else:
                arguments = [json.dumps({"q": self.text()}), '{"q":"', self.text(), '"}']
                delta = called(self.source.choice(arguments), self.source.choice([0, 0, 1]))
            return chunk(delta, 0, self.source.choice([None, None, None, "stop"]))

        return [*self.many(one), event("[DONE]")]

    def responses(self) -> list[bytes]:
        told: dict[int, Json] = {}

        def one() -> bytes:
            output, text = self.source.choice([0, 0, 1]), self.text()
            kind = self.source.choice(["delta", "delta", "done", "item", "item", "added"])
            if kind == "delta":
                return text_delta(text, output, self.source.choice([0, 0, 1]))
            if kind == "done":
                return text_done(text, output)
            make = self.source.choice([message_item, message_item, reasoning_item, call_item])
            if kind == "added":
                return added(make(text, output), output)
            told[output] = make(text, output)
            return done(told[output], output)

        raw = self.many(one)
        other = [message_item(self.text(), i) for i in range(2)]
        said = [told[i] for i in sorted(told)]
        return [*raw, completed(*(self.source.choice([said, other])))]

    def messages(self) -> list[bytes]:
        kinds: list[str] = []

        def one() -> bytes:
            index = self.source.randrange(len(kinds) + 1)
            if index == len(kinds):
                kinds.append(self.source.choice(["text", "text", "thinking", "tool_use"]))
                return block(index, kinds[-1], self.source.choice(["", self.text()]))
            if self.source.random() < 0.2:
                return stopped(index)
            if kinds[index] == "tool_use":
                return grown(index, json.dumps({"q": self.text()}), "partial_json")
            return grown(index, self.text(), kinds[index])

        return [BEGUN, *self.many(one), ENDED]


READERS: dict[str, list[Read]] = {
    CHAT: [first_choices, with_calls],
    RESPONSES: [deltas, items, response, items_added, whole_texts],
    MESSAGES: [blocks, texts_alone, text_deltas],
}


def tried(path: str, seeds: range) -> None:
    for seed in seeds:
        source = random.Random(seed)
        tellers = Tellers(source)
        raw = {CHAT: tellers.chat, RESPONSES: tellers.responses, MESSAGES: tellers.messages}[path]()
        n = source.choice([None, None, source.randint(1, len(raw))])
        sent = leaves(path, raw, source.choice(READERS[path]), n)
        assert sent[0] == sent[1], f"seed {seed}"


@pytest.mark.parametrize("path", READERS)
def test_events_at_random_tell_nothing(path: str) -> None:
    tried(path, range(12))


@pytest.mark.slow
@pytest.mark.parametrize("path", READERS)
def test_many_events_at_random_tell_nothing(path: str) -> None:
    tried(path, range(12, 600))
