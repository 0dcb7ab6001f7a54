"""Ticks of one server that keep the profile in its budget: proposed, changed by hand, applied."""

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QTreeView, QWidget

from app.catalog.catalog import Catalog, CatalogTool, load_catalog
from app.core.context import AppContext
from app.core.text import plural
from app.encoder.weights import ready_model
from app.policy.budget import Budget, Verdict, verdict
from app.policy.fitting import Fit, fit
from ui.shell.actions import Tick
from ui.shell.services import Services
from ui.shell.tasks import Job
from ui.widgets.columns import Column
from ui.widgets.form_dialog import FormDialog
from ui.widgets.label import PlainLabel
from ui.widgets.named import named
from ui.widgets.row_table import TickTable
from ui.widgets.rows import as_table

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


class FitTable(TickTable[CatalogTool]):
    """The tools of one server, best first."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(
            (
                Column("Tool", lambda tool: tool.tool.name),
                Column("Tokens ≈", lambda tool: f"{tool.cost:,}", width=90, right=True),
                Column("Note", self._note, width=150),
            ),
            parent,
        )
        self._on: set[int] = set()
        self._doubles: dict[str, str] = {}

    def show(self, made: Fit) -> None:
        """Show a proposal with its ticks."""
        self._on = {tool.tool.id for tool in made.on}
        self._doubles = dict(made.doubles)
        self.replace_rows((*made.on, *made.off))

    @property
    def chosen(self) -> tuple[CatalogTool, ...]:
        """The ticked tools."""
        return tuple(tool for tool in self._rows if tool.tool.id in self._on)

    def is_ticked(self, number: int) -> bool:
        """True if the tool is to be on."""
        return self._rows[number].tool.id in self._on

    def tick(self, number: int, on: bool) -> None:
        """Have a tool on, or off."""
        tool = {self._rows[number].tool.id}
        self._on = self._on | tool if on else self._on - tool

    def _note(self, tool: CatalogTool) -> str:
        other = self._doubles.get(tool.tool.name, "")
        return "pinned" if tool.pinned else f"like {other}" if other else ""


class FitDialog(FormDialog):
    """The tools of one server, best first, ticked as proposed; the sum follows each tick."""

    applied = Signal(str)  # a sentence

    def __init__(
        self, services: Services, made: Fit, query: str, parent: QWidget | None = None
    ) -> None:
        super().__init__(f"Fit {made.server} in the budget", "Apply", parent)
        self._services, self._made = services, made
        self.model = FitTable(self)
        self.model.show(made)
        self.about = PlainLabel(made.text, wrap=True)
        first = f"First those for “{query}”." if query else "Small ones first."
        held = _HELD if any(tool.held for tool in self.model.rows) else ""
        self.note = PlainLabel(f"{first} {held}".strip(), wrap=True, look="faint")
        self.sum = PlainLabel()
        view = named(QTreeView(), "Tools of the server")
        self.list = as_table(view, self.model, services.theme)
        self.lay_out(self.about, self.note, self.list, self.sum)
        self.model.dataChanged.connect(lambda *_: self._show_sum())
        self._show_sum()
        self.fit(services.theme, 560, 480)

    @property
    def chosen(self) -> tuple[CatalogTool, ...]:
        """The ticked tools."""
        return self.model.chosen

    @property
    def verdict(self) -> Verdict:
        """The budget with what is ticked."""
        base, chosen = self._made.without, self.chosen
        tokens = base.tokens + sum(tool.cost for tool in chosen)
        return verdict(tokens, base.tools + len(chosen), base.budget)

    def press(self) -> None:
        """Tick so, as one step that can be taken back."""
        chosen = self.chosen
        others = [tool for tool in self.model.rows if tool not in chosen]
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
