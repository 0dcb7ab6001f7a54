"""The verbs and their options; a verb's module is imported when that verb is typed."""

import argparse
from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec

from app.cli.verbs import VERBS
from app.core.own_code import own_version
from app.core.plain_parser import PlainParser

_EPILOG = """\
exit codes:
  0  done
  1  refused or failed; the reason and what to do are on stderr
  2  wrong usage
  3  no display to open the window on
  4  over budget (check), or nothing can be done without --yes (scan, import, export ...)
  5  done in part: some servers could not be read

{window}TOOLCRIB_HOME, a whole path, moves all of Toolcrib's own files.
"""
_WINDOW = "Without a verb the window opens; `toolcrib pictures FOLDER` saves pictures of it.\n"


def make_parser(argv: Sequence[str] = ()) -> argparse.ArgumentParser:
    """The parser of `toolcrib`; of one verb only where that is what `argv` begins with."""
    parser = PlainParser(
        prog="toolcrib",
        description="See what your MCP servers cost, switch tools off, write trimmed configs.",
        epilog=_EPILOG.format(window=_WINDOW if find_spec("ui") else ""),  # not in toolcrib-core
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"toolcrib {own_version()}")
    verbs = parser.add_subparsers(title="verbs", metavar="VERB", required=True)
    typed = VERBS.get(argv[0]) if argv else None
    if argv and not typed:  # help, version or a slip: the lines are all that it needs
        for name, (_, line) in VERBS.items():
            verbs.add_parser(name, help=line)
        return parser
    for module in [typed[0]] if typed else dict.fromkeys(module for module, _ in VERBS.values()):
        import_module(f"app.cli.{module}").add(verbs)
    return parser
