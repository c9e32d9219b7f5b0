"""How much a setting gives away: exact epsilon, attacks, advice, what is hidden of labelled texts.

What enters: a `Sanitizer` and texts. What leaves: reports without private words. Nothing is
released and nothing is charged.
"""

from typing import TYPE_CHECKING

from sanitizer import lazy_door

if TYPE_CHECKING:
    from sanitizer.risk.advice import NO_NOISE as NO_NOISE
    from sanitizer.risk.advice import Advice as Advice
    from sanitizer.risk.advice import Risk as Risk
    from sanitizer.risk.advice import RiskMeter as RiskMeter
    from sanitizer.risk.advice import advise as advise
    from sanitizer.risk.attacks import AttackReport as AttackReport
    from sanitizer.risk.attacks import run_attacks as run_attacks
    from sanitizer.risk.classes import ClassAdvice as ClassAdvice
    from sanitizer.risk.classes import ClassMeter as ClassMeter
    from sanitizer.risk.classes import advise_classes as advise_classes
    from sanitizer.risk.evaluation import Evaluation as Evaluation
    from sanitizer.risk.evaluation import evaluate as evaluate
    from sanitizer.risk.exact_audit import AuditReport as AuditReport
    from sanitizer.risk.exact_audit import audit as audit
    from sanitizer.risk.labelled import LabelledText as LabelledText
    from sanitizer.risk.labelled import labelled_texts as labelled_texts
else:
    __getattr__, __dir__ = lazy_door(
        __name__,
        {
            "advice": ("NO_NOISE", "Advice", "Risk", "RiskMeter", "advise"),
            "attacks": ("AttackReport", "run_attacks"),
            "classes": ("ClassAdvice", "ClassMeter", "advise_classes"),
            "evaluation": ("Evaluation", "evaluate"),
            "exact_audit": ("AuditReport", "audit"),
            "labelled": ("LabelledText", "labelled_texts"),
        },
    )
