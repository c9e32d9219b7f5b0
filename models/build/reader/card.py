"""Write models/reader/CARD.md from the figures of `python -m benchmarks usefulness`.

`python -m models.build.reader.card` after that command.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from models.build.reader.labelled import all_texts
from models.build.reader.languages import CODES, LANGUAGES
from models.build.reader.package import FOLDER
from models.build.reader.train import CHOOSE
from sanitizer.lm.reader import CLASSES

RESULTS = Path(__file__).resolve().parents[3] / "benchmarks" / "results" / "usefulness.json"
ROWS = ("names", "numbers", "attributes", "identifiers", "all but facts", "facts")
TEXT = """# reader

A multilingual encoder of {layers} layers, 384 wide, made from multilingual-e5-small (MIT): it says of each
hidden word which of 17 classes it is, or an identifier, or none; whether an entity begins there; a person's
grammatical gender and number; and of each slot whether the request needs what is there. {size:.1f} MB.

Tokens of the view attend to the view; the pieces of a run attend to the view and to their own run
(docs/guarantees.md, "Hidden by class: the local reading"). Embeddings in 4 bits as their source holds them, matrices in
int8 with a scale for each output and each token.

## Training

{n_texts} labelled texts by {n_hands} hands in {n_languages} languages (`models/build/reader/texts`, every person, firm and number in
them invented), and the project's own prompts that everybody has read. {n_choose} texts of another hand chose
the thresholds. The languages beyond English were written by hands that are not native.
{history}
Repeat with `python -m models.build.reader.languages`, `.vocabulary`, `.train`, `.choose`, `.package`.

| language | texts |
|---|---|
{languages}

## Figures

On texts that nobody read before, under `balanced`: spans of which every hidden word was replaced. `{command}`, reader
{digest}. Intervals of 95 % by resampling texts.

| set | {heads} | others changed | nothing private: texts changed |
|---|{rules}---|---|
{sets}

By class, all these texts: {classes}.

By language: all but facts whole; other words changed.

| language | texts | whole | others |
|---|---|---|---|
{by_language}

By origin of names, English texts (`t03`): names whole.

| origin | names | whole |
|---|---|---|
{origins}

## Not known

Labels of hands differ most on FACT and OCCUPATION. Gender and "needed" are trained and not used yet. Visible words
are those of the lists in models/languages; {n_lists} languages have one.
"""
HISTORY = """The weights began as a prototype by the same recipe on the first 4,190 of these texts, on filled templates and on
corpora (two hours on two cores, and eleven minutes more; its mixture is in the history of this repository), and were then trained on labelled texts alone, {minutes} minutes on
two cores that other work used too: AdamW, rate 3e-4, linear decay, batches of 3,000 tokens, bfloat16."""


def share(measures: Mapping[str, Any], name: str) -> str:
    """Return a share with its interval, "-" where nothing was counted."""
    found = measures.get(name)
    if not found or found["n"] == 0:
        return "-"
    return f"{found['mean']:.3f} ({found['low']:.3f} to {found['high']:.3f})"


def balanced(group: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the figures of the default policy."""
    measures: Mapping[str, Any] = group["tools"]["balanced"]["measures"]
    return measures


def pooled(groups: Iterable[Mapping[str, Any]], name: str) -> str:
    """Return a share over several sets, without an interval."""
    found = [balanced(group)[name] for group in groups if name in balanced(group)]
    n = sum(each["n"] for each in found)
    return f"{sum(each['mean'] * each['n'] for each in found) / n:.3f} of {n}" if n else "-"


def main() -> None:
    """Write the card."""
    data = json.loads(RESULTS.read_text("utf-8"))
    results, manifest = data["results"], json.loads((FOLDER / "manifest.json").read_text("utf-8"))
    texts = all_texts()
    trained = [each for each in texts if each.hand not in CHOOSE]
    counts = Counter(each.language for each in trained)
    sets = results["sets"]
    rows = []
    for name, group in sets.items():
        measures = balanced(group)
        cells = [share(measures, f"{row}, whole") for row in ROWS]
        changed = measures.get("texts with nothing private changed")
        nothing = f"{round(changed['mean'] * changed['n'])} of {changed['n']}" if changed else "-"
        others = share(measures, "other words changed")
        rows.append(f"| {name} | {' | '.join(cells)} | {others} | {nothing} |")
    minutes = json.loads((Path(__file__).parent / "history.json").read_text("utf-8"))["minutes"]
    text = TEXT.format(
        layers=manifest["layers"],
        size=sum(each["bytes"] for each in manifest["files"].values()) / 1e6,
        n_texts=f"{len(trained):,}",
        n_hands=len({each.hand for each in trained}),
        n_languages=len(counts),
        n_choose=len(texts) - len(trained),
        history=HISTORY.format(minutes=minutes),
        languages="\n".join(f"| {code} | {n} |" for code, n in counts.most_common()),
        command=data["circumstances"]["command"],
        digest=results["reader_sha256"][:12],
        heads=" | ".join(ROWS),
        rules="---|" * len(ROWS),
        sets="\n".join(rows),
        classes=", ".join(f"{kind} {pooled(sets.values(), f'{kind}, whole')}" for kind in CLASSES),
        by_language="\n".join(
            f"| {code} | {group['n_texts']} | {share(balanced(group), 'all but facts, whole')} | "
            f"{share(balanced(group), 'other words changed')} |"
            for code, group in results["languages"].items()
        ),
        origins="\n".join(
            f"| {origin} | {balanced(group)['names, whole']['n']} | "
            f"{share(balanced(group), 'names, whole')} |"
            for origin, group in results["origins"].items()
            if "names, whole" in balanced(group)
        ),
        n_lists=len(list(LANGUAGES.glob("*.txt"))),
    )
    assert len(CODES) == len(list(LANGUAGES.glob("*.txt")))
    (FOLDER / "CARD.md").write_text(text, "utf-8")


if __name__ == "__main__":
    main()
