"""The command line: one file per group of commands; parsing and printing only.

What enters: arguments and files. What leaves: text on standard output, errors of one line on
standard error. Nothing imports it but `__main__`.
"""

from typing import TYPE_CHECKING

from sanitizer import lazy_door

if TYPE_CHECKING:
    from sanitizer.cli.program import main as main
else:
    __getattr__, __dir__ = lazy_door(
        __name__,
        {
            "program": ("main",),
        },
    )
