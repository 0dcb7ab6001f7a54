"""Editing what a tool is found by, as an undo step; rankings follow."""

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QDialogButtonBox, QPlainTextEdit, QWidget

from app.catalog.catalog import CatalogTool
from app.core.changes import Changes
from app.indexing.summaries import (
    MADE,
    USER,
    encode,
    made,
    put,
    summary_of,
    summary_problem,
    written,
)
from app.ranking.summary import MOST_TOKENS, most_tokens
from store.records import Summary
from ui.look.text import visible
from ui.shell.services import Services
from ui.shell.steps import Change, Step, store_step
from ui.widgets.form_dialog import FormDialog
from ui.widgets.label import PlainLabel
from ui.widgets.push_button import push_button

_HINT = (
    "Queries are compared with this. Write what you would ask for; yours replaces the description,"
    " and no host sees it."
)
_LONGEST = 600  # characters of a description


class SummaryDialog(FormDialog):
    """Stays open until what was typed can be used.

    Signals: submitted(text) then; reset_wanted() for Toolcrib's own summary.
    """

    submitted = Signal(str)
    reset_wanted = Signal()

    def __init__(
        self, tool_id: str, description: str, summary: Summary, parent: QWidget | None = None
    ) -> None:
        super().__init__("Summary", "Save", parent, name="summaryDialog")
        self.setMinimumWidth(self.fontMetrics().averageCharWidth() * 72)
        cut = description if len(description) <= _LONGEST else f"{description[:_LONGEST]}…"
        note = PlainLabel(visible(cut), wrap=True, look="faint")
        note.setVisible(bool(cut))
        self.text = QPlainTextEdit(summary.text, tabChangesFocus=True)
        self.text.setAccessibleName("Summary")
        self.text.setFixedHeight(self.fontMetrics().lineSpacing() * 6)
        self.tokens = PlainLabel(wrap=True, look="faint")
        self.reset = push_button("Use Toolcrib's", self._give_back)
        self.reset.setToolTip("Made from the tool's name and description")
        self.reset.setEnabled(summary.source != MADE)
        self.buttons.addButton(self.reset, QDialogButtonBox.ButtonRole.ResetRole)
        self.text.textChanged.connect(self._count)
        self.lay_out(
            PlainLabel(tool_id, wrap=True),
            note,
            PlainLabel(_HINT, wrap=True),
            self.text,
            self.tokens,
        )
        self._count()
        self.text.selectAll()
        self.text.setFocus()

    def press(self) -> None:
        """Give what was typed, or say what is wrong with it."""
        problem = summary_problem(self.text.toPlainText())
        if problem:
            self.refuse(problem, self.text)
            return
        self.submitted.emit(self.text.toPlainText())
        self.accept()

    def _give_back(self) -> None:
        self.reset_wanted.emit()
        self.accept()

    def _count(self) -> None:
        tokens = most_tokens(" ".join(self.text.toPlainText().split()))
        self.tokens.setText(f"{tokens} of {MOST_TOKENS} tokens at most")


def text_step(
    services: Services, text: str, make: Change, take_back: Change, *, keychain: bool = False
) -> Step:
    """Return a step that changes texts tools are found by; their vectors follow."""
    ctx = services.ctx

    def encode_them(_changes: Changes) -> None:
        services.tasks.work(
            lambda job: encode(ctx, lambda: not job.cancelled.is_set()),
            lambda _none: services.live.load(),
        )

    tasks = services.tasks
    return store_step(tasks, text, make, take_back, done=encode_them, keychain=keychain)


def edit_summary(services: Services, row: CatalogTool, parent: QWidget) -> None:
    """Let the user write a tool's summary, or go back to Toolcrib's."""

    def push(before: Summary, after: Summary) -> None:
        if after.text != before.text or (after.source, before.source) == (MADE, USER):
            step = text_step(
                services,
                f"Edit summary of {row.tool.name}",
                lambda db: put(db, after),
                lambda db: put(db, before),
            )
            services.undo.push(step)

    def show(before: Summary | None) -> None:
        if before is None:
            services.show_status(f"{row.tool.name} was not read yet")
            return
        if any(shown.isVisible() for shown in parent.findChildren(SummaryDialog)):
            return
        dialog = SummaryDialog(row.tool.tool_id, row.tool.description, before, parent)
        dialog.submitted.connect(lambda text: push(before, written(before, text)))
        dialog.reset_wanted.connect(lambda: push(before, made(before, row.tool)))
        dialog.open()

    services.tasks.request(lambda db: summary_of(db, row.tool.id), show)
