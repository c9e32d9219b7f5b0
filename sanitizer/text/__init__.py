"""A text split into public words and private units by a policy.

What enters: a text, what is declared public in it, and a policy. What leaves: spans with kinds. It
draws nothing and keeps nothing.
"""

from typing import TYPE_CHECKING

from sanitizer import lazy_door

if TYPE_CHECKING:
    from sanitizer.text.classes import LISTS as LISTS
    from sanitizer.text.classes import class_members as class_members
    from sanitizer.text.classes import content_words as content_words
    from sanitizer.text.classes import list_of as list_of
    from sanitizer.text.classes import lists_of as lists_of
    from sanitizer.text.classes import plain_name as plain_name
    from sanitizer.text.detector import Detector as Detector
    from sanitizer.text.detector import detector_for as detector_for
    from sanitizer.text.detector import load_lists as load_lists
    from sanitizer.text.detector import public_forms as public_forms
    from sanitizer.text.language import language_lists as language_lists
    from sanitizer.text.language import language_of as language_of
    from sanitizer.text.policy import CLASSES as CLASSES
    from sanitizer.text.policy import PRESETS as PRESETS
    from sanitizer.text.policy import UNCLEAR as UNCLEAR
    from sanitizer.text.policy import Policy as Policy
    from sanitizer.text.policy import straight as straight
    from sanitizer.text.policy import word_list as word_list
    from sanitizer.text.prompt import DeclaredText as DeclaredText
    from sanitizer.text.prompt import Prompt as Prompt
    from sanitizer.text.units import SPELLED as SPELLED
    from sanitizer.text.units import find_units as find_units
    from sanitizer.text.units import reads_as as reads_as
    from sanitizer.text.units import split as split
    from sanitizer.text.words import WORD_KINDS as WORD_KINDS
    from sanitizer.text.words import Segmented as Segmented
    from sanitizer.text.words import Unit as Unit
    from sanitizer.text.words import article_for as article_for
    from sanitizer.text.words import cased as cased
    from sanitizer.text.words import folded as folded
    from sanitizer.text.words import random_number as random_number
    from sanitizer.text.words import segment as segment
    from sanitizer.text.words import without_clitic as without_clitic
    from sanitizer.text.words import word_spans as word_spans
else:
    __getattr__, __dir__ = lazy_door(
        __name__,
        {
            "classes": (
                "LISTS",
                "class_members",
                "content_words",
                "list_of",
                "lists_of",
                "plain_name",
            ),
            "detector": ("Detector", "detector_for", "load_lists", "public_forms"),
            "language": ("language_lists", "language_of"),
            "policy": ("CLASSES", "PRESETS", "Policy", "UNCLEAR", "straight", "word_list"),
            "prompt": ("DeclaredText", "Prompt"),
            "units": ("SPELLED", "find_units", "reads_as", "split"),
            "words": (
                "Segmented",
                "Unit",
                "WORD_KINDS",
                "article_for",
                "cased",
                "folded",
                "random_number",
                "segment",
                "without_clitic",
                "word_spans",
            ),
        },
    )
