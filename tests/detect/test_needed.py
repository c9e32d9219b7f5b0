"""What of a text the user wrote."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sanitizer.detect.detector import asked
from sanitizer.detect.view import parted
from sanitizer.lm.reader import ELIGIBLE
from sanitizer.text import policy

NAME = "Qvarnstrom"


def own(text: str) -> str:
    """Return what the user wrote, with the hidden words in their slots."""
    found = parted(text)
    kept = asked(found.view)
    runs = [found.runs[number].written for number in kept.slots]
    return "".join(map("".join, zip(kept.view.shown, [*runs, ""], strict=True)))


@pytest.mark.parametrize(
    ("text", "mine"),
    [
        (f"Ask {NAME} today", f"Ask {NAME} today"),
        (f'Ask "{NAME}" today', "Ask  today"),
        (f"Ask “the {NAME}” and {NAME}", f"Ask  and {NAME}"),
        (f"Frag „die {NAME}“ und „{NAME}” heute", "Frag  und  heute"),
        (f"Ask «{NAME}» and »{NAME}«", "Ask  and "),
        (f"It's {NAME}'s and 'not {NAME}' here", f"It's {NAME}'s and  here"),
        (f"One\n> {NAME}\n two", "One\n\n two"),
        (f"One\n```text\n{NAME}\n```\ntwo", "One\n\ntwo"),
        (f"One\n~~~\n{NAME} and more", "One\n"),
        (f"One <doc id=1>{NAME}</doc> two", "One  two"),
        (f"One <doc>{NAME} two", "One "),
        (f"One [mail]{NAME}[/mail] two", "One  two"),
        (f'One "{NAME} two', "One "),
        (f"5 < {NAME} and 6 > 4", f"5 < {NAME} and 6 > 4"),
    ],
)
def test_what_is_marked_as_not_the_users_is_left_out(text: str, mine: str) -> None:
    assert own(text) == mine


@given(st.text(alphabet=f"{NAME[:3]} a the is\n\"'<>/`“”«»[]", max_size=60))
def test_words_and_slots_stay_what_they_are(text: str) -> None:
    found = parted(text)
    kept = asked(found.view)
    assert [found.view.slots[i] for i in kept.slots] == list(kept.view.slots)
    for number, (stretch, word) in zip(kept.words, kept.view.words, strict=True):
        old, place = found.view.words[number]
        written = kept.view.shown[stretch][word.start : word.end]
        assert written == found.view.shown[old][place.start : place.end]


def test_the_classes_are_the_same_everywhere() -> None:
    assert set(ELIGIBLE) == policy.ELIGIBLE
