"""How much a setting gives away: exact epsilon, attacks, advice, what is hidden of labelled texts.

What enters: a `Sanitizer` and texts. What leaves: reports without private words. Nothing is
released and nothing is charged.
"""

from typing import TYPE_CHECKING

from sanitizer.doors import lazy_door

if TYPE_CHECKING:
    from sanitizer.risk.evaluation import evaluate as evaluate
    from sanitizer.risk.labelled import labelled_texts as labelled_texts
else:
    __getattr__, __dir__, __all__ = lazy_door(
        __name__, {"risk.evaluation": "evaluate", "risk.labelled": "labelled_texts"}
    )
