"""Coding agents through the proxy: sessions of 15 actions that read, edit, test and commit.

SANITIZER_TEST_CLIENTS names the folder in which `.ci/clients` installed the programs.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from sanitizer.testing.server import RecordingServer
from tests.cli.agents import AGENTS, Action, Agent, Script, Session, output, typed

FOLDER = Path(os.environ.get("SANITIZER_TEST_CLIENTS", "nowhere")).absolute()
SEEN_BY_ALL = "Marit Solberg asked for this: Quayside Freight wants the total per plan."
FILES = {
    "app.py": f'''"""Balances of our customers."""
import csv

# {SEEN_BY_ALL}


def load(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def total(rows, plan):
    return sum(float(row["balance"]) for row in rows if row["plan"] != plan)


def mark(rows):
    """Mark every row as seen."""
    for row in rows:
        row["seen"] = True
    return rows
''',
    "test_app.py": """import unittest

import app


class Totals(unittest.TestCase):
    def test_total(self):
        rows = app.load("customers.csv")
        self.assertEqual(app.total(rows, "gold"), 1250.5)

    def test_mark(self):
        self.assertTrue(all(row["seen"] for row in app.mark([{}, {}])))


if __name__ == "__main__":
    unittest.main()
""",
    "customers.csv": """id,name,email,phone,plan,balance,joined
7355610,Marit Solberg,marit.solberg@quaysidefreight.com,+47 912 34 567,gold,1200.50,2021-03-04
7355620,Bo Lindqvist,bo@lindqvist.se,+46 70 123 45 67,silver,20.00,2022-11-30
7355630,Ada Mensah,ada.mensah@example.org,+44 7700 900123,gold,50.00,2020-01-02
""",
    "config.ini": """[db]
host = 10.20.3.44
replica = db-prod-03.corp.internal
port = 5432
password = Molar!88Crown

[api]
token = ghp_Zk3v9QmX7tLr2BnYw8HsJd4FcPa6Ue1GoTi5
timeout = 30
""",
}
DATES = {f"GIT_{who}_DATE": "2026-05-04T09:30:00Z" for who in ("AUTHOR", "COMMITTER")}
"""Of the first commit, so that its hash is always the same."""
PRIVATE = [
    *("Marit", "Solberg", "Quayside", "quaysidefreight", "indqvist", "Bo Lind", "Mensah"),
    *("912 34 567", "70 123 45 67", "7700 900123", "10.20.3.44", "db-prod-03", "Molar!88Crown"),
    *(
        "ghp_Zk3v9QmX7tLr2BnYw8HsJd4FcPa6Ue1GoTi5",
        "7355610",
        "7355620",
        "7355630",
        "1200.50",
        "50.00",
    ),
    *("2021-03-04", "2022-11-30", "2020-01-02", "20.00", "ada.mensah", "marit.solberg"),
]
ALSO = ["silver", "gold"]
"""What may be hidden in a row of data, where the reader decides of each word."""
ENCODED = "aWQsbmFtZSxlbWFpbCxwaG9uZ"
"""How the table begins in base64."""


def line(seen: str, part: str) -> str:
    """Return the line of what the API saw that holds a part."""
    return next(each for each in seen.splitlines() if part in each)


def session() -> Session:
    """Play a model that copies into its edits what it saw."""
    code = yield Action("read", "app.py")
    table = yield Action("read", "customers.csv")
    config = yield Action("read", "config.ini")
    yield Action("shell", new="grep -n 'host\\|replica' config.ini")
    asked = line(code, "asked for this")
    yield Action("edit", "app.py", asked, f"{asked}\n# Ask before you change it.")
    wrong = line(code, "!= plan)")
    yield Action("edit", "app.py", wrong, wrong.replace("!=", "=="))
    row = [each for each in table.splitlines() if each.count(",") == 6][2]
    yield Action("edit", "customers.csv", row, f"{row}\n{row}")
    host, port = line(config, "host ="), line(config, "port =")
    both = f"{line(config, 'replica =')}\n{port}"
    yield Action("edit", "config.ini", host, f"{host}\n{host.replace('host', 'fallback')}")
    yield Action("edit", "config.ini", both, both.replace("5432", "5433"))
    yield Action("shell", new="python3 -m unittest 2>&1; echo exit $?")
    diff = yield Action("shell", new="git diff --no-ext-diff")
    added = diff[diff.index("+++ b/customers.csv") :]
    added = next(each[1:] for each in added.splitlines()[1:] if each[:1] == "+")
    yield Action("write", "notes.md", new=f"{asked}\n{line(config, 'token =')}\n{added}\n")
    yield Action("shell", new="nl -ba config.ini; git log -1 --format='%h %an <%ae>%n%s'")
    yield Action("shell", new="base64 -w 0 customers.csv; echo; gzip -c customers.csv | base64")
    yield Action("shell", new="git add -A; git commit -qm 'Count gold'; git show --stat | tail -5")


def expected() -> dict[str, str]:
    """Return the files as the session leaves them."""
    asked, rows = f"# {SEEN_BY_ALL}", FILES["customers.csv"].splitlines(keepends=True)
    config = FILES["config.ini"].replace("5432", "5433")
    host, token = "host = 10.20.3.44", next(x for x in config.split("\n") if "token" in x)
    return FILES | {
        "app.py": FILES["app.py"]
        .replace("!= plan", "== plan")
        .replace(asked, f"{asked}\n# Ask before you change it."),
        "customers.csv": "".join([*rows[:3], *rows[2:]]),
        "config.ini": config.replace(host, f"{host}\nfallback = 10.20.3.44"),
        "notes.md": f"{asked}\n{token}\n{rows[2]}",
    }


def made(folder: Path) -> Path:
    """Make a repository of the files."""
    folder.mkdir()
    for name, text in FILES.items():
        (folder / name).write_text(text, "utf-8")
    for words in (
        ("init", "-q", "-b", "main"),
        ("config", "user.name", "Marit Solberg"),
        ("config", "user.email", "marit.solberg@quaysidefreight.com"),
        ("add", "."),
        ("commit", "-qm", "Billing as Marit Solberg left it"),
    ):
        subprocess.run(["git", *words], cwd=folder, check=True, env=os.environ | DATES)
    (folder / ".git" / "info" / "exclude").write_text(".aider*\n__pycache__\n", "utf-8")
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("agent", AGENTS, ids=lambda agent: agent.name)
def test_a_session_leaves_the_right_bytes_and_shows_nothing_private(
    agent: Agent, tmp_path: Path
) -> None:
    if not (FOLDER / agent.bin / agent.name).exists():
        pytest.skip(f"SANITIZER_TEST_CLIENTS has no {agent.name} (.ci/clients installs it)")
    work, home = made(tmp_path / "work"), tmp_path / "home"
    home.mkdir()
    for name, text in agent.files:
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text(text, "utf-8")
    script = Script(agent, session(), work)
    lines = typed(session(), made(tmp_path / "elsewhere")) if agent.is_typed else ""
    task = () if agent.is_typed else ("Fix the totals.",)
    environment = {**os.environ, "HOME": str(home), "GEMINI_CLI_TRUST_WORKSPACE": "true"}
    environment |= {f"{name}_API_KEY": "sk-x" for name in ("OPENAI", "ANTHROPIC", "GEMINI")}
    environment |= {"PATH": f"{FOLDER / agent.bin}:{environment['PATH']}", "PWD": str(work)}
    for name in ("SANITIZER_VAULT_KEY", "SANITIZER_CORRECTIONS"):
        environment.pop(name, None)
    with RecordingServer(script) as server:
        host = server.url.removesuffix("/v1")
        urls = (f"openai={server.url}", f"anthropic={host}", f"gemini={host}")
        done = subprocess.run(
            [
                *(sys.executable, "-m", "sanitizer", "run", "--reveal", *agent.options),
                *(word for url in urls for word in ("--upstream", url)),
                *("--", *agent.arguments, *task),
            ],
            cwd=work,
            env=environment,
            capture_output=True,
            input=lines.encode(),
            timeout=400,
            check=False,
        )
        received = server.received.decode("utf-8", "replace")
    said = done.stderr.decode()
    shown = "\n=====\n".join(script.seen)
    assert done.returncode == 0, said
    assert len(script.seen) == 15, said + shown
    assert {n: (work / n).read_text("utf-8") for n in expected()} == expected(), shown
    seen = [each for each in (*PRIVATE, ENCODED) if each in received]
    assert seen == [], [received[max(0, received.index(p) - 300) :][:400] for p in seen]
    left = re.findall(r"(?m)^  (\S+)  was  (.*)$", said)
    changed = [was for _, was in left if not any(p in was for p in (*PRIVATE, *ALSO, ENCODED))]
    # One of codex's random names of outputs may be six digits, as numbers of customers are.
    assert [
        was for was in changed if agent.name != "codex" or not re.fullmatch("[0-9]{6}", was)
    ] == []
    tests, diff, log = (output(script.seen[number]) for number in (9, 10, 12))
    assert re.search(r"Ran 2 tests in [0-9.]+s\n+OK\n+exit 0", tests), tests
    assert re.search(r"(?m)^index [0-9a-f]{7}\.\.[0-9a-f]{7} 100644$", diff), diff
    assert "@@ -1,7 +1,8 @@" in diff, diff
    assert re.search(r"(?m)^-    return sum.*!= plan\)\n\+    return sum.*== plan\)$", diff), diff
    assert re.search(r"(?m)^ <ID_.*\n\+<ID_.*\n <ID_", diff), diff
    assert re.search(r"(?m)^ +4\tport = 5433$|^ +5\tport = 5433$", log), log
    head = subprocess.run(
        ["git", "log", "-1", "--skip=1", "--format=%h"], cwd=work, capture_output=True, check=True
    )
    assert head.stdout.decode().strip() in log
