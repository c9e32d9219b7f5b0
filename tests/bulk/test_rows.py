"""The function over Arrow batches: drawn once, charged once, whoever asks how often."""

from __future__ import annotations

import pickle
import threading
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

from sanitizer import BudgetExceeded, Ledger, Policy, PolicyError, VaultError
from sanitizer.bulk import BulkJob, RowSanitizer
from sanitizer.bulk.job import Column
from sanitizer.storage.ledger import Scope
from tests.bulk.helpers import KEY, job_of, store_of, sums
from tests.storage.postgres_server import PostgresServer

on_both = pytest.mark.parametrize("backend", ["file", "postgres"], indirect=True)
pytestmark = pytest.mark.usefixtures("backend")


def table(*texts: str | None, **columns: list[object]) -> pa.Table:
    ids = [f"r{i}" for i in range(len(texts))]
    return pa.table({"id": ids, "text": pa.array(texts, pa.string()), **columns})


def drawn_job(folder: Path, **changes: object) -> BulkJob:
    """A job that draws each word: charges without a model of things."""
    return job_of(folder, **{"policy": "guarded", "id_column": "id", "threads": 1, **changes})


ILL = "My father has hepatitis."


@on_both
def test_rows_are_conversations_of_their_own(tmp_path: Path) -> None:
    with RowSanitizer(job_of(tmp_path, id_column="id")) as sanitize:
        out = sanitize(table("Mail a@example.org", None, "", "Mail b@example.org"))
    assert out["text"].to_pylist() == ["Mail <EMAIL_1>", None, "", "Mail <EMAIL_1>"]


@on_both
def test_rows_of_one_unit_share_their_stand_ins_over_batches(tmp_path: Path) -> None:
    job = job_of(tmp_path, id_column="id", unit_column="who")
    texts = ("Mail a@example.org", "Mail b@example.org", "Mail b@example.org, a@example.org")
    with RowSanitizer(job) as sanitize:
        whole = table(*texts, who=["x", "x", "x"])
        pieces = [sanitize(whole.slice(i, 1))["text"][0].as_py() for i in range(3)]
    assert pieces == ["Mail <EMAIL_1>", "Mail <EMAIL_2>", "Mail <EMAIL_2>, <EMAIL_1>"]


@on_both
def test_record_batches_come_back_as_record_batches_with_other_columns_as_they_were(
    tmp_path: Path,
) -> None:
    batch = table("Mail a@example.org", n=[7]).to_batches()[0]
    with RowSanitizer(job_of(tmp_path, id_column="id")) as sanitize:
        out = sanitize(batch)
    assert isinstance(out, pa.RecordBatch)
    assert out.column("n").equals(batch.column("n"))
    assert out.schema.names == batch.schema.names


@on_both
def test_cells_of_a_class_are_one_thing_and_known_in_the_texts(tmp_path: Path) -> None:
    job = job_of(tmp_path, id_column="id", columns=("text", "phone=PHONE", "mail=EMAIL"))
    batch = table("Mail a@example.org", phone=[5551234], mail=["a@example.org"])
    with RowSanitizer(job) as sanitize:
        (row,) = sanitize(batch).to_pylist()
    assert row == {"id": "r0", "text": "Mail <EMAIL_1>", "phone": "<PHONE_1>", "mail": "<EMAIL_1>"}


@on_both
def test_a_row_is_drawn_and_charged_once_however_often_it_is_asked_for(tmp_path: Path) -> None:
    job = drawn_job(tmp_path)
    batch = table(*[ILL] * 4)
    with RowSanitizer(job) as first, RowSanitizer(pickle.loads(pickle.dumps(job))) as second:  # noqa: S301
        outs = [sanitize(batch)["text"].to_pylist() for sanitize in (first, second, first)]
    assert outs[0] == outs[1] == outs[2]
    assert ILL not in outs[0]
    assert sums(job)[:2] == (4, 4 * 5 * 10**9)


@on_both
def test_a_worker_that_comes_second_reads_what_the_first_released(tmp_path: Path) -> None:
    job = drawn_job(tmp_path, unit_column="who")
    batch = table(ILL, "He has gout.", who=["x", "x"])
    with RowSanitizer(job) as first, RowSanitizer(job) as second:
        chunks = second._chunks(list(second._inputs(batch, None)))
        chunk, _ = next(chunks)  # drawn, not written yet
        kept = first(batch)["text"].to_pylist()
        assert second.store.commit(chunk.rows, chunk.units) == {row.key for row in chunk.rows}
        assert second(batch)["text"].to_pylist() == kept
    assert sums(job) == (2, 10 * 10**9, 10 * 10**9)


@on_both
def test_the_budget_of_a_unit_holds_over_batches(tmp_path: Path) -> None:
    texts = (ILL, "She has asthma.", "He has gout.")
    batch = table(*texts, who=["x", "x", "y"])
    job = drawn_job(tmp_path, unit_column="who", budget=5.0, refused="empty")
    with RowSanitizer(job) as sanitize:
        out = sanitize(batch)["text"].to_pylist()
    assert [text is None for text in out] == [False, True, False]
    assert sums(job) == (3, 10 * 10**9, 10 * 10**9)


@on_both
def test_a_refused_row_ends_the_job_by_default_and_what_came_before_is_kept(
    tmp_path: Path,
) -> None:
    job = drawn_job(tmp_path, unit_column="who", budget=5.0)
    batch = table(ILL, "She has asthma.", who=["x", "x"])
    with RowSanitizer(job) as sanitize, pytest.raises(BudgetExceeded, match="row 2 of a batch"):
        sanitize(batch)
    assert sums(job) == (1, 5 * 10**9, 5 * 10**9)


@on_both
def test_a_text_that_the_policy_refuses_is_counted_and_never_quoted(tmp_path: Path) -> None:
    guarded = Policy.preset("guarded")
    policy = replace(guarded, treatments={**guarded.treatments, "CONDITION": "refuse"})
    batch = table(ILL, "All is well.")
    with (
        RowSanitizer(drawn_job(tmp_path, policy=policy)) as sanitize,
        pytest.raises(PolicyError, match="row 1 of a batch: policy 'guarded' refuses") as caught,
    ):
        sanitize(batch)
    assert "hepatitis" not in str(caught.value)
    job = drawn_job(tmp_path, policy=policy, refused="empty", store=tmp_path / "second")
    with RowSanitizer(job) as sanitize:
        assert sanitize(batch)["text"].to_pylist() == [None, "All is well."]


# ---- ledger ----


def ledger(folder: Path, **limits: float) -> Path:
    path = folder / "ledger"
    with Ledger.create(path, KEY.encode()) as made:
        for name, epsilon in limits.items():
            made.set_limit(Scope("user", name), epsilon)
    return path


def spent(path: Path, name: str) -> float:
    with Ledger(path, KEY.encode()) as opened:
        return opened.balance(Scope("user", name)).spent


def test_the_ledger_is_charged_once_for_each_unit(tmp_path: Path) -> None:
    path = ledger(tmp_path)
    job = drawn_job(tmp_path, unit_column="who", ledger=path)
    batch = table(ILL, "She has asthma.", "He has gout.", who=["x", "x", "y"])
    for _ in range(2):
        with RowSanitizer(job) as sanitize:
            sanitize(batch)
    assert (spent(path, "x"), spent(path, "y")) == (10.0, 5.0)


def test_what_the_ledger_refuses_is_taken_back_and_the_rest_goes_on(tmp_path: Path) -> None:
    path = ledger(tmp_path, x=5.0)
    job = drawn_job(tmp_path, unit_column="who", ledger=path, refused="empty")
    batch = table(ILL, "She has asthma.", "He has gout.", who=["x", "x", "y"])
    with RowSanitizer(job) as sanitize:
        out = sanitize(batch)["text"].to_pylist()
    assert [text is None for text in out] == [False, True, False]
    assert (spent(path, "x"), spent(path, "y")) == (5.0, 5.0)
    assert sums(job) == (3, 10 * 10**9, 10 * 10**9)


@pytest.mark.parametrize("after", ["before the charge", "behind the charge"])
def test_a_crash_around_the_charge_charges_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, after: str
) -> None:
    path = ledger(tmp_path)
    job = drawn_job(tmp_path, unit_column="who", ledger=path)
    batch = table(ILL, who=["x"])
    charge = Ledger.charge_once

    def dying(self: Ledger, *arguments: object) -> bool:
        if after == "behind the charge":
            charge(self, *arguments)  # type: ignore[arg-type]
        raise KeyboardInterrupt

    with RowSanitizer(job) as sanitize, monkeypatch.context() as patch:
        patch.setattr(Ledger, "charge_once", dying)
        with pytest.raises(KeyboardInterrupt):
            sanitize(batch)
        assert len(sanitize.store._decoded) == 0
    with RowSanitizer(job) as sanitize:
        sanitize.store.settle()
        written = sanitize.store.find([sanitize.store.row_key("r0")])
        out = sanitize(batch)["text"].to_pylist()
    assert [row.cells for row in written.values()] == [tuple(out)]
    assert spent(path, "x") == 5.0
    assert sums(job) == (1, 5 * 10**9, 5 * 10**9)


# ---- what does not fit ----


@on_both
def test_a_store_serves_one_job(tmp_path: Path) -> None:
    RowSanitizer(job_of(tmp_path, id_column="id")).close()
    with pytest.raises(VaultError, match="other columns, policy or model"):
        RowSanitizer(job_of(tmp_path, id_column="id", policy="deidentify"))
    with pytest.raises(VaultError, match="without a ledger or originals"):
        RowSanitizer(job_of(tmp_path, id_column="id", keep_originals=False))


@on_both
def test_another_key_opens_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    RowSanitizer(job_of(tmp_path, id_column="id")).close()
    monkeypatch.setenv("SANITIZER_VAULT_KEY", "another obviously fake key")
    with pytest.raises(VaultError, match="wrong key"):
        RowSanitizer(job_of(tmp_path, id_column="id"))


def test_without_a_key_nothing_is_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SANITIZER_VAULT_KEY")
    with pytest.raises(ValueError, match="SANITIZER_VAULT_KEY"):
        RowSanitizer(job_of(tmp_path, id_column="id"))
    assert not list(tmp_path.iterdir())


def test_workers_never_make_a_second_store(tmp_path: Path) -> None:
    with pytest.raises(VaultError, match="missing; the store of a job is on one machine"):
        RowSanitizer(job_of(tmp_path, id_column="id"), create=False)
    assert not list(tmp_path.iterdir())


@on_both
def test_changed_input_is_noticed(tmp_path: Path) -> None:
    with RowSanitizer(job_of(tmp_path, id_column="id")) as sanitize:
        sanitize(table("Mail a@example.org"))
        with pytest.raises(ValueError, match="not what it was"):
            sanitize(table("Mail b@example.org"))


def test_rows_with_one_name_are_refused(tmp_path: Path) -> None:
    batch = pa.table({"id": ["a", "a"], "text": ["one", "two"]})
    with (
        RowSanitizer(job_of(tmp_path, id_column="id")) as sanitize,
        pytest.raises(ValueError, match="the same name"),
    ):
        sanitize(batch)


@pytest.mark.parametrize(
    ("batch", "says"),
    [
        (pa.table({"id": ["a"], "other": ["one"]}), "no column 'text'"),
        (pa.table({"id": ["a"], "text": [5]}), "'text' must hold strings"),
        (pa.table({"id": pa.array([None], pa.string()), "text": ["x"]}), "'id' must have"),
    ],
)
def test_rows_that_do_not_fit_are_an_error(tmp_path: Path, batch: pa.Table, says: str) -> None:
    with (
        RowSanitizer(job_of(tmp_path, id_column="id")) as sanitize,
        pytest.raises(ValueError, match=says),
    ):
        sanitize(batch)


def test_nothing_private_is_readable_in_the_store(tmp_path: Path) -> None:
    job = job_of(tmp_path, id_column="id", unit_column="who")
    with RowSanitizer(job) as sanitize:
        sanitize(table("Mail ada@example.org", who=["Ada Example"]))
    content = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert b"ada@example" not in content
    assert b"Ada Example" not in content
    assert b"EMAIL" not in content
    assert "Ada Example" not in repr(sanitize) + repr(job)


@pytest.mark.parametrize("backend", ["postgres"], indirect=True)
def test_a_database_shows_nothing_private(tmp_path: Path, running_postgres: PostgresServer) -> None:
    job = job_of(tmp_path, id_column="id", unit_column="who")
    with RowSanitizer(job) as sanitize:
        sanitize(table("Mail ada@example.org", who=["Ada Example"]))
    schema = f"sanitizer_job_{str(job.store).removeprefix('postgres:')}"
    shown = "".join(
        running_postgres.sql(f"SELECT string_agg(t::text, ',') FROM {schema}.{name} t")  # noqa: S608
        for name in ("meta", "batch", "line", "unit")
    )
    for word in ("ada@example", "Ada Example", "EMAIL"):
        assert word not in shown
        assert word.encode().hex() not in shown
    assert "\\x" in shown


@pytest.mark.parametrize("backend", ["postgres"], indirect=True)
def test_what_a_store_on_a_database_needs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ValueError, match="a ledger is a file of one machine"):
        RowSanitizer(job_of(tmp_path, id_column="id", ledger=tmp_path / "ledger"))
    with pytest.raises(VaultError, match="missing; the store of a job is in another database"):
        RowSanitizer(job_of(tmp_path, id_column="id"), create=False)
    with pytest.raises(ValueError, match="must be postgres:NAME"):
        RowSanitizer(job_of(tmp_path, id_column="id", store=Path("postgres:a b; DROP")))
    assert job_of(tmp_path, id_column="id").absolute().store == store_of(tmp_path)
    monkeypatch.delenv("SANITIZER_DATABASE")
    with pytest.raises(ValueError, match=r"set \$SANITIZER_DATABASE"):
        RowSanitizer(job_of(tmp_path, id_column="id", store=Path("postgres:reviews")))


@pytest.mark.parametrize("backend", ["postgres"], indirect=True)
def test_workers_at_once_give_one_answer(tmp_path: Path) -> None:
    job = job_of(tmp_path, id_column="id", unit_column="who")
    texts = [f"Mail user{i % 7}@example.org" for i in range(60)]
    batch = table(*texts, who=[f"u{i % 3}" for i in range(60)])
    outs: dict[int, list[str]] = {}

    def work(number: int) -> None:
        with RowSanitizer(job) as sanitize:
            order = range(0, 60, 10) if number % 2 else range(50, -1, -10)
            found = {begin: sanitize(batch.slice(begin, 10)) for begin in order}
        outs[number] = [
            text for begin in sorted(found) for text in found[begin]["text"].to_pylist()
        ]

    threads = [threading.Thread(target=work, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert outs[0] == outs[1] == outs[2]
    assert sums(job)[0] == 60


@pytest.mark.parametrize(
    ("text", "column"),
    [
        ("text", Column("text")),
        ("text=strict", Column("text", policy="strict")),
        ("who=PERSON", Column("who", kind="PERSON")),
        ("a=b", Column("a=b")),
    ],
)
def test_columns_are_read(text: str, column: Column) -> None:
    assert Column.parse(text) == column
