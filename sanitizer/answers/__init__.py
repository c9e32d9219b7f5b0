"""An answer in; the same answer with originals, optionally rewritten for the original prompt, out.

What enters: text of an API, and the released values of a conversation. What leaves: text for the
user. Everything works on what was released before: it costs no budget, and sends nothing off the
machine unless a remote extractor is trusted by name.
"""

from typing import TYPE_CHECKING

from sanitizer.doors import lazy_door

if TYPE_CHECKING:
    from sanitizer.answers.extractors import Extractor as Extractor
else:
    __getattr__, __dir__, __all__ = lazy_door(__name__, {"answers.extractors": "Extractor"})
