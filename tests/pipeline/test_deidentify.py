"""The preset deidentify, end to end: what leaves, what comes back, what still parses."""

from __future__ import annotations

import ast
import json
import re
import sqlite3
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sanitizer import Policy, PolicyError, Sanitizer
from sanitizer.detect.classes import class_members
from sanitizer.lm.masked import OnnxMaskedLM

ROOT = Path(__file__).parents[2]
MAIL = """Hi team,

please rewrite this mail so that it sounds friendlier, in at most 100 words:

Dear Mr Okonkwo-Reyes,

on 12 March 2024 you bought 3 licences of Quillmark Pro for 4,250 euros from Halden Logistics GmbH.
Since Tuesday 14 May your colleague Priya calls me twice a day at +44 20 7946 0321.

Kind regards
Elena Marsh
Accounts, Brightwater Ltd, Leeds"""


PARTS = """Elena Marsh|Otto|Leeds|please|the report|4,250 euros|on 12 March|acme_payroll_v2|HX-4471
joe@x.org|qzzk|PERSON_1|<PERSON_1>|東京|`Otto`|is|\n|\ud800|C++|3 sentences|in Ulm.""".split("|")


@pytest.fixture(scope="module")
def sanitizer() -> Sanitizer:
    return Sanitizer(policy="deidentify", threads=1)


def test_who_and_how_much_are_hidden_and_the_task_stays(sanitizer: Sanitizer) -> None:
    out = sanitizer.sanitize(MAIL)
    for private in ("Okonkwo", "Reyes", "4,250", "Halden", "Priya", "7946", "Marsh", "Leeds"):
        assert private not in out.text
    for task in ("rewrite this mail", "friendlier", "at most 100 words", "licences", "twice a day"):
        assert task in out.text
    assert sanitizer.restore(out.text) == MAIL


def test_the_record_states_the_claim(sanitizer: Sanitizer) -> None:
    record = sanitizer.sanitize(MAIL).record
    assert (record.detector, record.language, record.certified) == ("local", "en", True)
    assert record.epsilon_per_unit == record.epsilon_total == record.charged == 0.0
    assert record.n_things >= 8
    assert "read the same" in record.neighboring_relation
    assert record.model_sha256


def test_equal_things_have_equal_stand_ins_in_all_messages(sanitizer: Sanitizer) -> None:
    one = sanitizer.derive(conversation="equal")
    first = one.sanitize("Please call Elena Marsh tomorrow.").text
    second = one.sanitize("What did Elena Marsh say?").text
    (stand_in,) = re.findall(r"<[A-Z]+_[0-9]+>", first)
    assert stand_in in second


def test_another_thing_that_is_read_the_same_leaves_the_same_bytes(sanitizer: Sanitizer) -> None:
    """The claim: epsilon 0 within a class."""
    texts = [
        f"Please tell my boss {name} that I earn {sum_} at {firm} since 2 March."
        for name, sum_, firm in [
            ("Elena Marsh", "4,250 euros", "Halden Logistics GmbH"),
            ("Otto Quill", "2,900 euros", "Brennerhof Logistics GmbH"),
            ("Priya Raman", "7,115 euros", "Quorn Logistics GmbH"),
        ]
    ]
    released = {sanitizer.derive(conversation=text).sanitize(text).text for text in texts}
    assert len(released) == 1


@settings(deadline=None)
@given(
    st.lists(
        st.sampled_from(PARTS),
        max_size=14,
    )
)
def test_what_went_to_the_vault_comes_back_byte_for_byte(
    sanitizer: Sanitizer, parts: list[str]
) -> None:
    text = " ".join(["please write this about the report:", *parts])
    one = sanitizer.derive(conversation=text)
    assert one.restore(one.sanitize(text).text) == text


def fenced(text: str) -> str:
    return text.split("```")[1].partition("\n")[2]


def test_json_stays_json(sanitizer: Sanitizer) -> None:
    data = {"first_name": "Elena", "employer": "Brightwater", "salary": 52000, "visits": 3}
    out = sanitizer.sanitize("Convert this to CSV:\n```json\n" + json.dumps(data) + "\n```")
    assert set(json.loads(fenced(out.text))) == set(data)
    assert "Elena" not in out.text
    assert "52000" not in out.text


def test_python_stays_python(sanitizer: Sanitizer) -> None:
    code = (
        "def quorn_payroll(employee):\n    # written by Otto Quill\n    rate = 41.5\n"
        "    print('Elena Marsh', rate)\n    return quorn_payroll\n"
    )
    text = f"Why does this fail?\n```python\n{code}```\nUse Python 3.11."
    out = sanitizer.sanitize(text)
    ast.parse(fenced(out.text))
    assert "Marsh" not in out.text
    assert "quorn" not in out.text
    assert sanitizer.restore(out.text) == text


def test_a_tag_is_not_taken_for_a_placeholder(sanitizer: Sanitizer) -> None:
    text = "Why?\n```jsx\nreturn <setQzzk>{p.name}</setQzzk>;\n```"
    out = sanitizer.sanitize(text)
    assert "setQzzk" not in out.text
    assert "```jsx" in out.text
    assert sanitizer.restore(out.text) == text


def test_sql_stays_sql(sanitizer: Sanitizer) -> None:
    query = "SELECT name FROM employees WHERE city = 'Leeds' AND name = 'Elena Marsh'"
    out = sanitizer.sanitize(f"Explain this query:\n```sql\n{query}\n```")
    database = sqlite3.connect(":memory:")
    database.execute("CREATE TABLE employees (name, city)")
    database.execute("EXPLAIN " + fenced(out.text))
    assert "Marsh" not in out.text


def test_a_text_in_no_known_language_is_refused_and_the_way_out_named(
    sanitizer: Sanitizer,
) -> None:
    with pytest.raises(PolicyError, match='"identifiers" works in any language'):
        sanitizer.sanitize("我的父亲彼得患有肝炎，住在利兹。请给医生写一封信。")


def test_german_is_told_in_the_record(sanitizer: Sanitizer) -> None:
    text = "Bitte schreiben Sie mir einen kurzen Brief an meinen Vermieter, Herrn Krause aus Ulm."
    out = sanitizer.sanitize(text)
    assert out.record.language == "de"
    assert "Krause" not in out.text


def test_facts_in_everyday_words_are_warned_about(sanitizer: Sanitizer) -> None:
    out = sanitizer.sanitize("Please help me. He hits me every night and I cannot pay the rent.")
    assert out.warnings
    assert all(warning.kind == "fact" for warning in out.warnings)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("I lost my job in spring. Suggest three options.", "I lost my job in spring."),
        ("Give me a plan. The kids hide in their room.", "The kids hide in their room."),
        ("Make it short. He did not dare to go home.", "He did not dare to go home."),
        (
            "Make it short. At marsh@northgate.example, where I lost my job, ask for Jo.",
            "At marsh@northgate.example, where I lost my job, ask for Jo.",
        ),
    ],
)
def test_a_warning_names_the_sentence(sanitizer: Sanitizer, text: str, told: str) -> None:
    warnings = sanitizer.sanitize(text).warnings
    assert [text[each.start : each.end].strip() for each in warnings] == [told]


@pytest.mark.parametrize(
    "text",
    [
        "Write a function that sorts a list of numbers. It should be fast. Explain how it works.",
        "Translate into German: the meeting is on Friday. Bring the reports.",
        "Suggest a title and three short headings for a page about bread.",
    ],
)
def test_a_text_about_nobody_is_not_warned_about(sanitizer: Sanitizer, text: str) -> None:
    assert sanitizer.sanitize(text).warnings == ()


def test_a_class_can_be_refused_or_hidden_by_a_policy_file(tmp_path: Path) -> None:
    path = tmp_path / "clinic.toml"
    path.write_text('base = "deidentify"\n[classes]\nTREATMENT = "vault"\nPLACE = "refuse"\n')
    clinic = Sanitizer(policy=path, threads=1)
    assert "sertraline" not in clinic.sanitize("I take sertraline every morning.").text
    with pytest.raises(PolicyError, match="refuses texts with PLACE"):
        clinic.sanitize("I live in Leeds and work at home.")


def test_the_readme_shows_what_leaves(model: OnnxMaskedLM) -> None:
    readme = (ROOT / "README.md").read_text("utf-8")
    lines = dict(re.findall(r"^(you write|it leaves|it answers|you read) +(.*)$", readme, re.M))
    s = Sanitizer(model=model)
    result = s.sanitize(lines["you write"])
    (drawn,) = [r for r in result.replacements if r.kind == "CONDITION"]
    before, after = (result.text[: drawn.start], result.text[drawn.end :])
    shown = lines["it leaves"].removeprefix(before).removesuffix(after)
    assert shown in class_members("CONDITION"), "whatever was drawn, the rest is as shown"
    drawn_again = [
        r.replacement
        for _ in range(4)
        for r in Sanitizer(model=model).sanitize(lines["you write"]).replacements
        if r.kind == "CONDITION"
    ]
    assert shown in drawn_again, "what is shown is what most readers will see"
    assert lines["it leaves"] == lines["it answers"] == f"{before}{shown}{after}"
    assert s.restore(result.text) == lines["you read"] == lines["you write"]


def test_amounts_pass_where_the_policy_lets_them(model: OnnxMaskedLM) -> None:
    """Sums were terms then, so that the way that the documentation names did not work."""
    base = {"base": "deidentify", "classes": {"MONEY": "pass"}}
    s = Sanitizer(policy=Policy.load(base), model=model)
    out = s.sanitize("Sort by price: Elena Marsh owes £2,310.00, Otto Quill owes £95.50.")
    assert "£2,310.00" in out.text
    assert "£95.50" in out.text
    assert "Marsh" not in out.text
    assert out.hints == ()


def test_values_of_an_ini_file_get_no_quotes(model: OnnxMaskedLM) -> None:
    """Such a file has bare words, which TOML has not: quotes would be part of the value."""
    s = Sanitizer(policy="deidentify", model=model)
    text = "Change the port:\n\n[db]\nhost = db-eu-1\nport = 5432\npassword = Tr0ub4dor&3\n"
    out = s.sanitize(text)
    assert '"' not in out.text
    assert "port = 5432" in out.text
    assert "Tr0ub4dor" not in out.text
    assert s.restore(out.text.replace("5432", "9090"), out) == text.replace("5432", "9090")


@pytest.mark.parametrize("policy", ["deidentify", "balanced"])
def test_a_part_of_a_name_belongs_to_it_though_it_reads_like_a_firm(
    model: OnnxMaskedLM, policy: str
) -> None:
    sanitizer = Sanitizer(policy=policy, model=model)
    first = sanitizer.sanitize("My father Peter Lund called the clinic.").text
    text = "Write to Lund's insurer that it is still open."
    second = sanitizer.sanitize(text)
    (whole,), (part,) = (re.findall("<PERSON_[0-9_]+>", each) for each in (first, second.text))
    assert part.startswith(f"{whole[:-1]}_"), "another form of it"
    assert sanitizer.restore(second.text, second) == text


_USERS = 'const users = [{ id: 1, name: "<>" }, { id: 2, name: "<>" }];'


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ('fetch(url, {headers: {"X-Auth-Token": token, "X-Request-Id": id}})', None),
        ("Offer 1 is remote, Offer 2 is not. Option 3 is to stay.", None),
        ("Please reformat this list and resend it to the couriers.", None),
        ("He is punctual, courteous and proactive.", None),
        ("My codes are F32.1 and E11.9.", "My codes are <> and <>."),
        ("Her last HbA1c was 7.9.", "Her last HbA1c was <>."),
        ("For my aunt:\nHbA1c 8.9 % (ref < 6.0)", "For my aunt:\nHbA1c <> (ref < 6.0)"),
        ("My brother offers 400 euros a month.", "My brother offers <> a month."),
        ("Meridian Polymers B.V. asks for EUR 1.38/kg.", "<> B.V. asks for <>/kg."),
        ("My son Oliver is in Year 4.", "My son <> is in Year <>."),
        (
            "What is a Roth IRA, and how does it differ from a traditional IRA?",
            "What is a Roth IRA, and how does it differ from a traditional IRA?",
        ),
        ("He got warfarin 3 mg on 2 May from Ji-woo Bae.", "He got warfarin <> on <> from <>."),
        (
            "Sehr geehrte Damen und Herren,\n\nmein Sohn Emil Brandner, Klasse 4b der "
            "Lindenschule in Oberrode, war vom 3. bis 7. November krank. Er darf laut Dr. Kessler "
            "erst ab Montag wieder am Sport teilnehmen.\n\nMit freundlichen Gr\u00fc\u00dfen\n"
            "Katja Brandner, Tel. 0151 23456789",
            "Sehr geehrte Damen und Herren,\n\nmein Sohn <>, Klasse <> der <> in <>, war vom <>. "
            "bis <> krank. Er darf laut Dr. <> erst ab Montag wieder am Sport teilnehmen.\n\n"
            "Mit freundlichen Gr\u00fc\u00dfen\n<>, Tel. <>",
        ),
        ("Thank Nurse Abiola on ward 7B for me.", "Thank <> on ward <> for me."),
        ('const users = [{ id: 1, name: "Noor" }, { id: 2, name: "Jack" }];', _USERS),
        ("Which regex matches IBANs and URLs?", None),
        ("Copy /home/tobias/Pictures/a.jpg there.", "Copy /home/<>/Pictures/a.jpg there."),
        ("Rhea Banerjee must not sublet Unit 4C.", "<> must not sublet Unit <>."),
        (
            "I gave it to a patient in bed 12 (Mr Farouk).",
            "I gave it to a patient in bed <> (Mr <>).",
        ),
        ("Ida Lund is due 15 may 2024 at ten past nine.", "<> is due <> at <>."),
        ("My lawyer Mr. van Eck and Piet van der Plas agree.", "My lawyer Mr. <> and <> agree."),
        (
            "Ida Lund: MCV 71 fL (80-100), CRP 2 mg/L (under 5).",
            "<>: MCV <> fL (80-100), CRP <> (under 5).",
        ),
        ("Dates as YYYY-MM-DD, also Ida Lund's.", "Dates as YYYY-MM-DD, also <>'s."),
        (
            "- Ida: the desks that do not come along.\nMarlo",
            "- <>: the desks that do not come along.\n<>",
        ),
        (
            "server {\n    auth_file /etc/staff.key; # denise home\n}",
            "server {\n    auth_file /etc/staff.key; # <> home\n}",
        ),
        (
            "Meine Mutter Renate wohnt unten und hat Migräne. Bitte auf Englisch.",
            "Meine Mutter <> wohnt unten und hat Migräne. Bitte auf Englisch.",
        ),
        (
            "Since version 2.4.1 it fails for customer Halvik Textiles (id 48213).\n\n"
            "```python\ndef total(rows):\n    return sum(rows)\n```\nTypeError: int and str",
            "Since version 2.4.1 it fails for customer <> (id <>).\n\n"
            "```python\ndef total(rows):\n    return sum(rows)\n```\nTypeError: int and str",
        ),
        ("Please 1) translate it, 2) thank Ms Lund.", "Please 1) translate it, 2) thank Ms <>."),
        (
            "I am Ida Lund.\n\nFORM\n1 Surname:\n2 First name:\n3 Date of birth:",
            "I am <>.\n\nFORM\n1 Surname:\n2 First name:\n3 Date of birth:",
        ),
        (
            "INSERT INTO customer VALUES\n (1,'Ida Lund'),\n (2,'Per Holm');",
            "INSERT INTO customer VALUES\n (1,'<>'),\n (2,'Per <>');",
        ),
        (
            "Test   Result   Reference\nHb     10.9     12.0 - 15.5\nCRP    48       < 5",
            "Test   Result   Reference\n<>     <>     12.0 - 15.5\nCRP    <>       < 5",
        ),
        ("Fix this.\nKind regards,\nWill", "Fix this.\nKind regards,\n<>"),
        (
            '{"name": {"first": "Nkechi", "last": "Storm"}}',
            '{"name": {"first": "<>", "last": "<>"}}',
        ),
        (
            "Ida Lund, aged 5:\n```python\nif day.weekday() in (4, 6):\n    sum *= 1 - rate\n```",
            "<>, aged <>:\n```python\nif day.weekday() in (4, 6):\n    sum *= 1 - rate\n```",
        ),
        ("We meet Ms Pritchard on the 9th at 3.30pm.", "We meet Ms <> on the <> at <>."),
        (
            "Hola, resume esta nota: La paciente Lucía Fernández, de 47 años, vive en Getafe.",
            "Hola, resume esta nota: La paciente <>, de <>, vive en <>.",
        ),
        ("Lena has invoices of $120.50, 80 and 42.", "<> has invoices of <>, <> and <>."),
        ("SELECT id FROM invoices WHERE paid = 0 AND total > 10;", None),
        ("SELECT a FROM b WHERE visits >= 3 AND age > 60;", None),
        (
            "A complaint under the Consumer Rights Act 2015 and of the Poppins estate.",
            "A complaint under the Consumer Rights Act 2015 and of the <> estate.",
        ),
        (
            "The accident was on 9.11.24, the update to 2.11.24 later.",
            "The accident was on <>, the update to 2.11.24 later.",
        ),
        ("I need a hotline, a smartphone and a webcam for our bootcamp.", None),
        ("Make a Gantt chart and a Venn diagram of it.", None),
        ("A regex for numbers like INV-2024-00123 or INV-2024-00124-A. I have INV-\\d{4}.", None),
        ("My booking is 88-213-K.", "My booking is <>."),
        (
            "1. Nadja, wants 62k\n2. Peter, German B1\n3. Linh",
            "1. <>, wants <>\n2. <>, German B1\n3. <>",
        ),
        ("I want to run a 10k in Leeds.", "I want to run a 10k in <>."),
        ("The drive shows fault E-214. What is E-214?", None),
        ("Dept 4 paid 412,000 kr to Taglauget ApS.", "Dept <> paid <> to <>."),
        ("Write a eulogy for my uncle Fergus.", "Write a eulogy for my uncle <>."),
        (
            "Translate it to Spanish (Mexico). Keys are with Don Chuy.",
            "Translate it to Spanish (Mexico). Keys are with <>.",
        ),
        ("Pod status: FailedScheduling, AccessControlListNotSupported", None),
        ("Document 5105600312 was booked twice.", "Document <> was booked twice."),
        ("return <ul>{orders.map(o => <li key={o.id}>{o.total}</li>)}</ul>;", None),
        ("error[E0106]: missing lifetime specifier\n --> src/main.rs:1:33", None),
        ("Why does the cron line 0 30 6 ? * TUE#2 fail?", None),
        ("Write a cron expression for every second Tuesday at 6:30.", None),
        ("[ERROR] Tests run: 212, Failures: 1, Errors: 0, Skipped: 3", None),
        ("#include <DHT.h>\nDHT dht(4, DHT22);\nvoid setup() { dht.begin(); }", None),
        ("Explain ^(?<year>\\d{4})-(?<month>0[1-9]|1[0-2])$ to me.", None),
        ("It takes 3.4 s for 80k rows.", None),
        ("Act as a career coach. I'm Noor Lund.", "Act as a career coach. I'm <>."),
        ("You are a senior tax advisor. Explain VAT.", None),
        ("Name, Mon, Tue\nLotte, 8, 7.5\nSamir, 8, 8", "Name, Mon, Tue\n<>, 8, 7.5\n<>, 8, 8"),
        ("My boyfriend Luca hates coriander.", "My boyfriend <> hates coriander."),
        ("My boyfriend speaks Gujarati.", None),
        ("She scored 96 of 120 points.", "She scored <> of 120 points."),
        ("Account u_90233 is unpaid.", "Account <> is unpaid."),
        ("Plan an agenda from 9:00 to 12:30.", None),
        (
            "nom,prénom,ville,salaire\nMarchand,Aurélie,Nantes,2380\nLeclerc,Paul,Calais,2910",
            "nom,prénom,ville,salaire\n<>,<>,<>,<>\n<>,<>,<>,<>",
        ),
        (
            "Madame, Monsieur,\nJ'habite à Nantes et j'ai résilié mon contrat.",
            "Madame, Monsieur,\nJ'habite à <> et j'ai résilié mon contrat.",
        ),
        ("My cat fears the vacuum cleaner. I was charged twice.", None),
        ("Flat A costs more than Flat B.", None),
        ("She lives in Stoke-on-Trent, he in La Chaux-de-Fonds.", "She lives in <>, he in <>."),
        ("It was stolen from the Queen Elizabeth II Hospital.", "It was stolen from the <>."),
        ("Forward it to Ludwig van den Berg-Hartmann.", "Forward it to <>."),
        ("I am in a flat of 20 square metres since 8 months.", "I am in a flat of <> since <>."),
        (
            "My normal weight is 62, my salary 650. Convert my rent 450 to dollars.",
            "My normal weight is <>, my salary <>. Convert my rent <> to dollars.",
        ),
        ("You are a tax advisor. Elena Marsh earns 48,000.", "You are a tax advisor. <> earns <>."),
        ("The hospital is 40 min away.", "The hospital is <> away."),
        ("Nine passengers were hurt.", "<> passengers were hurt."),
        ("2025-01-03;Acme Ltd;-17.99\n2025-01-05;Bolt AS;-24.99", "<>;<>;-<>\n<>;<>;-<>"),
    ],
)
def test_what_leaves_of_texts_as_people_write_them(
    sanitizer: Sanitizer, text: str, left: str | None
) -> None:
    out = sanitizer.sanitize(text)
    assert re.sub(r"<[A-Z_]+_[0-9_]+>", "<>", out.text) == (left or text)
    assert sanitizer.restore(out.text, out) == text
