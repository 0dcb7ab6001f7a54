"""Servers asked what their tools hide: after a question, on the thread for long work."""

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QWidget

from app.core.text import plural
from app.policy.hiding import hiding_tools
from app.registry.expanding import CONSENT, Expanding, ask_servers, askable
from ui.shell.services import Services
from ui.shell.tasks import Job
from ui.widgets.question import confirm


class HiddenTools(QObject):
    """Asks each trusted server whose tools hide others, one after the other.

    Signals: ended(text) with what came of it; failed(ToolcribError).
    """

    ended = Signal(str)
    failed = Signal(object)

    def __init__(self, services: Services, parent: QWidget) -> None:
        super().__init__(parent)
        self._services, self._parent = services, parent
        self._job: Job | None = None

    def request(self) -> None:
        """Ask for a yes, then ask the servers."""
        catalog = self._services.live.catalog
        if catalog is None or self._job is not None:
            return
        servers = askable(catalog.shown)
        if not servers:
            hiding = len({one.tool_id.partition("/")[0] for one in hiding_tools(catalog.shown)})
            self.ended.emit(f"{plural(hiding, 'server')} cannot be asked: no search, no switch.")
            return
        names = ", ".join(rows[0].server.name for rows in servers.values())
        if not confirm(self._parent, f"Start and ask {names}?", CONSENT, yes="Ask"):
            return
        ctx, places = self._services.ctx, self._services.places

        def work(job: Job) -> list[Expanding]:
            return list(ask_servers(ctx, places, servers, cancelled=job.cancelled.is_set))

        self._job = self._services.tasks.work(work, self._on_done, failed=self._on_failed)

    def _on_done(self, done: list[Expanding]) -> None:
        self._job = None
        behind = sum(len(one.rows) for one in done)
        text = f"{plural(behind, 'tool')} behind {plural(len(done), 'server')}."
        problems = [f"{one.server}: {one.problem}" for one in done if one.problem]
        self.ended.emit(" ".join([text, *problems]))

    def _on_failed(self, error: object) -> None:
        self._job = None
        self.failed.emit(error)
