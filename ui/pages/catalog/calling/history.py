"""Earlier calls by hand."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from store.typed import Json

if TYPE_CHECKING:
    from app.registry.calling import CallResult

_MOST_KEPT = 50  # calls


@dataclass(frozen=True, slots=True)
class Kept:
    """An earlier call, its secret arguments left out."""

    tool_id: str
    at: float
    arguments: Json
    call: "CallResult"


class CallHistory:
    """The newest calls of this run of the window; nothing of it is written anywhere."""

    def __init__(self) -> None:
        self._calls: list[Kept] = []

    def add(self, kept: Kept) -> None:
        """Keep a call."""
        self._calls = [kept, *self._calls[: _MOST_KEPT - 1]]

    def of(self, tool_id: str) -> Sequence[Kept]:
        """The calls of a tool, newest first."""
        return [one for one in self._calls if one.tool_id == tool_id]
