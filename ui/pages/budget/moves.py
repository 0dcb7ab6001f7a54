"""Proposals that bring a host within its budget: moves with their evidence, applied in one step."""

from collections.abc import Sequence

from PySide6.QtCore import QObject, Qt
from PySide6.QtWidgets import QFrame, QPushButton

from app.catalog.catalog import CatalogTool
from app.core.text import plural
from app.host_status.sizes import HostSize
from app.policy.budget import Verdict
from app.policy.expansion import Expansion
from app.policy.pruner import Move, PrunePlan
from store.records import AS_IS, THROUGH
from ui.look.text import plain_tip
from ui.look.theme import CARD, GAP, ROW, Theme
from ui.shell.actions import turn_off_words
from ui.shell.host_in_view import UNREAD
from ui.widgets.boxes import SPARE, STRETCH, hbox, vbox
from ui.widgets.columns import Column
from ui.widgets.label import PlainLabel
from ui.widgets.named import named
from ui.widgets.push_button import push_button
from ui.widgets.row_table import TickTable
from ui.widgets.rows import ModestTable, as_table

TITLE, FREES = "What could go", "Frees ≈"


class MoveTable(TickTable[Move]):
    """One row a move; the first column is ticked by the user."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(
            (
                Column(TITLE, lambda move: move.title),
                Column(
                    FREES, lambda move: f"{move.saves:,}", lambda m: m.saves, width=84, right=True
                ),
            ),
            parent,
        )
        self._ticked: list[bool] = []

    def show(self, moves: Sequence[Move]) -> None:
        """Show these; those needed for the budget are ticked, and what the user ticked stays so."""
        both = zip(self._rows, self._ticked, strict=True)
        before = {move.tool_ids: (move.chosen, ticked) for move, ticked in both}
        states = []
        for move in moves:
            chosen, ticked = before.get(move.tool_ids, (None, False))
            states.append(ticked if chosen == move.chosen else move.chosen)
        self._ticked = states
        self.replace_rows(moves)

    @property
    def tools(self) -> list[CatalogTool]:
        """The tools of the ticked moves."""
        both = zip(self._rows, self._ticked, strict=True)
        return [tool for move, ticked in both if ticked for tool in move.tools]

    def is_ticked(self, number: int) -> bool:
        """True if the move is to be made."""
        return self._ticked[number]

    def tick(self, number: int, on: bool) -> None:
        """Have a move made, or not."""
        self._ticked[number] = on

    def row_data(self, row: Move, role: int) -> object:
        """Evidence for the move, and its tools, as a tooltip."""
        is_tip = role == Qt.ItemDataRole.ToolTipRole
        return f"{row.evidence} {_named(row)}" if is_tip else None


def _named(move: Move) -> str:
    names = [tool.tool.tool_id for tool in move.tools[:12]]
    more = len(move.tools) - len(names)
    return ", ".join(names) + (f" and {more} more" if more > 0 else "")


_LEAST_ROWS = 3  # that the list shows; more where there is room
_WITHIN = "Within the budget: nothing has to go."
_NONE = "No tool stands out to be turned off."
_SIZES = "No calls are counted yet, so these are chosen by size."
_ELSE = "Or let hosts go through Toolcrib: their models then get a menu of two tools."
_THROUGH = "Or let {} go through Toolcrib: its model then gets {:,} tokens ≈ in all."
_AS_IS = "What you turn off reaches {} once you write its config in Hosts."
_OFF_ALREADY = "That write alone frees {:,} tokens of tools that are off already."


class BudgetMoves(QFrame):
    """Headline, evidence, moves with ticks, and a button for each way to free tokens."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self.setProperty("card", True)
        self._theme = theme
        self.headline = theme.heading(PlainLabel(wrap=True), 1)
        self.evidence = PlainLabel(wrap=True, look="faint")
        self.sum = PlainLabel(wrap=True, name="proposalsSum")
        self._plan: PrunePlan | None = None  # that the ticks are held against
        self.model = MoveTable(self)
        view = named(ModestTable(), "What could go", name="proposals")
        self.view = as_table(view, self.model, theme)
        self.view.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.off = push_button("Turn off", look="primary")
        self.through = push_button("Serve hosts through Toolcrib…")
        self.whole = PlainLabel(wrap=True, name="withWhatTheyHide")
        self.behind = push_button("Count what they hide…")
        self.split = push_button("Split the profile…")
        self.split.setToolTip("Several profiles of tools used together, each inside the budget")
        self._lay_out()
        self.model.dataChanged.connect(lambda *_: self._count())
        self.model.modelReset.connect(self._count)
        theme.changed.connect(self._fit)
        self._fit()
        for widget in (self.view, self.sum, *self._steps, self.whole):
            widget.hide()  # until something is known

    @property
    def _steps(self) -> tuple[QPushButton, ...]:
        """The buttons; each is shown where its step helps."""
        return self.off, self.through, self.split, self.behind

    def show_whole(self, whole: Expansion) -> None:
        """Show the count with what tools hide, where some hide others."""
        self.whole.setText(whole.sentence)
        self.whole.setToolTip(plain_tip(" ".join(one.text for one in whole.behind)))
        self.whole.setVisible(bool(whole.sentence))
        self.behind.setVisible(bool(whole.unknown or whole.partial))

    def show_plan(
        self,
        verdict: Verdict,
        plan: PrunePlan,
        size: HostSize | None = None,
        suggestions: Sequence[Move] = (),
    ) -> None:
        """Show the verdict on the host in view, or on all servers, and what could be done.

        `suggestions` follow from sizes alone; none of them is ticked by itself.
        """
        moves = (*plan.moves, *suggestions)
        over = bool(verdict.to_free or plan.needed_tools)
        self.headline.setText(_headline(verdict, size.host if size else ""))
        lines = [plan.evidence] if over else [_WITHIN, plan.evidence]
        if over and not plan.enough:
            if not plan.moves:
                lines.append(_SIZES if suggestions else _NONE)
            lines += [_offered(plan, moves), _ELSE if size is None else ""]
        if over and size is not None:
            lines += _of_host(size, verdict, plan)
        self.evidence.setText(" ".join(line for line in lines if line))
        self._plan = plan if over and moves else None
        self.through.setVisible(over)
        self.split.setVisible(over)
        self.model.show(moves)
        self.view.setVisible(bool(moves))
        self.off.setVisible(bool(moves))

    def show_unread(self, why: str) -> None:
        """Nothing is read or counted to the end, so there is nothing to judge."""
        self.headline.setText(why)
        read = "Read your servers in the Catalog; then this says what they cost."
        self.evidence.setText(read if why == UNREAD else "The verdict follows by itself.")
        self._plan = None
        self.model.show(())
        for widget in (self.view, self.whole, *self._steps):
            widget.hide()

    def _count(self) -> None:
        tools = self.model.tools
        self.off.setText(turn_off_words(tools))
        self.off.setEnabled(bool(tools))
        self.sum.setText(_sum(self._plan, tools) if self._plan else "")
        self.sum.setVisible(self._plan is not None)

    def _fit(self) -> None:
        head = self.view.header().sizeHint().height()
        self.view.setMinimumHeight(head + _LEAST_ROWS * self._theme.scaled(ROW) + 2 * GAP)

    def _lay_out(self) -> None:
        row = hbox(self.off, self.through, self.split, self.behind, STRETCH)
        vbox(
            self.headline,
            self.whole,
            self.evidence,
            (self.view, 1),
            self.sum,
            SPARE,
            row,
            inside=self,
            margins=CARD,
        )


def _headline(verdict: Verdict, host: str) -> str:
    if verdict.to_free:
        name = host or "all servers together"
        return f"To get {name} out of BLOCK, free {verdict.to_free:,} tokens ≈"
    return " ".join(verdict.reasons) or f"{verdict.tokens:,} tokens ≈ of {verdict.budget.limit:,}"


def _of_host(size: HostSize, verdict: Verdict, plan: PrunePlan) -> list[str]:
    """Sentences on these proposals that follow from the host's mode."""
    lines = []
    if not plan.enough and size.mode != THROUGH:
        lines.append(_THROUGH.format(size.host, size.through))
    if size.mode == AS_IS:
        lines.append(_AS_IS.format(size.host))
        if freed := verdict.to_free - plan.needed:
            lines.append(_OFF_ALREADY.format(freed))
    return lines


def _offered(plan: PrunePlan, moves: Sequence[Move]) -> str:
    """Sentence that says if all offered moves are enough; "" without moves."""
    tools = [tool for move in moves for tool in move.tools]
    if not tools:
        return ""
    if plan.within(tools):
        return "All of these together are enough."
    return f"All of these together are not enough: that {_frees(plan, tools)}."


def _sum(plan: PrunePlan, tools: Sequence[CatalogTool]) -> str:
    """Total of the ticked tools against the tokens that have to go."""
    words = f"What is ticked {_frees(plan, tools)}"
    return f"{words}: enough." if plan.within(tools) else f"{words}: not enough yet."


def _frees(plan: PrunePlan, tools: Sequence[CatalogTool]) -> str:
    parts = []
    if plan.needed or not plan.needed_tools:
        parts.append(f"frees {sum(t.cost for t in tools):,} of {plan.needed:,} tokens ≈")
    if plan.needed_tools:
        parts.append(f"turns off {len(tools)} of {plural(plan.needed_tools, 'tool')}")
    return " and ".join(parts)
