"""The window's sentences, in plain words."""

from __future__ import annotations

from math import exp
from typing import TYPE_CHECKING

from .wish import Failure

if TYPE_CHECKING:
    from sanitizer import Record, Replacement, SanitizedText

BY_WORD = ("word", "number", "article")  # kinds of what is drawn word by word
BY_CLASS = ("CONDITION", "BELIEF", "ORIGIN", "CRIME")  # drawn, or a placeholder
MAX_NOTICES, MAX_QUOTED = 5, 90


def meaning(epsilon: float) -> str:
    """Say what an epsilon allows."""
    return (
        f"{epsilon:g} (less is more private): "
        f"the odds between two candidates for a word change at most {exp(epsilon):,.0f}-fold"
    )


def guarantee(record: Record) -> str:
    """Say what the record promises about a text that would leave."""
    identifiers = _amount(record.n_identifiers, "identifier")
    found = f"{identifiers} replaced (dashed), and restored in the answer"
    if record.detector != "none":
        things = _amount(record.n_things, "thing")
        if not record.certified:
            return f"{things} replaced, not certified. What was not found leaves as it is."
        stand_ins = "What replaces a thing depends on its kind only"
        if record.n_drawn:
            strength = f"drawn at epsilon {record.epsilon_per_unit:g}"
            stand_ins += f", except {record.n_drawn} {strength}" + " each" * (record.n_drawn > 1)
        return f"Certified: {things} replaced. {stand_ins}. What was not found leaves as it is."
    if record.mechanism == "none":
        return f"No differential privacy. {found}; every other word leaves as it is."
    verdict = "Certified" if record.certified else "Not certified"
    drawn = f"{_amount(record.n_units, 'word')} drawn anew"
    if record.n_numbers:
        drawn += f" and {_amount(record.n_numbers, 'number')} made random"
    return (
        f"{verdict}: epsilon {record.epsilon_per_unit:g} per word, "
        f"{record.epsilon_total:g} in all. "
        f"{drawn} (underlined), {found}."
    )


def notices(text: str, result: SanitizedText) -> str:
    """Say, a line each, what leaves though it may be private, and what the answer may lack.

    Args:
        text: as typed.
        result: what would leave in its place.
    """
    needed = "leaves as you wrote it, because your question seems to need it"
    fact = "may reveal something sensitive in everyday words, which are not hidden"
    found = [f"{_quoted(text[each.start : each.end])} {needed}." for each in result.left]
    found += [f"{_quoted(text[each.start : each.end])} {fact}." for each in result.warnings]
    # The first hint says in general what was left. What a hint advises after ";" is for programs.
    missed = [hint.partition(";")[0] for hint in result.hints[1 if result.left else 0 :]]
    return _lines([*found, *(f"{what[:1].upper()}{what[1:]}." for what in missed)])


def notes(result: SanitizedText) -> str:
    """Say, a line each, on which stand-ins an answer to a text may rest."""
    drawn = [each for each in result.replacements if is_drawn(each)]
    found = [
        f"The model read {_quoted(each.replacement)} where you wrote {_quoted(each.original)}: "
        "its advice may not fit."
        for each in drawn
        if each.kind not in BY_WORD
    ]
    if any(each.kind in BY_WORD for each in drawn):
        found.append("Words that were drawn one by one stay as the model wrote them.")
    return _lines(found)


def is_drawn(replacement: Replacement) -> bool:
    """Return True if the stand-in was drawn, False if it is a placeholder."""
    by_class = replacement.kind in BY_CLASS and not replacement.replacement.startswith("<")
    return by_class or replacement.kind in BY_WORD


def _quoted(words: str) -> str:
    return f"“{words[:MAX_QUOTED]}…”" if len(words) > MAX_QUOTED else f"“{words}”"


def _lines(found: list[str]) -> str:
    distinct = list(dict.fromkeys(found))
    if (n_more := len(distinct) - MAX_NOTICES) > 0:
        distinct[MAX_NOTICES:] = [f"And {n_more} more."]
    return "\n".join(distinct)


def balance(spent: float, budget: float, price: float | None, paid: bool) -> str:
    """Say how much of the budget is spent, and what the present text costs.

    Args:
        spent: epsilon spent so far.
        budget: the most epsilon to spend in all.
        price: None without a text.
        paid: True if the text was charged before.
    """
    line = f"Budget: spent {spent:g} of {budget:g}."
    if price is None:
        return line
    if paid:
        return f"{line} This text is paid for; sending it again costs nothing."
    short = ", more than is left" if price > budget - spent else ""
    return f"{line} Sending this text costs {price:g}{short}."


def failure(error: Exception) -> str:
    """Say in one sentence what failed; of unexpected errors, which might quote the text, only the
    type.
    """
    from sanitizer import SanitizerError

    if not isinstance(error, (Failure, SanitizerError)):
        return f"Something failed inside the program: {type(error).__name__}."
    message = str(error).rstrip(".")
    return message[:1].upper() + message[1:] + "."


def _amount(n: int, name: str) -> str:
    return f"{n:,} {name}{'' if n == 1 else 's'}"
