"""What is private in a text: the view that everybody may see, and what a model reads of the rest.

What enters: a text, what is declared public in it, and a policy. What leaves: spans with kinds. It
draws nothing and keeps nothing, and reads a hidden run in sight of the view only.
"""

from typing import TYPE_CHECKING

from sanitizer import lazy_door

if TYPE_CHECKING:
    from sanitizer.detect.classes import LISTS as LISTS
    from sanitizer.detect.classes import class_members as class_members
    from sanitizer.detect.classes import content_words as content_words
    from sanitizer.detect.classes import group_of as group_of
    from sanitizer.detect.classes import list_of as list_of
    from sanitizer.detect.classes import lists_of as lists_of
    from sanitizer.detect.classes import plain_name as plain_name
    from sanitizer.detect.detector import Detector as Detector
    from sanitizer.detect.detector import Labelled as Labelled
    from sanitizer.detect.detector import Reading as Reading
    from sanitizer.detect.detector import detector_for as detector_for
    from sanitizer.detect.detector import entities as entities
    from sanitizer.detect.detector import load_lists as load_lists
    from sanitizer.detect.units import SPELLED as SPELLED
    from sanitizer.detect.units import Document as Document
    from sanitizer.detect.units import document as document
    from sanitizer.detect.units import reads_as as reads_as
    from sanitizer.detect.units import segmented as segmented
    from sanitizer.detect.view import Opened as Opened
    from sanitizer.detect.view import is_everyday as is_everyday
    from sanitizer.detect.view import opened as opened
else:
    __getattr__, __dir__ = lazy_door(
        __name__,
        {
            "classes": (
                "LISTS",
                "class_members",
                "content_words",
                "group_of",
                "list_of",
                "lists_of",
                "plain_name",
            ),
            "detector": (
                "Detector",
                "Labelled",
                "Reading",
                "detector_for",
                "entities",
                "load_lists",
            ),
            "units": (
                "Document",
                "SPELLED",
                "document",
                "reads_as",
                "segmented",
            ),
            "view": ("Opened", "is_everyday", "opened"),
        },
    )
