"""The Budget page: what tool definitions may take, what each host's model gets, what could go."""

from collections.abc import Sequence
from dataclasses import replace
from shlex import quote

from PySide6.QtCore import QTimer
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import (
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QPushButton,
    QTreeView,
    QWidget,
)

from app.catalog import CatalogTool
from app.context import Db
from app.export.overview import survey
from app.export.sizes import HostSize, host_sizes
from app.policy.budget import verdict_on
from app.policy.pruner import PrunePlan, propose
from app.policy.usage import read_usage
from app.profiles import DEFAULT
from app.settings import BudgetSettings
from ui.actions import SettingsCommand, Tick
from ui.asking import Asking
from ui.models.budget_rows import HOST, SHARE, STATE, TOKENS, TOOLS, WAY, BudgetTable
from ui.services import Services
from ui.theme import GAP, ROW
from ui.views.budget_form import BudgetForm
from ui.views.budget_moves import BudgetMoves
from ui.views.delegates import BadgeDelegate, BarDelegate
from ui.views.page import Page
from ui.views.rows import as_rows

_REST_MS = 100  # steps that follow each other are looked at together
_WIDTHS = {HOST: 170, WAY: 130, SHARE: 84, TOOLS: 84, STATE: 90}


class BudgetPage(Page):
    """Form and proposals above, hosts below, the same check for CI at the end."""

    def __init__(self, services: Services, parent: QWidget | None = None) -> None:
        super().__init__(services, parent)
        self.form = BudgetForm()
        self.moves = BudgetMoves(services.theme)
        self.model = BudgetTable(self)
        self.view = self._make_view()
        self.command = QLineEdit(readOnly=True)
        self.command.setAccessibleName("The same check in CI")
        services.theme.dress_fixed(self.command)
        self.copy = QPushButton("Copy")
        self.copy.clicked.connect(self._copy)
        self._lay_out()
        live = services.live
        self.rest = QTimer(self, interval=_REST_MS, singleShot=True)
        self._asking = Asking(services.tasks, self.rest.start, self.messages.error)
        self.rest.timeout.connect(self._ask)
        live.loaded.connect(self._on_changed)
        live.toggled.connect(lambda _ids: self._on_changed())
        live.configured.connect(self._on_changed)
        self.form.given.connect(self._set)
        self.moves.off_wanted.connect(self._turn_off)
        self.moves.through_wanted.connect(lambda: services.go("hosts"))
        services.theme.changed.connect(self._recolor)
        self._recolor()

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
            self.command.setText(ci_command(catalog.settings.budget, catalog.profile.name))
            self.rest.start()

    def _on_changed(self) -> None:
        if self.isVisible():
            self.refresh()

    def _ask(self) -> None:
        """What each host gets and what could go, for the catalogue as it is."""
        catalog = self.services.live.catalog
        if catalog is None:
            return
        found = verdict_on(catalog)
        places, now = self.services.places, self.services.ctx.clock()

        def ask(db: Db) -> tuple[PrunePlan, tuple[HostSize, ...]]:
            plan = propose(catalog.tools, found.budget, read_usage(db, now))
            return plan, host_sizes(survey(db, places, catalog))

        def show(answer: tuple[PrunePlan, tuple[HostSize, ...]]) -> None:
            self.moves.show_plan(found, answer[0])
            self.model.show(answer[1])
            self._tell(answer[1])

        self._asking.ask(ask, show)

    def _tell(self, sizes: Sequence[HostSize]) -> None:
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

    def _copy(self) -> None:
        QGuiApplication.clipboard().setText(self.command.text())
        self.services.say("Copied the check for CI")

    def _recolor(self) -> None:
        self.copy.setIcon(self.services.theme.icons.icon("content-copy"))

    def _lay_out(self) -> None:
        above = QHBoxLayout()
        above.setSpacing(GAP)
        above.addWidget(self.form, 4)
        above.addWidget(self.moves, 5)
        below = QHBoxLayout()
        below.setSpacing(GAP)
        label = QLabel("&Same check in CI")
        label.setBuddy(self.command)
        below.addWidget(label)
        below.addWidget(self.command, 1)
        below.addWidget(self.copy)
        self.body.addLayout(above)
        self.body.addWidget(self.view, 1)
        self.body.addLayout(below)

    def _make_view(self) -> QTreeView:
        theme = self.services.theme
        view = QTreeView()
        view.setObjectName("budgetTable")
        view.setAccessibleName("Hosts and the budget")
        view.setModel(self.model)
        as_rows(view, theme, widths=_WIDTHS, stretched=(TOKENS,))
        view.setItemDelegateForColumn(TOKENS, BarDelegate(theme, ROW, view))
        view.setItemDelegateForColumn(STATE, BadgeDelegate(theme, ROW, view))
        return view


def ci_command(settings: BudgetSettings, profile: str = DEFAULT) -> str:
    """The command that says the same in CI."""
    own = "" if profile == DEFAULT else f" --profile {quote(profile)}"
    block = f" --block {settings.block_percent}" if settings.block_percent != 100 else ""
    most = f" --max-tools {settings.max_tools}" if settings.max_tools else ""
    return (
        f"toolcrib check --budget {settings.tokens} --warn {settings.warn_percent}{block}{most}"
        f"{own} --fail-on block"
    )
