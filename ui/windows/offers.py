"""Entries of the command palette: the menus' actions, servers, tools, and terms explained."""

from collections.abc import Iterable
from functools import partial

from PySide6.QtWidgets import QWidget

from ui.look.glossary import TERMS
from ui.shell.actions import Tick
from ui.shell.services import Services
from ui.shell.tool_menu import explain
from ui.windows.help import show_numbers
from ui.windows.palette_entries import TERM, Entry, PaletteActions, catalogue_entries
from ui.windows.window_actions import WindowActions


def offers(
    services: Services, actions: WindowActions, commands: Iterable[Entry], parent: QWidget
) -> list[Entry]:
    """Everything that can be found now; `parent` is what help opens over."""
    catalog = services.live.catalog
    in_catalog = PaletteActions(
        show_tool=lambda number: actions.catalog().content.show_tool(number),
        why=partial(explain, services),
        show_server=lambda name: actions.catalog().show_server(name),
        turn=partial(_turn, services),
    )
    entries = catalogue_entries(catalog, in_catalog) if catalog else ()
    terms = [Entry(TERM, term, "term", partial(show_numbers, parent)) for term, _ in TERMS]
    return [*commands, *entries, *terms]


def _turn(services: Services, server: str, on: bool) -> None:
    """Turn all tools of a server on or off, as one step."""
    catalog = services.live.catalog
    tools = [t for t in catalog.tools if t.server.name == server] if catalog else []
    if changed := [t for t in tools if t.on != on]:
        services.undo.push(Tick(services.live, changed, on))
