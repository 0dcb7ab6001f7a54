"""The Catalog page: finding and reading servers first, then servers and tools."""

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QDir, QSettings, Qt
from PySide6.QtWidgets import QFileDialog, QWidget

from app.catalog.catalog import CatalogTool, set_disabled
from app.core.errors import ToolcribError
from app.core.text import plural
from resources.sample.config import write_sample_config
from store.records import AS_IS, ServerRecord
from ui.look.text import tokens
from ui.pages.catalog.add_server import AddServerDialog
from ui.pages.catalog.calling.history import CallHistory
from ui.pages.catalog.content import CatalogContent
from ui.pages.catalog.details_text import why_not
from ui.pages.catalog.reading import ReadingView
from ui.pages.catalog.server_work import Discovery, projects_of
from ui.pages.catalog.sign_in import SignIn
from ui.pages.catalog.tree_rows import ATTENTION
from ui.shell.page import Page
from ui.shell.services import Services
from ui.shell.steps import store_step
from ui.shell.tool_menu import explain
from ui.widgets.boxes import stacked
from ui.widgets.empty_state import EmptyState
from ui.widgets.message_bar import INFO

if TYPE_CHECKING:
    from app.hosts.projects import KnownProject
    from ui.pages.catalog.editing import ServerForms
    from ui.pages.catalog.request_offer import RequestWriting

_FILES = "Config files (*.json *.jsonc *.toml *.yaml *.yml);;All files (*)"


class CatalogPage(Page):
    """Servers, tools, sizes."""

    def __init__(self, services: Services) -> None:
        super().__init__(services)
        self.setObjectName("catalogPage")
        self.content = CatalogContent(services)
        self.reading = ReadingView(services)
        self.empty = EmptyState(
            services.theme,
            icon="server-off",
            text="No MCP servers found",
            hint="No host on this computer has a server in its config.",
            buttons=(
                ("Open a config file…", self.open_config),
                ("Add a server…", self.add_server),
                ("Try with sample data", self.take_sample),
                ("Find servers…", self.find_listed),
            ),
        )
        self._stack = stacked(self.content, self.reading, self.empty)
        self.body.addWidget(self._stack, 1)
        self.sign_in = SignIn(services, self.messages, self)
        self._calls = CallHistory()
        self._fresh = 0  # id of the server that came out of a list and was not read yet
        self._next_step = ""  # what the message bar says comes next
        self._guide = False  # True while the next step is still to be shown
        self._started = False  # whether the first load decided what to show
        self._connect()

    @property
    def state(self) -> str:
        """State of the page: content, reading or empty."""
        names = {self.content: "content", self.reading: "reading", self.empty: "empty"}
        return names[self._stack.currentWidget()]  # type: ignore[index]

    def main_view(self) -> QWidget:
        """The tree, or the view in its place."""
        if self.state == "reading":
            return self.reading.go if self.reading.go.isEnabled() else self.reading.table
        return self.content.tree if self.state == "content" else self.empty.buttons[0]

    def panes(self) -> tuple[QWidget, ...]:
        """Filter, tree, details, treemap."""
        if self.state != "content":
            return (self.main_view(),)
        inner = self.content
        return (inner.filter.edit, inner.tree, inner.details.area, inner.map)

    def focus_filter(self) -> None:
        """Give the focus to the filter line."""
        if self.state == "content":
            self.content.filter.edit.setFocus()
            self.content.filter.edit.selectAll()

    def primary(self) -> None:
        """Read tools, or continue."""
        if self.state == "reading":
            self.reading.primary()

    def escape(self) -> bool:
        """Leave consent, or the treemap's zoom, then clear the filter, then go to the tree."""
        if self.state == "reading":
            return self.reading.leave()
        if self.state != "content":
            return False
        if self.content.map.zoomed:
            self.content.map.zoom("")
        elif not self.content.filter.clear():
            self.content.tree.setFocus()
        return True

    def show_server(self, name: str) -> None:
        """Open a server in the tree."""
        self._show(self.content)
        self.content.show_server(name)

    def open_config(self) -> None:
        """Choose a config file and show its servers."""
        home = str(self.services.places.home)
        dialog = QFileDialog(self, "Open a config file", home, _FILES)
        # most hosts keep their files in folders whose names begin with a dot
        dialog.setFilter(QDir.Filter.AllEntries | QDir.Filter.AllDirs | QDir.Filter.Hidden)
        dialog.setOption(QFileDialog.Option.DontUseNativeDialog)  # the only one that shows them
        dialog.setFileMode(QFileDialog.FileMode.ExistingFile)
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.fileSelected.connect(lambda name: self.take_file(Path(name)))
        dialog.open()

    def open_project(self) -> None:
        """Choose one of the projects that hosts know, or a folder, and show its servers."""
        if self.reading.busy:
            self.services.show_status("Servers are being read; open a project when that is done.")
            return
        places = self.services.places
        self.services.tasks.request(
            lambda _db: projects_of(places), self._offer_projects, self.messages.error
        )

    def _offer_projects(self, known: "tuple[KnownProject, ...]") -> None:
        from ui.pages.catalog.project_dialog import ProjectDialog  # not needed for the start

        dialog = ProjectDialog(self.services, known, self)
        dialog.chosen.connect(self.take_project)
        dialog.open()

    def take_project(self, folder: Path) -> None:
        """Show the servers that a project's files name."""
        self.messages.clear()
        self._show(self.reading)
        self.reading.take_project(folder)

    def take_file(self, path: Path) -> None:
        """Show the servers that a config file names."""
        self.messages.clear()
        self._show(self.reading)
        self.reading.take_file(path)

    def add_server(self) -> None:
        """Let the user type a server in, or paste a config."""
        if self._can_add():
            dialog = AddServerDialog(self.services, self)
            dialog.added.connect(self._on_added)
            dialog.open()

    def _can_add(self) -> bool:
        """True unless servers are being read, which is then said."""
        if self.reading.busy:
            self.services.show_status("Servers are being read; add more when that is done.")
        return not self.reading.busy

    def find_listed(self, query: str = "") -> None:
        """Let the user find a server in a list, and add it; `query` is searched for at once."""
        from ui.pages.catalog.market.finder import FindServersDialog  # not for the window's start

        if self._can_add():
            dialog = FindServersDialog(self.services, self, query)
            dialog.added.connect(self._on_found)
            dialog.open()

    def fit_server(self, server: ServerRecord | None = None) -> None:
        """Propose ticks of a server that stay inside the budget; of the selected one if none."""
        from ui.pages.catalog.market.fitting import open_fit  # not for the window's start

        chosen = server or self._server_selected()
        if chosen is not None:
            open_fit(self.services, chosen.name, self)

    def update_server(self, server: ServerRecord | None = None) -> None:
        """Offer the later version of a listed server; of the selected one if none is given."""
        from ui.pages.catalog.market.update_dialog import open_update  # as above

        chosen = server or self._server_selected()
        if chosen is not None:
            only = frozenset({chosen.id})
            open_update(self.services, chosen.name, self, lambda: self.read_tools(only))

    def write_requests(self) -> None:
        """Offer to have requests written for tools that have none."""
        self._writing.offer()

    @cached_property
    def _writing(self) -> "RequestWriting":
        from ui.pages.catalog.request_offer import RequestWriting  # not for the window's start

        return RequestWriting(self.services, self.messages, self)

    def _after_reading(self, tool_ids: Sequence[int]) -> None:
        if self.services.ctx.settings.requests_new:
            self._writing.after_reading(tool_ids)

    def open_stack(self) -> None:
        """Let the user open a colleague's stack."""
        from ui.pages.catalog.market.stack_dialog import StackDialog  # as above

        if self._can_add():
            dialog = StackDialog(self.services, self)
            dialog.added.connect(self._on_added)
            dialog.open()

    def save_stack(self) -> None:
        """Let the user write the profile in view with its servers to one file."""
        from ui.pages.catalog.market.stack_dialog import save_stack  # as above

        save_stack(self.services, self)

    def take_sample(self) -> None:
        """Show the sample servers; their data stays in Toolcrib's own folder."""
        folder = self.services.ctx.paths.home / "sample"
        self.take_file(write_sample_config(folder / "mcp.json", folder / "state"))

    def read_tools(self, only: frozenset[int] = frozenset(), *, at_once: bool = False) -> None:
        """Show what would be started; `only` are ticked, when given.

        With `at_once` servers that were started by the same command before are read right away.
        """
        self._show(self.reading)
        if not self.reading.busy:
            self.messages.clear()
            self.reading.find_servers(only, at_once=at_once)

    def refresh(self) -> None:
        """F5: read the tools of the selected servers again."""
        self.read_selected()

    def read_selected(self) -> None:
        """As read_tools, with the servers ticked that are selected; all where none is."""
        tree, ids = self.content.tree, set()
        if self.state == "content":
            rows = (self.content.model.server_at(i) for i in tree.selectionModel().selectedRows())
            ids = {server.id for server in rows if server is not None}
        self.read_tools(frozenset(ids))

    def edit_server(self, *, duplicate: bool = False) -> None:
        """Edit the selected server, or add another that begins like it."""
        server = self._server_selected()
        if server is not None:
            forms = self._forms
            (forms.duplicate if duplicate else forms.edit)(server)

    def remove_server(self, server: ServerRecord | None = None) -> None:
        """Take out a server, out of a host's file after a preview; the selected one if none."""
        chosen = server or self._server_selected()
        if chosen is not None:
            self._forms.remove(chosen)

    def remove_added(self) -> None:
        """Take out the selected own server with all that came in the same file, as the samples."""
        chosen = self._server_selected()
        if chosen is not None:
            self._forms.remove_added(chosen)

    @cached_property
    def _forms(self) -> "ServerForms":
        from ui.pages.catalog.editing import ServerForms  # not needed for the window's start

        forms = ServerForms(self.services, self)
        forms.added.connect(self._on_added)
        return forms

    def _server_selected(self) -> ServerRecord | None:
        server = self.content.model.server_at(self.content.tree.currentIndex())
        if server is None or self.state != "content":
            self.services.show_status("Select a server first.")
            return None
        return server

    def disable_server(self, server: ServerRecord | None = None) -> None:
        """Have Toolcrib leave a server alone, or no longer; the selected one if none is given."""
        chosen = server or self._server_selected()
        if chosen is None:
            return
        ids, disabled = [chosen.id], chosen.disabled
        step = store_step(
            self.services.tasks,
            f"{'Enable' if disabled else 'Disable'} {chosen.name}",
            lambda db: set_disabled(db, ids, not disabled),
            lambda db: set_disabled(db, ids, disabled),
        )
        self.services.undo.push(step)

    def sign_in_to_one(self) -> None:
        """Sign in to the selected server, or to the first that waits for it."""
        server = self.content.server_to_sign_in()
        if server is None:
            self.services.show_status("No server asks for a sign-in.")
        else:
            self._sign_in(server)

    def save(self, settings: QSettings, key: str) -> None:
        """As pages do, with the columns as wide as the user made them."""
        self.content.tree.give_back()
        super().save(settings, key)

    def toggle_selection(self) -> None:
        """Space, from a menu."""
        if self._has_tools():
            self.content.tree.toggle()

    def pin_selection(self) -> None:
        """P, from a menu."""
        if self._has_tools():
            self.content.tree.pin_requested.emit(self.content.tree.selected_tools())

    def _has_tools(self) -> bool:
        some = self.state == "content" and bool(self.content.tree.selected_tools())
        if not some:
            self.services.show_status("Select tools in the Catalog first.")
        return some

    def call_tool(self) -> None:
        """Call the selected tool by hand."""
        tools = self.content.tree.selected_tools()
        if len(tools) == 1:
            self._call(tools[0])
        else:
            self.services.show_status("Select one tool to call it by hand.")

    def _call(self, tool: CatalogTool) -> None:
        from ui.pages.catalog.calling.dialog import CallDialog  # not for the window's start

        problem = why_not(tool)
        if problem:
            self.services.show_status(problem)
        else:
            CallDialog(self.services, tool, self._calls, self).open()

    def restore(self, settings: QSettings, key: str) -> None:
        """Take columns and splitters back; the column of calls is shown once there are any."""
        super().restore(settings, key)
        self.content.tree.show_calls()

    def _connect(self) -> None:
        services, content = self.services, self.content
        content.result.connect(self.result)
        content.tree.why_requested.connect(lambda tool: explain(services, tool.tool.id))
        content.read_requested.connect(lambda ids: self.read_tools(frozenset(ids), at_once=True))
        content.tree.call_requested.connect(self._call)
        content.tree.sign_in_requested.connect(self._sign_in)
        content.tree.sign_out_requested.connect(lambda server: self.sign_in.leave(server.name))
        self.reading.sign_in_requested.connect(self.sign_in.start)
        self.sign_in.read.connect(self.reading.show_status)
        services.live.loaded.connect(self._on_loaded)
        services.hosts.changed.connect(self._renew_next_step)
        services.live.toggled.connect(content.show_toggled)
        services.live.sought.connect(content.show_tool)
        services.live.server_sought.connect(self.show_server)
        services.live.requests_wanted.connect(self.write_requests)
        services.live.servers_wanted.connect(self.find_listed)
        self.reading.tools_read.connect(self._after_reading)
        self.reading.more.clicked.connect(self.open_config)
        self.reading.projects.clicked.connect(self.open_project)
        self.content.tree.edit_requested.connect(lambda copy: self.edit_server(duplicate=copy))
        self.content.tree.disable_requested.connect(self.disable_server)
        self.content.tree.remove_requested.connect(self.remove_server)
        self.content.tree.fit_requested.connect(self.fit_server)
        self.content.tree.update_requested.connect(self.update_server)
        self.content.tree.entry_requested.connect(
            lambda entry, kind: self._forms.change(entry, kind)
        )
        self.reading.ended.connect(self._on_read)
        self.reading.nothing_found.connect(lambda: self._show(self.empty))
        self.reading.failed.connect(self._on_failed)

    def _on_loaded(self) -> None:
        self.content.show_catalog()
        catalog = self.services.live.catalog
        if catalog is None:
            return
        failed = sum(server.status in ATTENTION for server in catalog.servers)
        self.badge.emit(str(failed) if failed else "", "warn")
        self._show_next_step()
        if self._started:
            self._leave_dead_end()
            return
        self._started = True
        if not any(server.read_at for server in catalog.servers):
            self.read_tools()

    def _leave_dead_end(self) -> None:
        """Without any server, offer to add one; the tree again once a removal is undone."""
        if self.services.live.empty and self.state == "content":
            self._show(self.empty)
        elif not self.services.live.empty and self.state == "empty":
            self._show(self.content)

    def _on_read(self) -> None:
        """Back to the tree; say what comes next where something was read."""
        self._show(self.content)
        self._guide = self.reading.after_read
        self._show_next_step()

    def show_first_steps(self) -> None:
        """Begin with what comes next: reading servers, else trimming and exporting."""
        catalog = self.services.live.catalog
        if catalog is None or not any(server.read_at for server in catalog.servers):
            self.read_tools()
        else:
            self._show(self.content)
            self._guide = True
            self._show_next_step()

    def _show_next_step(self) -> None:
        """Show the next step after reading, once the catalogue is there."""
        live = self.services.live
        if not self._guide or live.catalog is None:
            return
        if self._tell_fresh():
            self._guide = False
        elif live.total:
            self._guide = False
            self._tell_next_step()

    def _tell_fresh(self) -> bool:
        """Say what comes next for a server that was just found and read; False for none."""
        catalog = self.services.live.catalog
        tools = catalog.of_server(self._fresh) if catalog and self._fresh else ()
        if not tools:
            return False
        server, self._fresh = tools[0].server, 0
        waits = " They wait in Review." if any(tool.held for tool in tools) else ""
        text = f"{server.name} is read: {plural(len(tools), 'tool')},"
        cost = tokens(sum(tool.cost for tool in tools))
        self.messages.show_message(
            INFO,
            f"{text} {cost}.{waits} Next: approve them, and tick those that fit in the budget.",
            ("Review", lambda: self.services.open_page("review")),
            ("Fit in budget…", lambda: self.fit_server(server)),
        )
        return True

    def _tell_next_step(self) -> None:
        live, size = self.services.live, self.services.hosts.size
        if live.catalog is None:
            return
        window = live.catalog.settings.budget.window
        number = size.verdict.tokens if size else live.total
        whose = f"{size.host}'s model gets" if size else "All servers together have"
        self._next_step = (
            f"Tools are read. {whose} {tokens(number)}, {100 * number / window:.0f} % of a"
            f" {window // 1000}k window. Next: turn off what you do not need, then write a host's"
            " config."
        )
        choose = ("Choose a host", lambda: self.services.open_page("hosts"))
        self.messages.show_message(INFO, self._next_step, choose)

    def _renew_next_step(self) -> None:
        """The sentence follows the host's number, and goes once the host is written."""
        size = self.services.hosts.size
        if not self._next_step or self.messages.text != self._next_step:
            return
        if size is not None and size.mode != AS_IS:
            self.messages.clear()
        else:
            self._tell_next_step()

    def _on_found(self, discovery: Discovery) -> None:
        self._fresh = next(iter(discovery.named), 0)
        self._on_added(discovery)

    def _on_added(self, discovery: Discovery) -> None:
        self.messages.clear()
        self._show(self.reading)
        self.reading.show_added(discovery)
        self.services.live.load()

    def _sign_in(self, server: ServerRecord) -> None:
        self.sign_in.start(server.id, server.name)

    def _on_failed(self, error: ToolcribError) -> None:
        self.messages.error(error, ("Try again", self.read_tools))
        if not self.services.live.empty:
            self._show(self.content)

    def _show(self, widget: QWidget) -> None:
        if self._stack.currentWidget() is not widget:
            self._stack.setCurrentWidget(widget)
            if self.isVisible():
                self.main_view().setFocus()
