"""A text as anybody may see it, and the policy that says what is public in it.

What enters: a text, what is declared public in it, and a policy. What leaves: its words, code and
tables, with offsets. It knows no list of private things, draws nothing and keeps nothing.
"""

from typing import TYPE_CHECKING

from sanitizer import lazy_door

if TYPE_CHECKING:
    from sanitizer.text.lexers import TAGS as TAGS
    from sanitizer.text.policy import CLASSES as CLASSES
    from sanitizer.text.policy import DRAWN as DRAWN
    from sanitizer.text.policy import PRESETS as PRESETS
    from sanitizer.text.policy import UNCLEAR as UNCLEAR
    from sanitizer.text.policy import Policy as Policy
    from sanitizer.text.policy import word_list as word_list
    from sanitizer.text.prompt import DeclaredText as DeclaredText
    from sanitizer.text.prompt import Prompt as Prompt
    from sanitizer.text.prompt import kept_phrases as kept_phrases
    from sanitizer.text.prompt import merged as merged
    from sanitizer.text.syntax import Piece as Piece
    from sanitizer.text.syntax import form_for as form_for
    from sanitizer.text.syntax import is_code_word as is_code_word
    from sanitizer.text.syntax import pieces as pieces
    from sanitizer.text.words import WORD_KINDS as WORD_KINDS
    from sanitizer.text.words import Article as Article
    from sanitizer.text.words import Segmented as Segmented
    from sanitizer.text.words import Unit as Unit
    from sanitizer.text.words import article_for as article_for
    from sanitizer.text.words import cased as cased
    from sanitizer.text.words import folded as folded
    from sanitizer.text.words import outside as outside
    from sanitizer.text.words import overlapping as overlapping
    from sanitizer.text.words import random_number as random_number
    from sanitizer.text.words import segment as segment
    from sanitizer.text.words import segment_taken as segment_taken
    from sanitizer.text.words import straight as straight
    from sanitizer.text.words import stretches as stretches
    from sanitizer.text.words import without_clitic as without_clitic
    from sanitizer.text.words import word_spans as word_spans
else:
    __getattr__, __dir__ = lazy_door(
        __name__,
        {
            "lexers": ("TAGS",),
            "policy": ("CLASSES", "DRAWN", "PRESETS", "Policy", "UNCLEAR", "word_list"),
            "prompt": (
                "DeclaredText",
                "Prompt",
                "kept_phrases",
                "merged",
            ),
            "syntax": (
                "Piece",
                "form_for",
                "is_code_word",
                "pieces",
            ),
            "words": (
                "Article",
                "Segmented",
                "Unit",
                "WORD_KINDS",
                "article_for",
                "cased",
                "folded",
                "outside",
                "overlapping",
                "random_number",
                "segment",
                "segment_taken",
                "straight",
                "stretches",
                "without_clitic",
                "word_spans",
            ),
        },
    )
