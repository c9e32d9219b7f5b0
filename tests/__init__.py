"""Tests, laid out like the package."""

import os

# Before numpy is loaded, here, in workers, and in programs that tests start: idle threads of
# OpenBLAS spin, so with two of them in each of two workers on two cores a small decomposition takes
# a hundred times as long. tests/lm/test_blas_threads.py repeats what could depend on their number.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
