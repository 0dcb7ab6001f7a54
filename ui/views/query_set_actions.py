"""What the query set's buttons and menus open: forms and file dialogs."""

from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QObject, Qt
from PySide6.QtWidgets import QFileDialog, QWidget

from app.errors import ToolcribError
from store.records import LabelRecord
from ui.models.query_set import QuerySet
from ui.services import Services
from ui.views.label_dialog import LabelDialog
from ui.views.message_bar import DONE, INFO, MessageBar
from ui.views.query_set_editor import QuerySetEditor, plural_queries

_FILES = "Query sets (*.jsonl *.csv)"
_NOTHING = "Activity holds no search followed by a call that is not labelled yet."


class QuerySetActions(QObject):
    """Adds labels by hand, from files and from activity, and says what came of it."""

    def __init__(
        self, services: Services, queries: QuerySet, *, messages: MessageBar, parent: QWidget
    ) -> None:
        super().__init__(parent)
        self._services, self._queries = services, queries
        self._messages, self._over = messages, parent
        self.editor = QuerySetEditor(services, queries)

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
        """Add a file's labelled queries; a bad file is said, and adds none."""
        try:
            new = self.editor.take_file(path)
        except ToolcribError as error:
            self._messages.error(error, ("Choose another…", self.import_file))
            return
        if new:
            self._messages.say(DONE, f"{plural_queries(new)} added from {path.name}.")
        else:
            self._messages.say(INFO, f"Nothing new in {path.name}: all are labelled already.")

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
        written = plural_queries(len(self._queries.labels))
        self._messages.say(DONE, f"{written} written to {name}.")

    def take_activity(self) -> None:
        """Add what activity teaches."""
        new = self.editor.take_activity()
        if new:
            self._messages.say(
                DONE, f"{plural_queries(new)} added from activity: a search and the tool called."
            )
        else:
            go = self._services.go
            self._messages.say(INFO, _NOTHING, ("Open Activity", lambda: go("activity")))

    def _on_added(self, query: str, tools: tuple[str, ...]) -> None:
        if not self.editor.add(query, tools):
            self._messages.say(INFO, "This query is labelled so already.")

    def _open_form(
        self, query: str, tools: tuple[str, ...], save: Callable[[str, tuple[str, ...]], object]
    ) -> None:
        catalog = self._services.live.catalog
        known = [row.tool.tool_id for row in catalog.tools] if catalog else []
        form = LabelDialog(tuple(dict.fromkeys([*known, *tools])), self._over)
        form.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        form.show_label(query, tools)
        form.given.connect(save)
        form.open()
