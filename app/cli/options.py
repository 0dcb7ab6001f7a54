"""Making of verbs, an option and an exit code that several of them use."""

import argparse
from collections.abc import Callable
from typing import TypeAlias

from app.cli.console import Console
from app.core.context import AppContext

NEEDS_CONSENT = 4  # exit code: nothing is done without --yes
Verbs: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"
Run = Callable[[argparse.Namespace, AppContext, Console], int]


def add_verb(
    verbs: Verbs, name: str, run: Run, line: str, page: str | None = None
) -> argparse.ArgumentParser:
    """Add a verb that `run` does: its line in the list of verbs, the text of its own page."""
    made = verbs.add_parser(name, help=line, description=page)
    made.add_argument("--json", action="store_true", help="print one JSON document")
    made.set_defaults(run=run)
    return made


def add_group(verbs: Verbs, name: str, line: str, page: str | None = None) -> Verbs:
    """Add a verb that has actions; what those are added to."""
    made = verbs.add_parser(name, help=line, description=page)
    return made.add_subparsers(title="actions", metavar="ACTION", required=True)


def add_profile(parser: argparse.ArgumentParser) -> None:
    """The option that picks a profile."""
    parser.add_argument(
        "--profile", default="default", metavar="P", help="the profile (default: default)"
    )
