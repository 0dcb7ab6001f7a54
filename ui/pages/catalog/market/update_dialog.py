"""A later version of a listed server: read in a throwaway folder, compared, taken, taken back."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QPlainTextEdit, QWidget

from app.core.context import AppContext
from app.core.errors import ToolcribError
from ui.pages.catalog.market.input_form import InputForm
from ui.pages.catalog.market.work import sync_all
from ui.shell.services import Services
from ui.shell.tasks import Job
from ui.widgets.boxes import SPARE, STRETCH, hbox
from ui.widgets.dialog import Dialog
from ui.widgets.label import PlainLabel
from ui.widgets.named import named
from ui.widgets.push_button import push_button

if TYPE_CHECKING:
    from app.registry.updating import Change, Offer

_FIRST = "It is started once in a folder that is thrown away, to compare. Nothing is changed."
_TO_FETCH = "The bundle is downloaded, checked and started once, to compare. Nothing is changed."
_FETCHED = "The bundle is here and checked. It is started once, to compare. Nothing is changed."
_READING = "Reading the new version…"
_TO_ASK = "By the list as it was fetched last. Fetching it sends nothing else."
_ASKING = "Asking its registry…"
_ANEW = "Find servers adds it anew."
_NOT_LISTED = "Servers that Find servers added have later versions."
_MOST_LINES = 40  # of one text


@dataclass(frozen=True, slots=True)
class Known:
    """A server's later version, or the reason that there is none; and the one before."""

    server: str
    offer: "Offer | None"
    problem: str = ""
    former: str = ""
    source: str = ""  # URL of the list that may have a later one by now


def look(ctx: AppContext, name: str) -> Known:
    """Everything that is known without starting anything; ToolcribError for no listed server."""
    from app.registry import updating

    with ctx.store() as db:
        former = updating.former_version(db, name)
        try:
            return Known(name, updating.offer(ctx, db, name), former=former)
        except ToolcribError as error:
            if isinstance(error, updating.LatestError):
                return Known(name, None, error.title, former, error.source)
            return Known(name, None, f"{error.title} {_ANEW}", former)


class UpdateDialog(Dialog):
    """One button that leads on: fetch the list, read, take.

    Signals: changed() after the launch changed.
    """

    changed = Signal()

    def __init__(self, services: Services, known: Known, parent: QWidget | None = None) -> None:
        super().__init__(parent, title=f"Update {known.server}")
        self._services, self._known = services, known
        self._job: Job | None = None
        self._read: Offer | None = None  # the offer that was read
        self.title = services.theme.heading(PlainLabel(wrap=True), 2)
        self.command = PlainLabel(wrap=True)
        services.theme.dress_fixed(self.command)
        self.form = InputForm(services.theme)
        self.text = PlainLabel(wrap=True)
        self.parts = named(QPlainTextEdit(readOnly=True), "What is different")
        self.go = push_button("Read and compare", self._press, look="primary")
        self.back = push_button(f"Back to {known.former}", self._take_back)
        self.close_button = push_button("Close", self.reject)
        row = hbox(self.back, STRETCH, self.close_button, self.go)
        self.lay_out(self.title, self.command, self.form, self.text, (self.parts, 1), SPARE, row)
        self._show()
        self.resize(services.theme.scaled(620), self.sizeHint().height())

    def _show(self) -> None:
        offer = self._known.offer
        self.parts.hide()
        self.back.setVisible(bool(self._known.former))
        self.go.setVisible(offer is not None or bool(self._known.source))
        self.go.setText("Read and compare" if offer else "Fetch its list")
        self.command.setVisible(False)
        self.form.setVisible(False)
        if offer is None:
            self.title.setText(self._known.problem)
            self.text.setText(_TO_ASK)
            self.text.setVisible(bool(self._known.source))
            return
        versions = f"{offer.install.version} → {offer.entry.version}"
        self.title.setText(f"{self._known.server} {versions}")
        warnings = [f"{one.rule} in its texts: {one.detail}" for one in offer.doubts]
        if offer.choice.kind == "mcpb":
            first = _TO_FETCH if offer.to_fetch else _FETCHED
        else:
            first = _FIRST
        self.text.setText("\n".join([*warnings, first]))
        self.form.show_fields(replace(offer.choice, fields=offer.lacking))
        self.form.setVisible(bool(self.form.editors))
        if not offer.lacking:
            self.command.setText(offer.command)
            self.command.show()

    def _press(self) -> None:
        if self._read is not None:
            ctx, read = self._services.ctx, self._read
            self._change(lambda _job: _take(ctx, read))
            return
        offer = self._known.offer
        if offer is None:
            self._fetch()
            return
        values = dict(self.form.values)
        if problem := self.form.missing(f.key for f in offer.lacking):
            self._refuse(ToolcribError(problem))
            return
        chosen, ctx = offer.with_values(values), self._services.ctx
        self.go.setEnabled(False)
        self.text.setText(_READING)
        self._job = self._services.tasks.wait(
            lambda job: _compared(ctx, chosen, job),
            self._compared,
            failed=self._refuse,
            owner=self,
        )

    def _fetch(self) -> None:
        ctx, name, source = self._services.ctx, self._known.server, self._known.source
        self.go.setEnabled(False)
        self.text.setText(_ASKING)
        self._job = self._services.tasks.wait(
            lambda job: (sync_all(ctx, job, source).text, look(ctx, name)),
            self._fetched,
            failed=self._refuse,
            progress=self.text.setText,
            owner=self,
        )

    def _fetched(self, answer: tuple[str, Known]) -> None:
        self._job, (news, self._known) = None, answer
        self._show()
        if self._known.offer is None:
            self.text.setText(news)
        self.go.setEnabled(True)

    def _compared(self, answer: "tuple[Offer, Change | None]") -> None:
        self._job, (offer, change) = None, answer
        if change is None:  # its manifest asks for more
            self._known = replace(self._known, offer=offer)
            self._show()
            self.go.setEnabled(True)
            return
        self._read = offer
        self.command.setText(offer.command)
        self.command.show()
        self.text.setText(f"{change.text} New and changed tools wait in Review.")
        self.parts.setPlainText("\n".join(change.lines(_MOST_LINES)))
        self.parts.setVisible(bool(self.parts.toPlainText()))
        self.form.hide()
        self.resize(self.width(), max(self.height(), self._services.theme.scaled(460)))
        self.go.setText(f"Take {offer.entry.version}")
        self.go.setEnabled(True)
        self.go.setFocus()

    def _take_back(self) -> None:
        ctx, name = self._services.ctx, self._known.server
        self._change(lambda _job: _take_back(ctx, name))

    def _change(self, work: Callable[[Job], None]) -> None:
        self.go.setEnabled(False)
        self.back.setEnabled(False)
        self._services.tasks.work(work, self._changed, failed=self._refuse)

    def _changed(self, _none: None) -> None:
        self.accept()
        self.changed.emit()

    def _refuse(self, error: ToolcribError) -> None:
        self._job = None
        self.text.setText(error.text)
        self.text.show()
        self.go.setEnabled(True)
        self.back.setEnabled(True)

    def done(self, result: int) -> None:
        """Stop what runs for this dialog only."""
        if self._job is not None:
            self._job.cancel()
        super().done(result)


def _compared(ctx: AppContext, offer: "Offer", job: Job) -> "tuple[Offer, Change | None]":
    """The difference that it makes, None where its bundle asks for values that are missing."""
    from app.registry import updating

    offer = updating.fetched(ctx, offer)
    if offer.lacking:
        return offer, None
    with ctx.store() as db:
        return offer, updating.read(ctx, db, offer, cancel=job.cancelled)


def _take(ctx: AppContext, offer: "Offer") -> None:
    from app.registry import updating

    with ctx.store() as db:
        updating.take(ctx, db, offer)


def _take_back(ctx: AppContext, name: str) -> None:
    from app.registry import updating

    with ctx.store() as db:
        updating.back(ctx, db, name)


def open_update(
    services: Services, name: str, parent: QWidget, changed: Callable[[], None]
) -> None:
    """Look for a later version, and show it."""
    ctx = services.ctx

    def show(known: Known) -> None:
        dialog = UpdateDialog(services, known, parent)
        dialog.changed.connect(changed)
        dialog.open()

    def refuse(error: ToolcribError) -> None:
        services.show_error(ToolcribError(error.title, _NOT_LISTED))

    services.tasks.wait(lambda _job: look(ctx, name), show, failed=refuse, owner=parent)
