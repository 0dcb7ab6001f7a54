"""What the verbs' modules share: types of options, an option, an exit code."""

import argparse
from typing import TypeAlias

NEEDS_CONSENT = 4  # exit code: nothing is done without --yes
Verbs: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"


def add_profile(parser: argparse.ArgumentParser) -> None:
    """The option that picks a profile."""
    parser.add_argument(
        "--profile", default="default", metavar="P", help="the profile (default: default)"
    )
