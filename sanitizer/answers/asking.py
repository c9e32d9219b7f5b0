"""What an API is told of placeholders, and how it asks for a value that it needs.

It may write `[need <CONDITION_1>]`. Nothing leaves for that: a person decides (docs/policy.md).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from typing import NamedTuple

from sanitizer.storage.table import Originals

NOTE = (
    "[Note: <PERSON_1> and the like stand for hidden words and are put back into your answer: copy "
    "them, do not remark on them. Parts: <PERSON_1:first>, :last, :initials, :upper, "
    "<ID_1:digits>.{}]"
)
"""The note behind the first text in which something is hidden."""
NEED = (
    " Where a right answer depends on a hidden value, answer the rest and write [need <MONEY_1>]."
)
"""What is added where a person may let values leave."""
LONGEST = 80
"""Characters of the longest request for a value."""
ASKS = re.compile(rf"\\?\[need\s+(?P<value><[^\[\]\n<>]{{1,{LONGEST}}}>)\s*\\?\]", re.I)
BEGINS = re.compile(rf"\\?\[(?:n(?:e(?:e(?:d(?:\s[^\[\]\n]{{0,{LONGEST}}})?)?)?)?)?\Z", re.I)
"""A request for a value, and the end of a text that may become one."""


class Need(NamedTuple):
    """A value that an answer asks for.

    Attributes:
        kind: its class. placeholder: as it was sent. original: what it stands for.
    """

    kind: str
    placeholder: str
    original: str


def needs_of(answer: str, originals: Originals, kinds: Collection[str]) -> Iterator[Need]:
    """Yield what an answer asks for, once each, of these classes and never what was drawn.

    >>> hidden = Originals({"<MONEY_1>": "£1,250"})
    >>> list(needs_of("I [need <MONEY_1>] and [need <PERSON_1>].", hidden, ["MONEY"]))
    [Need(kind='MONEY', placeholder='<MONEY_1>', original='£1,250')]
    """
    for value in dict.fromkeys(found["value"] for found in ASKS.finditer(answer)):
        kind = re.sub(r"(?:_[0-9]+)+\Z", "", value.strip("<>"))
        if kind in kinds and value in originals and value not in originals.drawn:
            yield Need(kind, value, originals[value])
