"""One entry: python -m benchmarks audits|latency|proxy|report [--quick] [--peer PYTHON]."""

from __future__ import annotations

import argparse
import sys

from benchmarks import audits, latency, proxy, report

COMMANDS = {"audits": audits.main, "latency": latency.main, "report": report.main}


def main() -> int:
    """Run one benchmark."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("command", choices=sorted([*COMMANDS, "proxy"]))
    parser.add_argument("--quick", action="store_true", help="fewer repetitions")
    parser.add_argument("--peer", metavar="PYTHON", help="proxy: an environment with llm-shield-proxy installed")
    options = parser.parse_args()
    if options.command == "proxy":
        proxy.main(options.quick, options.peer)
    else:
        COMMANDS[options.command](options.quick)
    return 0


if __name__ == "__main__":
    sys.exit(main())
