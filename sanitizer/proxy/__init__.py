"""The proxy: the same endpoints as the API, on this machine, and the page (extra "proxy")."""
