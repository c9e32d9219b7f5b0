"""How much a setting gives away: exact epsilon, attacks, advice, what is hidden of labelled texts.

What enters: a `Sanitizer` and texts. What leaves: reports without private words. Nothing is
released and nothing is charged.
"""

from typing import TYPE_CHECKING

from sanitizer import lazy_door

if TYPE_CHECKING:
    from sanitizer.risk.advice import NO_NOISE as NO_NOISE
    from sanitizer.risk.advice import Advice as Advice
    from sanitizer.risk.advice import AdviceSetting as AdviceSetting
    from sanitizer.risk.advice import Risk as Risk
    from sanitizer.risk.advice import RiskMeter as RiskMeter
    from sanitizer.risk.advice import advise as advise
    from sanitizer.risk.attacks import PUBLISHED as PUBLISHED
    from sanitizer.risk.attacks import AttackReport as AttackReport
    from sanitizer.risk.attacks import Rate as Rate
    from sanitizer.risk.attacks import rouge_l as rouge_l
    from sanitizer.risk.attacks import run_attacks as run_attacks
    from sanitizer.risk.classes import ClassAdvice as ClassAdvice
    from sanitizer.risk.classes import ClassMeter as ClassMeter
    from sanitizer.risk.classes import ClassSetting as ClassSetting
    from sanitizer.risk.classes import advise_classes as advise_classes
    from sanitizer.risk.evaluation import FAMILIES as FAMILIES
    from sanitizer.risk.evaluation import MEASURES as MEASURES
    from sanitizer.risk.evaluation import Evaluation as Evaluation
    from sanitizer.risk.evaluation import Stretch as Stretch
    from sanitizer.risk.evaluation import Treated as Treated
    from sanitizer.risk.evaluation import counted as counted
    from sanitizer.risk.evaluation import evaluate as evaluate
    from sanitizer.risk.evaluation import hidden_in as hidden_in
    from sanitizer.risk.evaluation import summed as summed
    from sanitizer.risk.evaluation import treat as treat
    from sanitizer.risk.evaluation import treated as treated
    from sanitizer.risk.evaluation import words_in as words_in
    from sanitizer.risk.exact_audit import EXAMPLE as EXAMPLE
    from sanitizer.risk.exact_audit import EXAMPLE_POSITION as EXAMPLE_POSITION
    from sanitizer.risk.exact_audit import AuditReport as AuditReport
    from sanitizer.risk.exact_audit import Extremes as Extremes
    from sanitizer.risk.exact_audit import audit as audit
    from sanitizer.risk.exact_audit import domain as domain
    from sanitizer.risk.exact_audit import position_logits as position_logits
    from sanitizer.risk.labelled import LabelledSpan as LabelledSpan
    from sanitizer.risk.labelled import LabelledText as LabelledText
    from sanitizer.risk.labelled import labelled_texts as labelled_texts
    from sanitizer.risk.labelled import unmarked as unmarked
    from sanitizer.risk.posterior import Likelihood as Likelihood
    from sanitizer.risk.posterior import Likelihoods as Likelihoods
    from sanitizer.risk.posterior import Nearest as Nearest
    from sanitizer.risk.posterior import Prior as Prior
    from sanitizer.risk.posterior import SameNumbers as SameNumbers
    from sanitizer.risk.posterior import Vocabulary as Vocabulary
    from sanitizer.risk.posterior import guessed as guessed
    from sanitizer.risk.posterior import list_shares as list_shares
    from sanitizer.risk.posterior import public_logits as public_logits
else:
    __getattr__, __dir__ = lazy_door(
        __name__,
        {
            "advice": ("Advice", "AdviceSetting", "NO_NOISE", "Risk", "RiskMeter", "advise"),
            "attacks": ("AttackReport", "PUBLISHED", "Rate", "rouge_l", "run_attacks"),
            "classes": ("ClassAdvice", "ClassMeter", "ClassSetting", "advise_classes"),
            "evaluation": (
                "Evaluation",
                "FAMILIES",
                "MEASURES",
                "Stretch",
                "Treated",
                "counted",
                "evaluate",
                "hidden_in",
                "summed",
                "treat",
                "treated",
                "words_in",
            ),
            "exact_audit": (
                "AuditReport",
                "EXAMPLE",
                "EXAMPLE_POSITION",
                "Extremes",
                "audit",
                "domain",
                "position_logits",
            ),
            "labelled": ("LabelledSpan", "LabelledText", "labelled_texts", "unmarked"),
            "posterior": (
                "Likelihood",
                "Likelihoods",
                "Nearest",
                "Prior",
                "SameNumbers",
                "Vocabulary",
                "guessed",
                "list_shares",
                "public_logits",
            ),
        },
    )
