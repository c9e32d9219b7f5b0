"""What spreads a job over workers: processes of this machine, Ray, or Spark.

An engine hands out parts of files, or the batches of a dataset of its own; which rows are done, and
what was released for them, is in the job's store alone. So an engine may lose a worker, run a part
twice, or run it on two workers at once, and each row is still charged and drawn once.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from sanitizer.bulk.files import Part, read, row_names
from sanitizer.bulk.job import BulkJob
from sanitizer.bulk.rows import RowSanitizer
from sanitizer.bulk.store import JobStore
from sanitizer.errors import SanitizerError, to_install

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

    import pyarrow as pa

ENGINES = ("local", "ray", "spark")
MAX_DEATHS = 3
"""How often workers may die in a row without a row being finished in between."""
STOP_SECONDS = 1.5
"""How long workers have to write what they drew once the job is stopped: a commit is a second."""
_LOOK_SECONDS = 0.05  # between two looks for a stop


def work_on(rows: RowSanitizer, part: Part) -> int:
    """Sanitize and store the rows of a part; return how many there are."""
    return rows.process(read(part, rows.job.needed), row_names(part.name, part.first, part.n))


_made: RowSanitizer | None = None


def _rows_of_process(job: BulkJob) -> RowSanitizer:
    """Return what sanitizes the rows of a job in this process, which does many parts."""
    global _made  # noqa: PLW0603 - models are loaded once in a process
    if _made is None or _made.job != job:
        _made = RowSanitizer(job, create=False)
    return _made


def run_parts(engine: str, job: BulkJob, parts: Sequence[Part], workers: int) -> None:
    """Sanitize and store all rows of some parts, as `check_engine` allows.

    Raises:
        SanitizerError, ValueError: as `RowSanitizer`; rows that were done stay done.
    """
    if parts:
        {"local": _local, "ray": _ray, "spark": _spark}[engine](job, parts, workers)


def check_engine(engine: str, workers: int) -> None:
    """Raise ValueError: an unknown engine, one whose package is missing, or too few workers.

    Args:
        workers: at least 1; with the engine "local", 0 works in the process itself.
    """
    if engine not in ENGINES:
        raise ValueError(f"engine must be one of {', '.join(ENGINES)}, got {engine!r}")
    if workers < (engine != "local"):
        raise ValueError(f"workers must be at least 1, got {workers}")
    package = {"ray": "ray", "spark": "pyspark"}.get(engine)
    if package is not None and find_spec(package) is None:
        raise ValueError(f"engine {engine} needs {package}: {to_install(engine)}")


# ---- processes of this machine ----

# The end of a pipe, which is readable once the other one is closed. Unlike an event of processes,
# it has no lock that a killed worker could keep.
_stop: Connection


def _stopped() -> bool:
    """Return True once the job is stopped."""
    try:
        return _stop.poll()
    except OSError:  # so Windows says that the other end is closed
        return True


def _start(stop: Connection) -> None:
    """Prepare a worker process. It ignores Ctrl-C, and ends when its parent does."""
    global _stop  # noqa: PLW0603 - each process has one
    _stop = stop
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    threading.Thread(target=_end_when_stopped, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _end_when_stopped() -> None:
    """End the process once a stop has lasted: models that load and long rows take longer.

    What it loses was not written, and so neither released nor charged.
    """
    while not _stopped():
        time.sleep(_LOOK_SECONDS)
    time.sleep(STOP_SECONDS)
    os._exit(1)


def _work(job: BulkJob, part: Part) -> Part:
    if _stopped():  # it was in the queue of the pool, where nothing cancels it
        raise InterruptedError("stopped")
    # Made here and not at the start of the process, whose errors would be lost.
    rows = _rows_of_process(job)
    rows.stopped = _stopped
    work_on(rows, part)
    return part


def _local(job: BulkJob, parts: Sequence[Part], workers: int) -> None:
    if workers == 0:
        with RowSanitizer(job, create=False) as rows:
            for part in parts:
                work_on(rows, part)
        return
    left, deaths, n_before = set(parts), 0, -1
    while left:
        try:
            for part in _pooled(job, sorted(left, key=lambda p: (p.name, p.first)), workers):
                left.discard(part)
        except BrokenProcessPool:
            with JobStore(job.store) as store:
                n_done = store.n_done()
            deaths = deaths + 1 if n_done == n_before else 0
            n_before = n_done
            if deaths == MAX_DEATHS:
                raise SanitizerError(
                    "workers died again and again; is there too little memory? Rows that are done "
                    "are kept: run the job again with fewer workers"
                ) from None


def _pooled(job: BulkJob, parts: Sequence[Part], workers: int) -> Iterator[Part]:
    """Yield parts as they are done. At an error, other workers write what they have, and end."""
    context = multiprocessing.get_context("spawn")  # a fork would share locks and connections
    stop, keep_on = context.Pipe(duplex=False)
    pool = ProcessPoolExecutor(
        min(workers, len(parts)), mp_context=context, initializer=_start, initargs=(stop,)
    )
    try:
        with _interrupts_held():
            futures = [pool.submit(_work, job, part) for part in parts]
        for future in as_completed(futures):
            yield future.result()
    except BaseException:
        keep_on.close()
        raise
    finally:
        pool.shutdown(cancel_futures=True)
        stop.close()
        keep_on.close()


@contextmanager
def _interrupts_held() -> Iterator[None]:
    """Hold back Ctrl-C while processes start: they inherit that, and are spared the signal.

    Otherwise it reaches them while they import, and each writes a traceback.
    """
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


# ---- Ray ----


class _RayWorker:
    """Actor that sanitizes parts of files, or batches of a dataset."""

    def __init__(self, job: BulkJob) -> None:
        self._job = job

    def work(self, part: Part) -> int:
        # Made here and not at the start, whose errors come wrapped in those of actors.
        return work_on(_rows_of_process(self._job), part)

    def __call__(self, batch: pa.Table) -> pa.Table:
        return _rows_of_process(self._job)(batch)


def _ray(job: BulkJob, parts: Sequence[Part], workers: int) -> None:
    """Hand parts to actors of Ray itself.

    What Ray Data adds is for data that flows; here files are read and rows are kept by the workers.
    """
    import ray

    own = not ray.is_initialized()
    if own:
        ray.init(
            num_cpus=workers,
            include_dashboard=False,
            log_to_driver=False,
            logging_level="ERROR",
        )
    remote = ray.remote(num_cpus=1, max_restarts=-1, max_task_retries=MAX_DEATHS)(_RayWorker)
    actors = [remote.remote(job) for _ in range(min(workers, len(parts)))]
    busy: dict[Any, Any] = {}
    try:
        # One part waits at each actor, so that none has to ask for more.
        idle = [*actors, *actors]
        for part in parts:
            if not idle:
                idle = _ray_done(busy)
            actor = idle.pop()
            busy[actor.work.remote(part)] = actor
        while busy:
            _ray_done(busy)
    except ray.exceptions.RayError as error:
        cause = getattr(error, "cause", None)
        while cause is not None and not isinstance(cause, SanitizerError | ValueError):
            cause = cause.__cause__
        raise cause or SanitizerError(f"Ray failed: {type(error).__name__}") from None
    finally:
        if own:
            ray.shutdown()
        else:
            for actor in actors:
                ray.kill(actor)


def _ray_done(busy: dict[Any, Any]) -> list[Any]:
    """Wait until a part is done; return the actors that are free, and take them out of `busy`."""
    import ray

    done, _ = ray.wait(list(busy))
    ray.get(done)  # raises what went wrong
    return [busy.pop(each) for each in done]


def ray_dataset(dataset: Any, job: BulkJob, workers: int = 1) -> Any:
    """Return a Ray dataset with its columns sanitized, by a pool of actors.

    Lazy, as all of Ray Data; the job's store is made at once. Run again, it gives what it gave
    before.

    Args:
        dataset: a `ray.data.Dataset` with the job's columns.
        job: with an `id_column`: the rows of a dataset have no place.
        workers: actors, each with its own models.

    Raises:
        ValueError: the job names no `id_column`.
    """
    import ray.data

    job = _begun(job)
    return dataset.map_batches(
        _RayWorker,
        fn_constructor_args=(job,),
        batch_format="pyarrow",
        compute=ray.data.ActorPoolStrategy(size=workers),
    )


# ---- Spark ----


_TASKS_OF_A_WORKER = 8
"""A task costs Spark more than a part of its own would; one that is lost finds its rows done."""
# The engine's own work is little and short: compiling it well costs more than it saves.
_SMALL_JVM = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1"


def _spark_parts(
    job: BulkJob, parts: Sequence[Part], batches: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    import pyarrow as pa

    for batch in batches:
        counts = [work_on(_rows_of_process(job), parts[i]) for i in batch.column(0).to_pylist()]
        yield pa.RecordBatch.from_pydict({"n": pa.array(counts, pa.int64())})


def _spark_rows(job: BulkJob, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        yield _rows_of_process(job)(batch)


def _spark(job: BulkJob, parts: Sequence[Part], workers: int) -> None:
    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession

    existing = SparkSession.getActiveSession()
    # Spark's own default is whatever "python3" is, which may lack this package.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.master(f"local[{workers},4]").appName("sanitizer bulk")
    for name, value in {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.extraJavaOptions": _SMALL_JVM,
        "spark.sql.codegen.wholeStage": "false",
        "spark.sql.adaptive.enabled": "false",
    }.items():
        builder = builder.config(name, value)
    spark = existing or builder.getOrCreate()
    try:
        spark.sparkContext.setLogLevel("OFF")
        # Numbers of parts, made by Spark itself: rows of Python's would need a stage of their own.
        tasks = min(len(parts), workers * _TASKS_OF_A_WORKER)
        numbers = spark.range(0, len(parts), 1, tasks)
        numbers.mapInArrow(partial(_spark_parts, job, tuple(parts)), "n long").collect()
    except PySparkException as error:
        raise SanitizerError(f"Spark failed: {_reason(str(error))}") from None
    finally:
        if existing is None:
            spark.stop()


def _reason(report: str) -> str:
    """Return the line of a report that has this package's own message, which quotes no text."""
    own = ("sanitizer.errors.", "ValueError: ")
    found = [line for line in report.splitlines() if line.startswith(own)]
    return found[-1].partition(": ")[2] if found else "see its log"


def spark_frame(frame: Any, job: BulkJob) -> Any:
    """Return a Spark DataFrame with its columns sanitized.

    Lazy, but for the job's store, which is made at once: each action runs it again, and gets what
    was released at first. It uses `mapInArrow`
    rather than `mapInPandas`, which turns whole numbers with nulls among them into floats.

    Args:
        frame: a `pyspark.sql.DataFrame` with the job's columns.
        job: with an `id_column`: the rows of a frame have no place.

    Raises:
        ValueError: the job names no `id_column`.
    """
    from pyspark.sql.types import StringType, StructField, StructType

    job = _begun(job)
    names = {column.name for column in job.parsed}
    fields = [
        StructField(each.name, StringType()) if each.name in names else each
        for each in frame.schema.fields
    ]
    return frame.mapInArrow(partial(_spark_rows, job), StructType(fields))


def _begun(job: BulkJob) -> BulkJob:
    """Make the job's store here, if it is missing; return the job as workers find it."""
    if job.id_column is None:
        raise ValueError("rows of a dataset need names: give id_column")
    RowSanitizer(job).close()
    return job.absolute()
