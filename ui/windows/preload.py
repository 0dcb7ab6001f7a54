"""Imports what pages need before they are opened: an import on the GUI thread stops the window."""

from importlib import import_module

from ui.shell.tasks import Job

# in the order of their cost; the first two take half a second of CPU: numpy and pyqtgraph
PAGES = (
    "ui.pages.playground.page",
    "ui.pages.playground.score_strip",  # built when it is first seen
    "ui.pages.hosts.page",
    "ui.pages.budget.page",
    "ui.pages.review.page",
    "ui.pages.activity.page",
)


def preload(job: Job) -> None:
    """Import every page's module, on the long-work thread, once the first page is filled."""
    for name in PAGES:
        if job.cancelled.is_set():
            return
        import_module(name)
