"""Tests of what `examples/` shows."""
