"""Cases of tests that lie in files beside them, one a line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def cases(name: str) -> list[Any]:
    """The lines of `cases_NAME.jsonl`."""
    lines = Path(__file__).with_name(f"cases_{name}.jsonl").read_text("utf-8").splitlines()
    return [json.loads(line) for line in lines]
