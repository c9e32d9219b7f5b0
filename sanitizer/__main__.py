"""Run the command line: as `sanitizer`, or with `python -m sanitizer`.

Its modules are imported inside `main`, so that Ctrl-C while they load is one line like any other.
"""

import os
import signal
import sys
from types import FrameType
from typing import NoReturn

INTERRUPTED = 130


def main() -> int:
    """Run one command and return its exit status."""
    # Ignored stays ignored: a shell starts jobs in the background so.
    is_default = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if is_default:
        signal.signal(signal.SIGINT, _end)
    from sanitizer.cli.program import main as run

    if is_default:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    return run()


def _end(number: int, frame: FrameType | None) -> NoReturn:
    """End the process at once: an exception may be lost or changed inside an import."""
    try:
        os.write(2, b"sanitizer: error: interrupted; nothing was released\n")
    finally:
        os._exit(INTERRUPTED)


if __name__ == "__main__":
    sys.exit(main())
