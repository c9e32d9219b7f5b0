"""Reference implementations to measure against."""
