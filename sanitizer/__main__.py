"""Run the command line with `python -m sanitizer`."""

import sys

from sanitizer.cli import main

if __name__ == "__main__":
    sys.exit(main())
