"""Editing what a tool is found by, as an undo step; rankings follow."""

from PySide6.QtGui import QUndoCommand
from PySide6.QtWidgets import QWidget

from app.catalog.catalog import CatalogTool
from app.indexing.summaries import MADE, USER, encode, made, put, summary_of, written
from store.records import Summary
from ui.shell.services import Services
from ui.shell.summary_dialog import SummaryDialog


class SummaryCommand(QUndoCommand):
    """Another summary for a tool."""

    def __init__(self, services: Services, name: str, before: Summary, after: Summary) -> None:
        super().__init__(f"Edit summary of {name}")
        self._services = services
        self._before, self._after = before, after

    def redo(self) -> None:
        """Use the new one."""
        self._put(self._after)

    def undo(self) -> None:
        """Use the one before."""
        self._put(self._before)

    def _put(self, summary: Summary) -> None:
        services = self._services

        def encode_it(_changes: object) -> None:
            ctx = services.ctx
            services.tasks.work(
                lambda job: encode(ctx, lambda: not job.cancelled.is_set()),
                lambda _none: services.live.load(),
            )

        services.tasks.change(lambda db: put(db, summary), encode_it)


def edit_summary(services: Services, row: CatalogTool, parent: QWidget) -> None:
    """Let the user write a tool's summary, or go back to Toolcrib's."""

    def push(before: Summary, after: Summary) -> None:
        if after.text != before.text or (after.source, before.source) == (MADE, USER):
            services.undo.push(SummaryCommand(services, row.tool.name, before, after))

    def show(before: Summary | None) -> None:
        if before is None:
            services.show_status(f"{row.tool.name} was not read yet")
            return
        if any(shown.isVisible() for shown in parent.findChildren(SummaryDialog)):
            return
        dialog = SummaryDialog(row.tool.tool_id, row.tool.description, before, parent)
        dialog.submitted.connect(lambda text: push(before, written(before, text)))
        dialog.reset_wanted.connect(lambda: push(before, made(before, row.tool)))
        dialog.finished.connect(dialog.deleteLater)
        dialog.open()

    services.tasks.request(lambda db: summary_of(db, row.tool.id), show)
