"""Figures that are counted, joined or rearranged for pages; templates use each function by its name
(`benchmarks.report.template`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from benchmarks.common.tables import load, written
from benchmarks.frontier.claims import ATTACKS, claims, verdict
from benchmarks.usefulness.prompts import HELD
from benchmarks.usefulness.tab import DIRECT, PRECISION, QUASI
from sanitizer.risk.evaluation import ALL_BUT_FACTS, OTHERS, UNTOUCHED

Row = dict[str, Any]
WHOLE = f"{ALL_BUT_FACTS}, whole"
HELD_SETS, OPEN_SETS = "held sets", "open sets"
GROUPS = {
    HELD_SETS: "held-out prompts",
    OPEN_SETS: "prompts that the reader was trained on",
}
"""Groups of sets that short tables are about, the first that was measured, and what they hold."""
ASKED_ABOUT = ("balanced", "deidentify", "presidio", "spacy")
READ_BY_RULES, NO_BLANKS = ("de", "es", "fr"), ("ja", "zh")
FRONTIER_SHORT = (
    ("Cape certified", 5.0),
    ("Cape certified, not demoted", 5.0),
    ("Cape published", 10.0),
    ("DynText certified", 5.0),
    ("SANTEXT", 5.0),
    ("exponential, shortlist", 5.0),
    ("randomized response, shortlist", 5.0),
)
KINDS_OF_EXACT = {"theorem": "", "all inputs": "", "walked": "≥ ", "bound": "≤ "}
MISSED = 2 / 3
"""Kinds of identifiers whose recall may be lower, by the end of its interval, are named."""


def _results(name: str) -> Any:
    return load(name)["results"]


# ---- usefulness ----


def group() -> tuple[str, Mapping[str, Any]]:
    """Return what short tables are about: its description, and its figures."""
    results = _results("usefulness")
    measured = results["groups"] | results["sets"]
    name = next((name for name in GROUPS if name in measured), next(iter(measured)))
    what = f"{measured[name]['n_texts']:,} {GROUPS.get(name, f'texts of {name}')}"
    return what, measured[name]


def texts_measured() -> str:
    """Return the texts that short tables are about."""
    return group()[0]


def tools() -> Mapping[str, Any]:
    """Return tool -> its figures in short tables."""
    found: Mapping[str, Any] = group()[1]["tools"]
    return found


def beside() -> Iterator[Row]:
    """Yield what each tool reached on prompts, names of many origins, code, public knowledge."""
    parts = _results("peers")["sets"] | {"held": _results("peers")["groups"]["held sets"]}
    names = {"held": "held", "origins": "t03_origins", "code": "t01_code", "public": "t01_public"}
    for tool in parts["held"]["tools"]:
        own = {name: parts[part]["tools"][tool]["measures"] for name, part in names.items()}
        yield {"tool": tool} | own


def names_of_tools() -> str:
    """Return the tools as cells of a header."""
    return " | ".join(tools())


def rule_of_tools() -> str:
    """Return as many cells of the rule below a header."""
    return " | ".join("---" for _ in tools())


def of_tools() -> dict[str, str]:
    """Return measure -> what the tools that people ask about reached."""
    chosen = {name: each for name, each in tools().items() if name in ASKED_ABOUT}
    names = next(iter(chosen.values()))["measures"]
    found = {
        name: ", ".join(
            f"{tool} {written(each['measures'].get(name), '%')} %" for tool, each in chosen.items()
        )
        for name in names
    }
    times = (f"{tool} {written(own['ms'], '3 ms')}" for tool, own in chosen.items())
    return found | {"ms": ", ".join(times)}


def n_texts() -> str:
    """Return how many texts of usefulness were measured, and how many private spans they have."""
    sets = _results("usefulness")["sets"].values()
    texts, spans = (sum(each[n] for each in sets) for n in ("n_texts", "n_spans"))
    return f"{texts:,} texts with {spans:,} private spans"


def reached() -> dict[str, dict[str, str]]:
    """Return place -> measure -> a cell for each tool, from the least to the most of the sets."""
    results = _results("usefulness")
    sets = results["sets"]
    held = [each for name, each in sets.items() if name in HELD]
    places = {
        HELD_SETS: held or list(sets.values()),
        **{name: [found] for name, found in sets.items()},
    }
    places |= {name: [found] for name, found in results["languages"].items()}
    if "tab" in results:
        places["tab"] = [results["tab"]]
    found: dict[str, dict[str, str]] = {}
    for place, parts in places.items():
        names = {m for part in parts for tool in part["tools"].values() for m in tool["measures"]}
        found[place] = {name: " | ".join(_least_and_most(parts, name)) for name in names}
    return found


def _least_and_most(parts: list[Mapping[str, Any]], measure: str) -> Iterator[str]:
    spec = "of" if measure == UNTOUCHED else "s"
    for tool in parts[0]["tools"]:
        own = [part["tools"][tool]["measures"].get(measure) for part in parts]
        there = sorted((each for each in own if each), key=lambda each: float(each["mean"]))
        ends = dict.fromkeys(written(each, spec) for each in there[:: max(1, len(there) - 1)])
        yield " to ".join(ends) or "-"


def languages() -> Iterator[Row]:
    """Yield the rows of the main table on languages but English."""
    for language in _results("usefulness")["languages"]:
        rules, aims = ("refused", "refused"), (".75" if language in NO_BLANKS else ".90", ".05")
        if language in READ_BY_RULES:
            rules, aims = (".69 to .78", ".06 to .11"), (".93", ".03")
        for measure, rule, aim in zip((WHOLE, OTHERS), rules, aims, strict=True):
            cells = reached()[language][measure]
            yield {"what": f"{measure}: {language}", "rules": rule, "aim": aim, "cells": cells}


def tab() -> Iterator[Row]:
    """Yield the rows of the main table on the Text Anonymization Benchmark, if it was measured."""
    for measure, rules, aim in (
        (DIRECT, ".988", ".99"),
        (QUASI, ".863", ".90"),
        (PRECISION, ".52", ".65"),
    ):
        if "tab" in reached():
            cells = reached()["tab"][measure]
            yield {"measure": measure, "rules": rules, "aim": aim, "cells": cells}


def ms_of_tools() -> str:
    """Return each tool's time, as cells."""
    return " | ".join(f"{each['ms']['mean']:.1f}" for each in tools().values())


def cores() -> str:
    """Return on how many cores usefulness was measured."""
    return str(load("usefulness")["circumstances"]["machine"]).split(", ")[1]


def times_of_presidio() -> str:
    """Return each tool's time as a multiple of Presidio's, as cells."""
    ms = {name: each["ms"]["mean"] for name, each in tools().items()}
    return " | ".join(f"{ms[n] / ms['presidio']:.2f}" if "presidio" in ms else "-" for n in ms)


def details() -> Iterator[Row]:
    """Yield rows of all tools by set, and of our first one by language and origin of names."""
    results, all_ = _results("usefulness"), list(tools())
    parts = ((results["sets"], all_), (results["languages"] | results["origins"], all_[:1]))
    for wholes, chosen in parts:
        for name, found in wholes.items():
            for tool in chosen:
                own = found["tools"].get(tool, {"n_texts": 0, "n_refused": 0, "measures": {}})
                refused = f" ({own['n_refused']} refused)" if own["n_refused"] else ""
                yield own | {"name": name, "tool": tool, "texts": f"{own['n_texts']}{refused}"}


def by_class() -> Iterator[Row]:
    """Yield spans hidden whole by class, a cell for each tool."""
    some = next(iter(tools().values()))["measures"]
    for name in sorted(m for m in some if m.split(",")[0].isupper() and "whole" in m):
        cells = (written(found["measures"].get(name), "%") for found in tools().values())
        yield {"class": name.partition(",")[0], "n": some[name]["n"], "cells": " | ".join(cells)}


# ---- checked tasks ----


def tasks_done() -> str:
    """Return how many tasks each tool did correctly, of both halves."""
    halves = [found for name, found in _results("tasks").items() if name in ("open", "held")]
    names = halves[0]["right"]
    right = {n: sum(sum(h["tasks"].get(n, {}).values()) for h in halves) for n in names}
    n_tasks = sum(half["n_tasks"] for half in halves)
    done = "; ".join(f"{name} {n:.0f}" for name, n in right.items())
    return f"Of {n_tasks} tasks whose restored answer a program checks, done correctly: {done}."


def tasks_right() -> Iterator[Row]:
    """Yield for each tool what it did correctly of each half."""
    results = _results("tasks")
    halves = {half: results.get(half, {}).get("right", {}) for half in ("open", "held")}
    for name in halves["open"]:
        yield {"tool": name} | {half: found.get(name) for half, found in halves.items()}


def tasks_by_task() -> str:
    """Return the share of draws in which each task was done correctly, as a table."""
    results = _results("tasks")
    halves = {n: results[h] for h, n in (("open", "open"), ("held", "held out")) if h in results}
    names = list(next(iter(halves.values()))["right"])
    lines = [["share correct", "half", *names], ["---"] * (2 + len(names))]
    for half, found in halves.items():
        for task, kind in found["kinds"].items():
            own = [found["tasks"].get(name) for name in names]
            cells = ["-" if each is None else f"{each[task]:g}" for each in own]
            lines.append([f"{kind}: {task}", half, *cells])
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


# ---- privacy ----


def audited() -> list[Row]:
    """Return all audits, those of the causal model too."""
    return [*_results("audits"), *_results("audits_causal")]


def exact_epsilons() -> Iterator[Row]:
    """Yield by mechanism the exact epsilon at each nominal one, then what is claimed."""
    rows = _results("audits")
    for suffix, key in (("", "exact"), (", as claimed", "claimed")):
        for name in dict.fromkeys(row["mechanism"] for row in rows):
            found = {f"{row['nominal']:g}": row[key] for row in rows if row["mechanism"] == name}
            if any(value is not None for value in found.values()):
                yield {"mechanism": name + suffix, "at": found}


def most_over_certified() -> float:
    """Return the largest exact epsilon less the certified one."""
    rows = [row for row in audited() if row["certified"] is not None]
    return max(0.0, *(round(float(row["exact"] - row["certified"]), 9) for row in rows))


def n_certified_audits() -> int:
    """Return how many audits were of certified mechanisms."""
    return sum(row["certified"] is not None for row in audited())


def published_cape() -> str:
    """Return published Cape's exact epsilon at each nominal one."""
    rows = [row for row in _results("audits") if row["mechanism"] == "cape published"]
    return ", ".join(f"{row['nominal']:g}: {row['exact']:.2f}" for row in rows)


def exceeded() -> Row:
    """Return how many counterexamples exceed what is claimed."""
    results = _results("counterexamples")
    cape, mozo = (list(results[name].values()) for name in ("cape", "dps-mozo"))
    both = [case for case in cape if case["exact"] > case["claimed, both inputs"]]
    of_paper = next(iter(mozo))
    return {
        "cape": len(cape),
        "one": sum(c["exact"] > c["claimed, one input"] for c in cape),
        "both": len(both),
        "worst": max(both, key=lambda c: float(c["exact"])),
        "mozo": len(mozo),
        "mozo exceeded": sum(c["exact"] > c["claimed"] for c in mozo),
        "paper": of_paper,
    }


def classes_of() -> dict[str, list[Row]]:
    """Return mechanism -> rows by epsilon and class."""
    return {
        mechanism: [
            {"epsilon": epsilon, "class": name, **each}
            for epsilon, classes in found.items()
            for name, each in classes.items()
        ]
        for mechanism, found in _results("classes").items()
    }


def illnesses() -> list[Row]:
    """Return the rows of certified Cape over illnesses."""
    return [row for row in classes_of()["cape"] if row["class"] == "CONDITION"]


def versions() -> Row:
    """Return how often a growing letter is guessed, by number of versions, and what a part of the
    versions says.
    """
    growing = _results("conversations")["growing"]
    words = growing["words"]
    return {
        "n": len(words),
        "first": words[0],
        "last": words[-1],
        "after": {str(n): words[n - 1] for n in (1, 2, 5, 10, 20) if n <= len(words)},
    }


def linked_things() -> str:
    """Return how often linked things are guessed, in one line."""
    return ", ".join(
        f"{row['linked']} at epsilon {row['epsilon']:g}: {100 * row['right']:.0f} %"
        for row in _results("conversations")["linked"]
    )


def linked_rows() -> Iterator[Row]:
    """Yield how often linked things are guessed, with the interval of what was sampled."""
    for row in _results("conversations")["linked"]:
        yield row | {"guessed": row.get("interval", row["right"])}


def adaptive_apis() -> Row:
    """Return which APIs distinguished neighbours, and the largest exact epsilon over certified."""
    results = _results("transcripts")
    found = [row for row in results["adaptive"] if row["differ"]["share"]]
    return {
        "n": len(results["adaptive"]),
        "n_found": len(found),
        "n_audits": len(results["audit"]),
        "found": ", ".join(f'`{r["api"]}` under `tools = "{r["tools"]}"`' for r in found) or "none",
        "over": max(0.0, *(round(r["exact"] - r["certified"], 9) for r in results["audit"])),
    }


def apis() -> Iterator[Row]:
    """Yield by API how often neighbours were distinguished under both rules for tools."""
    rows: dict[str, Row] = {}
    for row in _results("transcripts")["adaptive"]:
        rows.setdefault(row["api"], {"api": row["api"]})[row["tools"]] = row["differ"]
    yield from rows.values()


# ---- the frontier ----


def _point(row: Row) -> Row:
    found = row["exact_epsilon"]
    known = {"inf": "infinite", "unknown": "-"}.get(found)
    exact = known or f"{KINDS_OF_EXACT[row['exact_kind']]}{found:.2f}"
    return row | {"label": row["setting"]["label"], "exact": exact}


def points() -> list[Row]:
    """Return every point of the frontier."""
    return [_point(row) for row in _results("frontier")["rows"]]


def few_points() -> Iterator[Row]:
    """Yield the points of FRONTIER_SHORT."""
    for label, epsilon in FRONTIER_SHORT:
        for row in points():
            own = row["setting"]
            if (own["label"], own["epsilon"], own["policy"]) == (label, epsilon, "strict"):
                yield row


def claimed() -> Iterator[Row]:
    """Yield every claim about certified Cape, true or false."""
    for label, found in _results("frontier")["claims"].items():
        for claim in claims(found):
            yield {"ours": label, "claim": claim.text, "holds": claim.holds, "n": claim.counts()}


def n_claims() -> str:
    """Return how many claims about Cape as it is shipped hold."""
    found = Counter(row["holds"] for row in claimed() if row["ours"] == FRONTIER_SHORT[0][0])
    return f"Of {found.total()} claims that certified Cape is at least as good as others: " + (
        ", ".join(f"{holds} {n}" for holds, n in found.items())
    )


def compared() -> dict[str, Row]:
    """Return label of ours -> its headline, where it is behind, and why."""
    found = {}
    for label, all_ in _results("frontier")["claims"].items():
        head = all_["certified 5 less published 10"]
        equal, attacked = (all_[f"at equal {what}"] for what in ("exact epsilon", "attack success"))
        found[label] = {
            "headline": [
                {"figure": name, "difference": d, "verdict": "" if name in ATTACKS else verdict(d)}
                for name, d in head.items()
            ],
            "at epsilon": [row | {"difference": row} for row in equal if verdict(row) == "behind"],
            "at attack": [
                row | {"difference": row} for row in attacked if verdict(row) == "behind"
            ],
            "why": _why([row for row in equal if verdict(row) == "behind"]),
        }
    return found


def _why(lost: list[Row]) -> str:
    """Return what the mechanisms that are ahead have in common: how often they keep the word."""
    if not lost:
        return "Nowhere."
    more = sum(row["their_kept"] > row["kept"] for row in lost)
    ours, theirs = (sum(row[k] for row in lost) / len(lost) for k in ("kept", "their_kept"))
    return (
        f"In {more} of the {len(lost)} comparisons in which ours is behind, the other mechanism "
        f"releases the private word itself more often (on average {theirs:.1%} of the words; ours "
        f"{ours:.1%}). Rouge-L counts only such words, and a kept word has cosine 1."
    )


def shape(row: Row) -> str:
    """Return a shape of certified Cape in words."""
    own = {"medoids": ", price {guess_price:g}", "staircase": ", lambda_l {lambda_l:g}"}
    said = "{profile}, at most {n_shortlist}, top {n_top}".format(**row)
    return said + own[row["profile"]].format(**row)


def shapes_tried() -> list[Row]:
    """Return every shape that was tried."""
    return [_shaped(row) for row in _results("shapes")["table"]]


def shapes_chosen() -> list[Row]:
    """Return the shapes that the rule picks."""
    return [_shaped(row) for row in _results("shapes")["chosen"]]


def _shaped(row: Row) -> Row:
    return row | {"shape": shape(row), "demoted": "yes" if row["demote_self"] else "no"}


# ---- speed ----


def on_two_threads() -> str:
    """Return what a prompt costs, in one line."""
    return "; ".join(
        f"{r['prompt']} take {r['certified_ms']:.1f} ms, {r['ratio_to_bare_pass']:.2f} times the "
        "model's bare pass"
        for r in _results("latency")["per_prompt"]
        if r["threads"] == 2
    )


def longest() -> Row:
    """Return the longest prompt that was timed."""
    found: Row = _results("speed")["lengths"][-1]
    return found


def proxied() -> Iterator[Row]:
    """Yield what the proxy adds to an answer, whole or streamed, and to its first event."""
    results = _results("proxy")
    for name, what in (
        ("whole", "whole answer"),
        ("streamed", "streamed answer"),
        ("streamed", "first event"),
    ):
        figure = "first_median_ms" if what == "first event" else "whole_median_ms"
        ways = results[name] | {"balanced": results[f"{name}_balanced"]["balanced"]}
        row = {way: found["added"].get(figure) for way, found in ways.items()}
        yield row | {"what": what, "of peer": ways["identifiers"]["of_peer"].get(figure)}


def bulk_rows() -> dict[str, list[Row]]:
    """Return policy -> figures of each engine."""
    return {
        policy: [{"way": way, **own} for way, own in found.items() if isinstance(own, Mapping)]
        for policy, found in _results("bulk").items()
    }


# ---- peers, synthesis, extraction ----


def needed_in_all() -> Iterator[Row]:
    """Yield what leaves because it is needed, by policy."""
    for policy, found in _results("needed").items():
        if "two readers" in found:
            yield found["two readers"] | {"policy": policy}


def in_passing() -> Iterator[Row]:
    """Yield how much is hidden of what is mentioned in passing, by policy."""
    for policy in ("guarded", "balanced"):
        yield _results("needed")[policy]["in passing"] | {"policy": policy}


def needed_attacks() -> Iterator[Row]:
    """Yield how much leaves of texts that try to make it needed."""
    results = _results("needed")
    for name, found in results["balanced"]["attacks"].items():
        shares = {
            policy: results[policy]["attacks"][name]["not needed, left"]
            for policy in ("balanced", "deidentify")
        }
        yield {"texts": name, "things": found["things"]} | shares


def identifiers_found() -> Iterator[Row]:
    """Yield recall and precision on the held-out half, by type and tool."""
    for kind, found in _results("identifiers")["quality"]["held out"].items():
        row: Row = {"type": kind}
        for tool in ("ours", "presidio", "datafog"):
            for measure in ("recall", "precision"):
                own = found.get(tool, {}).get("overlap", {}).get(measure, {"hits": 0, "n": 0})
                low, high = own["interval_95"] if own["n"] else (0, 0)
                share = f"{own['hits']}/{own['n']} ({100 * low:.0f} to {100 * high:.0f} %)"
                row[f"{tool} {measure}"] = share if own["n"] else None
        yield row


def identifiers_in_all() -> Row:
    """Return hits of the kinds that we and Presidio know, and the kinds that are missed often."""
    found = _results("identifiers")["quality"]["held out"]
    both = [kind for kind, each in found.items() if {"ours", "presidio"} <= set(each)]
    row: Row = {"n_kinds": len(both)}
    for tool in ("ours", "presidio"):
        for measure in ("recall", "precision"):
            cells = [found[kind][tool]["overlap"][measure] for kind in both]
            hits, of = (sum(cell[part] for cell in cells) for part in ("hits", "n"))
            row[f"{tool} {measure}"] = f"{hits} of {of}"
    recalls = {
        kind: each.get("ours", {}).get("overlap", {}).get("recall", {"n": 0})
        for kind, each in found.items()
    }
    missed = [k for k, own in recalls.items() if own["n"] and own["interval_95"][0] < MISSED]
    return row | {"missed": ", ".join(missed)}


def methods_at_ten() -> list[Row]:
    """Return the methods of synthesis at epsilon 10."""
    return [row for row in synthesized() if row["at"] == 10]


def synthesized() -> list[Row]:
    """Return every method of synthesis; texts of AugPE were written together: one time for all."""
    rows = []
    for row in _results("generation")["methods"]:
        spent = "infinite" if row["epsilon"] is None else f"{row['epsilon']:.2f}"
        seconds = row.get("seconds")
        if seconds and seconds["low"] == seconds["high"]:
            seconds = f"{seconds['mean']:.3g} (one run)"
        rows.append({"n_texts": 0, **row, "spent": spent, "seconds": seconds})
    return rows


def nearer_than_zero_shot() -> str:
    """Return private methods shown to come nearer to real texts than writing from the query."""
    rows = methods_at_ten()
    alone = next(row["distance"] for row in rows if row["method"] == "zero-shot")
    nearer = [
        row["method"]
        for row in rows
        if row.get("distance") and row["distance"]["high"] < alone["low"] and row["epsilon"]
    ]
    return ", ".join(nearer) or "none, with this small model and so few texts"


def against_invink() -> Row:
    """Return speeds, texts and accounts of our InvisibleInk and the package `invink`."""
    peer = _results("generation")["peer"]
    clocks = {"cpu_seconds": "processor", "seconds": "wall"}
    return {
        "speed": [
            {**each, **row, "clock": clocks[row["clock"]]}
            for each in peer["speed"]
            for row in each["speeds"]
        ],
        "quality": peer["quality"],
        "accounts": peer["accounts"],
    }


def cost_by_rows() -> str:
    """Return milliseconds of a token as a line over the rows of a batch."""
    line = _results("generation")["cost"][0]["by_rows"]
    ends = ({k: 1e3 * v for k, v in line[f"{n}_interval"].items()} for n in ("start", "slope"))
    start, slope = (written(each, "3 ms") for each in ends)
    return f"{start} + {slope} a row, r2 {line['r2']:.3f}"


def memory_of_synthesis() -> str:
    """Return the memory that processes that synthesize took at most."""
    runs = _results("generation")["memory"]
    peaks = [run["peak_mb"] for run in runs]
    return f"{min(peaks):.0f} to {max(peaks):.0f} MB in {len(peaks)} runs" if runs else "-"


def costs() -> Iterator[Row]:
    """Yield milliseconds of a token by number of references."""
    for found in _results("generation")["cost"]:
        for row in found["by_tokens"]:
            ms = {key: 1e3 * value for key, value in row["seconds_per_token"].items()}
            yield row | {"threads": found["threads"], "ms": ms}


def membership_curve() -> Row:
    """Return the area under the curve without privacy, and of DPS-MOZO for all answers."""
    rows = _results("membership")["rows"]
    private = [
        f"{row['variant']} {row['epsilon']:g}: {written(row['probability'], '%')}"
        for row in rows
        if row.get("budget") == "all 15 answers" and row["epsilon"] in (1.0, 8.0)
    ]
    bare = next(row for row in rows if row["variant"] == "no privacy")
    return {"bare": bare["probability"], "private": ", ".join(private)}


def extracted() -> Row:
    """Return the rows of extraction: texts with their figures, differences, and a short line."""
    results = _results("extraction")
    labels = {"noisy": "noisy", "lexical": "lexical extractor", "lm": "lm extractor"}
    alone = {
        "asked": "local model alone, asked",
        "continued": "local model alone, continuing",
        "without_noise": "remote answer",
    }
    texts = [
        {"epsilon": f"{row['epsilon']:g}", "answer": label, **row[kind]}
        for row in results["rows"]
        for kind, label in labels.items()
    ]
    texts += [{"epsilon": "-", "answer": said, **results[way]} for way, said in alone.items()]
    names = {name: name for name in results["rows"][0]["gains"]} if results["rows"] else {}
    gains = [
        {"epsilon": row["epsilon"], "difference": name, **row["gains"][name]}
        for name in names
        for row in results["rows"]
    ]
    short = "; ".join(
        f"epsilon {row['epsilon']:g}: "
        + ", ".join(f"{kind} {row[kind]['alignment']['mean']:.2f}" for kind in labels)
        for row in results["rows"]
    )
    return {"texts": texts, "gains": gains, "short": short.replace(": noisy ", ": ")}
