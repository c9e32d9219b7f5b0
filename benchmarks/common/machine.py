"""What a result was measured on, and where results go."""

from __future__ import annotations

import json
import os
import platform
import subprocess
from pathlib import Path
from typing import Any

import numpy
import onnxruntime

from sanitizer.errors import ModelError
from sanitizer.lm import Manifest, model_folder

RESULTS = Path(__file__).parents[1] / "results"
FOLDER = "SANITIZER_BENCHMARK_RESULTS"
"""Variable that names where results are written instead, so that a trial run keeps the old ones."""


def circumstances(command: str) -> dict[str, Any]:
    """Return command, commit, model hash, machine and versions."""
    git = subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True, check=False)
    return {
        "command": command,
        "commit": git.stdout.strip() or None,
        "model_sha256": Manifest.read(model_folder("masked-lm")).sha256,
        "machine": f"{platform.machine()}, {os.cpu_count()} cores, {platform.system()}",
        "python": platform.python_version(),
        "onnxruntime": onnxruntime.__version__,
        "numpy": numpy.__version__,
    }


def causal_fetched() -> bool:
    """Return True if the causal model's weights are on this machine."""
    try:
        Manifest.read(model_folder("lm")).verify_weights()
    except ModelError:
        return False
    return True


def say(line: str) -> None:
    """Print progress, at once."""
    print(line, flush=True)


def output_folder() -> Path:
    """Return `RESULTS`, or what the environment names."""
    return Path(os.environ.get(FOLDER) or RESULTS)


def write(name: str, command: str, results: Any) -> Path:
    """Write <name>.json into the output folder."""
    folder = output_folder()
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.json"
    path.write_text(
        json.dumps({"circumstances": circumstances(command), "results": results}, indent=1) + "\n",
        "utf-8",
    )
    return path
