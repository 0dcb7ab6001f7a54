"""The filled Catalog page: filter line, tree, details, treemap, linked with each other."""

from collections.abc import Iterable, Sequence
from functools import partial

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QAccessible, QAccessibleAnnouncementEvent
from PySide6.QtWidgets import QWidget

from app.catalog.catalog import CatalogTool, trust_server
from app.catalog.server_findings import findings_of
from app.core.text import plural
from app.policy.usage import Usage, read_usage
from store.records import ServerRecord
from store.typed import compact_json
from ui.look.text import APPROX, short
from ui.look.theme import MARGIN
from ui.pages.catalog.details import Button, DetailsCard
from ui.pages.catalog.details_text import server_details, several_details, tool_details
from ui.pages.catalog.map_panel import MapPanel
from ui.pages.catalog.sign_in_work import can_sign_in, can_sign_out
from ui.pages.catalog.tree import NOTHING, CatalogTreeView
from ui.pages.catalog.tree_model import CatalogTree
from ui.pages.catalog.treemap_layout import Group, Item
from ui.shell.actions import Pin, Tick
from ui.shell.host_names import host_names
from ui.shell.log import show_log
from ui.shell.services import Services
from ui.widgets.boxes import splitter, vbox
from ui.widgets.filter_line import FilterLine, FilterWords
from ui.widgets.filter_query import Filter, parse
from ui.widgets.shares import server_shares

REVIEW = "Review…"
_NEVER = "used:never is:on"
_FILTER = FilterWords(
    "Filter tools",
    'server:github tokens:>1k is:on -term "phrase"',
    "Keys: server, host, tool, text, tokens (>1k, 200..800), calls (0, >5),"
    " used (never, <7d), is (on, off, held, changed, pinned, destructive, readonly, error)",
    (
        ("Over 1k tokens", "tokens:>1k"),
        ("Never called", _NEVER),
        ("Off", "is:off"),
        ("Held back", "is:held"),
    ),
)


class CatalogContent(QWidget):
    """Servers and tools.

    Signals: result(text) for the status bar; read_requested(list of server ids); the tree's own
    say what is wanted of one server or tool.
    """

    result = Signal(str)
    read_requested = Signal(object)

    def __init__(self, services: Services) -> None:
        super().__init__()
        self._services = services
        theme = services.theme
        self._names = host_names()
        self.model = CatalogTree(lambda name: theme.icons.icon(name), self)
        self.filter = FilterLine(theme, _FILTER, self)
        self.filter.values = self._values
        self.tree = CatalogTreeView(theme, self.model)
        self.details = DetailsCard(theme, self)
        self.map_panel = MapPanel(services, self)
        self.map = self.map_panel.map
        self._lay_out()
        self._connect()

    def show_catalog(self) -> None:
        """Show the catalogue as it was just read."""
        catalog = self._services.live.catalog
        if catalog is None:
            return
        self._request_usage()
        first = not self.model.rowCount()
        self.model.show(catalog, self._names)
        self.tree.keep_open()
        self._show_map()
        self._show_counts()
        if first and self.model.rowCount():
            self.tree.open_server(self.model.server_at(self.model.index(0, 0)).name)  # type: ignore[union-attr]
        self._show_details()

    def show_toggled(self, ids: frozenset[int]) -> None:
        """Show ticks and pins that changed."""
        rows = {i: self._services.live.tool(i) for i in ids}
        self.model.update({i: row for i, row in rows.items() if row is not None})
        self._show_map()
        self._show_counts()
        self._show_details()

    def show_server(self, name: str) -> None:
        """Open a server in the tree."""
        self.filter.clear()
        self.tree.open_server(name)
        self.tree.setFocus()

    def show_tool(self, tool_id: int) -> None:
        """Select a tool, clearing a filter that hides it."""
        if not self.model.index_of_tool(tool_id).isValid():
            self.filter.clear()
        self.tree.go_to_tool(tool_id)

    def _request_usage(self) -> None:
        now = self._services.ctx.clock()

        def show(usage: Usage) -> None:
            if usage.calls != self.model.usage.calls:
                self.model.show_usage(usage, now)
                self.tree.show_calls()
                self._show_counts()

        self._services.tasks.request(lambda db: read_usage(db, now), show)

    def _lay_out(self) -> None:
        sides = ((self.tree, 1), self.details)
        self.across = splitter(Qt.Orientation.Horizontal, *sides, name="across", sizes=(760, 290))
        parts = ((self.across, 1), self.map_panel)
        self.down = splitter(Qt.Orientation.Vertical, *parts, name="down", sizes=(420, 190))
        self.down.setChildrenCollapsible(True)
        vbox(self.filter, (self.down, 1), inside=self, gap=MARGIN)

    def _connect(self) -> None:
        self.filter.filtered.connect(self._set_filter)
        self.filter.left.connect(self.tree.setFocus)
        self.tree.nothing.linkActivated.connect(lambda _link: self.filter.clear())
        self.model.tick_requested.connect(self._tick)
        self.tree.toggle_requested.connect(self._tick)
        self.tree.pin_requested.connect(self._pin)
        self.tree.summary_requested.connect(self._edit_summary)
        self.tree.requests_wanted.connect(self._edit_requests)
        self.tree.conditions_wanted.connect(self._edit_conditions)
        self.tree.picked.connect(self._on_picked)
        self.tree.filter_requested.connect(self.filter.edit.setFocus)
        self.tree.server_filter_requested.connect(self.filter.set_text)
        self.tree.term_requested.connect(self.filter.add_term)
        self.tree.details_requested.connect(self.details.area.setFocus)
        self.map.tool_chosen.connect(self.show_tool)
        self.map.server_chosen.connect(self.show_server)
        self.details.log_wanted.connect(lambda name: show_log(self, self._services, name))
        self.details.call.clicked.connect(
            lambda: self.tree.call_requested.emit(self.tree.selected_tools()[0])
        )
        self._services.live.configured.connect(self._show_details)  # they hold the conditions
        self._services.theme.changed.connect(self._recolor)

    def _set_filter(self, wanted: Filter) -> None:
        # a selected server selects its tools in view, and these change: what was chosen for one
        # filter must not grow with the next
        if len(self.tree.selected_tools()) > 1:
            self.tree.selectionModel().clear()
        self.model.set_filter(wanted)
        if not self.model.rowCount():
            self.tree.selectionModel().clear()
        self._show_details()  # the selection tells of its change before the current row is gone
        self.tree.keep_open()
        self._show_result()
        any_left = bool(self.model.shown_tools())
        self.tree.nothing.setVisible(self.model.filtered and not any_left)
        if self.model.filtered:
            text = self._result_text() if any_left else NOTHING
            QAccessible.updateAccessibility(QAccessibleAnnouncementEvent(self.tree, text))

    def _tick(self, tools: Sequence[CatalogTool], on: bool) -> None:
        if tools:
            self._services.undo.push(Tick(self._services.live, tools, on))

    def _pin(self, tools: Sequence[CatalogTool]) -> None:
        pinned = not all(tool.pinned for tool in tools)
        able = [tool for tool in tools if tool.on or not pinned]
        if able:
            self._services.undo.push(Pin(self._services.live, able, pinned))
        else:
            self._services.show_status("Turn it on first: a tool that is off is never shown")

    def _on_picked(self) -> None:
        tools = self.tree.selected_tools()
        self.map.select(tools[0].tool.id if len(tools) == 1 else 0)
        self._show_details()
        self._show_result()

    def server_to_sign_in(self) -> ServerRecord | None:
        """The selected server if it takes a sign-in, else the first that waits for one.

        Who is signed in may sign in again: a server may want more rights than it was given.
        """
        catalog, picked = self._services.live.catalog, self._server_picked()
        if picked is not None and (can_sign_in(picked) or can_sign_out(picked)):
            return picked
        servers = catalog.servers if catalog is not None else ()
        return next((server for server in servers if can_sign_in(server)), None)

    def _values(self, key: str) -> Iterable[str]:
        """Values for a key of the filter."""
        catalog = self._services.live.catalog
        if catalog is None or key not in ("server", "host", "tool"):
            return ()
        if key == "tool":
            return (row.tool.name for row in catalog.tools if not row.tool.gone)
        if key == "server":
            return (server.name for server in catalog.servers)
        hosts = (entry.host for server in catalog.servers for entry in server.entries)
        return (self._names.get(host, host) for host in hosts)

    def _edit_summary(self, tool: CatalogTool) -> None:
        from ui.shell.summaries import (
            edit_summary,  # the index is not needed for the window's start
        )

        edit_summary(self._services, tool, self)

    def _edit_requests(self, tool: CatalogTool) -> None:
        from ui.pages.catalog.request_editor import edit_requests  # as for summaries

        edit_requests(self._services, tool, self)

    def _edit_conditions(self, tool: CatalogTool) -> None:
        from ui.pages.catalog.condition_dialog import edit_conditions  # not needed for the start

        edit_conditions(self._services, tool, self)

    def _server_picked(self) -> ServerRecord | None:
        """The server, when it or its problem is all that is selected."""
        if len(self.tree.selectionModel().selectedRows()) > 1:
            return None
        index = self.tree.currentIndex()
        return None if self.model.tool_at(index) else self.model.server_at(index)

    def _show_details(self) -> None:
        catalog, tools = self._services.live.catalog, self.tree.selected_tools()
        server = self._server_picked()
        if catalog is None or (not tools and server is None):
            self.details.show_details(None, ())
        elif server is not None:
            hosts, now = self._hosts(server), self._services.ctx.clock()
            mine = catalog.of_server(server.id)
            details = server_details(server, mine, hosts=hosts, now=now)
            self.details.show_details(details, self._server_buttons(server))
        elif len(tools) == 1:
            details = tool_details(tools[0], catalog, hosts=self._hosts(tools[0].server))
            self.details.show_details(details, self._tool_buttons(tools))
        else:
            self.details.show_details(several_details(tools), self._tool_buttons(tools)[:2])

    def _server_buttons(self, server: ServerRecord) -> tuple[Button, ...]:
        reading, removal = self._reading_buttons(server), self._removal_buttons(server)
        first = self._first_to_review(server)
        if server.trusted and not server.disabled and first is not None:
            return (self._review_button(first), *reading[:1], *removal)
        return (*reading[:2], *removal)

    def _review_button(self, tool_id: int) -> Button:
        """Button that opens Review at a tool, 0 for none."""

        def review() -> None:
            self._services.open_page("review")
            if tool_id:
                self._services.live.review.emit(tool_id)

        return (REVIEW, "shield-alert-outline", review)

    def _first_to_review(self, server: ServerRecord) -> int | None:
        """Id of the first tool of the server that is held, 0 for its own texts; None for none."""
        catalog = self._services.live.catalog
        held = [t.tool.id for t in catalog.of_server(server.id) if t.held] if catalog else []
        if held:
            return held[0]
        return 0 if any(not one.get("decided") for one in findings_of(server)) else None

    def _removal_buttons(self, server: ServerRecord) -> tuple[Button, ...]:
        """Buttons that remove this server, at once where it is Toolcrib's own."""
        from app.registry.own_servers import is_own  # not needed for the start

        own = is_own(server)
        if not own and not server.entries:
            return ()
        remove = partial(self.tree.remove_requested.emit, server)
        return (("Remove" if own else "Remove…", "minus-circle-outline", remove),)

    def _reading_buttons(self, server: ServerRecord) -> tuple[Button, ...]:
        tree = self.tree
        if server.disabled:
            return (("Enable", "server", partial(tree.disable_requested.emit, server)),)
        words = "Try again" if server.problem else "Read again"
        again = (words, "refresh", partial(self.read_requested.emit, [server.id]))
        if not server.trusted:
            return (("Trust server", "check", partial(self._trust, server.id)), again)
        if can_sign_in(server):
            enter = partial(tree.sign_in_requested.emit, server)
            return (("Sign in…", "key-outline", enter), again)
        leave = partial(tree.sign_out_requested.emit, server)
        return (again, ("Sign out", "cancel", leave)) if can_sign_out(server) else (again,)

    def _tool_buttons(self, tools: Sequence[CatalogTool]) -> tuple[Button, ...]:
        on, pinned = all(tool.on for tool in tools), all(tool.pinned for tool in tools)
        turn, pin = partial(self._tick, tools, not on), partial(self._pin, tools)
        tool = tools[0].tool

        def copy() -> None:
            self._services.copy(compact_json(tool.raw), f"the JSON of {tool.name}")

        return (
            ("Turn off", "eye-off-outline", turn) if on else ("Turn on", "eye-outline", turn),
            ("Unpin", "pin", pin) if pinned else ("Pin", "pin-outline", pin),
            self._review_button(tool.id) if _waits(tools) else ("Copy", "content-copy", copy),
        )

    def _trust(self, server_id: int) -> None:
        at = self._services.ctx.clock()
        self._services.tasks.change(lambda db: trust_server(db, server_id, at))

    def _hosts(self, server: ServerRecord) -> str:
        ids = dict.fromkeys(entry.host for entry in server.entries)
        return ", ".join(self._names.get(host, host) for host in ids)

    def _show_map(self) -> None:
        catalog = self._services.live.catalog
        if catalog is None:
            return
        items: dict[str, list[Item]] = {}
        for row in catalog.tools:
            on = row.on and not row.server.disabled
            item = Item(row.tool.id, row.tool.name, row.cost, on=on, held=bool(row.held))
            items.setdefault(row.server.name, []).append(item)
        shares = server_shares(catalog, self._services.live.places)
        self.map.show_groups(
            [Group(s.server, s.place, tuple(items.get(s.server, ()))) for s in shares]
        )

    def _show_counts(self) -> None:
        rows = self.model.every_facts()
        known = bool(self.model.usage.calls)  # without, every tool was "never called"
        self.filter.show_counts(
            tuple(
                sum(map(parse(line).accepts, rows)) if known or line != _NEVER else 0
                for _, line in _FILTER.chips
            )
        )
        self._show_result()

    def _show_result(self) -> None:
        selected = self.tree.selectionModel().selectedRows()
        if len(selected) > 1:
            tools = self.tree.selected_tools()
            total = short(sum(tool.cost for tool in tools))
            self.result.emit(f"{plural(len(tools), 'tool')} selected, {total} {APPROX}")
        else:
            self.result.emit(self._result_text() if self.model.filtered else "")

    def _result_text(self) -> str:
        shown = self.model.shown_tools()
        every = plural(len(self.model.every_facts()), "tool")
        total = short(sum(tool.cost for tool in shown))
        return f"Showing {len(shown)} of {every}, {total} {APPROX}"

    def _recolor(self) -> None:
        self.model.recolor()
        self._show_details()


def _waits(tools: Sequence[CatalogTool]) -> bool:
    """True if this is one tool that is held back by a finding of its own."""
    return len(tools) == 1 and bool(tools[0].held) and tools[0].server.trusted
