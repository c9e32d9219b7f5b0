"""Write models/reader from a trained checkpoint: graphs, weights, embeddings, tokenizer, manifest.

`python -m models.build.reader.package build-cache/reader/reader.pt` after vocabulary and train.
"""

from __future__ import annotations

import argparse
import json
import shutil
from pathlib import Path

import numpy as np
import torch

from models.build import manifest
from models.build.reader import export
from models.build.reader.model import LAYERS
from models.build.reader.sources import BLOCK, CACHE, packed_words
from sanitizer.lm.reader import POSITIONS

FOLDER = Path(__file__).resolve().parents[2] / "reader"


def main() -> None:
    """Write the folder."""
    parser = argparse.ArgumentParser()
    parser.add_argument("checkpoint", type=Path)
    parser.add_argument("--folder", type=Path, default=FOLDER)
    chosen = parser.parse_args()
    folder: Path = chosen.folder
    folder.mkdir(parents=True, exist_ok=True)
    state = {k: v.float().numpy() for k, v in torch.load(chosen.checkpoint).items()}
    layers = 1 + max(int(k.split(".")[1]) for k in state if k.startswith("layers."))
    assert layers == LAYERS
    graphs = {"view": export.view_graph(state, layers), "runs": export.runs_graph(state, layers)}
    export.save(graphs, folder)
    values, scales = packed_words()
    kept = np.load(CACHE / "kept.npy")
    width = export.WIDTH // BLOCK
    rows = values.reshape(-1, width, BLOCK)[kept].reshape(len(kept), -1)
    np.save(folder / "embeddings.npy", rows[:, 0::2] | rows[:, 1::2] << 4)
    np.save(folder / "scales.npy", scales.reshape(-1, width)[kept].astype(np.float16))
    positions = state["pos"][: POSITIONS + 1]
    added = np.concatenate([positions, state["typ"]]).astype(np.float16)
    np.save(folder / "positions.npy", added)
    shutil.copy(CACHE / "tokenizer.json", folder / "tokenizer.json")
    (folder / "LICENSE.txt").write_text(mit(), "utf-8")
    chosen_by = json.loads((Path(__file__).parent / "thresholds.json").read_text("utf-8"))
    names = sorted(
        path.name
        for path in folder.iterdir()
        if not path.name.startswith("manifest") and path.suffix != ".md"
    )
    manifest.write(
        folder,
        names,
        summary="multilingual reader of hidden words: classes, begins, gender, needed",
        layers=layers,
        **chosen_by,
        sources=manifest.sources("e5", "e5_tokenizer"),
    )
    size = sum((folder / name).stat().st_size for name in names)
    print(f"{size / 1e6:.1f} MB", {name: (folder / name).stat().st_size for name in names})


def mit() -> str:
    """Return the licence of multilingual-e5-small."""
    return (Path(__file__).parent / "MIT.txt").read_text("utf-8")


if __name__ == "__main__":
    main()
