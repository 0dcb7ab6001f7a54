"""Errors of the store, each with a sentence and the next step for the user."""

REPAIR = "Repair it, after a copy is kept, with: toolcrib doctor --repair."


class StoreError(Exception):
    """The store cannot do what was asked; `title` says what, `hint` says what to do."""

    def __init__(self, title: str, hint: str = "") -> None:
        super().__init__(title)
        self.title = title
        self.hint = hint

    @property
    def text(self) -> str:
        """Title and hint in one line."""
        return f"{self.title} {self.hint}".strip()


class NewerStoreError(StoreError):
    """The file was written by a newer Toolcrib."""


class OlderStoreError(StoreError):
    """The file was written by a Toolcrib before the first schema."""


class DamagedStoreError(StoreError):
    """The file is not a readable SQLite database, or fails its integrity check."""


class FullStoreError(StoreError):
    """The disk is full."""


class ReadOnlyStoreError(StoreError):
    """The file or its folder cannot be written."""


class LockedStoreError(StoreError):
    """Another process kept the file locked for longer than the time limit."""
