"""Scripts that make everything under models/ from pinned registry packages."""

import os

# onnxruntime, which some modules import themselves, reports to its makers otherwise.
os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
