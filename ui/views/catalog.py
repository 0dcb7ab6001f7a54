"""The Catalog page: first run while nothing is known, then servers and tools."""

from PySide6.QtCore import QSettings
from PySide6.QtWidgets import QStackedWidget, QWidget

from app.catalog import CatalogTool
from ui.services import Services
from ui.views.catalog_content import CatalogContent
from ui.views.page import Page


class CatalogPage(Page):
    """Servers, tools, sizes."""

    def __init__(self, services: Services, parent: QWidget | None = None) -> None:
        super().__init__(services, parent)
        self.setObjectName("catalogPage")
        self.content = CatalogContent(services)
        self._stack = QStackedWidget()
        self._stack.addWidget(self.content)
        self.body.addWidget(self._stack, 1)
        self.content.result.connect(self.result)
        self.content.why_asked.connect(self._why)
        services.live.loaded.connect(self._on_loaded)
        services.live.toggled.connect(self.content.show_toggled)

    def main_view(self) -> QWidget:
        """The tree."""
        return self.content.tree

    def panes(self) -> tuple[QWidget, ...]:
        """Filter, tree, details, treemap."""
        inner = self.content
        return (inner.filter.edit, inner.tree, inner.details.area, inner.map)

    def focus_filter(self) -> None:
        """Give the focus to the filter line."""
        self.content.filter.edit.setFocus()
        self.content.filter.edit.selectAll()

    def escape(self) -> bool:
        """Leave the treemap's zoom, then clear the filter."""
        if self.content.map.zoomed:
            self.content.map.zoom("")
            return True
        return self.content.filter.clear()

    def show_server(self, name: str) -> None:
        """Open a server in the tree."""
        self.content.show_server(name)

    def open_config(self) -> None:
        """Choose a config file and import it."""

    def read_tools(self) -> None:
        """Show what would be started."""

    def save(self, settings: QSettings, key: str) -> None:
        """Keep splitters and columns."""
        self.content.save(settings, key)

    def restore(self, settings: QSettings, key: str) -> None:
        """Take splitters and columns back."""
        self.content.restore(settings, key)

    def _on_loaded(self) -> None:
        self.content.show_catalog()

    def _why(self, _tool: CatalogTool) -> None:
        self.services.go("playground")
