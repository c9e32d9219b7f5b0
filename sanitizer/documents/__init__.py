"""Documents as people have them, read as one text and written again in their own layout.

What enters: a file (DOCX, XLSX, PPTX, EML, PDF). What leaves: its text, and, given edits of that
text, the same file with the edits in place. It knows nothing of what is private.
"""

from typing import TYPE_CHECKING

from sanitizer.doors import lazy_door

if TYPE_CHECKING:
    from sanitizer.documents.files import open_document as open_document
else:
    __getattr__, __dir__, __all__ = lazy_door(__name__, {"documents.files": "open_document"})
