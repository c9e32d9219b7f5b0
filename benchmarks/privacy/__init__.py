"""Exact audits and attacks on the packaged settings."""
