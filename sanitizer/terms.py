"""The terms that stand next to every epsilon, in words."""

from __future__ import annotations

from dataclasses import dataclass

_NUMBERS = "; numbers are compared with numbers of the same length and digits only (released at random, epsilon 0)"


@dataclass(frozen=True, slots=True)
class Terms:
    """What is protected, against what, and what is not."""

    unit: str = "one private word at one position"
    relation: str = "replace-one: texts that differ in one private word" + _NUMBERS
    public: str = "words on the policy's public list, all text between words, which positions are private and how many"
    not_protected: str = (
        "public words, punctuation and layout, the length of numbers, what the public words tell of the private ones, "
        "which whole messages of a conversation are equal"
    )


POSITIONS = Terms()
WORDS = Terms(
    unit="one distinct private word",
    relation="replace-one: texts that differ in one distinct private word, changed wherever it stands to "
    "one that stands nowhere else" + _NUMBERS,
    not_protected=POSITIONS.not_protected + ", which private words are equal",
)


def terms(consistent: bool) -> Terms:
    """Of a draw per position, or per distinct word."""
    return WORDS if consistent else POSITIONS
