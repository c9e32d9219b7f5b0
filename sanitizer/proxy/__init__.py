"""The filter as a server on this machine, and the page that shows what leaves.

What enters: HTTP requests of clients in any language. What leaves: filtered requests to the
upstream, restored answers to the client. It knows nothing of how words are drawn.
"""
