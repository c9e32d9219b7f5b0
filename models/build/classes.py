"""Check the class lists, from which stand-ins are drawn, and write their manifest.

The lists in `models/classes` are written by hand, the commonest members first. Each has 100 members
at least, and none of words that are all visible: a stand-in must not occur in public text for
another reason. `python -m models.build.classes` checks that.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import faker

from models.build import manifest
from models.build.words import read_list
from sanitizer.text import word_spans
from sanitizer.text.detector import public_forms

CLASSES = Path(__file__).resolve().parents[1] / "classes"
NAMES = ("belief", "condition", "crime", "origin")
LEAST = 100
LOCALES = (
    "en_US en_GB en_IN en_NZ de_DE de_AT fr_FR es_ES es_MX it_IT pl_PL nl_NL sv_SE tr_TR pt_BR "
    "cs_CZ da_DK fi_FI ro_RO hr_HR id_ID en_NG no_NO hu_HU sk_SK sl_SI lt_LT lv_LV et_EE ga_IE "
    "yo_NG zu_ZA"
).split()


def check(members: list[str]) -> None:
    """Raise ValueError if a list is short, repeats itself, or has a visible member."""
    if len(members) < LEAST or len({member.lower() for member in members}) < len(members):
        raise ValueError(f"a class list must have {LEAST} different members")
    forms = public_forms()
    for member in members:
        words = [member[begin:end].removesuffix("'s") for begin, end in word_spans(member)]
        if all(map(forms.known_public, words)):
            raise ValueError(f"{member!r} is public text")


def given_names() -> list[str]:
    """Return given names of many languages, in lower case and alphabetical order."""
    found: set[str] = set()
    for locale in LOCALES:
        provider = import_module(f"faker.providers.person.{locale}").Provider
        for kind in ("first_names", "first_names_male", "first_names_female"):
            found |= {name.lower() for name in getattr(provider, kind, ())}
    return sorted(name for name in found if name.isalpha() and len(name) > 2)


def main() -> None:
    """Check the lists and write the manifest."""
    sizes = {}
    for name in NAMES:
        members = read_list(CLASSES / f"{name}.txt")
        check(members)
        sizes[name] = len(members)
    given = given_names()
    sizes["given_names"] = len(given)
    (CLASSES / "given_names.txt").write_text("\n".join(given) + "\n", "utf-8")
    manifest.write(
        CLASSES,
        [*(f"{name}.txt" for name in NAMES), "concepts.txt", "given_names.txt"],
        summary="members of classes, for stand-ins; other names of them; and given names",
        sources=[{"source": f"pypi:faker@{faker.VERSION}", "licence": "MIT"}],
        rule="Lists of classes: written by hand from general knowledge, the commonest first; no "
        "member consists of words of models/forms that are visible. concepts.txt: names that count "
        "as one thing. given_names.txt: the package's given names of the locales in "
        "models/build/classes.py, of three letters or more.",
        quality={"entries": sizes},
    )


if __name__ == "__main__":
    main()
