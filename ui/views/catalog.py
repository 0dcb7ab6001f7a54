"""The Catalog page: finding and reading servers first, then servers and tools."""

from pathlib import Path

from PySide6.QtCore import QSettings, Qt
from PySide6.QtWidgets import QFileDialog, QStackedWidget, QWidget

from app.catalog import CatalogTool
from app.errors import ToolcribError
from resources.sample.config import write_sample_config
from store.records import ServerRecord
from ui.finding import Found
from ui.models.catalog_rows import ATTENTION
from ui.services import Services
from ui.text import tokens
from ui.views.add_server import AddServerDialog
from ui.views.catalog_content import CatalogContent
from ui.views.empty_state import EmptyState
from ui.views.message_bar import INFO
from ui.views.page import Page
from ui.views.reading import ReadingView
from ui.views.sign_in import SignIn

_FILES = "Config files (*.json *.jsonc *.toml *.yaml *.yml);;All files (*)"


class CatalogPage(Page):
    """Servers, tools, sizes."""

    def __init__(self, services: Services, parent: QWidget | None = None) -> None:
        super().__init__(services, parent)
        self.setObjectName("catalogPage")
        self.content = CatalogContent(services)
        self.reading = ReadingView(services)
        self.empty = EmptyState(
            services.theme,
            icon="server-off",
            text="No MCP servers found",
            hint="None of the known hosts on this machine names one.",
            buttons=("Open a config file…", "Add a server…", "Try with sample data"),
        )
        self._stack = QStackedWidget()
        for widget in (self.content, self.reading, self.empty):
            self._stack.addWidget(widget)
        self.body.addWidget(self._stack, 1)
        self.sign_in = SignIn(services, self.messages, self)
        self._guide = False  # whether the next step is still to be told
        self._started = False  # whether the first load decided what to show
        self._connect()

    @property
    def state(self) -> str:
        """What is in view: content, reading or empty."""
        names = {self.content: "content", self.reading: "reading", self.empty: "empty"}
        return names[self._stack.currentWidget()]  # type: ignore[index]

    def main_view(self) -> QWidget:
        """The tree, or what stands in its place."""
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
        """Leave the treemap's zoom, then clear the filter, then go to the tree."""
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
        name, _ = QFileDialog.getOpenFileName(self, "Open a config file", home, _FILES)
        if name:
            self.take_file(Path(name))

    def take_file(self, path: Path) -> None:
        """Show the servers that a config file names."""
        self.messages.clear()
        self._show(self.reading)
        self.reading.take_file(path)

    def add_server(self) -> None:
        """Let the user type a server in, or paste a config."""
        if self.reading.busy:
            self.services.say("Servers are being read; add more when that is done.")
            return
        dialog = AddServerDialog(self.services, self)
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.found.connect(self._on_added)
        dialog.open()

    def take_sample(self) -> None:
        """Show the sample servers; their data stays in Toolcrib's own folder."""
        folder = self.services.ctx.paths.home / "sample"
        self.take_file(write_sample_config(folder / "mcp.json", folder / "state"))

    def read_tools(self, only: frozenset[int] = frozenset()) -> None:
        """Show what would be started; `only` are ticked, when given."""
        self._show(self.reading)
        if not self.reading.busy:
            self.messages.clear()
            self.reading.look(only)

    def sign_in_to_one(self) -> None:
        """Sign in to the selected server, or to the first that waits for it."""
        server = self.content.server_to_sign_in()
        if server is None:
            self.services.say("No server asks for a sign-in.")
        else:
            self._sign_in(server)

    def restore(self, settings: QSettings, key: str) -> None:
        """Take columns and splitters back; the column of calls is shown once there are any."""
        super().restore(settings, key)
        self.content.tree.show_calls()

    def _connect(self) -> None:
        services, content = self.services, self.content
        content.result.connect(self.result)
        content.why_asked.connect(self._why)
        content.read_asked.connect(lambda ids: self.read_tools(frozenset(ids)))
        content.sign_in_asked.connect(self._sign_in)
        content.sign_out_asked.connect(lambda server: self.sign_in.leave(server.name))
        self.reading.sign_in_asked.connect(self.sign_in.start)
        self.sign_in.read.connect(self.reading.show_status)
        services.live.loaded.connect(self._on_loaded)
        services.live.toggled.connect(content.show_toggled)
        services.live.sought.connect(content.show_tool)
        self.reading.more.clicked.connect(self.open_config)
        self.reading.ended.connect(self._on_read)
        self.reading.nothing_found.connect(lambda: self._show(self.empty))
        self.reading.failed.connect(self._on_failed)
        self.empty.buttons[0].clicked.connect(self.open_config)
        self.empty.buttons[1].clicked.connect(self.add_server)
        self.empty.buttons[2].clicked.connect(self.take_sample)

    def _on_loaded(self) -> None:
        self.content.show_catalog()
        catalog = self.services.live.catalog
        if catalog is None:
            return
        failed = sum(server.status in ATTENTION for server in catalog.servers)
        self.badge.emit(str(failed) if failed else "", "warn")
        self._tell_next()
        if self._started:
            return
        self._started = True
        if not any(server.read_at for server in catalog.servers):
            self.read_tools()

    def _on_read(self) -> None:
        """Back to the tree; say what comes next."""
        self._show(self.content)
        self._guide = True
        self._tell_next()

    def _tell_next(self) -> None:
        """What comes after reading, once the catalogue is there."""
        live = self.services.live
        if self._guide and live.total and live.catalog is not None:
            self._guide = False
            window = live.catalog.settings.budget.window
            self.messages.say(
                INFO,
                f"{tokens(live.total)}, {100 * live.total / window:.0f} % of a"
                f" {window // 1000}k window. Turn off what you do not need, then write a host's"
                " config.",
                ("Choose a host", lambda: self.services.go("hosts")),
            )

    def _on_added(self, found: Found) -> None:
        self.messages.clear()
        self._show(self.reading)
        self.reading.show_added(found)
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

    def _why(self, tool: CatalogTool) -> None:
        self.services.go("playground")
        self.services.live.why.emit(tool.tool.id)
