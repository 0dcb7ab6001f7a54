"""The week in short: what was called, what never, what it cost, and what could go."""

from collections.abc import Sequence
from dataclasses import replace

from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtWidgets import QTreeView, QWidget

from app.core.changes import Changes
from app.core.context import Db
from app.host_status.digest import Digest, make_digest
from app.policy.cost import ASSUMPTION
from app.policy.coverage import ToolUse
from app.policy.proposals import Proposal, bring_back, read_put_off, restore, snooze
from store.records import PutOff
from ui.look.text import count, short
from ui.pages.activity.figures import Figures
from ui.shell.actions import SettingsCommand, Tick, turn_off_words
from ui.shell.services import Services
from ui.shell.steps import Change, store_step
from ui.widgets.boxes import SPARE, STRETCH, hbox, vbox
from ui.widgets.columns import Column
from ui.widgets.delegates import TextDelegate
from ui.widgets.elided import ElidedLabel
from ui.widgets.label import PlainLabel
from ui.widgets.named import named
from ui.widgets.push_button import push_button
from ui.widgets.row_table import R, RowTable
from ui.widgets.rows import as_table

TITLE, FREES, TOOL, CALLS = "Proposal", "Frees ≈", "Called most this week", "Calls"
_CARDS = (
    ("calls this week", "Calls through Toolcrib, and those in the hosts' own records once read."),
    ("tools called", "Tools that are on and were called in these seven days."),
    ("never called in 30 days", "Of the tools that hosts may get now."),
    ("tokens of those", "Definitions of tools that were not called in 30 days, in each request."),
    ("spent on definitions", f"Tokens in the requests of the week. {ASSUMPTION}"),
)


class ProposalTable(RowTable[Proposal]):
    """One row a proposal, the one that frees most first."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(
            (
                Column(TITLE, lambda one: one.title),
                Column(
                    FREES,
                    lambda one: count(one.saves) if one.tools else "",
                    lambda one: one.saves,
                    width=84,
                    right=True,
                ),
            ),
            parent,
        )

    def row_data(self, row: Proposal, role: int) -> object:
        """Evidence and tools as a tooltip."""
        return _explained(row) if role == Qt.ItemDataRole.ToolTipRole else None


class CalledTable(RowTable[ToolUse]):
    """One row a tool that was called, the most called first."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(
            (
                Column(TOOL, lambda one: one.row.tool.tool_id),
                Column(CALLS, lambda one: count(one.calls), width=70, right=True),
            ),
            parent,
        )


class WeekTab(QWidget):
    """Figures above, proposals and the most called tools below.

    Signals: result(text) for the status bar; failed(ToolcribError).
    """

    result = Signal(str)
    failed = Signal(object)

    def __init__(self, services: Services) -> None:
        super().__init__()
        self._services = services
        self.digest: Digest | None = None
        self.headline = services.theme.heading(PlainLabel(wrap=True), 1)
        self.evidence = ElidedLabel(look="faint")
        self.figures = Figures(services.theme, _CARDS)
        self.model = ProposalTable(self)
        self.view = self._table(self.model, "weekProposals", "Proposals of the week")
        self.called = CalledTable(self)
        self.called_view = self._table(self.called, "weekCalls", "Called most this week")
        self.why = PlainLabel(wrap=True, look="faint")
        self.take = push_button("Turn off", self._take, look="primary")
        self.later = push_button("Not for 30 days", lambda: self._put_off(for_good=False))
        self.never = push_button("Never propose", lambda: self._put_off(for_good=True))
        self.again = push_button("", self._bring_back)
        self._lay_out()
        self.view.selectionModel().currentChanged.connect(lambda *_: self._on_chosen())
        self._show_nothing()

    def refresh(self) -> None:
        """Count again, for the catalogue as it is."""
        services = self._services
        catalog, sizes = services.live.catalog, services.hosts.sizes
        if catalog is None:
            return
        now, price = services.ctx.clock(), services.ctx.settings.price

        def look(db: Db) -> Digest:
            return make_digest(db, catalog, sizes, now, price=price)

        services.tasks.latest(self, look, self._show, self.failed.emit)

    def _show_nothing(self) -> None:
        self.headline.setText("Counting…")
        for widget in (self.view, self.called_view, self.take, self.later, self.never, self.again):
            widget.hide()

    def _show(self, digest: Digest) -> None:
        chosen = self._chosen()
        self.digest = digest
        self.headline.setText(digest.sentence)
        self.evidence.setText(digest.usage.evidence)
        self.figures.show_values(_values(digest))
        self.model.replace_rows(digest.proposals)
        self.called.replace_rows(digest.called)
        self.view.setVisible(bool(digest.proposals))
        self.called_view.setVisible(bool(digest.called))
        self.again.setText(_again_words(len(digest.put_off)))
        self.again.setVisible(bool(digest.put_off))
        keys = [one.key for one in digest.proposals]
        if keys:
            row = keys.index(chosen.key) if chosen and chosen.key in keys else 0
            self.view.setCurrentIndex(self.model.index(row, 0))
        self._on_chosen()
        if self.isVisible():
            self.result.emit(digest.sentence)

    def _chosen(self) -> Proposal | None:
        return self.model.row(self.view.currentIndex().row())

    def _on_chosen(self) -> None:
        proposal = self._chosen()
        self.why.setText(_explained(proposal) if proposal else "")
        for widget in (self.why, self.take, self.later, self.never):
            widget.setVisible(proposal is not None)
        if proposal is None:
            return
        words = turn_off_words(proposal.tools)
        budget = f"Set the budget to {proposal.budget:,} tokens"
        self.take.setText(budget if proposal.budget else words)

    def _take(self) -> None:
        """Take the chosen proposal up, as a step that can be undone."""
        proposal, live = self._chosen(), self._services.live
        if proposal is None or live.catalog is None:
            return
        if not proposal.budget:
            self._services.undo.push(Tick(live, proposal.tools, False))
            return
        old = live.catalog.settings
        new = replace(old, budget=replace(old.budget, tokens=proposal.budget))
        text = f"Set budget to {proposal.budget:,} tokens"
        self._services.undo.push(SettingsCommand(live, old, new, text))

    def _put_off(self, *, for_good: bool) -> None:
        proposal = self._chosen()
        if proposal is None:
            return
        clock = self._services.ctx.clock
        before: PutOff | None = None  # known to the store thread only

        def put_off(db: Db) -> Changes:
            nonlocal before
            before = read_put_off(db, proposal.key)
            snooze(db, proposal, clock(), for_good=for_good)
            return Changes()

        def propose_again(db: Db) -> Changes:
            bring_back(db, proposal.key, before)
            return Changes()

        when = "for good" if for_good else "for 30 days"
        self._push(f"Put off {when}: {proposal.title}", put_off, propose_again)

    def _bring_back(self) -> None:
        put = self.digest.put_off if self.digest is not None else ()
        if not put:
            return

        def propose_again(db: Db) -> Changes:
            for one in put:
                bring_back(db, one.proposal)
            return Changes()

        def put_off(db: Db) -> Changes:
            restore(db, put)
            return Changes()

        self._push(_again_words(len(put)), propose_again, put_off)

    def _push(self, text: str, make: Change, take_back: Change) -> None:
        def counted(_changes: Changes) -> None:
            self.refresh()

        step = store_step(self._services.tasks, text, make, take_back, done=counted)
        self._services.undo.push(step)

    def _table(self, model: RowTable[R], name: str, accessible: str) -> QTreeView:
        view = named(QTreeView(), accessible, name=name)
        return as_table(view, model, self._services.theme, delegate=TextDelegate)

    def _lay_out(self) -> None:
        buttons = hbox(self.take, self.later, self.never, STRETCH, self.again)
        tables = hbox((self.view, 5), (self.called_view, 3))
        vbox(
            self.headline,
            self.evidence,
            self.figures,
            (tables, 1),
            self.why,
            buttons,
            SPARE,
            inside=self,
        )


def _values(digest: Digest) -> Sequence[str]:
    spent = sum(one.spent for one in digest.hosts)
    money = sum(one.money for one in digest.hosts)
    cost = f"{money:,.2f}" if money else short(spent) if spent else "–"
    known = bool(digest.usage.total)
    return (
        count(digest.week.total),
        count(len(digest.called)),
        count(digest.never) if known else "–",
        short(digest.never_tokens) if known else "–",
        cost,
    )


def _again_words(number: int) -> str:
    return f"Propose {number} put off again"


def _explained(proposal: Proposal) -> str:
    names = [tool.tool.tool_id for tool in proposal.tools]
    more = f" and {len(names) - 10} more" if len(names) > 10 else ""
    named = f" Tools: {', '.join(names[:10])}{more}." if len(names) > 1 else ""
    return f"{proposal.evidence}{named}"
