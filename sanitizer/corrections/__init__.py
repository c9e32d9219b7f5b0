"""What users and teams corrected, for good: phrases that are always hidden, and that never are.

What enters: phrases, and files of contacts or customers. What leaves: the lists, for a policy. They
are kept encrypted on this machine, one file for each user or team.
"""

from typing import TYPE_CHECKING

from sanitizer import lazy_door

if TYPE_CHECKING:
    from sanitizer.corrections.lists import VARIABLE as VARIABLE
    from sanitizer.corrections.lists import Contacts as Contacts
    from sanitizer.corrections.lists import Listed as Listed
    from sanitizer.corrections.lists import Memories as Memories
    from sanitizer.corrections.lists import contacts_in as contacts_in
    from sanitizer.corrections.lists import memories_of as memories_of
    from sanitizer.corrections.memory import Corrections as Corrections
else:
    __getattr__, __dir__ = lazy_door(
        __name__,
        {
            "lists": (
                "VARIABLE",
                "Contacts",
                "Listed",
                "Memories",
                "contacts_in",
                "memories_of",
            ),
            "memory": ("Corrections",),
        },
    )
