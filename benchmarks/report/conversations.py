"""The README section of results/conversations.json and results/transcripts.json."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from benchmarks.common.tables import kept, load, table
from benchmarks.report.usefulness import percent

SHOWN = (1, 2, 5, 10, 20)


def share(found: Mapping[str, float]) -> str:
    """Return a rate in percent with its Wilson interval."""
    return percent({"mean": found["share"], "low": found["low"], "high": found["high"]})


def growing(results: Mapping[str, Any]) -> str:
    """Return the best guess at a growing text, before and after."""
    words = results["words"]
    after = [n for n in SHOWN if n <= len(words)]
    header = ["best guess right, %", *(f"{n} version{'s' * (n > 1)}" for n in after)]
    body = [
        ["words, drawn anew each time", *(share(words[n - 1]) for n in after)],
        ["balanced, exactly", *[f"{100 * results['balanced']:.0f}"] * len(after)],
    ]
    sent = results["balanced, as sent"]
    return (
        f"A letter that grows and is sent again ({results['n_letters']} letters; without seeing it "
        f"the best guess is right in {100 * results['blind']:.0f} %); balanced showed "
        f"{sent['stand-ins']} stand-in and charged {sent['epsilon']:g}:\n\n{table(header, body)}"
    )


def linked(results: list[Mapping[str, Any]]) -> str:
    """Return the joint guess at linked things."""
    body = [
        [
            f"{row['epsilon']:g}",
            str(row["linked"]),
            share(row["interval"]) if "interval" in row else f"{100 * row['right']:.0f}",
        ]
        for row in results
    ]
    return "Things of one class of which one tells all others:\n\n" + table(
        ["epsilon", "things", "best guess right, %"], body
    )


def resent(results: Mapping[str, Any]) -> str:
    """Return what an edited history shows."""
    said = "; ".join(
        f"{policy}: {found['stand-ins']} stand-ins for one illness, epsilon {found['epsilon']:g}"
        for policy, found in results.items()
    )
    turns = next(iter(results.values()))["turns"]
    return f"A history resent in {turns} turns, one message edited each time: {said}."


def transcripts() -> str:
    """Return the exact audit of transcripts, and what adaptive APIs told apart."""
    data = load("transcripts")
    results = data["results"]
    audit = [
        [
            row["entrance"],
            row["thing"],
            f"{row['certified']:g}",
            f"{row['exact']:.6f}",
            str(row["n_inputs"]),
            str(row["n_transcripts"]),
        ]
        for row in results["audit"]
    ]
    names = list(dict.fromkeys(row["api"] for row in results["adaptive"]))
    told = {(row["api"], row["tools"]): row["differ"] for row in results["adaptive"]}
    body = [[name, *(share(told[name, tools]) for tools in ("keep", "restore"))] for name in names]
    return (
        f"`{data['circumstances']['command']}`: conversations of {results['n_messages']} messages, "
        "every outcome of the draws walked for every neighbour; a transcript is all bytes that "
        "leave.\n\n"
        + table(["entrance", "thing", "certified", "exact", "inputs", "transcripts"], audit)
        + "\n\nPairs of neighbours that an API told apart by its answers, with the draws forced to "
        "be equal:\n\n" + table(["%", '`tools = "keep"`', '`tools = "restore"`'], body)
    )


def section() -> str:
    """Return the section for benchmarks/README.md."""
    data = load("conversations")
    results = data["results"]
    parts = [
        f"## Attacks over conversations\n\n`{data['circumstances']['command']}`: illnesses, the "
        "commoner ones likelier; the attacker knows the mechanism and the list.",
        growing(results["growing"]),
        resent(results["resent"]),
        linked(results["linked"]),
    ]
    if kept("transcripts"):
        parts.append(transcripts())
    return "\n\n".join(parts)
