"""One entry: python -m benchmarks audits|latency|report [--quick]."""

from __future__ import annotations

import argparse
import sys

from benchmarks import audits, latency, report

COMMANDS = {"audits": audits.main, "latency": latency.main, "report": report.main}


def main() -> int:
    """Run one benchmark."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("command", choices=sorted(COMMANDS))
    parser.add_argument("--quick", action="store_true", help="fewer repetitions")
    options = parser.parse_args()
    COMMANDS[options.command](options.quick)
    return 0


if __name__ == "__main__":
    sys.exit(main())
