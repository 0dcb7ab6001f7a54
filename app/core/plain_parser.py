"""Arguments of both programs: errors show no control character, and list what may follow."""

import argparse
import sys
from typing import TYPE_CHECKING, NoReturn

from app.core.text import visible

if TYPE_CHECKING:
    from _typeshed import SupportsWrite

_KEPT = "\n\t"


class PlainParser(argparse.ArgumentParser):
    """An argument parser that repeats what was typed without its control characters."""

    def error(self, message: str) -> NoReturn:
        """End with the usage; of a verb that has several actions, with the list of them."""
        if message.endswith((": ACTION", ": VERB")):
            self.print_help(sys.stderr)
            self.exit(2, f"\n{self.prog}: {message}\n")
        super().error(message)

    def _print_message(self, message: str, file: "SupportsWrite[str] | None" = None) -> None:
        super()._print_message(visible(message, _KEPT), file)
