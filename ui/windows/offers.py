"""What the command palette finds: the menus' actions, servers, tools, and terms explained."""

from functools import partial
from typing import TYPE_CHECKING

from ui.actions import Tick
from ui.models.palette import TERM, Deeds, Entry, catalogue_entries
from ui.windows.help import NUMBERS, show_numbers

if TYPE_CHECKING:
    from ui.windows.main_window import MainWindow


def offers(window: "MainWindow") -> list[Entry]:
    """Everything that can be found now."""
    catalog = window.live.catalog
    deeds = Deeds(
        show_tool=lambda number: window.catalog.content.show_tool(number),
        why=partial(_why, window),
        show_server=lambda name: window.catalog.show_server(name),
        turn=partial(_turn, window),
    )
    known = catalogue_entries(catalog, deeds) if catalog else ()
    terms = [Entry(TERM, term, "term", partial(show_numbers, window)) for term, _ in NUMBERS]
    return [*window.commands.entries(), *known, *terms]


def _why(window: "MainWindow", number: int) -> None:
    window.go("playground")
    window.live.why.emit(number)


def _turn(window: "MainWindow", server: str, on: bool) -> None:
    """Turn all tools of a server on or off, as one step."""
    catalog = window.live.catalog
    tools = [t for t in catalog.tools if t.server.name == server] if catalog else []
    if changed := [t for t in tools if t.on != on]:
        window.undo.push(Tick(window.live, changed, on))
