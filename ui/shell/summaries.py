"""Editing what a tool is found by, as an undo step; rankings follow."""

from PySide6.QtWidgets import QWidget

from app.catalog.catalog import CatalogTool
from app.core.changes import Changes
from app.indexing.summaries import MADE, USER, encode, made, put, summary_of, written
from store.records import Summary
from ui.shell.services import Services
from ui.shell.steps import Change, Step, store_step
from ui.shell.summary_dialog import SummaryDialog


def text_step(services: Services, text: str, make: Change, take_back: Change) -> Step:
    """Return a step that changes texts tools are found by; their vectors follow."""
    ctx = services.ctx

    def encode_them(_changes: Changes) -> None:
        services.tasks.work(
            lambda job: encode(ctx, lambda: not job.cancelled.is_set()),
            lambda _none: services.live.load(),
        )

    return store_step(services.tasks, text, make, take_back, done=encode_them)


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
