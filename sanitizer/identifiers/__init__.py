"""Structured identifiers (e-mail addresses, cards, keys): found, and replaced.

What enters: a text. What leaves: spans with their kinds, or another value of the same form. It
needs the standard library only, and knows neither policies nor the vault.
"""
