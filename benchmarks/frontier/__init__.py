"""Meaning kept against exact epsilon and attacks, for every mechanism."""
