"""Errors as the window shows them: a title, a hint, and details in the log."""

import logging

from app.core.errors import ToolcribError
from store.errors import StoreError

_log = logging.getLogger("toolcrib.ui")


class UnforeseenError(ToolcribError):
    """A defect of Toolcrib itself: its cause is in the log only."""


def as_problem(error: BaseException) -> ToolcribError:
    """Convert an error to one for the user; anything unforeseen is logged with its trace."""
    if isinstance(error, ToolcribError):
        return error
    if isinstance(error, StoreError):
        return ToolcribError(error.title, error.hint)
    _log.error("Unforeseen error", exc_info=error)
    return UnforeseenError(
        f"Something went wrong: {type(error).__name__}.", "The log holds the details."
    )
