"""Answers restored for the original prompt."""
