"""Checked tasks that were held out: read at the end, for the figures only."""

from __future__ import annotations

import json
import re
import sqlite3
from collections import Counter

from benchmarks.usefulness.tasks import (
    NotAnswered,
    Task,
    amount,
    block,
    copying,
    holds,
    json_is,
    mentions,
    read,
    runs,
    same,
)

_VISITS = """Which of them came 12 times? Answer with the name only.

| guest | town | visits |
|---|---|---|
| Winifred Ampleforth | Lincoln | 9 |
| Jerome Crake | Basseterre | 12 |
| Philomena Velankar | Hexford | 7 |
"""
_BUG = """The last guest is never greeted. Fix it and answer with the whole code only.

```python
guests = ["Keziah", "Philippa Nwachukwu", "Wilma"]

def greetings():
    # asked for by Mr Dhaliwal
    return ["Dear " + guests[i] for i in range(len(guests) - 1)]
```
"""
_CASES = """Count the patients of each illness, as "illness: N", one per line, most frequent first.

Annelore Joris - asthma
Femke Osei - gout
Henrike Rhee - asthma
Rafe Castellanos - asthma
Isolde Bakare - gout
"""
_MISSPELLED = {
    "Plese": "Please",
    "tel": "tell",
    "meating": "meeting",
    "Tusday": "Tuesday",
}
_HELD = re.compile(r"<[A-Z]+(?:_[A-Z]+)*(?:_[0-9]+){1,3}>")


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


def _event(sent: str) -> str:
    parts = read(
        r'an event "(?P<title>.+?)" on (?P<date>.+?) with (?P<a>.+?) and (?P<b>.+?)\.(?:\s|\Z)',
        sent,
    )
    arguments = {
        "title": parts["title"],
        "date": parts["date"],
        "attendees": [parts["a"], parts["b"]],
    }
    return json.dumps({"name": "create_event", "arguments": arguments})


def _whole_range(sent: str) -> str:
    code = block(sent)
    if code.count("len(guests) - 1") != 1:
        raise NotAnswered
    return code.replace("len(guests) - 1", "len(guests)")


def _update(sent: str) -> str:
    parts = read(
        r"table customers\(number, email\).*customer (?P<number>.+?) to (?P<email>.+?)\.?\Z", sent
    )
    query = "UPDATE customers SET email = '{email}' WHERE number = '{number}';"
    return query.format(**parts)


def _update_is_right(answer: str) -> bool:
    with sqlite3.connect(":memory:") as base:
        base.execute("CREATE TABLE customers (number, email)")
        base.executemany(
            "INSERT INTO customers VALUES (?, ?)", [("K-4711", "old"), ("K-4712", "other")]
        )
        try:
            base.execute(answer)
        except (sqlite3.Error, sqlite3.Warning):
            return False
        found = base.execute("SELECT email FROM customers ORDER BY number").fetchall()
        return found == [("gwen.pike@example.org",), ("other",)]


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


TASKS = (
    Task(
        "hotel",
        "translate",
        'Translate into French: "Ms Okonjo-Friis will arrive in Freiburg on 11 June and needs a '
        'room for 3 nights."',
        copying(
            r'"(?P<who>.+?) will arrive in (?P<where>.+?) on (?P<day>.+?) and needs a room for '
            r"(?P<n>.+?) nights",
            "{who} arrivera à {where} le {day} et a besoin d'une chambre pour {n} nuits.",
        ),
        holds("Ms Okonjo-Friis arrivera à Freiburg le 11 June", "pour 3 nuits"),
    ),
    Task(
        "claim",
        "fill a form",
        "Fill in the form.\n\nHenrike Osei claims €740 from Meridell Mutual under policy "
        "GH/2207-6613 for physiotherapy.\n\nForm:\nName:\nInsurer:\nPolicy:\nAmount:\nFor:",
        copying(
            r"form\.\s+(?P<who>.+?) claims (?P<much>.+?) from (?P<firm>.+?) under policy "
            r"(?P<policy>.+?) for (?P<what>.+?)\.\s",
            "Name: {who}\nInsurer: {firm}\nPolicy: {policy}\nAmount: {much}\nFor: {what}",
        ),
        same(
            "Name: Henrike Osei\nInsurer: Meridell Mutual\nPolicy: GH/2207-6613\nAmount: €740\n"
            "For: physiotherapy"
        ),
    ),
    Task(
        "profile",
        "extract fields as JSON",
        "Return JSON with the keys name, job, employer and town.\n\nLucjan Prewitt works as a "
        "night porter at the Hotel Bellacourt and lives in Wexcombe.",
        lambda sent: json.dumps(
            dict(
                read(
                    r"town\.\s+(?P<name>.+?) works as an? (?P<job>.+?) at the (?P<employer>.+?) "
                    r"and lives in (?P<town>.+?)\.",
                    sent,
                )
            )
        ),
        json_is(
            {
                "name": "Lucjan Prewitt",
                "job": "night porter",
                "employer": "Hotel Bellacourt",
                "town": "Wexcombe",
            }
        ),
    ),
    Task(
        "names",
        "sort names",
        "Sort these names alphabetically: Tevita Osei, Casimir Hale, Bashir Nwosu.",
        _named,
        same("Bashir Nwosu, Casimir Hale, Tevita Osei"),
    ),
    Task(
        "visits",
        "answer from a table",
        _VISITS,
        _frequent,
        same("Jerome Crake"),
        _frequent_by_formula,
    ),
    Task(
        "event",
        "call a tool",
        'You can call create_event(title, date, attendees). Add an event "Budget review" on 9 June '
        "with Shirin Adeyinka and Kian Lindgren.",
        _event,
        json_is(
            {
                "name": "create_event",
                "arguments": {
                    "title": "Budget review",
                    "date": "9 June",
                    "attendees": ["Shirin Adeyinka", "Kian Lindgren"],
                },
            }
        ),
    ),
    Task(
        "statement",
        "rewrite a statement",
        "Put this into the third person: I was diagnosed with epilepsy in 2019 and lost my job at "
        "Pellbrook Conveyancing. I am Gwenllian Pike.",
        copying(
            r"I was diagnosed with (?P<illness>.+?) in (?P<year>.+?) and lost my job at "
            r"(?P<firm>.+?)\. I am (?P<who>.+?)\.?\Z",
            "{who} was diagnosed with {illness} in {year} and lost her job at {firm}.",
        ),
        same(
            "Gwenllian Pike was diagnosed with epilepsy in 2019 and lost her job at Pellbrook "
            "Conveyancing."
        ),
    ),
    Task(
        "greetings",
        "fix a bug",
        _BUG,
        _whole_range,
        runs(
            lambda names: (
                names["greetings"]() == ["Dear Keziah", "Dear Philippa Nwachukwu", "Dear Wilma"]
            )
        ),
    ),
    Task(
        "new address",
        "write SQL",
        "There is a table customers(number, email). Write the SQL that sets the email of customer "
        "K-4711 to gwen.pike@example.org.",
        _update,
        _update_is_right,
    ),
    Task("illnesses", "summarise counts", _CASES, _by_illness, same("asthma: 3\ngout: 2")),
    Task(
        "quotes",
        "compare amounts",
        "Which is cheaper: Meridell at €18,740 or Nordwind at €17,990? Answer with the firm only.",
        _cheaper,
        same("Nordwind"),
        _cheaper_by_formula,
    ),
    Task(
        "age",
        "compute an age",
        "My daughter Isolde was born in 2019. How old does she turn in 2025? Number only.",
        _age,
        same("6"),
        _age_by_formula,
    ),
    Task(
        "copy",
        "write a command",
        "Write the scp command that copies report.pdf to /srv/in on host db-7.oakhanger.example as "
        "user okafor. Command only.",
        copying(
            r"copies (?P<file>\S+) to (?P<path>\S+) on host (?P<host>\S+) as user (?P<user>.+?)\. ",
            "scp {file} {user}@{host}:{path}",
        ),
        same("scp report.pdf okafor@db-7.oakhanger.example:/srv/in"),
    ),
    Task(
        "spelling",
        "correct spelling",
        "Correct the spelling: Plese tel Gwenllian that the meating with Pellbrook Conveyancing is "
        "on Tusday.",
        _spelled,
        same(
            "Please tell Gwenllian that the meeting with Pellbrook Conveyancing is on Tuesday."
        ),
    ),
    Task(
        "caller",
        "read and answer",
        "Answer with the name only. Tevita Osei called Bashir Nwosu about the boat. Who called?",
        copying(r"name only\. (?P<who>.+?) called", "{who}"),
        mentions("Tevita Osei"),
    ),
    Task(
        "phone",
        "read and answer",
        "What is the phone number in this sentence? Call Wilma on +44 20 7946 0018 about the keys.",
        copying(r"Call .+? on (?P<phone>.+?) about", "{phone}"),
        mentions("+44 20 7946 0018"),
    ),
    Task(
        "room",
        "read and answer",
        "What does the guest want? Kian Lindgren wrote: I would like to cancel the room.",
        copying(r"wrote: I would like to (?P<what>.+?)\.", "To {what}."),
        mentions("cancel", "room"),
    ),
)  # fmt: skip
