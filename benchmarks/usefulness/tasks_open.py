"""Checked tasks that may be read while anything is built; the others are in `tasks_held`."""

from __future__ import annotations

import csv
import io
import json
import re
import sqlite3
from collections import Counter
from collections.abc import Callable
from datetime import date

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


def _by_key(pattern: str, how: str) -> Callable[[str], str]:
    """Return an answerer that lets the lines of what was sent be sorted by hidden values."""

    def answer(sent: str) -> str:
        found = list(re.finditer(pattern, sent, re.M))
        if not found:
            raise NotAnswered
        rows = "\n".join(f"{row['key']} :: {row['row']}" for row in found)
        return f"{{{{= ROWS {how}\n{rows}\n}}}}"

    return answer


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


_MONTHS = dict(
    zip(
        "january february march april may june july august september october november "
        "december".split(),
        range(1, 13),
        strict=True,
    )
)


def _day(written: str) -> date:
    found = re.fullmatch(r"(\d{1,2}) ([A-Za-z]+) (\d{4})", written.strip())
    if found is None or found[2].lower() not in _MONTHS:
        raise NotAnswered
    return date(int(found[3]), _MONTHS[found[2].lower()], int(found[1]))


def _table(sent: str, *heads: str) -> list[dict[str, str]]:
    lines = sent.splitlines()
    for i, line in enumerate(lines):
        if all(head in line.split(",") for head in heads):
            rows = list(csv.DictReader(io.StringIO("\n".join(lines[i:]))))
            if any(None in (*row, *row.values()) for row in rows):
                raise NotAnswered
            return rows
    raise NotAnswered


_LETTER = """make this sound professional pls, its for my landlord, keep all the facts

hi mr pettigrove, the boiler in flat 3b, 17 wexcombe road has been dead since 2 \
november. ive told your office twice (spoke to janine both times). my daughter \
ottilie is 4 and has a cough now. if its not fixed by friday im taking 150 off the \
rent. tamsin orrell
"""
_LETTER_READ = (
    r"facts\s+hi (?P<who>.+?), the boiler in (?P<flat>.+?) has been (?P<dead>.+?) "
    r"since (?P<since>.+?)\. "
    r"ive told your office twice \(spoke to (?P<clerk>.+?) both times\)\. my daughter "
    r"(?P<child>.+?) is (?P<age>.+?) and has a (?P<ill>.+?) now\. if its not fixed by "
    r"(?P<day>.+?) im taking (?P<sum>.+?) off the rent\. (?P<me>.+)\Z"
)
_THREAD = """Write a short reply from me (Wilhelmina) accepting the second date he offers and \
asking him to bring the signed forms.

> From: Cosmo Hathersage <cosmo.hathersage@dunmallet.example>
> To: Wilhelmina Strake
> Subject: Site visit Eskrigg Mill
>
> Hi Wilhelmina,
> could we do the site visit on Tuesday 9 June at 10:00 or on Thursday 11 June at \
14:30? Priya from
> Dunmallet Surveyors would join us.
> Cosmo
"""
_JOB = """Fill this JSON from the text, null where it's not mentioned. JSON only.

{"name": "", "email": "", "years_experience": 0, "languages": [], \
"current_employer": "", "notice_period_weeks": 0, "salary": null}

My name is Ibrahim Calloway-Finch and I've been writing Python and Go for 7 years, \
the last three of them at Tarnbrook Analytics. I could start after a notice period \
of 6 weeks. You can reach me at i.callowayfinch@mailpost.example.
"""
_PEOPLE = """Turn this into CSV with the columns name,phone,city. No header other than these.

- Rosalind Ameobi (lives in Harrogate), ring her on 01632 960114
- Piotr Wachowiak, Swindon, 01632 960877
- "Bunny" Castellanos in Truro: 01632 960402
"""
_CONTRACTS = """Which of these contracts runs out first? Just give me the supplier's name.

Fenwick & Loach: ends 30 September 2026
Sablewood Catering: ends 14 August 2026
Ironbridge Lifts: ends 1 March 2027
"""
_STOCK = """Which article do we have the fewest of? Only the name of the article.

article,warehouse,in stock
oak stool,Leeds,14
pine shelf,Leeds,6
walnut tray,Derby,22
"""
_MINUTES = """Summarise these minutes as a markdown table with the columns Owner, Task, Due. \
Only action items.

Present: Agnes Thorley, Dmitri Vasko, Halima Noor
Agnes opened the meeting at 9:05. The budget was discussed. Dmitri to send the \
revised quote to Larkfield Dental by 12 May. Halima to book the training room by 20 \
May. Agnes said the move is still on track.
"""
_LOG = """This crashes on the second line, please fix the function so it doesn't crash and \
returns None for such lines. Whole code only.

2026-03-02 10:14:07 INFO login user=gwendolyn.pruitt ip=10.20.4.18
2026-03-02 10:14:09 ERROR no session for m.achterberg@veldhaven.example
Traceback (most recent call last):
  File "/srv/portal/parse.py", line 5, in user_of
AttributeError: 'NoneType' object has no attribute 'group'

```python
import re

def user_of(line):
    found = re.search(r"user=(\\S+)", line)
    return found.group(1)
```
"""
_SQL = """Tables: customers(id, name, city), orders(id, customer_id, total, placed_on). I \
need one query: name and number of orders of every customer in Nether Wallop, most \
orders first.
"""
_CV = """Write the "Experience" section of my CV in markdown, newest job first. I was a \
ward sister at St Brannock's Hospital from 2014 to 2019, and since 2019 I've been \
practice manager at Collingbourne Health Centre in Stroud, in charge of 12 people.
"""
_TRIP = """We fly into Lisbon on 4 June, 3 nights there, then 2 nights in Évora, then 4 \
nights in Lagos, then home. Give me the list "place: from - to" with dates.
"""
_COMPLAINT = """Rewrite this complaint so that it's firm but polite:

Your driver Keith from Parcelhound threw my package (tracking PH-77120-44) over the \
fence of 8 Marlpit Close and broke the vase that I had bought for my wife Leocadia \
for £85. I want my money back by 15 January or I go to the ombudsman. Barnaby \
Utteridge
"""
_MEDICAL = """I'm Yolanda, 58, from Kettering. My GP Dr Abernethy gave me warfarin after my \
clot, and now my shoulder hurts. Is it safe to take ibuprofen with it? Start with \
yes or no.
"""
_DRUGS = {frozenset(["warfarin", "ibuprofen"]): "No"}
_WEEKS = """How many full weeks are there between 3 February 2026 and 28 April 2026? Number \
only, it's for my maternity leave at Pellworm Shipping.
"""
_RECIPE = """Convert to grams and Celsius, my aunt Philippa's shortbread: 8 oz flour, 4 oz \
sugar, bake at 350 F. Use 28 g per oz and round the temperature to the nearest 5. \
Format: "flour: X g, sugar: X g, oven: X C".
"""
_CONTACTS = """Remove the duplicates from my contact list (same mail address = same person, \
keep the first), one per line as it is.

Sigrid Amundsen <sigrid.amundsen@fjordlys.example>
Tobias Krell <t.krell@krellbau.example>
S. Amundsen <Sigrid.Amundsen@fjordlys.example>
Ottoline Farge <ottoline@farge.example>
Toby Krell <t.krell@krellbau.example>
"""
_GERMAN = """Schreib mir bitte eine höfliche Kündigung auf Deutsch: Ich heiße Annegret \
Wollschläger, Vertragsnummer 4471-882, Anbieter ist Stadtfunk Lüneburg, ich will \
zum 31. Dezember 2026 kündigen.
"""
_EVENT = """You have the tool create_event(title, start, minutes, guests) where start is \
like "Friday 10:00" and guests is a list of mail addresses. Call it as JSON \
{"name": ..., "arguments": ...}: 45 minutes with Rufus Delacourt-Imani \
(rufus@imani-legal.example) and k.szabo@imani-legal.example on Thursday at 15:30, \
title "Lease review".
"""


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


def _filled(sent: str) -> str:
    parts = read(
        r"My name is (?P<name>.+?) and I've been writing (?P<one>\S+) and (?P<two>\S+) for "
        r"(?P<years>\S+?) years?, the last \w+ of them at (?P<firm>.+?)\. I could start "
        r"after a notice "
        r"period of (?P<weeks>\S+) weeks?\. .*me at (?P<mail>\S+?)\.?\s*\Z",
        sent,
    )
    read(r"\"years_experience\": .+?\"languages\": .+?\"notice_period_weeks\"", sent)
    return json.dumps(
        {
            "name": parts["name"],
            "email": parts["mail"],
            "years_experience": parts["years"],
            "languages": [parts["one"], parts["two"]],
            "current_employer": parts["firm"],
            "notice_period_weeks": parts["weeks"],
            "salary": None,
        }
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


def _csv_right(answer: str) -> bool:
    rows = list(csv.reader(io.StringIO(answer.strip())))
    return rows == [
        ["name", "phone", "city"],
        ["Rosalind Ameobi", "01632 960114", "Harrogate"],
        ["Piotr Wachowiak", "01632 960877", "Swindon"],
        ['"Bunny" Castellanos', "01632 960402", "Truro"],
    ]


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


def _no_crash(sent: str) -> str:
    code = block(sent)
    line = "    return found.group(1)"
    if line not in code or "found = re.search(" not in code:
        raise NotAnswered
    return code.replace(line, "    return found.group(1) if found else None")


def _two_tables(sent: str) -> str:
    parts = read(
        r"(?P<c>\w+)\(id, name, city\), (?P<o>\w+)\(id, (?P<key>\w+), total, \w+\).* of "
        r"every customer "
        r"in (?P<city>.+?), most",
        sent,
    )
    query = (
        "SELECT c.name, COUNT(o.id) AS n FROM {c} c LEFT JOIN {o} o ON o.{key} = c.id "
        "WHERE c.city = "
        "'{city}' GROUP BY c.id, c.name ORDER BY n DESC;"
    )
    return query.format(**parts)


def _two_tables_right(answer: str) -> bool:
    with sqlite3.connect(":memory:") as base:
        base.execute("CREATE TABLE customers (id, name, city)")
        base.execute("CREATE TABLE orders (id, customer_id, total, placed_on)")
        rows = [(1, "A", "Nether Wallop"), (2, "B", "Nether Wallop"), (3, "C", "Ely")]
        base.executemany("INSERT INTO customers VALUES (?, ?, ?)", rows)
        orders = [(1, 2, 5, ""), (2, 2, 5, ""), (3, 1, 5, ""), (4, 3, 5, "")]
        base.executemany("INSERT INTO orders VALUES (?, ?, ?, ?)", orders)
        try:
            return base.execute(answer).fetchall() == [("B", 2), ("A", 1)]
        except sqlite3.Error:
            return False


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


def _event(sent: str) -> str:
    parts = read(
        r": (?P<minutes>\S+) minutes with .+? \((?P<one>[^()\s]+)\) and (?P<two>\S+) on "
        r"(?P<day>.+?) at "
        r"(?P<time>.+?), title \"(?P<title>.+?)\"",
        sent,
    )
    arguments = {
        "title": parts["title"],
        "start": f"{parts['day']} {parts['time']}",
        "minutes": parts["minutes"],
        "guests": [parts["one"], parts["two"]],
    }
    return json.dumps({"name": "create_event", "arguments": arguments})


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
        _by_key(r"^(?P<row>.+?: (?P<key>\S+))$", "DESC"),
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
        lambda answer: answer.strip().removeprefix("£") == "205.50",
        copying(
            r"train (?P<a>.+?), hotel (?P<b>.+?), dinner (?P<c>.+?)\. Total",
            "{{{{= {a} + {b} + {c} }}}}",
        ),
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
    Task(
        "boiler letter",
        "formalise a letter",
        _LETTER,
        copying(
            _LETTER_READ,
            "Dear {who},\n\nThe boiler in {flat} has been {dead} since {since}. I have informed "
            "your office twice and spoke to {clerk} on both occasions. My daughter {child}, who is "
            "{age}, now has a {ill}. Should it not be repaired by {day}, I shall deduct "
            "{sum} from the "
            "rent.\n\nYours sincerely,\n{me}",
        ),
        mentions(
            "Dear mr pettigrove,", "flat 3b, 17 wexcombe road", "since 2 november", "janine",
            "ottilie",
            "who is 4", "cough", "by friday", "deduct 150", "tamsin orrell",
        ),
    ),
    Task(
        "site visit",
        "reply to a mail",
        _THREAD,
        _reply,
        holds("Hi Cosmo,", "Thursday 11 June at 14:30 suits me", "signed forms", "Wilhelmina"),
    ),
    Task(
        "applicant",
        "fill a JSON schema",
        _JOB,
        _filled,
        json_is(
            {
                "name": "Ibrahim Calloway-Finch",
                "email": "i.callowayfinch@mailpost.example",
                "years_experience": 7,
                "languages": ["Python", "Go"],
                "current_employer": "Tarnbrook Analytics",
                "notice_period_weeks": 6,
                "salary": None,
            }
        ),
    ),
    Task("phone list", "extract to CSV", _PEOPLE, _to_csv, _csv_right),
    Task(
        "contracts",
        "compare dates",
        _CONTRACTS,
        _first_out,
        same("Sablewood Catering"),
        _by_key(r"^(?P<row>.+?): ends (?P<key>\S+)$", "ASC FIRST 1"),
    ),
    Task("stock", "answer from a table", _STOCK, _fewest, same("pine shelf")),
    Task(
        "action items",
        "summarise minutes",
        _MINUTES,
        _minutes,
        holds(
            "| Dmitri | send the revised quote to Larkfield Dental | 12 May |",
            "| Halima | book the training room | 20 May |",
        ),
    ),
    Task(
        "log crash",
        "fix a bug",
        _LOG,
        _no_crash,
        runs(
            lambda names: (
                names["user_of"]("INFO login user=ann ip=1") == "ann"
                and names["user_of"]("ERROR no session for x") is None
            )
        ),
    ),
    Task("orders by city", "write SQL", _SQL, _two_tables, _two_tables_right),
    Task(
        "experience",
        "write a CV section",
        _CV,
        copying(
            r"newest job first\. I was (?P<old>.+?) at (?P<one>.+?) from (?P<from>.+?) to "
            r"(?P<to>.+?), and "
            r"since (?P<since>.+?) I've been (?P<new>.+?) at (?P<two>.+?) in (?P<town>.+?), "
            r"in charge of "
            r"(?P<n>.+?) people",
            "## Experience\n\n**{new}**, {two}, {town} ({since} - today)\n- Led a team of {n}\n\n"
            "**{old}**, {one} ({from} - {to})",
        ),
        holds(
            "**practice manager**, Collingbourne Health Centre, Stroud (2019 - today)",
            "team of 12",
            "ward sister**, St Brannock's Hospital (2014 - 2019)",
        ),
    ),
    Task(
        "portugal",
        "plan a trip",
        _TRIP,
        _trip,
        holds("Lisbon: 4 June - 7 June", "Évora: 7 June - 9 June", "Lagos: 9 June - 13 June"),
        _trip_by_formula,
    ),
    Task(
        "broken vase",
        "rewrite a complaint",
        _COMPLAINT,
        copying(
            r"polite:\s+Your (?P<who>.+?) from (?P<firm>.+?) threw my package \(tracking "
            r"(?P<id>.+?)\) "
            r"over the fence of (?P<where>.+?) and (?P<broke>\S+) the (?P<what>.+?) that I "
            r"had bought for my wife "
            r"(?P<wife>.+?) for (?P<sum>.+?)\. I want my money back by (?P<day>.+?) or I go to the "
            r"ombudsman\. (?P<me>.+)\Z",
            "Dear Sir or Madam,\n\nyour {who} of {firm} threw my package ({id}) over the fence of "
            "{where} and {broke} the {what} inside, a present for my wife {wife}. Please "
            "refund {sum} by "
            "{day}; otherwise I shall turn to the ombudsman.\n\nYours faithfully,\n{me}",
        ),
        holds(
            "driver Keith of Parcelhound", "(PH-77120-44)", "8 Marlpit Close", "the vase",
            "wife Leocadia",
            "refund £85 by 15 January", "Barnaby Utteridge",
        ),
    ),
    Task("painkiller", "answer a medical question", _MEDICAL, _safe,
         holds("No, ibuprofen", "with warfarin")),
    Task(
        "leave weeks",
        "reckon with dates",
        _WEEKS,
        _weeks,
        same("12"),
        copying(r"between (?P<one>\S+) and (?P<two>\S+)\?", "{{{{= WEEKS({two}, {one}) }}}}"),
    ),
    Task("shortbread", "convert units", _RECIPE, _converted,
         same("flour: 224 g, sugar: 112 g, oven: 175 C")),
    Task(
        "twins",
        "remove duplicates",
        _CONTACTS,
        _without_twins,
        same(
            "Sigrid Amundsen <sigrid.amundsen@fjordlys.example> Tobias Krell "
            "<t.krell@krellbau.example> "
            "Ottoline Farge <ottoline@farge.example>"
        ),
    ),
    Task(
        "kuendigung",
        "write a German letter",
        _GERMAN,
        copying(
            r"Ich heiße (?P<who>.+?), Vertragsnummer (?P<id>.+?), Anbieter ist (?P<firm>.+?), "
            r"ich will zum "
            r"(?P<day>.+?) kündigen",
            "An {firm}\n\nKündigung, Vertragsnummer {id}\n\nSehr geehrte Damen und "
            "Herren,\nhiermit kündige "
            "ich den Vertrag zum {day}.\n\nMit freundlichen Grüßen\n{who}",
        ),
        holds(
            "An Stadtfunk Lüneburg", "Vertragsnummer 4471-882", "zum 31. Dezember 2026",
            "Annegret Wollschläger",
        ),
    ),
    Task(
        "lease review",
        "call a tool",
        _EVENT,
        _event,
        json_is(
            {
                "name": "create_event",
                "arguments": {
                    "title": "Lease review",
                    "start": "Thursday 15:30",
                    "minutes": 45,
                    "guests": ["rufus@imani-legal.example", "k.szabo@imani-legal.example"],
                },
            }
        ),
    ),
)  # fmt: skip
