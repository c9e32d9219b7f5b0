"""Synthetic texts from private documents: quality, cost, membership inference."""
