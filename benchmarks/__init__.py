"""Measurements. Every figure in the documentation comes from results/ and names its command."""

import os

# onnxruntime, which some modules import themselves, reports to its makers otherwise.
os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
