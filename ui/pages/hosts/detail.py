"""One host: its file, the mode, what writing would change, and the buttons."""

from collections.abc import Sequence
from pathlib import Path

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtWidgets import (
    QButtonGroup,
    QCheckBox,
    QFrame,
    QLayout,
    QRadioButton,
    QStackedWidget,
    QTabBar,
    QWidget,
)

from app.export.plan import MODES
from app.host_status.drift import OUTSIDE
from app.host_status.status import NOT_FOUND, UNREADABLE, HostStatus
from store.records import AS_IS, PRUNED, THROUGH
from ui.look.glossary import explained
from ui.look.text import plain_tip, with_tilde
from ui.look.theme import CARD, GAP, Theme
from ui.pages.hosts.hook_card import HookCard, RulesCard
from ui.pages.hosts.http_row import HttpRow
from ui.pages.hosts.preview import Preview, notes
from ui.pages.hosts.reach_row import ReachRow
from ui.shell.advanced import Advanced
from ui.shell.badges import BADGES, badge
from ui.shell.host_names import MODE_NAMES
from ui.shell.host_state import modes_of, state_text
from ui.widgets.badge import Badge, BadgeText
from ui.widgets.boxes import STYLE, boxed, hbox, scrolled, vbox
from ui.widgets.diff_rows import DiffRow, diff_rows, pair_lines
from ui.widgets.diff_view import DiffView
from ui.widgets.elided import ElidedLabel
from ui.widgets.flow import Flow
from ui.widgets.label import PlainLabel
from ui.widgets.named import named
from ui.widgets.push_button import push_button

KEPT = "A dated copy is kept. Values of env and headers are carried over unread."

_HINT = 240  # pixels beside the buttons, below which the hint has a row of its own
_LEAST_SHOWN = 168  # pixels of the difference, below which the page scrolls
_LEAST_LINES = 90  # the same, as it grows with the text


class HostDetail(QWidget):
    """The right side of the Hosts page.

    Signals: mode_chosen(mode) by the user.
    """

    mode_chosen = Signal(str)

    def __init__(self, theme: Theme, home: Path, advanced: Advanced) -> None:
        super().__init__()
        self._theme = theme
        self._advanced = advanced
        self._home = home
        self._preview: Preview | None = None
        self._installed = False
        self._mode = AS_IS  # that the host was written in
        self._state = ""  # of its files
        self._status: HostStatus | None = None
        self.name = theme.heading(PlainLabel(), 5)
        self.state = Badge(theme, BadgeText(""))
        self.path = ElidedLabel(mode=Qt.TextElideMode.ElideMiddle, look="faint")
        self.headline = theme.heading(PlainLabel(), 1)
        self.http, self.reach = HttpRow(), ReachRow()
        self.files = named(QTabBar(), "Files")
        self.diff = DiffView(theme)
        self.nothing = PlainLabel(wrap=True, look="faint")
        self.nothing.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.hint = PlainLabel(KEPT, wrap=True, look="faint")
        self.hook, self.rules = HookCard(theme), RulesCard(theme)
        self._shown = _Shown()
        self._foot = Flow(at_end=True)
        choice = self._make_choice()
        self._box, self._buttons = self._make_advice(), self._make_buttons()
        self._lay_out(choice)
        self._connect()
        self._fit()
        self.show_loading()

    def _make_choice(self) -> QLayout:
        """The modes, and how the difference is shown."""
        self.modes = named(QWidget(), "Export", name="exportMode")
        self.radios = {mode: QRadioButton(MODE_NAMES[mode]) for mode in MODES}
        row = Flow(self.modes, spacing=CARD)
        row.addWidget(PlainLabel("Export"))
        for mode, radio in self.radios.items():
            radio.setToolTip(plain_tip(explained(MODE_NAMES[mode])))
            row.addWidget(radio)
        words = "Cut long lines to the width, alike on both sides"
        self.wrap = named(QCheckBox("Wrap lines"), name="wrapLines", tip=words)
        self.wrap.setChecked(self.diff.wraps)
        return hbox((self.modes, 1), (self.wrap, Qt.AlignmentFlag.AlignTop), gap=STYLE)

    def _make_advice(self) -> QFrame:
        """Facts to know before writing, and the buttons that follow the advice."""
        self.notes = PlainLabel(wrap=True)
        self.advice = QWidget()
        through, suggest = "Go through Toolcrib…", "Suggest tools for each prompt…"
        self.go_through = push_button(through, tip="Show the change before it is written")
        self.suggest = push_button(suggest, tip="Show the hook before it is written")
        row = Flow(self.advice)
        for button in (self.go_through, self.suggest):
            row.addWidget(button)
        box = QFrame()
        box.setProperty("card", True)
        icon = self._theme.put_icon(PlainLabel(), "information-outline", "accent")
        hbox(
            (icon, Qt.AlignmentFlag.AlignTop),
            (vbox(self.notes, self.advice), 1),
            inside=box,
            margins=(CARD - 4, GAP, CARD - 4, GAP),
            gap=STYLE,
        )
        return box

    def _make_buttons(self) -> QWidget:
        self.tools = push_button(
            " What the model gets",  # the blank keeps the icon off the words
            name="hostToolsButton",
            tip="Exactly which tools and tokens this host's model gets now",
        )
        self.backups, self.copy = push_button("Backups"), push_button("Copy")
        words = "A link by which the host adds Toolcrib's entry itself"
        self.link = push_button("Copy link", tip=words)
        self.write = push_button("Write config", look="primary", name="writeConfig")
        buttons = QWidget()
        row = Flow(buttons, at_end=True)
        for button, icon, role in (
            (self.tools, "code-json", "text2"),
            (self.backups, "backup-restore", "text2"),
            (self.copy, "content-copy", "text2"),
            (self.link, "content-copy", "text2"),
            (self.write, "export-variant", "on_accent"),
        ):
            row.addWidget(self._theme.put_icon(button, icon, role))
        return buttons

    def show_loading(self) -> None:
        """Before the files were looked at there is nothing to say, and nothing to write."""
        self.name.setText("Looking at the files of your hosts…")
        for widget in self._of_host:
            widget.hide()

    @property
    def _of_host(self) -> tuple[QWidget, ...]:
        """All that needs a host; its own state shows or hides the rest."""
        head = (self.path, self.headline, self.modes, self.wrap, self._box, self._shown)
        return (*head, self.hint, self._buttons, self.hook, self.rules)

    @property
    def mode(self) -> str:
        """The mode chosen."""
        return next((mode for mode, radio in self.radios.items() if radio.isChecked()), "")

    def choose(self, mode: str, *, over_http: bool) -> None:
        """A mode as if the user had chosen it, without the signal."""
        self.http.choose(on=over_http)
        self.radios[mode].setChecked(True)
        self._show_http()

    def show_status(self, status: HostStatus, mode: str) -> None:
        """Show a host before its preview is there."""
        self._preview = None  # of another host
        for widget in self._of_host:
            widget.show()
        self.reach.hide()
        self.http.choose(on=status.http)
        self.name.setText(status.host.name)
        self.show_state(status)
        self._show_modes(status, mode)
        self.write.setEnabled(False)

    def show_state(self, status: HostStatus) -> None:
        """Show the state of the host's files."""
        self._installed = status.state != NOT_FOUND
        self._mode, self._state, self._status = status.mode, status.state, status
        self._show_http()
        self.state.setVisible(status.state in BADGES)  # a host in sync has none
        self.state.show_badge(badge(status.state, state_text(status)))
        keeps = status.catalog.settings.gateway.keep_prompts
        self.hook.show_status(status.hook, keeps=keeps)
        self.rules.show_status(status.rules)
        self._show_advanced()
        paths = [with_tilde(reading.file, self._home) for reading in status.readings]
        self.path.setText(" · ".join(paths) or "No file found on this computer")
        self._show_advice(status)

    def _show_advanced(self) -> None:
        """Show hook, rules and HTTP where they are used, or with everything shown."""
        if self._status is None:
            return
        for card, status in ((self.hook, self._status.hook), (self.rules, self._status.rules)):
            card.setVisible(status is not None and (card.used or self._advanced.on))
        self._show_http()
        self._show_link()

    def _show_link(self) -> None:
        """Offer the link where the files cannot be written, or with everything shown."""
        shown = self._preview
        self.link.setVisible(
            shown is not None and bool(shown.link or (self._advanced.on and shown.plan.link))
        )

    def _show_advice(self, status: HostStatus) -> None:
        """Show the recommended mode, and the facts to know before writing."""
        preview, advice = self._preview, status.recommendation
        if preview is None:
            return
        lead = f"Recommended: {MODE_NAMES[advice.mode]}. {advice.reason}"
        lines = [f"{lead} {advice.saving_note}".strip(), *notes(preview)]
        gets, gives = status.profile, preview.plan.profile
        if gets not in ("", gives) and preview.plan.mode != AS_IS:
            lines.insert(0, f"It gets the profile {gets}. Writing gives it {gives}.")
        if status.state == NOT_FOUND and not preview.files:
            lines = ["Install it, or start it once. Then press F5 to look again."]
        elif status.state == UNREADABLE and preview.plan.refusal:
            lines = [preview.plan.refusal]
        elif not status.host.writable:
            lines[0] = preview.plan.refusal or lines[0]
        self.notes.setText("\n".join(lines))
        self.advice.setVisible(advice.hook and preview.plan.mode != THROUGH)
        self.suggest.setVisible(self.hook.switch.isEnabled())
        self._name_modes(status)

    def show_preview(self, preview: Preview, status: HostStatus) -> None:
        """Show what writing would change."""
        self._preview = preview
        self.http.of_team = preview.of_team
        self._show_http()
        self.reach.show_plan(preview.plan, preview.catalog)
        self.headline.setText(preview.headline)
        self._show_advice(status)
        self.backups.setText(f"Backups ({len(preview.backups)})")
        self.backups.setEnabled(bool(preview.backups))
        self.write.setEnabled(preview.can_write)
        self._show_link()
        known = status.state == UNREADABLE or not status.host.writable
        kept = KEPT if preview.files else ""
        self.hint.setText(preview.blocked if preview.blocked and not known else kept)
        self._show_files(preview)

    def show_stale(self) -> None:
        """The files are no longer those of the preview, so its numbers are not theirs."""
        self.headline.setText("The file changed since this preview")

    def show_rows(self, rows: Sequence[DiffRow]) -> None:
        """Show some other difference."""
        self.diff.show_rows(rows)
        self._shown.setCurrentWidget(self.diff)

    def _show_modes(self, status: HostStatus, mode: str) -> None:
        allowed = modes_of(status.host)
        self._name_modes(status)
        for name, radio in self.radios.items():
            radio.setVisible(name in allowed)
            radio.setChecked(name == mode)
        self._show_http()

    def _show_http(self) -> None:
        if self._status is not None:
            self.http.show_for(self._status, self.mode, every=self._advanced.on)

    def _name_modes(self, status: HostStatus) -> None:
        several = len(modes_of(status.host)) > 1
        for name, radio in self.radios.items():
            best = several and name == status.recommendation.mode
            radio.setText(f"{MODE_NAMES[name]}{' (recommended)' if best else ''}")

    def _show_files(self, preview: Preview) -> None:
        while self.files.count():
            self.files.removeTab(0)
        for file in preview.files:
            self.files.setTabToolTip(self.files.addTab(file.path.name), str(file.path))
        self.files.setVisible(len(preview.files) > 1)
        self._show_file(0)

    def _show_file(self, number: int) -> None:
        preview = self._preview
        if preview is None:
            return
        if 0 <= number < len(preview.files):
            file = preview.files[number]
            self.show_rows(diff_rows(file.pairs, hidden=file.hidden))
        elif preview.plan.snippet:
            self.show_rows(diff_rows(pair_lines("", preview.plan.snippet)))
        else:
            self.nothing.setText(self._nothing_text(preview))
            self._shown.setCurrentWidget(self.nothing)
        differs = self._shown.currentWidget() is self.diff
        self.copy.setEnabled(differs)
        self.wrap.setVisible(differs)

    def _nothing_text(self, preview: Preview) -> str:
        if preview.plan.refusal:  # which the hint or the notes say already
            return "There is no change to show."
        if not self._installed:
            return "There is no file to write before the host is installed."
        if preview.plan.mode == AS_IS:
            return "Toolcrib leaves the files of this host as they are."
        if preview.plan.mode == PRUNED and self._mode == AS_IS and preview.plan.matched:
            return "All tools of its servers are on, so their entries stay as they are."
        if self._state == OUTSIDE and preview.plan.mode == self._mode:
            return "Changed outside Toolcrib; writing again would change nothing."
        return "In sync: the file already matches this profile."

    def _fit(self) -> None:
        theme = self._theme
        # larger text gets not as many lines: the buttons below need room
        self._shown.setMinimumHeight(max(_LEAST_SHOWN, theme.scaled(_LEAST_LINES)))
        self._foot.set_least(self.hint, theme.scaled(_HINT))

    def _connect(self) -> None:
        self._advanced.changed.connect(self._show_advanced)
        group = QButtonGroup(self)
        for mode, radio in self.radios.items():
            group.addButton(radio)
            radio.clicked.connect(lambda _checked, m=mode: self._choose(m))
        self.http.chosen.connect(lambda: self._choose(self.mode))
        self.go_through.clicked.connect(self.radios[THROUGH].click)
        self.suggest.clicked.connect(self.hook.switch.click)
        self.wrap.toggled.connect(self.diff.set_wraps)
        self.files.currentChanged.connect(self._show_file)
        self._theme.changed.connect(self._fit)

    def _choose(self, mode: str) -> None:
        self._show_http()
        self.mode_chosen.emit(mode)

    def _lay_out(self, choice: QLayout) -> None:
        head = hbox((self.name, 1), (self.state, Qt.AlignmentFlag.AlignVCenter), gap=STYLE)
        below = hbox((self.path, 1), self.headline, gap=STYLE)
        self._shown.addWidget(self.diff)
        self._shown.addWidget(self.nothing)
        self._foot.add_wide(self.hint, self._theme.scaled(_HINT))
        self._foot.addWidget(self._buttons)
        inside = vbox(
            head,
            below,
            choice,
            self.http,
            self.reach,
            self._box,
            self.files,
            (self._shown, 1),
            self._foot,
            self.hook,
            self.rules,
        )
        self.area = scrolled(boxed(inside), focus=False)  # large texts need more than a screen
        vbox(self.area, inside=self)


class _Shown(QStackedWidget):
    """Takes what is left, and asks for no more than its least."""

    def sizeHint(self) -> QSize:
        """So that the page scrolls only where less is left."""
        return QSize(super().sizeHint().width(), self.minimumHeight())
