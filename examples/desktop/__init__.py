"""A small window around the SDK: see what would leave this machine, send it, read the restored
answer.
"""
