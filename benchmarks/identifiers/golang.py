"""Samples of gitleaks and trufflehog, which are written in Go.

gitleaks builds its samples by functions, so its rules are run, which needs `go` and none of its
modules: they are copied into a folder of ours beside stand-ins for the packages they name, whose
`Validate` prints the samples instead of testing them. trufflehog's tests are tables, read here.
"""

from __future__ import annotations

import ast
import json
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks.identifiers.samples import Sample, occurrences

OURS = Path(__file__).parent / "gitleaks"
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
TOKEN = re.compile(
    r"""//[^\n]*|/\*.*?\*/|`[^`]*`|"(?:\\.|[^"\\\n])*"|[\w.]+|:=|\[\]string|[^\s\w]""", re.DOTALL
)
"""A token of Go, as far as tables of strings need it."""


def gitleaks(folder: Path) -> Iterator[Sample]:
    """Yield what each rule has to find, with the secret as gitleaks reports it, and its negatives.

    Raises:
        RuntimeError: when `go` is not installed or the rules name something new.
    """
    if shutil.which("go") is None:
        raise RuntimeError("go is needed for gitleaks (apt install golang-go)")
    rules = re.findall(r"\brules\.\w+\(\)", (folder / GENERATE / "main.go").read_text())
    texts = {name: (folder / name).read_text() for name in COPIED}
    texts |= {f"{package}/{name}": (OURS / name).read_text() for name, package in STAND_INS.items()}
    for path in (folder / GENERATE / "rules").glob("*.go"):
        texts[f"{GENERATE}/rules/{path.name}"] = path.read_text()
    texts["go.mod"] = f"module {MODULE}\n\ngo 1.19\n"
    texts["main.go"] = "\n".join(
        ["package main", f'import "{MODULE}/{GENERATE}/rules"', "func main() {", *rules, "}"]
    )
    with tempfile.TemporaryDirectory() as module:
        for name, text in texts.items():
            path = Path(module, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        command = ["go", "run", "."]
        done = subprocess.run(command, cwd=module, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"gitleaks' rules don't run:\n{done.stderr[:2000]}")
    for row in map(json.loads, done.stdout.splitlines()):
        spans = {span for each in row["secrets"] for span in occurrences(row["text"], each)}
        if spans or row["negative"]:  # without both: of a rule for names of files alone
            yield Sample("gitleaks", row["kind"], row["text"], tuple(sorted(spans)))


def trufflehog(folder: Path) -> Iterator[Sample]:
    """Yield each value that a test wants and that stands in its input as such, and the negatives.

    A wanted value that joins a key and an identifier does not stand there and is left out. Tests
    behind a build tag need secrets of the project's own and have no samples.
    """
    detectors = folder / "pkg/detectors"
    for path in sorted(detectors.rglob("*_test.go")):
        if "//go:build" in (source := path.read_text()):
            continue
        kind = str(path.parent.relative_to(detectors))
        for text, wanted in Table(source).rows():
            if not wanted:
                yield Sample("trufflehog", kind, text, ())
            for value in wanted:
                if spans := occurrences(text, value):
                    yield Sample("trufflehog", kind, text, spans)


class Table:
    """The strings of a Go test: `name := "..."`, `input: ...` and `want: ...`, in order."""

    def __init__(self, source: str) -> None:
        self.tokens: list[str] = [
            each for each in TOKEN.findall(source) if each[:2] not in ("//", "/*")
        ]
        self.at = 0
        self.known: dict[str, str | None] = {}

    def rows(self) -> Iterator[tuple[str, list[str]]]:
        """Yield inputs with what is wanted of them, where reading is enough to tell."""
        text: str | None = None
        while self.at + 2 < len(self.tokens):
            name, sign = self.tokens[self.at : self.at + 2]
            self.at += 1
            if sign in (":=", "=") or (name in ("input", "want") and sign == ":"):
                self.at += 1
                start = self.at
                if name == "want":
                    wanted = self.strings()
                    if text is not None and wanted is not None:
                        yield text, wanted
                    text = None
                elif name == "input":
                    text = self.string()
                else:
                    self.known[name] = self.string()
                    self.at = start

    def string(self) -> str | None:
        """Read a sum of strings, names and calls of Sprintf; None for anything else."""
        first = self.next()
        value = self.known.get(first, first if first.isdigit() else None)
        if first[0] in '"`':
            value = str(ast.literal_eval(first)) if first[0] == '"' else first[1:-1]
        elif first == "fmt.Sprintf" and (parts := self.listed("(", ")")):
            value = re.sub("%[dv]", "%s", parts[0]) % tuple(parts[1:])
        if self.tokens[self.at] != "+":
            return value
        self.at += 1
        rest = self.string()
        return None if value is None or rest is None else value + rest

    def strings(self) -> list[str] | None:
        """Read `[]string{...}` or nil; None for anything else."""
        first = self.next()
        return [] if first == "nil" else self.listed("{", "}") if first == "[]string" else None

    def listed(self, opening: str, closing: str) -> list[str] | None:
        """Read strings with commas between them."""
        found: list[str] = []
        sign = self.next()
        if sign != opening:
            return None
        while self.tokens[self.at] != closing:
            value = self.string()
            if value is None or self.tokens[self.at] not in (",", closing):
                return None
            found.append(value)
            self.at += self.tokens[self.at] == ","
        self.at += 1
        return found

    def next(self) -> str:
        """Return the token at hand and go on."""
        self.at += 1
        return self.tokens[self.at - 1]
