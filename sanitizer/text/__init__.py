"""A text as anybody may see it, and the policy that says what is public in it.

What enters: a text, what is declared public in it, and a policy. What leaves: its words, code and
tables, with offsets. It knows no list of private things, draws nothing and keeps nothing.
"""
