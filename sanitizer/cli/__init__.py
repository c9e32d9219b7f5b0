"""The command line: one file per group of commands; parsing and printing only.

What enters: arguments and files. What leaves: text on standard output, errors of one line on
standard error. Nothing imports it but `__main__`.
"""
