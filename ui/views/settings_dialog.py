"""Settings: those of the profile in view, which can be undone, and Toolcrib's own."""

from dataclasses import replace

from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QDialog,
    QDialogButtonBox,
    QLabel,
    QPushButton,
    QScrollArea,
    QTabWidget,
    QVBoxLayout,
    QWidget,
)

from app.errors import ToolcribError
from app.menu import POOLS
from app.settings import GatewaySettings
from app.tokens.menu import menu_tokens
from ui.actions import SettingsCommand
from ui.models.setting_fields import LOOK, POOL_WORDS, PROFILE, READING
from ui.services import Services
from ui.text import APPROX, count
from ui.theme import MARGIN
from ui.views.elided import ElidedLabel
from ui.views.setting_form import SettingForm

_GATEWAY = "gateway."  # begins the names of GatewaySettings in a form over a profile's settings
_SIDE = 560  # pixels


class SettingsDialog(QDialog):
    """Every change is kept at once.

    A running gateway takes most of a profile's in within a second; what is said at the start, and
    what a conversation keeps, hold from the next start or conversation on.
    """

    def __init__(self, services: Services, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("settings")
        self.setWindowTitle("Settings")
        self._services = services
        theme, live = services.theme, services.live
        self.whose = ElidedLabel()
        self.whose.setProperty("faint", True)
        self.whose.setContentsMargins(MARGIN, 0, MARGIN, 0)
        self.profile = SettingForm(theme, PROFILE)
        self.look = SettingForm(theme, LOOK)
        self.reading = SettingForm(theme, READING)
        self.tabs = QTabWidget()
        self.tabs.addTab(_page(self.whose, self.profile), "&Profile")
        self.tabs.addTab(_page(self.look), "&Window")
        self.tabs.addTab(_page(self.reading), "&Reading and keeping")
        self.tabs.setDocumentMode(True)
        self.problem = QLabel(wordWrap=True, textFormat=Qt.TextFormat.PlainText)
        self.problem.setProperty("wrong", True)
        self.problem.hide()
        close = QPushButton("Close")
        close.setAutoDefault(False)  # Enter ends what is being typed, and nothing else
        buttons = QDialogButtonBox()
        buttons.addButton(close, QDialogButtonBox.ButtonRole.RejectRole)
        buttons.rejected.connect(self.reject)
        column = QVBoxLayout(self)
        column.setSpacing(MARGIN)
        column.addWidget(self.tabs, 1)
        column.addWidget(self.problem)
        column.addWidget(buttons)
        room = self.screen().availableGeometry()
        side = theme.scaled(_SIDE)
        self.resize(min(side, room.width() * 9 // 10), min(side, room.height() * 9 // 10))
        self.profile.given.connect(self._set_profile)
        self.look.given.connect(self._set_own)
        self.reading.given.connect(self._set_own)
        for told in (live.loaded, live.configured, live.toggled, theme.changed):
            told.connect(self.refresh)
        self.refresh()

    def refresh(self) -> None:
        """Show what holds now; also after undo."""
        catalog, own = self._services.live.catalog, self._services.ctx.settings
        self.look.show_settings(own)
        self.reading.show_settings(own)
        self.profile.setEnabled(catalog is not None)
        if catalog is None:
            return
        self.whose.setText(f"For hosts that get {catalog.profile.name} pruned or through Toolcrib.")
        self.profile.show_settings(catalog.settings)
        sizes = {pool: menu_tokens(catalog, pool) for pool in POOLS}
        self.profile.name_choices(
            f"{_GATEWAY}pool", {p: f"{POOL_WORDS[p]} · {count(sizes[p])} {APPROX}" for p in POOLS}
        )

    def _set_profile(self, name: str, value: object, text: str) -> None:
        catalog = self._services.live.catalog
        if catalog is None:
            return
        if name.startswith(_GATEWAY):
            gateway = catalog.settings.gateway
            changed = {name.removeprefix(_GATEWAY): value}
            new = replace(gateway, **changed)  # type: ignore[arg-type]
            command = SettingsCommand(gateway, new, text=text, apply=self._save_gateway)
        else:
            whole = replace(catalog.settings, **{name: value})  # type: ignore[arg-type]
            live = self._services.live
            command = SettingsCommand(
                catalog.settings,
                whole,
                text=text,
                apply=lambda settings: live.change_settings(**{name: getattr(settings, name)}),
            )
        self._services.undo.push(command)

    def _save_gateway(self, gateway: GatewaySettings) -> None:
        self._services.live.change_settings(gateway=gateway)

    def _set_own(self, name: str, value: object, text: str) -> None:
        """Toolcrib's own settings hold for all profiles, and are no step to undo."""
        services = self._services
        try:
            services.ctx.keep(**{name: value})
        except ToolcribError as error:
            self.problem.setText(f"{error.title} {error.hint}".strip())
        else:
            own = services.ctx.settings
            services.theme.choose(own.appearance)
            services.theme.set_zoom(own.zoom)
            if name == "encoding":
                services.live.load()
            services.say(text)
            self.problem.clear()
        self.problem.setVisible(bool(self.problem.text()))
        self.refresh()


def _page(*widgets: QWidget) -> QScrollArea:
    """A tab's content, which scrolls where the text is large."""
    inside = QWidget()
    column = QVBoxLayout(inside)
    column.setContentsMargins(MARGIN, MARGIN, MARGIN, 0)
    column.setSpacing(0)
    for widget in widgets:
        column.addWidget(widget)
    column.addStretch(1)
    area = QScrollArea()
    area.setWidgetResizable(True)
    area.setFrameShape(QScrollArea.Shape.NoFrame)
    area.setWidget(inside)
    return area
