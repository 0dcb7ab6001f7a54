"""The verbs and their options; a verb's module is imported when that verb is typed."""

import argparse
from collections.abc import Sequence
from importlib import import_module

from app.core.own_code import own_version
from app.core.plain_parser import PlainParser

# verb -> its module; help lists them in this order
VERBS = {
    "scan": "scan",
    "import": "scan",
    "add": "scan",
    "registry": "market",
    "find": "market",
    "server": "server",
    "sign-in": "signing",
    "sign-out": "signing",
    "footprint": "footprint",
    "check": "footprint",
    "lock": "project_check",
    "policy": "policy",
    "team": "team",
    "usage": "usage",
    "telemetry": "telemetry",
    "digest": "digest",
    "route": "route",
    "hosts": "export",
    "export": "export",
    "restore": "export",
    "hook": "hook",
    "rules": "rules",
    "profile": "profile",
    "stack": "stack",
    "review": "review",
    "trust": "review",
    "hold": "review",
    "approve": "approve",
    "summary": "summary",
    "requests": "requests",
    "labels": "labels",
    "calibrate": "calibrate",
    "learn": "calibrate",
    "backend": "backend",
    "doctor": "doctor",
}
_EPILOG = """\
exit codes:
  0  done
  1  refused or failed; the reason and what to do are on stderr
  2  wrong usage
  3  no display to open the window on
  4  over budget (check), or nothing can be done without --yes (scan, import, export ...)
  5  done in part: some servers could not be read

Without a verb the window opens; `toolcrib pictures FOLDER` saves pictures of it.
TOOLCRIB_HOME, a whole path, moves all of Toolcrib's own files.
"""


def make_parser(argv: Sequence[str] = ()) -> argparse.ArgumentParser:
    """The parser of `toolcrib`; of one verb only where that is what `argv` begins with."""
    parser = PlainParser(
        prog="toolcrib",
        description="See what your MCP servers cost, switch tools off, write trimmed configs.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"toolcrib {own_version()}")
    verbs = parser.add_subparsers(title="verbs", metavar="VERB", required=True)
    typed = VERBS.get(argv[0]) if argv else None
    for module in [typed] if typed else dict.fromkeys(VERBS.values()):
        import_module(f"app.cli.{module}").add(verbs)
    return parser
