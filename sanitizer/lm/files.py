"""Where the packaged and the fetched files are, and whether they are what the manifest says."""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sanitizer.errors import ModelError

_PACKAGE = Path(__file__).resolve().parents[1]


def model_root() -> Path:
    """The folder of all packaged models: inside the installed package, or beside it in a checkout."""
    installed = _PACKAGE / "models"
    return installed if installed.is_dir() else _PACKAGE.parent / "models"


def model_folder(name: str) -> Path:
    """Folder of one packaged model, existing or not."""
    return model_root() / name


def cache_root() -> Path:
    """The folder for fetched files: $SANITIZER_CACHE, or the platform's place for caches of this
    user.
    """
    if chosen := os.environ.get("SANITIZER_CACHE"):
        return Path(chosen)
    if sys.platform == "win32":
        return (
            Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
            / "sanitizer"
            / "Cache"
        )
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "sanitizer"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "sanitizer"


@dataclass(frozen=True)
class Manifest:
    """What a model folder must hold.

    Attributes:
        folder: where it lies. data: the JSON object. sha256: hash of manifest.json itself.
    """

    folder: Path
    data: dict[str, Any]
    sha256: str

    @classmethod
    def read(cls, folder: Path) -> Manifest:
        """Read manifest.json and compare it with manifest.json.sha256.

        Raises:
            ModelError: if it is missing, damaged or not JSON.
        """
        try:
            raw = (folder / "manifest.json").read_bytes()
            expected = (folder / "manifest.json.sha256").read_text("ascii").strip()
        except (OSError, UnicodeDecodeError):
            raise ModelError("the model folder has no readable manifest") from None
        found = hashlib.sha256(raw).hexdigest()
        if found != expected:
            raise ModelError("the model's manifest.json does not match its SHA-256")
        data = json.loads(raw)
        if not isinstance(data, dict) or not isinstance(data.get("files"), dict):
            raise ModelError("the model's manifest.json lists no files")
        return cls(folder, data, found)

    @property
    def weights(self) -> Path | None:
        """Where fetched weights belong, there or not; None if everything is packaged."""
        entry = self.data.get("weights")
        return (
            cache_root() / f"{self.folder.name}-{entry['sha256'][:16]}" / entry["name"]
            if entry
            else None
        )

    def verify_weights(self) -> Path:
        """Hash the fetched weights.

        Raises:
            ModelError: naming the command that fetches them, if they are missing or differ.
        """
        path, command = self.weights, f"sanitizer models fetch {self.folder.name}"
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
            ModelError: naming the file that is missing, not listed, or differs.
        """
        for name in names or self.data["files"]:
            entry = self.data["files"].get(name)
            if entry is None:
                raise ModelError(f"model file {name} is not in the manifest")
            found = file_sha256(self.folder / name)
            if found != entry["sha256"]:
                raise ModelError(f"model file {name} does not match its SHA-256")


def file_sha256(path: Path) -> str:
    """Hex SHA-256 of a file.

    Raises:
        ModelError: if it cannot be read.
    """
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise ModelError(f"{path.name} cannot be read ({error.strerror})") from None
