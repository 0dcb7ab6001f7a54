"""What the playground changes, each as one undo step."""

import time
from collections.abc import Callable

from PySide6.QtGui import QUndoCommand

from app.catalog import CatalogTool
from app.settings import RoutingSettings
from ui.actions import Pin, Tick
from ui.models.remedies import Cure
from ui.services import Services

MERGE_SECONDS = 2.0  # neighbouring steps on the same setting become one
_ROUTING_ID = 4101  # Qt merges commands of the same id only


class RoutingCommand(QUndoCommand):
    """Other routing settings for the profile."""

    def __init__(
        self,
        old: RoutingSettings,
        new: RoutingSettings,
        *,
        text: str,
        apply: Callable[[RoutingSettings], None],
    ) -> None:
        super().__init__(text)
        self._old, self._new, self._apply = old, new, apply
        self._at = time.monotonic()

    def id(self) -> int:
        """The same for all commands of this kind."""
        return _ROUTING_ID

    def redo(self) -> None:
        """Use the new settings."""
        self._apply(self._new)

    def undo(self) -> None:
        """Use the old settings."""
        self._apply(self._old)

    def mergeWith(self, other: QUndoCommand) -> bool:
        """Take in a later step on the same setting if it follows at once."""
        if not isinstance(other, RoutingCommand) or other._at - self._at > MERGE_SECONDS:
            return False
        if changed(self._old, self._new) != changed(other._old, other._new):
            return False
        self._new, self._at = other._new, other._at
        self.setText(other.text())
        self.setObsolete(self._new == self._old)
        return True


def carry_out(cure: Cure, row: CatalogTool, services: Services) -> None:
    """Turn a tool on, pin it, or both, as one undo step."""
    both = cure.turn_on and cure.pin
    if both:
        services.undo.beginMacro(f"Turn on and pin {row.tool.name}")
    if cure.turn_on:
        services.undo.push(Tick(services.live, [row], True))
    if cure.pin:
        services.undo.push(Pin(services.live, [row], True))
    if both:
        services.undo.endMacro()


def changed(old: RoutingSettings, new: RoutingSettings) -> tuple[str, ...]:
    """Names of the settings that differ."""
    names = RoutingSettings.__dataclass_fields__
    return tuple(name for name in names if getattr(old, name) != getattr(new, name))
