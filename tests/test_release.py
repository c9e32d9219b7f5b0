"""What is published: one wheel with the models, small enough for package indexes."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

SCRIPT = Path(__file__).parents[1] / ".ci" / "wheel"
MODELS = ("sanitizer/models/reader/view.onnx", "sanitizer/models/masked-lm/model.onnx")


def wheel(folder: Path, name: str, *files: str) -> None:
    with zipfile.ZipFile(folder / f"{name}-1.0-py3-none-any.whl", "w") as archive:
        for file in ("sanitizer/py.typed", *files):
            archive.writestr(file, "weights")


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(SCRIPT), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_a_wheel_with_name_and_models_is_right(tmp_path: Path) -> None:
    wheel(tmp_path, "dp_sanitizer", *MODELS)
    found = run(str(tmp_path))
    assert found.returncode == 0, found.stderr
    assert "dp_sanitizer-1.0-py3-none-any.whl: 0.0 MB" in found.stdout


def test_another_name_and_missing_models_are_errors(tmp_path: Path) -> None:
    wheel(tmp_path, "sanitizer", *MODELS)
    wheel(tmp_path, "dp_sanitizer", MODELS[0])
    found = run(str(tmp_path))
    assert found.returncode == 1
    assert "must be named dp_sanitizer" in found.stderr
    assert "has no sanitizer/models/masked-lm/" in found.stderr


def test_a_file_above_the_limit_is_an_error(tmp_path: Path) -> None:
    wheel(tmp_path, "dp_sanitizer", *MODELS)
    with (tmp_path / "dp_sanitizer-1.0.tar.gz").open("wb") as file:
        file.truncate(100_000_001)
    found = run(str(tmp_path))
    assert found.returncode == 1
    assert "more than 100000000 bytes" in found.stderr
