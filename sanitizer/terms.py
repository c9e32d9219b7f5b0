"""The terms that stand next to every epsilon, in words."""

from __future__ import annotations

from dataclasses import dataclass

_RANDOM = "; numbers are compared with numbers of the same length and digits only (released at random, epsilon 0)"
_VAULT = (
    "; {what} are compared with others of the same kind{form} that are equal where these are (what is released does "
    "not depend on them, epsilon 0)"
)


@dataclass(frozen=True, slots=True)
class Terms:
    """What is protected, against what, and what is not."""

    unit: str
    relation: str
    public: str
    not_protected: str


_PUBLIC = (
    "words on the policy's public list, all text between words, which positions are private and how many, "
    "where identifiers stand, their kinds and which of them are equal"
)
_NOT_PROTECTED = (
    "public words, punctuation and layout, {numbers}, what the public words tell of the private ones, "
    "how many identifiers there are and which are equal, which whole messages of a conversation are equal"
)
NO_PRIVACY = Terms(
    unit="none",
    relation="none: no differential privacy is claimed",
    public="every word that is not found to be an identifier",
    not_protected="all words, names included, that no pattern or model finds; where identifiers stand, their kinds, "
    "and which of them are equal",
)

NOTHING_NEW = Terms(
    unit="one message",
    relation="any two messages: what is sent was received from the same address",
    public="the answer as it was received",
    not_protected="that it is sent back",
)


def terms(consistent: bool, numbers: str = "random", style: str = "placeholder") -> Terms:
    """Of a draw per position, or per distinct word.

    Args:
        numbers: "random", or "vault". style: of what stands for identifiers, "placeholder" or "same-form".
    """
    what, form = "identifiers" if numbers == "random" else "identifiers and numbers", ""
    if style == "same-form":
        form = " and form"
    shared = _RANDOM * (numbers == "random") + _VAULT.format(what=what, form=form)
    hidden = _NOT_PROTECTED.format(
        numbers="the length of numbers" if numbers == "random" else "how many numbers there are and which are equal"
    )
    if consistent:
        return Terms(
            unit="one distinct private word",
            relation="replace-one: texts that differ in one distinct private word, changed wherever it stands to "
            "one that stands nowhere else" + shared,
            public=_PUBLIC,
            not_protected=hidden + ", which private words are equal",
        )
    return Terms(
        unit="one private word at one position",
        relation="replace-one: texts that differ in one private word" + shared,
        public=_PUBLIC,
        not_protected=hidden,
    )
