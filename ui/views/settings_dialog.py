"""Settings: those of the profile in view, which can be undone, and Toolcrib's own."""

from PySide6.QtWidgets import (
    QDialog,
    QDialogButtonBox,
    QPushButton,
    QScrollArea,
    QTabWidget,
    QVBoxLayout,
    QWidget,
)

from app.errors import ToolcribError
from app.menu import POOLS
from app.settings import with_settings
from app.tokens.menu import menu_tokens
from ui.actions import SettingsCommand
from ui.models.setting_fields import LOOK, POOL_WORDS, PROFILE, READING
from ui.services import Services
from ui.text import APPROX, count
from ui.theme import MARGIN
from ui.views.elided import ElidedLabel
from ui.views.form_dialog import plain_label
from ui.views.setting_form import SettingForm

_POOL = "gateway.pool"
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
        self.problem = plain_label("")
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
        live.failed.connect(self._tell)
        for told in (live.loaded, live.leaving, live.configured, live.toggled, theme.changed):
            told.connect(self.refresh)
        self.refresh()

    def refresh(self) -> None:
        """Show what holds now; also after undo."""
        catalog, own = self._services.live.catalog, self._services.ctx.settings
        self.look.show_settings(own)
        self.reading.show_settings(own)
        self.profile.setEnabled(self._services.live.in_view)
        if catalog is None:
            return
        self.whose.setText(f"For hosts that get {catalog.profile.name} pruned or through Toolcrib.")
        self.profile.show_settings(catalog.settings)
        sizes = {pool: menu_tokens(catalog, pool) for pool in POOLS}
        self.profile.name_choices(
            _POOL, {p: f"{POOL_WORDS[p]} · {count(sizes[p])} {APPROX}" for p in POOLS}
        )

    def _set_profile(self, name: str, value: object, text: str) -> None:
        live = self._services.live
        if live.catalog is None or not live.in_view:
            return
        old = live.catalog.settings
        new = with_settings(old, {name: value})
        self._services.undo.push(SettingsCommand(live, old, new, text))

    def _tell(self, error: ToolcribError) -> None:
        self.problem.setText(f"{error.title} {error.hint}".strip())
        self.problem.show()

    def _set_own(self, name: str, value: object, text: str) -> None:
        """Toolcrib's own settings hold for all profiles, and are no step to undo."""
        services = self._services
        try:
            services.ctx.keep(**{name: value})
        except ToolcribError as error:
            self._tell(error)
        else:
            own = services.ctx.settings
            services.theme.choose(own.appearance)
            services.theme.set_zoom(own.zoom)
            if name == "encoding":
                services.live.load()
            services.say(text)
            self.problem.hide()
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
