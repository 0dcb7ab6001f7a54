"""Actions on tools wherever a table names them: on or off, pinned, looked at."""

from collections.abc import Callable, Sequence

from PySide6.QtCore import QPoint, Qt
from PySide6.QtWidgets import QMenu, QTreeView

from app.catalog.catalog import CatalogTool
from ui.look.text import in_menu
from ui.shell.actions import Pin, Tick, name_tools
from ui.shell.services import Services


def add_tool_menu(
    view: QTreeView, services: Services, selected: Callable[[], Sequence[CatalogTool]]
) -> None:
    """A menu for the rows of a table; `selected` are the tools that the selection names now."""
    view.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)

    def open_menu(where: QPoint) -> None:
        menu = QMenu(view)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        fill(menu, services, selected())
        if menu.isEmpty():
            menu.deleteLater()
        else:
            menu.popup(view.viewport().mapToGlobal(where))

    view.customContextMenuRequested.connect(open_menu)


def fill(menu: QMenu, services: Services, tools: Sequence[CatalogTool]) -> None:
    """The entries for these tools, as they are now; nothing where the catalog has none of them."""
    live = services.live
    rows = [row for tool in tools if (row := live.tool(tool.tool.id)) is not None]
    if not rows or not live.in_view:
        return
    on, pinned = all(row.on for row in rows), all(row.pinned for row in rows)
    named = in_menu(name_tools(rows))
    menu.addAction(
        f"Turn {'&off' if on else '&on'} {named}",
        lambda: services.undo.push(Tick(live, rows, not on)),
    )
    able = [row for row in rows if row.on or pinned]
    if able:
        menu.addAction(
            f"{'Un&pin' if pinned else '&Pin'} {in_menu(name_tools(able))}",
            lambda: services.undo.push(Pin(live, able, not pinned)),
        )
    if len(rows) == 1:
        menu.addAction("Show in &Catalog", lambda: show_in_catalog(services, rows[0].tool.id))
        menu.addAction("&Why is it in or out?", lambda: explain(services, rows[0].tool.id))


def named_tool(services: Services, tool_id: str) -> list[CatalogTool]:
    """The tool called `server/tool`, as a list of at most one."""
    catalog = services.live.catalog
    row = catalog.find(tool_id) if catalog is not None and tool_id else None
    return [row] if row is not None else []


def show_in_catalog(services: Services, tool_id: int) -> None:
    """Open the Catalog at a tool."""
    services.open_page("catalog")
    services.live.sought.emit(tool_id)


def explain(services: Services, tool_id: int) -> None:
    """Have the Playground say why a tool is in or out."""
    services.open_page("playground")
    services.live.why.emit(tool_id)
