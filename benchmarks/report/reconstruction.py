"""The report's section on attackers who read the whole sentence, from
results/reconstruction.json.
"""

from __future__ import annotations

from benchmarks.common.tables import load, table
from benchmarks.privacy.reconstruction import NAMES


def section() -> str:
    """Success of each attacker against each mechanism."""
    data = load("reconstruction")
    results = data["results"]
    rows = []
    for row in results["rows"]:
        shares = [
            f"{row[n]['mean']:.3f} ({row[n]['low']:.3f} to {row[n]['high']:.3f})" for n in NAMES
        ]
        bound = f"{row['ceiling']:.3f}" if "ceiling" in row else "-"
        counts = [bound, f"{row['all words']:.3f}", f"{row['n_words']}"]
        rows.append([row["label"], f"{row['epsilon']:g}", *shares, *counts])
    header = ["mechanism", "epsilon", *NAMES, "ceiling of the best guess", "of all words", "words"]
    return (
        f"## Reconstruction of whole sentences\n\n`{data['circumstances']['command']}`: one fresh "
        "draw of each sentence; how often each attacker names the private word, 95 % bootstrap "
        "intervals over sentences. *Context alone*: no output seen. *Output itself*: the word is "
        "released. *Text as released*: a masked LM reads it, the mechanism unused. *Best guess*: "
        "Bayes' rule with the exact mechanism and the public words; *neighbours*: with the "
        "released sentence; *joint*: with the attacker's own reconstruction of all other words, "
        f"{results['rounds']} rounds. *All else*: every other private word known, without and with "
        "the output; *of all words*: the same share where public words count as recovered, as in "
        "figures of other works. Epsilons of papers are nominal.\n\n"
        f"{table(header, rows)}"
    )
