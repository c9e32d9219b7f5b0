"""Other values of the same form: identifiers of their kind again, and nothing of the original."""

from __future__ import annotations

import re
from ipaddress import ip_address, ip_network

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sanitizer.identifiers.checks import iban_remainder, is_issued, passes_luhn
from sanitizer.identifiers.search import find, same_form
from sanitizer.pipeline.surrogates import plain
from sanitizer.storage.table import Entries, Wanted
from sanitizer.testing.models import SeededSource
from tests.identifiers.samples import FOUND, PEM


@pytest.mark.parametrize(("kind", "identifier", "around"), FOUND)
@pytest.mark.parametrize("seed", range(3))
def test_another_value_of_the_same_form_is_an_identifier_of_its_kind(
    kind: str, identifier: str, around: str, seed: int
) -> None:
    new = same_form(kind, identifier, SeededSource(seed))
    text = around.format(new)
    assert new != identifier
    assert (kind, new) in {(i.kind, i.text) for i in find(text)}


@given(st.lists(st.sampled_from(FOUND), min_size=1, max_size=4), st.integers(0, 2**32))
@settings(max_examples=150)
def test_every_identifier_found_can_be_replaced(
    chosen: list[tuple[str, str, str]], seed: int
) -> None:
    text = "\n".join(around.format(identifier) for _, identifier, around in chosen)
    for identifier in find(text):
        assert same_form(identifier.kind, identifier.text, SeededSource(seed))


DIGITS = {name: dict(zip(range(0x30, 0x3A), chars, strict=True)) for name, chars in {
    "ASCII": "0123456789", "full-width": "０１２３４５６７８９", "Arabic": "٠١٢٣٤٥٦٧٨٩",
}.items()}  # fmt: skip
# Every new value may have these: calling codes, numbers and addresses that are nobody's.
PUBLIC = re.compile(r"^\(?\+[0-9]{1,2}|555|^10\.|^2001:|api03")
TO_ASCII = {
    ord(char): digit
    for table in DIGITS.values()
    for digit, char in zip("0123456789", table.values(), strict=True)
}


def folded(text: str) -> str:
    return text.translate(TO_ASCII).replace("\u200b", "")


def check_released(kind: str, original: str) -> None:
    """Never the original; and a run of digits that every draw holds was not drawn."""
    released = [
        plain(Entries(), Wanted(kind, original), 1, "same-form", SeededSource(seed))
        for seed in range(8)
    ]
    assert all(folded(value) != folded(original) for value in released)
    for run in re.findall("[0-9]{2,}", PUBLIC.sub("", folded(original))):
        assert not all(run in folded(value) for value in released), run


@pytest.mark.parametrize(("kind", "identifier", "around"), FOUND)
@pytest.mark.parametrize(
    ("digits", "zero_width"),
    [
        *((digits, False) for digits in DIGITS),
        ("ASCII", True),
        pytest.param("full-width", True, marks=pytest.mark.slow),
        pytest.param("Arabic", True, marks=pytest.mark.slow),
    ],
)
def test_what_is_released_is_another_value_however_the_digits_are_written(
    kind: str, identifier: str, around: str, digits: str, zero_width: bool
) -> None:
    written = identifier.translate(DIGITS[digits])
    first = len("-----BEGIN RSA PRIVATE KEY-----") if identifier == PEM else 1
    places = range(first, len(written)) if zero_width else [0]
    for at in places:
        split = f"{written[:at]}\u200b{written[at:]}" if zero_width else written
        for found in find(around.format(split)):
            check_released(found.kind, found.text)
    check_released(kind, written)


@pytest.mark.parametrize(
    ("kind", "text", "like"),
    [
        ("DATE_OF_BIRTH", "１９８４-０３-１２", r"[0-9]{4}-[0-9]{2}-[0-9]{2}"),
        ("DATE", "١٢ March\u200b١٩٨٤", r"[0-9]{1,2} [A-Z][a-z]+[0-9]{4}"),
        ("DATE", "12-10-2021", r"[0-9]{2}-[0-9]{2}-[0-9]{4}"),
        ("DATE", "2019-04-03T10:11:12+05:30", r"[0-9-]{10}T[0-9]{2}:[0-9]{2}:[0-9]{2}\+05:30"),
        ("POSTCODE", "K１A ０B１", r"[A-Z][0-9][A-Z] [0-9][A-Z][0-9]"),
        ("IBAN", "ＤＥ８９３７０４００４４０５３２０１３０００", r"DE[0-9]{20}"),
        ("KEY", "Hunter²²½", r"[A-Z][a-z]{5}[0-9]{3}"),
    ],
)
def test_other_notations_are_drawn_anew_in_ascii(kind: str, text: str, like: str) -> None:
    values = {same_form(kind, text, SeededSource(seed)) for seed in range(4)}
    assert all(re.fullmatch(like, value) for value in values)
    assert len(values) == 4
    assert not all("1984" in value or "2021" in value for value in values)


@pytest.mark.parametrize("line_break", ["\n", "\\n", ""])
def test_a_private_key_on_one_line_is_drawn_anew(line_break: str) -> None:
    pem = PEM.replace("\n", line_break)
    new = same_form("KEY", pem, SeededSource(0))
    assert new.startswith(f"-----BEGIN RSA PRIVATE KEY-----{line_break}")
    assert new.endswith(f"{line_break}-----END RSA PRIVATE KEY-----")
    assert len(new) == len(pem)
    assert "MIIBOg" not in new


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("KEY", "sk-ant-api03-"),
        ("DATE", "Tisha"),
        ("POSTCODE", "Berlin"),
        ("SSN", "123-45-67890"),
        ("IBAN", "ÜÜ12 3456"),
    ],
)
def test_what_cannot_be_drawn_anew_is_an_error_that_does_not_quote_it(kind: str, text: str) -> None:
    with pytest.raises(ValueError, match=f"^this {kind} cannot be given another form$"):
        same_form(kind, text, SeededSource(0))
    assert plain(Entries(), Wanted(kind, text), 7, "same-form", SeededSource(0)) == f"<{kind}_7>"


@pytest.mark.parametrize(
    "text", ["4111 1111 1111 1111", "378282246310005", "4111-1111-1111-1111", "6304000000000000"]
)
@given(seed=st.integers(0, 2**32))
def test_a_new_card_keeps_grouping_and_passes(text: str, seed: int) -> None:
    new = same_form("CARD", text, SeededSource(seed))
    digits = "".join(filter(str.isdigit, new))
    assert [i for i, c in enumerate(new) if not c.isdigit()] == [
        i for i, c in enumerate(text) if not c.isdigit()
    ]
    assert passes_luhn(digits)
    assert is_issued(digits)


@given(seed=st.integers(0, 2**32))
def test_a_new_iban_keeps_country_and_shape_and_passes(seed: int) -> None:
    new = same_form("IBAN", "FR14 2004 1010 0505 0001 3M02 606", SeededSource(seed))
    assert new[:2] == "FR"
    assert [len(group) for group in new.split(" ")] == [4, 4, 4, 4, 4, 4, 3]
    assert iban_remainder(new.replace(" ", "")) == 1


@given(seed=st.integers(0, 2**32))
def test_new_addresses_on_the_network_are_nobodys(seed: int) -> None:
    source = SeededSource(seed)
    assert ip_address(same_form("IP", "8.8.8.8", source)) in ip_network("10.0.0.0/8")
    assert ip_address(same_form("IP", "2a00::1", source)) in ip_network("2001:db8::/32")
    assert same_form("EMAIL", "anna@x.org", source).partition("@")[2] in {
        "example.com",
        "example.net",
        "example.org",
    }
    assert int(same_form("MAC", "00:1a:2b:3c:4d:5e", source)[:2], 16) & 3 == 2


@pytest.mark.parametrize(
    ("kind", "one", "other"),
    [
        ("CARD", "4111 1111 1111 1111", "5500 0000 0000 0004"),
        ("SSN", "123-45-6789", "219-09-9999"),
        ("EMAIL", "anna@x.org", "jonathan.long@university.ac.uk"),
        ("PHONE", "(555) 234-5678", "(212) 867-5309"),
        ("IP", "8.8.8.8", "192.168.100.200"),
        ("DATE", "2020-01-14", "1999-12-31"),
        (
            "KEY",
            "ghp_aB3dE6gH9kL2mN5pQ8rS1tU4vW7xY0zA1bC2",
            "ghp_zZ9yY8xX7wW6vV5uU4tT3sS2rR1qQ0pP9oO8",
        ),
        ("ADDRESS", "12 Oak Street", "98 Elm Street"),
        ("POSTCODE", "EC1A 1BB", "SW1A 2AA"),
    ],
)
def test_values_of_one_form_get_the_same_replacement_from_the_same_draws(
    kind: str, one: str, other: str
) -> None:
    assert same_form(kind, one, SeededSource(7)) == same_form(kind, other, SeededSource(7))


@pytest.mark.parametrize(
    ("old", "like"),
    [
        ("2020-01-14T03:07:43Z", r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ"),
        ("March 3rd, 2021", r"[A-Z][a-z]+ \d+(st|nd|rd|th), \d{4}"),
        ("3-Mar-85", r"\d+-[A-Z][a-z]{2}-\d\d"),
        ("03/04/85", r"\d\d/\d\d/\d\d"),
    ],
)
@given(seed=st.integers(0, 2**32))
def test_a_new_date_keeps_its_notation(old: str, like: str, seed: int) -> None:
    assert re.fullmatch(like, same_form("DATE", old, SeededSource(seed)))
