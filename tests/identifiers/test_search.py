"""Structured identifiers: what is found, what is left alone, and in what time."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sanitizer.identifiers.rows import KINDS, packaged
from sanitizer.identifiers.search import Identifier, find, same_form
from sanitizer.testing.models import SeededSource
from tests.identifiers.samples import FOUND

LEFT_ALONE = [
    "gpt-4, utf-8, covid-19, node-18, top-10, claude-3-5, col-md-06, icon-web-02.png, my-api-key",
    "main.py README.md data.sh node.js setup.cfg obj.name os.path logger.info('x') e.g. i.e.",
    "end.Start self.lt git@github.com:foo/bar.git icon@2x.png @app.route('/') y = x@self.weight",
    "react@18.2.0 localhost:8080",
    "version 1.2.3.4 and v1.2.3.4, section 3.2.1.4, foo==1.2.3.4, 1.2.3, 256.1.1.1, 1.2.3.4.5",
    "§ 3.2.1.4 and §3.2.1.4",
    "std::vector a::b x[1::2] sample[::2] 12:30:45 dict[3::4] Foo::Bar1 rapidly to 1::",
    "4111111111111112 and 1234 5678 9012 3456 and 0000000000000000 and 1111 1111 1111 1111",
    "GB82 WEST 1234 5698 7654 33 and XX82WEST12345698765432",
    "000-12-3456 666-12-3456 123-00-4567 123-45-0000 900-12-3456 123456789 078 05 1120",
    "31/02/2020 13/13/2020 2020-13-01 1/2/3 10/10 24/7 2010-2020 1.2.33 v10.12.14",
    "order number 555-234-5678, ISBN 978-3-16-148410-0, 550e8400-e29b-41d4-a716-446655440000",
    "1,234,567.89 $4,111.11 3.14159265358979 1700000000000 1 234 567 890 people",
    "3 people in the street, a 2 way street, In 2019 Wall Street crashed, 10 miles down the road",
    "sk-your-api-key-here-please sk-xxxxxxxxxxxxxxxxxxxxxxxx ghp_short token=abc",
    "max_tokens: 4096 key: value password: required, password = os.environ['DB_PASSWORD1'], "
    "password=get_password(2), secret_key=hashlib.sha256(x)",
    "90210 apples, 2021 US, AB12 3CI, A1A 1A1A, the passport was 20 years old, "
    "a license for 12345 drivers",
    "self.net = net; total = invoice.net * 1.19",
    "commit 3f068d6a1b2c3d4e5f60718293a4b5c6d7e8f901 of May, page 12 may 30 % march 100",
    "My father Peter has hepatitis and lives in Leeds.",
]


@pytest.mark.parametrize(("kind", "identifier", "around"), FOUND)
def test_finds_the_identifier_and_nothing_around_it(
    kind: str, identifier: str, around: str
) -> None:
    text = around.format(identifier)
    at = text.index(identifier)
    assert Identifier(at, at + len(identifier), kind, identifier) in find(text)


@pytest.mark.parametrize("text", LEFT_ALONE)
def test_leaves_what_only_looks_like_one(text: str) -> None:
    assert find(text) == []


@pytest.mark.parametrize(
    "text", ["-----BEGIN CERTIFICATE-----\nMIIB", "ıt60x0542811101000000123456", "-----BEGIN "]
)
def test_what_only_begins_like_an_identifier_raises_nothing(text: str) -> None:
    assert isinstance(find(text), list)


@pytest.mark.parametrize(
    "address", ["http://intranet/wiki", "https://anna@a.com/b", "ssh://a.com/b", "a.com/b?q=1"]
)
def test_an_address_that_tells_more_than_a_page_is_no_plain_link(address: str) -> None:
    assert [i.kind for i in find(f"see {address}, and a.com/b", {"URL"})] == ["URL"]


@given(
    st.text(st.sampled_from("0123456789 .:-/@+(),aAbfxGz\n\u200b１-_="), max_size=80)
    | st.text(max_size=80)
)
@settings(max_examples=300)
def test_spans_are_slices_in_order_without_overlap(text: str) -> None:
    found = find(text)
    assert all(i.kind in KINDS and i.text == text[i.start : i.end] != "" for i in found)
    assert all(a.end <= b.start for a, b in pairwise(found))


@pytest.mark.parametrize("address", ["royal-post-fee.info/9kd2", "bit.ly/3kXyZ"])
def test_an_address_is_told_by_a_path_that_no_word_has(address: str) -> None:
    text = f"pay at {address}, please"
    assert [text[each.start : each.end] for each in find(text, KINDS)] == [address]


@pytest.mark.parametrize(
    "address", ["jos\\u00e9.14@example.org", "zo\\u00eb\\xe9@example.org", "\\u00e9@example.org"]
)
def test_an_address_begins_before_its_escaped_letters(address: str) -> None:
    assert [i.text for i in find(f'{{"\\u00e9": "{address}"}}', {"EMAIL"})] == [address]


def test_only_the_wanted_kinds_are_searched() -> None:
    text = "https://10.0.0.1/ of anna@x.org"
    assert [i.kind for i in find(text)] == ["URL", "EMAIL"]
    assert [i.text for i in find(text, {"IP"})] == ["10.0.0.1"]
    assert find(text, ()) == []


PREFIXES = {
    start: row
    for start, rows in packaged().begun.items()
    for row in rows
    if row.kind == "KEY" and not (row.before or row.check or "value" in row.form) and len(start) > 3
}


@pytest.mark.parametrize("start", sorted(PREFIXES))
def test_a_prefix_with_its_length_suffices_whatever_the_letters(start: str) -> None:
    """Examples of vendors are not random, and what a user pastes may be one."""
    row = PREFIXES[start]
    forms = ["A" * n for n in range(16, 64)] + ["0" * n for n in range(16, 70)]
    fitting = next((t for t in forms if row.pattern.fullmatch(t)), None)
    if fitting is not None:
        assert [i.text for i in find(f"it is {start}{fitting}")] == [start + fitting]
        assert not row.glued or find(f"tok_{start}{fitting}") != []


def test_a_date_is_no_telephone_where_dates_are_not_wanted() -> None:
    assert find("call me on 12.10.2021", {"PHONE"}) == []


def test_an_unknown_kind_is_an_error() -> None:
    with pytest.raises(ValueError, match="SHOE_SIZE"):
        find("text", {"SHOE_SIZE"})
    with pytest.raises(ValueError, match="SHOE_SIZE"):
        same_form("SHOE_SIZE", "42", SeededSource(0))


def test_the_longest_wins() -> None:
    (found,) = find("ftp://anna@x.org:pw@10.0.0.1/2020-01-14")
    assert found.kind == "URL"


def test_a_zero_width_character_can_also_be_a_border() -> None:
    assert [i.text for i in find("anna@x.org\u200band\u200bbob@y.org")] == [
        "anna@x.org",
        "bob@y.org",
    ]


def test_a_second_date_is_not_of_birth() -> None:
    kinds = [i.kind for i in find("born 1985-03-04, married 2010-06-05")]
    assert kinds == ["DATE_OF_BIRTH", "DATE"]


def test_the_private_text_is_not_in_the_repr() -> None:
    (found,) = find("anna@x.org")
    assert "anna" not in repr(found)


ADVERSARIAL = [
    "db-",
    "a-0",
    "web-stg-",
    "1",
    ".",
    "@",
    ":",
    "-",
    "a.",
    "a@",
    "a@b.",
    "1.",
    "1.1.1.1.",
    "1:",
    "a:",
    "://",
    "http://a",
    "+1",
    "(1",
    "1-",
    "1111 ",
    "a",
    "A",
    "é",
    "\u200b",
    "１",
    "-----BEGIN PRIVATE KEY-----",
    "password=",
    "sk-",
    "eyJ",
    "eyJaaaaaaaaa.",
    "Bearer ",
    "GB85",
    "www.",
    "a.com",
    "00-",
    "aaaa.1111.",
    "12 Main ",
    "P.O. Box ",
    "key=",
    "](",
    "x@y.Zz",
    "0::",
    "4111111111111111",
]
ANNOUNCED = [
    "--password ",
    "--a ",
    "password is ",
    "</password>",
    "<a>",
    "Cookie: a=b",
    "mysql -p",
    "%40",
    "&#64;",
    "=40",
    "a%40b.",
    "ssn ",
    "case 1",
    "account no 1 ",
    "AKIAAAAAAAAAAAAAAAAA ",
    "AAAA1",
    "a1",
    "/services/",
    "://a:bcdefg@",
    ":AA",
    "a.internal",
    "密码1",
    "中1",
    "\U000e0020",
    "①",
    "1.2345, ",
    "1°1'",
    "Kirchstraße 1, ",
    "4111 1111\n",
    "4 ",
    "a at b dot ",
    '"a"@b.',
    "a@b[.]",
    "name: token value: ",
    "recovery codes: ab12 ",
    "*:5432:a:b:",
    "define('TOKEN', '",
    'variable "token" { ',
    "0123456789abcdef0123456789abcdef-us",
    "$2b$",
    'Digest response="',
    "ssid a key ",
    "seed phrase abc ",
    "P<UTO<<<<<<<<<<",
    "curl -u a:",
    "mac 00",
    "WIFI:P",
    "Private-Lines: 1\nAAAA\n",
    "api key ",
    "D E 7 5 ",
    "1 rue d'A, 1111",
    "changed my password to ",
    "reset the pin from a to ",
    "user a, password b",
    "account a ",
    "wifi password - ",
    "password: Aa Aa ",
    "my password is abcd and ",
    "code for the a a door is 1",
    'env("TOKEN", ',
    "${TOKEN:-a",
    "ENV TOKEN abcd ",
    '"password": "a b", "user": ',
    "name,token\n",
    "use abcde as my password ",
    "passwort auf abcde ",
    "abcde (password) ",
    "my password, the new one is ",
    "new PDO(a, 'b', '",
    "12345 (ssn)",
    "ssh a@b1 ",
    "a.b @ c.d ",
    "a [dot] b [at] ",
    "1111\n",
    "0x34",
    "wifi a key ",
    "mdp c'est ",
    "card_4111",
]


@pytest.mark.parametrize(
    "piece", [*ADVERSARIAL, *(pytest.param(each, marks=pytest.mark.slow) for each in ANNOUNCED)]
)
def test_the_time_of_hostile_text_grows_with_its_length(piece: str) -> None:
    """Sixteen times the text in far less than 16 squared the time: no pattern backtracks over the
    whole.

    Of this thread alone, and once in three tries: other tests leave threads and much to collect
    behind.
    """

    def seconds(n: int) -> float:
        text = (piece * (n // len(piece) + 1))[:n]
        begin = time.thread_time()
        find(text)
        return time.thread_time() - begin

    seconds(1_000)
    short = min(seconds(10_000) for _ in range(3))
    assert any(seconds(160_000) < 64 * short + 0.1 for _ in range(3))


def test_identifiers_survive_json() -> None:
    text = json.dumps(
        {"to": "anna@x.org", "ip": "10.0.0.1", "card": "4111 1111 1111 1111", "born": "1985-03-04"}
    )
    assert [i.kind for i in find(text)] == ["EMAIL", "IP", "CARD", "DATE_OF_BIRTH"]


def test_importing_needs_the_standard_library_only() -> None:
    code = (
        "import sys, sanitizer.identifiers.search as i; i.find('call 555-234-5678');"
        "print([m for m in ('numpy', 'nltk', 'tokenizers', 'onnxruntime') if m in sys.modules])"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


def test_the_end_of_a_telephone_number_is_no_house() -> None:
    found = find("Contacts: me (Alison) 07700 900882, GP Dr Lund at the surgery")
    assert [(each.kind, each.text) for each in found] == [("PHONE", "07700 900882")]
