"""What is private in a text: the view that everybody may see, and what a model reads of the rest.

What enters: a text, what is declared public in it, and a policy. What leaves: spans with kinds. It
draws nothing and keeps nothing, and reads a hidden run in sight of the view only.
"""
