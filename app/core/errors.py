"""Errors that a user can act on."""

from collections.abc import Iterator
from contextlib import contextmanager


class ToolcribError(Exception):
    """Something a user can act on: `title` says what happened, `hint` what to do next."""

    def __init__(self, title: str, hint: str = "") -> None:
        super().__init__(title)
        self.title = title
        self.hint = hint

    @property
    def text(self) -> str:
        """Title and hint in one line."""
        return f"{self.title} {self.hint}".strip()


@contextmanager
def errors_of(place: object) -> Iterator[None]:
    """Have errors from inside begin with the file, server or host that they are about."""
    try:
        yield
    except ToolcribError as error:
        raise ToolcribError(f"{place}: {error.title}", error.hint) from error
