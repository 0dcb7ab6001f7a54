"""Finding servers and reading their tools: consent, progress, cancel, continue."""

import time
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtWidgets import QAbstractItemView, QProgressBar, QPushButton, QTreeView, QWidget

from app.core.errors import ToolcribError
from app.core.text import plural
from store.records import NEEDS_SIGN_IN, READ, STOPPED
from ui.look.text import APPROX, count, visible
from ui.look.theme import MARGIN
from ui.pages.catalog.reading_table import ReadingRow, ReadingTable
from ui.pages.catalog.server_work import Discovery, find_in_project, find_servers, read, take_file
from ui.shell.host_names import host_names
from ui.shell.services import Services
from ui.shell.tasks import Job
from ui.widgets.boxes import hbox, vbox
from ui.widgets.label import PlainLabel
from ui.widgets.named import named
from ui.widgets.push_button import push_button
from ui.widgets.rows import as_table
from ui.widgets.whole_text import WholeText

if TYPE_CHECKING:
    from app.registry.scan import ScanReport, ServerStatus

_PROMISE = (
    "Toolcrib starts each ticked server once, asks it for its list of tools, and stops it."
    " It never calls a tool and changes no host's file."
)
_RELOAD_MS = 300  # several servers that end together are shown together


class ReadingView(QWidget):
    """Servers with the exact command of each, and the progress of reading them.

    Signals: ended() when the user goes on to the catalogue; nothing_found(); failed(error);
    sign_in_requested(server id, name); tools_read(ids of tools that are new).
    """

    ended = Signal()
    nothing_found = Signal()
    failed = Signal(object)
    sign_in_requested = Signal(int, str)
    tools_read = Signal(object)

    def __init__(self, services: Services) -> None:
        super().__init__()
        self._services = services
        self._discovery = Discovery()
        self._job: Job | None = None
        self.after_read = False  # whether something was read since it was shown
        self._tried = False  # whether what is shown is what a reading came to
        self.model = ReadingTable(host_names(), self)
        self._build()
        self._lay_out()
        self._clock = QTimer(self, interval=1000)
        self._clock.timeout.connect(lambda: self.model.show_time(time.monotonic()))
        self._reload = QTimer(self, interval=_RELOAD_MS, singleShot=True)
        self._reload.timeout.connect(services.live.load)
        services.live.loaded.connect(self._show_tokens)

    @property
    def busy(self) -> bool:
        """True while servers are being read."""
        return self._job is not None

    def find_servers(self, only: frozenset[int] = frozenset(), *, at_once: bool = False) -> None:
        """Look for servers in the hosts' files; `only` are ticked, when given.

        With `at_once` they are read without a question where each was started before by the same
        command: that was agreed to.
        """
        ctx, places = self._services.ctx, self._services.places
        self._begin_looking()
        self._services.tasks.work(
            lambda _job: find_servers(ctx, places),
            lambda discovery: self._show_found(discovery, only or None, at_once=at_once),
            failed=self._fail,
        )

    def _show_found(
        self, discovery: Discovery, only: frozenset[int] | None, *, at_once: bool
    ) -> None:
        self._show(discovery, only)
        chosen = [c for c in discovery.candidates if c.server_id in self.model.chosen]
        if at_once and chosen and all(candidate.started_before for candidate in chosen):
            self._read()

    def take_file(self, path: Path) -> None:
        """Take the servers of a config file."""
        ctx = self._services.ctx
        self._begin_looking()
        self._services.tasks.work(
            lambda _job: take_file(ctx, path),
            lambda discovery: self._show(discovery, discovery.named, of=path.name),
            failed=self._fail,
        )

    def take_project(self, folder: Path) -> None:
        """Take the servers of a project's own files; none is ticked: its author wrote them."""
        ctx, places = self._services.ctx, self._services.places
        self._begin_looking()
        self._services.tasks.work(
            lambda _job: find_in_project(ctx, places, folder),
            lambda discovery: self._show(discovery, frozenset(), of=folder.name),
            failed=self._fail,
        )

    def show_added(self, discovery: Discovery) -> None:
        """Show servers that were added by hand: only these are ticked."""
        self._begin_looking()
        self._show(discovery, discovery.named)

    def show_status(self, status: "ServerStatus") -> None:
        """Show the progress of one server that is read by itself after a sign-in."""
        now = time.monotonic()
        self.model.set_status(
            status.server_id, status.status, problem=status.problem, tools=status.tools, now=now
        )
        if status.status == "read" and self._tried and not self.busy:
            self.after_read = True
            self.go.setText("Continue")

    def primary(self) -> None:
        """Read the ticked servers, or go on."""
        if self.go.isEnabled() and self.go.isVisible():
            self.go.click()

    def leave(self) -> bool:
        """Back to the catalogue, where there is one and nothing is being read."""
        if self.busy or self._services.live.empty:
            return False
        self.ended.emit()
        return True

    def cancel(self) -> None:
        """Stop reading; what was read stays."""
        if self._job is not None:
            self._job.cancel()
            self.stop.setEnabled(False)
            self.stop.setText("Stopping…")

    def _begin_looking(self) -> None:
        self.after_read = self._tried = False
        self.rest.hide()
        self.title.setText("Looking for hosts…")
        self.promise.setText("Only config files are read. Nothing is started, nothing is written.")
        self.model.show(())
        self.go.setEnabled(False)
        self._show_progress(False)

    def _show(self, discovery: Discovery, only: frozenset[int] | None, *, of: str = "") -> None:
        """Show what was found; `of` is the file or folder that was opened, "" for all hosts."""
        self._discovery = discovery
        if not discovery.candidates:
            self.nothing_found.emit()
            return
        servers, hosts = (
            plural(len(discovery.candidates), "server"),
            plural(discovery.hosts, "host"),
        )
        self.title.setText(f"Found {servers} in {hosts}")
        if of:
            self.title.setText(f"Found {plural(len(discovery.named), 'server')} in {of}")
        self.promise.setText(_PROMISE if not of else f"{_opened(only)} {_PROMISE}")
        self.projects.setVisible(bool(discovery.projects))
        self.problems.setText("\n".join(f"Not read: {text}" for text in discovery.problems))
        self.problems.setVisible(bool(discovery.problems))
        named = [one for one in discovery.candidates if one.server_id in discovery.named]
        self.model.show(tuple(named) if of else discovery.candidates, only)
        shown = self.model.rows  # the pane below shows in full what the first one will run
        first = next((number for number, row in enumerate(shown) if row.ticked), 0)
        self.table.setCurrentIndex(self.model.index(first, 0))
        self._show_ticked()
        self._services.show_status(self.title.text())
        if self.isVisible():
            self.go.setFocus()

    def _show_ticked(self) -> None:
        number = len(self.model.chosen)
        self.go.setText("Read tools" if not number else f"Read tools of {plural(number, 'server')}")
        self.go.setEnabled(number > 0)
        self.sum.setText("" if number else "Tick at least one server.")
        self.skip.setVisible(not self._services.live.empty)

    def _show_rest(self) -> None:
        """Offer to go on with the servers that a stop left out."""
        left = len(self._left)
        self.rest.setText(f"Read the remaining {left}")
        self.rest.setVisible(left > 0 and not self.busy)

    @property
    def _left(self) -> frozenset[int]:
        """Ids of the servers that were to be read and were not, for they were stopped."""
        rows = self.model.rows
        return frozenset(r.candidate.server_id for r in rows if r.ticked and r.status == STOPPED)

    def _read_rest(self) -> None:
        """Read the servers whose commands the user agreed to already, in the same table."""
        self.model.tick_only(self._left)
        self._read()

    def _press(self) -> None:
        if self.after_read or self.busy:
            self.ended.emit()
        else:
            self._read()

    def _read(self) -> None:
        ctx = self._services.ctx
        chosen = [self._discovery.targets[i] for i in self.model.chosen]
        self.model.begin()
        self._show_progress(True)
        self.bar.setRange(0, len(chosen))
        self._count()
        self.go.setText("Continue with what is read")
        self.go.setEnabled(False)
        self.skip.hide()
        self.rest.hide()
        self.more.setEnabled(False)
        self.projects.setEnabled(False)
        self._clock.start()
        self._job = self._services.tasks.work(
            lambda job: read(ctx, job, chosen),
            self._on_read,
            failed=self._fail,
            progress=self._on_progress,
        )
        self.stop.setFocus()

    def _on_progress(self, progress: "ServerStatus | tuple[str, float]") -> None:
        if isinstance(progress, tuple):
            text, _share = progress
            self._services.show_status(text)
            return
        self.show_status(progress)
        self._count()
        if progress.status == "read":
            self._reload.start()
            if not self.go.isEnabled():
                self.go.setEnabled(True)

    def _on_read(self, report: "ScanReport") -> None:
        self._finish()
        read_ = [s for s in report.servers if s.status == "read"]
        stopped = any(s.status == "stopped" for s in report.servers)
        verb = "Stopped. " if stopped else ""
        self.title.setText(f"{verb}{len(read_)} of {plural(len(report.servers), 'server')} read")
        self.go.setText("Continue" if read_ else "Try again")
        self.after_read, self._tried = bool(read_), True
        if read_:
            self.skip.hide()  # "Continue" leads there
        self._show_rest()
        self.go.setEnabled(True)
        self.go.setFocus()
        self._services.show_status(self.title.text())
        self._services.live.load()
        self.tools_read.emit(report.delta.added)

    def _fail(self, error: ToolcribError) -> None:
        self._finish()
        self.title.setText("Reading is not possible")
        self.failed.emit(error)

    def _finish(self) -> None:
        self._job = None
        self._clock.stop()
        self.model.unlock()
        self._show_progress(False)
        self.skip.setVisible(not self._services.live.empty)
        self.more.setEnabled(True)
        self.projects.setEnabled(True)

    def _count(self) -> None:
        rows = [row for row in self.model.rows if row.ticked]
        done = sum(row.ended for row in rows)
        read_ = sum(row.status == READ for row in rows)
        failed = f", {done - read_} not" if done > read_ else ""
        self.bar.setValue(done)
        self.bar.setFormat(f"{read_} of {plural(len(rows), 'server')} read{failed}")

    def _show_tokens(self) -> None:
        catalog = self._services.live.catalog
        if catalog is None or not (self.busy or self.after_read):
            return
        tokens: dict[int, int] = {}
        for row in catalog.tools:
            tokens[row.server.id] = tokens.get(row.server.id, 0) + row.cost
        waiting = {row.server.id for row in catalog.tools if row.tokens is None}
        self.model.set_tokens({i: n for i, n in tokens.items() if i not in waiting})
        hosts, total = self._services.hosts, self._services.live.total
        so_far = " so far" if hosts.partial else ""
        together = f"{count(total)} tokens {APPROX} in all servers together{so_far}"
        self.sum.setText(hosts.unread or together)

    def _show_reason(self) -> None:
        """All that the row in question runs, below why it failed; nothing of it is cut."""
        row = self._row_in_question()
        waits = row is not None and row.status == NEEDS_SIGN_IN
        self.enter.setVisible(waits and not self.busy)
        text = "" if row is None else _account(row)
        self.reason.setText(text)
        self.reason.setVisible(bool(text))

    def _row_in_question(self) -> ReadingRow | None:
        rows, number = self.model.rows, self.table.currentIndex().row()
        current = rows[number] if 0 <= number < len(rows) else None
        failed = [row for row in rows if row.problem]
        return current if current in failed or not failed else failed[0]

    def _request_sign_in(self) -> None:
        row = self._row_in_question()
        if row is not None:
            self.sign_in_requested.emit(row.candidate.server_id, row.candidate.name)

    def _show_progress(self, on: bool) -> None:
        for widget in (self.bar, self.stop):
            widget.setVisible(on)
        self.stop.setEnabled(True)
        self.stop.setText("Cancel")

    def _build(self) -> None:
        theme = self._services.theme
        self.title = PlainLabel("Looking for hosts…", name="readingTitle")
        self.promise = PlainLabel(wrap=True, look="faint")
        self.problems = PlainLabel(wrap=True, look="wrong")
        self.problems.hide()
        self.bar = named(QProgressBar(), "Servers read")
        self.stop = push_button("Cancel", self.cancel, name="cancelRead")
        self.reason = named(WholeText(), "What it starts", name="readingReason")
        self.enter = push_button("Sign in…", self._request_sign_in, name="signIn")
        self.enter.hide()
        self.sum = PlainLabel(look="faint")
        self.skip = push_button("Back to the catalog", self.ended)
        self.rest = push_button("", self._read_rest, name="readRest")
        self.rest.hide()
        self.more = QPushButton("Open a config file…")
        self.projects = QPushButton("Open a project…")
        self.projects.setObjectName("openProject")
        self.projects.setToolTip("Projects that your hosts know have servers of their own")
        self.projects.hide()
        self.go = push_button("Read tools", self._press, look="primary", name="readTools")
        self.table = named(QTreeView(), "Servers found", name="firstRunTable")
        self.table.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        as_table(self.table, self.model, theme)
        self.table.setTextElideMode(Qt.TextElideMode.ElideMiddle)
        theme.heading(self.title, 7)
        theme.put_icon(self.stop, "close")
        theme.put_icon(self.enter, "key-outline")
        theme.put_icon(self.more, "folder-open-outline")
        theme.put_icon(self.go, "arrow-right", "on_accent")
        self.model.ticked.connect(self._show_ticked)
        self.model.dataChanged.connect(self._show_reason)
        self.table.selectionModel().currentChanged.connect(self._show_reason)

    def _lay_out(self) -> None:
        progress = hbox((self.bar, 1), self.stop)
        buttons = hbox((self.sum, 1), self.skip, self.projects, self.more, self.rest, self.go)
        question = hbox((self.reason, 1), self.enter)
        vbox(
            self.title,
            self.promise,
            self.problems,
            progress,
            (self.table, 1),
            question,
            buttons,
            inside=self,
            gap=MARGIN,
        )


def _opened(only: frozenset[int] | None) -> str:
    """The ticks that opening a file or a project sets."""
    if only:
        return "Untick those you do not want to start."
    return "None is ticked, as the project's author wrote what they run. Tick those you trust."


def _account(row: ReadingRow) -> str:
    """Problem of a row, then all that it runs; "" for a row with neither."""
    lines = [visible(row.problem)] if row.problem else []
    lines += row.candidate.lines
    return f"{row.candidate.name}: " + "\n".join(lines) if lines else ""
