"""Differences between a running server's list of tools and the stored one."""

import json
from collections.abc import Iterable


class ListChanges:
    """Names of tools: new ones, those whose definition changed, and which of both are unusable.

    A changed tool is stored beside the text that was trusted, so that no host gets it before the
    user has decided.
    """

    __slots__ = ("added", "changed", "unusable")

    def __init__(
        self, added: Iterable[str] = (), changed: Iterable[str] = (), unusable: Iterable[str] = ()
    ) -> None:
        self.added = tuple(added)
        self.changed = tuple(changed)
        self.unusable = tuple(unusable)

    def __bool__(self) -> bool:
        return bool(self.added or self.changed)

    def __repr__(self) -> str:
        return f"ListChanges(added={self.added}, changed={self.changed}, unusable={self.unusable})"

    def to_json(self) -> str:
        """As one line, for the process that asked."""
        return json.dumps({name: getattr(self, name) for name in self.__slots__})

    @classmethod
    def from_json(cls, text: str) -> "ListChanges":
        """Read the form that `to_json` wrote; raises ValueError or TypeError for anything else."""
        return cls(**json.loads(text))
