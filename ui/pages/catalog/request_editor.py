"""Requests of a tool with their origin, edited as an undo step."""

import os
from collections import Counter
from collections.abc import Sequence

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QPlainTextEdit, QWidget

from app.catalog.catalog import CatalogTool
from app.core.changes import Changes
from app.core.context import Db
from app.indexing.hidden_labels import hidden_texts
from app.indexing.requests import ORIGINS, edited, put, request_problem, rows_of
from app.ranking.requests import LONGEST, MOST
from store.records import RequestRecord, ToolRecord
from ui.look.text import visible
from ui.shell.services import Services
from ui.shell.summaries import text_step
from ui.widgets.form_dialog import FormDialog
from ui.widgets.label import PlainLabel

_HINT = (
    "Requests that users type when they need this tool, one a line."
    " They count beside the description, and no host sees them."
)


class RequestsDialog(FormDialog):
    """Stays open until what was typed can be used.

    Signals: submitted(texts) then.
    """

    submitted = Signal(object)

    def __init__(
        self, tool: ToolRecord, live: Sequence[RequestRecord], parent: QWidget | None = None
    ) -> None:
        super().__init__("Requests", "Save", parent, name="requestsDialog")
        self.setMinimumWidth(self.fontMetrics().averageCharWidth() * 72)
        self._known = {row.text for row in live}
        self.text = QPlainTextEdit("\n".join(row.text for row in live), tabChangesFocus=True)
        self.text.setAccessibleName("Requests")
        self.text.setFixedHeight(self.fontMetrics().lineSpacing() * (MOST + 3))
        self.origins = PlainLabel(origins(live), wrap=True, look="faint")
        self.lay_out(
            PlainLabel(visible(tool.tool_id), wrap=True),
            PlainLabel(_HINT, wrap=True),
            self.text,
            self.origins,
        )
        self.text.setFocus()

    def texts(self) -> list[str]:
        """The lines that hold something, each once."""
        lines = (" ".join(line.split()) for line in self.text.toPlainText().splitlines())
        return list(dict.fromkeys(line for line in lines if line))

    def press(self) -> None:
        """Give what was typed, or say what is wrong with it."""
        texts = self.texts()
        new = [text for text in texts if text not in self._known]
        problem = next((f"“{t[:40]}”: {why}" for t in new if (why := request_problem(t))), "")
        if new and len(texts) > MOST:
            problem = f"A tool has at most {MOST} requests; these are {len(texts)}."
        if problem:
            self.refuse(problem, self.text)
            return
        self.submitted.emit(texts)
        self.accept()


def edit_requests(services: Services, row: CatalogTool, parent: QWidget) -> None:
    """Let the user see and write what a tool is asked for."""
    tool = row.tool

    def show(before: tuple[RequestRecord, ...]) -> None:
        if any(shown.isVisible() for shown in parent.findChildren(RequestsDialog)):
            return
        live = [request for request in before if request.live]
        now = [request.text for request in live]
        dialog = RequestsDialog(tool, live, parent)

        def save(db: Db, texts: list[str]) -> Changes:
            hidden = hidden_texts(db, services.ctx.paths, os.environ, texts)
            return put(db, tool, edited(tool, before, hidden))

        def push(texts: list[str]) -> None:
            if texts != now:
                step = text_step(
                    services,
                    f"Edit requests of {tool.name}",
                    lambda db: save(db, texts),
                    lambda db: put(db, tool, before),
                    keychain=True,
                )
                services.undo.push(step)

        dialog.submitted.connect(push)
        dialog.open()

    services.tasks.request(lambda db: rows_of(db, tool.id), show)


def origins(live: Sequence[RequestRecord]) -> str:
    """Origins of a tool's requests, in words."""
    counts = Counter(ORIGINS.get(row.source, row.source) for row in live)
    parts = [f"{count} {origin}" for origin, count in counts.items()]
    longest = f"at most {MOST}, of {LONGEST} characters each"
    return f"{', '.join(parts)}; {longest}" if parts else f"None yet; {longest}"
