"""Replicas are killed, the database is restarted: sums are exact, each thing has one stand-in."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import pytest

from sanitizer.storage import PostgresStore
from sanitizer.storage.ledger import DAY, NANO, PostgresLedger, Scope
from sanitizer.storage.stored_vault import PostgresVault
from tests.proxy.replicas import (
    EPSILON,
    STORE_KEY,
    Tally,
    killed_while_written,
    released,
    replicas,
)
from tests.proxy.servers import Upstream, upstream
from tests.storage.postgres_server import PostgresServer, postgres_server

EACH = round(EPSILON * NANO)


def nano(ledger: PostgresLedger, scope: Scope) -> int:
    balance = ledger.balance(scope)
    return round((balance.spent + balance.reserved) * NANO)


def check(server: PostgresServer, up: Upstream, tally: Tally) -> dict[str, object]:
    """Compare ledger, tables and what left; return the figures."""
    left = released(up)
    twice = {model: texts for model, texts in left.items() if len(texts) > 1}
    assert not twice, f"{len(twice)} texts left in two forms"
    conversations = tally.conversations
    with PostgresStore(server.url, STORE_KEY, create=False) as store:
        vault, ledger = PostgresVault(store), PostgresLedger(store)
        ledger.check()
        n_drawn = 0
        for conversation in conversations:
            originals = vault.originals(f"{conversation}/ada")
            n_drawn += len(originals.drawn)
            stand_ins = defaultdict(set)
            for value, original in originals.items():
                stand_ins[original].add(value)
            assert all(len(values) == 1 for values in stand_ins.values()), conversation
            for model, (text,) in left.items():
                if model.partition(".")[0] == conversation:
                    assert any(value in text for value in originals), model
        for scope in (Scope("user", "ada"), Scope("team", "legal"), DAY):
            assert nano(ledger, scope) == n_drawn * EACH, scope.kind
        of_each = sum(nano(ledger, Scope("conversation", f"{c}/ada")) for c in conversations)
        assert of_each == n_drawn * EACH
    assert int(server.sql("SELECT count(*) FROM sanitizer.charge")) == n_drawn
    assert tally.charged <= n_drawn * EACH, "an answer that was lost told nobody its charge"
    return {"texts": len(left), "drawn": n_drawn, "nano-epsilon": n_drawn * EACH}


def run(tmp_path: Path, seconds: float, count: int, workers: int) -> None:
    with (
        postgres_server(durable=True) as server,
        upstream() as up,
        replicas(server, up, tmp_path, count, workers) as made,
    ):
        tally, n_killed = killed_while_written(server, made, 8, seconds)
        for each in made:
            each.kill()
        figures = check(server, up, tally)
    slowest = max(tally.seconds)
    print(  # noqa: T201  the table of the test
        f"\nkilled {n_killed} in {seconds:g} s, the database restarted once; requests "
        f"{dict(tally.outcomes)}, attempts broken off {tally.broken}, slowest {slowest:.1f} s; "
        f"{figures}"
    )
    assert n_killed >= seconds / 10
    assert set(tally.outcomes) <= {"200", "429", "500", "503"}, tally.outcomes
    assert tally.outcomes["200"] > 0


@pytest.mark.slow
def test_kills_for_ten_seconds(tmp_path: Path) -> None:
    run(tmp_path, 10, 1, 4)


@pytest.mark.nightly
def test_workers_killed_for_two_minutes(tmp_path: Path) -> None:
    run(tmp_path, 120, 1, 4)


@pytest.mark.nightly
def test_replicas_killed_for_two_minutes(tmp_path: Path) -> None:
    run(tmp_path, 120, 4, 1)
