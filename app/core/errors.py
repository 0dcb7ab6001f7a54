"""Errors that a user can act on; imports nothing."""


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
