"""Many rows at once: files or datasets in, the same with sanitized columns out.

What enters: CSV, JSONL or Parquet files, or Arrow batches of an engine. What leaves: the same rows,
each charged and drawn once, however often a worker dies or a job is run again. The job's store
decides what is done; Ray, Spark and local processes only spread the work. It knows no API.
"""

from typing import TYPE_CHECKING

from sanitizer import lazy_door

if TYPE_CHECKING:
    from sanitizer.bulk.engines import ENGINES as ENGINES
    from sanitizer.bulk.engines import ray_dataset as ray_dataset
    from sanitizer.bulk.engines import spark_frame as spark_frame
    from sanitizer.bulk.job import BulkJob as BulkJob
    from sanitizer.bulk.job import Column as Column
    from sanitizer.bulk.rows import RowSanitizer as RowSanitizer
    from sanitizer.bulk.run import BulkReport as BulkReport
    from sanitizer.bulk.run import restore_files as restore_files
    from sanitizer.bulk.run import sanitize_files as sanitize_files
    from sanitizer.bulk.store import JobStore as JobStore
else:
    __getattr__, __dir__ = lazy_door(
        __name__,
        {
            "engines": ("ENGINES", "ray_dataset", "spark_frame"),
            "job": ("BulkJob", "Column"),
            "rows": ("RowSanitizer",),
            "run": ("BulkReport", "restore_files", "sanitize_files"),
            "store": ("JobStore",),
        },
    )
