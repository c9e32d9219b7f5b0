"""The window's sentences, in plain words."""

from __future__ import annotations

from math import exp
from typing import TYPE_CHECKING

from .wish import Failure

if TYPE_CHECKING:
    from sanitizer import Record


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
            return f"{things} replaced by class, not certified; what was not found leaves as it is."
        stand_ins = "What stands in for a thing depends on its class only"
        if record.n_drawn:
            strength = f"drawn at epsilon {record.epsilon_per_unit:g}"
            stand_ins += f", but for {record.n_drawn}, {strength}" + " each" * (record.n_drawn > 1)
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
