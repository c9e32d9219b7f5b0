"""InvisibleInk as the package `invink` does it, behind JSON lines: runs in that package's own
environment.

Run by `benchmarks.generation.run` as `PYTHON invink.py FOLDER THREADS DTYPE`; FOLDER holds
the packaged causal model as `transformers` saves it. Imports nothing of ours. The package loads its
model in each call; here it is loaded once, and the calls are handed what was loaded, so that a
call's time is that of generating.
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import resource
import sys
import time
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.metadata import version
from pathlib import Path
from types import ModuleType
from typing import Any

PACKAGES = ("invink", "torch", "transformers")
ENDS: list[tuple[float, float]] = []
"""When each pass of the model ended, by the clock and by the processor; the first one reads the
prompts.
"""


class Compiles(SourceFileLoader):
    """Version 0.1.0 nests equal quotes in an f-string that prints; before Python 3.12 that is a
    syntax error.
    """

    def get_data(self, path: str) -> bytes:
        nested, plain = (
            b'{"all devices" if device_map == "auto"',
            b"{'all devices' if device_map == 'auto'",
        )
        return super().get_data(path).replace(nested, plain)


class Finder:
    """Finds `invink.utils` for `Compiles`."""

    def find_spec(
        self, name: str, path: Any, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name != "invink.utils":
            return None
        file = str(Path(next(iter(path))) / "utils.py")
        return importlib.util.spec_from_file_location(name, file, loader=Compiles(name, file))


def load(folder: str, threads: int, dtype: str) -> tuple[ModuleType, ModuleType]:
    """The package's modules `generate` and `utils`, with the model in place; transformers and torch
    are imported.
    """
    sys.meta_path.insert(0, Finder())
    torch = importlib.import_module("torch")
    torch.set_num_threads(threads)
    importlib.import_module("invink")
    generate, utils = sys.modules["invink.generate"], sys.modules["invink.utils"]
    tokenizer = utils.load_hf_tokenizer(name_or_path=folder, dtype=dtype)
    model = utils.load_hf_model(name_or_path=folder, dtype=dtype, device_map=torch.device("cpu"))
    passes: Any = model.generate

    def noted(*arguments: Any, **options: Any) -> Any:
        found = passes(*arguments, **options)
        ENDS.append((time.perf_counter(), time.process_time()))
        return found

    model.generate = noted
    loaded: Any = generate
    loaded.load_hf_tokenizer = lambda **_: tokenizer
    loaded.load_hf_model = lambda **_: model
    return generate, utils


def texts(generate: ModuleType, folder: str, request: dict[str, Any]) -> dict[str, Any]:
    """One text from the package's own entry point."""
    begin, used = time.perf_counter(), time.process_time()
    ENDS.clear()
    made = generate.generate(request.pop("references"), folder, device_map=-1, num=1, **request)
    return {
        "seconds": time.perf_counter() - begin,
        "cpu_seconds": time.process_time() - used,
        "first_seconds": ENDS[0][0] - begin,
        "first_cpu_seconds": ENDS[0][1] - used,
        "text": made.texts[0],
        "n_tokens": made.lens[0],
        "epsilon_spent": made.epsilon_spent[0],
        "peak_memory_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3,
    }


def account(utils: ModuleType, request: dict[str, Any]) -> dict[str, float]:
    """Its clip norm for a budget, and its epsilon for that clip norm."""
    norm = utils.get_clip(**request)
    shape = {key: request[key] for key in ("num_toks", "batch_size", "temp", "delta")}
    return {"clip_norm": norm, "epsilon": utils.get_epsilon(clip_norm=norm, **shape)}


def main() -> None:
    """Answer requests from standard input until it ends."""
    folder, threads, dtype = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    with contextlib.redirect_stdout(sys.stderr):
        generate, utils = load(folder, threads, dtype)
    for line in sys.stdin:
        request = json.loads(line)
        with contextlib.redirect_stdout(sys.stderr):
            match request.pop("do"):
                case "versions":
                    answer: Any = {name: version(name) for name in PACKAGES}
                case "account":
                    answer = account(utils, request)
                case _:
                    answer = texts(generate, folder, request)
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
