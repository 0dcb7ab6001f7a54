"""Ticks of one server that keep the profile in its budget: proposed, changed by hand, applied."""

from collections.abc import Sequence

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QHeaderView, QTreeWidget, QTreeWidgetItem, QWidget

from app.catalog.catalog import Catalog, CatalogTool, load_catalog
from app.core.context import AppContext
from app.core.text import plural
from app.encoder.weights import ready_model
from app.policy.budget import Budget, Verdict, verdict
from app.policy.fitting import Fit, fit
from ui.look.theme import ROW, Theme
from ui.shell.actions import Tick
from ui.shell.services import Services
from ui.shell.tasks import Job
from ui.widgets.delegates import RowDelegate
from ui.widgets.form_dialog import FormDialog
from ui.widgets.label import PlainLabel

_COLUMNS = ("Tool", "Tokens ≈", "")
_NUMBER = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
_HELD = "Its tools wait in Review until you approve them; the ticks count from then on."


def propose(ctx: AppContext, profile: str, server: str) -> tuple[Catalog, Fit, str]:
    """The catalogue, the proposal, and the search that found the server ("" for none)."""
    from app.encoder.onnx import Encoder  # not for the window's start
    from app.ranking.ranked import Request
    from app.ranking.router import Router
    from store import market

    with ctx.store() as db:
        catalog = load_catalog(db, profile, ctx.settings.encoding)
        record = catalog.server(server)
        install = market.installs(db).get(record.id) if record else None
        query = install.query if install else ""
        order: list[int] = []
        if query:
            files = ready_model(ctx.paths, ctx.settings.model)
            encoder = Encoder.shared(ctx, files) if files else None
            ranked = Router.from_store(db, catalog, encoder=encoder).route(Request(query))
            order = [one.id for one in ranked.tools]
        return catalog, fit(catalog, server, order), query


class FitDialog(FormDialog):
    """The tools of one server, best first, ticked as proposed; the sum follows each tick."""

    applied = Signal(str)  # a sentence

    def __init__(
        self, services: Services, made: Fit, query: str, parent: QWidget | None = None
    ) -> None:
        super().__init__(f"Fit {made.server} in the budget", "Apply", parent)
        self._services, self._made = services, made
        self._tools: Sequence[CatalogTool] = (*made.on, *made.off)
        self.about = PlainLabel(made.text, wrap=True)
        first = f"First those for “{query}”." if query else "Small ones first."
        held = _HELD if any(tool.held for tool in self._tools) else ""
        self.note = PlainLabel(f"{first} {held}".strip(), wrap=True, look="faint")
        self.sum = PlainLabel()
        self.list = self._make_list(services.theme)
        self.lay_out(self.about, self.note, self.list, self.sum)
        self.list.itemChanged.connect(self._show_sum)
        self._show_sum()
        self.resize(services.theme.scaled(560), services.theme.scaled(480))

    def _make_list(self, theme: Theme) -> QTreeWidget:
        tree = QTreeWidget(columnCount=len(_COLUMNS))
        tree.setAccessibleName("Tools of the server")
        tree.setHeaderLabels(_COLUMNS)
        tree.headerItem().setTextAlignment(1, _NUMBER)
        tree.setRootIsDecorated(False)
        tree.setUniformRowHeights(True)
        tree.setItemDelegate(RowDelegate(theme, ROW, tree))
        doubles = dict(self._made.doubles)
        for tool in self._tools:
            other = doubles.get(tool.tool.name, "")
            note = "pinned" if tool.pinned else f"like {other}" if other else ""
            item = QTreeWidgetItem([tool.tool.name, f"{tool.cost:,}", note])
            item.setFlags(item.flags() | Qt.ItemFlag.ItemIsUserCheckable)
            on = tool in self._made.on
            item.setCheckState(0, Qt.CheckState.Checked if on else Qt.CheckState.Unchecked)
            item.setTextAlignment(1, _NUMBER)
            tree.addTopLevelItem(item)
        for column, width in ((1, 90), (2, 150)):
            tree.header().resizeSection(column, theme.scaled(width))
        tree.header().setStretchLastSection(False)
        tree.header().setSectionResizeMode(0, QHeaderView.ResizeMode.Stretch)
        return tree

    @property
    def chosen(self) -> tuple[CatalogTool, ...]:
        """The ticked tools."""
        return tuple(
            tool
            for place, tool in enumerate(self._tools)
            if (item := self.list.topLevelItem(place)) is not None
            and item.checkState(0) == Qt.CheckState.Checked
        )

    @property
    def verdict(self) -> Verdict:
        """The budget with what is ticked."""
        base, chosen = self._made.without, self.chosen
        tokens = base.tokens + sum(tool.cost for tool in chosen)
        return verdict(tokens, base.tools + len(chosen), base.budget)

    def press(self) -> None:
        """Tick so, as one step that can be taken back."""
        chosen = self.chosen
        others = [tool for tool in self._tools if tool not in chosen]
        undo, live = self._services.undo, self._services.live
        undo.beginMacro(f"Fit {self._made.server} in the budget")
        undo.push(Tick(live, chosen, True))
        undo.push(Tick(live, others, False))
        undo.endMacro()
        word = plural(len(chosen), "tool")
        self.accept()
        self.applied.emit(f"{word} of {self._made.server} on: {sums(self.verdict)}.")

    def _show_sum(self) -> None:
        self.sum.setText(f"With {plural(len(self.chosen), 'ticked tool')}: {sums(self.verdict)}.")


def sums(one: Verdict) -> str:
    """A verdict with its numbers, as PASS, 400 of 20,000 tokens."""
    budget: Budget = one.budget
    cap = f", {one.tools} of {budget.max_tools} tools" if budget.max_tools else ""
    return f"{one.word}, {one.tokens:,} of {budget.limit:,} tokens{cap}"


def open_fit(services: Services, server: str, parent: QWidget) -> None:
    """Work the proposal out, and show it."""
    ctx, profile = services.ctx, services.live.profile

    def work(_job: Job) -> tuple[Catalog, Fit, str]:
        return propose(ctx, profile, server)

    def show(answer: tuple[Catalog, Fit, str]) -> None:
        _catalog, made, query = answer
        dialog = FitDialog(services, made, query, parent)
        dialog.applied.connect(services.show_status)
        dialog.open()

    services.tasks.wait(work, show, failed=services.show_error, owner=parent)
