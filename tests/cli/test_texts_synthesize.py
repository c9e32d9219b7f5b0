"""`sanitizer synthesize` as a user meets it, with the tiny model."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sanitizer.cli.display import describe_synthesis
from sanitizer.cli.program import main
from sanitizer.synthesis.plan import SynthesisRecord, SynthesizedText
from tests.lm.toy_text import load_toy

REFERENCES = ["Tea at four.", "No milk left!", "Call Ann", "Feed the cat"]
SHOTS = [{"input": "1 and 1", "output": "2"}, {"input": "2 and 3", "output": "5"}]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Holds toy-lm, its cache, a folder of texts, and files of JSON lines."""
    home = tmp_path_factory.mktemp("home")
    load_toy(home)
    (home / "texts").mkdir()
    for i, text in enumerate(REFERENCES):
        (home / "texts" / f"{i}.txt").write_text(text, "utf-8")
    (home / "texts" / "notes.md").write_text("not a reference", "utf-8")
    lines: dict[str, list[Any]] = {
        "strings": REFERENCES,
        "objects": [{"id": i, "body": text} for i, text in enumerate(REFERENCES)],
        "documents": [{"text": text} for text in REFERENCES],
        "shots": SHOTS,
        "mixed": ["Call Ann", {"input": "1", "output": "2"}],
        "numbers": ["Call Ann", 31337],
    }
    for name, values in lines.items():
        (home / f"{name}.jsonl").write_text(
            "".join(json.dumps(value) + "\n" for value in values), "utf-8"
        )
    (home / "broken.jsonl").write_text('"Call Ann"\nsecret', "utf-8")
    (home / "latin.jsonl").write_bytes('"café"'.encode("latin-1"))
    (home / "empty").mkdir()
    return home


@pytest.fixture(autouse=True)
def _cache(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SANITIZER_CACHE", str(home / "cache"))


def run(home: Path, references: str, *more: str, query: str = "Write a note.") -> int:
    places = ["--references", str(home / references), "--model", str(home / "toy-lm")]
    return main(["synthesize", *places, "--query", query, "--max-tokens", "4", *more])


def test_the_text_comes_out_and_its_terms_beside_it(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(home, "texts", "--epsilon", "3") == 0
    shown = capsys.readouterr()
    assert shown.out.count("\n") >= 1
    terms = " ".join(shown.err.split())
    assert "at delta 1e-06 per reference, certified; the paper's accounting gives" in terms
    assert "invisibleink certified: epsilon 3 " in terms
    for words in (
        "4 references read for each text, 4 tokens charged",
        "neighbouring inputs: replace-by-null",
        "public: the query",
    ):
        assert words in terms
    assert "not protected: what several references say together" in terms
    assert not any(text in shown.err + shown.out for text in REFERENCES)


@pytest.mark.parametrize(
    ("references", "more"),
    [("strings.jsonl", []), ("documents.jsonl", []), ("objects.jsonl", ["--field", "body"])],
)
def test_json_lines_are_read(
    home: Path, references: str, more: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(home, references, "--json", "--n-texts", "2", "--batch-size", "2", *more) == 0
    shown = capsys.readouterr()
    assert shown.err == ""
    texts = [json.loads(line) for line in shown.out.splitlines()]
    assert len(texts) == 2
    assert all(
        set(text) == {"text", "record"} and text["record"]["n_references"] == 2 for text in texts
    )


def test_demonstrations_are_objects(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--method", "dps-mozo", "--template", "Add: {input}\nSum: {output}", "--json"]
    for query in ("2 and 2", '{"input": "2 and 2"}'):
        assert run(home, "shots.jsonl", *options, query=query) == 0
        record = json.loads(capsys.readouterr().out)["record"]
        found = (record["method"], record["settings"]["n_shots"], record["certified"])
        assert found == ("dps-mozo", 2, True)


def test_uncertified_and_unread_are_said(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ("--method=dps-mozo", "--variant=published", "--epsilon=30")
    assert run(home, "shots.jsonl", *options, query="1") == 0
    assert "NOT certified, no bound is known" in capsys.readouterr().err
    assert run(home, "texts", "--epsilon", "1e-6") == 0
    assert "NOTE: epsilon is too small for these settings: no reference was read" in " ".join(
        capsys.readouterr().err.split()
    )


@pytest.mark.parametrize(
    ("references", "more", "words"),
    [
        ("nothing", [], "nothing: No such file"),
        ("empty", [], "references must not be empty"),
        ("texts", ["--field", "body"], "--field"),
        ("objects.jsonl", ["--field", "text"], "line 1"),
        ("objects.jsonl", [], "is missing"),
        ("numbers.jsonl", [], "line 2"),
        ("broken.jsonl", [], "line 2 of the references is not JSON"),
        ("mixed.jsonl", [], "all mappings"),
        ("latin.jsonl", [], "UTF-8"),
        ("texts", ["--n-texts", "5"], "5 texts, got 4"),
        ("texts", ["--epsilon", "-1"], "epsilon"),
        ("texts", ["--template", "{reference} {other}"], "got other"),
    ],
)
def test_errors_are_one_line_without_references(
    home: Path, references: str, more: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(home, references, *more) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.startswith("sanitizer: error: ")
    assert words in shown.err
    assert shown.err.count("\n") == 1
    assert not any(text in shown.err for text in (*REFERENCES, "secret", "31337", "caf"))


def test_missing_weights_are_a_refusal(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SANITIZER_CACHE", str(tmp_path))
    assert run(home, "texts") == 1
    assert "sanitizer models fetch toy-lm" in capsys.readouterr().err


def test_texts_made_together_are_described_together(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(home, "strings.jsonl", "--json") == 0
    record = SynthesisRecord(**json.loads(capsys.readouterr().out)["record"])
    texts = [SynthesizedText("a", replace(record, n_tokens=n)) for n in (3, 4)]
    assert "drawn: 3, 4" in " ".join(describe_synthesis(texts).split())
