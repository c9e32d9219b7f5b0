"""The tables of results/usefulness.json, as Markdown.

The main one has the rows that were agreed on when the reader took the place of the rules, with what
the last detector by rules reached (`balanced`, commit e883eec), and what was aimed at. Its figures
for `people`, `tasks` and texts with nothing private are from other texts of the same make.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from benchmarks.common.tables import table
from benchmarks.usefulness.prompts import HELD, OPEN
from benchmarks.usefulness.tab import DIRECT, PRECISION, QUASI
from sanitizer.risk.evaluation import ALL_BUT_FACTS, BESIDE, OTHERS, TASKS, TOLD, UNTOUCHED

WHOLE = f"{ALL_BUT_FACTS}, whole"
HELD_SETS, OPEN_SETS = "held sets", "open sets"
PEOPLE, JOBS, PUBLIC, CODE = "t01_people", "t01_tasks", "t01_public", "t01_code"
SHORT = {PEOPLE: "people", JOBS: "tasks", PUBLIC: "public knowledge", CODE: "code"}
"""Sets with a row of their own, and what they hold."""
NO_BLANKS = ("ja", "zh")


class Line(NamedTuple):
    """One row: a measure, where it is read, what the rules reached, and the aim."""

    measure: str
    where: str
    rules: str = "-"
    aim: str = "-"


LINES = (
    Line("names, whole", HELD_SETS, ".86 to .95", ".97"),
    Line("names, whole", PEOPLE, ".95", ".97"),
    Line("names, whole", JOBS, ".80", ".93"),
    Line("numbers, whole", HELD_SETS, ".82 to .91", ".96"),
    Line("numbers, whole", PEOPLE, ".83", ".96"),
    Line("attributes, whole", HELD_SETS, ".66 to .79", ".90"),
    Line("attributes, whole", PEOPLE, ".70", ".90"),
    Line("identifiers, whole", HELD_SETS),
    Line(WHOLE, HELD_SETS, ".82 to .90", ".95"),
    Line(WHOLE, PEOPLE, ".81", ".94"),
    Line(WHOLE, JOBS, ".74", ".90"),
    Line("facts, whole", PEOPLE, ".06", ".75"),
    Line("facts, whole", HELD_SETS),
    Line(TOLD, PEOPLE),
    Line(TOLD, HELD_SETS),
    Line(TASKS, HELD_SETS),
    Line(OTHERS, HELD_SETS, ".033 to .044", ".030"),
    Line(OTHERS, PEOPLE, ".048", ".040"),
    Line(OTHERS, JOBS, ".078", ".050"),
    Line(BESIDE, HELD_SETS),
    Line(UNTOUCHED, PUBLIC, "52 of 60", "5 of 60"),
    Line(UNTOUCHED, CODE, "35 of 45", "4 of 45"),
)
READ_BY_RULES = ("de", "es", "fr")
TAB = (
    Line(DIRECT, "TAB", ".988", ".99"),
    Line(QUASI, "TAB", ".863", ".90"),
    Line(PRECISION, "TAB", ".52", ".65"),
)
PRESIDIO, TIMES_PRESIDIO = "presidio", ("2.1", "1.0")
DETAILS = {
    "texts": "",
    **{f"{name}: whole; touched": name for name in ("names", "numbers", "attributes")},
    "identifiers": "identifiers, whole",
    f"{ALL_BUT_FACTS}: whole; touched": ALL_BUT_FACTS,
    "facts: whole; or warned about": "facts",
    "task words kept": TASKS,
    "others changed": OTHERS,
    "beside": BESIDE,
    "nothing private: changed": UNTOUCHED,
    "ms": "",
}


def share(found: Mapping[str, float] | None) -> str:
    """Return a share with three digits; "-" if nothing was counted."""
    return "-" if found is None else f"{found['mean']:.3f}".removeprefix("0")


def of(found: Mapping[str, float] | None) -> str:
    """Return how many of how many."""
    return "-" if found is None else f"{round(found['mean'] * found['n'])} of {found['n']}"


def main_table(results: Mapping[str, Any]) -> str:
    """Return the main table: a row for each measure and place, a column for each tool."""
    tools = _tools(results)
    lines = [*_lines(results), *_languages(results), *_of_tab(results), *_times(results, tools)]
    return table(["", "by rules", "aim", *tools], lines)


def _tools(results: Mapping[str, Any]) -> list[str]:
    return list(next(iter(results["sets"].values()))["tools"])


def _lines(results: Mapping[str, Any]) -> Iterator[list[str]]:
    sets = results["sets"]
    groups = {
        HELD_SETS: [name for name in HELD if name in sets],
        OPEN_SETS: [name for name in OPEN if name in sets],
    }
    for each in LINES:
        line = each
        if line.where == HELD_SETS and not groups[HELD_SETS]:
            line = Line(line.measure, OPEN_SETS)  # the others say nothing of these
        found = [sets[name] for name in groups.get(line.where, [line.where]) if name in sets]
        if found:
            name = f"{line.measure}: {SHORT.get(line.where, line.where)}"
            yield [name, line.rules, line.aim, *_cells(found, line.measure)]


def _cells(found: Sequence[Mapping[str, Any]], measure: str) -> Iterator[str]:
    """Yield the figure of each tool, from the least to the most where there are several sets."""
    shown = of if measure == UNTOUCHED else share
    for tool in found[0]["tools"]:
        own = [each["tools"][tool]["measures"].get(measure) for each in found]
        there = sorted((each for each in own if each is not None), key=lambda each: each["mean"])
        ends = dict.fromkeys(map(shown, there[:: max(1, len(there) - 1)]))
        yield " to ".join(ends) or "-"


def _languages(results: Mapping[str, Any]) -> Iterator[list[str]]:
    for language, found in results["languages"].items():
        rules, aims = ("refused", "refused"), (".75" if language in NO_BLANKS else ".90", ".05")
        if language in READ_BY_RULES:
            rules, aims = (".69 to .78", ".06 to .11"), (".93", ".03")
        for measure, told, aim in zip((WHOLE, OTHERS), rules, aims, strict=True):
            yield [f"{measure}: {language}", told, aim, *_cells([found], measure)]


def _of_tab(results: Mapping[str, Any]) -> Iterator[list[str]]:
    if "tab" in results:
        for line in TAB:
            cells = _cells([results["tab"]], line.measure)
            yield [f"TAB: {line.measure}", line.rules, line.aim, *cells]


def _times(results: Mapping[str, Any], tools: Sequence[str]) -> Iterator[list[str]]:
    group = next(
        (results["groups"][g] for g in (HELD_SETS, OPEN_SETS) if g in results["groups"]), None
    )
    if group is None:
        return
    ms = {tool: group["tools"][tool]["ms"]["mean"] for tool in tools}
    yield ["milliseconds a text, median", "-", "-", *(f"{ms[tool]:.1f}" for tool in tools)]
    if PRESIDIO in ms:
        ratios = (f"{ms[tool] / ms[PRESIDIO]:.2f}" for tool in tools)
        yield ["times Presidio's", *TIMES_PRESIDIO, *ratios]


def details(parts: Mapping[str, Mapping[str, Any]], tools: Sequence[str]) -> str:
    """Return a row for each part (set, language or origin) and tool."""
    body = [
        [name, tool, *_detail(found["tools"][tool])]
        for name, found in parts.items()
        for tool in tools
        if tool in found["tools"]
    ]
    return table(["", "tool", *DETAILS], body)


def _detail(found: Mapping[str, Any]) -> Iterator[str]:
    measures = found["measures"]
    for head, name in DETAILS.items():
        if head == "texts":
            yield str(found["n_texts"]) + (
                f" ({found['n_refused']} refused)" if found["n_refused"] else ""
            )
        elif head == "ms":
            yield "-" if found["ms"] is None else f"{found['ms']['mean']:.1f}"
        elif name == UNTOUCHED:
            yield of(measures.get(name))
        elif name == "facts":
            yield f"{share(measures.get('facts, whole'))}; {share(measures.get(TOLD))}"
        elif head.endswith("touched"):
            yield "; ".join(share(measures.get(f"{name}, {how}")) for how in ("whole", "touched"))
        else:
            yield share(measures.get(name))
