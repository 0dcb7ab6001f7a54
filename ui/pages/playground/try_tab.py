"""Try a query: every tool's score, and why each one is in or out."""

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QWidget

from app.catalog.catalog import CatalogTool
from app.core.context import Db
from app.core.errors import ToolcribError
from app.ranking import phrases
from app.ranking.ranked import RankedTool
from app.ranking.tool_search import ENGINE
from ui.look.text import short
from ui.look.theme import GAP
from ui.pages.playground.controls import PlaygroundControls
from ui.pages.playground.empty import PlaygroundEmpty
from ui.pages.playground.examples import example_queries
from ui.pages.playground.explain_card import ExplainCard
from ui.pages.playground.model_sees import ModelSees
from ui.pages.playground.model_text import LoadedModels, model_text
from ui.pages.playground.not_installed import NotInstalled
from ui.pages.playground.query_field import QueryField
from ui.pages.playground.strip import StripHolder
from ui.pages.playground.table import CandidateTable
from ui.pages.playground.weights_dialog import WeightsDialog
from ui.shell.answer import Answer, scored_by
from ui.shell.query_session import LOADING, OFF, QuerySession
from ui.shell.query_set import QuerySet
from ui.shell.routing_session import RoutingSession
from ui.shell.services import Services
from ui.shell.summaries import edit_summary
from ui.shell.tool_menu import add_tool_menu, named_tool
from ui.widgets.boxes import boxed, hbox, splitter, stacked, vbox
from ui.widgets.elided import ElidedChoice
from ui.widgets.message_bar import INFO, WARN, MessageBar
from ui.widgets.named import named
from ui.widgets.push_button import Press, push_button

if TYPE_CHECKING:
    from app.indexing.request_writer import MissingRequests

SIDE = 310  # px of the explain card
_ENGINE_LETTERS = 12  # shown at least


class TryTab(QWidget):
    """One query and its answer.

    Signals: result(text) for the status bar; expected(query, tool id, yes or no) by the user.
    """

    result = Signal(str)
    expected = Signal(str, str, bool)

    def __init__(
        self,
        services: Services,
        queries: QuerySet,
        *,
        messages: MessageBar,
        routing: RoutingSession,
    ) -> None:
        super().__init__()
        theme = services.theme
        self.services, self.queries, self.messages = services, queries, messages
        self.session = QuerySession(services.tasks, self)
        self.editor = routing
        self._note = ""  # in the message bar, about the encoder or the answer
        self._loaded_models = LoadedModels()  # for what a prompt's hook would add
        self._learned = ""  # what the answers in view were made with
        self.answer: Answer | None = None
        self.query = QueryField(theme)
        theme.dress(self.query, 2)
        self.run = theme.heading(push_button("Run", look="primary"), 0)
        tip = "Toolcrib's ranking, or what a host finds by itself without it."
        self.engine = named(ElidedChoice(_ENGINE_LETTERS), "Ranked by", name="playEngine", tip=tip)
        for words, engine in (("Toolcrib", ""), (ENGINE, ENGINE)):
            self.engine.addItem(words, engine)
        self.controls = PlaygroundControls(theme)
        self.strip = StripHolder(theme)
        self.not_installed = NotInstalled(services, lambda: self.session.encoder)
        self.table = CandidateTable(theme)
        self.explain = ExplainCard(theme)
        self.sees = ModelSees(theme)
        self.empty = PlaygroundEmpty(theme)
        theme.put_icon(self.run, "play", "on_accent")
        self._lay_out()
        self._connect()
        self._take_catalog()

    def main_view(self) -> QWidget:
        """The table once there is an answer, the query until then."""
        return self.table.view if self._is_ranked else self.query

    def panes(self) -> tuple[QWidget, ...]:
        """Query, strip, table, side."""
        side = self.sees.text_view if self.controls.sees.isChecked() else self.explain.button
        strip = (self.strip.plot,) if self.strip.plot else ()
        return (self.query, *strip, self.table.view, side)

    def focus_filter(self) -> None:
        """Ctrl+F goes to "why is X not here?"."""
        self.table.filter.setFocus()

    def primary(self) -> None:
        """Run the query."""
        self.query.submit()

    def escape(self) -> bool:
        """Clear the filter, then close the side sheet."""
        if self.table.filter.text():
            self.table.filter.clear()
            return True
        if self.controls.sees.isChecked():
            self.controls.sees.setChecked(False)
            return True
        return False

    def explain_tool(self, row_id: int) -> None:
        """Show why this tool is in or out, for the query in the field or one of its own."""
        row = self.services.live.tool(row_id)
        if row is None:
            return
        self.table.filter.setText(row.tool.tool_id)
        if not self.query.text().strip():
            self.query.submit_query(row.summary or row.tool.name)

    def wake(self) -> None:
        """Load the encoder, if it is not loaded yet."""
        if self.session.state == OFF and not self.session.problem:
            self.session.load_encoder()

    def showEvent(self, event: QShowEvent) -> None:
        """The first time: bring in the plot, once the page itself is there."""
        super().showEvent(event)
        QTimer.singleShot(0, self, self._show_strip)

    def _show_strip(self) -> None:
        self.strip.build()
        if self.answer is not None:
            self._show(self.answer)

    def _named(self) -> list[CatalogTool]:
        current = self.table.current
        return named_tool(self.services, current.tool_id) if current is not None else []

    def _connect(self) -> None:
        live, theme = self.services.live, self.services.theme
        self.query.submitted.connect(self._submit)
        self.run.clicked.connect(self.query.submit)
        self.engine.activated.connect(lambda _row: self._set_engine())
        self.session.answered.connect(self._on_answered)
        self.session.failed.connect(self._on_failed)
        self.session.encoder_changed.connect(lambda _state, _detail: self.show_encoder())
        self.controls.threshold_set.connect(lambda v: self.editor.set_threshold(v, self.answer))
        self.controls.k_set.connect(self.editor.set_k)
        self.controls.weights.clicked.connect(self._open_weights)
        self.controls.cut_set.connect(self.editor.set_cut)
        self.editor.changed.connect(self._show_step)
        self.controls.sees_toggled.connect(self._show_sees)
        self.sees.host_chosen.connect(lambda _host: self._fill_sees())
        self.sees.closed.connect(lambda: self.controls.sees.setChecked(False))
        self.strip.moved.connect(self._preview)
        self.strip.settled.connect(lambda v: self.editor.set_threshold(v, self.answer))
        self.strip.picked.connect(self.table.choose)
        self.table.chosen.connect(self._explain)
        add_tool_menu(self.table.view, self.services, self._named)
        self.explain.cure_wanted.connect(self.editor.cure)
        self.explain.label_wanted.connect(self._label)
        self.explain.summary_wanted.connect(self._edit_summary)
        self.controls.learned_set.connect(self.editor.set_learned)
        self.queries.changed.connect(self._on_queries)
        self.empty.example_chosen.connect(self.query.submit_query)
        self.empty.catalog.clicked.connect(lambda: self.services.open_page("catalog"))
        self.empty.write.clicked.connect(self._want_requests)
        self.not_installed.wanted.connect(self._want_servers)
        live.loaded.connect(self._take_catalog)
        live.toggled.connect(lambda _ids: self._take_catalog())
        live.configured.connect(self._on_configured)
        theme.changed.connect(self._recolor)

    def _submit(self, query: str, _at_once: bool) -> None:
        self.session.submit(query)
        if not query:
            self.answer = None
            self._show_state()

    def _set_engine(self) -> None:
        engine = str(self.engine.currentData())
        self.controls.show_engine(engine)
        self.strip.setVisible(not engine)  # a host's search has no threshold to drag
        self.session.set_engine(engine)

    def _take_catalog(self) -> None:
        catalog = self.services.live.catalog
        if catalog is None:
            return
        self.controls.show_settings(catalog.settings.routing)
        self.session.set_catalog(catalog)
        self.empty.show_examples(example_queries(catalog.tools))
        self._show_state()
        self._look_for_requests()

    def _look_for_requests(self) -> None:
        profile = self.services.live.profile
        self.services.tasks.latest(
            "lacking requests",
            lambda db: _lacking(db, profile),
            lambda lacks: self.empty.show_lacking(lacks.sentence if lacks.tools else ""),
            owner=self,
        )

    def _want_requests(self) -> None:
        self.services.open_page("catalog")
        self.services.live.requests_wanted.emit()

    def _want_servers(self, query: str) -> None:
        self.services.open_page("catalog")
        self.services.live.servers_wanted.emit(query)

    def _on_configured(self) -> None:
        catalog = self.services.live.catalog
        if catalog is None:
            return
        routing = catalog.settings.routing
        scores_change = scored_by(routing) != scored_by(self.session.settings)
        if scores_change:
            self.session.set_catalog(catalog)
        self.session.settings = routing
        if self.answer is None:
            self.controls.show_settings(routing)
        elif not scores_change:
            self._show(self.answer.judged(routing))

    def _on_answered(self, answer: Answer) -> None:
        settings = self.session.settings
        self._show(answer if answer.settings == settings else answer.judged(settings))
        self._show_state()
        self.show_encoder()

    def _on_failed(self, problem: ToolcribError) -> None:
        self.messages.error(problem, ("Try again", self.query.submit))

    def _show(self, answer: Answer) -> None:
        self.answer = answer
        live = self.services.live
        self.controls.show_answer(answer, live.total)
        self.strip.show_answer(answer, self.queries.expected(answer.ranked.query))
        self.table.show_answer(answer)
        fits = bool(answer.engine or answer.ranked.shown or answer.ranked.best_off)
        self.not_installed.show_for("" if fits else answer.ranked.query)
        if self.controls.sees.isChecked():
            self._fill_sees()
        shown, tools = len(answer.ranked.shown), len(answer.ranked.tools)
        counts = f"{shown} of {tools:,} tools in, {short(answer.ranked.tokens)} ≈"
        self.result.emit(counts if tools else "No tool was ranked")

    @property
    def _is_ranked(self) -> bool:
        """True if there is an answer and it has candidates."""
        return self.answer is not None and bool(self.answer.ranked.tools)

    def _show_state(self) -> None:
        catalog = self.services.live.catalog
        if catalog is None or not catalog.tools:
            self.empty.show_no_tools()
        else:
            self.empty.show_unranked(self.answer is not None and not self._is_ranked)
        self._stack.setCurrentIndex(int(self._is_ranked))

    def show_encoder(self) -> None:
        """Say that the encoder loads or is not there; clears only what was said here."""
        state, detail = self.session.state, self.session.problem
        if self.answer is not None and self.answer.engine:
            self._show_note(INFO, self._answer_note())  # a host compares words only
        elif state == LOADING:
            step = f" ({self.session.step})" if self.session.step else ""
            self._show_note(INFO, f"Meaning scores are loading{step}. Words only until then.")
        elif state == OFF and detail:
            again = ("Try again", self.session.load_encoder)
            self._show_note(WARN, f"Meaning scores are off: {detail} Words only.", again)
        elif (note := self._answer_note()) and self.isVisible():
            self._show_note(INFO, note)
        elif self._note and self.messages.text == self._note:
            self.messages.clear()

    def _answer_note(self) -> str:
        """Sentence on the whole answer, with the best tool of each step."""
        if self.answer is None or not self._is_ranked:
            return ""  # the page itself says it
        ranked = self.answer.ranked
        notes = [phrases.best_off(ranked), ranked.note, phrases.steps(ranked)]
        return " ".join(filter(None, notes))

    def _show_note(self, kind: str, text: str, *buttons: Press) -> None:
        self._note = text
        self.messages.show_message(kind, text, *buttons)

    def _preview(self, value: float) -> None:
        if self.answer is not None:
            self._show(self.answer.judged(self.answer.moved_to(value)))

    def _show_step(self, text: str) -> None:
        if self.answer is not None:
            shown, tools = len(self.answer.ranked.shown), len(self.answer.ranked.tools)
            self.services.show_status(f"{text}: {shown} in, {tools - shown} out")

    def _explain(self, tool: RankedTool | None) -> None:
        if tool is None or self.answer is None:
            self.explain.clear()
            return
        row = self.services.live.tool(tool.id)
        description = row.tool.description if row else ""
        labelled = tool.tool_id in self.queries.expected(self.answer.ranked.query)
        self.explain.show_tool(tool, self.answer, description, labelled=labelled)

    def _label(self, tool: RankedTool, expected: bool) -> None:
        if self.answer is not None:
            self.expected.emit(self.answer.ranked.query, tool.tool_id, expected)

    def _edit_summary(self, tool: RankedTool) -> None:
        row = self.services.live.tool(tool.id)
        if row is not None:
            edit_summary(self.services, row, self)

    def _open_weights(self) -> None:
        dialog = WeightsDialog(self.editor.stored, self)
        dialog.given.connect(self.editor.push)
        dialog.open()

    def _on_queries(self) -> None:
        learned = self.queries.learned
        self.controls.show_past_use(bool(learned))
        if learned != self._learned:
            self._learned = learned
            self._take_catalog()  # its router has what was learned before
        elif self.answer is not None:
            self._show(self.answer)

    def _show_sees(self, shown: bool) -> None:
        self._side.setCurrentIndex(1 if shown else 0)
        width = self._split.width()
        wide = max(SIDE, width // 2) if shown else SIDE
        self._split.setSizes([width - wide, wide])
        if shown:
            self._fill_sees()
            self.sees.text_view.setFocus(Qt.FocusReason.OtherFocusReason)

    def _fill_sees(self) -> None:
        """Show what the chosen host's model gets; worked out by a gateway that starts nothing."""
        live, hosts, answer = self.services.live, self.services.hosts, self.answer
        catalog = live.catalog
        if answer is None or catalog is None:
            return
        self.sees.show_hosts(hosts.sizes, hosts.size.facts.id if hosts.size else "")
        chosen = self.sees.host_id
        size = next((size for size in hosts.sizes if size.facts.id == chosen), None)
        database, query = self.services.ctx.paths.database, answer.ranked.query
        encoder, loaded_models = self.session.encoder, self._loaded_models
        self.services.tasks.latest(
            self.sees,
            lambda _db: model_text(
                database, catalog, size, query=query, encoder=encoder, loaded_models=loaded_models
            ),
            self.sees.show_text,
            self.messages.error,
        )

    def _recolor(self) -> None:
        if self.answer is not None:
            self.explain.clear()  # its marks have the other theme's colour
            self._explain(self.table.current)

    def _lay_out(self) -> None:
        top = hbox((self.query, 1), self.engine, self.run)
        self._side = stacked(self.explain, self.sees)
        self._split = splitter(
            Qt.Orientation.Horizontal,
            (self.table, 1),
            self._side,
            name="trySplit",
            gap=GAP,
            sizes=(700, SIDE),
        )
        tried = boxed(vbox(self.strip, self.not_installed, (self._split, 1)))
        self._stack = stacked(self.empty, tried)
        vbox(top, self.controls, (self._stack, 1), inside=self)


def _lacking(db: Db, profile: str) -> "MissingRequests":
    from app.indexing.request_writer import find_missing_requests  # ssl and http: off the Qt thread

    return find_missing_requests(db, profile)
