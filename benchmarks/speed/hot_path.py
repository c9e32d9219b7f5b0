"""Sanitizes one prompt again and again, to be looked at by a profiler: `python -m
benchmarks.speed.hot_path [SECONDS]`.

A flame graph: `py-spy record --rate 200 --output hot-path.svg -- python -m
benchmarks.speed.hot_path 30`.
"""

from __future__ import annotations

import sys
import time

from benchmarks.common.texts import SHORT
from sanitizer import Sanitizer


def main(seconds: float) -> None:
    """Certified Cape as shipped, a prompt of 20 words."""
    sanitizer, end = Sanitizer(policy="words"), time.monotonic() + seconds
    while time.monotonic() < end:
        sanitizer.sanitize(SHORT, fresh=True)


if __name__ == "__main__":
    main(float(sys.argv[1]) if len(sys.argv) > 1 else 30.0)
