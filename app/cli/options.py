"""Making of verbs, an option and an exit code that several of them use."""

import argparse
import re
from collections.abc import Callable
from typing import TypeAlias

from app.cli.console import Console
from app.cli.verbs import VERBS
from app.core.context import AppContext

NEEDS_CONSENT = 4  # exit code: nothing is done without --yes
Verbs: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"
Run = Callable[[argparse.Namespace, AppContext, Console], int]


def add_verb(
    verbs: Verbs, name: str, run: Run, line: str = "", page: str = ""
) -> argparse.ArgumentParser:
    """Add a verb, or with a line of its own an action, that `run` does.

    Its page begins with the line, and what the JSON document holds is at its end.
    """
    made = _add_parser(verbs, name, line, page)
    made.add_argument("--json", action="store_true", help="print one JSON document")
    made.set_defaults(run=run)
    return made


def _add_parser(verbs: Verbs, name: str, line: str, page: str) -> argparse.ArgumentParser:
    line = line or VERBS[name][1]
    text, *json = re.split(r"(?=\bJSON\b)", page, maxsplit=1)
    about = f"{line[0].upper()}{line[1:]}. {text}".strip()
    return verbs.add_parser(name, help=line, description=about, epilog="".join(json))


def add_group(verbs: Verbs, name: str, line: str = "", page: str = "") -> Verbs:
    """Add a verb that has actions; what those are added to."""
    made = _add_parser(verbs, name, line, page)
    return made.add_subparsers(title="actions", metavar="ACTION", required=True)


def add_dry_run(parser: argparse.ArgumentParser) -> None:
    """The option that writes nothing."""
    parser.add_argument("--dry-run", action="store_true", help="show the difference, write nothing")


def add_profile(parser: argparse.ArgumentParser) -> None:
    """The option that picks a profile."""
    parser.add_argument(
        "--profile", default="default", metavar="P", help="the profile (default: default)"
    )
