"""The Budget page: what tool definitions may take, what each host's model gets, what could go."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from PySide6.QtCore import QEvent, QObject, QTimer
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QBoxLayout, QLineEdit, QWidget

from app.catalog.catalog import CatalogTool
from app.core.context import Db
from app.core.settings import BudgetSettings
from app.gateway.backend.http_access import endpoint
from app.host_status.overview import survey
from app.host_status.sizes import HostSize, host_sizes, in_view
from app.host_status.splitting import Split
from app.host_status.status import HostStatus
from app.policy.budget import Verdict, verdict_on
from app.policy.expansion import Expansion, expand, read_known
from app.policy.moves import Moves, moves_for
from app.policy.profiles import DEFAULT
from app.policy.sessions import Owner
from app.policy.usage import read_usage
from app.system.quoting import quoted
from store.records import SplitRecord
from ui.look.theme import GAP, MARGIN, ROW
from ui.pages.budget.form import BudgetForm
from ui.pages.budget.hidden import HiddenTools
from ui.pages.budget.moves import BudgetMoves
from ui.pages.budget.rows import SHARE, WAY, BudgetTable
from ui.pages.budget.split_dialog import SplitDialog
from ui.pages.budget.split_step import SplitCommand, look, make
from ui.shell.actions import SettingsCommand, Tick
from ui.shell.host_in_view import COUNTING
from ui.shell.page import Page
from ui.shell.services import Services
from ui.widgets.boxes import boxed, hbox, scrolled, vbox
from ui.widgets.columns import place
from ui.widgets.delegates import TextDelegate
from ui.widgets.label import PlainLabel
from ui.widgets.named import named
from ui.widgets.push_button import push_button
from ui.widgets.rows import ModestTable, as_table
from ui.widgets.table_tools import tools_of

ROWS_LEAST = 2, 4  # hosts that the table shows: where all fits without scrolling, and where not
_REST_MS = 100  # steps that follow each other are looked at together


@dataclass(frozen=True, slots=True)
class _Measured:
    """Result of one reading of hosts and activity."""

    statuses: tuple[HostStatus, ...]
    size: HostSize | None  # of the host in view
    verdict: Verdict
    moves: Moves
    whole: Expansion


class BudgetPage(Page):
    """Form and proposals above, hosts below, the same check for CI at the end."""

    def __init__(self, services: Services) -> None:
        super().__init__(services)
        self.form = BudgetForm()
        self.moves = BudgetMoves(services.theme)
        self.model = BudgetTable(self)
        view = named(ModestTable(), "Hosts and the budget", name="budgetTable")
        self.view = as_table(view, self.model, services.theme, delegate=TextDelegate)
        self.command = named(QLineEdit(readOnly=True), "The same check in CI")
        services.theme.dress_fixed(self.command)
        self.copy = services.theme.put_icon(push_button("Copy", self._copy), "content-copy")
        self._lay_out()
        live = services.live
        self.rest = QTimer(self, interval=_REST_MS, singleShot=True)
        self.rest.timeout.connect(self._request_sizes)
        live.altered.connect(self._on_changed)
        services.hosts.changed.connect(self._show_hosts)
        services.hosts.chosen.connect(self._on_changed)
        self.form.changed.connect(self._set)
        self.moves.off.clicked.connect(lambda: self._turn_off(self.moves.model.tools))
        self.moves.through.clicked.connect(lambda: services.open_page("hosts"))
        self.moves.split.clicked.connect(self.open_split)
        self.asking = HiddenTools(services, self)
        self.moves.behind.clicked.connect(self.asking.request)
        self.asking.ended.connect(self._on_asked)
        self.asking.failed.connect(self.messages.error)
        services.theme.changed.connect(self._fit)
        self._fit()

    def main_view(self) -> QWidget:
        """The budget's number."""
        return self.form.tokens

    def panes(self) -> tuple[QWidget, ...]:
        """Form, proposals, hosts."""
        return (self.form.tokens, self.moves.view, self.view)

    def primary(self) -> None:
        """Turn the ticked proposals off."""
        if self.moves.off.isVisible():
            self.moves.off.click()

    def opened(self) -> None:
        """Look at the hosts again."""
        self.refresh()

    def refresh(self) -> None:
        """Show the budget now; hosts and proposals follow from the store."""
        catalog = self.services.live.catalog
        if catalog is not None:
            self.form.show_settings(catalog.settings.budget)
            self._show_command()
            self.rest.start()

    def _show_command(self) -> None:
        catalog, size = self.services.live.catalog, self.services.hosts.size
        if catalog is not None:
            host_id = size.facts.id if size else ""
            self.command.setText(ci_command(catalog.settings.budget, catalog.profile.name, host_id))
            self.command.home(False)  # one that is wider is read from its beginning

    def _on_changed(self) -> None:
        if self.isVisible():
            self.refresh()

    def _request_sizes(self) -> None:
        """Request each host's size and the possible moves, for the catalogue as it is."""
        catalog, hosts = self.services.live.catalog, self.services.hosts
        if catalog is None:
            return
        places, ctx, choice = self.services.places, self.services.ctx, hosts.choice
        now = ctx.clock()

        def measure(db: Db) -> _Measured:
            statuses = survey(db, places, catalog, endpoint=endpoint(ctx))
            size = in_view(host_sizes(statuses), choice)
            verdict = size.verdict if size else verdict_on(catalog)
            tools = size.sent.tools if size else catalog.tools
            usage = read_usage(db, now)
            host, limit = (size.host, size.facts.tool_limit) if size else ("", 0)
            moves = moves_for(tools, verdict, usage, host=host, limit=limit)
            whole = expand(tools, read_known(db))
            return _Measured(statuses, size, verdict, moves, whole)

        self.services.tasks.latest(self, measure, self._show, self.messages.error)

    def _show(self, measured: "_Measured") -> None:
        hosts = self.services.hosts
        if unread := hosts.unread or (COUNTING if hosts.partial else ""):
            self.moves.show_unread(unread)
        else:
            plan, more = measured.moves.plan, measured.moves.suggestions
            self.moves.show_plan(measured.verdict, plan, measured.size, more)
            self.moves.show_whole(measured.whole)
        self.services.hosts.take(measured.statuses)

    def _show_hosts(self) -> None:
        """The table follows what every other place shows of the hosts."""
        sizes = self.services.hosts.sizes
        self.model.show(sizes)
        self._show_command()
        if self.isVisible():
            self._show_result(sizes)

    def _show_result(self, sizes: Sequence[HostSize]) -> None:
        over = [size.host for size in sizes if size.verdict.word == "BLOCK"]
        self.result.emit(f"Over budget: {', '.join(over)}" if over else "")

    def _set(self, new: BudgetSettings, text: str) -> None:
        live = self.services.live
        if live.catalog is not None:
            old = live.catalog.settings
            self.services.undo.push(SettingsCommand(live, old, replace(old, budget=new), text))

    def _turn_off(self, tools: Sequence[CatalogTool]) -> None:
        if tools:
            self.services.undo.push(Tick(self.services.live, tools, False))

    def _on_asked(self, text: str) -> None:
        self.services.show_status(text)
        self.refresh()

    def open_split(self) -> None:
        """Show the profiles that the one in view would be split into."""
        services, profile = self.services, self.services.live.profile
        services.tasks.request(
            lambda db: look(services, db, profile),
            self._show_split,
            self.messages.error,
            owner=self,
        )

    def _show_split(self, split: Split) -> None:
        dialog = SplitDialog(split, self.services.theme, self)
        dialog.wanted.connect(lambda owners: self._make_split(dialog, owners))
        dialog.open()

    def _make_split(self, dialog: SplitDialog, owners: Sequence[Owner]) -> None:
        def made(record: SplitRecord) -> None:
            dialog.accept()
            self.services.undo.push(SplitCommand(self.services, record, owners))

        make(
            self.services,
            dialog.split,
            owners,
            made,
            lambda error: dialog.show_problem(error.title, error.hint),
        )

    def _copy(self) -> None:
        self.services.copy(self.command.text(), "the check for CI")

    def _lay_out(self) -> None:
        self._above = hbox((self.form, 4), (self.moves, 5))
        label = PlainLabel("&Same check in CI", buddy=self.command)
        below = hbox(label, (self.command, 1), self.copy)
        self._inside = boxed(vbox(self._above, (self.view, 1), below, gap=MARGIN))
        self.area = scrolled(self._inside, sideways=False, focus=False)
        self._inside.installEventFilter(self)
        self.body.addWidget(self.area, 1)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """The bars keep their room: a narrow table leaves columns out."""
        super().resizeEvent(event)
        self._fit()

    def eventFilter(self, _watched: QObject, event: QEvent) -> bool:
        """A card's words changed, or their size: look again whether both have room."""
        if event.type() == QEvent.Type.LayoutRequest:
            self._fit_cards()
        return False

    def _fit_cards(self) -> None:
        """The cards beside each other, or one below the other: the page scrolls only down."""
        least = sum(card.minimumSizeHint().width() for card in (self.form, self.moves))
        room = self.area.width() - self.area.verticalScrollBar().sizeHint().width()
        way = QBoxLayout.Direction
        wanted = way.LeftToRight if least + GAP <= room else way.TopToBottom
        if self._above.direction() != wanted:
            self._above.setDirection(wanted)

    def _fit(self) -> None:
        """The table shows a few hosts at any text size; the page scrolls where that is too much."""
        self._fit_cards()
        scaled, width = self.services.theme.scaled, self.width()
        head = self.view.header().sizeHint().height()
        for rows in ROWS_LEAST:
            self.view.setMinimumHeight(head + rows * scaled(ROW) + 2 * GAP)
            if self._inside.heightForWidth(self.area.width()) <= self.area.height():
                break
        for title, least in ((WAY, 740), (SHARE, 560)):
            number = place(self.model.columns, title)
            tools_of(self.view).hide(number, width < scaled(least))


def ci_command(settings: BudgetSettings, profile: str = DEFAULT, host_id: str = "") -> str:
    """The command that says the same in CI: of one host, or of all servers together."""
    own = f" --host {host_id}" if host_id else ""
    own += "" if profile == DEFAULT else f" --profile {quoted(profile)}"
    block = f" --block {settings.block_percent}" if settings.block_percent != 100 else ""
    most = f" --max-tools {settings.max_tools}" if settings.max_tools else ""
    return (
        f"toolcrib check --budget {settings.tokens} --warn {settings.warn_percent}{block}{most}"
        f"{own} --fail-on block"
    )
