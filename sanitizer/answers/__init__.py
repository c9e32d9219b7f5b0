"""An answer in; the same answer with originals, optionally rewritten for the original prompt, out.

What enters: text of an API, and the released values of a conversation. What leaves: text for the
user. Everything works on what was released before: it costs no budget, and sends nothing off the
machine unless a remote extractor is trusted by name.
"""

from typing import TYPE_CHECKING

from sanitizer import lazy_door

if TYPE_CHECKING:
    from sanitizer.answers.alignment import MAX_TRIED as MAX_TRIED
    from sanitizer.answers.alignment import Aligner as Aligner
    from sanitizer.answers.alignment import Piece as Piece
    from sanitizer.answers.alignment import Segment as Segment
    from sanitizer.answers.alignment import covers as covers
    from sanitizer.answers.alignment import cut_off as cut_off
    from sanitizer.answers.alignment import distance as distance
    from sanitizer.answers.extractors import AnswerContext as AnswerContext
    from sanitizer.answers.extractors import AnswerStream as AnswerStream
    from sanitizer.answers.extractors import AsyncAnswerStream as AsyncAnswerStream
    from sanitizer.answers.extractors import Extractor as Extractor
    from sanitizer.answers.extractors import LmExtractor as LmExtractor
    from sanitizer.answers.extractors import RecentPrompts as RecentPrompts
    from sanitizer.answers.extractors import RestoredAnswer as RestoredAnswer
    from sanitizer.answers.extractors import extractor_for as extractor_for
    from sanitizer.answers.formulas import INSTRUCTION as INSTRUCTION
    from sanitizer.answers.formulas import OPENS as OPENS
    from sanitizer.answers.lexical import plural_of as plural_of
    from sanitizer.answers.links import MAY_LINK as MAY_LINK
    from sanitizer.answers.links import Links as Links
    from sanitizer.answers.restorer import RestoredStream as RestoredStream
    from sanitizer.answers.restorer import Restorer as Restorer
else:
    __getattr__, __dir__ = lazy_door(
        __name__,
        {
            "alignment": (
                "Aligner",
                "MAX_TRIED",
                "Piece",
                "Segment",
                "covers",
                "cut_off",
                "distance",
            ),
            "extractors": (
                "AnswerContext",
                "AnswerStream",
                "AsyncAnswerStream",
                "Extractor",
                "LmExtractor",
                "RecentPrompts",
                "RestoredAnswer",
                "extractor_for",
            ),
            "formulas": ("INSTRUCTION", "OPENS"),
            "lexical": ("plural_of",),
            "links": ("Links", "MAY_LINK"),
            "restorer": ("RestoredStream", "Restorer"),
        },
    )
