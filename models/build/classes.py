"""Check the class lists, from which stand-ins are drawn, and write their manifest.

The lists in `models/classes` are written by hand, the commonest members first. Each has 100 members
at least, and none of words that are all visible: a stand-in must not occur in public text for
another reason. `python -m models.build.classes` checks that.
"""

from __future__ import annotations

from pathlib import Path

from models.build import manifest
from models.build.words import read_list
from sanitizer.text import word_spans
from sanitizer.text.detector import public_forms

CLASSES = Path(__file__).resolve().parents[1] / "classes"
NAMES = ("belief", "condition", "crime", "origin")
LEAST = 100


def check(members: list[str]) -> None:
    """Raise ValueError if a list is short, repeats itself, or has a visible member."""
    if len(members) < LEAST or len({member.lower() for member in members}) < len(members):
        raise ValueError(f"a class list must have {LEAST} different members")
    forms = public_forms()
    for member in members:
        words = [member[begin:end].removesuffix("'s") for begin, end in word_spans(member)]
        if all(map(forms.known_public, words)):
            raise ValueError(f"{member!r} is public text")


def main() -> None:
    """Check the lists and write the manifest."""
    sizes = {}
    for name in NAMES:
        members = read_list(CLASSES / f"{name}.txt")
        check(members)
        sizes[name] = len(members)
    manifest.write(
        CLASSES,
        [*(f"{name}.txt" for name in NAMES), "concepts.txt"],
        summary="members of classes, for stand-ins; and other names of them",
        sources=[],
        rule="Written by hand from general knowledge, the commonest first; no member consists of "
        "words of models/forms that are visible. concepts.txt: names that count as one thing.",
        quality={"entries": sizes},
    )


if __name__ == "__main__":
    main()
