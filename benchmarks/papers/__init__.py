"""The papers' tables with our data."""
