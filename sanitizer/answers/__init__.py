"""An answer in; the same answer with originals, optionally rewritten for the original prompt, out.

What enters: text of an API, and the released values of a conversation. What leaves: text for the
user. Everything
here works on what was released before: it costs no budget and sends nothing off the machine.
"""

from typing import TYPE_CHECKING

from sanitizer import lazy_door

if TYPE_CHECKING:
    from sanitizer.answers.extractors import Extractor as Extractor
    from sanitizer.answers.extractors import LmExtractor as LmExtractor
    from sanitizer.answers.extractors import RecentPrompts as RecentPrompts
    from sanitizer.answers.extractors import RestoredAnswer as RestoredAnswer
    from sanitizer.answers.restorer import RestoredStream as RestoredStream
    from sanitizer.answers.restorer import Restorer as Restorer
    from sanitizer.answers.stream import AnswerContext as AnswerContext
    from sanitizer.answers.stream import AnswerStream as AnswerStream
    from sanitizer.answers.stream import extractor_for as extractor_for
else:
    __getattr__, __dir__ = lazy_door(
        __name__,
        {
            "extractors": ("Extractor", "LmExtractor", "RecentPrompts", "RestoredAnswer"),
            "restorer": ("RestoredStream", "Restorer"),
            "stream": ("AnswerContext", "AnswerStream", "extractor_for"),
        },
    )
