"""The playground's cures, each as one undo step."""

from app.catalog.catalog import CatalogTool
from ui.shell.actions import Pin, Tick
from ui.shell.remedies import SettingsRemedy
from ui.shell.services import Services


def carry_out(cure: SettingsRemedy, row: CatalogTool, services: Services) -> None:
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
