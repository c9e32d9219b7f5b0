"""Checked tasks that may be read while anything is built; the others are in `tasks_held`."""

from __future__ import annotations

import csv
import io
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

_INVOICES = """Sort these invoices by amount, highest first, one per line, written as here.

Quillmead Primary: £1,250.00
Northfell Ambulance: £980.50
Harrow Lane Surgery: £2,310.00
"""
_HOURS = """Who worked the most hours? Answer with the name only.

name,team,hours
Elena Marsh,night,34
Oluwaseun Bakare,day,41
Judah Ost,day,29
"""
_BUG = """Why does this fail, and can you fix it? Firms that are not listed cost 30 an hour.
Answer with the whole code only.

Traceback (most recent call last):
  File "/home/okafor/billing/report.py", line 4, in total_for
KeyError: 'Brandt & Sons'

```python
rates = {"Copperhouse Joinery": 40, "Nordwind": 55}

def total_for(firm, hours):
    return rates[firm] * hours
```
"""
_TICKETS = """How many tickets are open, and how many are closed? Answer as "open: N, closed: N".

id,customer,status
T-4410,Marisol Tavenque,open
T-4411,Anselm Picot,closed
T-4415,Desmond Hale,open
T-4420,Jocasta Byrne,open
"""
_YAML = """Set replicas to 4 in this file and change nothing else. Answer with the file only.

```yaml
service: billing
host: db-7.oakhanger.example
owner: Shirin Adeyinka
replicas: 2
```
"""
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


def _sorted_invoices(sent: str) -> str:
    lines = [line for line in sent.partition("\n\n")[2].splitlines() if ":" in line]
    if len(lines) != 3:
        raise NotAnswered
    return "\n".join(sorted(lines, key=lambda line: -amount(line.rsplit(":", 1)[1])))


def _most_hours(sent: str) -> str:
    rows = _rows(sent)
    best = max(rows, key=lambda row: amount(row.get("hours", "")))
    return best.get("name", "")


def _rows(sent: str) -> list[dict[str, str]]:
    """Return the table after the first empty line of what was sent."""
    _, _, table = sent.partition("\n\n")
    found = list(csv.DictReader(io.StringIO(table)))
    if not found or not {"hours", "status"} & set(found[0]):
        raise NotAnswered
    if any(None in (*row, *row.values()) for row in found):  # lines of unequal length
        raise NotAnswered
    return found


def _fixed(sent: str) -> str:
    read(r"not listed cost (?P<rate>30) an hour", sent)
    code = block(sent)
    if code.count("rates[firm]") != 1:
        raise NotAnswered
    return code.replace("rates[firm]", "rates.get(firm, 30)")


def _query(sent: str) -> str:
    parts = read(
        r"(?P<table>\w+)\(name, team, hired\).*in team (?P<team>.+?) who were hired after "
        r"(?P<year>.+?), ",
        sent,
    )
    query = "SELECT name FROM {table} WHERE team = '{team}' AND hired > {year} ORDER BY name;"
    return query.format(**parts)


def _query_is_right(answer: str) -> bool:
    with sqlite3.connect(":memory:") as base:
        base.execute("CREATE TABLE staff (name, team, hired)")
        rows = [
            ("Ruth", "Cardiology", 2021),
            ("Bram", "Cardiology", 2020),
            ("Otto", "Cardiology", 2015),
            ("Thiri", "Surgery", 2022),
        ]
        base.executemany("INSERT INTO staff VALUES (?, ?, ?)", rows)
        try:
            return base.execute(answer).fetchall() == [("Bram",), ("Ruth",)]
        except sqlite3.Error:
            return False


def _counted(sent: str) -> str:
    found = Counter(row.get("status") for row in _rows(sent))
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


def _four_replicas(sent: str) -> str:
    code = block(sent)
    if "replicas: 2" not in code:
        raise NotAnswered
    return code.replace("replicas: 2", "replicas: 4")


def _reminder(sent: str) -> str:
    parts = read(
        r"Send (?P<who>.+?) \((?P<to>.+?)\) a reminder that invoice (?P<invoice>.+?) is due on "
        r"(?P<when>.+?)\.(?:\s|\Z)",
        sent,
    )
    body = f"Dear {parts['who']}, invoice {parts['invoice']} is due on {parts['when']}."
    arguments = {"to": parts["to"], "subject": "Reminder", "body": body}
    return json.dumps({"name": "send_email", "arguments": arguments})


def _actions(sent: str) -> str:
    _, _, minutes = sent.partition("minutes. ")
    found = [re.fullmatch(r"(.+?) will (.+)", each) for each in minutes.rstrip(".").split(". ")]
    if not all(found):
        raise NotAnswered
    return "\n".join(f"{each[1]}: {each[2]}" for each in found if each is not None)


TASKS = (
    Task(
        "appointment",
        "translate",
        'Translate into German: "Dear Ms Tavenque, your appointment with Dr Picot is on 14 March '
        'at 09:30. Please bring your card."',
        copying(
            r"Dear (?P<who>.+?), your appointment with (?P<doctor>.+?) is on (?P<when>.+?)\. "
            r"Please bring your card",
            "Guten Tag {who}, Ihr Termin bei {doctor} ist am {when}. Bitte bringen Sie Ihre Karte "
            "mit.",
        ),
        holds("Guten Tag Ms Tavenque,", "bei Dr Picot", "am 14 March", "09:30", "Ihre Karte"),
    ),
    Task(
        "patient form",
        "fill a form",
        "Fill in the form from the note.\n\nNote: Marisol Tavenque, born on 19.08.1974, lives in "
        "Hexford. She is treated for asthma by Dr Anselm Picot.\n\nForm:\nPatient:\nBorn:\nTown:\n"
        "Illness:\nDoctor:",
        copying(
            r"Note: (?P<who>.+?), born on (?P<born>.+?), lives in (?P<town>.+?)\. She is treated "
            r"for (?P<illness>.+?) by (?P<doctor>.+?)\.\s",
            "Patient: {who}\nBorn: {born}\nTown: {town}\nIllness: {illness}\nDoctor: {doctor}",
        ),
        same(
            "Patient: Marisol Tavenque\nBorn: 19.08.1974\nTown: Hexford\nIllness: asthma\n"
            "Doctor: Dr Anselm Picot"
        ),
    ),
    Task(
        "order",
        "extract fields as JSON",
        "Return the order as JSON with the keys order, firm, quantity, place, contact and "
        "email.\n\nOrder 88-20317 from Copperhouse Joinery: 14 oak boards to Ludlow. Contact is "
        "Desmond Hale, d.hale@copperhouse.example.",
        lambda sent: json.dumps(
            dict(
                read(
                    r"Order (?P<order>\S+) from (?P<firm>.+?): (?P<quantity>\S+) .+? boards to "
                    r"(?P<place>.+?)\. Contact is (?P<contact>.+?), (?P<email>.+?)\.?\Z",
                    sent,
                )
            )
        ),
        json_is(
            {
                "order": "88-20317",
                "firm": "Copperhouse Joinery",
                "quantity": 14,
                "place": "Ludlow",
                "contact": "Desmond Hale",
                "email": "d.hale@copperhouse.example",
            }
        ),
    ),
    Task(
        "invoices",
        "sort amounts",
        _INVOICES,
        _sorted_invoices,
        same(
            "Harrow Lane Surgery: £2,310.00\nQuillmead Primary: £1,250.00\n"
            "Northfell Ambulance: £980.50"
        ),
    ),
    Task("hours", "answer from a table", _HOURS, _most_hours, same("Oluwaseun Bakare")),
    Task(
        "reminder",
        "call a tool",
        "You can call send_email(to, subject, body). Send Ruth Brandt (ruth.brandt@example.org) a "
        "reminder that invoice INV-2047 is due on 3 May.",
        _reminder,
        json_is(
            {
                "name": "send_email",
                "arguments": {
                    "to": "ruth.brandt@example.org",
                    "subject": "Reminder",
                    "body": "Dear Ruth Brandt, invoice INV-2047 is due on 3 May.",
                },
            }
        ),
    ),
    Task(
        "contract",
        "rewrite a mail",
        "Rewrite this politely: Otto, you still have not sent me the contract for Harrow Lane "
        "Surgery. I need it by Friday or Copperhouse Joinery will go elsewhere. Elena",
        copying(
            r"politely: (?P<who>.+?), you still have not sent me the contract for (?P<what>.+?)\. "
            r"I need it by (?P<day>.+?) or (?P<firm>.+?) will go elsewhere\. (?P<me>.+)\Z",
            "Dear {who},\n\ncould you please send me the contract for {what} by {day}? Otherwise "
            "{firm} may go elsewhere.\n\nKind regards,\n{me}",
        ),
        same(
            "Dear Otto, could you please send me the contract for Harrow Lane Surgery by Friday? "
            "Otherwise Copperhouse Joinery may go elsewhere. Kind regards, Elena"
        ),
    ),
    Task(
        "unknown firm",
        "fix a bug",
        _BUG,
        _fixed,
        runs(
            lambda names: (
                names["total_for"]("Copperhouse Joinery", 2) == 80
                and names["total_for"]("Brandt & Sons", 2) == 60
            )
        ),
    ),
    Task(
        "hired",
        "write SQL",
        "There is a table staff(name, team, hired). Write the SQL query for the names of all in "
        "team Cardiology who were hired after 2019, in alphabetical order.",
        _query,
        _query_is_right,
    ),
    Task("tickets", "summarise counts", _TICKETS, _counted, same("open: 3, closed: 1")),
    Task(
        "expenses",
        "add amounts",
        "Add up what I spent: train £48.20, hotel £130.00, dinner £27.30. Total only.",
        _total,
        same("205.50"),
    ),
    Task(
        "specialist",
        "answer about an illness",
        "My mother was diagnosed with epilepsy last week. Which specialist does she need? One "
        "word.",
        _specialist,
        same("neurologist"),
    ),
    Task(
        "replicas",
        "change a file",
        _YAML,
        _four_replicas,
        same(
            "service: billing host: db-7.oakhanger.example owner: Shirin Adeyinka replicas: 4"
        ),
    ),
    Task(
        "minutes",
        "list actions",
        'List who does what, as "name: task", from these minutes. Ngozi will call Harrow Lane '
        "Surgery. Bram will write the report. Thiri will book a room for 12 people.",
        _actions,
        same("Ngozi: call Harrow Lane Surgery Bram: write the report "
             "Thiri: book a room for 12 people"),
    ),
    Task(
        "writer",
        "read and answer",
        "Answer with the name only. Elena Marsh wrote a letter to Otto Brandt. Who wrote the "
        "letter?",
        copying(r"name only\. (?P<who>.+?) wrote a letter to", "{who}"),
        mentions("Elena Marsh"),
    ),
    Task(
        "address",
        "read and answer",
        "What is the email address in this sentence? Write to ruth.brandt@example.org about the "
        "invoice.",
        copying(r"Write to (?P<email>\S+) about", "{email}"),
        mentions("ruth.brandt@example.org"),
    ),
    Task(
        "shoes",
        "read and answer",
        "What does the customer want? Keziah Osei wrote: I would like to return the shoes.",
        copying(r"wrote: I would like to (?P<what>.+?)\.", "To {what}."),
        mentions("return", "shoes"),
    ),
)  # fmt: skip
