"""What outlives a call: originals, released messages and spent budgets.

They are kept in memory, in one SQLite file, or on PostgreSQL. What enters: keys, originals,
amounts. What leaves: the same, exactly once and never damaged unnoticed. This package decides
nothing: what is private, and what a release costs, is decided by the packages that use it.
"""

from typing import TYPE_CHECKING

from sanitizer import lazy_door

if TYPE_CHECKING:
    from sanitizer.storage.budget import LocalBudget as LocalBudget
    from sanitizer.storage.budget import MemoryLedger as MemoryLedger
    from sanitizer.storage.budget import budget_for as budget_for
    from sanitizer.storage.file_vault import KEY_VARIABLE as KEY_VARIABLE
    from sanitizer.storage.file_vault import FileVault as FileVault
    from sanitizer.storage.ledger import DAY as DAY
    from sanitizer.storage.ledger import Budget as Budget
    from sanitizer.storage.ledger import Budgets as Budgets
    from sanitizer.storage.ledger import Charge as Charge
    from sanitizer.storage.ledger import Ledger as Ledger
    from sanitizer.storage.ledger import Scope as Scope
    from sanitizer.storage.ledger import as_printed as as_printed
    from sanitizer.storage.postgres.ledger import PostgresLedger as PostgresLedger
    from sanitizer.storage.postgres.store import Database as Database
    from sanitizer.storage.postgres.store import PostgresStore as PostgresStore
    from sanitizer.storage.postgres.vault import PostgresVault as PostgresVault
    from sanitizer.storage.sealing import Keys as Keys
    from sanitizer.storage.sealing import derived_keys as derived_keys
    from sanitizer.storage.sealing import key_bytes as key_bytes
    from sanitizer.storage.sealing import read_secret as read_secret
    from sanitizer.storage.table import MAX_FORMED as MAX_FORMED
    from sanitizer.storage.table import NATURAL as NATURAL
    from sanitizer.storage.table import Cache as Cache
    from sanitizer.storage.table import Drawn as Drawn
    from sanitizer.storage.table import Entries as Entries
    from sanitizer.storage.table import Originals as Originals
    from sanitizer.storage.table import Row as Row
    from sanitizer.storage.table import Wanted as Wanted
    from sanitizer.storage.table import name_marks as name_marks
    from sanitizer.storage.table import same_thing as same_thing
    from sanitizer.storage.table import same_things as same_things
    from sanitizer.storage.vault import MemoryVault as MemoryVault
    from sanitizer.storage.vault import Tags as Tags
    from sanitizer.storage.vault import Vault as Vault
    from sanitizer.storage.vault import message_key as message_key
    from sanitizer.storage.vault import placeholders as placeholders
else:
    __getattr__, __dir__ = lazy_door(
        __name__,
        {
            "budget": ("LocalBudget", "MemoryLedger", "budget_for"),
            "file_vault": ("FileVault", "KEY_VARIABLE"),
            "ledger": (
                "DAY",
                "Budget",
                "Budgets",
                "Charge",
                "Ledger",
                "Scope",
                "as_printed",
            ),
            "postgres.store": ("Database", "PostgresStore"),
            "postgres.ledger": ("PostgresLedger",),
            "postgres.vault": ("PostgresVault",),
            "sealing": ("Keys", "derived_keys", "key_bytes", "read_secret"),
            "table": (
                "Cache",
                "Drawn",
                "Entries",
                "MAX_FORMED",
                "NATURAL",
                "Originals",
                "Row",
                "Wanted",
                "name_marks",
                "same_thing",
                "same_things",
            ),
            "vault": ("MemoryVault", "Tags", "Vault", "message_key", "placeholders"),
        },
    )
