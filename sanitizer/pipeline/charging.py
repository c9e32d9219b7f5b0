"""Charges for a group of texts: reserved before anything is drawn, settled once for each text."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from sanitizer.errors import NotCertified
from sanitizer.storage import Budget, Charge


class Charges:
    """Charges one budget for the texts of one Sanitizer. Safe for many threads.

    Attributes:
        budget: where epsilon is counted.
    """

    def __init__(self, budget: Budget) -> None:
        self.budget = budget

    @contextmanager
    def settling(self) -> Iterator[OpenCharges]:
        """Yield the charges of one group, and settle those still open if anything fails.

        They are released if nothing was drawn yet, and committed afterwards: once a word was drawn,
        whether and where a failure occurs may depend on private words.
        """
        charges = OpenCharges(self.budget)
        try:
            yield charges
        except BaseException:
            charges.settle_all()
            raise


class OpenCharges:
    """The charges of one group of texts, by the number of the text. One thread uses it."""

    def __init__(self, budget: Budget) -> None:
        self._budget = budget
        self._open: dict[int, Charge] = {}
        self._drawn = False

    def reserve(self, text: int, epsilon: float, certified: bool) -> None:
        """Reserve the price of a text.

        Raises:
            BudgetExceeded: the budget has less left.
            NotCertified: a limit was set for a mechanism whose epsilon is not proved.
        """
        if self._budget.limited and not certified:
            raise NotCertified("a budget needs a certified mechanism")
        if epsilon:
            self._open[text] = self._budget.reserve(epsilon)

    def start_drawing(self) -> None:
        """Commit, instead of releasing, whatever is still open when something fails from here."""
        self._drawn = True

    def settle(self, text: int, released: bool) -> None:
        """Commit the charge of a text whose draw was released, or give it back."""
        charge = self._open.get(text)
        if charge is not None:
            charge.commit() if released else charge.release()
            del self._open[text]  # only now: a failed commit is tried again by `settle_all`

    def settle_all(self) -> None:
        """Settle every open charge after a failure."""
        for text in list(self._open):
            self.settle(text, self._drawn)
