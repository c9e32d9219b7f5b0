"""What a result was measured on, and where results go."""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy
import onnxruntime

from sanitizer.errors import ModelError
from sanitizer.lm.files import Manifest, model_folder

_PATH = re.compile(r"^([\w-]+=)?\S*/\S*$")
RESULTS = Path(__file__).parents[1] / "results"
FOLDER = "SANITIZER_BENCHMARK_RESULTS"
"""Variable that names where results are written instead, so that a trial run keeps the old ones."""


def parser(doc: str | None, quick: str) -> argparse.ArgumentParser:
    """Return a parser of a benchmark's command line.

    Args:
        doc: its docstring. quick: what `--quick` does.
    """
    found = argparse.ArgumentParser(
        description=doc, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    found.add_argument("--quick", action="store_true", help=quick)
    return found


def command() -> str:
    """Return the command that runs, without paths of this machine."""
    path = Path(sys.argv[0]).resolve().relative_to(RESULTS.parents[1])
    module = ".".join(path.with_suffix("").parts)
    return " ".join(["python -m", module, *(_PATH.sub(r"\1PATH", each) for each in sys.argv[1:])])


def circumstances() -> dict[str, Any]:
    """Return command, commit, model hash, machine and versions."""
    git = subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True, check=False)
    return {
        "command": command(),
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


def write(name: str, results: Any) -> None:
    """Write <name>.json into the output folder, and say where."""
    folder = output_folder()
    folder.mkdir(parents=True, exist_ok=True)
    found = {"circumstances": circumstances(), "results": results}
    (folder / f"{name}.json").write_text(json.dumps(found, indent=1) + "\n", "utf-8")
    say(str(folder / f"{name}.json"))
