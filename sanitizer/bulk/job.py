"""What a bulk job is: its columns, how each is treated, and where its state is kept."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, Self

from sanitizer.bulk.databases import on_postgres
from sanitizer.identifiers.rows import KINDS
from sanitizer.privacy.cape import Cape
from sanitizer.privacy.dyntext import DynText
from sanitizer.text.policy import CLASSES, PRESETS, Policy

WHOLE_CELLS = frozenset(CLASSES) | frozenset(KINDS)
"""Classes and kinds that a column may hold: each of its cells is one thing of that class."""
REFUSED = ("stop", "empty")


@dataclass(frozen=True, slots=True)
class Column:
    """A column that is sanitized.

    Attributes:
        policy: name of a preset or path of a policy file for texts; "" for the job's policy.
        kind: class of a column whose cells are one thing each ("PERSON"); "" for texts.
    """

    name: str
    policy: str = ""
    kind: str = ""

    @classmethod
    def parse(cls, text: str) -> Self:
        """Return the column that NAME, NAME=POLICY or NAME=CLASS describes.

        What follows the last "=" counts only if it is a preset, a .toml file or a class, so that
        names of columns may hold the sign too.

        >>> Column.parse("text"), Column.parse("who=PERSON").kind
        (Column(name='text', policy='', kind=''), 'PERSON')
        """
        name, _, treatment = text.rpartition("=")
        if name and treatment in WHOLE_CELLS:
            return cls(name, kind=treatment)
        if name and (treatment in PRESETS or treatment.endswith(".toml")):
            return cls(name, policy=treatment)
        return cls(text)


@dataclass(frozen=True)
class BulkJob:
    """A job over many rows. Frozen and picklable: engines send it to their workers.

    The keys are not part of it: each process takes them from its environment, SANITIZER_VAULT_KEY
    for the store and SANITIZER_LEDGER_KEY for the ledger.

    Guarantee: a row is charged and drawn once, however often it is processed; what was released for
    it is kept in the store and given again. A row is a conversation of its own, unless
    `unit_column` says which rows belong together: their things share stand-ins, and at most
    `Policy.max_drawn` of them are drawn.
    Not protected: columns that are not named, the column of the unit among them; which rows belong
    to one unit, how many rows there are, and their order.

    Args:
        store: file of the job's state, made if missing: outputs, charges, and tables with the
            originals, encrypted. One file for one job. Or "postgres:NAME", a schema of its own in
            the database that $SANITIZER_DATABASE names, for workers on several machines.
        columns: what is sanitized; at least one. `Column`, or text as `Column.parse` takes it.
        policy: for texts of columns that name none.
        mechanism: default that of the policy, or certified Cape.
        unit_column: rows with equal values in it are one conversation, and one budget.
        id_column: names each row; without it a row is known by its file and place.
        keep_originals: False drops the originals when the job is done.
        budget: the most epsilon of one unit (of one row, without a `unit_column`).
        ledger: file of a ledger that is charged too: scope `user` of the unit; without a unit, the
            scope `conversation` with the store's file name.
        refused: what happens to a row that the policy or a budget refuses: "stop" ends the job,
            "empty" leaves its sanitized cells empty and counts it.
        threads: threads of a model pass in each worker.

    Raises:
        ValueError: no column, one that is named twice, or an unknown value.

    >>> job = BulkJob(Path("reviews.vault"), ("text", "who=PERSON"), policy="identifiers")
    >>> [column.name for column in job.parsed]
    ['text', 'who']
    """

    store: Path
    columns: tuple[Column | str, ...]
    policy: Policy | str | Path = "balanced"
    mechanism: Cape | DynText | None = None
    unit_column: str | None = None
    id_column: str | None = None
    keep_originals: bool = True
    budget: float | None = None
    ledger: Path | None = None
    refused: Literal["stop", "empty"] = "stop"
    threads: int | None = None

    def __post_init__(self) -> None:
        names = [column.name for column in self.parsed]
        if not names or len(names) != len(set(names)):
            raise ValueError("columns must name at least one column, each of them once")
        if self.refused not in REFUSED:
            raise ValueError(f"refused must be one of {', '.join(REFUSED)}")
        if self.budget is not None and not 0 < self.budget < float("inf"):
            raise ValueError(f"budget must be finite and positive, got {self.budget!r}")
        if self.id_column in names:
            raise ValueError("the column that names the rows cannot be sanitized")

    @property
    def parsed(self) -> tuple[Column, ...]:
        return tuple(Column.parse(c) if isinstance(c, str) else c for c in self.columns)

    @property
    def needed(self) -> tuple[str, ...]:
        """Names of all columns that are read, each once."""
        names = [column.name for column in self.parsed]
        return tuple(dict.fromkeys([*names, *filter(None, (self.unit_column, self.id_column))]))

    def absolute(self) -> BulkJob:
        """Return the job with absolute paths, for workers that are in other folders."""
        policy = Policy.load(self.policy)
        ledger = None if self.ledger is None else self.ledger.absolute()
        columns = tuple(
            replace(each, policy=str(Path(each.policy).absolute()))
            if each.policy.endswith(".toml")
            else each
            for each in self.parsed
        )
        store = self.store if on_postgres(self.store) else self.store.absolute()
        return replace(self, store=store, ledger=ledger, policy=policy, columns=columns)

    def policy_of(self, column: Column) -> Policy:
        """Return the policy of a column: rows ask for nothing, so nothing leaves as needed."""
        return Policy.load(column.policy or self.policy).leaving_nothing()

    def digest(self) -> str:
        """Return a hash of everything that decides what is released, but for the models.

        Raises:
            PolicyError, ValueError: a policy cannot be used.
        """
        texts = {
            column.name: self.policy_of(column).digest for column in self.parsed if not column.kind
        }
        kinds = {column.name: column.kind for column in self.parsed if column.kind}
        stated = (
            sorted(texts.items()),
            sorted(kinds.items()),
            repr(self.mechanism),
            self.unit_column,
            self.id_column,
        )
        return hashlib.sha256(repr(stated).encode()).hexdigest()
