"""Samples of Presidio and detect-secrets, whose tests are parametrized functions in Python.

Presidio's are read by syntax. detect-secrets' are collected: this module is also the plugin of the
pytest that `detect_secrets` starts in the folder of the checkout, which runs none of the tests and
prints what they are parametrized with.
"""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import pytest

from benchmarks.identifiers.samples import Sample, occurrences, told, trimmed

PRESIDIO = "presidio-analyzer"
WORDS = 8
"""Some contexts have dozens of words; with eight of each the share is as with the issue's 825."""
POSITIONS = re.compile("expected_(position|res|start|end)")
"""Names under which a test has the positions that it expects."""
FLAGS = re.IGNORECASE | re.MULTILINE | re.DOTALL
"""Presidio compiles its patterns with these."""
MARK = "sample of detect-secrets: "


def presidio(folder: Path) -> Iterator[Sample]:
    """Yield sentences with their values, and bare values announced by words of context.

    A recognizer without words of context asks a model and is left out.
    """
    classes = {
        node.name: node
        for path in sorted((folder / PRESIDIO).rglob("*_recognizer.py"))
        for node in ast.parse(path.read_text("utf-8")).body
        if isinstance(node, ast.ClassDef)
    }
    for path in sorted((folder / PRESIDIO / "tests").glob("test_*_recognizer.py")):
        tree = ast.parse(path.read_text("utf-8"))
        used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)} & classes.keys()
        if len(used) != 1:
            continue
        kind = used.pop()
        context, patterns = _recognizer(classes[kind])
        for row in _rows(tree) if context else ():
            yield from _expected(kind, context, patterns, row)


def _recognizer(source: ast.ClassDef) -> tuple[list[str], list[str]]:
    """Return the words of context and the patterns of a recognizer's class."""
    context, patterns = [], []
    for node in ast.walk(source):
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "CONTEXT":
            context = _literal(node.value)
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "Pattern":
            values = [_literal(each) for each in (*node.args, *(k.value for k in node.keywords))]
            patterns += [each for each in values if isinstance(each, str)][1:2]
    return context, patterns


def _rows(tree: ast.Module) -> Iterator[dict[str, Any]]:
    """Yield the rows of the parametrized tests, by their arguments' names."""
    for node in ast.walk(tree):
        if not (isinstance(node, ast.Call) and ast.unparse(node.func) == "pytest.mark.parametrize"):
            continue
        names = _literal(node.args[0])
        if isinstance(names, str) and isinstance(node.args[1], ast.List):
            for values in filter(None, map(_literal, node.args[1].elts)):
                if isinstance(values, tuple):
                    yield dict(zip(re.split(", *", names), values, strict=False))


def _literal(node: ast.expr) -> Any:
    """Return the value of a literal; None for what has to be run."""
    try:
        return ast.literal_eval(node)
    except ValueError:
        return None


def _expected(
    kind: str, context: list[str], patterns: list[str], row: dict[str, Any]
) -> Iterator[Sample]:
    """Yield what a row of a test's table expects to be found.

    Where it has no positions, the recognizer's own patterns tell, if their number is as expected.
    """
    text = next((value for value in row.values() if isinstance(value, str)), "")
    if not (n := row.get("expected_len")):
        return
    numbers = re.findall(r"\d+", str([v for name, v in row.items() if POSITIONS.match(name)]))
    ends = [int(each) for each in numbers]
    spans = {*zip(ends[::2], ends[1::2], strict=True)} or {
        match.span() for each in patterns for match in re.finditer(each, text, FLAGS)
    }
    if len(spans) != n or any(end > len(text) for _, end in spans):
        return
    if spans == {(0, len(text))}:
        for word in context[:WORDS]:
            yield told("Presidio, announced", kind, f"{word}: {{}}", text)
    else:
        for span in sorted(spans):
            yield Sample("Presidio, in a sentence", kind, text, (trimmed(text, *span),))


def detect_secrets(folder: Path) -> Iterator[Sample]:
    """Yield payloads with their values, each once.

    Those that are not to be flagged are no negatives here: many hold a secret in a notation that
    the language at hand does not have.

    Raises:
        RuntimeError: when pytest collects nothing there.
    """
    command = [sys.executable, "-m", "pytest", "tests/plugins", "--collect-only", "-q"]
    command += ["-p", __name__, "-p", "no:cacheprovider", "-c", os.devnull, "--rootdir", "."]
    path = {"PYTHONPATH": f"{folder.resolve()}:{Path(__file__).parents[2]}"}
    done = subprocess.run(
        command, cwd=folder, env=os.environ | path, capture_output=True, text=True, check=False
    )
    rows = [line[len(MARK) :] for line in done.stdout.splitlines() if line.startswith(MARK)]
    if not rows:
        raise RuntimeError(f"pytest found nothing in {folder}:\n{done.stdout[-2000:]}")
    for kind, text, value in map(json.loads, rows):
        if spans := occurrences(text, value):
            yield Sample("detect-secrets", kind, text, spans)


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests() -> None:
    """Stand in for `responses`, which the tests import and their parameters don't need."""
    sys.modules.setdefault("responses", MagicMock())


def pytest_itemcollected(item: Any) -> None:
    """Print the payload of a test and the value in it.

    The kind is the test's name; of the test of keywords, which runs the same lines for many
    languages, it is the line without the value.
    """
    values = dict(item.callspec.params) if hasattr(item, "callspec") else {}
    text = next((values[n] for n in ("payload", "line", "file_content") if n in values), None)
    if "should_be_caught" in values:
        text = values["format"].format(**values)
    verdicts = ("should_flag", "expected_secret", "should_be_caught")
    value = next((values[name] for name in verdicts if name in values), True)
    if not isinstance(text, str) or not value:
        return
    kind = item.module.__name__.rpartition(".")[2].removesuffix("_test")
    if kind == "private_key":
        value = re.sub("-----.*-----\n?", "", text.partition("-----\n")[2])
    elif value is True:
        value = _reported([values.get("plugin"), *vars(item.module).values()], text)
    if kind == "keyword":
        kind = f"keyword {text.replace(str(value), '')}"
    if value:
        print(MARK + json.dumps([kind, text, value]))


def _reported(candidates: list[Any], text: str) -> str | None:
    """Return the value that the plugin under test reports; None when it reports nothing."""
    for plugin in candidates:
        if isinstance(plugin, type) and {"secret_type", "analyze_line"} <= set(dir(plugin)):
            found = plugin().analyze_line(filename="f", line=text)
            if found:
                return min(str(each.secret_value) for each in found)
    return None
