"""The page of tables of results/classes.json: what a draw within a class tells, exactly."""

from __future__ import annotations

from benchmarks.common.tables import load, table

PRIORS = {"uniform": "all equally likely", "common first": "commoner ones likelier"}
FIGURES = ("blind guess", "best guess", "own name")


def section() -> str:
    """Return the tables: for each mechanism, class and epsilon what an attacker gains."""
    data = load("classes")
    parts = [
        f"## Draws within a class\n\n`{data['circumstances']['command']}`: computed over all "
        "members of each list, so there are no intervals. Blind guess: right without seeing what "
        "left. Best guess: with it, and the mechanism known. Own name: the thing leaves as itself. "
        "Cosine: of the word vectors of the thing and what left."
    ]
    header = ["epsilon", "class", "members", "outputs"]
    header += [f"{name}, {said}, %" for said in PRIORS.values() for name in FIGURES]
    for mechanism, found in data["results"].items():
        body = [
            [
                epsilon,
                name,
                str(each["members"]),
                str(each["outputs"]),
                *(f"{100 * each[prior][figure]:.2f}" for prior in PRIORS for figure in FIGURES),
                f"{each['common first']['cosine']:.3f}",
            ]
            for epsilon, classes in found.items()
            for name, each in classes.items()
        ]
        parts.append(f"### {mechanism}\n\n{table([*header, 'cosine'], body)}")
    return "\n\n".join(parts)
