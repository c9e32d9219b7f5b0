"""Usefulness: what is hidden of prompts written for this, and what is left to work with."""
