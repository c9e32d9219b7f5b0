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
TEXT = Path(__file__).with_name("card.md")


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
    text = TEXT.read_text("utf-8").format(
        layers=manifest["layers"],
        size=sum(each["bytes"] for each in manifest["files"].values()) / 1e6,
        n_texts=f"{len(trained):,}",
        n_hands=len({each.hand for each in trained}),
        n_languages=len(counts),
        n_choose=len(texts) - len(trained),
        minutes=minutes,
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
