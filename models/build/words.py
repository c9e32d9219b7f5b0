"""Count the words of the public training text and write the generated word lists with their
manifest.

`models/words/sensitive.txt` and `models/words/never_output.txt` are written by hand and only read
here; `stopwords.txt`, `public.txt` and `manifest.json` are written by `python -m
models.build.words`.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

from models.build import manifest
from models.build.corpus import documents
from models.build.fetch import CACHE, member

WORDS = Path(__file__).resolve().parents[1] / "words"
SETS = Path(__file__).with_name("word_sets.txt")
N_PUBLIC = 3000
LISTS = ("never_output.txt", "public.txt", "sensitive.txt", "stopwords.txt")
USED_SOURCES = ("enwik8", "imdb", "nltk_data")
RULE = (
    f"public.txt: the {N_PUBLIC} most frequent words (lower-cased, ties in alphabetical order) of the training split "
    "of the public text (Wikipedia paragraphs and IMDb reviews) that are two or more ASCII letters, or a listed "
    "contraction; that are not capitalized more often than lower case where the word before them stands in the same "
    "sentence; and that are not in stopwords.txt, not matched by sensitive.txt, and not in NUMERALS, NEVER_PUBLIC or "
    "FRAGMENTS of models/build/words.py. stopwords.txt: the package's English list, unchanged. sensitive.txt and "
    "never_output.txt: written by hand; an entry ending in * matches every word that begins with it."
)


def _word_sets() -> dict[str, frozenset[str]]:
    _, *parts = re.split(r"^\[([A-Z_]+)\]\n", SETS.read_text("utf-8"), flags=re.M)
    return {
        name: frozenset(words.split("\n")[:-1])
        for name, words in zip(parts[::2], parts[1::2], strict=True)
    }


_SETS = _word_sets()
CONTRACTIONS, NUMERALS = _SETS["CONTRACTIONS"], _SETS["NUMERALS"]
NEVER_PUBLIC, FRAGMENTS = _SETS["NEVER_PUBLIC"], _SETS["FRAGMENTS"]
"""Words that are also given names, surnames, places, months or weekdays, in full or shortened; and
pieces of words, units, debris of the web and of citations, and foreign articles."""
Counts = dict[str, tuple[int, int, int]]
_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")
_SENTENCE_BREAK = re.compile(r"[.!?:\"\n]")
_STEM = re.compile(r"[a-z]{2,}")


def occurrences(text: str) -> Iterator[tuple[str, bool]]:
    """Yield the words of a text as written, each with whether the word before it is in the same
    sentence.
    """
    end = -1
    for match in _WORD.finditer(text):
        yield (
            match.group().replace("’", "'"),
            end >= 0 and not _SENTENCE_BREAK.search(text, end, match.start()),
        )
        end = match.end()


def count_words(texts: Iterable[str]) -> Counts:
    """Map lower-cased word to occurrences: all, lower case inside a sentence, capitalized inside a
    sentence.
    """
    seen: Counter[tuple[str, bool]] = Counter()
    for text in texts:
        seen.update(occurrences(text))
    table: dict[str, list[int]] = {}
    for (word, inside), n in seen.items():
        row = table.setdefault(word.lower(), [0, 0, 0])
        row[0] += n
        if inside:
            row[2 if word[0].isupper() else 1] += n
    return {word: (row[0], row[1], row[2]) for word, row in table.items()}


def counts(cache: Path = CACHE) -> Counts:
    """Return the counts over the training split, from the cached file when there is one."""
    path = cache / "word-counts.json"
    if not path.exists():
        table = count_words(documents("train", cache))
        ordered = sorted(table.items(), key=lambda item: (-item[1][0], item[0]))
        path.write_text(
            json.dumps(dict(ordered), ensure_ascii=False, separators=(",", ":")), encoding="utf-8"
        )
    raw: dict[str, list[int]] = json.loads(path.read_text(encoding="utf-8"))
    return {word: (row[0], row[1], row[2]) for word, row in raw.items()}


class Matcher:
    """Membership in a hand-written list: entries are whole words, or prefixes where they end in
    `*`.
    """

    def __init__(self, entries: Iterable[str]) -> None:
        """Split the entries into words and prefixes."""
        listed = list(entries)
        self.words = frozenset(entry for entry in listed if not entry.endswith("*"))
        self.prefixes = tuple(entry[:-1] for entry in listed if entry.endswith("*"))

    def __contains__(self, word: str) -> bool:
        """Return True if an entry matches the word, given in lower case."""
        return word in self.words or word.startswith(self.prefixes)


def read_list(path: Path) -> list[str]:
    """Return the entries of a word list without comments and empty lines."""
    lines = (line.strip() for line in path.read_text(encoding="utf-8").splitlines())
    return [line for line in lines if line and not line.startswith("#")]


def stopwords(cache: Path = CACHE) -> list[str]:
    """Return the English stopwords of the pinned package, in its order."""
    return member("nltk_data", "corpora/stopwords/english", cache).decode("utf-8").split()


def eligible(
    word: str, row: tuple[int, int, int], stops: frozenset[str], sensitive: Matcher
) -> bool:
    """Return True if a word may be public: the rule of the manifest, frequency aside."""
    _, n_lower, n_capital = row
    if word in CONTRACTIONS:
        return True
    if (
        word in stops
        or word in NUMERALS
        or word in NEVER_PUBLIC
        or word in FRAGMENTS
        or word in sensitive
    ):
        return False
    return n_capital <= n_lower and _STEM.fullmatch(word) is not None


def public_words(
    table: Counts, stops: frozenset[str], sensitive: Matcher, n_public: int = N_PUBLIC
) -> list[str]:
    """Return the `n_public` most frequent eligible words, the first first, ties alphabetically."""
    ranked = sorted(table, key=lambda word: (-table[word][0], word))
    return [word for word in ranked if eligible(word, table[word], stops, sensitive)][:n_public]


def header(*lines: str) -> str:
    """Return comment lines that open a generated list."""
    return "".join(f"# {line}\n" for line in lines)


def write_lists(folder: Path = WORDS, cache: Path = CACHE) -> None:
    """Write the two generated lists."""
    stops = stopwords(cache)
    public = public_words(
        counts(cache), frozenset(stops), Matcher(read_list(folder / "sensitive.txt"))
    )
    top = header(
        "English stopwords of the NLTK data, in their order. Written by models.build.words."
    )
    (folder / "stopwords.txt").write_text(top + "\n".join(stops) + "\n", encoding="utf-8")
    top = header(
        f"The {len(public)} most frequent eligible words of the public training text, most frequent first.",
        "Written by models.build.words; the selection rule is in manifest.json. Stopwords are public as well.",
    )
    (folder / "public.txt").write_text(top + "\n".join(public) + "\n", encoding="utf-8")


def main() -> None:
    """Regenerate the generated lists and the manifest."""
    write_lists()
    sizes = {name.removesuffix(".txt"): len(read_list(WORDS / name)) for name in LISTS}
    manifest.write(
        WORDS,
        list(LISTS),
        summary="word lists of the policies",
        sources=manifest.sources(*USED_SOURCES),
        rule=RULE,
        quality={"entries": sizes},
    )


if __name__ == "__main__":
    main()
