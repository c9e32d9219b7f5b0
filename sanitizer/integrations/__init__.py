"""Frameworks and gateways: their own hooks, with every call passed through the filter.

What enters: a framework's call, before it chooses a provider. What leaves: the same call with
stand-ins, and its answer with the originals. Each file is imported by name, since its framework may
be missing: `sanitizer.integrations.litellm`, `.langchain`, `.llama_index`, `.openai_agents`.
"""

from typing import TYPE_CHECKING

from sanitizer import lazy_door

if TYPE_CHECKING:
    from sanitizer.integrations.turns import Turn as Turn
    from sanitizer.integrations.turns import TurnEvents as TurnEvents
    from sanitizer.integrations.turns import Turns as Turns
else:
    __getattr__, __dir__ = lazy_door(__name__, {"turns": ("Turn", "TurnEvents", "Turns")})
