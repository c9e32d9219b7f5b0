"""The models on this machine, the reader among them: verified files, tokenizers, batches, scores.

What enters: tokens. What leaves: scores, as arrays. It is the only package that
knows onnxruntime and tokenizers, and it knows nothing of policies, privacy or conversations.
"""
