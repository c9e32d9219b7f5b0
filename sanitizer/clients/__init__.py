"""Python clients of an API, with every request passed through the filter.

What enters: a client. What leaves: the same client, shielded. `sanitizer.clients.httpx` and
`sanitizer.clients.httpx2` wrap clients of these libraries and are imported by name, since either
library may be missing.
"""

from typing import TYPE_CHECKING

from sanitizer import lazy_door

if TYPE_CHECKING:
    from sanitizer.clients.chat import ChatConnection as ChatConnection
    from sanitizer.clients.frameworks import check_shielded as check_shielded
    from sanitizer.clients.frameworks import http_twins as http_twins
    from sanitizer.clients.frameworks import refuse_tracing as refuse_tracing
    from sanitizer.clients.shielding import shield as shield
else:
    __getattr__, __dir__ = lazy_door(
        __name__,
        {
            "chat": ("ChatConnection",),
            "frameworks": ("check_shielded", "http_twins", "refuse_tracing"),
            "shielding": ("shield",),
        },
    )
