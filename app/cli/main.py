"""Entry of the command line: parse, run one verb, say what went wrong."""

import sys
from collections.abc import Sequence

from app.cli.console import standard_console
from app.cli.parser import make_parser
from app.context import AppContext
from app.errors import ToolcribError
from store.errors import StoreError

DONE = 0
FAILED = 1
USAGE = 2
INTERRUPTED = 130


def run(argv: Sequence[str]) -> int:
    """Run one verb; the exit code (see `toolcrib --help`)."""
    parser = make_parser()
    try:
        args = parser.parse_args(argv)
    except SystemExit as stop:
        return int(stop.code or 0)
    console = standard_console(as_json=args.json)
    try:
        return int(args.run(args, AppContext.default(), console))
    except (ToolcribError, StoreError) as error:
        console.note(f"toolcrib: {error.title}")
        if error.hint:
            console.note(f"  {error.hint}")
        return FAILED
    except KeyboardInterrupt:
        console.note("toolcrib: stopped.")
        return INTERRUPTED
    except BrokenPipeError:
        sys.stderr.close()
        return DONE
