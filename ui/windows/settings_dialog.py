"""Settings: those of the profile in view, which can be undone, and Toolcrib's own."""

from PySide6.QtWidgets import (
    QCheckBox,
    QDialogButtonBox,
    QScrollArea,
    QTabWidget,
    QWidget,
)

from app.catalog.catalog import Catalog
from app.catalog.menu_tools import POOLS
from app.catalog.rule_lines import problem
from app.catalog.setting_checks import check_change
from app.core.context import Db
from app.core.errors import ToolcribError
from app.core.settings import Settings, with_settings
from app.gateway.telemetry import check_receiver
from app.tokens.menu import menu_tokens
from store.typed import Json
from ui.look.text import APPROX, count
from ui.look.theme import MARGIN
from ui.shell.actions import SettingsCommand
from ui.shell.services import Services
from ui.widgets.boxes import STRETCH, boxed, scrolled, vbox
from ui.widgets.dialog import Dialog
from ui.widgets.elided import ElidedLabel
from ui.widgets.icon_field import IconField
from ui.widgets.label import PlainLabel
from ui.widgets.named import named
from ui.widgets.push_button import push_button
from ui.windows.http_tab import HttpTab
from ui.windows.login_tab import LoginTab
from ui.windows.setting_fields import LOOK, POOL_WORDS, PROFILE, PROFILE_ADVANCED, READING, value_of
from ui.windows.setting_form import SettingForm

_POOL = "gateway.pool"
_HINTS = "gateway.search_hints"
_SIDE = 560  # pixels
_HTTP, _LOGIN = 3, 4  # places of the tabs


class SettingsDialog(Dialog):
    """Every change is kept at once; Enter ends what is being typed, and nothing else.

    A running gateway takes most of a profile's in within a second; what is said at the start, and
    what a conversation keeps, hold from the next start or conversation on.
    """

    def __init__(self, services: Services, parent: QWidget | None = None) -> None:
        super().__init__(parent, title="Settings", name="settings")
        self._services = services
        theme = services.theme
        self.whose = ElidedLabel(look="faint")
        self.whose.setContentsMargins(MARGIN, 0, MARGIN, 0)
        self.profile = SettingForm(theme, PROFILE, PROFILE_ADVANCED)
        self.look = SettingForm(theme, LOOK)
        self.reading = SettingForm(theme, READING)
        self.http = HttpTab(services)
        self.login = LoginTab(services)
        self.tabs = named(QTabWidget(documentMode=True), "Settings")
        for title, *parts in (
            ("&Profile", self.whose, self.profile),
            ("&Window", self.look),
            ("&Reading and keeping", self.reading),
            ("&HTTP", self.http),
            ("&Login", self.login),
        ):
            self.tabs.addTab(_page(*parts), title)
        self.problem = PlainLabel(wrap=True, look="wrong")
        self.problem.hide()
        self.search = named(IconField(theme), "Search settings")
        self.search.setPlaceholderText("Search settings")
        words = "Reset every setting of this tab"
        self.usual = push_button("&Reset this tab", self._reset, tip=words)
        words = "Also profiles, query set, hooks, rules and HTTP in the window"
        self.every = named(QCheckBox("Show &advanced"), "Show advanced", tip=words)
        buttons = self.close_box(self.usual, role=QDialogButtonBox.ButtonRole.ResetRole)
        self.lay_out(self.search, (self.tabs, 1), self.problem, self.every, buttons)
        self.fit(theme, _SIDE, _SIDE)
        self._connect()
        self.refresh()
        self._show_advanced()
        self.tabs.setFocus()

    def _connect(self) -> None:
        services, live = self._services, self._services.live
        self.search.textChanged.connect(self._seek)
        self.tabs.currentChanged.connect(lambda _tab: self._show_usual())
        self.every.clicked.connect(self._switch_advanced)
        self.profile.changed.connect(self._set_profile)
        self.profile.checked.connect(self._check)
        self.look.changed.connect(self._set_own)
        self.reading.changed.connect(self._set_own)
        self.http.form.changed.connect(self._set_own)
        self.http.failed.connect(self._show_error)
        self.login.failed.connect(self._show_error)
        self.login.switched.connect(self.problem.hide)
        live.failed.connect(self._show_error)
        for signal in (live.altered, live.leaving, self._services.theme.changed):
            signal.connect(self.refresh)
        services.advanced.changed.connect(self._show_advanced)
        services.undo.indexChanged.connect(self._show_usual)

    def open_tab(self, name: str) -> None:
        """Bring a tab into view: profile, window, reading, http, login."""
        words = [self.tabs.tabText(n).replace("&", "").lower() for n in range(self.tabs.count())]
        number = next((n for n, text in enumerate(words) if text.startswith(name)), 0)
        self.tabs.setTabVisible(number, True)
        self.tabs.setCurrentIndex(number)

    def _show_advanced(self) -> None:
        """Show every tab and setting, or those that are needed first and those in use."""
        every, own = self._services.advanced.on, self._services.ctx.settings
        looked_for = bool(self.search.text().strip())
        self.every.setChecked(every)
        self.profile.show_advanced(on=every)
        for number, used in ((_HTTP, own.http), (_LOGIN, own.at_login)):
            in_front = number == self.tabs.currentIndex()
            self.tabs.setTabVisible(number, every or used or looked_for or in_front)

    def _switch_advanced(self, on: bool) -> None:
        try:
            self._services.advanced.switch(on=on)
        except ToolcribError as error:
            self.every.setChecked(not on)
            self._show_error(error)

    def refresh(self) -> None:
        """Show what holds now; also after undo."""
        catalog, own = self._services.live.catalog, self._services.ctx.settings
        self.look.show_settings(own)
        self.reading.show_settings(own)
        self.http.form.show_settings(own)
        self.profile.setEnabled(self._services.live.in_view)
        if catalog is None:
            return
        self.whose.setText(
            f"For hosts that get profile “{catalog.profile.name}” pruned or through Toolcrib."
        )
        self.profile.show_settings(catalog.settings)
        sizes = {pool: menu_tokens(catalog, pool) for pool in POOLS}
        self.profile.name_choices(
            _POOL, {p: f"{POOL_WORDS[p]} · {count(sizes[p])} {APPROX}" for p in POOLS}
        )

        self._services.tasks.latest(
            "what search hints are worth",
            lambda db: _gain(db, catalog),
            lambda words: self.profile.explain(_HINTS, words),
            lambda _error: None,  # a figure, nothing that was asked for
            owner=self,
        )
        self._show_usual()

    @property
    def _forms(self) -> tuple[SettingForm, ...]:
        return self.profile, self.look, self.reading, self.http.form, self.login.form

    def _seek(self, text: str) -> None:
        """Show what has these words, and the first tab that has any."""
        numbers = [form.seek(text) for form in self._forms]
        self._show_advanced()
        for place, number in enumerate(numbers):
            self.tabs.setTabEnabled(place, number > 0 or not text.strip())
        if not numbers[self.tabs.currentIndex()] and any(numbers):
            self.tabs.setCurrentIndex(next(n for n, count in enumerate(numbers) if count))
        nothing = bool(text.strip()) and not any(numbers)
        self.problem.setText("No setting matches." if nothing else "")
        self.problem.setVisible(nothing)

    def _unusual(self) -> Json:
        """Settings in the tab in front that differ from the usual values."""
        catalog, form = self._services.live.catalog, self._forms[self.tabs.currentIndex()]
        if form is not self.profile:
            return form.unusual(Settings())
        return form.unusual(type(catalog.settings)()) if catalog is not None else {}

    def _show_usual(self) -> None:
        self.usual.setEnabled(bool(self._unusual()))

    def _reset(self) -> None:
        """The usual values again; those of the profile in one step that can be undone."""
        changes, live = self._unusual(), self._services.live
        if not self.tabs.currentIndex() and live.catalog is not None and live.in_view:
            old = live.catalog.settings
            new = with_settings(old, changes)
            self._services.undo.push(SettingsCommand(live, old, new, "Reset the settings"))
        elif changes and self._forms[self.tabs.currentIndex()] is self.login.form:
            self.login.switch(on=False)
        elif self.tabs.currentIndex():
            for name, value in changes.items():
                self._set_own(name, value, "Reset the settings")

    def _set_profile(self, name: str, value: object, text: str) -> None:
        live = self._services.live
        if live.catalog is None or not live.in_view:
            return
        old = live.catalog.settings
        new = with_settings(old, {name: value})
        try:
            check_change(old, new)  # as the command line does
        except ToolcribError as error:
            self.profile.keep(name, value_of(old, name))
            self._check(error)
            return
        self._services.undo.push(SettingsCommand(live, old, new, text))

    def _check(self, error: ToolcribError | None) -> None:
        """Lines that are no rules are not kept; where the dialog closes, the window says so."""
        self.problem.setVisible(error is not None)
        if error is not None:
            self._show_error(error)
            self._services.show_status(f"Not kept: {problem(error)}")

    def _show_error(self, error: ToolcribError) -> None:
        self.problem.setText(problem(error))
        self.problem.show()

    def _set_own(self, name: str, value: object, text: str) -> None:
        """Toolcrib's own settings hold for all profiles, and are no step to undo."""
        services = self._services
        try:
            own = services.ctx.settings
            if (name == "telemetry" and value) or (name == "telemetry_endpoint" and own.telemetry):
                check_receiver(str(own.telemetry_endpoint if name == "telemetry" else value))
            services.ctx.keep(**{name: value})
        except ToolcribError as error:
            self._show_error(error)
        else:
            own = services.ctx.settings
            services.theme.choose(own.appearance)
            services.theme.set_zoom(own.zoom)
            services.theme.set_dense(own.dense)
            if name == "encoding":
                services.live.load()
            if name in self.http.form.fields:
                self.http.follow()
            services.show_status(text)
            self.problem.hide()
        self.refresh()


def _page(*widgets: QWidget) -> QScrollArea:
    """A tab's content, which scrolls where the text is large."""
    inside = vbox(*widgets, STRETCH, margins=(MARGIN, MARGIN, MARGIN, 0), gap=0)
    return scrolled(boxed(inside), focus=False)


def _gain(db: Db, catalog: Catalog) -> str:
    from app.host_status.own_search import hint_gain  # not needed for the window's start

    return hint_gain(db, catalog)
