"""DynText's Tables 1 to 3 (IMDb), with our figures in the neighbouring columns.

The paper lets GPT-4 continue the sanitized text, and compares the continuation by MAUVE and
coherence. Nothing is continued here and MAUVE is not available: beside its coherence stands the
cosine of the sentence vectors of original and sanitized text, beside its MAUVE the masked LM's
pseudo-perplexity at private places. Neither is the same measure. Table 3's attack is the same, a
masked LM names the private word: theirs is BERT, ours the packaged one.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from benchmarks.common.tables import figure, table
from benchmarks.frontier.settings import Setting
from benchmarks.privacy.word_inference import NOTHING, ORIGINAL, PUBLIC

NOMINAL = (1.0, 2.0, 3.0)
Three = tuple[float, float, float]
PAPER: dict[str, tuple[Three, Three, Three | None]] = {  # MAUVE, coherence, attack success
    "FBDD": ((0.049, 0.074, 0.062), (0.169, 0.169, 0.172), None),
    "SANTEXT+": ((0.205, 0.228, 0.236), (0.403, 0.463, 0.550), (0.97143, 0.97143, 0.97143)),
    "CUSTEXT+": ((0.225, 0.252, 0.197), (0.588, 0.580, 0.550), (0.39778, 0.38778, 0.37333)),
    "RANTEXT": ((0.038, 0.047, 0.054), (0.113, 0.125, 0.128), (0.00243, 0.01160, 0.02439)),
    "DynText": ((0.241, 0.254, 0.242), (0.589, 0.590, 0.590), (0.00008, 0.00008, 0.00007)),
    "DynText without smoothing": ((0.241, 0.248, 0.242), (0.589, 0.589, 0.585), None),
    "DynText without dynamic lists": ((0.235, 0.248, 0.240), (0.586, 0.587, 0.589), None),
    "DynText without its replacement": ((0.241, 0.247, 0.241), (0.582, 0.587, 0.589), None),
}
MECHANISMS: dict[str, tuple[str, dict[str, Any]]] = {
    "FBDD": ("fbdd", {}),
    "SANTEXT+": ("santext+", {}),
    "CUSTEXT+": ("custext+", {}),
    "RANTEXT": ("rantext", {}),
    "DynText": ("dyntext published", {}),
    "DynText without smoothing": ("dyntext published", {"density": "global"}),
    "DynText without dynamic lists": ("dyntext published", {"list_size": "fixed"}),
    "DynText without its replacement": ("dyntext published", {"replacement": "noise"}),
}


def settings(scale: float) -> Iterator[Setting]:
    """Everything these tables need; `scale` as in benchmarks/papers/cape.py, for FBDD too."""
    for label, (mechanism, options) in MECHANISMS.items():
        for e in NOMINAL:
            scaled = mechanism in ("santext+", "fbdd")
            yield Setting(f"{label}, Tables 1 to 3", mechanism, e * scale if scaled else e, options)


def section(results: dict[str, Any]) -> str:
    """All of it as Markdown."""
    lines = []
    for label, (mauve, coherence, attack) in PAPER.items():
        rows = [r for r in results["rows"] if r["setting"]["label"] == f"{label}, Tables 1 to 3"]
        for i, (epsilon, row) in enumerate(zip(NOMINAL, rows, strict=True)):
            found = row["figures"]
            lines.append(
                [
                    label,
                    f"{epsilon:g}",
                    f"{coherence[i]:.3f}",
                    figure(found["sentence_cosine"]),
                    f"{mauve[i]:.3f}",
                    figure(found["pseudo_perplexity"]),
                    "-" if attack is None else f"{attack[i]:.5f}",
                    figure(found["mti_1"]),
                    figure(found["cosine"]),
                ]
            )
    header = [
        "mechanism",
        "nominal epsilon",
        "coherence of GPT-4's continuation (IMDb)",
        "ours: cosine of the texts",
    ]
    header += [
        "MAUVE of the continuation (IMDb)",
        "ours: pseudo-perplexity",
        "attack success, Table 3 (IMDb)",
    ]
    return "\n\n".join(
        [
            (
                "### DynText: Tables 1 to 3 "
                "(paper: IMDb and GPT-4; ours: Rotten Tomatoes, no continuation)"
            ),
            (
                "Columns are side by side where they answer the same question; only the attack is "
                "the same measure."
            ),
            table(
                [*header, "ours: masked-word inference", "ours: words' cosine (their Figure 2)"],
                lines,
            ),
            _without_mechanism(results["word_inference"]),
        ]
    )


def _without_mechanism(found: dict[str, Any]) -> str:
    """How Table 3's success rates compare with guesses that need no mechanism's output."""
    imdb = found["IMDb"]
    blind, seen = imdb["success"][NOTHING], imdb["success"][ORIGINAL]["mean"]
    lowest, highest = PAPER["DynText"][2], PAPER["SANTEXT+"][2]
    assert lowest is not None
    assert highest is not None
    rows = [
        [name, *(figure(of["success"][way]) for way in (NOTHING, PUBLIC, ORIGINAL))]
        for name, of in found.items()
    ]
    return (
        "Without any mechanism (benchmarks/privacy/word_inference.py; "
        f"{imdb['n_words']:,} private words of IMDb) an attacker names:\n\n"
        f"{table(['share of the private words', NOTHING, PUBLIC, ORIGINAL], rows)}\n\n"
        f'DynText\'s Table 3 does not fit in. To say "{imdb["commonest"]}" each time and read '
        f"nothing is {blind['mean'] / lowest[0]:.0f} times "
        f"as successful as its {lowest[0]:.5f} for DynText; its {highest[0]:.5f} for SANTEXT+ is "
        f"{highest[0] / seen:.1f} times what our masked LM names in the original text. So it "
        "counts something else than the share of private words that a masked LM names, and its "
        "distance to ours says nothing about the mechanism."
    )
