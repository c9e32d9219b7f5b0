"""Training text that is neither an encyclopedia nor about films.

    python -m models.build.everyday --texts FOLDER --data FOLDER

Instructions with their answers, conversations, questions about health, handbooks and policies of
firms and offices, documentation and comments of programs, and this project's own templates of
letters, mails and chats with drawn values. FOLDER holds each collection's files under the name that
`COLLECTIONS` gives it (`git archive` of the commit, or the unpacked archive). Of the texts the
repository holds weights and counts only.
"""

from __future__ import annotations

import argparse
import ast
import csv
import html
import io
import json
import random
import re
import tokenize
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

from models.build.filled import data

TEMPLATES = "templates"
"""Name of this project's own texts, beside the collections'."""
N_FILLED = 60_000
"""Filled templates, half of them with private values."""
SHORTEST = 40  # characters of a text
LONGEST_COMMENTS = 4000
_MARKUP = re.compile(r"^(---.*?^---$)|<!--.*?-->|```.*?```|\{%.*?%\}|\{\{.*?\}\}", re.S | re.M)
_LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)")
_ROLE = re.compile(r":[a-z:]+:`~?\.?([^`<]*)(?:<[^>]*>)?`")
_RULE = re.compile(r"^\s*[=~\-^*#\"'+|.`]{3,}\s*$", re.M)
_ANSWERS = re.compile(r"(rotten_tomatoes|imdb|wiki_hop)")
"""Tasks that are left out: on the first two this project measures, the third is one text many
times over."""


@dataclass(frozen=True)
class Collection:
    """A source of texts.

    Attributes:
        folder: its name in the folder of texts. pin: where it comes from. licence: its terms.
        read: yields its texts, given its folder.
    """

    folder: str
    pin: str
    licence: str
    read: Callable[[Path], Iterator[str]]


def _tasks(folder: Path) -> Iterator[str]:
    """Prompts with their answers, each asked for once."""
    for path in sorted(folder.rglob("data_per_template/*.jsonl")):
        if _ANSWERS.match(path.name):
            continue
        for line in filter(None, path.read_text("utf-8").split("\n")):
            task = json.loads(line)
            yield f"{task['prompt'].strip()} {task['completion'].strip()}"


def _turns(turns: list[str], names: tuple[str, str] | None) -> str:
    """A conversation of two, a line a turn."""
    if names is None:
        return "\n".join(turns)
    return "\n".join(f"{names[i % 2]}: {turn}" for i, turn in enumerate(turns))


def _schema(folder: Path) -> Iterator[str]:
    for number, path in enumerate(sorted(folder.rglob("dialogues_*.json"))):
        for dialogue in json.loads(path.read_text("utf-8")):
            turns = [turn["utterance"] for turn in dialogue["turns"]]
            yield _turns(turns, ("User", "Assistant") if number % 2 else None)


def _taskmaster(folder: Path) -> Iterator[str]:
    for path in sorted(folder.glob("TM-4-2024/data/*.json")):
        for number, dialogue in enumerate(json.loads(path.read_text("utf-8"))):
            turns = [turn["text"] for turn in dialogue["utterances"]]
            yield _turns(turns, ("Customer", "Agent") if number % 2 else None)


def _topical(folder: Path) -> Iterator[str]:
    for path in sorted(folder.glob("conversations/*.json")):
        for dialogue in json.loads(path.read_text("utf-8")).values():
            yield "\n".join(turn["message"] for turn in dialogue["content"])


def _health(folder: Path) -> Iterator[str]:
    for path in sorted(folder.rglob("*.xml")):
        root = ElementTree.parse(path).getroot()  # noqa: S314 - of a pinned commit
        for pair in root.iter("QAPair"):
            question, answer = (pair.findtext(part) or "" for part in ("Question", "Answer"))
            if answer.strip():
                yield f"{question.strip()}\n{' '.join(answer.split())}"


def _abstracts(folder: Path) -> Iterator[str]:
    found = json.loads((folder / "data/ori_pqal.json").read_text("utf-8"))
    for entry in found.values():
        yield "\n".join([entry["QUESTION"], *entry["CONTEXTS"], entry["LONG_ANSWER"]])


def _problems(folder: Path) -> Iterator[str]:
    for path in sorted(folder.glob("grade_school_math/data/t*.jsonl")):
        for line in filter(None, path.read_text("utf-8").split("\n")):
            entry = json.loads(line)
            answer = re.sub(r"<<.*?>>|#### .*", "", entry["answer"])
            yield f"{entry['question']}\n{answer.strip()}"


def _requests(folder: Path) -> Iterator[str]:
    """Messages of a bank's customers, ten to a text: they are short."""
    for path in sorted(folder.glob("banking_data/*.csv")):
        rows = [row[0] for row in csv.reader(io.StringIO(path.read_text("utf-8")))][1:]
        random.Random(1).shuffle(rows)
        for begin in range(0, len(rows), 10):
            yield "\n".join(rows[begin : begin + 10])


def _markdown(folder: Path) -> Iterator[str]:
    for path in sorted([*folder.rglob("*.md"), *folder.rglob("*.erb")]):
        text = html.unescape(_LINK.sub(r"\1", _MARKUP.sub(" ", path.read_text("utf-8", "ignore"))))
        lines = (re.sub(r"<[^>]{1,200}>", " ", line).strip() for line in text.split("\n"))
        yield "\n".join(line for line in lines if len(line) > 2)


def _restructured(text: str) -> str:
    text = _RULE.sub("", _ROLE.sub(r"\1", text))
    lines = (line.strip() for line in text.split("\n"))
    return "\n".join(line for line in lines if line and not line.startswith(".. "))


def _programs(folder: Path) -> Iterator[str]:
    """Documentation, and of each module its docstrings and comments."""
    for path in sorted([*folder.rglob("*.rst"), *folder.rglob("docs/**/*.txt")]):
        yield _restructured(path.read_text("utf-8", "ignore"))
    for path in sorted(folder.rglob("*.py")):
        yield from _said(path.read_text("utf-8", "ignore"))


def _said(source: str) -> Iterator[str]:
    """The docstrings and comments of a module, a few thousand characters to a text."""
    try:
        nodes = list(ast.walk(ast.parse(source)))
        comments = [
            token.string.lstrip("# ")
            for token in tokenize.generate_tokens(io.StringIO(source).readline)
            if token.type == tokenize.COMMENT and len(token.string) > SHORTEST // 2
        ]
    except (SyntaxError, ValueError, tokenize.TokenError):
        return
    documented = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Module)
    said = [ast.get_docstring(node) or "" for node in nodes if isinstance(node, documented)]
    found = ""
    for part in [*map(_restructured, said), *comments]:
        found += part + "\n" if part else ""
        if len(found) > LONGEST_COMMENTS:
            yield found
            found = ""
    yield found


READERS: dict[str, Callable[[Path], Iterator[str]]] = {
    "tasks": _tasks,
    "schema": _schema,
    "taskmaster": _taskmaster,
    "topical": _topical,
    "health": _health,
    "abstracts": _abstracts,
    "problems": _problems,
    "requests": _requests,
    "markdown": _markdown,
    "programs": _programs,
}


def _collections() -> tuple[Collection, ...]:
    lines = Path(__file__).with_name("collections.tsv").read_text("utf-8").splitlines()
    rows = (line.split("\t") for line in lines if not line.startswith("#"))
    return tuple(
        Collection(folder, pin, licence, READERS[reader]) for folder, reader, licence, pin in rows
    )


COLLECTIONS = _collections()
"""What is read, a line each in collections.tsv."""


def filled(folder: Path, n: int = N_FILLED) -> Iterator[str]:
    """Yield filled templates (`models.build.filled`).

    Args:
        folder: data of `models.build.filled`. n: how many.
    """
    from models.build.filled.fill import Fillers  # Faker is not where a GPU is

    fillers, rng = Fillers(folder), random.Random(23)
    lines = [data.templates(name) for name in ("sensitive", "negative")]
    for number in range(n):
        yield data.filled(rng.choice(lines[number % 2]), fillers).text


def everyday(texts: Path, folder: Path) -> Iterator[tuple[str, str]]:
    """Yield (collection, text) of all collections, and of filled templates.

    Args:
        texts: the folder of collections. folder: data of `models.build.filled`.
    """
    for collection in COLLECTIONS:
        for text in collection.read(texts / collection.folder):
            if len(text) >= SHORTEST:
                yield collection.folder, text
    for text in filled(folder):
        yield TEMPLATES, text


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--texts", type=Path, required=True)
    parser.add_argument("--data", type=Path, required=True)
    options = parser.parse_args()
    sizes: dict[str, list[int]] = {}
    for name, text in everyday(options.texts, options.data):
        size = sizes.setdefault(name, [0, 0])
        size[0] += 1
        size[1] += len(text)
    for name, (n_texts, n_characters) in sizes.items():
        print(f"{name}: {n_texts:,} texts, {n_characters:,} characters")
