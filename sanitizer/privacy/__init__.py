"""Scores in, exact integer distributions out, and what they cost together.

What enters: numbers (scores, distances, ranks) and an epsilon. What leaves: integer weights to draw
from, and events for the accountant. It knows no text, no model and no storage; numpy is its only
library, so that a reviewer of the guarantee needs to read this package only.
"""

from typing import TYPE_CHECKING

from sanitizer import lazy_door

if TYPE_CHECKING:
    from sanitizer.privacy.accounting import Accountant as Accountant
    from sanitizer.privacy.accounting import ApproximateEvent as ApproximateEvent
    from sanitizer.privacy.accounting import BoundedRangeEvent as BoundedRangeEvent
    from sanitizer.privacy.accounting import Event as Event
    from sanitizer.privacy.accounting import GaussianEvent as GaussianEvent
    from sanitizer.privacy.accounting import PureEvent as PureEvent
    from sanitizer.privacy.accounting import StaircaseEvent as StaircaseEvent
    from sanitizer.privacy.accounting import ZCDPEvent as ZCDPEvent
    from sanitizer.privacy.cape import PROFILES as PROFILES
    from sanitizer.privacy.cape import TWO_LEVELS as TWO_LEVELS
    from sanitizer.privacy.cape import Cape as Cape
    from sanitizer.privacy.cape import bucket_weights as bucket_weights
    from sanitizer.privacy.dps_mozo import DPSMOZO as DPSMOZO
    from sanitizer.privacy.dps_mozo import claimed_epsilon as claimed_epsilon
    from sanitizer.privacy.dps_mozo import solve_beta as solve_beta
    from sanitizer.privacy.dps_mozo import solve_range as solve_range
    from sanitizer.privacy.dyntext import LONGEST_LIST as LONGEST_LIST
    from sanitizer.privacy.dyntext import DensityRange as DensityRange
    from sanitizer.privacy.dyntext import DynText as DynText
    from sanitizer.privacy.dyntext import Neighborhood as Neighborhood
    from sanitizer.privacy.invisibleink import InvisibleInk as InvisibleInk
    from sanitizer.privacy.invisibleink import solve_clip_norm as solve_clip_norm
    from sanitizer.privacy.medoids import Coverage as Coverage
    from sanitizer.privacy.medoids import Design as Design
    from sanitizer.privacy.medoids import Limits as Limits
    from sanitizer.privacy.medoids import choose_outputs as choose_outputs
    from sanitizer.privacy.medoids import ranked as ranked
    from sanitizer.privacy.next_token import RANGE_SLACK as RANGE_SLACK
    from sanitizer.privacy.next_token import NextScores as NextScores
    from sanitizer.privacy.next_token import TokenWeights as TokenWeights
    from sanitizer.privacy.next_token import check_finite as check_finite
    from sanitizer.privacy.next_token import cost as cost
    from sanitizer.privacy.next_token import exact_weights as exact_weights
    from sanitizer.privacy.next_token import generate as generate
    from sanitizer.privacy.next_token import largest as largest
    from sanitizer.privacy.next_token import tokens as tokens
    from sanitizer.privacy.next_token import top_tokens as top_tokens
    from sanitizer.privacy.weights import VARIANTS as VARIANTS
    from sanitizer.privacy.weights import Logits as Logits
    from sanitizer.privacy.weights import Weights as Weights
    from sanitizer.privacy.weights import check_count as check_count
    from sanitizer.privacy.weights import check_number as check_number
else:
    __getattr__, __dir__ = lazy_door(
        __name__,
        {
            "accounting": (
                "Accountant",
                "ApproximateEvent",
                "BoundedRangeEvent",
                "Event",
                "GaussianEvent",
                "PureEvent",
                "StaircaseEvent",
                "ZCDPEvent",
            ),
            "cape": ("Cape", "PROFILES", "TWO_LEVELS", "bucket_weights"),
            "dps_mozo": ("DPSMOZO", "claimed_epsilon", "solve_beta", "solve_range"),
            "dyntext": ("DensityRange", "DynText", "LONGEST_LIST", "Neighborhood"),
            "invisibleink": ("InvisibleInk", "solve_clip_norm"),
            "medoids": ("Coverage", "Design", "Limits", "choose_outputs", "ranked"),
            "next_token": (
                "NextScores",
                "RANGE_SLACK",
                "TokenWeights",
                "check_finite",
                "cost",
                "exact_weights",
                "generate",
                "largest",
                "tokens",
                "top_tokens",
            ),
            "weights": ("Logits", "VARIANTS", "Weights", "check_count", "check_number"),
        },
    )
