"""Documents as people have them, read as one text and written again in their own layout.

What enters: a file (DOCX, XLSX, PPTX, EML, PDF). What leaves: its text, and, given edits of that
text, the same file with the edits in place. It knows nothing of what is private.
"""

from typing import TYPE_CHECKING

from sanitizer import lazy_door

if TYPE_CHECKING:
    from sanitizer.documents.files import FORMATS as FORMATS
    from sanitizer.documents.files import Document as Document
    from sanitizer.documents.files import Edit as Edit
    from sanitizer.documents.files import edits_between as edits_between
    from sanitizer.documents.files import edits_of as edits_of
    from sanitizer.documents.files import is_document as is_document
    from sanitizer.documents.files import open_document as open_document
else:
    __getattr__, __dir__ = lazy_door(
        __name__,
        {
            "files": (
                "Document",
                "Edit",
                "FORMATS",
                "edits_between",
                "edits_of",
                "is_document",
                "open_document",
            ),
        },
    )
