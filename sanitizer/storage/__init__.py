"""What outlives a call: originals, released messages and spent budgets.

They are kept in memory, in one SQLite file, or on PostgreSQL. What enters: keys, originals,
amounts. What leaves: the same, exactly once and never damaged unnoticed. This package decides
nothing: what is private, and what a release costs, is decided by the packages that use it.
"""

from typing import TYPE_CHECKING

from sanitizer.doors import lazy_door

if TYPE_CHECKING:
    from sanitizer.storage.ledger import PostgresLedger as PostgresLedger
    from sanitizer.storage.ledger import Scope as Scope
    from sanitizer.storage.postgres_store import PostgresStore as PostgresStore
    from sanitizer.storage.sealing import read_secret as read_secret
    from sanitizer.storage.stored_vault import PostgresVault as PostgresVault
    from sanitizer.storage.vault import MemoryVault as MemoryVault
else:
    __getattr__, __dir__, __all__ = lazy_door(
        __name__,
        {
            "storage.ledger": "PostgresLedger Scope",
            "storage.postgres_store": "PostgresStore",
            "storage.sealing": "read_secret",
            "storage.stored_vault": "PostgresVault",
            "storage.vault": "MemoryVault",
        },
    )
