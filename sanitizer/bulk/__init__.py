"""Many rows at once: files or datasets in, the same with sanitized columns out.

What enters: CSV, JSONL or Parquet files, or Arrow batches of an engine. What leaves: the same rows,
each charged and drawn once, however often a worker dies or a job is run again. The job's store
decides what is done; Ray, Spark and local processes only spread the work. It knows no API.
"""

from typing import TYPE_CHECKING

from sanitizer.doors import lazy_door

if TYPE_CHECKING:
    from sanitizer.bulk.engines import ray_dataset as ray_dataset
    from sanitizer.bulk.engines import spark_frame as spark_frame
    from sanitizer.bulk.job import BulkJob as BulkJob
    from sanitizer.bulk.rows import RowSanitizer as RowSanitizer
    from sanitizer.bulk.run import restore_files as restore_files
    from sanitizer.bulk.run import sanitize_files as sanitize_files
else:
    __getattr__, __dir__, __all__ = lazy_door(
        __name__,
        {
            "bulk.engines": "ray_dataset spark_frame",
            "bulk.job": "BulkJob",
            "bulk.rows": "RowSanitizer",
            "bulk.run": "restore_files sanitize_files",
        },
    )
