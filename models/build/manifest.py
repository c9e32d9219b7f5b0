"""Write a model folder's manifest and the hash that guards it."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from models.build.fetch import SOURCES, sha256


def sources(*names: str) -> list[dict[str, str]]:
    """Return pins, hashes and licences of the named sources."""
    return [
        {"source": SOURCES[n].pin, "sha256": SOURCES[n].sha256, "licence": SOURCES[n].licence}
        for n in names
    ]


def write(folder: Path, files: list[str], **facts: Any) -> None:
    """Write manifest.json (hash and size of each file, then `facts`) and manifest.json.sha256."""
    listed = {
        n: {"sha256": sha256(folder / n), "bytes": (folder / n).stat().st_size}
        for n in sorted(files)
    }
    text = json.dumps({"files": listed, **facts}, indent=2, ensure_ascii=False) + "\n"
    (folder / "manifest.json").write_text(text, "utf-8")
    digest = hashlib.sha256(text.encode()).hexdigest()
    (folder / "manifest.json.sha256").write_text(digest + "\n", "ascii")
