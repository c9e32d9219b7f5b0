"""A text in, a private text and its record out; charged once, remembered once.

What enters: a text. What leaves: the text that may be sent, what was replaced in it, and what that
costs. Only this package knows the order of the stages; it knows no API and no HTTP.
"""
