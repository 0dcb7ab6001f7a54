"""Actions behind the query set's buttons and menus: forms and file dialogs."""

import os
from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QObject
from PySide6.QtWidgets import QFileDialog, QWidget

from app.core.errors import ToolcribError
from app.core.text import plural
from app.hooks.record_labels import labels_from_records
from store.records import LabelRecord
from ui.pages.query_set.label_dialog import LabelDialog
from ui.pages.query_set.label_session import LabelSession
from ui.shell.query_set import QuerySet
from ui.shell.services import Services
from ui.shell.tasks import Job
from ui.widgets.message_bar import DONE, INFO, MessageBar

_FILES = "Query sets (*.jsonl *.csv)"
_NO_PROMPTS = "The hosts' records have no new prompt that was followed by a call."
_NOTHING = "Activity has no new search that was followed by a call."


class QuerySetActions(QObject):
    """Adds labels by hand, from files and from activity, and says what came of it."""

    def __init__(
        self, services: Services, queries: QuerySet, *, messages: MessageBar, parent: QWidget
    ) -> None:
        super().__init__(parent)
        self._services, self._queries = services, queries
        self._messages, self._over = messages, parent
        self.editor = LabelSession(services, queries)
        self._added = (0, "")  # steps made when queries were added, and the message about it
        services.undo.indexChanged.connect(self._on_step)

    def add(self) -> None:
        """Let the user label a query."""
        self._open_form("", (), self._on_added)

    def edit(self, label: LabelRecord) -> None:
        """Let the user change a label."""
        self._open_form(
            label.query,
            label.expected,
            lambda query, tools: self.editor.change(label, query, tools),
        )

    def import_file(self) -> None:
        """Choose a file of labelled queries and add them."""
        home = str(self._services.places.home)
        name, _ = QFileDialog.getOpenFileName(self._over, "Import query set", home, _FILES)
        if name:
            self.take_file(Path(name))

    def take_file(self, path: Path) -> None:
        """Add a file's labelled queries; a bad file is named, and adds none."""
        try:
            new = self.editor.take_file(path)
        except ToolcribError as error:
            self._messages.error(error, ("Choose another…", self.import_file))
            return
        if new:
            self._say_added(f"{plural(new, 'query')} added from {path.name}.")
        else:
            self._messages.show_message(
                INFO, f"Nothing new in {path.name}: every query is already labelled."
            )

    def export_file(self) -> None:
        """Choose a file and write the query set to it."""
        start = str(self._services.places.home / "queries.jsonl")
        name, _ = QFileDialog.getSaveFileName(self._over, "Export query set", start, _FILES)
        if not name:
            return
        try:
            self.editor.save_file(Path(name))
        except ToolcribError as error:
            self._messages.error(error)
            return
        written = plural(len(self._queries.labels), "query")
        self._messages.show_message(DONE, f"{written} written to {name}.")

    def take_activity(self) -> None:
        """Add what activity teaches."""
        new = self.editor.take_activity()
        if new:
            self._say_added(
                f"{plural(new, 'query')} added from activity: a search and the tool called."
            )
        else:
            go = self._services.open_page
            self._messages.show_message(INFO, _NOTHING, ("Open Activity", lambda: go("activity")))

    def take_records(self) -> None:
        """Read prompts and the calls after them in the hosts' records, and add what they teach."""
        self._messages.show_message(INFO, "Reading the hosts' records…")
        self._services.tasks.work(self._read_records, self._on_records, failed=self._messages.error)

    def _read_records(self, job: Job) -> tuple[LabelRecord, ...]:
        ctx = self._services.ctx
        with ctx.store() as db:
            return labels_from_records(
                db,
                ctx.paths,
                self._services.places.home,
                os.environ,
                self._services.live.profile,
                agreed=ctx.settings.host_records,
                cancel=job.cancelled,
            )

    def _on_records(self, labels: tuple[LabelRecord, ...]) -> None:
        new = self.editor.take_records(labels)
        if new:
            text = f"{plural(new, 'query')} added from host records: a prompt and the tools called."
            self._say_added(text)
        else:
            self._messages.show_message(INFO, _NO_PROMPTS)

    def _say_added(self, text: str) -> None:
        self._messages.show_message(DONE, text)
        self._added = (self._services.undo.index(), text)

    def _on_step(self, index: int) -> None:
        """Clear the message about added queries when adding them is undone."""
        made, text = self._added
        if text and index < made and self._messages.text == text:
            self._messages.clear()

    def _on_added(self, query: str, tools: tuple[str, ...]) -> None:
        if not self.editor.add(query, tools):
            self._messages.show_message(INFO, "This query already has these labels.")

    def _open_form(
        self, query: str, tools: tuple[str, ...], save: Callable[[str, tuple[str, ...]], object]
    ) -> None:
        catalog = self._services.live.catalog
        tool_ids = [row.tool.tool_id for row in catalog.tools] if catalog else []
        form = LabelDialog(tuple(dict.fromkeys([*tool_ids, *tools])), self._over)
        form.show_label(query, tools)
        form.submitted.connect(save)
        form.open()
