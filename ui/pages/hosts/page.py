"""The Hosts page: how each host gets its tools, and what writing its config would change."""

from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication, QHideEvent, QShowEvent
from PySide6.QtWidgets import QWidget

from app.core.changes import Changes
from app.core.errors import ToolcribError
from app.core.text import plural
from app.export.backups import Backup
from app.export.links import link_note
from app.export.plan import EntryChange, Plan
from app.host_status.drift import OUTSIDE, Drift
from app.host_status.status import ENDPOINT_OFF, NOT_FOUND, UNREADABLE, HostStatus
from store.records import HOOK
from ui.pages.hosts.backups import BackupsSheet
from ui.pages.hosts.change_flow import EntryFlow, HookFlow
from ui.pages.hosts.change_sheet import ChangeSheet, say_refused
from ui.pages.hosts.commands import WriteCommand
from ui.pages.hosts.detail import HostDetail
from ui.pages.hosts.entry_sheet import EntrySheet
from ui.pages.hosts.hook_sheet import HookSheet
from ui.pages.hosts.host_list import HostListModel
from ui.pages.hosts.http_flow import HttpFlow
from ui.pages.hosts.preview import Preview
from ui.pages.hosts.session import HostsSession, WrittenFiles
from ui.pages.hosts.side import HostsSide
from ui.pages.hosts.tools_sheet import ToolsSheet
from ui.pages.hosts.watch import HostsWatch
from ui.pages.hosts.way_out import WayOut
from ui.shell.host_state import first_mode, hashes, hosts_badge, urgency, was_written
from ui.shell.page import Page
from ui.shell.services import Services
from ui.widgets.boxes import splitter, stacked
from ui.widgets.diff_rows import diff_rows, pair_lines
from ui.widgets.message_bar import DONE, INFO, WARN
from ui.widgets.question import confirm

LIST_WIDTH = 220


class HostsPage(Page):
    """Host list left, the chosen host right."""

    def __init__(self, services: Services) -> None:
        super().__init__(services)
        theme = services.theme
        self.desk = HostsSession(services, self)
        self.watch = HostsWatch(services.places, services.ctx.paths, self)
        self.model = HostListModel(self)
        self.side = HostsSide(theme, self.model)
        self.list = self.side.list
        self.detail = HostDetail(theme, services.places.home, services.advanced)
        self.sheet = BackupsSheet(theme, self.desk)
        self.tools = ToolsSheet(services, theme)
        self.hook = HookSheet(theme, services.places.home)
        self.entry = EntrySheet(theme, services.places.home)
        self.preview: Preview | None = None
        self._host = ""  # id of the host shown
        self._also: tuple[str, ...] | None = None  # servers of other hosts that the user chose
        self._seen: dict[Path, str] = {}  # hashes of its files as last surveyed
        self._notice: object = None  # the message bar's text about the files
        self._latest_write: WrittenFiles | None = None  # the write that the message bar is about
        # kept until the files were looked at
        self._pending_error: tuple[ToolcribError, WrittenFiles] | None = None
        self._way_out = False  # asked for before the files were looked at
        self._stale = True  # something changed while the page was out of view
        self._stack = stacked(self.detail, self.sheet, self.tools, self.hook, self.entry)
        self.changes = EntryFlow(self.desk, self.entry, self._stack, self.messages, self.detail)
        self.prompts = HookFlow(self.desk, self.hook, self._stack, self.messages, self.detail)
        self.listening = HttpFlow(services, self.desk, self.messages, self.detail.http)
        self.leaving = WayOut(self.desk, self.messages, self)
        split = splitter(
            Qt.Orientation.Horizontal,
            self.side,
            (self._stack, 1),
            name="hostsSplit",
            sizes=(LIST_WIDTH, 800),
        )
        self.body.addWidget(split, 1)
        self._connect()

    def main_view(self) -> QWidget:
        """The host list."""
        return self.list

    def panes(self) -> tuple[QWidget, ...]:
        """List, modes, both sides of the diff, the button, the switches."""
        detail = self.detail
        sides = (detail.diff.before, detail.diff.after)
        return (
            self.list,
            detail.modes,
            *sides,
            detail.write,
            detail.hook.switch,
            detail.rules.switch,
        )

    def focus_filter(self) -> None:
        """Ctrl+F searches what the model gets."""
        if self.detail.tools.isEnabled():
            self._open_tools()

    def primary(self) -> None:
        """Write config, or the hook, if it may be."""
        shown = self._stack.currentWidget()
        if isinstance(shown, HostDetail | ChangeSheet):
            shown.write.click()

    def escape(self) -> bool:
        """Clear the search of the tools, then close tools or backups."""
        if self._stack.currentWidget() is self.tools and self.tools.search.text():
            self.tools.search.clear()
            return True
        if self._stack.currentWidget() is not self.detail:
            self.changes.leave()
            self._stack.setCurrentWidget(self.detail)
            return True
        return False

    def choose(self, host_id: str) -> None:
        """Show a host."""
        self.side.choose(host_id)

    def showEvent(self, event: QShowEvent) -> None:
        """Look at the files again when the page comes into view."""
        super().showEvent(event)
        self.services.hosts.read(self._host)
        self.desk.survey()
        if self._stale:
            self.refresh()

    def hideEvent(self, event: QHideEvent) -> None:
        """The strip no longer follows the page."""
        super().hideEvent(event)
        if not event.spontaneous():
            self.services.hosts.leave()

    def refresh(self) -> None:
        """Plan the shown host anew."""
        self._stale = False
        self.messages.clear()
        if self._host:
            self._plan_again()

    def _plan_again(self) -> None:
        """Plan the shown host anew, and leave the messages."""
        detail = self.detail
        self.desk.preview(self._host, detail.mode, over_http=detail.http.on, also=self._also)

    def _choose_also(self, names: tuple[str, ...]) -> None:
        self._also = names
        self.refresh()

    def _connect(self) -> None:
        desk, detail = self.desk, self.detail
        self.services.live.altered.connect(self._on_changed)
        self.services.tasks.changed.connect(self._on_task)
        self.messages.replaced.connect(self._forget_write)
        desk.surveyed.connect(self._on_surveyed)
        desk.previewed.connect(self._on_previewed)
        desk.wrote.connect(self._on_wrote)
        desk.refused.connect(self._on_refused)
        desk.kept.connect(self.show_kept)
        desk.failed.connect(self.messages.error)
        self.watch.stirred.connect(desk.survey)
        self.list.selectionModel().currentChanged.connect(lambda now, _old: self._open(now.row()))
        detail.mode_chosen.connect(lambda _mode: self.refresh())
        detail.reach.chosen.connect(self._choose_also)
        detail.write.clicked.connect(self._write)
        detail.backups.clicked.connect(self._open_backups)
        detail.copy.clicked.connect(self._copy)
        detail.link.clicked.connect(self._copy_link)
        self.side.way_out.clicked.connect(self.leaving.begin)
        detail.tools.clicked.connect(self._open_tools)
        self.services.hosts.changed.connect(self._show_tools)
        self.services.hosts.entry_wanted.connect(self._open_change)
        for sheet in (self.tools, self.sheet, self.hook):
            sheet.closed.connect(lambda: self._stack.setCurrentWidget(self.detail))
        self.sheet.restored.connect(self._on_restored)

    def _on_changed(self) -> None:
        self._stale = True
        if self.isVisible():
            self.desk.survey()
            self._stale = False
            if self._host:  # what the message bar says may be why this changed
                self._plan_again()

    def _on_task(self, changes: Changes) -> None:
        if changes.hosts or changes.exports:
            self.preview = None  # of files that are not what they were
            self.desk.survey()
            if self._host:
                self._plan_again()

    def _on_surveyed(self, rows: tuple[HostStatus, ...]) -> None:
        self.model.show(rows)
        self._settle_message()
        self.services.hosts.take(rows)
        self.listening.look()
        self.watch.follow(rows)
        self.side.way_out.setVisible(any(was_written(row) for row in rows))
        self.badge.emit(*hosts_badge(rows))
        here = sum(row.state != NOT_FOUND for row in rows)
        self.result.emit(f"{plural(here, 'host')} on this computer, {len(rows) - here} not found")
        status = self.model.find(self._host)
        if status is None:
            self._open_first()
        else:
            self.detail.show_state(status)
            self._show_notice(status)
            self._renew_idle(status)
            if self._moved_on(status):
                self.detail.show_stale()
        if self._pending_error is not None and rows:
            pending, self._pending_error = self._pending_error, None
            self.show_kept(*pending)
        if self._way_out:
            self.restore_all()

    def _settle_message(self) -> None:
        """Take back the sentence about a write that the host's files no longer have."""
        latest = self._latest_write
        status = self.model.find(latest.plan.host.id) if latest is not None else None
        if latest is None or status is None or set(latest.ids) <= status.written:
            return
        self._latest_write = None
        self.messages.clear()

    def _forget_write(self) -> None:
        """The message bar is empty, or speaks of something else."""
        self._latest_write = None

    def _renew_idle(self, status: HostStatus) -> None:
        """A preview that would write nothing can follow the files by itself."""
        now = hashes(status)
        plan = self.preview.plan if self.preview is not None and not self.preview.files else None
        if plan is not None and (now != self._seen or self.listening.is_stale(plan)):
            self._plan_again()
        self._seen = now

    def _open_first(self) -> None:
        rows = self.model.rows
        if rows:
            self.choose(self.changes.host or min(rows, key=urgency).host.id)

    def _open(self, row: int) -> None:
        status = self.model.rows[row] if 0 <= row < len(self.model.rows) else None
        if status is None or status.host.id == self._host:
            return
        self._host, self.preview, self._seen = status.host.id, None, hashes(status)
        self._also = None
        if self.isVisible():
            self.services.hosts.read(self._host)
        self.prompts.host = self._host
        if self.changes.host != status.host.id:
            self.changes.leave()
        if self._stack.currentWidget() in (self.sheet, self.hook):
            self._stack.setCurrentWidget(self.detail)
        self.messages.clear()
        self.detail.show_status(status, first_mode(status))
        self._plan_again()
        self._show_notice(status)
        self._show_tools()

    def _show_notice(self, status: HostStatus) -> None:
        """Show news of the host's files that the user has to know, once."""
        news = (status.host.id, status.state, self._moved_on(status), hashes(status))
        if news == self._notice:
            return
        self._notice = news
        if status.state == UNREADABLE:
            again = ("Refresh", self._refresh_preview)
            broken = ToolcribError("Its file cannot be read.", "Nothing is written.")
            self.messages.error(broken, again)
        elif status.state == OUTSIDE and status.drift:
            self._show_drift(status, status.drift[0])
        elif status.state == ENDPOINT_OFF:
            self.listening.show_off(status)
        elif self._moved_on(status):
            text = "The file changed since this preview. Make the preview anew before you write."
            self.messages.show_message(WARN, text, ("Refresh preview", self._refresh_preview))

    def _show_drift(self, status: HostStatus, drift: Drift) -> None:
        rows = diff_rows(pair_lines(drift.written, drift.now))
        self.messages.show_message(
            WARN,
            " ".join(drift.sentences),
            ("Show difference", lambda: self.detail.show_rows(rows)),
            ("Write again…", lambda: self._offer(status.mode, over_http=status.http)),
        )

    def _offer(self, mode: str, *, over_http: bool) -> None:
        self.detail.choose(mode, over_http=over_http)
        self.refresh()
        self.detail.write.setFocus()

    def _moved_on(self, status: HostStatus) -> bool:
        if self.preview is None:
            return False
        now = hashes(status)
        files = self.preview.plan.files
        return any(now.get(f.path, f.before_hash) != f.before_hash for f in files)

    def _refresh_preview(self) -> None:
        self.refresh()
        self.desk.survey()

    def _on_previewed(self, preview: Preview) -> None:
        status = self.model.find(preview.plan.host.id)
        if status is None or preview.plan.host.id != self._host:
            return
        self.preview = preview
        self.detail.show_preview(preview, status)
        if self.services.hosts.partial and preview.headline:
            self.detail.headline.setText(f"{preview.headline}, counted so far")

    def _write(self) -> None:
        preview = self.preview
        if preview is None or not preview.can_write:
            return
        if preview.verdict.asks and not confirm(
            self,
            preview.verdict.why_blocked,
            "The profile asks before such a config is written.",
            yes="Write anyway",
        ):
            return
        if preview.plan.running:
            name = preview.plan.host.name
            self.messages.show_message(
                WARN,
                f"{name} is running and would undo the change. Quit it first.",
                ("Write anyway", lambda: self.listening.write(preview.plan, insist=True)),
            )
            return
        self.listening.write(preview.plan)

    def _on_wrote(self, written: WrittenFiles) -> None:
        self._also = None  # kept with the write
        command = WriteCommand(written, self.desk, self.services.undo, self.preview_again)
        self.services.undo.push(command)
        self._say_written(written, command)
        self._latest_write = written

    def _say_written(self, written: WrittenFiles, command: WriteCommand) -> None:
        """The sentence, with the way back; it goes when the files have it no more."""
        if written.plan.change is not None:
            self.changes.written(written.plan, lambda: self._take_back(command))
            return
        if written.plan.mode == HOOK:
            self.prompts.written(written.plan, lambda: self._take_back(command))
            return
        self.services.hosts.wrote(written.plan.host.id, written.plan.tokens_before)
        others = [row for row in self.model.rows if row.host.id != self._host]
        following = next((row for row in others if urgency(row) < 2), None)
        buttons = [("Undo", lambda: self._take_back(command))]
        if following is not None:
            target = following.host.id
            buttons.append((f"Next: {following.host.name}", lambda: self.choose(target)))
        self.messages.show_message(DONE, f"Written. {written.plan.restart_hint}".strip(), *buttons)

    def preview_again(self, plan: Plan) -> None:
        """Preview the write of this host in that mode anew."""
        self.services.open_page("hosts")
        self._stack.setCurrentWidget(self.detail)
        self.choose(plan.host.id)
        if plan.change is not None:
            self.changes.open(plan.change)
        elif plan.mode == HOOK:
            self.prompts.open_again(plan)
        else:
            self._offer(plan.mode, over_http=plan.over_http)

    def _open_change(self, change: EntryChange) -> None:
        """Show what changing one server's entry would write."""
        self.changes.open(change)
        self.choose(change.entry.host)

    def _take_back(self, command: WriteCommand) -> None:
        """Undo this write, also when other steps came after it."""
        stack = self.services.undo
        if stack.index() and stack.command(stack.index() - 1) is command:
            stack.undo()
        else:
            command.undo()

    def _on_refused(self, error: ToolcribError) -> None:
        if not self.changes.refused(error) and not self.prompts.refused(error):
            say_refused(self.messages, error, self._refresh_preview)

    def show_kept(self, error: ToolcribError, written: WrittenFiles) -> None:
        """Say why a write could not be taken back, at its host, in view."""
        self.services.open_page("hosts")
        if not self.model.rows:  # opened just now
            self._pending_error = (error, written)
            return
        self._stack.setCurrentWidget(self.detail)
        self.choose(written.plan.host.id)
        copies = self.preview.backups if self.preview else ()
        backup = next((copy for copy in copies if copy.export_id in written.ids), None)
        buttons = [("Show backups", self._open_backups)] if backup else []
        self.messages.error(error, *buttons)

    def _open_backups(self) -> None:
        if self.preview is not None:
            self.sheet.show_backups(self.preview.plan.host.name, self.preview.backups)
            self._stack.setCurrentWidget(self.sheet)

    def _open_tools(self) -> None:
        """The list of what this host's model gets now."""
        self._stack.setCurrentWidget(self.tools)
        self._show_tools()
        self.tools.search.setFocus()

    def _show_tools(self) -> None:
        sizes = self.services.hosts.sizes
        size = next((size for size in sizes if size.facts.id == self._host), None)
        self.detail.tools.setEnabled(size is not None)
        if self._stack.currentWidget() is not self.tools:
            return
        if size is None:
            self._stack.setCurrentWidget(self.detail)
        else:
            self.tools.show_host(size)

    def _on_restored(self, backup: Backup) -> None:
        self._stack.setCurrentWidget(self.detail)
        self.messages.show_message(DONE, f"Restored {backup.file}.")

    def restore_all(self) -> None:
        """The way out: ask, then put every file back; at once or when the files were looked at."""
        self._way_out = not self.model.rows
        if self.model.rows:
            self.leaving.begin()

    def _copy(self) -> None:
        text = self.detail.diff.after.toPlainText()
        QGuiApplication.clipboard().setText(text)
        self.services.show_status("Copied; secrets are left out")

    def _copy_link(self) -> None:
        if self.preview is not None:
            plan = self.preview.plan
            QGuiApplication.clipboard().setText(plan.link)
            note = link_note(plan.host, over_http=plan.over_http)
            self.messages.show_message(INFO, f"The link is copied. {note}")
