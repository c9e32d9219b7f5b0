"""What is published: two wheels made of one, each with a list of its files."""

from __future__ import annotations

import base64
import hashlib
import subprocess
import sys
import zipfile
from pathlib import Path

SCRIPT = Path(__file__).parents[1] / ".ci" / "wheel"
INFO = "dp_sanitizer-1.0.dist-info"


def whole_wheel(folder: Path, name: str = "dp_sanitizer-1.0-py3-none-any.whl") -> Path:
    files = {
        "sanitizer/py.typed": "",
        "sanitizer/models/tagger/model.onnx": "tagger",
        "sanitizer/models/masked-lm/model.onnx": "weights",
        f"{INFO}/METADATA": "Metadata-Version: 2.4\nName: dp-sanitizer\n\nThe read-me.\n",
        f"{INFO}/RECORD": "",
    }
    with zipfile.ZipFile(folder / name, "w") as wheel:
        for place, content in files.items():
            wheel.writestr(place, content)
    return folder / name


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(SCRIPT), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def read(path: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as wheel:
        return {name: wheel.read(name) for name in wheel.namelist()}


def test_a_wheel_is_split_and_the_first_requires_the_second(tmp_path: Path) -> None:
    whole_wheel(tmp_path)
    assert run("--split", str(tmp_path)).returncode == 0
    first = read(tmp_path / "dp_sanitizer-1.0-py3-none-any.whl")
    models = read(tmp_path / "dp_sanitizer_models-1.0-py3-none-any.whl")
    assert "sanitizer/models/masked-lm/model.onnx" not in first
    assert models["sanitizer/models/masked-lm/model.onnx"] == b"weights"
    head, _, text = first[f"{INFO}/METADATA"].partition(b"\n\n")
    assert head.endswith(b"\nRequires-Dist: dp-sanitizer-models==1.0")
    assert text == b"The read-me.\n"
    for files in (first, models):
        (record,) = [name for name in files if name.endswith("/RECORD")]
        listed = dict(line.split(",", 1) for line in files[record].decode().splitlines())
        assert set(listed) == set(files)
        for name, said in listed.items():
            digest = base64.urlsafe_b64encode(hashlib.sha256(files[name]).digest()).rstrip(b"=")
            wanted = f"sha256={digest.decode()},{len(files[name])}"
            assert said == ("," if name == record else wanted)


def test_another_name_and_missing_models_are_errors(tmp_path: Path) -> None:
    whole_wheel(tmp_path, "sanitizer-1.0-py3-none-any.whl")
    found = run(str(tmp_path))
    assert found.returncode == 1
    assert "must be named dp_sanitizer" in found.stderr
    with zipfile.ZipFile(tmp_path / "dp_sanitizer-1.0-py3-none-any.whl", "w") as wheel:
        wheel.writestr("sanitizer/py.typed", "")
    (tmp_path / "sanitizer-1.0-py3-none-any.whl").unlink()
    assert "no wheel has sanitizer/models/masked-lm/" in run(str(tmp_path)).stderr
