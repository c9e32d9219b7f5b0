"""benchmarks/README.md: what was asked, a plot, the answer, and the way to the tables.

Every figure is read from results/; the sentences hold none of their own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from benchmarks.common.tables import kept, load, shown, table
from benchmarks.frontier.claims import claims
from benchmarks.papers import cape as papers_cape
from benchmarks.report import frontier as frontier_report
from benchmarks.report.classes import PRIORS
from benchmarks.report.usefulness import in_words, percent

PLOTS = "results/plots"


@dataclass(frozen=True)
class Question:
    """One section of the page.

    Attributes:
        asked: its heading.
        results: the result files that its answer reads; left out where one is missing.
        answer: makes the text.
        tables: pages of tables, by the names of the report's sections.
        plot: what it shows, and the name of its PNG; "" for none.
    """

    asked: str
    results: tuple[str, ...]
    answer: Callable[[], str]
    tables: tuple[str, ...]
    plot: tuple[str, str] = ("", "")

    def written(self) -> str:
        """Return the section as Markdown."""
        parts = [f"## {self.asked}"]
        if self.plot[1]:
            parts.append(f"![{self.plot[0]}]({PLOTS}/{self.plot[1]}.png)")
        links = ", ".join(f"[{name.replace('_', ' ')}](tables/{name}.md)" for name in self.tables)
        commands = dict.fromkeys(load(name)["circumstances"]["command"] for name in self.results)
        sources = ", ".join(f"`results/{name}.json`" for name in self.results)
        said = "; ".join(f"`{command}`" for command in commands)
        parts += [self.answer(), f"All tables: {links}. Measured by {said}; figures in {sources}."]
        return "\n\n".join(parts)


def _results(name: str) -> Any:
    return load(name)["results"]


def _listed(lines: list[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)


def usefulness() -> str:
    """What presets and peers hide, and what they leave."""
    return (
        f"{in_words(_results('usefulness'))}\n\nWhat is missed leaves as it was written: these "
        "rates, not a theorem, say how often."
    )


def tasks() -> str:
    """How many checked tasks survive."""
    results = _results("tasks")
    halves = [half for half in ("open", "held") if half in results]
    n = sum(results[half]["n_tasks"] for half in halves)
    done = {
        name: sum(sum(results[half]["tasks"][name].values()) for half in halves)
        for name in results[halves[-1]]["right"]
    }
    said = ", ".join(f"{name} {count:.0f}" for name, count in done.items())
    return f"Of {n} tasks whose answer a program checks after it was put back: {said}."


def conversations() -> str:
    """What a conversation tells beyond one message."""
    results = _results("conversations")
    growing = results["growing"]
    first, last = (growing["words"][at]["share"] for at in (0, -1))
    linked = ", ".join(
        f"{row['linked']} at epsilon {row['epsilon']:g}: {100 * row['right']:.0f} %"
        for row in results["linked"]
    )
    return (
        f"A letter that grows over {len(growing['words'])} versions: drawn anew each time, the "
        f"best guess at its illness goes from {100 * first:.0f} to {100 * last:.0f} %; with one "
        f"stand-in for the conversation (`balanced`) it stays at {100 * growing['balanced']:.0f} "
        f"%. Things of which one tells all others are guessed together, by their number: {linked}. "
        "An epsilon speaks of one thing; linked ones add up."
    )


def transcripts() -> str:
    """Whether whole conversations keep the certified epsilon, whatever the API answers."""
    results = _results("transcripts")
    worst = max(row["exact"] - row["certified"] for row in results["audit"])
    told = [
        f'`{row["api"]}` under `tools = "{row["tools"]}"`'
        for row in results["adaptive"]
        if row["differ"]["share"] > 0
    ]
    return (
        f"{len(results['audit'])} conversations of {results['n_messages']} messages, every outcome "
        "walked for every neighbour: exact epsilon less the certified one is at most "
        f"{max(worst, 0.0):g}. Of {len(results['adaptive'])} APIs that guess, with their settings, "
        f"{len(told)} told neighbours apart"
        + (f": {', '.join(told)}. " if told else ". ")
        + "A tool that answers with what it was told is not protected against, and that is what "
        "these do."
    )


def classes() -> str:
    """How often a drawn illness is guessed, by epsilon."""
    found = _results("classes")["cape"]
    rows = [
        [
            epsilon,
            str(each["CONDITION"]["outputs"]),
            *(f"{100 * each['CONDITION'][prior]['best guess']:.1f}" for prior in PRIORS),
            f"{100 * each['CONDITION']['common first']['own name']:.2f}",
        ]
        for epsilon, each in found.items()
    ]
    one = found["5"]["CONDITION"]
    header = ["epsilon", "outputs", *(f"guessed, {said}, %" for said in PRIORS.values())]
    return (
        f"Computed over all {one['members']} illnesses of the list, for an attacker who knows the "
        "mechanism; without seeing anything the best guess is right in "
        f"{100 * one['common first']['blind guess']:.1f} % where the commoner ones are likelier.\n"
        "\n" + table([*header, "leaves as itself, %"], rows)
    )


def audits() -> str:
    """Whether printed epsilons are true."""
    rows = [r for name in ("audits", "audits_causal") if kept(name) for r in _results(name)]
    certified = [r for r in rows if r["certified"] is not None]
    above = max(r["exact"] - r["certified"] for r in certified)
    published = [r for r in rows if r["mechanism"] == "cape published"]
    said = ", ".join(f"{r['nominal']:g}: {r['exact']:.2f}" for r in published)
    return (
        f"In {len(certified)} audits of certified mechanisms the exact epsilon exceeds the "
        f"certified one by at most {max(above, 0.0):g}. Published Cape, by its nominal value, has "
        f"an exact epsilon of at least {said}. Published DynText has none: what one list holds and "
        "another does not tells the two apart for certain."
    )


def counterexamples() -> str:
    """Whether published theorems hold."""
    results = _results("counterexamples")
    both = [f for f in results["cape"].values() if f["exact"] > f["claimed, both inputs"]]
    one = [f for f in results["cape"].values() if f["exact"] > f["claimed, one input"]]
    over = [f for f in results["dps-mozo"].values() if f["exact"] > f["claimed"]]
    return (
        f"Cape's theorem 4.1 does not: of {len(results['cape'])} pairs of toy inputs {len(one)} "
        "exceed it with the buckets of one input, as it is proved, and "
        f"{len(both)} also with those of both (exact {both[0]['exact']:.2f}, claimed "
        f"{both[0]['claimed, both inputs']:.2f}). DPS-MOZO's theorem B.3 does not in "
        f"{len(over)} of {len(results['dps-mozo'])} cases (divergence {over[0]['exact']:.2f}, "
        f"claimed {over[0]['claimed']:.2f}, with the paper's own setting)."
    )


def frontier() -> str:
    """What is kept at the same exact epsilon."""
    results = _results("frontier")
    found = results["claims"][frontier_report.SHORT[0][0]]
    verdicts = Counter(claim.holds for claim in claims(found))
    said = ", ".join(f"{holds} {n}" for holds, n in verdicts.items())
    return (
        f"{results['n_sentences']} sentences, {results['n_words']} private words, policy `strict`, "
        f'one draw each:\n\n{frontier_report.short_table()}\n\n"Kept": how often the private word '
        'itself comes out; "MAP": how often the best guess of an attacker who knows the mechanism '
        f"is right. Of {verdicts.total()} claims that certified Cape is at least as good as "
        f"others: {said}. {frontier_report.why(found['at equal exact epsilon'])}"
    )


def attacks() -> str:
    """How often attacks succeed."""
    rows = _results("attacks")["rows"]
    one = next(r for r in rows if (r["label"], r["epsilon"]) == ("Cape certified", 5.0))["attacks"]
    rate = frontier_report.rate
    return (
        "At epsilon 5 of certified Cape, word by word: the private word is among the ten nearest "
        f"of what left in {rate(one['nearest']['top_10'])}, a masked model names it in "
        f"{rate(one['inference']['top_1'])}, and the best guess with the mechanism known is right "
        f"in {rate(one['posterior']['success'])} (by context alone "
        f"{one['posterior']['context_alone']:.3f}). {frontier_report.attacked(rows)}"
    )


def papers() -> str:
    """Whether the papers' tables come out."""
    results = _results("papers")
    rows = [r for r in results["rows"] if r["setting"]["label"] == "Cape, masked"]
    theirs = papers_cape.PRIVACY["Cape, masked"]
    apart = [
        100 - 100 * row["figures"]["knn_10"]["mean"] - theirs[papers_cape.NOMINAL.index(e)]
        for row in rows
        if (e := row["setting"]["epsilon"]) in papers_cape.NOMINAL
    ]
    named = results["word_inference"]["IMDb"]["success"]["original text read"]
    return (
        "Published Cape's protection against the nearest-word attack is between "
        f"{min(apart):+.1f} and {max(apart):+.1f} points of the paper's figures, on other "
        "sentences and smaller models. DynText's masked-word inference does not come out: our "
        f"model names {percent(named)} % of the private words of untouched IMDb texts. "
        "The tables say what differs."
    )


def words() -> str:
    """Whether certified Cape is ahead of its peers, word by word."""
    results, lines = _results("words"), []
    for name, rows in results["claims"].items():
        for label in dict.fromkeys(row["ours"] for row in rows):
            own = [row for row in rows if row["ours"] == label and row["verdict"]]
            verdicts = Counter(row["verdict"] for row in own)
            said = ", ".join(f"{n} {verdict}" for verdict, n in verdicts.most_common())
            lines.append(f"- {name}, {label}: of {len(own)} comparisons {said}")
    told = "\n".join(lines)
    return (
        f"{results['n_sentences']} sentences, {results['n_words']} words, the best guess at "
        f"{results['n_guessed']}; against randomized response over two shortlists and certified "
        "DynText at epsilon 2 to 8, in two similarities and plausibility. *Demoted* is what is "
        f"not said to be not demoted.\n\n{told}"
    )


def shapes() -> str:
    """Which shapes the rule picks, and what they gain."""
    lines = []
    for row in _results("shapes")["chosen"]:
        gains = ", ".join(
            f"{name} {found['mean']:+.3f} ({found['low']:+.3f} to {found['high']:+.3f})"
            for name, found in row["gain"].items()
        )
        price = f", price {row['guess_price']:g}" if row["profile"] == "medoids" else ""
        own = "demoted" if row["demote_self"] else "not demoted"
        shape = f"{row['profile']}, at most {row['n_shortlist']}, top {row['n_top']}{price}"
        lines.append(f"- epsilon {row['epsilon']:g}, {own}: {shape}. Gains: {gains}")
    told = "\n".join(lines)
    return (
        "The shape with the largest cosine among those guessed no more often than what was shipped "
        f"before, on calibration text, and its gain over that:\n\n{told}"
    )


def reconstruction() -> str:
    """Whom the strongest attackers find."""
    lines = []
    for row in _results("reconstruction")["rows"]:
        names = ("best guess", "joint", "all else, unseen", "all else known")
        found = ", ".join(f"{name} {percent(row[name])} %" for name in names)
        lines.append(f"- {row['label']}, epsilon {row['epsilon']:g}: {found}")
    told = "\n".join(lines)
    return (
        "How often the private word is named, by attackers who know the mechanism: from public "
        "words and the output; with a reconstruction of the whole sentence; and by one who knows "
        f"all other words, without and with the output:\n\n{told}"
    )


def ideas() -> str:
    """What else was tried."""
    return frontier_report.learned(_results("ideas")["rows"])


def speed() -> str:
    """What a prompt costs in time."""
    from benchmarks.report.run import cold_start

    latency, grown = _results("latency"), _results("speed")
    prompts = [r for r in latency["per_prompt"] if r["threads"] == 2]
    drawn = "; ".join(
        f"{r['prompt']} take {r['certified_ms']:.1f} ms, {r['ratio_to_bare_pass']:.2f} times the "
        "model's bare pass"
        for r in prompts
    )
    longest = grown["lengths"][-1]
    found = {r["prompt"]: r["ms"] for r in grown["beside"]}
    prompt, ms = next(iter(found.items()))
    names = {"identifiers": "`identifiers` takes", "presidio": "Presidio's patterns"}
    beside = [f"{said} {shown(ms[k], ' ms')}" for k, said in names.items() if k in ms]
    return (
        f"Certified Cape, two threads: {drawn}. Time grows with the "
        f"length: {longest['n_words']:,} words take {shown(longest['ms'], ' ms')}. For {prompt} "
        f"{', '.join(beside)}. {cold_start(latency)}"
    )


def proxy() -> str:
    """What the proxy adds."""
    results = _results("proxy")
    whole = results["whole"]
    added = shown(whole["identifiers"]["added"]["whole_median_ms"], " ms")
    load_ = results["load"]
    peer = ""
    if "whole_median_ms" in whole["identifiers"]["of_peer"]:
        part = shown(whole["identifiers"]["of_peer"]["whole_median_ms"])
        peer = f", {part} of what `llm-shield-proxy` adds"
    return (
        f"Under `identifiers` {added} to an answer{peer}. {load_['n_conversations']} streams at "
        f"once and {load_['requests_per_second']:.0f} requests a second went through for "
        f"{load_['seconds']:.0f} s with {load_['n_errors']} errors, in at most "
        f"{load_['memory_mb']['end']:.0f} MB."
    )


def bulk() -> str:
    """What engines add to rows."""
    found = _results("bulk")["identifiers"]
    ways = {k: v for k, v in found.items() if isinstance(v, Mapping)}
    rows = [
        [way, f"{v['cpu_seconds']:.1f}", f"{v['start_cpu_seconds']:.1f}"] for way, v in ways.items()
    ]
    busy = " to ".join(f"{n:.0f}" for n in found["load_of_the_machine"])
    return (
        f"{found['rows']:,} rows under `identifiers`, processor seconds of all processes, one "
        f"round each on a shared machine ({busy} programs waited for its two cores): an "
        "indication only.\n\n" + table(["engine, workers", "in all", "of which the start"], rows)
    )


MISSED = 2 / 3  # of an interval's lower end: kinds that are missed often


def identifiers() -> str:
    """Which identifiers are found."""
    results = _results("identifiers")
    found = results["quality"]["held out"]
    both = [k for k, v in found.items() if {"ours", "presidio"} <= set(v)]
    missed = [
        kind
        for kind, tools in found.items()
        if (recall := tools.get("ours", {}).get("overlap", {}).get("recall", {})).get("n")
        and recall["interval_95"][0] < MISSED
    ]

    def hits(tool: str, measure: str) -> str:
        cells = [found[kind][tool]["overlap"][measure] for kind in both]
        return f"{sum(c['hits'] for c in cells)} of {sum(c['n'] for c in cells)}"

    return (
        f"On {results['n_texts']['held out']} held-out synthetic texts, of the {len(both)} kinds "
        f"that both know, found spans (recall): ours {hits('ours', 'recall')}, Presidio "
        f"{hits('presidio', 'recall')}; right findings (precision): {hits('ours', 'precision')} "
        f"and {hits('presidio', 'precision')}. Kinds of which more than a third may be missed: "
        f"{', '.join(missed)}."
    )


def extraction() -> str:
    """Whether extractors help."""
    rows = _results("extraction")["rows"]
    said = "; ".join(
        f"epsilon {row['epsilon']:g}: {row['noisy']['alignment']['mean']:.2f}, lexical "
        f"{row['lexical']['alignment']['mean']:.2f}, lm {row['lm']['alignment']['mean']:.2f}"
        for row in rows
    )
    return (
        "Under `strict`, how near the answer is to the one to the original prompt (cosine), as it "
        f"comes and after each extractor: {said}. Part of the gain is the local model's own "
        "knowledge of the prompt; the tables separate the two."
    )


def generation() -> str:
    """What private synthesis reaches."""
    results = _results("generation")
    methods = [m for m in results["methods"] if m["at"] == 10]
    alone = next(m["distance"] for m in methods if m["method"] == "zero-shot")
    nearer = [
        m["method"]
        for m in methods
        if m.get("distance") and m["distance"]["high"] < alone["low"] and m["epsilon"] is not None
    ]
    rows = [
        [
            m["method"],
            "infinite" if m["epsilon"] is None else f"{m['epsilon']:.2f}",
            str(m.get("n_texts", 0)),
            *(shown(m[k]) if m.get(k) else "-" for k in ("distance", "perplexity")),
        ]
        for m in methods
    ]
    return (
        f"{results['text']}; distance to held-out reviews (0: as other reviews) and perplexity. "
        "Private methods shown to come nearer than writing from the query alone (intervals that "
        f"do not touch): {', '.join(nearer) or 'none, with this small model and so few texts'}."
        "\n\n" + table(["method", "epsilon", "texts", "distance", "perplexity"], rows)
    )


def membership() -> str:
    """Whether membership in demonstrations can be told."""
    rows = _results("membership")["rows"]

    def auc(row: Mapping[str, Any]) -> str:
        low, mean, high = (100 * row["probability"][k] for k in ("low", "auc", "high"))
        return f"{mean:.0f} ({low:.0f} to {high:.0f})"

    bare = next(r for r in rows if r["variant"] == "no privacy")
    told = [
        f"{r['variant']} {r['epsilon']:g}: {auc(r)}"
        for r in rows
        if r.get("budget") == "all 15 answers" and r["epsilon"] in (1.0, 8.0)
    ]
    return (
        "Area under the curve of an attacker who reads the probability of the right label, in "
        f"percent (50: nothing told). Without privacy {auc(bare)}; DPS-MOZO by variant and "
        f"epsilon for all answers, {', '.join(told)}."
    )


def answers() -> str:
    """What private demonstrations are worth."""
    rows = _results("answers")
    chosen = [r for r in rows if r["epsilon"] in (0, None, 1.0, 8.0)]
    names = [f"{r['method']} at {r['epsilon']:g}" if r["epsilon"] else r["method"] for r in chosen]
    said = "; ".join(f"{name} {percent(r)}" for name, r in zip(names, chosen, strict=True))
    return f"Chance of the right label, percent: {said}."


QUESTIONS = (
    Question(
        "What is hidden, and what is left of the task?",
        ("usefulness",),
        usefulness,
        ("usefulness",),
        ("Spans hidden against task words kept", "usefulness"),
    ),
    Question("Are tasks still done rightly?", ("tasks",), tasks, ("tasks",)),
    Question("How well is a drawn illness guessed?", ("classes",), classes, ("classes",)),
    Question(
        "Does a conversation tell more with time?",
        ("conversations",),
        conversations,
        ("conversations",),
    ),
    Question(
        "Can an API that chooses its answers learn more?",
        ("transcripts",),
        transcripts,
        ("conversations",),
    ),
    Question("Are the printed epsilons true?", ("audits",), audits, ("audits",)),
    Question(
        "Do the published theorems hold?",
        ("counterexamples",),
        counterexamples,
        ("counterexamples",),
    ),
    Question(
        "What meaning is kept at the same exact epsilon?",
        ("frontier", "frontier_prompts"),
        frontier,
        ("frontier",),
        ("Meaning kept against exact epsilon", "few-cosine-against-epsilon"),
    ),
    Question(
        "How often do attacks succeed?",
        ("attacks",),
        attacks,
        ("attacks", "frontier"),
        ("Meaning kept against the best guess", "few-cosine-against-map"),
    ),
    Question(
        "What does an attacker find who reads the whole sentence?",
        ("reconstruction",),
        reconstruction,
        ("reconstruction",),
    ),
    Question("Is certified Cape ahead, word by word?", ("words",), words, ("words",)),
    Question("Which shapes are the defaults?", ("shapes",), shapes, ("shapes", "calibration")),
    Question("What else was tried?", ("ideas",), ideas, ("ideas",)),
    Question("Do the papers' tables come out?", ("papers",), papers, ("papers",)),
    Question(
        "What does it cost in time?",
        ("latency", "speed"),
        speed,
        ("latency", "speed", "causal_speed"),
        ("Time against the length of the prompt", "speed-by-length"),
    ),
    Question("What does the proxy add?", ("proxy",), proxy, ("proxy",)),
    Question("What do engines add to many rows?", ("bulk",), bulk, ("bulk",)),
    Question("Which identifiers are found?", ("identifiers",), identifiers, ("identifiers",)),
    Question(
        "Do extractors bring the answer back?",
        ("extraction",),
        extraction,
        ("extraction",),
        ("Coherence and alignment against epsilon", "extraction"),
    ),
    Question(
        "What can be written from private documents?",
        ("generation",),
        generation,
        ("generation",),
    ),
    Question(
        "Can it be told which demonstrations were used?",
        ("membership",),
        membership,
        ("membership",),
    ),
    Question("What are private demonstrations worth?", ("answers",), answers, ("answers",)),
)
INTRO = """# Benchmarks

Each question with its answer; the tables behind it are a click away. Written by `python -m
benchmarks report` from `results/`, where every figure has its command, commit and machine. In
brackets 95 % intervals. `python -m benchmarks all --quick` measures little of everything in
minutes; SVGs of the plots are made on demand: `SANITIZER_BENCHMARK_SVG=1 python -m benchmarks
report`."""


def page() -> str:
    """Return benchmarks/README.md."""
    asked = [q for q in QUESTIONS if all(kept(name) for name in q.results)]
    return "\n\n".join([INTRO, *(question.written() for question in asked)]) + "\n"
