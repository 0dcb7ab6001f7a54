"""The program toolcrib-team: its entry."""

import sys
from collections.abc import Sequence

from app.system.ending import interrupts_held


def main(argv: Sequence[str] | None = None) -> int:
    """Run one verb; returns the exit code."""
    try:
        with interrupts_held():
            from app.team_server.verbs import run
        return run(argv)
    except KeyboardInterrupt:
        sys.stderr.write("toolcrib-team: stopped.\n")
        return 130
    except OSError as error:
        place = error.filename or "A file"
        sys.stderr.write(f"toolcrib-team: {place} cannot be used: {error.strerror}.\n")
        return 1


if __name__ == "__main__":
    sys.exit(main())
