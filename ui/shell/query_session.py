"""Asks queries in the background: the latest answer wins; meaning joins when it is loaded."""

from dataclasses import replace

from PySide6.QtCore import QObject, Signal

from app.catalog.catalog import Catalog
from app.core.context import AppContext, Db
from app.core.errors import ToolcribError
from app.core.settings import RoutingSettings
from app.encoder.onnx import Encoder
from app.indexing.indexer import Indexer
from app.ranking.host_ranking import host_ranking
from app.ranking.router import Router
from ui.shell.answer import Answer, rank_query
from ui.shell.tasks import Job, Tasks

LOADING, READY, OFF = "loading", "ready", "off"


class QuerySession(QObject):
    """The query in the field and its answer.

    Signals: answered(Answer); encoder_changed(state, detail) with loading, ready or off;
    failed(ToolcribError) when a query could not be answered.
    """

    answered = Signal(object)
    encoder_changed = Signal(str, str)
    failed = Signal(object)

    def __init__(self, tasks: Tasks, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._tasks = tasks
        self._catalog: Catalog | None = None
        self._encoder: Encoder | None = None
        self._router: Router | None = None
        self.settings = RoutingSettings()
        self._engine = ""
        self._query = ""
        self._version = 0  # of catalogue and encoder: routers of older ones are stale
        self.state = OFF
        self.step = ""  # of loading
        self.problem = ""  # why there is no encoder

    @property
    def encoder(self) -> Encoder | None:
        """The encoder, once it is loaded."""
        return self._encoder

    @property
    def query(self) -> str:
        """The last query."""
        return self._query

    @property
    def engine(self) -> str:
        """The host's search that ranks, "" for Toolcrib's own."""
        return self._engine

    def set_engine(self, engine: str) -> None:
        """Rank by this host's own search from now on, "" by Toolcrib's."""
        self._engine = engine
        self.submit(self._query)

    def set_catalog(self, catalog: Catalog) -> None:
        """Ask over this catalogue from now on."""
        self._catalog = catalog
        self.settings = catalog.settings.routing
        self._renew()

    def load_encoder(self) -> None:
        """Bring in the meaning scores; words answer until then."""
        if self._encoder is not None or self.state == LOADING:
            return
        self._set_state(LOADING, "")
        ctx = self._tasks.ctx
        self._tasks.work(
            lambda job: _load(ctx, job),
            self._on_encoder,
            failed=lambda problem: self._set_state(OFF, problem.title),
            progress=lambda step: self._set_state(LOADING, step),
        )

    def submit(self, query: str) -> None:
        """Rank all tools for a query; `answered` follows unless another question overtakes it."""
        self._query = query
        catalog, present = self._catalog, self._router
        encoder, settings, engine = self._encoder, self.settings, self._engine
        if catalog is None or not query:
            self._tasks.overtake(self)
            return
        version = self._version
        tried = replace(settings, learned=True)

        def score(db: Db) -> Answer:
            # past use is loaded whatever the settings say, so that it can be tried
            router = present or Router.from_store(db, catalog, tried, encoder)
            answer = rank_query(router, query, settings)
            if not engine:
                return answer
            ranked = host_ranking(catalog.tools, query)
            return replace(answer, ranked=ranked, engine=engine, moves={})

        self._tasks.latest(
            self, score, lambda answer: self._on_answer(version, answer), self.failed.emit
        )

    def _renew(self) -> None:
        self._version += 1
        self._router = None
        self.submit(self._query)

    def _on_encoder(self, encoder: Encoder) -> None:
        self._encoder = encoder
        self._set_state(READY, "")
        self._renew()

    def _on_answer(self, version: int, answer: Answer) -> None:
        if version == self._version:
            self._router = answer.router
        self.answered.emit(answer)

    def _set_state(self, state: str, detail: str) -> None:
        self.state = state
        self.step = detail if state == LOADING else ""
        self.problem = detail if state == OFF else ""
        self.encoder_changed.emit(state, detail)


def _load(ctx: AppContext, job: Job) -> Encoder:
    def progress(step: str, _share: float) -> None:
        if job.cancelled.is_set():
            raise ToolcribError("Stopped.")
        job.report(step)

    with ctx.store() as db:
        indexer = Indexer(ctx, db, progress=progress)
        return indexer.encoder(keep_going=lambda: not job.cancelled.is_set())
