"""Write the lists of everyday German, French and Spanish words, by which a text's language is told.

The lists are in `models/words/languages`, with a manifest. Candidates are the most frequent words
of a pinned package. What is removed and what is added is written by hand, by reading the
candidates, in `models/build/languages_by_hand`. `python -m models.build.languages` writes all.
"""

from __future__ import annotations

import gzip
import json
import re
import unicodedata
from pathlib import Path

from models.build import manifest
from models.build.fetch import CACHE, member
from models.build.words import WORDS, Matcher, header, read_list

LANGUAGES = Path(__file__).resolve().parents[1] / "words" / "languages"
BY_HAND = Path(__file__).resolve().parent / "languages_by_hand"
N_CANDIDATES = {"de": 3600, "fr": 3300, "es": 3300}
"""How many frequent words of each language were read by hand; rarer ones are no candidates."""
NAMES = {"de": "German", "fr": "French", "es": "Spanish"}
USED_SOURCES = ("spellings",)
RULE = (
    "The most frequent words of the package of spellings (3,600 German, 3,300 French and 3,300 "
    "Spanish ones of two or more letters; ties in alphabetical order), without the words and "
    "patterns of excluded_<language>.txt and the given and family names of names_<language>.txt, "
    "and with the words of added_<language>.txt (models/build/languages_by_hand). Excluded "
    "are names, vulgar words, and words about illness, body, sex, crime, violence, death, belief, "
    "politics, origin, occupations and money trouble; and English words that sensitive.txt matches."
)
_LETTERS = re.compile(r"[^\W\d_]{2,}")


def entries(path: Path) -> list[str]:
    """Return the words of a hand-written file, in which a line holds many."""
    return [word for line in read_list(path) for word in line.split()]


def spellings(language: str, cache: Path = CACHE) -> dict[str, int]:
    """Return all words of a language in the pinned package, with their counts."""
    packed = member("spellings", f"resources/{language}.json.gz", cache)
    counts: dict[str, int] = json.loads(gzip.decompress(packed))
    return counts


def frequent(language: str, cache: Path = CACHE) -> list[str]:
    """Return the candidates of a language, most frequent first."""
    counts = spellings(language, cache)
    ranked = sorted(counts, key=lambda word: (-counts[word], word))
    words = [word for word in ranked if _LETTERS.fullmatch(word)]
    # Names of persons were taken out before the words were read and counted: they are excluded.
    names = frozenset(entries(BY_HAND / f"names_{language}.txt"))
    return [word for word in words if word not in names][: N_CANDIDATES[language]]


def everyday_words(language: str, cache: Path = CACHE) -> list[str]:
    """Return the list of a language, in alphabetical order."""
    # "die" and "war" are German words that would tell something private in an English text.
    sensitive = Matcher(read_list(WORDS / "sensitive.txt"))
    english = spellings("en", cache)
    excluded = Matcher(
        [
            *entries(BY_HAND / f"excluded_{language}.txt"),
            *entries(BY_HAND / f"names_{language}.txt"),
        ]
    )
    kept = [word for word in frequent(language, cache) if word not in excluded]
    added = entries(BY_HAND / f"added_{language}.txt")
    words = {unicodedata.normalize("NFC", word) for word in (*kept, *added)}
    return sorted(word for word in words if word not in sensitive or word not in english)


def main() -> None:
    """Write the lists and the manifest."""
    LANGUAGES.mkdir(parents=True, exist_ok=True)
    sizes = {}
    for language, name in NAMES.items():
        words = everyday_words(language)
        sizes[language] = len(words)
        top = header(
            f"{len(words)} everyday {name} words that are a name or sensitive in no context.",
            "Written by models.build.languages; the selection rule is in manifest.json.",
        )
        path = LANGUAGES / f"{language}.txt"
        path.write_text(top + "\n".join(words) + "\n", encoding="utf-8")
    manifest.write(
        LANGUAGES,
        [f"{language}.txt" for language in NAMES],
        summary="everyday words by language",
        sources=manifest.sources(*USED_SOURCES),
        rule=RULE,
        quality={"entries": sizes},
    )


if __name__ == "__main__":
    main()
