"""The formats of APIs: a table of shapes each, and a handler of its streams."""
