"""One API request or answer: which of its strings are text. Bytes in, bytes out.

What enters: method, path and body. What leaves: the body that may be sent, or the answer restored.
It knows no HTTP library and opens no connection.
"""
