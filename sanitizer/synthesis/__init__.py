"""Private documents in, a synthetic text out.

What enters: references, a query, an epsilon. What leaves: a text that may leave the machine, and
its record. Documents are read through the causal model only; no message or record quotes them.
"""

from typing import TYPE_CHECKING

from sanitizer import lazy_door

if TYPE_CHECKING:
    from sanitizer.synthesis.plan import SYSTEM_PROMPT as SYSTEM_PROMPT
    from sanitizer.synthesis.plan import TEMPLATE as TEMPLATE
    from sanitizer.synthesis.plan import DocumentPrompts as DocumentPrompts
    from sanitizer.synthesis.plan import Reference as Reference
    from sanitizer.synthesis.plan import SynthesisRecord as SynthesisRecord
    from sanitizer.synthesis.plan import SynthesizedText as SynthesizedText
    from sanitizer.synthesis.texts import synthesize as synthesize
    from sanitizer.synthesis.texts import synthesize_batch as synthesize_batch
    from sanitizer.synthesis.writing import AllScores as AllScores
    from sanitizer.synthesis.writing import ModelScores as ModelScores
else:
    __getattr__, __dir__ = lazy_door(
        __name__,
        {
            "plan": (
                "DocumentPrompts",
                "Reference",
                "SYSTEM_PROMPT",
                "SynthesisRecord",
                "SynthesizedText",
                "TEMPLATE",
            ),
            "texts": (
                "synthesize",
                "synthesize_batch",
            ),
            "writing": ("AllScores", "ModelScores"),
        },
    )
