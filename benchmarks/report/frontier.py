"""The report's sections on privacy and utility, from results/frontier.json, ideas.json and
attacks.json.
"""

from __future__ import annotations

from typing import Any

from benchmarks.common.tables import figure, folded, load, table
from benchmarks.frontier.claims import ATTACKS, claims, verdict

COLUMNS = {
    "cosine": "words' cosine",
    "sentence_cosine": "sentences' cosine",
    "rouge_l": "Rouge-L",
    "accuracy": "accuracy",
    "pseudo_perplexity": "pseudo-perplexity",
    "kept": "kept",
    "knn_10": "KNN-10",
    "mti_1": "MTI",
    "map": "MAP",
}
KINDS = {"theorem": "", "all inputs": "", "walked": "≥ ", "bound": "≤ "}
SHORT = (
    ("Cape certified", 5.0),
    ("Cape certified, not demoted", 5.0),
    ("Cape published", 10.0),
    ("DynText certified", 5.0),
    ("SANTEXT", 5.0),
    ("exponential, shortlist", 5.0),
    ("randomized response, shortlist", 5.0),
)
Row = dict[str, Any]


def exact(row: Row) -> str:
    """An exact epsilon and how it is known."""
    found = row["exact_epsilon"]
    return {"inf": "infinite", "unknown": "-"}.get(
        found
    ) or f"{KINDS[row['exact_kind']]}{found:.2f}"


def points(rows: list[Row], columns: dict[str, str]) -> str:
    """One row for each setting."""
    lines = [
        [
            r["setting"]["label"],
            f"{r['own_epsilon']:.4g}",
            exact(r),
            *(_shown(r["figures"].get(c)) for c in columns),
        ]
        for r in rows
    ]
    return table(["mechanism", "epsilon as set", "exact epsilon", *columns.values()], lines)


def _shown(found: dict[str, float] | None) -> str:
    return "-" if found is None else figure(found)


def _difference(row: Row) -> str:
    return f"{row['mean']:+.3f} ({row['low']:+.3f} to {row['high']:+.3f})"


def headline(found: Row) -> str:
    """Certified Cape at 5 less published Cape at 10."""
    rows = [
        [
            name,
            f"{d['mean']:+.3f}",
            f"{d['low']:+.3f} to {d['high']:+.3f}",
            "" if name in ATTACKS else verdict(d),
        ]
        for name, d in found["certified 5 less published 10"].items()
    ]
    return table(["figure", "difference", "95 % interval", ""], rows)


def behind(rows: list[Row], keys: tuple[str, ...]) -> str:
    """Where ours is behind, with the share of words that either releases as they are."""
    lines = [
        [
            *(str(r[k]) for k in keys),
            _difference(r),
            *(f"{r[k]:.3f}" for k in ("kept", "their_kept") if k in r),
        ]
        for r in rows
        if verdict(r) == "behind"
    ]
    kept = ["kept, ours", "kept, theirs"] if rows and "kept" in rows[0] else []
    return table([*keys, "difference", *kept], lines) if lines else "Nowhere."


def left_side(rows: list[Row]) -> str:
    """A sentence, and the differences at each epsilon."""
    meaning = [r for r in rows if r["figure"] not in ATTACKS]
    counts = {
        v: sum(verdict(r) == v for r in meaning) for v in ("ahead", "no difference shown", "behind")
    }
    names = list(dict.fromkeys(r["figure"] for r in rows))
    at: dict[tuple[str, float], dict[str, Row]] = {}
    for r in rows:
        at.setdefault((r["mechanism"], r["epsilon"]), {})[r["figure"]] = r
    lines = [
        [mechanism, f"{epsilon:g}", *(_difference(found[n]) if n in found else "-" for n in names)]
        for (mechanism, epsilon), found in at.items()
    ]
    said = ", ".join(f"{name} {n}" for name, n in counts.items())
    return f"Of {len(meaning)} differences in meaning and readability: {said}.\n\n" + table(
        ["mechanism", "epsilon as set", *names], lines
    )


def why(rows: list[Row]) -> str:
    """What the mechanisms that are ahead at the same epsilon have in common: how often they keep
    the word itself.
    """
    lost = [r for r in rows if verdict(r) == "behind"]
    if not lost:
        return ""
    more = sum(r["their_kept"] > r["kept"] for r in lost)
    ours, theirs = (sum(r[k] for r in lost) / len(lost) for k in ("kept", "their_kept"))
    return (
        f"In {more} of these {len(lost)} the other mechanism releases the private word itself "
        f"more often than ours does (on average {theirs:.1%} of the words; ours {ours:.1%}). "
        "Rouge-L counts nothing else of a private word, and a kept word has cosine 1."
    )


def claimed(comparisons: Row) -> str:
    """Every claim, true or false."""
    lines = [
        [label, claim.text, claim.holds, claim.counts()]
        for label, found in comparisons.items()
        for claim in claims(found)
    ]
    return table(["ours", "claim", "holds", "differences"], lines)


def section() -> str:
    """Points, claims, and where certified Cape is behind."""
    data = load("frontier")
    results = data["results"]
    intro = (
        f"`{data['circumstances']['command']}`: {results['n_sentences']} held-out Rotten "
        f"Tomatoes sentences (movie reviews; not SST-2), {results['n_words']} private words, "
        "policy strict; in brackets 95 % bootstrap intervals over sentences. Accuracy on the "
        f"original sentences: {figure(results['clean_accuracy'])}. MAP and MTI at "
        f"{results['n_guessed']} of the words. ≥: some inputs were walked, so a lower bound."
    )
    parts = [
        "## Privacy and utility",
        intro,
        plots(),
        points(results["rows"], COLUMNS),
        on_prompts(),
        "### Claims",
    ]
    parts += [
        "True or false where whole intervals decide; intervals are not corrected for their number."
    ]
    parts += [claimed(results["claims"])]
    if results.get("left less both"):
        parts += [
            (
                "### Cape that reads the left side only, less Cape that reads both (above zero: "
                "better, or attacked more often)"
            )
        ]
        parts += [left_side(results["left less both"])]
    for label, found in results["claims"].items():
        parts += [
            (
                f"### {label}, epsilon 5, less published Cape at nominal 10 "
                "(above zero: ours is better)"
            ),
            headline(found),
            f"### Where {label} is behind at the same exact epsilon",
            folded(behind(found["at equal exact epsilon"], ("against", "epsilon", "figure"))),
            why(found["at equal exact epsilon"]),
            f"### Where {label} is behind at the same attack success",
            folded(
                behind(found["at equal attack success"], ("against", "epsilon", "attack", "figure"))
            ),
        ]
    return "\n\n".join(part for part in parts if part)


def on_prompts() -> str:
    """A few points on sentences of own prompts."""
    data = load("frontier_prompts")
    results = data["results"]
    known = results["rows"][0]["figures"]
    columns = {name: head for name, head in COLUMNS.items() if name in known}
    return (
        f"### On sentences of prompts\n\n`{data['circumstances']['command']}`: "
        f"{results['n_sentences']} sentences of this project's own prompts, "
        f"{results['n_words']} private words, policy strict.\n\n" + points(results["rows"], columns)
    )


def plots(folder: str = "results/plots") -> str:
    """The plots of this section."""
    shown = [
        "cosine-against-epsilon",
        "sentence_cosine-against-epsilon",
        "pseudo_perplexity-against-epsilon",
    ]
    shown += [
        "few-accuracy-against-epsilon",
        "cosine-against-map",
        "cosine-against-knn_10",
        "few-cosine-against-mti_1",
    ]
    return "\n\n".join(f"![{name.replace('-', ' ')}]({folder}/{name}.png)" for name in shown)


def short_table() -> str:
    """For the main README: one row for each of a few settings."""
    rows = load("frontier")["results"]["rows"]
    chosen = [
        r
        for label, e in SHORT
        for r in rows
        if (r["setting"]["label"], r["setting"]["epsilon"], r["setting"]["policy"])
        == (label, e, "strict")
    ]
    return points(
        chosen, {k: COLUMNS[k] for k in ("cosine", "sentence_cosine", "rouge_l", "kept", "map")}
    )


def ideas() -> str:
    """What was tried, less the shipped setting."""
    data = load("ideas")
    results = data["results"]
    lines = [
        [
            f"{row['epsilon']:g}",
            row["idea"],
            figure(row["cosine"]),
            *(
                _difference(row["gain"][k]) if k in row["gain"] else "-"
                for k in ("cosine", "plausibility", "map")
            ),
            figure(row["kept"]) if "kept" in row else "-",
        ]
        for row in results["rows"]
    ]
    header = [
        "epsilon",
        "idea",
        "words' cosine",
        "gain",
        "gain in plausibility (nats)",
        "gain of the best guesser",
    ]
    return (
        f"## Ideas that were tried\n\n`{data['circumstances']['command']}`: {results['n_words']} "
        "private words of training sentences that are never tested on; gains over the shipped "
        f"setting, paired over sentences.\n\n{learned(results['rows'])}\n\n"
        f"{table([*header, 'kept'], lines)}"
    )


def learned(rows: list[Row]) -> str:
    """What the ideas' intervals say of the words' cosine, for each epsilon."""
    said = []
    for epsilon in dict.fromkeys(r["epsilon"] for r in rows):
        tried = [r for r in rows if r["epsilon"] == epsilon and any(r["gain"]["cosine"].values())]
        ahead = sorted(_which(tried, "ahead"), key=lambda r: -float(r["gain"]["cosine"]["mean"]))
        best = (
            f" (most: {ahead[0]['idea']}, {_difference(ahead[0]['gain']['cosine'])})"
            if ahead
            else ""
        )
        guessed = sum("map" in r["gain"] and verdict(r["gain"]["map"]) == "ahead" for r in ahead)
        free = [
            r["idea"] for r in ahead if "map" in r["gain"] and verdict(r["gain"]["map"]) != "ahead"
        ]
        said.append(
            f"- Epsilon {epsilon:g}: of {len(tried)} ideas {len(ahead)} keep more meaning than "
            f"what is shipped{best}, {len(_which(tried, 'behind'))} keep less. Of those that "
            f"keep more, {guessed} are guessed more often"
            + (f"; not shown of: {', '.join(free)}." if free else ".")
        )
    return "\n".join(said)


def _which(rows: list[Row], wanted: str) -> list[Row]:
    return [r for r in rows if verdict(r["gain"]["cosine"]) == wanted]


def rate(found: Row) -> str:
    """A share with its interval."""
    return f"{found['share']:.3f} ({found['low']:.3f} to {found['high']:.3f})"


def attacked(rows: list[Row]) -> str:
    """What the rows say of ceilings and of repeated sends."""
    capped = [
        r["attacks"]["posterior"]
        for r in rows
        if r["attacks"]["posterior"]["success_ceiling"] is not None
    ]
    above = sum(p["success"]["low"] > p["success_ceiling"] for p in capped)
    more = same = 0
    for row in rows:
        last = max(row["attacks"]["repeated"], key=lambda r: int(r["sends"]))
        more += last["fresh"]["low"] > last["remembered"]["high"]
        same += last["fresh"]["low"] <= last["remembered"]["high"]
    return (
        f"The best guess is above its ceiling in {above} of the {len(capped)} settings that have "
        "one. The same text, sent again and drawn anew each time, gives more away than with the "
        f"memory in {more} of {more + same} rows."
    )


def attacks() -> str:
    """Results of the package's own attacks."""
    data = load("attacks")
    lines = []
    for row in data["results"]["rows"]:
        found = row["attacks"]
        ceiling = found["posterior"]["success_ceiling"]
        sends = {r["sends"]: r for r in found["repeated"]}
        lines.append(
            [
                row["label"],
                f"{row['epsilon']:g}",
                rate(found["nearest"]["top_10"]),
                rate(found["inference"]["top_1"]),
                rate(found["posterior"]["success"]),
                "-" if ceiling is None else f"{ceiling:.3f}",
                *(rate(sends[n]["fresh"]) if n in sends else "-" for n in (5, 20)),
                rate(sends[max(sends)]["remembered"]),
                f"{found['mapping_size']:.0f}",
                rate(found["retention"]),
            ]
        )
    header = [
        "mechanism",
        "epsilon as set",
        "KNN-10",
        "MTI",
        "best guess",
        "its ceiling",
        "5 fresh sends",
        "20",
    ]
    return (
        f"## Attacks\n\n`{data['circumstances']['command']}`: {data['results']['n_sentences']} "
        f"sentences, {data['results']['n_trials']} draws each; 95 % intervals over draws. "
        f"{attacked(data['results']['rows'])}\n\n"
        + table(
            [*header, "remembered sends", f"S_t of {data['results']['n_trials']}", "N_t (kept)"],
            lines,
        )
    )
