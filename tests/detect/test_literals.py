"""Stretches that stay for what is written."""

from __future__ import annotations

import time

import pytest

from sanitizer.detect.literals import public_code
from sanitizer.detect.skeleton import public_forms
from sanitizer.text import Unit, pieces


def shown(text: str) -> set[str]:
    """Return the stretches of a text that stay."""
    found = public_code(text, public_forms(), (), pieces(text))
    return {text[start:end] for start, end in found}


@pytest.mark.parametrize(
    "stays",
    [
        *("SHA-256", "UTF-8", "ISO-8859-1", "ISO 9001", "IEEE 802.11", "TLS 1.3", "Wi-Fi 6"),
        *("USB-C", "H.264", "1080p", "16:9", "GPT-4o", "Core i7", "PS5", "5G", "CO2", "Omega-3"),
        *("ECONNREFUSED", "SIGABRT", "ORA-00942", "#3a5f7c", "rgba(255, 0, 0, .5)", "nginx:1.25"),
        *("Art. 6 GDPR", "\u00a7 812 BGB", "42 USC 1983", "Directive 95/46/EC", "Form W-2"),
        *("Regulation (EU) 2016/679", "Title IX", "Page 1 of 3"),
        *("Ph.D", "B.Sc", "U.S", "P.S", "i.e", "ICD-10", "ICD-10-CM", "DSM-5", "umol/L"),
    ],
)
def test_designations_that_tell_of_nobody(stays: str) -> None:
    assert stays in shown(f"Ida Lund asks: {stays}, please.")


def test_fields_of_http_stay_but_for_names_in_them() -> None:
    assert shown("X-Request-Id and X-Auth-Token") == {"X-Request", "Id", "X-Auth", "Token"}
    assert shown("X-Brightwater-Token, X-Rose-Key") == {"X-", "Token", "Key"}
    assert shown("Mary-Ann Lund, EX-12, X-rated") == set()


@pytest.mark.parametrize(
    "private", ["Hawkins", "awkland", "Regexson", "Nash, five forces", "Form Alarm Level"]
)
def test_what_stays_does_not_follow_from_what_is_hidden(private: str) -> None:
    for text in (
        "{} paid $12, then $3.",
        "{} asked for something like INV-2024-00123 or so.",
        "Flat A belongs to {}.",
        "0 30 6 x {} 9 *",
    ):
        one, other = (shown(text.format(name)) - {name} for name in (private, "Lund"))
        assert one == other


def test_labels_of_several_are_not_told_by_a_hidden_one() -> None:
    text = "Flat A is theirs, 12 Mare Street, Flat B is mine."
    assert {"Flat A", "Flat B"} <= shown(text)
    at = text.index("12 Mare")
    hidden = Unit(
        at, at + len("12 Mare Street, Flat B"), "12 Mare Street, Flat B", "ADDRESS", False
    )
    assert public_code(text, public_forms(), (hidden,), pieces(text)) == []


def test_an_age_group_of_a_sport_is_none_of_a_person() -> None:
    assert shown("I coach U12 football, and Ida plays.") == {"U12"}


@pytest.mark.parametrize(
    "private",
    [
        "9:16 AM",
        "A4",
        "U12",
        "M1 5QA",
        "#4471",
        "SHA-444",
        "i.x",
        "W-22",
        "15:30",
        "Room 4D2",
        "E4 6DP",
    ],
)
def test_what_may_be_somebody_s_is_none(private: str) -> None:
    assert not shown(f"Ida Lund said {private} yesterday")


def test_moves_and_chords() -> None:
    assert "1. e4 e5 2. Nf3 Nc6" in shown("After 1. e4 e5 2. Nf3 Nc6 what?")
    assert "Am7 D9 Gmaj7" in shown("The chords Am7 D9 Gmaj7 in C.")
    assert not shown("Answers: A B C")  # marks and initials are judged


def test_style_sheets_and_classes_of_tags() -> None:
    text = '<p class="px-4 mt-12 quornbank" style="margin: 0 15px; font-weight: 400">Ida</p>'
    found = shown(text)
    assert {"px", "4", "12", "0", "15px", "400"} <= found
    assert "quornbank" not in found
    assert "320px" in shown(".card { width: 320px }")
    assert "320" not in shown("Ida's rent: 320; Bo's rent: 400")


@pytest.mark.parametrize(
    "unit",
    [
        "A ",
        "A4|",
        "1. e4 ",
        "color: ",
        "C# ",
        'class="a',
        "\u00a7 1 ",
        "a",
        "1.1.",
        "Act of ",
        "0 ",
        "[1 ",
        '"A", ',
        "INV-1 or ",
    ],
)
def test_time_grows_with_the_length_only(unit: str) -> None:
    text = unit * (100_000 // len(unit))
    before = time.perf_counter()
    shown(text)
    assert time.perf_counter() - before < 5
