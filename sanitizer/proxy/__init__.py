"""The filter as a server on this machine, and the page that shows what leaves.

What enters: HTTP requests of clients in any language. What leaves: filtered requests to the
upstream, restored answers to the client. It knows nothing of how words are drawn.
"""

from typing import TYPE_CHECKING

from sanitizer import lazy_door

if TYPE_CHECKING:
    from sanitizer.proxy.access import ProxySettings as ProxySettings
    from sanitizer.proxy.gate import Gate as Gate
    from sanitizer.proxy.server import Listener as Listener
    from sanitizer.proxy.server import create_app as create_app
    from sanitizer.proxy.server import run as run
    from sanitizer.proxy.server import serving as serving
    from sanitizer.proxy.tenants import Tenants as Tenants
else:
    __getattr__, __dir__ = lazy_door(
        __name__,
        {
            "access": ("ProxySettings",),
            "gate": ("Gate",),
            "server": ("create_app", "Listener", "run", "serving"),
            "tenants": ("Tenants",),
        },
    )
