"""What outlives a call: originals, released messages and spent budgets.

They are kept in memory, in one SQLite file, or on PostgreSQL. What enters: keys, originals,
amounts. What leaves: the same, exactly once and never damaged unnoticed. This package decides
nothing: what is private, and what a release costs, is decided by the packages that use it.
"""

from typing import TYPE_CHECKING

from sanitizer import lazy_door

if TYPE_CHECKING:
    from sanitizer.storage.budget import Budget as Budget
    from sanitizer.storage.budget import Charge as Charge
    from sanitizer.storage.budget import LocalBudget as LocalBudget
    from sanitizer.storage.budget import budget_for as budget_for
    from sanitizer.storage.databases import Database as Database
    from sanitizer.storage.databases import SQLite as SQLite
    from sanitizer.storage.databases import make_file as make_file
    from sanitizer.storage.ledger import DAY as DAY
    from sanitizer.storage.ledger import Budgets as Budgets
    from sanitizer.storage.ledger import Ledger as Ledger
    from sanitizer.storage.ledger import MemoryLedger as MemoryLedger
    from sanitizer.storage.ledger import PostgresLedger as PostgresLedger
    from sanitizer.storage.ledger import Scope as Scope
    from sanitizer.storage.ledger import as_printed as as_printed
    from sanitizer.storage.postgres_store import PostgresStore as PostgresStore
    from sanitizer.storage.sealing import SALT_BYTES as SALT_BYTES
    from sanitizer.storage.sealing import SEAL_BYTES as SEAL_BYTES
    from sanitizer.storage.sealing import Keys as Keys
    from sanitizer.storage.sealing import derived_keys as derived_keys
    from sanitizer.storage.sealing import dumped as dumped
    from sanitizer.storage.sealing import key_bytes as key_bytes
    from sanitizer.storage.sealing import new_cost as new_cost
    from sanitizer.storage.sealing import read_secret as read_secret
    from sanitizer.storage.stored_vault import KEY_VARIABLE as KEY_VARIABLE
    from sanitizer.storage.stored_vault import FileVault as FileVault
    from sanitizer.storage.stored_vault import PostgresVault as PostgresVault
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
    from sanitizer.storage.vault import Vault as Vault
    from sanitizer.storage.vault import message_key as message_key
    from sanitizer.storage.vault import placeholders as placeholders
    from sanitizer.storage.vault import tag_of as tag_of
else:
    __getattr__, __dir__ = lazy_door(
        __name__,
        {
            "budget": ("Budget", "Charge", "LocalBudget", "budget_for"),
            "ledger": (
                "DAY",
                "Budgets",
                "Ledger",
                "MemoryLedger",
                "PostgresLedger",
                "Scope",
                "as_printed",
            ),
            "databases": ("Database", "SQLite", "make_file"),
            "postgres_store": ("PostgresStore",),
            "stored_vault": ("KEY_VARIABLE", "FileVault", "PostgresVault"),
            "sealing": (
                "SALT_BYTES",
                "SEAL_BYTES",
                "Keys",
                "derived_keys",
                "dumped",
                "key_bytes",
                "new_cost",
                "read_secret",
            ),
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
            "vault": ("MemoryVault", "tag_of", "Vault", "message_key", "placeholders"),
        },
    )
