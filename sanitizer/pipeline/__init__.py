"""A text in, a private text and its record out; charged once, remembered once.

What enters: a text. What leaves: the text that may be sent, what was replaced in it, and what that
costs. Only this package knows the order of the stages; it knows no API and no HTTP.
"""

from typing import TYPE_CHECKING

from sanitizer import lazy_door

if TYPE_CHECKING:
    from sanitizer.pipeline.conversation import pieces_of as pieces_of
    from sanitizer.pipeline.engines import HEAD as HEAD
    from sanitizer.pipeline.engines import LOGIT_RANGE as LOGIT_RANGE
    from sanitizer.pipeline.engines import MAX_BATCH_TOKENS as MAX_BATCH_TOKENS
    from sanitizer.pipeline.engines import START as START
    from sanitizer.pipeline.engines import Engine as Engine
    from sanitizer.pipeline.engines import LeftReader as LeftReader
    from sanitizer.pipeline.engines import Logits as Logits
    from sanitizer.pipeline.engines import WordMechanism as WordMechanism
    from sanitizer.pipeline.engines import choose as choose
    from sanitizer.pipeline.engines import contexts as contexts
    from sanitizer.pipeline.engines import draw as draw
    from sanitizer.pipeline.engines import engine_for as engine_for
    from sanitizer.pipeline.engines import step_batches as step_batches
    from sanitizer.pipeline.masked_text import Choices as Choices
    from sanitizer.pipeline.masked_text import MaskedText as MaskedText
    from sanitizer.pipeline.outputs import UNKNOWN as UNKNOWN
    from sanitizer.pipeline.outputs import OneTokenOutputs as OneTokenOutputs
    from sanitizer.pipeline.outputs import OutputSpace as OutputSpace
    from sanitizer.pipeline.outputs import TokenNeighborhoods as TokenNeighborhoods
    from sanitizer.pipeline.outputs import WordNeighborhoods as WordNeighborhoods
    from sanitizer.pipeline.outputs import WordSpace as WordSpace
    from sanitizer.pipeline.outputs import known_pieces as known_pieces
    from sanitizer.pipeline.response_memory import Passage as Passage
    from sanitizer.pipeline.response_memory import Resent as Resent
    from sanitizer.pipeline.response_memory import declared as declared
    from sanitizer.pipeline.sanitizer import Sanitizer as Sanitizer
    from sanitizer.pipeline.surrogates import APART as APART
else:
    __getattr__, __dir__ = lazy_door(
        __name__,
        {
            "engines": (
                "MAX_BATCH_TOKENS",
                "choose",
                "contexts",
                "draw",
                "step_batches",
                "Engine",
                "HEAD",
                "LOGIT_RANGE",
                "LeftReader",
                "Logits",
                "START",
                "WordMechanism",
                "engine_for",
            ),
            "masked_text": ("Choices", "MaskedText"),
            "outputs": (
                "OneTokenOutputs",
                "OutputSpace",
                "TokenNeighborhoods",
                "UNKNOWN",
                "WordNeighborhoods",
                "WordSpace",
                "known_pieces",
            ),
            "conversation": ("pieces_of",),
            "response_memory": ("Passage", "Resent", "declared"),
            "sanitizer": ("Sanitizer",),
            "surrogates": ("APART",),
        },
    )
