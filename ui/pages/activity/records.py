"""The button that reads the hosts' own records, after a question the first time."""

import os

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QPushButton

from app.core.context import AppContext
from app.core.text import plural
from app.evidence.formats import FORMATS, OPENCODE
from app.evidence.reading import ReadReport, read_records
from app.hosts.facts import host
from ui.shell.services import Services
from ui.shell.tasks import Job
from ui.widgets.question import confirm

READ, STOP = "Read host records", "Stop reading"
_HINT = (
    "Count the calls in the hosts' own session records. Names and times are kept; prompts,"
    " arguments and results are not."
)


def read_all(ctx: AppContext, services: Services, job: Job) -> ReadReport:
    """Read what is new; runs on the thread for long work."""
    with ctx.store() as db:
        return read_records(
            db,
            services.places.home,
            os.environ,
            ctx.clock(),
            progress=lambda done, total: job.report((done, total)),
            cancel=job.cancelled,
        )


class RecordsButton(QPushButton):
    """Reads the records, shows progress, stops on a second press.

    Signals: progressed(text) while it reads; ended(text) with what came of it;
    failed(ToolcribError).
    """

    progressed = Signal(str)
    ended = Signal(str)
    failed = Signal(object)

    def __init__(self, services: Services) -> None:
        super().__init__(READ)
        self._services = services
        self._job: Job | None = None
        self.setToolTip(_HINT)
        self.clicked.connect(self._on_clicked)

    def _on_clicked(self) -> None:
        if self._job is not None:
            self._job.cancel()
            return
        ctx = self._services.ctx
        if not ctx.settings.host_records and not self._agreed():
            return
        if not ctx.settings.host_records:
            ctx.keep(host_records=True)
        self.setText(STOP)
        self._job = self._services.tasks.work(
            lambda job: read_all(ctx, self._services, job),
            self._on_done,
            failed=self._on_failed,
            progress=self._on_progress,
        )

    def _agreed(self) -> bool:
        names = ", ".join([*(host(form.host).name for form in FORMATS), host(OPENCODE).name])
        return confirm(
            self,
            "Read the hosts' own records?",
            f"Toolcrib reads which tools were called, and when, from the records of {names}."
            " It keeps no prompt, argument or result. `toolcrib usage forget` deletes the counts.",
            yes="Read records",
        )

    def _on_progress(self, value: tuple[int, int]) -> None:
        done, total = value
        self.progressed.emit(f"Reading host records: {done:,} of {total:,}")

    def _on_done(self, report: ReadReport) -> None:
        self._rest()
        state = "Stopped" if report.stopped else "Read"
        text = f"{state}: {plural(report.calls, 'new call')} in {plural(report.read, 'record')}."
        if report.notes:
            text += f" {plural(len(report.notes), 'file')} could not be read: {report.notes[0]}"
        self.ended.emit(text)

    def _on_failed(self, error: object) -> None:
        self._rest()
        self.failed.emit(error)

    def _rest(self) -> None:
        self._job = None
        self.setText(READ)
