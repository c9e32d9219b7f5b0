"""Measurements. Every figure in the documentation comes from results/ and names its command."""
