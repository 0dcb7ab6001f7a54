"""Asks queries in the background: the latest answer wins; meaning joins when it is loaded."""

from dataclasses import replace

from PySide6.QtCore import QObject, Signal

from app.catalog import Catalog
from app.context import AppContext, Db
from app.discovery.index import Indexer
from app.encoder.onnx import Encoder
from app.errors import ToolcribError
from app.routing.router import Router
from app.settings import RoutingSettings
from ui.models.answer import Answer, ask
from ui.tasks import Job, Tasks

LOADING, READY, OFF = "loading", "ready", "off"


class PlaygroundSession(QObject):
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
        self._query = ""
        self._asked = 0  # number of the latest question: older answers are stale
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
        """What was asked last."""
        return self._query

    def set_catalog(self, catalog: Catalog) -> None:
        """Ask over this catalogue from now on."""
        self._catalog = catalog
        self.settings = catalog.settings.routing
        self._renew()

    def load_encoder(self) -> None:
        """Bring in the meaning scores; words answer until then."""
        if self._encoder is not None or self.state == LOADING:
            return
        self._tell(LOADING, "")
        ctx = self._tasks.ctx
        self._tasks.work(
            lambda job: _load(ctx, job),
            self._on_encoder,
            failed=lambda problem: self._tell(OFF, problem.title),
            progress=lambda step: self._tell(LOADING, step),
        )

    def ask(self, query: str) -> None:
        """Rank all tools for a query; `answered` follows unless another question overtakes it."""
        self._asked += 1
        self._query = query
        catalog, known = self._catalog, self._router
        encoder, settings = self._encoder, self.settings
        if catalog is None or not query:
            return
        number, version = self._asked, self._version
        tried = replace(settings, learned=True)

        def score(db: Db) -> Answer:
            # past use is loaded whatever the settings say, so that it can be tried
            router = known or Router.from_store(db, catalog, tried, encoder)
            return ask(router, query, settings)

        self._tasks.ask(
            score,
            lambda answer: self._on_answer(number, version, answer),
            lambda problem: self._on_failed(number, problem),
        )

    def _renew(self) -> None:
        self._version += 1
        self._router = None
        self.ask(self._query)

    def _on_encoder(self, encoder: Encoder) -> None:
        self._encoder = encoder
        self._tell(READY, "")
        self._renew()

    def _on_answer(self, number: int, version: int, answer: Answer) -> None:
        if version == self._version:
            self._router = answer.router
        if number == self._asked:
            self.answered.emit(answer)

    def _on_failed(self, number: int, problem: ToolcribError) -> None:
        if number == self._asked:
            self.failed.emit(problem)

    def _tell(self, state: str, detail: str) -> None:
        self.state = state
        self.step = detail if state == LOADING else ""
        self.problem = detail if state == OFF else ""
        self.encoder_changed.emit(state, detail)


def _load(ctx: AppContext, job: Job) -> Encoder:
    def progress(step: str, _share: float) -> None:
        if job.cancelled.is_set():
            raise ToolcribError("Stopped.")
        job.report(step)

    db = ctx.open_store()
    try:
        indexer = Indexer(ctx, db, progress=progress)
        return indexer.encoder(keep_going=lambda: not job.cancelled.is_set())
    finally:
        db.close()
