"""Cases of Presidio's recognizer tests, read by syntax: nothing of Presidio is imported."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.identifiers.samples import Sample, Spans, trimmed

TESTS = "presidio-analyzer/tests"
RECOGNIZERS = "presidio-analyzer/presidio_analyzer/predefined_recognizers"
WORDS = 8
"""Some contexts have dozens of words; with eight of each the share is as with the issue's 825."""
FLAGS = re.DOTALL | re.MULTILINE | re.IGNORECASE
"""Presidio compiles its patterns with these."""


class Recognizer:
    """What a recognizer's class says: its context words and its patterns."""

    def __init__(self, source: ast.ClassDef) -> None:
        self.context: list[str] = []
        self.patterns: list[str] = []
        for node in ast.walk(source):
            if isinstance(node, ast.Assign) and _names(node) & {"CONTEXT"}:
                self.context = _literal(node.value) or []
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Pattern":
                values = [*node.args, *(each.value for each in node.keywords)]
                texts = [value for each in values if isinstance(value := _literal(each), str)]
                self.patterns += texts[1:2]

    def spans(self, text: str) -> Spans:
        """Return where the patterns match; of matches that overlap, the first and longest."""
        found = sorted(
            (
                match.span()
                for each in self.patterns
                for match in re.finditer(each, text, FLAGS)
                if match[0]
            ),
            key=lambda span: (span[0], -span[1]),
        )
        kept: list[tuple[int, int]] = []
        for span in found:
            if not kept or span[0] >= kept[-1][1]:
                kept.append(span)
        return tuple(kept)


def cases(folder: Path) -> Iterator[Sample]:
    """Yield sentences with their values, and bare values announced by each word of context."""
    recognizers = {
        node.name: Recognizer(node)
        for path in sorted((folder / RECOGNIZERS).rglob("*.py"))
        for node in ast.parse(path.read_text()).body
        if isinstance(node, ast.ClassDef)
    }
    for path in sorted((folder / TESTS).glob("test_*_recognizer.py")):
        tree = ast.parse(path.read_text())
        used = {getattr(node, "id", "") for node in ast.walk(tree)} & recognizers.keys()
        if len(used) != 1 or not recognizers[kind := used.pop()].context:
            continue  # a recognizer without context words asks a model
        for row in _rows(tree):
            yield from _samples(kind, recognizers[kind], row)


def _samples(kind: str, recognizer: Recognizer, row: dict[str, Any]) -> Iterator[Sample]:
    """Yield what a row of a test's table expects to be found."""
    text = next((value for value in row.values() if isinstance(value, str)), "")
    n = row.get("expected_len")
    if not text or not isinstance(n, int) or n < 1:
        return
    spans = _positions(row) or recognizer.spans(text)
    if len(spans) != n or any(end > len(text) for _, end in spans):
        return
    if spans != ((0, len(text)),):
        for span in spans:
            yield Sample("Presidio, in a sentence", kind, text, (trimmed(text, *span),))
        return
    for word in recognizer.context[:WORDS]:
        announced = f"{word}: {text}"
        span = trimmed(announced, len(word) + 1, len(announced))
        yield Sample("Presidio, announced", kind, announced, (span,))


def _positions(row: dict[str, Any]) -> Spans:
    """Return the positions that a row expects: pairs, one pair, or a start and an end."""
    if isinstance(row.get("expected_start"), int):
        return ((row["expected_start"], row["expected_end"]),)
    names = ("expected_positions", "expected_position", "expected_res")
    found = next((row[name] for name in names if row.get(name)), ())
    if found and isinstance(found[0], int):
        found = (found,)
    return tuple((start, end) for start, end in found)


def _rows(tree: ast.Module) -> Iterator[dict[str, Any]]:
    """Yield the rows of the parametrized tests, by their arguments' names."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or getattr(node.func, "attr", "") != "parametrize":
            continue
        names, values = (*node.args, None, None)[:2]
        header = _literal(names)
        if not isinstance(header, str) or not isinstance(values, (ast.List, ast.Tuple)):
            continue
        arguments = [name.strip() for name in header.split(",")]
        for element in values.elts:
            row = _literal(element)
            if isinstance(row, tuple):
                yield dict(zip(arguments, row, strict=False))


def _literal(node: ast.expr | None) -> Any:
    """Return the value of a literal; None for what has to be run."""
    try:
        return ast.literal_eval(node) if node is not None else None
    except ValueError:
        return None


def _names(node: ast.Assign) -> set[str]:
    return {getattr(target, "id", "") for target in node.targets}
