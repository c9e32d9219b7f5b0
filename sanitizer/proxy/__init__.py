"""The filter as a server on this machine, and the page that shows what leaves.

What enters: HTTP requests of clients in any language. What leaves: filtered requests to the
upstream, restored answers to the client. It knows nothing of how words are drawn.
"""

from typing import TYPE_CHECKING

from sanitizer.doors import lazy_door

if TYPE_CHECKING:
    from sanitizer.proxy.access import ProxySettings as ProxySettings
    from sanitizer.proxy.server import create_app as create_app
    from sanitizer.proxy.server import serving as serving
else:
    __getattr__, __dir__, __all__ = lazy_door(
        __name__, {"proxy.access": "ProxySettings", "proxy.server": "create_app serving"}
    )
