"""Check digits and forms: what is accepted, and what is refused."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from stdnum import luhn, numdb

from sanitizer.identifiers.checks import (
    iban_length,
    iban_remainder,
    is_iban,
    passes_luhn,
)

DIGITS, LETTERS = "0123456789", "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
CLASSES = {"n": DIGITS, "a": LETTERS, "c": DIGITS + LETTERS}
COUNTRIES = ("AL", "BR", "DE", "FR", "GB", "LC", "MT", "NO", "RU", "TR")
FORMS = {c: numdb.get("iban").info(c)[0][1]["bban"].replace("!", "") for c in COUNTRIES}

few = settings(max_examples=6)  # of each country


@given(st.integers(10**11, 10**18 - 1))
def test_the_luhn_digit_passes_and_its_neighbours_fail(body: int) -> None:
    digit = luhn.calc_check_digit(str(body))
    passing = [d for d in "0123456789" if passes_luhn(f"{body}{d}")]
    assert passing == [digit] or len(set(str(body) + digit)) == 1


def with_check_digits(country: str, account: str) -> str:
    return f"{country}{98 - iban_remainder(f'{country}00{account}'):02}{account}"


def accounts(form: str) -> st.SearchStrategy[str]:
    """Account parts of a form such as "4a14n"."""
    runs = re.findall("([0-9]+)([nac])", form)
    return st.tuples(*(st.text(CLASSES[c], min_size=int(n), max_size=int(n)) for n, c in runs)).map(
        "".join
    )


@pytest.mark.parametrize("country", COUNTRIES)
@few
@given(data=st.data())
def test_an_iban_of_its_country_s_form_is_accepted(country: str, data: st.DataObject) -> None:
    number = with_check_digits(country, data.draw(accounts(FORMS[country])))
    assert len(number) == iban_length(country)
    assert is_iban(number)
    assert is_iban(number.lower())
    assert not is_iban(number[:2] + f"{(int(number[2:4]) + 1) % 100:02}" + number[4:])


@pytest.mark.parametrize("country", [c for c in COUNTRIES if FORMS[c][-1] != "c"])
@few
@given(data=st.data())
def test_a_character_of_the_wrong_class_is_refused(country: str, data: st.DataObject) -> None:
    account = data.draw(accounts(FORMS[country]))
    wrong = account[:-1] + ("A" if FORMS[country].endswith("n") else "1")
    number = with_check_digits(country, wrong)
    assert iban_remainder(number) == 1
    assert not is_iban(number)


@pytest.mark.parametrize("text", ["", "DE", "DE89", "ÜÜ12 3456", "DE8937040044053201300²"])
def test_what_is_no_iban_at_all_is_refused(text: str) -> None:
    assert not is_iban(text)
