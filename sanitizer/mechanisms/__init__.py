"""Mechanisms: (unit, context) -> integer weights over outputs. No model and no tokenizer in here."""
