"""A text in, a private text and its record out; charged once, remembered once.

What enters: a text. What leaves: what may be sent, with what was replaced and what that costs. It
is the only place that knows the order of the stages; it knows no API and no HTTP.
"""

from typing import TYPE_CHECKING

from sanitizer import lazy_door

if TYPE_CHECKING:
    from sanitizer.pipeline.drawing import MAX_BATCH_TOKENS as MAX_BATCH_TOKENS
    from sanitizer.pipeline.drawing import choose as choose
    from sanitizer.pipeline.drawing import contexts as contexts
    from sanitizer.pipeline.drawing import step_contexts as step_contexts
    from sanitizer.pipeline.engines import Engine as Engine
    from sanitizer.pipeline.engines import Logits as Logits
    from sanitizer.pipeline.engines import WordMechanism as WordMechanism
    from sanitizer.pipeline.engines import engine_for as engine_for
    from sanitizer.pipeline.left_context import HEAD as HEAD
    from sanitizer.pipeline.left_context import LOGIT_RANGE as LOGIT_RANGE
    from sanitizer.pipeline.left_context import START as START
    from sanitizer.pipeline.left_context import LeftReader as LeftReader
    from sanitizer.pipeline.masked_text import MaskedText as MaskedText
    from sanitizer.pipeline.neighborhoods import TokenNeighborhoods as TokenNeighborhoods
    from sanitizer.pipeline.neighborhoods import WordNeighborhoods as WordNeighborhoods
    from sanitizer.pipeline.outputs import UNKNOWN as UNKNOWN
    from sanitizer.pipeline.outputs import OneTokenOutputs as OneTokenOutputs
    from sanitizer.pipeline.outputs import OutputSpace as OutputSpace
    from sanitizer.pipeline.outputs import WordSpace as WordSpace
    from sanitizer.pipeline.outputs import known_pieces as known_pieces
    from sanitizer.pipeline.sanitizer import Sanitizer as Sanitizer
else:
    __getattr__, __dir__ = lazy_door(
        __name__,
        {
            "drawing": ("MAX_BATCH_TOKENS", "choose", "contexts", "step_contexts"),
            "engines": ("Engine", "Logits", "WordMechanism", "engine_for"),
            "left_context": ("HEAD", "LOGIT_RANGE", "LeftReader", "START"),
            "masked_text": ("MaskedText",),
            "neighborhoods": ("TokenNeighborhoods", "WordNeighborhoods"),
            "outputs": ("OneTokenOutputs", "OutputSpace", "UNKNOWN", "WordSpace", "known_pieces"),
            "sanitizer": ("Sanitizer",),
        },
    )
