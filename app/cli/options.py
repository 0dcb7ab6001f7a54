"""Argument types, an option and an exit code that several verbs use."""

import argparse
from typing import TypeAlias

NEEDS_CONSENT = 4  # exit code: nothing is done without --yes
Verbs: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"


def add_profile(parser: argparse.ArgumentParser) -> None:
    """The option that picks a profile."""
    parser.add_argument(
        "--profile", default="default", metavar="P", help="the profile (default: default)"
    )
