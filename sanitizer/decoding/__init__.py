"""Decoders: scores of the next token in, integer weights out; they never see a model or a text."""
