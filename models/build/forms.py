"""Write the public forms and the gazetteers of models/forms.

    python -m models.build.forms

`models/forms/judgements.tsv` was written by reading: one word a line, and letters that say why it
is not simply public: S sensitive of a person in some prompt, N a name when capitalized, L a name in
lower case too, X no ordinary word, C public in every case form; without a letter it is an everyday
word. The words are the 24,000 most frequent lower-case ones of the public training text and of
instructions. Drugs and conditions come from the named packages.
"""

from __future__ import annotations

import bz2
import io
import pickle
import re
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from models.build import manifest
from models.build.fetch import archive

MODELS = Path(__file__).resolve().parents[1]
FORMS, WORDS = MODELS / "forms", MODELS / "words"
MIXED = (
    "JavaScript TypeScript GitHub GitLab MySQL PostgreSQL NoSQL MongoDB SQLite YouTube WhatsApp "
    "LinkedIn PowerPoint PowerShell OneNote ChatGPT OpenAI iPhone iPad macOS iOS LaTeX WordPress "
    "NumPy PyTorch TensorFlow DevOps DataFrame FastAPI GraphQL OAuth PhD FAQs PDFs URLs APIs IDs "
    "eBay PayPal"
).split()
NAMES = ("will", "may", "don", "ma", "s", "t", "d", "m")
"""Stopwords that are names, or letters, when capitalized."""
NAMES_OF_MONTHS = frozenset(
    "january february april june july august september october november december".split()
)
_DRUG = re.compile(r"[a-z][a-z]{4,17}")


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
    found["anywhere"] += MIXED
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


def write_list(name: str, words: Iterable[str], header: str) -> None:
    """Write one list, sorted."""
    (FORMS / f"{name}.txt").write_text(f"# {header}\n" + "\n".join(sorted(words)) + "\n", "utf-8")


def main() -> None:
    """Write all lists and the manifest."""
    stopwords = {
        w for w in (WORDS / "stopwords.txt").read_text("utf-8").split("\n") if w[:1] != "#"
    }
    found = lists(judgements(FORMS / "judgements.tsv"), stopwords)
    found["anywhere"] += MIXED
    for name, words in found.items():
        write_list(name, words, f"Public forms, {name}: see models/build/forms.py.")
    everyday = {word.lower() for words in found.values() for word in words}
    write_list("drugs", drugs() - everyday, "Names of drugs: see models/build/forms.py.")
    write_list("conditions", conditions() - everyday, "Names of conditions, of one word.")
    names = [*found, "drugs", "conditions"]
    sizes = {
        name: len((FORMS / f"{name}.txt").read_text("utf-8").split("\n")) - 2 for name in names
    }
    manifest.write(
        FORMS,
        [f"{name}.txt" for name in names],
        summary="public forms of words, and names of drugs and conditions",
        sources=manifest.sources("enwik8", "imdb", "nltk_data", "drugs", "icd10"),
        quality={"entries": sizes},
    )


if __name__ == "__main__":
    main()
