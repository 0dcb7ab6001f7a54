"""Runs the query set in the background; other settings and targets need no second run."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from PySide6.QtCore import QObject, Signal

from app.catalog.catalog import load_catalog
from app.core.context import AppContext
from app.core.errors import ToolcribError
from app.core.settings import RoutingSettings
from app.encoder.onnx import Encoder
from app.ranking.floor import own_chit_chat
from app.ranking.host_ranking import found_alone
from app.ranking.learning.calibrate import Calibration, Prepared, choose, prepare
from app.ranking.learning.cases import Case, Outcome, Progress, make_cases, nearest_iso, outcome
from app.ranking.learning.learn import LearnReport
from app.ranking.learning.query_set import blob, learn_from_all, summed_up
from app.ranking.learning.runs import save_run
from app.ranking.router import Router
from store.records import LabelRecord
from ui.shell.tasks import Job, Tasks

# By F1 alone a loose query set asks for so strict a threshold that many queries lose their tools
TARGET = 0.9


@dataclass(frozen=True, slots=True)
class Learned:
    """A training's report, with what was stored before and after it."""

    report: LearnReport
    before: tuple[str, bytes] | None
    after: tuple[str, bytes] | None


@dataclass(frozen=True, slots=True)
class _JobInputs:
    """Inputs of a run in the background."""

    ctx: AppContext
    profile: str
    encoder: Encoder
    target: float


class RunSession(QObject):
    """The labelled queries with what the router finds for them.

    Signals: started(); progressed(done, total); ended() after a run; stopped(done, total) after
    Cancel; chosen() when a calibration is there; learned(Learned); failed(ToolcribError).
    """

    started = Signal()
    progressed = Signal(int, int)
    ended = Signal()
    stopped = Signal(int, int)
    chosen = Signal()
    learned = Signal(object)
    failed = Signal(object)

    def __init__(self, tasks: Tasks, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._tasks = tasks
        self.cases: dict[str, Case] = {}  # by query, of the last run or the one under way
        self.unknown: set[str] = set()  # queries none of whose tools this catalogue has
        self.alone: Mapping[str, bool] = {}  # by query, whether a host's own search finds a tool
        self.calibration: Calibration | None = None
        self.target = TARGET  # recall to reach, 0: the best F1
        self._prepared: Prepared | None = None
        self._job: Job | None = None
        self._place = (0, 0)
        self._number = 0  # number of the latest choice: older ones are stale

    @property
    def running(self) -> bool:
        """True while a run is under way."""
        return self._job is not None

    @property
    def place(self) -> tuple[int, int]:
        """Queries done, of how many."""
        return self._place

    def outcomes(
        self, settings: RoutingSettings, costs: Mapping[str, int] | None = None
    ) -> dict[str, Outcome]:
        """Outcome of each query under these settings; `costs` are tokens by tool id."""
        prices = costs or {}
        return {query: outcome(case, settings, prices) for query, case in self.cases.items()}

    def run(self, labels: Sequence[LabelRecord], encoder: Encoder, profile: str) -> None:
        """Ask every labelled query, calibrate, and store the run."""
        if self._job is not None:
            return
        inputs = _JobInputs(self._tasks.ctx, profile, encoder, self.target)
        self.cases, self.unknown, self._place = {}, set(), (0, len(labels))
        self.alone = {}
        self._job = self._tasks.work(
            lambda job: _run(inputs, labels, job),
            self._on_run,
            failed=self._on_failed,
            progress=self._on_progress,
        )
        self.started.emit()

    def cancel(self) -> None:
        """Stop; what was asked already stays."""
        if self._job is not None:
            self._job.cancel()

    def aim(self, target: float, settings: RoutingSettings) -> None:
        """Choose again for a recall target, or under other settings, without asking again."""
        self.target = target
        prepared = self._prepared
        if prepared is None or self._job is not None:
            return
        self._number += 1
        number = self._number
        self._tasks.work(
            lambda _job: choose(prepared, settings, target_recall=target, least=1),
            lambda calibration: self._on_chosen(number, calibration),
            failed=self.failed.emit,
        )

    def learn(self, encoder: Encoder, profile: str) -> None:
        """Learn from labels and activity in the background."""
        inputs = _JobInputs(self._tasks.ctx, profile, encoder, 0.0)
        self._tasks.work(lambda _job: _learn(inputs), self.learned.emit, failed=self.failed.emit)

    def _on_progress(self, progress: Progress) -> None:
        if progress.case is None:
            self.unknown.add(progress.query)
        else:
            self.cases[progress.query] = progress.case
        self._place = (progress.done, progress.total)
        self.progressed.emit(*self._place)

    def _on_run(self, outcome: tuple[Prepared, Calibration, Mapping[str, bool]]) -> None:
        self._job = None
        self._number += 1
        self._prepared, self.calibration, self.alone = outcome
        self.ended.emit()
        self.chosen.emit()

    def _on_chosen(self, number: int, calibration: Calibration) -> None:
        if number == self._number:
            self.calibration = calibration
            self.chosen.emit()

    def _on_failed(self, problem: ToolcribError) -> None:
        job, self._job = self._job, None
        if job is not None and job.cancelled.is_set():
            self.stopped.emit(*self._place)
        else:
            self.failed.emit(problem)


def _run(
    inputs: _JobInputs, labels: Sequence[LabelRecord], job: Job
) -> tuple[Prepared, Calibration, Mapping[str, bool]]:
    """A whole run on a connection of its own; stores what passes under the present settings."""

    def tell(progress: Progress) -> None:
        job.report(progress)
        _stop_if(job)

    with inputs.ctx.store() as db:
        catalog = load_catalog(db, inputs.profile, inputs.ctx.settings.encoding)
        routing = catalog.settings.routing
        router = Router.from_store(db, catalog, routing, inputs.encoder)
        cases, unknown = make_cases(router, labels, tell=tell)
        chit_chat = []
        for query in own_chit_chat():
            chit_chat.append(nearest_iso(router, query))
            _stop_if(job)
        prepared = prepare(cases, unknown, chit_chat)
        calibration = choose(prepared, routing, target_recall=inputs.target, least=1)
        costs = {row.tool.tool_id: row.cost for row in catalog.tools}
        outcomes = [outcome(case, routing, costs) for case in cases]
        passed = {one.query: one.passed for one in outcomes}
        alone = found_alone(catalog.tools, {case.query: case.expected for case in cases})
        save_run(
            db,
            replace(calibration, passed=passed),
            routing,
            model=inputs.encoder.key,
            clock=inputs.ctx.clock,
            detail={**summed_up(outcomes), "alone": alone},
        )
    return prepared, calibration, alone


def _stop_if(job: Job) -> None:
    if job.cancelled.is_set():
        raise ToolcribError("Stopped.")


def _learn(inputs: _JobInputs) -> Learned:
    with inputs.ctx.store() as db:
        catalog = load_catalog(db, inputs.profile, inputs.ctx.settings.encoding)
        router = Router.from_store(db, catalog, catalog.settings.routing, inputs.encoder)
        before = blob(db)
        report = learn_from_all(db, router, clock=inputs.ctx.clock)
        return Learned(report, before, blob(db))
