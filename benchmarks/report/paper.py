"""The figures of docs/paper.md, from results/."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from benchmarks.common.tables import load, table
from benchmarks.report import conversations, counterexamples, frontier, questions
from benchmarks.report.usefulness import short_table

BLOCK = re.compile(r"(<!-- (\w+): begin -->\n).*?(<!-- \2: end -->)", re.DOTALL)


def _results(name: str) -> Any:
    return load(name)["results"]


def audits() -> str:
    """Exact epsilons by mechanism and nominal value."""
    rows = _results("audits")
    nominal = sorted({r["nominal"] for r in rows})
    found = {(r["mechanism"], r["nominal"]): r for r in rows}
    names = list(dict.fromkeys(r["mechanism"] for r in rows))

    def nats(value: Any) -> str:
        return "infinite" if value == "inf" else f"{value:.2f}"

    body = [[name, *(nats(found[name, e]["exact"]) for e in nominal)] for name in names]
    body += [
        [f"{name}, as claimed", *(nats(found[name, e]["claimed"]) for e in nominal)]
        for name in names
        if found[name, nominal[0]]["claimed"] is not None
    ]
    return table(["exact epsilon at nominal", *(f"{e:g}" for e in nominal)], body)


def transcripts() -> str:
    """What whole conversations told."""
    results = _results("transcripts")
    body = [
        [row["entrance"], row["thing"], f"{row['certified']:g}", f"{row['exact']:.6f}"]
        for row in results["audit"]
    ]
    told = table(["entrance", "thing", "certified", "exact"], body)
    return f"{told}\n\n{questions.transcripts()}"


def linked() -> str:
    """What linked things tell together."""
    return conversations.linked(_results("conversations")["linked"])


BLOCKS: dict[str, Callable[[], str]] = {
    "audits": audits,
    "cape": lambda: counterexamples.cape(_results("counterexamples")["cape"]),
    "mozo": lambda: counterexamples.dps_mozo(_results("counterexamples")["dps-mozo"]),
    "classes": questions.classes,
    "conversations": questions.conversations,
    "linked": linked,
    "transcripts": transcripts,
    "frontier": frontier.short_table,
    "usefulness": short_table,
    "tasks": questions.tasks,
}


def in_paper(text: str) -> str:
    """Return docs/paper.md with its blocks of figures made anew."""
    return BLOCK.sub(lambda found: f"{found[1]}{BLOCKS[found[2]]()}\n{found[3]}", text)
