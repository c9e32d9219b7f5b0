"""A small window around the SDK: see what would leave, send it, read the restored answer."""
