"""Private documents in, a synthetic text out.

What enters: references, a query, an epsilon. What leaves: a text that may leave the machine, and
its record. Documents are read through the causal model only; no message or record quotes them.
"""
