"""The verbs and their options."""

import argparse

from app.cli import (
    backend,
    bench,
    calibrate,
    export,
    footprint,
    hook,
    labels,
    profile,
    requests,
    review,
    route,
    scan,
    signing,
    summary,
)
from app.cli.console import PlainParser

_EPILOG = """\
exit codes:
  0  done
  1  refused or failed; the reason and what to do are on stderr
  2  wrong usage
  3  no display to open the window on
  4  over budget (check), or nothing can be done without --yes (scan, import, requests, restore)
  5  done in part: some servers could not be read

Without a verb the window opens; `toolcrib pictures FOLDER` saves pictures of it.
TOOLCRIB_HOME moves all of Toolcrib's own files.
"""


def make_parser() -> argparse.ArgumentParser:
    """The parser of `toolcrib`."""
    parser = PlainParser(
        prog="toolcrib",
        description="See what your MCP servers cost, switch tools off, write trimmed configs.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    verbs = parser.add_subparsers(title="verbs", metavar="VERB", required=True)
    common = argparse.ArgumentParser(add_help=False)
    common.add_argument("--json", action="store_true", help="print one JSON document")
    for module in (
        scan,
        signing,
        footprint,
        route,
        export,
        hook,
        profile,
        review,
        summary,
        requests,
        labels,
        calibrate,
        backend,
        bench,
    ):
        module.add(verbs, common)
    return parser
