"""Numbers beside numbers: what a finder of one kind may take from another."""

from __future__ import annotations

import re

import pytest

from sanitizer import Sanitizer

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
