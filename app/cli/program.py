"""The command line's entry: light, so that an interrupt is answered while the rest is imported."""

import sys
from collections.abc import Sequence

from app.system.ending import interrupts_held

_INTERRUPTED = 130


def main(argv: Sequence[str]) -> int:
    """Run one verb; returns the exit code."""
    try:
        with interrupts_held():
            from app.cli.main import run
    except KeyboardInterrupt:  # later a verb answers for itself
        sys.stderr.write("toolcrib: stopped.\n")
        return _INTERRUPTED
    return run(argv)
