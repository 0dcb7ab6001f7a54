"""What the verbs' modules share: the types of their options."""

import argparse
from typing import TypeAlias

Verbs: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"


def add_profile(parser: argparse.ArgumentParser) -> None:
    """The option that picks a profile."""
    parser.add_argument(
        "--profile", default="default", metavar="P", help="the profile (default: default)"
    )
