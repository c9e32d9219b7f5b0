"""A model file behind an OpenAI-compatible API on this machine: runs in an environment of its own,
with `xllamacpp`.

Run by `benchmarks.extraction.upstream` as `PYTHON remote_model.py GGUF THREADS`; prints its version
and its address, and serves until its standard input ends. One request at a time, so that answers do
not depend on what else is asked.
"""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.metadata import version


def main() -> None:
    """Serve."""
    xllamacpp = import_module("xllamacpp")
    params = xllamacpp.CommonParams()
    params.model.path = sys.argv[1]
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = int(sys.argv[2])
    params.n_ctx, params.n_parallel, params.n_gpu_layers = 1024, 1, 0
    server = xllamacpp.Server(params)
    print("serving", version("xllamacpp"), server.listening_address, flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
