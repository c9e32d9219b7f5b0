"""Samples of gitleaks and trufflehog, which are written in Go: needs `go`, and no module of theirs.

gitleaks builds its samples by functions, so its rules are run: copied into a folder of ours beside
stand-ins for the packages they name, whose `Validate` prints the samples instead of testing them.
trufflehog's tests are tables, read by syntax.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.identifiers.samples import Sample, occurrences

OURS = Path(__file__).parent / "go"
MODULE = "github.com/zricethezav/gitleaks/v8"
GENERATE = "cmd/generate/config"
COPIED = (
    "regexp/stdlib_regex.go",
    f"{GENERATE}/utils/generate.go",
    f"{GENERATE}/utils/patterns.go",
)
"""Files of gitleaks that its rules need beside themselves, and that need nothing else."""
STAND_INS = {
    "config.go": "config",
    "secrets.go": "cmd/generate/secrets",
    "validate.go": f"{GENERATE}/utils",
}
"""Our files, with the packages in which they stand."""


def gitleaks(folder: Path) -> Iterator[Sample]:
    """Yield what each rule has to find, with the secret as gitleaks reports it, and its negatives.

    Raises:
        RuntimeError: when `go` is not installed or the rules name something new.
    """
    with tempfile.TemporaryDirectory() as made:
        module = Path(made)
        for name in COPIED:
            _copy(folder / name, module / name)
        for path in (folder / GENERATE / "rules").glob("*.go"):
            _copy(path, module / GENERATE / "rules" / path.name)
        for name, package in STAND_INS.items():
            _copy(OURS / "gitleaks" / name, module / package / name)
        rules = re.findall(r"\brules\.\w+\(\)", (folder / GENERATE / "main.go").read_text())
        body = "\n".join(rules)
        (module / "go.mod").write_text(f"module {MODULE}\n\ngo 1.19\n")
        (module / "main.go").write_text(
            f'package main\n\nimport "{MODULE}/{GENERATE}/rules"\n\nfunc main() {{\n{body}\n}}\n'
        )
        for row in _lines(["."], module):
            if row["alarm"]:
                yield Sample("gitleaks", row["kind"], row["text"], ())
                continue
            secrets = row["secrets"]
            spans = {span for each in secrets for span in occurrences(row["text"], each)}
            if spans:  # three samples of rules for file names alone have none
                yield Sample("gitleaks", row["kind"], row["text"], tuple(sorted(spans)))


def trufflehog(folder: Path) -> Iterator[Sample]:
    """Yield each value that a test wants and that stands in its input as such, and the negatives.

    A wanted value that joins a key and an identifier does not stand there and is left out.
    """
    for row in _lines([str(OURS / "trufflehog.go"), str(folder.resolve() / "pkg/detectors")], OURS):
        if not row["want"]:
            yield Sample("trufflehog", row["kind"], row["input"], ())
        for value in row["want"]:
            if spans := occurrences(row["input"], value):
                yield Sample("trufflehog", row["kind"], row["input"], spans)


def _copy(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, target)


def _lines(arguments: list[str], folder: Path) -> Iterator[dict[str, Any]]:
    """Run a program in Go and yield the JSON lines that it prints."""
    if shutil.which("go") is None:
        raise RuntimeError("go is needed for gitleaks and trufflehog (apt install golang-go)")
    command = ["go", "run", *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)} failed:\n{done.stderr[:2000]}")
    yield from map(json.loads, done.stdout.splitlines())
