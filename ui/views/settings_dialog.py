"""Settings: those of the profile in view, which can be undone, and Toolcrib's own."""

from dataclasses import fields

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

from app.menu import POOLS
from app.settings import ProfileSettings, Settings
from app.tokens.menu import menu_tokens
from ui.actions import SettingsCommand
from ui.models.setting_fields import LOOK, POOL_WORDS, PROFILE, READING
from ui.services import Services
from ui.text import APPROX, count
from ui.theme import MARGIN
from ui.views.setting_form import SettingForm

_POOL = "gateway.pool"


class SettingsDialog(QDialog):
    """Every change is used at once; a running gateway takes it in within a second."""

    def __init__(self, services: Services, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("settings")
        self.setWindowTitle("Settings")
        self._services = services
        theme, live = services.theme, services.live
        self.whose = QLabel(wordWrap=True)
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
        buttons = QDialogButtonBox()
        buttons.addButton(QPushButton("Close"), QDialogButtonBox.ButtonRole.RejectRole)
        buttons.rejected.connect(self.reject)
        column = QVBoxLayout(self)
        column.setSpacing(MARGIN)
        column.addWidget(self.tabs, 1)
        column.addWidget(buttons)
        self.resize(theme.scaled(560), theme.scaled(560))
        self.profile.given.connect(self._set_profile)
        self.look.given.connect(self._set_own)
        self.reading.given.connect(self._set_own)
        for told in (live.loaded, live.configured, live.toggled, theme.changed):
            told.connect(self.refresh)
        self.refresh()

    def refresh(self) -> None:
        """Show what holds now; also after undo, and for another profile."""
        catalog, own = self._services.live.catalog, self._services.ctx.settings
        self.look.show_settings(own)
        self.reading.show_settings(own)
        self.profile.setEnabled(catalog is not None)
        if catalog is None:
            return
        self.whose.setText(
            f"Of the profile {catalog.profile.name}, for hosts that get it pruned or through"
            " Toolcrib."
        )
        self.profile.show_settings(catalog.settings)
        sizes = {pool: menu_tokens(catalog, pool) for pool in POOLS}
        self.profile.name_choices(
            _POOL, {p: f"{POOL_WORDS[p]} · {count(sizes[p])} {APPROX}" for p in POOLS}
        )

    def _set_profile(self, new: ProfileSettings, text: str) -> None:
        live = self._services.live
        if live.catalog is not None:
            old = live.catalog.settings
            command = SettingsCommand(old, new, text=text, apply=live.save_settings)
            self._services.undo.push(command)

    def _set_own(self, new: Settings, text: str) -> None:
        """Toolcrib's own settings hold for all profiles, and are no step to undo."""
        services = self._services
        old = services.ctx.settings
        changed = {f.name: getattr(new, f.name) for f in fields(new)}
        services.ctx.keep(**{k: v for k, v in changed.items() if v != getattr(old, k)})
        services.theme.choose(new.appearance)
        services.theme.set_zoom(new.zoom)
        if new.encoding != old.encoding:
            services.live.load()
        services.say(text)


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
