"""docs/paper.md as a PDF: the page of the built site, printed by Chromium.

`python -m tests.docs.paper SITE OUT`, after `mkdocs build --site-dir SITE`.
"""

from __future__ import annotations

import sys
from pathlib import Path

from tests.proxy.pages import chromium

PAPER_ONLY = """
.md-header, .md-sidebar, .md-footer, .headerlink, .md-top, .md-skip {display: none !important}
.md-grid {max-width: none !important}
.md-typeset {font-size: 8.5pt}
.md-typeset__scrollwrap {margin: 0; overflow: visible}
.md-typeset table:not([class]) {font-size: 6.5pt; display: table; width: 100%}
.md-typeset table:not([class]) :is(td, th) {min-width: 0; padding: 2pt 3pt}
pre, tr, img {break-inside: avoid}
"""


def printed(site: Path, out: Path) -> None:
    """Write the PDF of the paper of a built site."""
    with chromium() as browser:
        page = browser.new_page()
        page.goto((site.absolute() / "paper.html").as_uri())
        page.add_style_tag(content=PAPER_ONLY)
        page.pdf(
            path=out,
            format="A4",
            margin={"top": "18mm", "bottom": "18mm", "left": "17mm", "right": "17mm"},
            print_background=True,
        )


if __name__ == "__main__":
    printed(*map(Path, sys.argv[1:]))
