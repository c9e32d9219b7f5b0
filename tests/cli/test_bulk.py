"""The command `bulk`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sanitizer.cli.program import main

pytest.importorskip("pyarrow", reason='the extra "bulk" is not installed')


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SANITIZER_VAULT_KEY", "an obviously fake key for tests")
    path = tmp_path / "in.csv"
    path.write_text("who,text\nu1,Mail ada@example.org\nu1,Mail bob@example.org\n", "utf-8")
    return path


def run(source: Path, target: Path, *more: str) -> int:
    given = ["bulk", str(source), str(target), "--column", "text", "--policy", "identifiers"]
    return main([*given, "--workers", "0", *more])


def test_there_and_back(source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out, vault = tmp_path / "out.csv", ("--vault", str(tmp_path / "vault"))
    report = tmp_path / "report.json"
    assert run(source, out, *vault, "--unit-column", "who", "--report", str(report)) == 0
    assert out.read_text("utf-8") == "who,text\nu1,Mail <EMAIL_1>\nu1,Mail <EMAIL_2>\n"
    said = capsys.readouterr().out
    assert "2 rows in 1 file," in said
    assert "at most 0 for each value of 'who' (1 of them)" in said
    assert json.loads(report.read_text("utf-8"))["n_units"] == 1
    assert run(out, tmp_path / "back.csv", *vault, "--restore") == 0
    assert (tmp_path / "back.csv").read_text("utf-8") == source.read_text("utf-8")


def test_originals_need_a_place(
    source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(source, tmp_path / "out.csv") == 2
    assert "give --vault FILE for the originals, or --drop-originals" in capsys.readouterr().err
    assert run(source, tmp_path / "out.csv", "--drop-originals") == 0
    assert "no originals" in capsys.readouterr().out
    assert (tmp_path / "out.csv.job").exists()


def test_errors_name_the_file_and_quote_no_text(
    source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    broken = tmp_path / "broken.parquet"
    broken.write_bytes(b"PAR1 half")
    assert run(broken, tmp_path / "out.parquet", "--drop-originals") == 2
    assert f"{broken}: not a complete, undamaged Parquet file" in capsys.readouterr().err
    assert main(["bulk", str(source), "x", "--column", "text", "--engine", "my father"]) == 2
    assert "my father" not in capsys.readouterr().err
