"""What outlives a call: originals, released messages and spent budgets, in memory or in one SQLite
file.

What enters: keys, originals, amounts. What leaves: the same, exactly once and never damaged
unnoticed. It decides
nothing: what is private and what it costs is decided above.
"""

from typing import TYPE_CHECKING

from sanitizer import lazy_door

if TYPE_CHECKING:
    from sanitizer.storage.budget import Budget as Budget
    from sanitizer.storage.budget import Charge as Charge
    from sanitizer.storage.budget import LocalBudget as LocalBudget
    from sanitizer.storage.budget import as_printed as as_printed
    from sanitizer.storage.budget import budget_for as budget_for
    from sanitizer.storage.file_vault import FileVault as FileVault
    from sanitizer.storage.ledger import Ledger as Ledger
    from sanitizer.storage.ledger import Scope as Scope
    from sanitizer.storage.vault import MAX_FORMED as MAX_FORMED
    from sanitizer.storage.vault import Make as Make
    from sanitizer.storage.vault import MemoryVault as MemoryVault
    from sanitizer.storage.vault import Originals as Originals
    from sanitizer.storage.vault import Vault as Vault
    from sanitizer.storage.vault import message_key as message_key
else:
    __getattr__, __dir__ = lazy_door(
        __name__,
        {
            "budget": ("Budget", "Charge", "LocalBudget", "as_printed", "budget_for"),
            "file_vault": ("FileVault",),
            "ledger": ("Ledger", "Scope"),
            "vault": ("MAX_FORMED", "Make", "MemoryVault", "Originals", "Vault", "message_key"),
        },
    )
