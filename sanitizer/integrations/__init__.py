"""Frameworks and gateways: their own hooks, with every call passed through the filter.

What enters: a framework's call, before it chooses a provider. What leaves: the same call with
stand-ins, and its answer with the originals. Each file is imported by name, since its framework may
be missing: `sanitizer.integrations.litellm`, `.langchain`, `.llama_index`, `.openai_agents`.
"""
