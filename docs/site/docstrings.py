"""The package's docstrings as griffe reads them: doctests are shown as code, wherever they are."""

from __future__ import annotations

import re

from griffe import Extension, Object

TITLE = re.compile(r"^Example(?: \((?P<note>.*)\))?:$", re.MULTILINE)
DOCTEST = re.compile(r"^(>>> .*?)(?=\n\n|\Z)", re.MULTILINE | re.DOTALL)


class Examples(Extension):
    """Name sections as griffe does, and fence doctests that have none."""

    def on_object(self, *, obj: Object, **kwargs: object) -> None:
        """Change one docstring."""
        if obj.docstring is not None:
            text = TITLE.sub("Examples:", obj.docstring.value)
            obj.docstring.value = DOCTEST.sub(r"```pycon\n\1\n```", text)
