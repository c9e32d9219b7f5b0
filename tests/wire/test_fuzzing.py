"""Random and mutated bodies through the filter; `benchmarks.privacy.fuzzing` has what must hold."""

from __future__ import annotations

import json

import pytest

from benchmarks.privacy.bodies import Bodies, Planted
from benchmarks.privacy.fuzzing import (
    Fault,
    Fuzzer,
    check_structure,
    forms,
    fuzzed,
    leaks,
    strings,
    without_formulas,
)
from sanitizer import Sanitizer
from sanitizer.errors import RequestRefused
from sanitizer.lm.masked import OnnxMaskedLM
from tests.clients.tool_calls import EMAIL, chat, send

CARD = "4111111111111111"
EMAIL_64 = "cGV0ZXIucXVpbGxAZXhhbXBsZS5jb20"


def test_bodies_are_the_same_for_the_same_seed_and_hold_what_they_say() -> None:
    one, two = Bodies(5), Bodies(5)
    n_seen = 0
    for _ in range(50):
        body, same = one.body(), two.body()
        assert (body.path, body.document, body.planted) == (same.path, same.document, same.planted)
        n_seen += any(leaks(forms(body.planted), strings(body.document), False))
    assert n_seen > 30


@pytest.mark.parametrize(
    "text",
    [EMAIL, f'a "{EMAIL}",', "peter.quill%40example.com", "peter.quill&#64;example.com", EMAIL_64,
     EMAIL.encode().hex(), json.dumps({"x": [EMAIL]})],
)  # fmt: skip
def test_an_identifier_is_seen_however_it_is_written(text: str) -> None:
    assert list(leaks(forms([Planted("EMAIL", EMAIL)]), strings([text]), False)) == ["EMAIL"]
    assert not list(leaks(forms([Planted("EMAIL", "anna@example.org")]), strings([text]), False))


def test_what_must_not_happen_is_a_fault() -> None:
    with pytest.raises(Fault, match="a list changed"):
        check_structure({"a": [1]}, {"a": []})
    with pytest.raises(Fault, match="JSON in a string"):
        check_structure({"name": "f", "arguments": "{}"}, {"name": "f", "arguments": "{<X_1>}"})
    passing = Fuzzer(Sanitizer(policy="identifiers"), Bodies(1))
    passing._wanted = forms([Planted("EMAIL", EMAIL)])
    with pytest.raises(Fault, match="EMAIL"):
        passing._check("a body", [f"to {EMAIL}"])


def test_a_few_bodies() -> None:
    counts = fuzzed(Sanitizer(policy="identifiers"), 300, seed=11)
    assert counts["sent"] > 150
    assert counts["refused"] > 30
    assert counts["sent again"] > 5


@pytest.mark.parametrize(
    "n",
    [
        pytest.param(3_000, marks=pytest.mark.slow),
        pytest.param(100_000, marks=pytest.mark.nightly),
    ],
)
def test_many_bodies(n: int) -> None:
    counts = fuzzed(Sanitizer(policy="identifiers"), n, seed=12)
    assert counts["bodies"] == n
    assert counts["sent"] > 0.6 * n
    assert counts["mutated"] > 0.2 * n


@pytest.mark.slow
@pytest.mark.parametrize("policy", ["deidentify", "balanced", "strict"])
def test_bodies_under_policies_that_read_models(policy: str, model: OnnxMaskedLM) -> None:
    counts = fuzzed(Sanitizer(policy=without_formulas(policy), model=model), 100, seed=13)
    assert counts["sent"] > 30


def refused(body: bytes) -> RequestRefused:
    with pytest.raises(RequestRefused) as error:
        send(body)
    return error.value


@pytest.mark.parametrize(
    "body",
    [
        {"tools": [{"type": "mcp", "allowed_tools": ["a", EMAIL]}]},
        {"tools": [{"type": "custom", "definition": f"start: {EMAIL}"}]},
        {"tools": [{"type": "file_search", "ranking_options": {CARD: 1}}]},
        {"logit_bias": {CARD: 1}},
        {"model": EMAIL_64},
        {"messages": [{"role": "assistant", "reasoning_details": [{"data": CARD}]}]},
    ],
)
def test_identifiers_among_settings_that_leave_whole_are_refused(body: dict[str, object]) -> None:
    error = refused(json.dumps(body).encode())
    assert error.reason == "structure"
    assert EMAIL not in str(error)
    assert CARD not in str(error)


def test_credentials_and_addresses_of_hosted_tools_leave() -> None:
    tool = {"type": "mcp", "server_url": "https://mcp.example.com/sse", "headers": {"X": EMAIL}}
    assert EMAIL.encode() in send({**chat("x"), "tools": [tool]}).body


def test_lone_surrogates_inside_arguments_that_are_objects_stay_escaped() -> None:
    block = b'{"type":"tool_use","id":"a","name":"f","input":{"a":"\\ud800 \\u00e9","b":"%s"}}'
    body = b'{"messages":[{"role":"assistant","content":[%s]}]}' % (block % EMAIL.encode())
    sent = send(body, path="/v1/messages").body
    assert b'"input":{"a":"\\ud800 ' in sent
    assert EMAIL.encode() not in sent
    json.loads(sent)


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("457-55-5462 2221 0000 0000 0009", "SSN CARD"),
        ('"\\n457-55-5462\\n2221 0000 0000 0009\\n"', "SSN CARD"),
        ("+1-202-555-0125. (555) 234-5516.", "PHONE PHONE"),
        ("(555) 234-5594 " + b"anna@example.org".hex(), "PHONE ENCODED"),
        ("34313131313131313131313131313131", "ENCODED"),
        ("user NTIuODIuNTYuMTkx", "ENCODED"),
        ("\\uff14\\uff15\\uff17-\\uff15\\uff15-\\uff15\\uff14\\uff16\\uff12", "SSN"),
        ("009-16-6620 (555) 234-5125", "SSN PHONE"),
        ("DE42 0198 7697 1464 7825 01 (555) 234-5542", "IBAN PHONE"),
        ("2e:f0:22:1d:83:01 (555) 234-5318", "MAC PHONE"),
        ("cf:bf:be:fd:fb:cf", "MAC"),
        ("DE72 2346 0043 3131 7838 81 (555) 234-5172", "IBAN PHONE"),
        (r"\\uff14\\uff15\\uff17-\\uff15\\uff15-\\uff15\\uff14\\uff16\\uff12", "SSN"),
        ("call NS40Ljg1Ljg now", "ENCODED"),
        ("nina@example.orgn457-55-5462,", "EMAIL SSN"),
    ],
)
def test_identifiers_that_bodies_showed_to_be_missed(text: str, kinds: str) -> None:
    sent = json.loads(send(chat(text)).body)["messages"][0]["content"]
    for kind in kinds.split():
        assert f"<{kind}_" in sent
    forms = ("2221", "457", "uff15", "234-5", "6e6e61", "3431", "fb:cf")
    assert not any(form in sent for form in forms)


@pytest.mark.parametrize("where", ["messages", "response_format"])
def test_a_number_in_misplaced_arguments_of_the_assistant_becomes_a_string(where: str) -> None:
    call = {"name": "f", "arguments": json.dumps({"a": [int(CARD)], "b": f"{CARD} x"})}
    said = {"role": "assistant", "content": "x", "text": call}
    body = {**chat("x"), where: [said] if where == "messages" else {"role": "assistant", "f": call}}
    sent = json.loads(send(body).body)[where]
    inner = sent[0]["text"] if where == "messages" else sent["f"]
    assert json.loads(inner["arguments"]) == {"a": ["<CARD_1>"], "b": "<CARD_1> x"}


def test_a_number_in_arguments_that_are_a_part_of_a_message_becomes_a_string() -> None:
    part = {"name": "f", "arguments": json.dumps({"a": int(CARD)})}
    sent = json.loads(send({"messages": [{"role": "user", "content": [part]}]}).body)
    assert json.loads(sent["messages"][0]["content"][0]["arguments"]) == {"a": "<CARD_1>"}


def test_escaped_quotes_in_strings_of_strings_are_no_shares() -> None:
    text = r'"\\u201cso\\u201d\\n for \\"'
    assert json.loads(send(chat(text)).body)["messages"][0]["content"] == text


def test_numbers_beside_known_fields_are_hidden_by_form_or_name() -> None:
    more = f'"user":{CARD},"top":4111111111111111.0,"customer_number":48213377,"seed":{CARD}'
    sent = json.loads(send(f'{{"messages":[],"max_tokens":4096,{more}}}'.encode()).body)
    assert sent["user"] == sent["top"] == "<CARD_1>"
    assert sent["customer_number"] == "<ID_1>"
    assert (sent["seed"], sent["max_tokens"]) == (int(CARD), 4096)


def test_long_keys_are_read() -> None:
    key = "glpat-" + "AbCdEfGhIjKlMnOpQrSt"
    filtered = send({**chat("x"), "metadata": {key: "x", "additionalProperties": "y"}})
    assert b'"metadata":{"<KEY_1>":"x","additionalProperties":"y"}' in filtered.body


def test_a_coded_line_end_is_no_part_of_an_address() -> None:
    """The letter of `\\n` in JSON inside a text: replaced with the address, it broke the JSON."""
    inner = json.dumps(["about\nanna@example.org,\nanna@example.org\nhttps://u:p@a.example.org/"])
    sent = json.loads(send(chat(inner)).body)["messages"][0]["content"]
    assert json.loads(sent) == ["about\n<EMAIL_1>,\n<EMAIL_1>\n<URL_1>"]


def test_keys_of_sure_prefixes_need_no_digit() -> None:
    key = "sk-proj-" + "AbCdEfGhIjKlMnOpQrSt" * 2
    assert json.loads(send(chat(f"use {key}")).body)["messages"][0]["content"] == "use <KEY_1>"
