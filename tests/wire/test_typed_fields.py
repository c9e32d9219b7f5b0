"""Tool arguments and structured outputs follow the schema of the request, and tell no API more."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sanitizer import Policy, Sanitizer
from sanitizer.storage.table import Wanted
from sanitizer.testing import other_apis
from sanitizer.text.policy import WireRules
from sanitizer.wire.typed_json import Schema
from tests.clients.tool_calls import RESPONSES, send
from tests.wire.test_event_streams import call, chunk, concatenated, event, events, through

SSE = "text/event-stream"
MESSAGES, GEMINI = "/v1/messages", "/v1beta/models/gemini-2.5-pro"
Json = dict[str, Any]
ANY, SUM, WHOLE = {"type": "string"}, {"type": "number"}, {"type": "integer"}
DAY, MOMENT, CLOCK = ({"type": "string", "format": form} for form in ("date", "date-time", "time"))
OPTIONS = {"type": "string", "enum": ["type-2 diabetes", "gout", "GBP", "EUR"]}
PAYMENT = {
    "type": "object",
    "$defs": {"When": {"anyOf": [DAY, {"type": "null"}]}},
    "properties": {
        "amount": SUM,
        "pounds": WHOLE,
        "on": {"$ref": "#/$defs/When", "description": "when"},
        "note": ANY,
        "rows": {"type": "array", "items": {"type": "object", "properties": {"n": SUM}}},
    },
}
HIDDEN = {"<MONEY_1>": "£1,250", "<DATE_1>": "11 February 2026", "<PERSON_1>": 'Eva "A" \\ Holm'}


def holding(hidden: dict[str, str], policy: str | Policy = "identifiers") -> Sanitizer:
    """A Sanitizer whose conversation has these stand-ins."""
    sanitizer = Sanitizer(policy=policy)
    with sanitizer.inner.vault.edit(sanitizer.conversation) as table:
        for name, original in hidden.items():
            table.assign(Wanted(name[1:].rpartition("_")[0], original), name)
    return sanitizer


def asking(schema: Json = PAYMENT, **more: Any) -> Json:
    function = {"name": "pay", "parameters": schema}
    tools = [{"type": "function", "function": function}]
    return {"messages": [{"role": "user", "content": "Pay it."}], "tools": tools, **more}


def called(sanitizer: Sanitizer, arguments: str, body: Json | None = None) -> tuple[Any, Any]:
    """The arguments of a call as the application reads them, and the exchange."""
    exchange = send(body or asking(), sanitizer)
    function = {"name": "pay", "arguments": arguments}
    message = {"tool_calls": [{"id": "c", "type": "function", "function": function}]}
    raw = json.dumps({"choices": [{"index": 0, "message": {"role": "assistant", **message}}]})
    shown = json.loads(exchange.response(200, "application/json", raw.encode()))
    return shown["choices"][0]["message"]["tool_calls"][0]["function"]["arguments"], exchange


def streamed(sanitizer: Sanitizer, pieces: Sequence[str], body: Json | None = None) -> str:
    """The same, of a call that comes in pieces."""
    exchange = send({**(body or asking()), "stream": True}, sanitizer)
    first = {"index": 0, "id": "c", "function": {"name": "pay", "arguments": ""}}
    raw = event(chunk({"tool_calls": [first]})) + b"".join(event(chunk(call(p))) for p in pieces)
    raw += event(chunk({}, "tool_calls")) + event("[DONE]")
    return concatenated(through(exchange.stream(SSE), raw))[0, 0]


def said(
    sanitizer: Sanitizer,
    content: str,
    schema: Json | None = PAYMENT,
    pieces: Sequence[str] | None = None,
) -> str:
    """An answer in JSON as the application reads it, streamed or not."""
    form: Json = {"type": "json_object"}
    if schema is not None:
        form = {"type": "json_schema", "json_schema": {"name": "n", "schema": schema}}
    body = {"messages": [{"role": "user", "content": "Read it."}], "response_format": form}
    message = {"role": "assistant", "content": content}
    raw = json.dumps({"choices": [{"index": 0, "message": message}]}).encode()
    shown = json.loads(send(body, sanitizer).response(200, "application/json", raw))
    whole = str(shown["choices"][0]["message"]["content"])
    stream = send({**body, "stream": True}, sanitizer).stream(SSE)
    parts = b"".join(event(chunk({"content": each})) for each in pieces or content)
    assert concatenated(through(stream, parts + event(chunk({}, "stop"))))[0, "content"] == whole
    return whole


@pytest.mark.parametrize(
    ("schema", "name", "original", "written"),
    [
        (SUM, "MONEY", "£1,250", "1250.0"),
        (SUM, "MONEY", "1.250,50 €", "1250.5"),
        (SUM, "MONEY", "45.45k", "45450.0"),
        (SUM, "MONEY", "50p", "0.5"),
        (SUM, "MONEY", "-£20", "-20.0"),
        (SUM, "NUMBER", "12 kg", "12.0"),
        ({"type": "NUMBER", "format": "double", "nullable": True}, "MONEY", "£1,250", "1250.0"),
        ({"type": ["number", "null"]}, "MONEY", "£1,250", "1250.0"),
        ({"oneOf": [WHOLE, SUM]}, "MONEY", "£9.50", "9.5"),
        ({"allOf": [SUM], "title": "Sum"}, "MONEY", "£9.50", "9.5"),
        (WHOLE, "MONEY", "£1,250.00", "1250"),
        (WHOLE, "ID", "48213", "48213"),
        ({"enum": ["5", 6, 7.0]}, "NUMBER", "7", "7.0"),
        (DAY, "DATE", "11 February 2026", '"2026-02-11"'),
        (DAY, "DATE", "13/02/2026", '"2026-02-13"'),
        (DAY, "DATE_OF_BIRTH", "2026-02-11", '"2026-02-11"'),
        (MOMENT, "DATE", "11 Feb 2026 at 2:30pm", '"2026-02-11T14:30:00"'),
        (MOMENT, "DATE", "2026-02-11T14:30:15Z", '"2026-02-11T14:30:15+00:00"'),
        (CLOCK, "DATE", "2:30 pm", '"14:30:00"'),
        ({"format": "date"}, "DATE", "11 February 2026", '"2026-02-11"'),
        (OPTIONS, "CONDITION", "Type 2 Diabetes", '"type-2 diabetes"'),
        (OPTIONS, "MONEY", "1.250,50 €", '"EUR"'),
        ({"const": "gout"}, "CONDITION", "Gout", '"gout"'),
    ],
)
def test_a_value_is_written_by_its_type(
    schema: Json, name: str, original: str, written: str
) -> None:
    fields = {"type": "object", "properties": {"it": schema}}
    sanitizer = holding({f"<{name}_1>": original})
    for value in (f'"<{name}_1>"', f"<{name}_1>", f'" <{name}_1> "', f'"\\u003c{name}_1\\u003e"'):
        shown, exchange = called(sanitizer, f'{{"it": {value}}}', asking(fields))
        assert shown == f'{{"it": {written}}}'
        assert exchange.untyped == ()


@pytest.mark.parametrize(
    ("schema", "name", "original"),
    [
        (WHOLE, "MONEY", "£1,250.50"),
        (SUM, "NUMBER", "1.240"),  # in thousands, or with decimals
        (SUM, "NUMBER", "19 %"),  # 19, or .19
        (SUM, "PHONE", "020 7946 0958"),
        (WHOLE, "ID", "AX 4471"),
        (WHOLE, "ID", "00412"),
        (WHOLE, "ID", "9007199254740993"),  # no number for JavaScript
        (DAY, "DATE", "11/02/2026"),
        (DAY, "DATE", "11 February"),
        (MOMENT, "DATE", "11 February 2026"),
        (MOMENT, "DATE", "11 Feb 2026 14:30:15"),  # the seconds would be lost
        (CLOCK, "DATE", "11 February 2026"),
        (OPTIONS, "CONDITION", "asthma"),
        ({"enum": ["Gout", "GOUT"]}, "CONDITION", "gout"),
    ],
)
def test_what_has_no_such_value_stays_a_string_and_is_noted(
    schema: Json, name: str, original: str
) -> None:
    fields = {"type": "object", "properties": {"it": schema}}
    shown, exchange = called(
        holding({f"<{name}_1>": original}), f'{{"it": "<{name}_1>"}}', asking(fields)
    )
    assert json.loads(shown) == {"it": original}
    (note,) = exchange.untyped
    assert original in note


def test_other_places_stay_as_they_are() -> None:
    sanitizer = holding(HIDDEN)
    free = '{"note": "<MONEY_1>", "more": "<MONEY_1>", "amount": "about <MONEY_1>", "on": null}'
    shown, exchange = called(sanitizer, free)
    assert shown == free.replace("<MONEY_1>", "£1,250")
    assert len(exchange.untyped) == 1
    fields = {"it": {"anyOf": [ANY, SUM]}, "is": {"type": "boolean"}}
    either = '{"it": "<MONEY_1>", "is": "<MONEY_1>"}'
    shown, exchange = called(sanitizer, either, asking({"properties": fields}))
    assert (shown, exchange.untyped) == (either.replace("<MONEY_1>", "£1,250"), ())
    shown, _ = called(sanitizer, '{"amount": "[need <MONEY_1>]", "rows": [{"n": "<MONEY_1>"}, 2]}')
    assert shown == '{"amount": "[need <MONEY_1>]", "rows": [{"n": 1250.0}, 2]}'


@pytest.mark.parametrize(
    ("value", "written"),
    [
        ("<DATE_1> at <DATE_2>", "2026-02-13T14:30:00"),
        ("<DATE_1>T<DATE_2>:00Z", "2026-02-13T14:30:00+00:00"),
        ("<DATE_1> <DATE_2>", "2026-02-13T14:30:00"),
        ("<DATE_1>T09:15", "2026-02-13T09:15:00"),
        ("2026-03-01T<DATE_2>", "2026-03-01T14:30:00"),
        ("<DATE_1> or <DATE_2>", "13 Feb 2026 or 2:30pm"),
        ("<DATE_2>T<DATE_1>", "2:30pmT13 Feb 2026"),
        ("2026-03-01T09:15", "2026-03-01T09:15"),
    ],
)
def test_a_date_and_a_time_may_be_two_stand_ins(value: str, written: str) -> None:
    fields = {"type": "object", "properties": {"start": MOMENT}}
    sanitizer = holding({"<DATE_1>": "13 Feb 2026", "<DATE_2>": "2:30pm"})
    shown, _ = called(sanitizer, json.dumps({"start": value}), asking(fields))
    assert json.loads(shown) == {"start": written}


@pytest.mark.parametrize("schema", [{"anyOf": [SUM, ANY]}, {"type": ["number", "string"]}])
def test_of_several_types_the_first_that_fits_counts(schema: Json) -> None:
    sanitizer = holding({"<MONEY_1>": "£1,250", "<PERSON_1>": "Eva"})
    fields = asking({"properties": {"it": schema, "other": schema}})
    shown, exchange = called(sanitizer, '{"it": "<MONEY_1>", "other": "<PERSON_1>"}', fields)
    assert (shown, exchange.untyped) == ('{"it": 1250.0, "other": "Eva"}', ())


def test_dates_are_read_as_the_others_of_the_conversation_show() -> None:
    sanitizer = holding({"<DATE_1>": "11/02/2026", "<DATE_2>": "25/02/2026"})
    assert called(sanitizer, '{"on": "<DATE_1>"}')[0] == '{"on": "2026-02-11"}'


def kinds(schema: Schema) -> list[str]:
    return [kind for kind, _ in schema.types]


def test_schemas_that_refer_to_themselves_have_an_end() -> None:
    loop = {"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}}
    assert Schema(loop, [loop]).types == []
    doubled: Json = {f"a{i}": {"anyOf": [{"$ref": f"#/$defs/a{i + 1}"}] * 2} for i in range(60)}
    many = {"$ref": "#/$defs/a0", "$defs": {**doubled, "a60": SUM}}
    assert kinds(Schema(many, [many])) == ["number"]
    tree: Json = {"properties": {"n": SUM, "sub": {"items": {"$ref": "#"}}}}
    assert kinds(Schema(tree, [tree]).inside("sub").inside(7).inside("n")) == ["number"]
    assert Schema(tree, [tree]).inside("x").inside(0).types == []
    pair = {"prefixItems": [DAY, SUM], "items": WHOLE}
    found = [kinds(Schema(pair, [pair]).inside(i)) for i in range(3)]
    assert found == [["date"], ["number"], ["integer"]]


# ---- the schemas of each API ----

ARGUMENTS = '{"amount": "<MONEY_1>", "on": "<DATE_1>"}'
TYPED = {"amount": 1250.0, "on": "2026-02-11"}


def gemini(part: Json) -> bytes:
    content = {"role": "model", "parts": [part]}
    return json.dumps({"candidates": [{"content": content, "finishReason": "STOP"}]}).encode()


def line(message: Json) -> bytes:
    return json.dumps({"message": {"role": "assistant", **message}, "done": True}).encode()


def of_gemini(shown: bytes) -> Any:
    (part,) = json.loads(shown)["candidates"][0]["content"]["parts"]
    return json.loads(part["text"]) if "text" in part else part["functionCall"]["args"]


def of_items(shown: bytes) -> Any:
    (item,) = json.loads(shown)["output"]
    return json.loads(item["arguments"] if "arguments" in item else item["content"][0]["text"])


def of_blocks(shown: bytes) -> Any:
    (block,) = json.loads(shown)["content"]
    return block["input"] if "input" in block else json.loads(block["text"])


def of_lines(shown: bytes) -> Any:
    message = json.loads(shown)["message"]
    calls = message.get("tool_calls")
    return calls[0]["function"]["arguments"] if calls else json.loads(message["content"])


ASK: Json = {"messages": [{"role": "user", "content": "Read it."}]}
GEMINI_ASK: Json = {"contents": [{"role": "user", "parts": [{"text": "Read it."}]}]}
TOOL = {"name": "pay", "parameters": PAYMENT}
OLLAMA_CALL = {"function": {"name": "pay", "arguments": json.loads(ARGUMENTS)}}
BLOCK = {"type": "tool_use", "id": "t", "name": "pay", "input": json.loads(ARGUMENTS)}
TEXT_BLOCK = {"type": "text", "text": ARGUMENTS}
ITEM = {"type": "function_call", "call_id": "c", "name": "pay", "arguments": ARGUMENTS}
PART = {"type": "output_text", "text": ARGUMENTS}
MESSAGE_ITEM = {"type": "message", "role": "assistant", "content": [PART]}
FORM = {"type": "json_schema", "name": "n", "schema": PAYMENT}
IN_JSON: Json = {"responseMimeType": "application/json"}


@pytest.mark.parametrize(
    ("path", "body", "answer", "read"),
    [
        (
            RESPONSES,
            {"input": "Pay.", "tools": [{"type": "function", **TOOL}]},
            json.dumps({"output": [ITEM]}).encode(),
            of_items,
        ),
        (
            RESPONSES,
            {"input": "Read.", "text": {"format": FORM}},
            json.dumps({"output": [MESSAGE_ITEM]}).encode(),
            of_items,
        ),
        (
            MESSAGES,
            {**ASK, "tools": [{"name": "pay", "input_schema": PAYMENT}]},
            json.dumps(other_apis.message([BLOCK])).encode(),
            of_blocks,
        ),
        (
            MESSAGES,
            {**ASK, "output_config": {"format": FORM}},
            json.dumps(other_apis.message([TEXT_BLOCK])).encode(),
            of_blocks,
        ),
        (
            MESSAGES,
            {**ASK, "output_format": FORM},
            json.dumps(other_apis.message([TEXT_BLOCK])).encode(),
            of_blocks,
        ),
        (
            f"{GEMINI}:generateContent",
            {**GEMINI_ASK, "tools": [{"functionDeclarations": [TOOL]}]},
            gemini({"functionCall": {"name": "pay", "args": json.loads(ARGUMENTS)}}),
            of_gemini,
        ),
        (
            f"{GEMINI}:generateContent",
            {**GEMINI_ASK, "generationConfig": {**IN_JSON, "responseSchema": PAYMENT}},
            gemini({"text": ARGUMENTS}),
            of_gemini,
        ),
        (
            f"{GEMINI}:generateContent",
            {
                **GEMINI_ASK,
                "generation_config": {
                    "response_mime_type": "application/json",
                    "response_json_schema": PAYMENT,
                },
            },
            gemini({"text": ARGUMENTS}),
            of_gemini,
        ),
        (
            "/api/chat",
            {**asking(), "stream": False},
            line({"tool_calls": [OLLAMA_CALL]}),
            of_lines,
        ),
        (
            "/api/chat",
            {**ASK, "format": PAYMENT, "stream": False},
            line({"content": ARGUMENTS}),
            of_lines,
        ),
    ],
)
def test_the_schemas_of_every_api_count(
    path: str, body: Json, answer: bytes, read: Callable[[bytes], Any]
) -> None:
    exchange = send(body, holding(HIDDEN), path)
    assert read(exchange.response(200, "application/json", answer)) == TYPED


def test_events_that_repeat_a_call_say_the_same() -> None:
    tools = [{"type": "function", "name": "pay", "parameters": PAYMENT}]
    stream = send({"input": "Pay.", "tools": tools}, holding(HIDDEN), RESPONSES).stream(SSE)
    kind, item = "response.function_call_arguments", {**ITEM, "arguments": ""}
    raw = event({"type": "response.output_item.added", "output_index": 0, "item": item})
    for piece in ARGUMENTS:
        raw += event({"type": f"{kind}.delta", "output_index": 0, "delta": piece})
    raw += event({"type": f"{kind}.done", "output_index": 0, "arguments": ARGUMENTS})
    raw += event({"type": "response.output_item.done", "output_index": 0, "item": ITEM})
    raw += event({"type": "response.completed", "response": {"output": [ITEM]}})
    *told, done, ended, whole = events(through(stream, raw))
    deltas = "".join(each["delta"] for each in told if "delta" in each)
    repeated = (done["arguments"], ended["item"]["arguments"])
    assert {deltas, *repeated, whole["response"]["output"][0]["arguments"]} == {deltas}
    assert json.loads(deltas) == TYPED


# ---- streams ----

VALUES = st.sampled_from(
    ['"<MONEY_1>"', "<MONEY_1>", '"<DATE_1>"', '"<PERSON_1>"', '"to <PERSON_1>"', "12", "null",
     '"[need <MONEY_1>]"', '"<MONEY_1"', '"\\u003cMONEY_1\\u003e"', '"a\\"b"', f'"{"x" * 250}"']
)  # fmt: skip
KEYS = st.sampled_from(["amount", "pounds", "on", "note", "other", "<MONEY_1>"])
ROWS = st.lists(VALUES.map(lambda value: f'{{"n" : {value}}}'), max_size=3).map(", ".join)
DOCUMENTS = st.lists(st.tuples(KEYS, VALUES), max_size=4).flatmap(
    lambda fields: ROWS.map(
        lambda rows: (
            "{" + "".join(f'"{key}": {value}, ' for key, value in fields) + f'"rows":[{rows}]}}'
        )
    )
)
PROSE = st.lists(
    st.sampled_from(
        ["Sorry, ", "<PERSON_1>", "<MON", "EY_1>", ": ", '"', "{", "[", "}", "\n", "```"]
    ),
    max_size=8,
).map("".join)  # fmt: skip


@given(text=DOCUMENTS | PROSE, cuts=st.lists(st.integers(0, 400), max_size=6))
@example('{"amount": "<MONEY_1>"}', [12, 13, 20])
@settings(deadline=None)
def test_a_stream_says_what_the_whole_answer_says(text: str, cuts: list[int]) -> None:
    sanitizer = holding(HIDDEN)
    places = sorted({0, len(text), *(cut for cut in cuts if cut < len(text))})
    pieces = [text[a:b] for a, b in pairwise(places)]
    whole, _ = called(sanitizer, text)
    assert streamed(sanitizer, pieces) == whole
    message = said(sanitizer, text, pieces=pieces)
    try:
        json.loads(text)
    except ValueError:
        return
    assert json.loads(whole) == json.loads(message)


def test_a_reader_that_mends_arguments_finds_no_original_in_a_key() -> None:
    for broken in ('{x y, "<PERSON_1>": 1}', '{"a": 1 "<PERSON_1>": 1}', '{"a" "<PERSON_1>": 1}'):
        assert called(holding(HIDDEN), broken)[0] == broken


def test_only_the_value_is_held_back() -> None:
    stream = send({**asking(), "stream": True}, holding(HIDDEN)).stream(SSE)
    first = {"index": 0, "id": "c", "function": {"name": "pay", "arguments": ""}}
    stream.feed(event(chunk({"tool_calls": [first]})))
    fed = [
        stream.feed(event(chunk(call(p)))) for p in ('{"note": "to', '", "amount": "<MON', 'EY_1>"')
    ]
    assert [concatenated(each)[0, 0] for each in fed] == ['{"note": "to', '", "amount": ', "1250.0"]


# ---- no JSON though JSON was asked for ----


@pytest.mark.parametrize("schema", [PAYMENT, None])
@pytest.mark.parametrize(
    ("content", "shown"),
    [
        ("Sorry, <MONEY_1> is due from <PERSON_1>", 'Sorry, £1,250 is due from Eva "A" \\ Holm'),
        ("<PERSON_1>", 'Eva "A" \\ Holm'),
        ("{Sorry, <MONEY_1>} <MONEY_1>", "{Sorry, £1,250} £1,250"),
        ("[Note: <MONEY_1>, <MONEY_1>]", "[Note: £1,250, £1,250]"),
        ('{"note": "x"} is for <PERSON_1>', '{"note": "x"} is for Eva "A" \\ Holm'),
        ("", ""),
    ],
)
def test_what_is_no_json_is_restored_as_text(schema: Json | None, content: str, shown: str) -> None:
    assert said(holding(HIDDEN), content, schema) == shown


def test_json_between_fences_stays_json() -> None:
    shown = said(holding(HIDDEN), '```json\n{"amount": <MONEY_1>, "note": "<PERSON_1>"}\n```')
    opened, document, closed = shown.split("\n")
    assert (opened, closed) == ("```json", "```")
    assert json.loads(document) == {"amount": 1250.0, "note": HIDDEN["<PERSON_1>"]}


# ---- the next request ----


def as_javascript(arguments: str) -> str:
    def number(spelling: str) -> float | int:
        value = float(spelling)
        return int(value) if value.is_integer() else value

    return json.dumps(json.loads(arguments, parse_float=number), separators=(",", ":"))


EDITS: list[Callable[[str], str]] = [
    str,
    lambda arguments: json.dumps(json.loads(arguments), indent=1),
    as_javascript,
]
SUMS = ("£1,250", "£980.50", "1.250", "1250")
GUESSES = st.sampled_from(
    [
        '"<MONEY_1>"',
        "1250",
        "1250.0",
        '"1250"',
        "980.5",
        '"£1,250"',
        '"£980.50"',
        '"<MONEY_2>"',
        "7",
    ]
)
FIELDS = st.dictionaries(st.sampled_from(["amount", "pounds", "note"]), GUESSES, max_size=3)
CALLS = FIELDS.map(lambda f: "{" + ", ".join(f'"{k}": {v}' for k, v in f.items()) + "}")


def second_turn(
    hidden: str, arguments: Sequence[str], edit: Callable[[str], str], stream: bool
) -> Any:
    """What leaves in the turn after calls that were coerced, or could not be."""
    sanitizer = holding({"<MONEY_1>": hidden, "<MONEY_2>": "£77"})
    body = asking()
    for each in arguments:
        shown = streamed(sanitizer, each, body) if stream else called(sanitizer, each, body)[0]
        function = {"name": "pay", "arguments": edit(shown)}
        said = {
            "role": "assistant",
            "tool_calls": [{"id": "c", "type": "function", "function": function}],
        }
        result = {"role": "tool", "tool_call_id": "c", "content": "done"}
        body = {**body, "messages": [*body["messages"], said, result]}
    return send(body, sanitizer)


@pytest.mark.parametrize("edit", EDITS, ids=["same", "python", "javascript"])
@pytest.mark.parametrize("stream", [False, True])
@given(arguments=st.lists(CALLS, min_size=1, max_size=2))
@example(['{"pounds": "<MONEY_1>", "amount": "<MONEY_1>", "note": "1250"}'])
@settings(deadline=None, max_examples=30)
def test_what_leaves_next_does_not_depend_on_what_is_hidden(
    edit: Callable[[str], str], stream: bool, arguments: list[str]
) -> None:
    sent = {second_turn(hidden, arguments, edit, stream).body for hidden in SUMS}
    assert len(sent) == 1


@pytest.mark.parametrize("edit", EDITS, ids=["same", "python", "javascript"])
def test_a_call_goes_back_as_the_api_wrote_it(edit: Callable[[str], str]) -> None:
    exchange = second_turn("£1,250", ['{"amount": "<MONEY_1>", "pounds": <MONEY_1>}'], edit, False)
    function = json.loads(exchange.body)["messages"][1]["tool_calls"][0]["function"]
    expected = '{"amount": "<MONEY_1>", "pounds": "<MONEY_1>"}'
    quoted = function["arguments"].replace(": <MONEY_1>", ': "<MONEY_1>"').replace(",", ", ")
    assert json.loads(quoted) == json.loads(expected)
    assert b"1250" not in exchange.body
    assert exchange.record.charged == 0


@pytest.mark.parametrize("edit", EDITS, ids=["same", "python", "javascript"])
def test_an_extraction_goes_back_as_the_api_wrote_it(edit: Callable[[str], str]) -> None:
    sent = set()
    for hidden in SUMS[:2]:
        sanitizer = holding({"<MONEY_1>": hidden})
        shown = said(sanitizer, '{"amount": "<MONEY_1>", "note": "for the broken window"}')
        history = [*ASK["messages"], {"role": "assistant", "content": edit(shown)}]
        sent.add(send({"messages": [*history, *ASK["messages"]]}, sanitizer).body)
    (body,) = sent
    assert b"<MONEY_1>" in body


def test_blocks_go_back_as_the_api_wrote_them() -> None:
    body = {**ASK, "tools": [{"name": "pay", "input_schema": PAYMENT}]}
    sent = set()
    for hidden in SUMS:
        sanitizer = holding({"<MONEY_1>": hidden})
        exchange = send({**body, "stream": True}, sanitizer, MESSAGES)
        block = {**BLOCK, "input": '{"pounds": "<MONEY_1>", "amount": "<MONEY_1>"}'}
        raw = b"".join(other_apis.message_events([block], size=1))
        pieces = [
            each["delta"]["partial_json"]
            for each in events(through(exchange.stream(SSE), raw))
            if each["type"] == "content_block_delta"
        ]
        values = json.loads("".join(pieces))
        assert (values["pounds"] == 1250) == (hidden in ("£1,250", "1250"))
        result = {"type": "tool_result", "tool_use_id": "t", "content": "done"}
        history = [
            *ASK["messages"],
            {"role": "assistant", "content": [{**BLOCK, "input": values}]},
            {"role": "user", "content": [result]},
        ]
        sent.add(send({**body, "messages": history}, sanitizer, MESSAGES).body)
    (found,) = sent
    assert b'"input":{"pounds":"<MONEY_1>","amount":"<MONEY_1>"}' in found


# ---- what is no longer covered ----


@pytest.mark.parametrize("hidden", SUMS)
def test_the_record_says_which_claims_ended_and_not_why(hidden: str) -> None:
    sanitizer = holding({"<MONEY_1>": hidden, "<PERSON_1>": "Eva Holm", "<MONEY_2>": "£7"})
    said(sanitizer, '{"pounds": "&lt;MONEY_1&gt;", "note": "<PERSON_1>"}')
    record = send(ASK, sanitizer).record
    assert (record.claims_ended, record.n_claims_ended) == (("<MONEY_1>",), 1)
    assert record.as_dict()["claims_ended"] == ["<MONEY_1>"]
    assert record.headers()["sanitizer-n-claims-ended"] == "1"
    assert "sanitizer-claims-ended" not in record.headers()
    history = second_turn(hidden, ['{"note": "<MONEY_2>", "pounds": "<MONEY_1>"}'], str, False)
    assert history.record.claims_ended == ("<MONEY_1>", "<MONEY_2>")


def test_a_policy_that_keeps_stand_ins_turns_types_off() -> None:
    rules = replace(Policy.preset("identifiers"), wire=WireRules(tools="keep"))
    sanitizer = holding(HIDDEN, rules)
    assert called(sanitizer, ARGUMENTS)[0] == ARGUMENTS
    assert streamed(sanitizer, [ARGUMENTS]) == ARGUMENTS
    assert json.loads(said(sanitizer, ARGUMENTS)) == {"amount": "£1,250", "on": "11 February 2026"}
    assert send(ASK, sanitizer).record.n_claims_ended == 0
    one = replace(Policy.preset("identifiers"), wire=WireRules(keep_tools=("pay",)))
    sanitizer = holding(HIDDEN, one)
    assert called(sanitizer, ARGUMENTS)[0] == ARGUMENTS
    assert json.loads(said(sanitizer, ARGUMENTS)) == TYPED


def test_a_moment_of_two_stand_ins_ends_two_claims() -> None:
    sanitizer = holding({"<DATE_1>": "13 Feb 2026", "<DATE_2>": "2:30pm"})
    body = asking({"type": "object", "properties": {"start": MOMENT}})
    shown, _ = called(sanitizer, '{"start": "<DATE_1>T<DATE_2>"}', body)
    function = {"name": "pay", "arguments": shown}
    call = {"id": "c", "type": "function", "function": function}
    said = {"role": "assistant", "tool_calls": [call]}
    result = {"role": "tool", "tool_call_id": "c", "content": "done"}
    exchange = send({**body, "messages": [*body["messages"], said, result]}, sanitizer)
    assert exchange.record.claims_ended == ("<DATE_1>", "<DATE_2>")
    assert b'\\"<DATE_1>T<DATE_2>\\"' in exchange.body
