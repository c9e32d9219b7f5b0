"""Between an application and an API: what leaves is sanitized, what comes back is restored."""
