"""Files in, files out: formats, folders, resuming, restoring, and input that is not whole."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sanitizer import VaultError
from sanitizer.bulk import BulkJob, RowSanitizer, engines, restore_files, sanitize_files
from sanitizer.bulk.files import InputFile, Part, plan, read, rewrite
from tests.bulk.helpers import PART_ROWS, job_of, read_rows, rows, sums, write_rows

FORMATS = (".csv", ".jsonl", ".parquet")


def run(job: BulkJob, source: Path, target: Path) -> Any:
    return sanitize_files(job, source, target, workers=0)


@pytest.mark.parametrize("suffix", FORMATS)
def test_a_file_goes_there_and_back(tmp_path: Path, suffix: str) -> None:
    some = rows(PART_ROWS + 7)
    source = write_rows(tmp_path / f"in{suffix}", some)
    job, out, back = job_of(tmp_path), tmp_path / f"out{suffix}", tmp_path / f"back{suffix}"
    report = run(job, source, out)
    released = read_rows(out)
    assert len(released) == report.n_rows == len(some)
    for before, after in zip(some, released, strict=True):
        assert after == {**before, "text": before["text"].split(" user")[0] + " <EMAIL_1>."}
    assert restore_files(job.store, out, back, ("text",)) == len(some)
    assert read_rows(back) == some


def test_a_folder_keeps_its_shape(tmp_path: Path) -> None:
    source = tmp_path / "in"
    (source / "more").mkdir(parents=True)
    write_rows(source / "a.csv", rows(3))
    write_rows(source / "more" / "b.parquet", rows(4))
    (source / "_SUCCESS").touch()
    job, out = job_of(tmp_path), tmp_path / "out"
    assert run(job, source, out).n_files == 2
    found = sorted(p.relative_to(out).as_posix() for p in out.rglob("*") if p.is_file())
    assert found == ["a.csv", "more/b.parquet"]
    restore_files(job.store, out, tmp_path / "back", ("text",))
    assert read_rows(tmp_path / "back" / "more" / "b.parquet") == rows(4)


def test_parquet_columns_keep_their_types(tmp_path: Path) -> None:
    table = pa.table({"n": pa.array([1, None], pa.int64()), "text": ["a@example.org", None]})
    pq.write_table(table, tmp_path / "in.parquet")
    run(job_of(tmp_path), tmp_path / "in.parquet", tmp_path / "out.parquet")
    out = pq.read_table(tmp_path / "out.parquet")
    assert out.schema.field("n").type == pa.int64()
    assert out.to_pylist() == [{"n": 1, "text": "<EMAIL_1>"}, {"n": None, "text": None}]


def test_json_objects_keep_their_other_fields(tmp_path: Path) -> None:
    some: list[dict[str, Any]] = [
        {"text": "Mail a@example.org", "deep": {"k": [1, None]}},
        {"other": "ü"},
    ]
    (tmp_path / "in.jsonl").write_text("\n\n".join(map(json.dumps, some)), "utf-8")
    run(job_of(tmp_path), tmp_path / "in.jsonl", tmp_path / "out.jsonl")
    assert read_rows(tmp_path / "out.jsonl") == [{**some[0], "text": "Mail <EMAIL_1>"}, some[1]]


CELLS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=20)


@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    some=st.lists(st.tuples(CELLS, CELLS), min_size=1, max_size=5), suffix=st.sampled_from(FORMATS)
)
def test_what_is_not_changed_is_read_and_written_as_it_was(
    tmp_path: Path, some: list[tuple[str, str]], suffix: str
) -> None:
    source, target = tmp_path / f"in{suffix}", tmp_path / f"out{suffix}"
    target.unlink(missing_ok=True)
    written = [{"text": text, "other": other} for text, other in some]
    write_rows(source, written)
    files = plan(source, ["text"])
    parts = [part for file in files for part in file.parts]
    texts = [cell for part in parts for cell in read(part, ["text"])["text"].to_pylist()]
    assert texts == [text for text, _ in some]
    rewrite(files, target, ["text"], lambda file, first, columns: columns)
    assert read_rows(target) == written


# ---- resuming ----


def stopping(n: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Interrupt the work in this process after n parts."""
    work = engines.work_on
    left: Iterator[int] = iter(range(n))

    def stop(rows: RowSanitizer, part: Part) -> int:
        if next(left, None) is None:
            raise KeyboardInterrupt
        return work(rows, part)

    monkeypatch.setattr(engines, "work_on", stop)


def test_an_interrupted_job_goes_on_and_leaves_no_half_output(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = write_rows(tmp_path / "in.csv", rows(2 * PART_ROWS))
    job, out = job_of(tmp_path), tmp_path / "out.csv"
    with monkeypatch.context() as patch:
        stopping(1, patch)
        with pytest.raises(KeyboardInterrupt):
            run(job, source, out)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["in.csv", "store"]
    report = run(job, source, out)
    assert (report.n_before, report.n_rows) == (PART_ROWS, 2 * PART_ROWS)
    assert sums(job)[0] == 2 * PART_ROWS


def test_an_output_that_was_lost_is_written_again_without_a_draw(tmp_path: Path) -> None:
    some = [{"who": f"u{i % 2}", "text": text} for i, text in enumerate(["He has gout."] * 4)]
    source, out = write_rows(tmp_path / "in.csv", some), tmp_path / "out.csv"
    job = job_of(tmp_path, policy="guarded", unit_column="who", threads=1)
    report = run(job, source, out)
    assert (report.epsilon_total, report.units_by_epsilon) == (10.0, {"5": 2})
    before = read_rows(out)
    out.unlink()
    again = run(job, source, out)
    assert (again.n_before, again.epsilon_total) == (4, 10.0)
    assert read_rows(out) == before


def test_originals_are_dropped_on_request(tmp_path: Path) -> None:
    source, out = write_rows(tmp_path / "in.csv", rows(3)), tmp_path / "out.csv"
    job = job_of(tmp_path, keep_originals=False, unit_column="user_id")
    assert run(job, source, out).originals == "dropped"
    with pytest.raises(VaultError, match="kept no originals"):
        restore_files(job.store, out, tmp_path / "back.csv", ("text",))
    with RowSanitizer(job) as sanitize:
        assert not any(unit.rows for unit in sanitize.store.units())


# ---- what is not whole ----


def half_written(path: Path) -> Path:
    """A Parquet file without its end."""
    write_rows(path, rows(9))
    path.write_bytes(path.read_bytes()[:-40])
    return path


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("in.csv", b"text,n\nab\n", "row 1 has another number of cells"),
        ("in.csv", b'text\n"a\n', "cut short"),
        ("in.csv", b"text\n\xff\n", "not UTF-8"),
        ("in.csv", b"other\nx\n", "no column 'text'"),
        ("in.csv", b"text,text\nx,y\n", "more than one column"),
        ("in.csv", b"", "empty"),
        ("in.jsonl", b'{"text": "a"}\nsecret stuff\n', "row 2 is not JSON"),
        ("in.jsonl", b'["a"]\n', "row 1 is not a JSON object"),
        ("in.jsonl", b'{"other": "a"}\n', "no column 'text'"),
        ("in.parquet", b"PAR1", "not a complete, undamaged Parquet file"),
        ("in.txt", b"text", "must end in one of"),
    ],
)
def test_a_file_that_cannot_be_read_is_named_and_not_quoted(
    tmp_path: Path, name: str, content: bytes, says: str
) -> None:
    source = tmp_path / name
    source.write_bytes(content)
    with pytest.raises(ValueError, match=says) as caught:
        run(job_of(tmp_path), source, tmp_path / f"out{source.suffix}")
    assert str(caught.value).startswith(f"{source}: ")
    assert "secret" not in str(caught.value)


def test_a_half_written_parquet_file_in_a_folder_is_named_before_anything_is_done(
    tmp_path: Path,
) -> None:
    (tmp_path / "in").mkdir()
    write_rows(tmp_path / "in" / "a.parquet", rows(9))
    broken = half_written(tmp_path / "in" / "b.parquet")
    with pytest.raises(ValueError, match="still being written") as caught:
        run(job_of(tmp_path), tmp_path / "in", tmp_path / "out")
    assert str(caught.value).startswith(f"{broken}: ")
    assert not (tmp_path / "store").exists()


def test_a_damaged_page_is_named(tmp_path: Path) -> None:
    source = write_rows(tmp_path / "in.parquet", rows(300))
    content = bytearray(source.read_bytes())
    content[4:400] = bytes(396)
    source.write_bytes(bytes(content))
    with pytest.raises(ValueError, match="Parquet") as caught:
        run(job_of(tmp_path), source, tmp_path / "out.parquet")
    assert str(caught.value).startswith(f"{source}: ")


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    source = write_rows(tmp_path / "in.csv", rows(1))
    with pytest.raises(ValueError, match="exists already"):
        run(job_of(tmp_path), source, source)


def test_input_that_changes_meanwhile_gives_no_output(tmp_path: Path) -> None:
    source, out = write_rows(tmp_path / "in.csv", rows(3)), tmp_path / "out.csv"

    def change(file: InputFile, first: int, columns: dict[str, list[Any]]) -> dict[str, list[Any]]:
        write_rows(source, rows(4))
        return columns

    files = plan(source, ["text"])
    with pytest.raises(ValueError, match="was changed"):
        rewrite(files, out, ["text"], change)
    assert [path.name for path in tmp_path.iterdir()] == ["in.csv"]


def test_a_row_that_the_job_did_not_have_is_not_restored(tmp_path: Path) -> None:
    source = write_rows(tmp_path / "in.csv", rows(2))
    job = job_of(tmp_path)
    run(job, source, tmp_path / "out.csv")
    longer = write_rows(tmp_path / "longer.csv", rows(3))
    with pytest.raises(VaultError, match="nothing for 1 of the rows"):
        restore_files(job.store, longer, tmp_path / "back.csv", ("text",))
