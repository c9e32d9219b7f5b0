"""Python clients of an API, with every request passed through the filter.

What enters: a client. What leaves: the same client, shielded. `sanitizer.clients.httpx` and
`sanitizer.clients.httpx2` wrap clients of these libraries and are imported by name, since either
library may be missing.
"""

from typing import TYPE_CHECKING

from sanitizer.doors import lazy_door

if TYPE_CHECKING:
    from sanitizer.clients.frameworks import check_shielded as check_shielded
else:
    __getattr__, __dir__, __all__ = lazy_door(__name__, {"clients.frameworks": "check_shielded"})
