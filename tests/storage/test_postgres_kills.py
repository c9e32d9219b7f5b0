"""Four processes with two writers each: one is killed every second, the database is restarted."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from collections import defaultdict
from pathlib import Path

import pytest

import sanitizer
from sanitizer.storage.ledger import DAY, NANO, PostgresLedger, Scope
from sanitizer.storage.postgres_store import PostgresStore
from sanitizer.storage.stored_vault import PostgresVault
from tests.storage.postgres_server import PostgresServer, postgres_server
from tests.storage.vault_contract import KEY, result

EPSILON = 0.123456789
EACH = round(EPSILON * NANO)
ADA, TEAM = Scope("user", "ada"), Scope("team", "legal")
ROOT = Path(sanitizer.__file__).parent.parent
WRITER = """
import random, sys, threading, time
from sanitizer.errors import SanitizerError
from sanitizer.storage.ledger import DAY, PostgresLedger, Scope
from sanitizer.storage.table import Drawn
from sanitizer.storage import PostgresStore
from sanitizer.storage.stored_vault import PostgresVault
from sanitizer.storage.table import Wanted
from tests.storage.vault_contract import substitutes, KEY, result
url, seed, EPSILON = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
ADA, TEAM = Scope("user", "ada"), Scope("team", "legal")
store = PostgresStore(url, KEY, seconds=5.0)
vault, ledger = PostgresVault(store, "digest"), PostgresLedger(store)
lock, count = threading.Lock(), 0

def tell(*words):
    with lock:
        print(*words, flush=True)

def make(kind, original, number, table):
    ledger.reserve([ADA, TEAM, DAY], EPSILON).commit()
    return Drawn(f"{original} drawn by {seed} as {random.random()}", EPSILON)

def thing(chosen):
    conversation, name = f"c{int(time.time()) // 3}", f"thing {chosen.randrange(12)}"
    (value,) = substitutes(vault, conversation, [Wanted("CONDITION", name)], make)
    return "thing", conversation, name, value

def message(chosen):
    key = b"message %d" % (int(time.time()) // 3 * 12 + chosen.randrange(12))
    kept = vault.get(key)
    if kept is None:
        charge = ledger.reserve([ADA, TEAM, DAY], EPSILON, key)
        mine = result(f"drawn by {seed} as {random.random()}")
        kept = vault.put_first(key, mine, "messages")
        charge.commit() if kept is mine else charge.release()
    return "message", key.decode(), "", kept.text

def write(number):
    chosen = random.Random(seed * 10 + number)
    while True:
        try:
            tell("answered|" + "|".join(chosen.choice([thing, message])(chosen)))
        except SanitizerError as error:
            tell("refused|" + str(error))
            time.sleep(0.01)

for number in range(2):
    threading.Thread(target=write, args=(number,)).start()
"""


def start(server: PostgresServer, folder: Path, seed: int) -> subprocess.Popen[bytes]:
    with (folder / f"log-{seed}").open("wb") as out:
        return subprocess.Popen(
            [sys.executable, "-c", WRITER, server.url, str(seed), str(EPSILON)],
            stdout=out,
            cwd=ROOT,
        )


def said(folder: Path, seed: int) -> bool:
    """True once a writer has said something: a process takes a while to start."""
    return (folder / f"log-{seed}").stat().st_size > 0


def told(folder: Path) -> list[list[str]]:
    """What writers said; the last line of one that was killed may be cut short."""
    lines = [
        line
        for path in folder.glob("log-*")
        for line in path.read_text().splitlines(keepends=True)
        if line.endswith("\n")
    ]
    return [line.rstrip("\n").split("|") for line in lines]


def run(folder: Path, seconds: int) -> None:
    with postgres_server(durable=True) as server:
        with PostgresStore(server.url, KEY, seconds=20.0):
            pass
        running = [start(server, folder, seed) for seed in range(4)]
        while not all(said(folder, seed) for seed in range(4)):
            assert all(each.poll() is None for each in running), "a writer ended by itself"
            time.sleep(0.1)
        chosen = random.Random(2026)
        begin = time.monotonic()
        for second in range(1, seconds + 1):
            time.sleep(max(0.0, begin + second - time.monotonic()))
            if second == seconds // 2:
                server.stop()
                server.start()
            place = chosen.randrange(4)
            running[place].kill()
            running[place].wait()
            running[place] = start(server, folder, 3 + second)
        for each in running:
            each.kill()
            each.wait()
        check(server, told(folder), seconds)


def check(server: PostgresServer, lines: list[list[str]], n_killed: int) -> None:
    answers: dict[tuple[str, ...], set[str]] = defaultdict(set)
    for line in lines:
        if line[0] == "answered":
            answers[tuple(line[1:4])].add(line[4])
    n_answered = sum(line[0] == "answered" for line in lines)
    assert n_answered > n_killed
    assert all(len(values) == 1 for values in answers.values()), "two outputs for one thing"
    with PostgresStore(server.url, KEY, create=False, seconds=20.0) as store:
        ledger, vault = PostgresLedger(store), PostgresVault(store)
        ledger.check()
        for (kind, where, name), (value,) in answers.items():
            if kind == "thing":
                assert vault.originals(where)[value] == name
            else:
                assert vault.put_first(where.encode(), result("another")).text == value
        totals = {
            kind.kind: balance.spent + balance.reserved
            for kind in (ADA, TEAM, DAY)
            for balance in [ledger.balance(kind)]
        }
        n_open = int(server.sql("SELECT count(*) FROM sanitizer.charge WHERE state = 'open'"))
    n_charges = int(server.sql("SELECT count(*) FROM sanitizer.charge"))
    n_kept = int(server.sql("SELECT count(*) FROM sanitizer.entry")) + int(
        server.sql("SELECT count(*) FROM sanitizer.message")
    )
    print(  # noqa: T201  the table of the test
        f"\nkilled {n_killed}, answered {n_answered}, refused {len(lines) - n_answered}, "
        f"outputs {n_kept}, charges {n_charges} ({n_open} open), nano-epsilon {n_charges * EACH}"
    )
    assert {round(total * NANO) for total in totals.values()} == {n_charges * EACH}
    # A writer that died between paying and keeping leaves a charge that nobody tried again.
    assert 0 <= n_charges - n_kept <= n_open <= 2 * n_killed + 8


@pytest.mark.slow
def test_writers_are_killed_for_ten_seconds(tmp_path: Path) -> None:
    run(tmp_path, 10)


@pytest.mark.nightly
def test_writers_are_killed_for_two_minutes(tmp_path: Path) -> None:
    run(tmp_path, 120)
