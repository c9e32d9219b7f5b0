"""Numbers beside numbers: what a finder of one kind may take from another."""

from __future__ import annotations

import base64
import re

import pytest

from sanitizer import Sanitizer
from sanitizer.identifiers.search import find

CODED = base64.b64encode(b"mail fawdegve31@example.org, please").decode().rstrip("=")
CARD, SSN, PHONE = "5182 5450 2322 1537", "548-29-5728", "(555) 234-5009"


@pytest.mark.parametrize(
    "text",
    [
        f"{SSN} {CARD} now",
        f"{SSN} {CARD.replace(' ', '%20')} now",
        f"note 5728 {CARD} now",  # 5728 5182 5450 2322 passes the check of cards too
        f"order 118-77-1949. {PHONE} order",
        f"order 118-77-1949 {PHONE}",
    ],
)
def test_numbers_beside_numbers_are_hidden_whole(text: str) -> None:
    sanitizer = Sanitizer(policy="identifiers")
    sent = sanitizer.sanitize(text)
    left = re.sub(r"<[^>]*>", "", sent.text)
    assert [d for d in ("548", "5182", "1537", "118-77", "555", "5009") if d in left] == []
    assert sanitizer.restore(sent.text, sent) == text


@pytest.mark.parametrize(
    ("text", "kind", "found"),
    [
        ("a 046-66-720,(555) 234-5820, b", "PHONE", "(555) 234-5820"),
        ("10.1.2.4f3:04:fc:da:f8:46) x", "MAC", "f3:04:fc:da:f8:46"),
        (f"x {CODED}DE55 4177 y", "ENCODED", f"{CODED}DE55"),
    ],
)
def test_identifiers_with_another_right_before_or_behind_them(
    text: str, kind: str, found: str
) -> None:
    """What the fuzzing of bodies showed: faults of 20269, 20443 and 20483."""
    assert (kind, found) in [(each.kind, each.text) for each in find(text)]


def test_the_next_sentence_is_no_part_of_a_number() -> None:
    found = find(
        "My NHS number is 943 476 5919. I work for them. The NHS number 943 476 5919 K ends."
    )
    assert [each.text for each in found] == ["943 476 5919", "943 476 5919 K"]


@pytest.mark.parametrize("text", ["12:34:56:78", "1,(555) apples", "U2Vuc29yIDQgb2s and more"])
def test_what_looks_a_little_like_these_is_none(text: str) -> None:
    assert find(text) == []
