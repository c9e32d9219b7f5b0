"""Write the lists of everyday words by language, models/languages/<code>.txt.

English is `english.txt`, German, French and Spanish are `read/<code>.txt`, all read word by word;
the others are the most frequent words of wordfreq 3.1.1 (CC BY-SA 4.0). On no list is what
`excluded/<code>.txt` holds, which a reader of all candidates wrote (names and sensitive words of
every class, and some that are no candidates, for the tests), and what the labelled texts show to be
private more than now and then. A language that nobody has read gets its commonest words only.

The least share of function words by which a language is told is the one below which
`SHORT` of the labelled texts in it fall. `python -m models.build.reader.languages`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from models.build import manifest
from models.build.reader.labelled import Labelled, all_texts
from models.build.words import WORDS, Matcher, read_list
from sanitizer.detect.view import plain
from sanitizer.text.words import word_spans

HERE = Path(__file__).resolve().parent
MODELS = HERE.parents[1]
LANGUAGES = MODELS / "languages"
CODES = "de en es fr it pt nl pl sv da nb cs ro fi hu tr ru uk el id vi ko ar hi".split()
N_CANDIDATES = 4000
N_FUNCTIONS = 150
N_UNREVIEWED = 300
SHORT = 0.05
LEAST = 0.12
"""Least share of function words, whatever the labelled texts say."""
OFTEN, OFTEN_COMMON = 0.2, 0.6
"""Share of places at which a word is private, from which it is on no list; of the commonest."""
COMMONEST = 400
LONG = 12
"""Function words and stretches of a text that is prose."""
LICENCE = """Lists of words: made from wordfreq by Robyn Speer, whose data are under the Creative
Commons Attribution-ShareAlike 4.0 International licence (CC BY-SA 4.0); so are these lists.
Changed: cut to the most frequent words; names and sensitive words were taken out.
English, German, French and Spanish: by this project, under the same licence.
"""


def ranked(code: str) -> list[str]:
    """Return the frequent words of a language, most frequent first."""
    from wordfreq import top_n_list

    return [
        w for w in top_n_list(code, 5200) if w.replace("'", "").isalpha() or code in ("hi", "ar")
    ]


def lines(path: Path) -> set[str]:
    """Return the entries of a list."""
    if not path.exists():
        return set()
    found = (line.split("\t")[0].strip() for line in path.read_text("utf-8").splitlines())
    return {plain(word) for word in found if word and not word.startswith("#")}


def private_words(texts: list[Labelled], common: set[str]) -> set[str]:
    """Return the words that are private in the labelled texts more than now and then."""
    private: Counter[str] = Counter()
    total: Counter[str] = Counter()
    for each in texts:
        marked = [(s.start, s.end) for s in each.spans if s.kind != "FACT"]
        for start, end in word_spans(each.text):
            word = plain(each.text[start:end])
            total[word] += 1
            private[word] += any(a <= start < b for a, b in marked)
    return {
        word
        for word, n in private.items()
        if n >= 2 and n / total[word] > (OFTEN_COMMON if word in common else OFTEN)
    }


def english() -> dict[str, str]:
    """Return the English words and in which cases they are visible."""
    words: dict[str, str] = {}
    for line in (HERE / "english.txt").read_text("utf-8").splitlines():
        if line and not line.startswith("#"):
            word, _, flag = line.partition("\t")
            words[word] = flag
    return words


def everyday(code: str, names: set[str], sensitive: Matcher) -> Iterator[str]:
    """Yield the words of a language that was read or reviewed, the commonest first."""
    listed = HERE / "read" / f"{code}.txt"
    if listed.exists():
        yield from sorted(lines(listed))
        return
    excluded = lines(HERE / "excluded" / f"{code}.txt")
    reviewed = bool(excluded)
    order = [plain(word) for word in ranked(code)]
    common = set(order[:N_FUNCTIONS])
    for word in order[: N_CANDIDATES if reviewed else N_UNREVIEWED]:
        # A name elsewhere may be an everyday word here: the reader of the list decided.
        named = word in names and word not in common and len(word) > 2
        if word not in excluded and not named and word not in sensitive:
            yield word


def main() -> None:
    """Write all lists and the manifest."""
    texts = all_texts()
    names = lines(MODELS / "classes" / "given_names.txt")
    sensitive = Matcher(read_list(WORDS / "sensitive.txt"))
    LANGUAGES.mkdir(exist_ok=True)
    ranks = {code: [plain(w) for w in ranked(code)] for code in CODES}
    in_english = lines(HERE / "excluded" / "en.txt") | {
        w for w in words_of(ranks) if w in sensitive
    }
    lists: dict[str, tuple[list[str], list[str]]] = {}
    for code in CODES:
        its = of_language(texts, code)
        private = private_words(its, set(ranks[code][:COMMONEST]))
        if code == "en":
            excluded = lines(HERE / "excluded" / "en.txt")
            words = {
                word: flag
                for word, flag in english().items()
                if plain(word) not in private and plain(word) not in excluded
            }
        else:
            listed = everyday(code, names, sensitive)
            words = {word: "" for word in listed if word not in private}
        # What is visible in every text must be harmless in English: "die" and "war" are German.
        functions = [
            word
            for word in ranks[code]
            if word in words
            and word not in names
            and word not in in_english
            and (len(word) > 1 or code == "el")
        ][:N_FUNCTIONS]
        body = [f"{w}\t{f}" if f else w for w, f in sorted(words.items()) if w not in functions]
        lists[code] = functions, body
    for code, (functions, body) in lists.items():
        least = least_share(of_language(texts, code), frozenset(functions))
        head = [f"# Everyday words, {code}: see models/build/reader/languages.py.", f"{least:.3f}"]
        text = "\n".join([*head, *functions, "", *body]) + "\n"
        (LANGUAGES / f"{code}.txt").write_text(text, "utf-8")
    (LANGUAGES / "LICENSE").write_text(LICENCE, "utf-8")
    manifest.write(
        LANGUAGES,
        [*(f"{code}.txt" for code in CODES), "LICENSE"],
        summary="everyday words by language: what everybody may see of a text",
        licence="CC BY-SA 4.0",
        sources=manifest.sources("wordfreq"),
        words={code: len(functions) + len(body) for code, (functions, body) in lists.items()},
        least={
            code: least_share(of_language(texts, code), frozenset(f))
            for code, (f, _) in lists.items()
        },
    )


def words_of(ranks: dict[str, list[str]]) -> set[str]:
    """Return the candidates that are English words too."""
    return {word for code in CODES for word in ranks[code]} & {plain(word) for word in english()}


def of_language(texts: list[Labelled], code: str) -> list[Labelled]:
    """Return the texts in a language."""
    return [each for each in texts if each.language == {"nb": "no"}.get(code, code)]


def least_share(texts: list[Labelled], functions: frozenset[str]) -> float:
    """Return the share of function words against stretches of others that all but a few texts of a
    language have."""
    shares = []
    for each in texts:
        hits = stretches = 0
        inside = False
        for start, end in word_spans(each.text):
            hit = plain(each.text[start:end]) in functions
            stretches += not hit and not inside
            hits, inside = hits + hit, not hit
        if hits + stretches >= LONG:
            shares.append(hits / (hits + stretches))
    if len(shares) < 20:
        return LEAST
    return round(max(LEAST, sorted(shares)[int(SHORT * len(shares))]), 3)


if __name__ == "__main__":
    main()
