"""Arguments of both programs: errors show no control character, and list what may follow."""

import argparse
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, NoReturn

from app.core.text import visible

if TYPE_CHECKING:
    from _typeshed import SupportsWrite

_KEPT = "\n\t"


class PlainParser(argparse.ArgumentParser):
    """An argument parser that repeats what was typed without its control characters."""

    def parse_known_args(  # type: ignore[override]  # one form of several, for any namespace
        self, args: Sequence[str] | None = None, namespace: argparse.Namespace | None = None
    ) -> tuple[argparse.Namespace, list[str]]:
        """Parse; an argument that a verb does not know ends with that verb's usage."""
        parsed, unknown = super().parse_known_args(args, namespace)
        if unknown:
            self.error(f"unrecognized arguments: {' '.join(unknown)}")
        return parsed, unknown

    def error(self, message: str) -> NoReturn:
        """End with the usage; of a verb that has several actions, with the list of them."""
        if message.endswith((": ACTION", ": VERB")):
            self.print_help(sys.stderr)
            self.exit(2, f"\n{self.prog}: {message}\n")
        super().error(message)

    def _print_message(self, message: str, file: "SupportsWrite[str] | None" = None) -> None:
        super()._print_message(visible(message, _KEPT), file)
