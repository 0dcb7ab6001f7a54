"""Changes the profile's routing settings, each change as an undo step."""

from dataclasses import replace

from PySide6.QtCore import QObject, Signal

from app.catalog.catalog import CatalogTool
from app.core.settings import RoutingSettings
from app.ranking.gates import THETA
from app.ranking.ranked import RankedTool
from ui.shell.actions import Pin, SettingsCommand, Tick
from ui.shell.answer import Answer
from ui.shell.calibration_curves import with_threshold
from ui.shell.remedies import SettingsRemedy
from ui.shell.services import Services


def kept_words(old: RoutingSettings, new: RoutingSettings) -> str:
    """Words for the setting that a moved line changes: a gap, a floor, or the threshold itself."""
    if new.floor != old.floor:
        return f"floor to {new.floor:.2f}"
    if new.cut == THETA:
        return f"threshold to {new.theta:.2f}"
    return f"threshold to {new.delta:.2f} below the best"


class RoutingSession(QObject):
    """Operations of the playground's fields and of the explain card's button.

    Signals: changed(what was done) after a step.
    """

    changed = Signal(str)

    def __init__(self, services: Services, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._services = services

    @property
    def stored(self) -> RoutingSettings:
        """The profile's settings."""
        catalog = self._services.live.catalog
        return catalog.settings.routing if catalog else RoutingSettings()

    def set_threshold(self, value: float, answer: Answer | None) -> None:
        """Put the threshold there: for the answer in view, or for queries to come."""
        new = answer.moved_to(value) if answer else with_threshold(self.stored, value)
        self.push(new, f"Set {kept_words(self.stored, new)}")

    def set_k(self, tools: int) -> None:
        """Allow at most that many tools, 0 for all."""
        self.push(replace(self.stored, k=tools), f"Set top-k to {tools or 'all'}")

    def set_cut(self, cut: str) -> None:
        """Set the threshold relative to the best, or fixed."""
        words = "near the best" if cut == "relative" else "fixed"
        self.push(replace(self.stored, cut=cut), f"Set threshold to {words}")

    def set_learned(self, learned: bool) -> None:
        """Let past use count, or not."""
        self.push(
            replace(self.stored, learned=learned), f"Turn {'on' if learned else 'off'} past use"
        )

    def cure(self, tool: RankedTool, cure: SettingsRemedy) -> None:
        """Do what the explain card offers for a tool."""
        row = self._services.live.tool(tool.id)
        if cure.settings is not None:
            self.push(cure.settings, f"{cure.words} for {tool.name}")
        elif row is not None:
            self._carry_out(cure, row)

    def _carry_out(self, cure: SettingsRemedy, row: CatalogTool) -> None:
        """Turn a tool on, pin it, or both, as one undo step."""
        live, undo = self._services.live, self._services.undo
        both = cure.turn_on and cure.pin
        if both:
            undo.beginMacro(f"Turn on and pin {row.tool.name}")
        if cure.turn_on:
            undo.push(Tick(live, [row], True))
        if cure.pin:
            undo.push(Pin(live, [row], True))
        if both:
            undo.endMacro()

    def push(self, new: RoutingSettings, text: str) -> None:
        """Use and keep these settings, as one undo step."""
        live = self._services.live
        if live.catalog is None or new == self.stored:
            return
        old = live.catalog.settings
        self._services.undo.push(SettingsCommand(live, old, replace(old, routing=new), text))
        self.changed.emit(text)
