"""The query set: labelled queries, what they find, and the calibration that follows."""

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtWidgets import QMenu, QWidget

from app.catalog.catalog import Catalog
from app.core.errors import ToolcribError
from app.core.text import plural
from app.ranking.learning.query_set import blob, digest
from store.records import RunRecord
from ui.look.theme import GAP
from ui.pages.query_set.actions import QuerySetActions
from ui.pages.query_set.calibration_panel import CalibrationPanel
from ui.pages.query_set.head import BAD, GOOD, QuerySetHead, count
from ui.pages.query_set.learning_line import LearningLine, sentence
from ui.pages.query_set.query_rows import REGRESSED, QueryRow, QueryView, outcome_of_run, rows_of
from ui.pages.query_set.run_session import Learned, RunSession
from ui.shell.calibration_curves import with_threshold
from ui.shell.query_session import LOADING, READY, QuerySession
from ui.shell.query_set import QuerySet
from ui.shell.routing_session import RoutingSession
from ui.shell.services import Services
from ui.widgets.boxes import boxed, splitter, stacked, vbox
from ui.widgets.empty_state import EmptyState
from ui.widgets.message_bar import DONE, INFO, MessageBar

_PROGRESS_MS = 50  # between two looks at a run: each shows every row anew


class QuerySetTab(QWidget):
    """Labels, their verdicts, calibration and learning.

    Signals: try_requested(query); regressed(number) after a run.
    """

    try_requested = Signal(str)
    regressed = Signal(int)

    def __init__(
        self,
        services: Services,
        queries: QuerySet,
        *,
        encoder: QuerySession,
        messages: MessageBar,
        routing: RoutingSession,
    ) -> None:
        super().__init__()
        theme = services.theme
        self.services, self.queries, self.messages = services, queries, messages
        self._encoder, self._routing = encoder, routing
        self._before: RunRecord | None = None  # the run that the last one is compared with
        self._stale = False  # queries, tools or weights are other than in the last run
        self._weights = routing.stored.word_weights
        self._ranked = _ranked(services.live.catalog)  # what the last run was about
        self._rows: list[QueryRow] = []  # all of them; the table may show those of one verdict
        self.session = RunSession(services.tasks, self)
        self.doing = QuerySetActions(services, queries, messages=messages, parent=self)
        self.editor = self.doing.editor
        self.head = QuerySetHead(theme)
        self.panel = CalibrationPanel(theme, self.session.target)
        self.view = QueryView(theme)
        self.learning = LearningLine(theme)
        self.empty = EmptyState(
            theme,
            icon="target",
            text="No labelled queries yet",
            hint="Say what you would ask and which tools it should find. From 20 queries on the"
            " threshold can be chosen by them, and rankings can learn from them.",
            buttons=(
                ("Add query…", self.doing.add),
                ("Import…", self.doing.import_file),
                ("Take from activity", self.doing.take_activity),
            ),
        )
        self._progress = QTimer(self, interval=_PROGRESS_MS, singleShot=True)
        self._progress.timeout.connect(self._show_progress)
        self._lay_out()
        self._connect()
        self._show()

    def main_view(self) -> QWidget:
        """The table, or the first button of the empty page."""
        return self.view if self.queries.labels else self.empty.buttons[0]

    def panes(self) -> tuple[QWidget, ...]:
        """Buttons, plot, table, learning."""
        if not self.queries.labels:
            return (self.empty.buttons[0],)
        plot = (self.panel.plot,) if self.panel.plot else ()
        return (self.head.add, *plot, self.view, self.learning.learn)

    def primary(self) -> None:
        """Press the emphasised button: use what is recommended, run, or add a query."""
        if not self.queries.labels:
            self.doing.add()
        elif self.panel.use.property("primary") and self.panel.isVisible():
            self.panel.use.click()
        else:
            self.head.run.click()

    def show_encoder(self) -> None:
        """The encoder loads, is there, or is not."""
        self._show_state()
        self.learning.set_ready(self._encoder.state == READY)

    def start(self) -> None:
        """Run the query set."""
        encoder = self._encoder.encoder
        if encoder is not None and not self.session.running:
            self.messages.clear()
            self._before = self.queries.runs[0] if self.queries.runs else None
            self._stale, self._weights = False, self._routing.stored.word_weights
            self._ranked = _ranked(self.services.live.catalog)
            self.session.run(self.queries.labels, encoder, self.services.live.profile)

    def _connect(self) -> None:
        live, session, actions = self.services.live, self.session, self.doing
        self.queries.changed.connect(self._on_queries)
        live.configured.connect(self._on_configured)
        live.loaded.connect(self._on_catalog)
        live.toggled.connect(lambda _ids: self._on_catalog())
        for button, call in (
            (self.head.add, actions.add),
            (self.head.import_, actions.import_file),
            (self.head.run, self.start),
            (self.head.cancel, session.cancel),
        ):
            button.clicked.connect(lambda _checked=False, press=call: press())
        self.head.filtered.connect(self._filter_rows)
        session.started.connect(self._on_started)
        session.progressed.connect(self._on_progressed)
        session.ended.connect(self._on_ended)
        session.stopped.connect(self._on_stopped)
        session.chosen.connect(self._show)
        session.learned.connect(self._on_learned)
        session.failed.connect(self._on_failed)
        self.panel.target_set.connect(lambda recall: session.aim(recall, self._routing.stored))
        self.panel.threshold_set.connect(self._set_threshold)
        self.panel.use.clicked.connect(self._use)
        self.panel.why.clicked.connect(
            lambda: self.messages.show_message(INFO, self.panel.reason())
        )
        self.view.edit_requested.connect(self._edit)
        self.view.delete_requested.connect(self._delete)
        self.view.try_requested.connect(self._try)
        self.learning.learn.clicked.connect(self._learn)
        self.learning.forget.clicked.connect(self._forget)

    def _on_queries(self) -> None:
        queries = {label.query.strip() for label in self.queries.labels}
        known = self.session.cases.keys() | self.session.unknown
        self._stale = not self.session.running and bool(known) and queries != known
        self._show()

    def _on_catalog(self) -> None:
        """Ticks, texts and summaries decide what a run finds; reading the same again does not."""
        ranked = _ranked(self.services.live.catalog)
        self._stale = self._stale or (bool(self.session.cases) and ranked != self._ranked)
        self._show()

    def _on_configured(self) -> None:
        if self.session.cases and self._routing.stored.word_weights != self._weights:
            self._stale = True
        self._show()
        self.session.aim(self.session.target, self._routing.stored)

    def _on_started(self) -> None:
        self._show()
        self.head.cancel.setFocus()

    def _on_progressed(self) -> None:
        if not self._progress.isActive():
            self._progress.start()

    def _show_progress(self) -> None:
        self.head.show_progress(*self.session.place)
        if self.session.running:
            self._show_rows()

    def _on_ended(self) -> None:
        self.queries.load()
        self._show_progress()
        self._show()
        rows = self._rows
        worse = count(rows, REGRESSED)
        self.regressed.emit(worse)
        self.services.show_status(
            f"{plural(len(self.session.cases), 'query')} run: {count(rows, *GOOD)} pass,"
            f" {count(rows, *BAD)} fail, {worse} regressed"
        )
        if self.isVisible():
            self.view.setFocus()

    def _on_stopped(self, done: int, total: int) -> None:
        self._stale = True
        self._show()
        self.messages.show_message(
            INFO,
            f"Stopped after {done} of {plural(total, 'query')}. What was asked is shown; no run was"
            " stored.",
            ("Run again", self.start),
        )

    def _on_failed(self, problem: ToolcribError) -> None:
        self.learning.set_busy(False)
        self._show()
        self.messages.error(problem, ("Try again", self.start))

    def _show(self) -> None:
        self._stack.setCurrentIndex(1 if self.queries.labels else 0)
        running = self.session.running
        calibration = None if running else self.session.calibration
        self.panel.show_calibration(calibration, self._routing.stored, self.session.outcomes)
        self.panel.setVisible(self.panel.best is not None)
        if running:
            self.head.show_progress(*self.session.place)
        self._show_rows()
        self._show_state()
        self.learning.show_state(self.queries.lessons, self.queries.learned, self.queries.lesson)

    def _show_rows(self) -> None:
        catalog, queries = self.services.live.catalog, self.queries
        # a step of the threshold comes here too: without labels it asks for no tool's cost
        tools = catalog.tools if catalog and queries.labels else ()
        costs = {row.tool.tool_id: row.cost for row in tools}
        outcomes = self.session.outcomes(self._routing.stored, costs)
        before, alone = self._before, self.session.alone
        if not self.session.cases and not self.session.running and queries.runs:
            before = queries.runs[1] if len(queries.runs) > 1 else None
            outcome_list = [
                outcome_of_run(queries.runs[0], label, costs) for label in queries.labels
            ]
            outcomes = {one.query: one for one in outcome_list if one is not None}
            alone = queries.runs[0].result.get("alone", {})
        unknown = frozenset(self.session.unknown)
        self._rows = rows_of(queries.labels, outcomes, before=before, unknown=unknown, alone=alone)
        self.head.show_rows(self._rows)
        self._filter_rows()

    def _filter_rows(self) -> None:
        """All rows, or those that the pressed badge counts."""
        wanted = self.head.wanted
        self.view.show_rows([r for r in self._rows if not wanted or r.verdict in wanted])

    def _show_state(self) -> None:
        ready, running = self._encoder.state == READY, self.session.running
        waits = self.panel.waits and not self._stale
        self.panel.stand_out(waits)
        self.head.show_state(
            self._hint(),
            running=running,
            can_run=ready and not running and bool(self.queries.labels),
            stands_out=not waits,
        )

    def _hint(self) -> str:
        if self._encoder.state == LOADING:
            return "The encoder is loading; the query set can run when it is there."
        if self._encoder.state != READY:
            return f"Running it needs the encoder. {self._encoder.problem}".strip()
        if self._stale:
            return "Queries, tools or weights have changed since this run. Run again to see it."
        if self.session.calibration is None:
            return "Run the query set to get a recommended threshold."
        return ""

    def _set_threshold(self, value: float) -> None:
        new = with_threshold(self._routing.stored, value)
        self._routing.push(new, f"Set threshold to {value:.2f}")

    def _use(self) -> None:
        calibration, best = self.session.calibration, self.panel.best
        if calibration is not None and best is not None:
            new = calibration.settings(self._routing.stored)
            self._routing.push(new, f"Set threshold to {best:.2f} (recommended)")

    def _edit(self) -> None:
        if self.view.chosen:
            self.doing.edit(self.view.chosen[0])

    def _delete(self) -> None:
        self.editor.delete(self.view.chosen)

    def _try(self) -> None:
        if self.view.chosen:
            self.try_requested.emit(self.view.chosen[0].query)

    def _learn(self) -> None:
        encoder = self._encoder.encoder
        if encoder is not None:
            self.learning.set_busy(True)
            self.session.learn(encoder, self.services.live.profile)

    def _on_learned(self, learned: Learned) -> None:
        self.learning.show_report(learned.report, digest(learned.after))
        self.learning.set_busy(False)
        kind = DONE if learned.report.used else INFO
        self.messages.show_message(kind, sentence(learned.report))
        self.editor.keep(learned)
        self.queries.load()

    def _forget(self) -> None:
        self.services.tasks.request(blob, self._on_blob)

    def _on_blob(self, stored: tuple[str, bytes] | None) -> None:
        if stored is not None:
            self.editor.forget(stored)

    def _lay_out(self) -> None:
        menu = QMenu(self.head.more)
        menu.addAction("Take from activity", self.doing.take_activity)
        menu.addAction("Take from host records", self.doing.take_records)
        menu.addAction("Export…", self.doing.export_file)
        menu.addSeparator()
        menu.addAction("Edit query…", self._edit)
        menu.addAction("Delete query", self._delete)
        menu.addAction("Try this query", self._try)
        self.head.more.setMenu(menu)
        split = splitter(
            Qt.Orientation.Vertical,
            self.panel,
            self.view,
            name="queriesSplit",
            gap=GAP,
            sizes=(320, 220),
        )
        self._stack = stacked(self.empty, boxed(vbox(self.head, (split, 1), self.learning)))
        vbox(self._stack, inside=self)


def _ranked(catalog: Catalog | None) -> frozenset[tuple[int, str, str, bool]]:
    """Parts of each tool that a ranking depends on: its text, its summary, and where it may go."""
    tools = catalog.tools if catalog else ()
    return frozenset((t.tool.id, t.tool.hash, t.summary, t.shown) for t in tools)
