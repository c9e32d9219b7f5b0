"""One API request or answer: which of its strings are text. Bytes in, bytes out.

What enters: method, path and body. What leaves: the body that may be sent, or the answer restored.
It knows no HTTP library and opens no connection.
"""

from typing import TYPE_CHECKING

from sanitizer import lazy_door

if TYPE_CHECKING:
    from sanitizer.wire.answers import Stamp as Stamp
    from sanitizer.wire.endpoints import ENDPOINTS as ENDPOINTS
    from sanitizer.wire.endpoints import Endpoint as Endpoint
    from sanitizer.wire.endpoints import endpoint_of as endpoint_of
    from sanitizer.wire.endpoints import format_of as format_of
    from sanitizer.wire.event_streams import EventStream as EventStream
    from sanitizer.wire.event_streams import Frames as Frames
    from sanitizer.wire.event_streams import LineStream as LineStream
    from sanitizer.wire.event_streams import may_settle as may_settle
    from sanitizer.wire.filter import Exchange as Exchange
    from sanitizer.wire.filter import Filter as Filter
    from sanitizer.wire.headers import WireRecord as WireRecord
    from sanitizer.wire.headers import answer_headers as answer_headers
    from sanitizer.wire.headers import record_headers as record_headers
    from sanitizer.wire.headers import sent_headers as sent_headers
    from sanitizer.wire.headers import short_enough as short_enough
else:
    __getattr__, __dir__ = lazy_door(
        __name__,
        {
            "answers": ("Stamp",),
            "endpoints": ("ENDPOINTS", "Endpoint", "endpoint_of", "format_of"),
            "event_streams": ("EventStream", "Frames", "LineStream", "may_settle"),
            "filter": ("Exchange", "Filter"),
            "headers": (
                "WireRecord",
                "answer_headers",
                "record_headers",
                "sent_headers",
                "short_enough",
            ),
        },
    )
