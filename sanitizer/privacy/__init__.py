"""Scores in, exact integer distributions out, and what they cost together.

What enters: numbers (scores, distances, ranks) and an epsilon. What leaves: integer weights to draw
from, and events for the accountant. It knows no text, no model and no storage; numpy is its only
library, so that a reviewer of the guarantee needs to read this package only.
"""
