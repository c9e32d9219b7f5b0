"""One API request or answer: which of its strings are text. Bytes in, bytes out.

What enters: method, path and body. What leaves: the body that may be sent, or the answer restored.
It knows no HTTP library and opens no connection.
"""

from typing import TYPE_CHECKING

from sanitizer import lazy_door

if TYPE_CHECKING:
    from sanitizer.wire.event_streams import Frames as Frames
    from sanitizer.wire.filter import Exchange as Exchange
    from sanitizer.wire.filter import Filter as Filter
    from sanitizer.wire.find_text import dumps as dumps
    from sanitizer.wire.find_text import loads as loads
    from sanitizer.wire.record import WireRecord as WireRecord
    from sanitizer.wire.shapes import ENDPOINTS as ENDPOINTS
else:
    __getattr__, __dir__ = lazy_door(
        __name__,
        {
            "event_streams": ("Frames",),
            "filter": ("Exchange", "Filter"),
            "find_text": ("dumps", "loads"),
            "record": ("WireRecord",),
            "shapes": ("ENDPOINTS",),
        },
    )
