"""Write the desktop example's picture, docs/images/desktop.png: `python -m
tests.examples.pictures`.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from PySide6.QtWidgets import QApplication

from examples.desktop.form import ADDRESS
from sanitizer.testing.server import Answer, Received, says
from tests.examples.conftest import Api
from tests.examples.screens import person, screen

IMAGES = Path(__file__).parents[2] / "docs" / "images"
TEXT = (
    "My father Peter has hepatitis and lives in Leeds. He drinks again. Please write to Dr. Elena "
    "Marsh for me (marsh@northgate.example, +44 20 7946 0958): he cannot come on 14 March and asks "
    "for another day."
)
ANSWER = (
    "To: {EMAIL}\nSubject: Another appointment\n\nDear Dr. {PERSON},\n\n"
    "my father, who has {illness}, cannot come on {DATE}. Could he have another day? "
    "Please call us on {PHONE}.\n\nYours sincerely"
)


def secretary(received: Received) -> Answer:
    """Answer with a letter that has the stand-ins that were sent, of each class the last."""
    question = received.json["messages"][-1]["content"].partition("\n\n[Note")[0]
    sent = dict(re.findall(r"(?=<([A-Z]+)_)(<\w+>)", question))
    illness = question.partition(" has ")[2].partition(" and ")[0]
    return says(ANSWER.format_map({**sent, "illness": illness}))(received)


def main(folder: Path = IMAGES) -> None:
    """Save the window after one answer."""
    folder.mkdir(parents=True, exist_ok=True)
    with screen(), Api(secretary) as api, person() as someone:
        someone.chooses("guarded")
        someone.pastes(TEXT)
        someone.sends(api.url)
        someone.window.address.setText(ADDRESS)
        QApplication.processEvents()
        someone.window.grab().save(str(folder / "desktop.png"), quality=0)


if __name__ == "__main__":
    main(*[Path(folder) for folder in sys.argv[1:]])
