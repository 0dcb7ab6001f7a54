"""The treemap with the line above it: where one is, and what is under the mouse or the arrows."""

from pathlib import Path

from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QMenu, QWidget

from app.core.errors import ToolcribError
from ui.look.text import in_menu
from ui.look.theme import GAP
from ui.pages.catalog.treemap import Treemap
from ui.shell.saving import choose_file
from ui.shell.services import Services
from ui.widgets.boxes import hbox, vbox
from ui.widgets.elided import ElidedLabel
from ui.widgets.label import PlainLabel
from ui.widgets.push_button import push_button

ALL = "All servers"
_TWICE = 2.0  # device pixels a pixel of the saved picture


class MapPanel(QWidget):
    """Breadcrumb, caption and map."""

    def __init__(self, services: Services, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._services = services
        self.map = Treemap(services.theme, self)
        self.all = push_button(
            ALL, lambda: self.map.zoom(""), look="flat_link", tip="Show all servers again (Esc)"
        )
        self.here = PlainLabel()
        self.caption = ElidedLabel(look="faint", name="mapCaption")
        self.caption.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        row = hbox(self.all, self.here, (self.caption, 1), gap=GAP // 2)
        vbox(row, (self.map, 1), inside=self, gap=2)
        self.map.pointed.connect(self.caption.setText)
        self.map.zoom_changed.connect(self._show_place)
        self.map.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.map.customContextMenuRequested.connect(self._open_menu)
        self._show_place("")

    def save_picture(self, path: Path) -> None:
        """Write the map as a PNG file at twice its size. Raises ToolcribError."""
        if not self.map.picture(_TWICE).save(str(path), "PNG"):
            raise ToolcribError(
                f"The picture {path} was not written.", "Choose a folder that you may write to."
            )

    def choose_picture(self) -> None:
        """Ask where to save the picture, and save it."""
        start = self._services.places.home / "toolcrib-map.png"
        choose_file(self, "Save the map as a picture", start, "PNG pictures (*.png)", self._save)

    def copy_picture(self) -> None:
        """The map to the clipboard."""
        QGuiApplication.clipboard().setPixmap(self.map.picture(_TWICE))
        self._services.show_status("Copied the map as a picture")

    def _save(self, file: Path) -> None:
        try:
            self.save_picture(file)
        except ToolcribError as error:
            self._services.show_error(error)
        else:
            self._services.show_status(f"Saved the map to {file}")

    def _show_place(self, server: str) -> None:
        self.all.setEnabled(bool(server))
        self.here.say(f"› {server}" if server else "")

    def _open_menu(self, where: QPoint) -> None:
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        zoomed, server = self.map.zoomed, self.map.server_here
        if zoomed:
            menu.addAction("Show &all servers", lambda: self.map.zoom(""))
        elif server:
            menu.addAction(f"&Zoom into {in_menu(server)}", lambda: self.map.zoom(server))
        menu.addAction("&Copy picture", self.copy_picture)
        menu.addAction("&Save picture…", self.choose_picture)
        menu.popup(self.map.mapToGlobal(where))
