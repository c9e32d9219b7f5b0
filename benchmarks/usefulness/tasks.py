"""Tasks whose answer a program can check, read from tasks_open.jsonl and tasks_held.jsonl.

A scripted answerer does what a capable model does with such a prompt: it reads what was SENT,
copies the parts it needs, and computes where numbers are there to compute with. It never sees the
original. `right` sees only the restored answer. Every person, firm and number is invented.

A line is a task: `answer` and `formula` are a pattern to `read` and a template to `write` or a
`json` value to fill, a piece of the fenced code with `old` and `new`, `rows` to sort by a formula,
or the name of a function of ANSWERS; `right` is a check of CHECKS. The held tasks are read at the
end, for figures only.
"""

from __future__ import annotations

import csv
import io
import json
import re
import sqlite3
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from datetime import date, datetime
from pathlib import Path
from typing import Any

_SPACES = re.compile(r"\s+")


class NotAnswered(Exception):
    """What was sent is not enough to answer with."""


@dataclass(frozen=True)
class Task:
    """One task.

    Attributes:
        name: of the task. kind: what it asks for, such as "translate".
        prompt: what the user writes; never in a repr.
        answer: what was sent -> an answer; raises NotAnswered.
        right: restored answer -> True if it does what was asked.
        formula: as `answer`, by a model that was told how to write formulas over hidden values;
            None where that helps nobody.
    """

    name: str
    kind: str
    prompt: str = field(repr=False)
    answer: Callable[[str], str] = field(repr=False)
    right: Callable[[str], bool] = field(repr=False)
    formula: Callable[[str], str] | None = field(default=None, repr=False)


def read(pattern: str, sent: str) -> Mapping[str, str]:
    """Return the named parts of what was sent, without white space around them.

    Raises:
        NotAnswered: it does not read like this.
    """
    found = re.search(pattern, sent, re.S)
    if found is None:
        raise NotAnswered
    return {name: part.strip() for name, part in found.groupdict().items()}


def amount(written: str) -> float:
    """Return a number as it is written in English; raise NotAnswered if it is none."""
    found = re.fullmatch(r"\W*(\d+(?:,\d{3})*(?:\.\d+)?)\W*", written.strip())
    if found is None:
        raise NotAnswered
    return float(found[1].replace(",", ""))


def block(sent: str) -> str:
    """Return the fenced code of what was sent; raise NotAnswered without any."""
    return read(r"```\w*\n(?P<code>.*?)```", sent)["code"] + "\n"


def _put(value: Any, parts: Mapping[str, str]) -> Any:
    """Return a JSON value whose strings are templates, filled."""
    if isinstance(value, dict):
        return {key: _put(inner, parts) for key, inner in value.items()}
    if isinstance(value, list):
        return [_put(inner, parts) for inner in value]
    return value.format(**parts) if isinstance(value, str) else value


def answerer(form: str | Mapping[str, Any]) -> Callable[[str], str]:
    """Return what answers by one form of a task's line."""
    if isinstance(form, str):
        return ANSWERS[form]
    return lambda sent: _answered(form, sent)


def _answered(form: Mapping[str, Any], sent: str) -> str:
    read(form.get("needs", ""), sent)
    if "old" in form:
        code = block(sent)
        if code.count(form["old"]) != 1:
            raise NotAnswered
        return code.replace(form["old"], form["new"])
    if "rows" in form:  # lines are sorted by hidden values, by whoever restores the answer
        found = list(re.finditer(form["rows"], sent, re.M))
        if not found:
            raise NotAnswered
        rows = "\n".join(f"{row['key']} :: {row['row']}" for row in found)
        return f"{{{{= ROWS {form['how']}\n{rows}\n}}}}"
    parts = read(form["read"], sent)
    if "json" in form:
        return json.dumps(_put(form["json"], parts))
    return str(form["write"].format(**parts))


def _is_json(expected: Any, answer: str) -> bool:
    try:
        return bool(_plain(json.loads(answer)) == _plain(expected))
    except ValueError:
        return False


def _plain(value: Any) -> Any:
    """Return a JSON value in which numbers are strings: an answer may write them so."""
    if isinstance(value, dict):
        return {key: _plain(inner) for key, inner in value.items()}
    return [_plain(inner) for inner in value] if isinstance(value, list) else str(value)


def _runs(expected: Mapping[str, Any], answer: str) -> bool:
    """Return True if Python code does what is expected. Only answers of our own scripted answerers
    are run, never a model's.
    """
    names: dict[str, Any] = {}
    try:
        exec(answer, names)  # noqa: S102
        return all(eval(call, names) == value for call, value in expected.items())  # noqa: S307
    except Exception:  # whatever broken code raises
        return False


def _queries(setup: str, rows: list[Any], then: str | None, answer: str) -> bool:
    """Return True if SQL finds the rows, or `then` does after it ran."""
    with closing(sqlite3.connect(":memory:")) as base:
        base.executescript(setup)
        try:
            found = base.execute(answer)
            return [list(row) for row in (base.execute(then) if then else found)] == rows
        except (sqlite3.Error, sqlite3.Warning):
            return False


def _spaced(text: str) -> str:
    return _SPACES.sub(" ", text).strip()


CHECKS: dict[str, Callable[[Any, str], bool]] = {
    "same": lambda text, answer: _spaced(answer) == _spaced(text),
    "one of": lambda texts, answer: answer.strip() in texts,
    "holds": lambda texts, answer: all(_spaced(each) in _spaced(answer) for each in texts),
    "mentions": lambda texts, answer: all(e.casefold() in answer.casefold() for e in texts),
    "json": _is_json,
    "runs": _runs,
    "csv": lambda rows, answer: list(csv.reader(io.StringIO(answer.strip()))) == rows,
}
"""Name of a check -> function (what is expected, the restored answer); white space is apart."""


def checker(form: Mapping[str, Any]) -> Callable[[str], bool]:
    """Return the check of a task's line."""
    if "sql" in form:
        return lambda answer: _queries(form["sql"], form["rows"], form.get("then"), answer)
    ((name, expected),) = form.items()
    return lambda answer: CHECKS[name](expected, answer)


def tasks(half: str) -> tuple[Task, ...]:
    """Return the tasks of the half "open" or "held"."""
    lines = Path(__file__).with_name(f"tasks_{half}.jsonl").read_text("utf-8").splitlines()
    found = []
    for row in map(json.loads, lines):
        formula = answerer(row["formula"]) if "formula" in row else None
        made = answerer(row["answer"]), checker(row["right"]), formula
        found.append(Task(row["name"], row["kind"], row["prompt"], *made))
    return tuple(found)


_SPECIALISTS = {
    "asthma": "pulmonologist",
    "copd": "pulmonologist",
    "pneumonia": "pulmonologist",
    "diabetes": "endocrinologist",
    "epilepsy": "neurologist",
    "migraine": "neurologist",
    "psoriasis": "dermatologist",
    "eczema": "dermatologist",
    "gout": "rheumatologist",
    "arthritis": "rheumatologist",
    "depression": "psychiatrist",
    "hepatitis": "hepatologist",
}
_DRUGS = {frozenset(["warfarin", "ibuprofen"]): "No"}
_MISSPELLED = {
    "Plese": "Please",
    "tel": "tell",
    "meating": "meeting",
    "Tusday": "Tuesday",
}
_HELD = re.compile(r"<[A-Z]+(?:_[A-Z]+)*(?:_[0-9]+){1,3}>")


def _sorted_invoices(sent: str) -> str:
    lines = [line for line in sent.partition("\n\n")[2].splitlines() if ":" in line]
    if len(lines) != 3:
        raise NotAnswered
    return "\n".join(sorted(lines, key=lambda line: -amount(line.rsplit(":", 1)[1])))


def _most_hours(sent: str) -> str:
    best: str = max(_table(sent, "name", "hours"), key=lambda row: amount(row["hours"]))["name"]
    return best


def _counted(sent: str) -> str:
    found = Counter(row["status"] for row in _table(sent, "status"))
    return f"open: {found['open']}, closed: {found['closed']}"


def _total(sent: str) -> str:
    parts = read(r"train (?P<a>.+?), hotel (?P<b>.+?), dinner (?P<c>.+?)\. Total", sent)
    return f"{sum(map(amount, parts.values())):.2f}"


def _specialist(sent: str) -> str:
    illness = read(r"with (?P<illness>.+?) last week", sent)["illness"].lower()
    found = [who for name, who in _SPECIALISTS.items() if name in illness]
    if not found:
        raise NotAnswered
    return found[0]


def _actions(sent: str) -> str:
    _, _, minutes = sent.partition("minutes. ")
    found = [re.fullmatch(r"(.+?) will (.+)", each) for each in minutes.rstrip(".").split(". ")]
    if not all(found):
        raise NotAnswered
    return "\n".join(f"{each[1]}: {each[2]}" for each in found if each is not None)


def _day(written: str) -> date:
    try:
        return datetime.strptime(written.strip(), "%d %B %Y").date()
    except ValueError:
        raise NotAnswered from None


def _table(sent: str, *heads: str) -> list[dict[str, str]]:
    lines = sent.splitlines()
    for i, line in enumerate(lines):
        if all(head in line.split(",") for head in heads):
            rows = list(csv.DictReader(io.StringIO("\n".join(lines[i:]))))
            if any(None in (*row, *row.values()) for row in rows):
                raise NotAnswered
            return rows
    raise NotAnswered


def _reply(sent: str) -> str:
    parts = read(
        r"from me \((?P<me>.+?)\) accepting.*From: (?P<he>.+?) <.*visit on (?P<one>.+?) or on "
        r"(?P<two>.+?)\?",
        sent,
    )
    first = parts["he"].split()[0] if " " in parts["he"] else parts["he"]
    signed = sent.rstrip().splitlines()[-1].removeprefix("> ").strip()
    first = signed or first
    return (
        f"Hi {first},\n\n{parts['two']} suits me well. Could you please bring the signed forms?\n\n"
        f"Best wishes,\n{parts['me']}"
    )


def _to_csv(sent: str) -> str:
    one = read(r"- (?P<n>.+?) \(lives in (?P<c>.+?)\), ring her on (?P<p>.+?)\n", sent)
    two = read(r"- (?P<n>[^\n,]+?), (?P<c>[^\n,]+?), (?P<p>[^\n]+?)\n-", sent)
    three = read(r"[\d>]\n- (?P<n>[^\n]+?) in (?P<c>[^\n:]+?): (?P<p>[^\n]+)", sent)
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["name", "phone", "city"])
    for each in (one, two, three):
        writer.writerow([each["n"], each["p"], each["c"]])
    return out.getvalue()


def _first_out(sent: str) -> str:
    rows = re.findall(r"^(.+?): ends (.+)$", sent, re.M)
    if len(rows) != 3:
        raise NotAnswered
    first: str = min(rows, key=lambda row: _day(row[1]))[0]
    return first


def _fewest(sent: str) -> str:
    rows = _table(sent, "article", "in stock")
    best: str = min(rows, key=lambda row: amount(row["in stock"]))["article"]
    return best


def _minutes(sent: str) -> str:
    found = re.findall(r"(?<=[.] )([^.]+?) to (send|book) ([^.]+?) by ([^.]+?)\.(?= )", sent)
    if len(found) != 2:
        raise NotAnswered
    heads = read(r"with the columns (?P<a>[^,]+), (?P<b>[^,]+), (?P<c>[^.]+)\.", sent)
    lines = [f"| {a} | {b} {c} | {d} |" for a, b, c, d in found]
    return "\n".join(["| {a} | {b} | {c} |".format(**heads), "|---|---|---|", *lines])


def _trip(sent: str) -> str:
    parts = read(
        r"fly into (?P<a>.+?) on (?P<day>.+?), (?P<n>\d+) nights? there, then (?P<m>\d+) "
        r"nights? in "
        r"(?P<b>.+?), then (?P<k>\d+) nights? in (?P<c>.+?), then home",
        sent,
    )
    day = _day(parts["day"] + " 2026").day
    lines = []
    for place, nights in (("a", "n"), ("b", "m"), ("c", "k")):
        end = day + int(parts[nights])
        lines.append(f"{parts[place]}: {day} June - {end} June")
        day = end
    return "\n".join(lines)


def _trip_by_formula(sent: str) -> str:
    parts = read(
        r"fly into (?P<a>\S+) on (?P<day>\S+), (?P<n>\d+) nights? there, then (?P<m>\d+) "
        r"nights? in (?P<b>\S+), then (?P<k>\d+) nights? in (?P<c>\S+), then home",
        sent,
    )
    lines, nights = [], 0
    for place, more in (("a", "n"), ("b", "m"), ("c", "k")):
        begin, nights = nights, nights + int(parts[more])
        begins, ends = (f"{{{{= {parts['day']} + {n} }}}}" for n in (begin, nights))
        lines.append(f"{parts[place]}: {begins} - {ends}")
    return "\n".join(lines)


def _safe(sent: str) -> str:
    parts = read(
        r"gave me (?P<one>.+?) after my .+?, and now my .+? hurts\. Is it safe to take "
        r"(?P<two>.+?) with",
        sent,
    )
    word = _DRUGS.get(frozenset([parts["one"].lower(), parts["two"].lower()]))
    if word is None:
        raise NotAnswered
    return f"{word}, {parts['two']} raises the risk of bleeding with {parts['one']}."


def _weeks(sent: str) -> str:
    parts = read(r"between (?P<one>.+?) and (?P<two>.+?)\?", sent)
    return str((_day(parts["two"]) - _day(parts["one"])).days // 7)


def _converted(sent: str) -> str:
    parts = read(
        r"shortbread: (?P<flour>\S+) oz flour, (?P<sugar>\S+) oz sugar, bake at (?P<f>\S+) F\. Use "
        r"(?P<g>\S+) g per oz",
        sent,
    )
    rate = amount(parts["g"])
    celsius = (amount(parts["f"]) - 32) * 5 / 9
    flour, sugar = (amount(parts[name]) * rate for name in ("flour", "sugar"))
    heat = 5 * round(celsius / 5)
    return f"flour: {flour:.0f} g, sugar: {sugar:.0f} g, oven: {heat} C"


def _without_twins(sent: str) -> str:
    lines = re.findall(r"^(.+?) (<\S+>)$", sent.partition("\n\n")[2], re.M)
    if len(lines) != 5:
        raise NotAnswered
    seen: set[str] = set()
    kept = []
    for name, mail in lines:
        if mail.lower() not in seen:
            kept.append(f"{name} {mail}")
        seen.add(mail.lower())
    return "\n".join(kept)


def _named(sent: str) -> str:
    names = [
        name.strip() for name in read(r"alphabetically: (?P<all>.+?)\.?\Z", sent)["all"].split(",")
    ]
    if any(name[:1] in "<[" for name in names):
        raise NotAnswered  # a placeholder has no place in the alphabet
    return ", ".join(sorted(names))


def _frequent(sent: str) -> str:
    for line in sent.splitlines():
        cells = [cell.strip() for cell in line.split("|")]
        if len(cells) == 5 and cells[3] == "12":
            return cells[1]
    raise NotAnswered


def _operand(written: str) -> str:
    """Return a value as it stands in a formula: a placeholder as it is, or a plain number."""
    held = _HELD.search(written)
    return held[0] if held else f"{amount(written):.15g}"


def _frequent_by_formula(sent: str) -> str:
    wanted = _operand(read(r"came (?P<n>\S+) times\?", sent)["n"])
    cells = [[cell.strip() for cell in line.split("|")] for line in sent.splitlines()]
    rows = [row for row in cells if len(row) == 5][2:]  # without the heads and the rule
    if not rows:
        raise NotAnswered
    lines = "\n".join(f"{_operand(row[3])} :: {row[1]}" for row in rows)
    return f"{{{{= ROWS WHERE = {wanted}\n{lines}\n}}}}"


def _by_illness(sent: str) -> str:
    found = Counter(
        line.rpartition(" - ")[2].strip().lower() for line in sent.splitlines() if " - " in line
    )
    if sum(found.values()) != 5:
        raise NotAnswered
    return "\n".join(f"{illness}: {n}" for illness, n in found.most_common())


def _cheaper(sent: str) -> str:
    parts = read(r"cheaper: (?P<a>.+?) at (?P<x>.+?) or (?P<b>.+?) at (?P<y>.+?)\?", sent)
    return parts["a"] if amount(parts["x"]) < amount(parts["y"]) else parts["b"]


def _cheaper_by_formula(sent: str) -> str:
    parts = read(r"cheaper: (?P<a>.+?) at (?P<x>.+?) or (?P<b>.+?) at (?P<y>.+?)\?", sent)
    lines = "\n".join(
        f"{_operand(parts[much])} :: {parts[firm]}" for firm, much in (("a", "x"), ("b", "y"))
    )
    return f"{{{{= ROWS ASC FIRST 1\n{lines}\n}}}}"


def _age(sent: str) -> str:
    parts = read(r"born in (?P<born>.+?)\. How old does she turn in (?P<now>.+?)\?", sent)
    return f"{amount(parts['now']) - amount(parts['born']):.0f}"


def _age_by_formula(sent: str) -> str:
    parts = read(r"born in (?P<born>.+?)\. How old does she turn in (?P<now>.+?)\?", sent)
    now, born = _operand(parts["now"]), _operand(parts["born"])
    if now.startswith("<DATE") and born.startswith("<DATE"):
        return f"{{{{= YEARS({now}, {born}) }}}}"
    return f"{{{{= {now} - {born} }}}}"


def _spelled(sent: str) -> str:
    text = read(r"spelling: (?P<text>.+)\Z", sent)["text"]
    return re.sub(r"\w+", lambda word: _MISSPELLED.get(word[0], word[0]), text)


ANSWERS: dict[str, Callable[[str], str]] = {
    answer.__name__[1:]: answer
    for answer in (
        _sorted_invoices,
        _most_hours,
        _counted,
        _total,
        _specialist,
        _actions,
        _reply,
        _to_csv,
        _first_out,
        _fewest,
        _minutes,
        _trip,
        _trip_by_formula,
        _safe,
        _weeks,
        _converted,
        _without_twins,
        _named,
        _frequent,
        _frequent_by_formula,
        _by_illness,
        _cheaper,
        _cheaper_by_formula,
        _age,
        _age_by_formula,
        _spelled,
    )
}
"""Answerers that compute; the others only copy."""
