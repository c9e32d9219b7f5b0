"""Payloads of detect-secrets' tests, with the value that its own plugin reports in them.

This module is also the plugin of the pytest that `cases` starts in the folder of the checkout: it
collects the tests, runs none, and prints what they are parametrized with.
"""

from __future__ import annotations

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

from benchmarks.identifiers.samples import Sample, occurrences

MARK = "sample of detect-secrets: "
VERDICTS = ("should_flag", "expected_secret", "should_be_caught")


def cases(folder: Path) -> Iterator[Sample]:
    """Yield payloads with their values, each once.

    Those that are not to be flagged are no negatives here: many hold a secret in a notation that
    the language at hand does not have.

    Raises:
        RuntimeError: when pytest collects nothing there.
    """
    ours = str(Path(__file__).parents[2])
    command = [sys.executable, "-m", "pytest", "tests/plugins", "--collect-only", "-q"]
    command += ["-p", __name__, "-p", "no:cacheprovider", "-c", os.devnull, "--rootdir", "."]
    done = subprocess.run(
        command,
        cwd=folder,
        env=os.environ | {"PYTHONPATH": f"{folder.resolve()}:{ours}"},
        capture_output=True,
        text=True,
        check=False,
    )
    rows = [line[len(MARK) :] for line in done.stdout.splitlines() if line.startswith(MARK)]
    if not rows:
        raise RuntimeError(f"pytest found nothing in {folder}:\n{done.stdout[-2000:]}")
    for row in dict.fromkeys(rows):
        kind, text, value = json.loads(row)
        if spans := occurrences(text, value):
            yield Sample("detect-secrets", kind, text, spans)


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests() -> None:
    """Stand in for `responses`, which the tests import and their parameters don't need."""
    sys.modules.setdefault("responses", MagicMock())


def pytest_itemcollected(item: Any) -> None:
    """Print the payload of a test and the value in it."""
    callspec = getattr(item, "callspec", None)
    values = dict(callspec.params) if callspec else {}
    text = next((values[n] for n in ("payload", "line", "file_content") if n in values), None)
    if "format" in values and "num_results" not in values:
        text = values["format"].format(**values)
    verdict = next((values[name] for name in VERDICTS if name in values), True)
    if not isinstance(text, str) or not verdict:
        return
    kind = item.module.__name__.rpartition(".")[2].removesuffix("_test")
    if kind == "private_key":
        value: str | None = text.partition("-----\n")[2].partition("\n-----")[0]
    elif isinstance(verdict, str):
        value = verdict
    else:
        value = _reported(item.module, values, text)
    if kind == "keyword":
        kind = _keyword(text, value or "")
    if value:
        print(f"{MARK}{json.dumps([kind, text, value])}")


def _keyword(text: str, value: str) -> str:
    """Return the line without its value: the same line, of two languages, falls in one half."""
    return "keyword " + re.sub(r"\W+", " ", text.replace(value, "", 1)).strip()


def _reported(module: Any, values: dict[str, Any], text: str) -> str | None:
    """Return the value that the plugin under test reports; None when it reports nothing."""
    plugins = (
        [values["plugin"]]
        if "plugin" in values
        else [
            each
            for each in vars(module).values()
            if isinstance(each, type)
            and hasattr(each, "secret_type")
            and hasattr(each, "analyze_line")
        ]
    )
    for plugin in plugins:
        found = sorted(plugin().analyze_line(filename="f", line=text), key=lambda e: e.secret_value)
        if found:
            return str(found[0].secret_value)
    return None
