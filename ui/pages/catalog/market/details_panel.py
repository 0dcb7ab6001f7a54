"""The right side of Find servers: what a listed server would mean, and the form to add it."""

from PySide6.QtCore import QUrl, Signal
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QComboBox, QFrame, QPushButton, QScrollArea, QWidget

from app.core.errors import ToolcribError
from app.core.text import visible
from app.market.launch import Choice, shown_command
from app.market.seed import SEED_URL
from ui.look.text import plain_tip
from ui.look.theme import MARGIN, Theme
from ui.pages.catalog.market.input_form import InputForm
from ui.pages.catalog.market.work import Shown
from ui.widgets.boxes import STRETCH, vbox
from ui.widgets.flow import Flow
from ui.widgets.label import PlainLabel
from ui.widgets.named import named
from ui.widgets.push_button import push_button

_NOTHING = "Select a server to see its tools, its tokens and the command that would run."
_IN_TEAM = (
    "Not installed in {}: ask an editor of the team to add it. Add installs it for your own"
    " profiles alone."
)
_SAFE = (
    "Secret values go to the system's keychain, or without one to a file that only you can read."
    " Nothing is started yet. Its tools are held until you approve them in Review."
)


class DetailsPanel(QScrollArea):
    """Facts as sentences, then a choice of packages, the command and the fields."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self.shown: Shown | None = None
        self.title = theme.heading(PlainLabel(wrap=True), 2)
        self.about = PlainLabel(wrap=True)
        self.warning = PlainLabel(wrap=True, look="wrong")
        self.facts = PlainLabel(wrap=True)
        self.repository = _Link("Repository")
        self.website = _Link("Website")
        self.ways = named(QComboBox(), "Package or address")
        self.ways.setSizeAdjustPolicy(
            QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon
        )
        self.reason = PlainLabel(wrap=True)
        self.command = PlainLabel(wrap=True)
        theme.dress_fixed(self.command)
        self.form = InputForm(theme)
        self.safe = PlainLabel(_SAFE, wrap=True)
        self.problem = PlainLabel(wrap=True, look="wrong")
        self.add = push_button("Add", look="primary")
        for label in (self.reason, self.safe):
            label.setProperty("faint", True)
        body = QWidget()
        links = Flow()
        links.addWidget(self.repository)
        links.addWidget(self.website)
        vbox(
            self.title, self.about, self.warning, self.facts,
            links, self.ways, self.reason,
            self.command, self.form, self.safe, self.problem, self.add, STRETCH,
            inside=body, margins=MARGIN,
        )  # fmt: skip
        self.setAccessibleName("Details of the server")
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setWidgetResizable(True)
        self.setWidget(body)
        self.ways.currentIndexChanged.connect(self._show_way)
        for link in (self.repository, self.website):
            link.refused.connect(self.show_problem)
        self.show_nothing()

    @property
    def choice(self) -> Choice | None:
        """The package or address that is chosen."""
        ways = self.shown.details.ways if self.shown else ()
        place = self.ways.currentIndex()
        return ways[place] if 0 <= place < len(ways) else None

    def show_nothing(self, text: str = _NOTHING) -> None:
        """No server: a sentence."""
        self.shown = None
        self._show_parts()
        self.about.setText(text)
        self.about.show()

    def show_server(self, shown: Shown) -> None:
        """One listed server."""
        known = shown.details
        entry = known.entry
        self.shown = shown
        self.title.setText(f"{entry.title or entry.name} {entry.version}".rstrip())
        own = known.source.url == SEED_URL  # its descriptions only name the tools
        self.about.setText("" if own else entry.description)
        self.warning.setText("\n".join(known.warnings))
        self.facts.setText("\n".join(_facts(shown)))
        self.repository.lead_to(entry.repository)
        self.website.lead_to(entry.website)
        self.ways.blockSignals(True)
        self.ways.clear()
        self.ways.addItems([way.title for way in known.ways])
        place = (shown.proposed or 1) - 1
        self.ways.setCurrentIndex(min(place, len(known.ways) - 1))
        self.ways.blockSignals(False)
        self._show_parts()
        self._show_way()
        self.verticalScrollBar().setValue(0)

    def ask_for(self, choice: Choice) -> None:
        """Show the fields of a bundle that was fetched; values typed before stay."""
        typed = dict(self.form.values)
        self.form.show_fields(choice)
        self.form.fill(typed)
        self.form.setVisible(bool(self.form.editors))

    def show_problem(self, text: str) -> None:
        """Show the reason against adding it; "" for none."""
        self.problem.say(text)
        if text:
            self.ensureWidgetVisible(self.problem)

    def _show_parts(self) -> None:
        shown = self.shown is not None
        for label in (self.title, self.facts):
            label.setVisible(shown)
        self.about.setVisible(shown and bool(self.about.text()))
        self.warning.setVisible(shown and bool(self.warning.text()))
        for widget in (self.ways, self.reason, self.form, self.safe, self.add):
            widget.setVisible(shown)
        if not shown:
            self.repository.lead_to("")
            self.website.lead_to("")
        self.command.setVisible(False)
        self.show_problem("")
        if not shown:
            self.form.show_fields(None)

    def _show_way(self, _place: int = 0) -> None:
        way, shown = self.choice, self.shown
        self.form.show_fields(way)
        if shown is None:
            return
        private, text = bool(shown.details.source.private), ""
        reason = "The entry has no package and no address, so it cannot be installed."
        if way is not None:
            reason = shown.reason if way.number == shown.proposed else ""
            try:
                text = shown_command(shown.details.entry, way, private=private)
            except ToolcribError as error:
                reason = error.title
        self.reason.say(reason)
        self.command.say(text)
        self.form.setVisible(bool(self.form.editors))
        self.add.setEnabled(bool(text))
        self.safe.setVisible(bool(text))
        self.show_problem("")


class _Link(QPushButton):
    """A page that an entry names, shown by its host, as a long address can hide where it leads."""

    refused = Signal(str)  # no browser opened: what to do instead

    def __init__(self, kind: str) -> None:
        super().__init__()
        self._kind = kind
        self._address = QUrl()
        self.setProperty("flat_link", True)
        self.clicked.connect(self._open)

    def lead_to(self, address: str) -> None:
        """Show a link to this address; without one, or to none of the web, hide it."""
        self._address = QUrl(address, QUrl.ParsingMode.StrictMode)
        host = self._address.host(QUrl.ComponentFormattingOption.FullyEncoded)
        self.setText(f"{self._kind} at {host}")
        self.setToolTip(plain_tip(f"Open {visible(address)} in your browser"))
        self.setVisible(bool(host))

    def _open(self) -> None:
        if not QDesktopServices.openUrl(self._address):
            address = self._address.toString(QUrl.ComponentFormattingOption.FullyEncoded)
            self.refused.emit(f"No browser could be opened. The address is {address}")


def _facts(shown: Shown) -> list[str]:
    """Known facts of a listed server, a sentence a line."""
    known = shown.details
    entry = known.entry
    doubles = ", ".join(f"{mine} ({other})" for mine, other in known.doubles)
    names = ", ".join(tool.name for tool in known.tools[:12])
    more = f" and {len(known.tools) - 12} more" if len(known.tools) > 12 else ""
    lines = [
        known.tokens_text,
        known.verdict_text,
        f"Tools: {names}{more}." if names else "",
        f"Installed tools of the same name: {doubles}." if doubles else "",
        known.proof,
        f"Licence: {entry.licence}." if entry.licence else "No licence is given.",
        f"Updated {entry.updated_at[:10]}." if entry.updated_at else "",
        f"Installed as {known.installed}." if known.installed else "",
        _IN_TEAM.format(shown.team) if shown.team else "",
        "" if known.source.url == SEED_URL else f"From: {known.source.name}.",
    ]
    return [line for line in lines if line]
