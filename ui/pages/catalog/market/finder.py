"""Find servers: a search over listed servers, what one would mean, and adding it."""

from collections.abc import Sequence

from PySide6.QtCore import QModelIndex, Qt, Signal
from PySide6.QtWidgets import (
    QCheckBox,
    QLineEdit,
    QTreeView,
    QWidget,
)

from app.core.errors import ToolcribError
from ui.look.theme import MARGIN
from ui.pages.catalog.market.details_panel import DetailsPanel
from ui.pages.catalog.market.work import (
    Answer,
    Finder,
    MoreValuesError,
    Row,
    SyncState,
    Wanted,
    install,
    show,
    sync_all,
)
from ui.pages.catalog.server_work import Discovery
from ui.shell.services import Services
from ui.shell.tasks import Job
from ui.widgets.boxes import STYLE, hbox, splitter
from ui.widgets.columns import Column
from ui.widgets.dialog import Dialog
from ui.widgets.elided import Choice
from ui.widgets.flow import Flow
from ui.widgets.label import PlainLabel
from ui.widgets.named import named
from ui.widgets.push_button import push_button
from ui.widgets.row_table import RowTable
from ui.widgets.rows import as_table

_KINDS = (
    ("Any kind", ""),
    ("npm package", "npm"),
    ("Python package", "pypi"),
    ("Container image", "oci"),
    ("Bundle", "mcpb"),
    ("Web address", "remote"),
)
_TIP = Qt.ItemDataRole.ToolTipRole
_SIZES = (("Any size", 0), ("Up to 1,000 tokens", 1_000), ("Up to 5,000 tokens", 5_000))
_COLUMNS: tuple[Column[Row], ...] = (
    Column("Server", lambda row: row.title, width=190, roles={_TIP: lambda row: row.name}),
    Column("Tools that fit", lambda row: row.about, roles={_TIP: lambda row: row.about}),
    Column("Tools", lambda row: f"{row.tools:,}" if row.tools else "", width=60, right=True),
    Column("Tokens ≈", lambda row: f"{row.tokens:,}" if row.tokens else "", width=80, right=True),
    Column("State", lambda row: row.state, width=90),
)
_FETCH, _STOP = "Fetch lists", "Stop"
_NOTHING_FITS = "No listed server fits. Use other words, fewer filters, or fetch more lists."


class FindServersDialog(Dialog):
    """Stays open until a server is registered; searching sends nothing anywhere.

    Signals: added(Discovery) then.
    """

    added = Signal(object)

    def __init__(self, services: Services, parent: QWidget | None = None, query: str = "") -> None:
        super().__init__(parent, title="Find servers", name="findServers")
        self._services = services
        self._finder = Finder(services.ctx)
        self._preparing: Job | None = None
        self._sync: Job | None = None
        self.fit(services.theme, 1040, 640)
        self.query = named(QLineEdit(query), "What should a tool do?")
        self.query.setPlaceholderText(
            "What should a tool do? For instance: extract the text of a PDF"
        )
        self.query.setClearButtonEnabled(True)
        self.model: RowTable[Row] = RowTable(_COLUMNS, self)
        view = named(QTreeView(), "Listed servers")
        self.list = as_table(view, self.model, services.theme, gone_first=("Tools", "State"))
        self.details = DetailsPanel(services.theme)
        self.state = PlainLabel(look="faint")
        self.fetch = push_button(_FETCH, tip="Fetches the registries' lists. Nothing else is sent.")
        self._lay_out()
        self._connect()
        self.search()
        self._preparing = services.tasks.wait(
            self._finder.prepare,
            self._prepared,
            failed=lambda error: self._say(f"Words only. {error.title}"),
            progress=self._say,
            owner=self,
        )
        self.query.setFocus()

    # ---- parts

    def _make_filters(self) -> Flow:
        self.kind = named(Choice(rows=_KINDS), "Kind")
        self.most = named(Choice(rows=_SIZES), "Size")
        self.starts_here = QCheckBox("&Runs with what is installed here")
        self.no_secrets = QCheckBox("Needs no &secret")
        self.licence = QCheckBox("&Licence stated")
        self.recent = named(QCheckBox("&Updated this year"), tip="Within the last twelve months")
        flow = Flow(spacing=MARGIN)
        for widget in (
            self.kind, self.most, self.starts_here, self.no_secrets, self.licence, self.recent,
        ):  # fmt: skip
            flow.addWidget(widget)
        return flow

    def _lay_out(self) -> None:
        split = splitter(Qt.Orientation.Horizontal, (self.list, 3), (self.details, 2), gap=STYLE)
        close = push_button("Close", self.reject)
        bottom = hbox(self.fetch, (self.state, 1), close)
        self.lay_out(self.query, self._make_filters(), (split, 1), bottom)

    def _connect(self) -> None:
        self.query.textChanged.connect(self.search)
        for box in (self.kind, self.most):
            box.currentIndexChanged.connect(self.search)
        for check in (self.starts_here, self.no_secrets, self.licence, self.recent):
            check.toggled.connect(self.search)
        self.list.selectionModel().currentRowChanged.connect(self._show_selected)
        self.details.add.clicked.connect(self._add)
        self.fetch.clicked.connect(self._fetch_or_stop)
        self.query.returnPressed.connect(self.list.setFocus)

    # ---- searching

    @property
    def wanted(self) -> Wanted:
        """The typed words and the filters."""
        return Wanted(
            self.query.text(),
            self.kind.currentData(),
            self.starts_here.isChecked(),
            self.no_secrets.isChecked(),
            self.most.currentData(),
            self.licence.isChecked(),
            self.recent.isChecked(),
        )

    def search(self) -> None:
        """Search for what is typed."""
        self._search("")

    def _search(self, news: str) -> None:
        wanted = self.wanted
        self._services.tasks.latest(
            "market", lambda db: self._finder.search(db, wanted),
            lambda answer: self._show_answer(answer, news), self._show_error, owner=self,
        )  # fmt: skip

    def _show_answer(self, answer: Answer, news: str) -> None:
        self._show_rows(answer.rows, _NOTHING_FITS)
        if self._sync is None and self._preparing is None:
            words = " Searched by words only." if answer.words_only and self.query.text() else ""
            self._say(news or f"{answer.servers:,} servers searched.{words}")

    def _show_error(self, error: ToolcribError) -> None:
        self._show_rows((), error.text)

    def _show_rows(self, rows: Sequence[Row], nothing: str) -> None:
        """Show these with the first one's details, or why there is none."""
        self.model.replace_rows(rows)
        self._services.tasks.overtake("market details")
        if rows:
            self.list.setCurrentIndex(self.model.index(0, 0))
        else:
            self.details.show_nothing(nothing)

    def _show_selected(self, index: QModelIndex) -> None:
        row = self.model.row(index.row())
        if row is None:
            return
        ctx, server_id = self._services.ctx, row.id
        catalog = self._services.live.catalog
        profile = catalog.profile.id if catalog is not None else 0
        self._services.tasks.latest(
            "market details",
            lambda db: show(ctx, db, server_id, profile),
            self.details.show_server,
            lambda error: self.details.show_nothing(error.text),
            owner=self,
        )  # fmt: skip

    def _prepared(self, _number: int) -> None:
        self._preparing = None
        self.search()

    # ---- fetching

    def _fetch_or_stop(self) -> None:
        if self._sync is not None:
            self._sync.cancel()
            self._say("Stopping…")
            return
        self._stop_preparing()
        self.fetch.setText(_STOP)
        self._say("Asking the registries…")
        ctx = self._services.ctx
        self._sync = self._services.tasks.wait(
            lambda job: sync_all(ctx, job), self._fetched, progress=self._say, owner=self,
            failed=lambda error: self._fetch_ended(error.text),
        )  # fmt: skip

    def _fetched(self, state: SyncState) -> None:
        self._fetch_ended(state.text)
        if not state.stopped:
            self._preparing = self._services.tasks.wait(
                self._finder.prepare, self._prepared, progress=self._say, owner=self
            )

    def _fetch_ended(self, text: str) -> None:
        self._sync = None
        self.fetch.setText(_FETCH)
        self._search(text)  # whose answer leaves these words
        self._say(text)

    def _say(self, text: str) -> None:
        self.state.setText(text)

    # ---- adding

    def _add(self) -> None:
        shown, choice = self.details.shown, self.details.choice
        if shown is None or choice is None:
            return
        values = dict(self.details.form.values)
        if problem := self.details.form.missing(f.key for f in choice.fields if f.wanted):
            self.details.show_problem(problem)
            return
        self.details.add.setEnabled(False)
        ctx, known, query = self._services.ctx, shown.details, self.query.text()
        self._services.tasks.work(
            lambda _job: install(ctx, known, choice, values, query),
            self._added,
            failed=self._not_added,
        )

    def _added(self, discovery: Discovery) -> None:
        self.details.add.setEnabled(True)
        self.accept()
        self.added.emit(discovery)

    def _not_added(self, error: ToolcribError) -> None:
        self.details.add.setEnabled(True)
        if isinstance(error, MoreValuesError):
            self.details.ask_for(error.choice)
        self.details.show_problem(error.text)

    def _stop_preparing(self) -> None:
        if self._preparing is not None:
            self._preparing.cancel()
            self._preparing = None

    def done(self, result: int) -> None:
        """Stop what runs for this dialog only."""
        self._stop_preparing()
        if self._sync is not None:
            self._sync.cancel()
        super().done(result)
