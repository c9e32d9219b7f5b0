"""What memories of corrections say, and where they are named.

The memories themselves are loaded only where there is one.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from sanitizer.storage import same_thing

if TYPE_CHECKING:
    from sanitizer.corrections.memory import Corrections

VARIABLE = "SANITIZER_CORRECTIONS"
"""Environment variable with the paths of memories, separated as in PATH; the first is one's own."""


@dataclass(frozen=True)
class Listed:
    """What memories say at one time.

    Attributes:
        hidden: phrases that go to the vault wherever they occur, in any case.
        kept: phrases that leave as they are, where they are written like this.
        mark: tells lists apart; follows from them and a secret, so that it tells nothing of them.
    """

    hidden: frozenset[str] = field(default=frozenset(), repr=False)
    kept: frozenset[str] = field(default=frozenset(), repr=False)
    mark: str = ""


class Memories:
    """Several memories read as one, a user's and a team's: what one of them hides is hidden.

    Args:
        memories: the first is one's own, and takes what is added.
    """

    def __init__(self, memories: Sequence[Corrections]) -> None:
        self.memories = tuple(memories)
        self._lock = threading.Lock()
        self._seen: tuple[list[Listed], Listed] | None = None

    @property
    def own(self) -> Corrections:
        """The first memory."""
        return self.memories[0]

    def current(self) -> Listed:
        """Return what all of them say now; the same object while nothing changes."""
        found = [memory.current() for memory in self.memories]
        with self._lock:
            if self._seen is None or [id(a) for a in self._seen[0]] != [id(b) for b in found]:
                hidden = frozenset[str]().union(*(each.hidden for each in found))
                folded = {same_thing(phrase) for phrase in hidden}
                kept = frozenset[str]().union(*(each.kept for each in found))
                kept = frozenset(phrase for phrase in kept if same_thing(phrase) not in folded)
                self._seen = found, Listed(hidden, kept, " ".join(each.mark for each in found))
            return self._seen[1]


def memories_of(
    corrections: Corrections | Memories | str | Path | Sequence[str | Path] | None,
) -> Memories | None:
    """Return the memories that an argument names; None if there are none.

    Args:
        corrections: a memory, the path of one or several; None: those of the environment variable
            SANITIZER_CORRECTIONS; an empty sequence: none.

    Raises:
        ValueError, VaultError: as `Corrections`.
    """
    if isinstance(corrections, Memories):
        return corrections
    if corrections is None:
        named = os.environ.get(VARIABLE, "")
        corrections = [path for path in named.split(os.pathsep) if path]
    if isinstance(corrections, Sequence) and not corrections:
        return None
    # Encryption takes a while to import, so only where there is a memory.
    from sanitizer.corrections.memory import Corrections

    if isinstance(corrections, Corrections):
        return Memories([corrections])
    paths = [corrections] if isinstance(corrections, str | Path) else corrections
    return Memories([Corrections(path) for path in paths])
