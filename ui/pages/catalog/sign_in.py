"""Signing in to a server: what the page says meanwhile, and reading the server afterwards."""

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QUrl, Signal
from PySide6.QtGui import QDesktopServices

from app.core.errors import ToolcribError
from app.core.text import plural
from store.records import READ
from ui.pages.catalog.server_work import read
from ui.pages.catalog.sign_in_work import sign_in, sign_out
from ui.shell.services import Services
from ui.shell.tasks import Job
from ui.widgets.message_bar import DONE, INFO, WARN, MessageBar

if TYPE_CHECKING:
    from app.registry.register import Target
    from app.registry.scan import ScanReport


class SignIn(QObject):
    """One sign-in at a time, shown in a page's message bar.

    Signals: read(ServerStatus) while the server's tools are read afterwards.
    """

    read = Signal(object)

    def __init__(self, services: Services, messages: MessageBar, parent: QObject) -> None:
        super().__init__(parent)
        self._services = services
        self._messages = messages
        self._job: Job | None = None
        self._server = (0, "")  # id and name
        self._page = ""

    @property
    def waiting(self) -> bool:
        """True while a sign-in is under way."""
        return self._job is not None

    def start(self, server_id: int, name: str) -> None:
        """Open the server's authorization page in the user's browser."""
        if self._job is None:
            ctx, places = self._services.ctx, self._services.places
            self._server, self._page = (server_id, name), ""
            self._job = self._services.tasks.wait(
                lambda job: sign_in(ctx, places, server_id, job),
                self._on_signed_in,
                failed=self._on_failed,
                progress=self._on_page,
            )
        self._show_step()

    def cancel(self) -> None:
        """Stop waiting for the browser."""
        if self._job is not None:
            self._job.cancel()

    def leave(self, name: str) -> None:
        """Forget the server's tokens."""
        ctx = self._services.ctx

        def left(_nothing: None) -> None:
            self._services.show_status(f"Signed out of {name}")
            self._services.live.load()

        self._services.tasks.wait(
            lambda _job: sign_out(ctx, name), left, failed=self._messages.error
        )

    def _show_step(self) -> None:
        name = self._server[1]
        if not self._page:
            self._messages.show_message(
                INFO, f"Asking {name} where to sign in…", ("Cancel", self.cancel)
            )
            return
        self._messages.show_message(
            INFO,
            f"Waiting for you to sign in to {name} in the browser, at {QUrl(self._page).host()}.",
            ("Copy address", self._copy),
            ("Cancel", self.cancel),
        )

    def _copy(self) -> None:
        self._services.copy(self._page, "the address of the sign-in page")

    def _on_page(self, page: str) -> None:
        self._page = page
        opened = QDesktopServices.openUrl(QUrl(page))
        self._show_step()
        if not opened:
            self._services.show_status(
                "No browser could be opened. Copy the address and open it yourself."
            )

    def _on_signed_in(self, target: "Target | None") -> None:
        self._job = None
        name = self._server[1]
        if target is None:
            self._messages.clear()
            self._services.show_status(f"The sign-in to {name} was cancelled")
            return
        ctx = self._services.ctx
        self._messages.show_message(INFO, f"Signed in to {name}. Reading its tools…")
        self._services.tasks.work(
            lambda job: read(ctx, job, [target]),
            self._on_read,
            failed=self._on_failed,
            progress=self._on_progress,
        )

    def _on_progress(self, progress: object) -> None:
        if not isinstance(progress, tuple):
            self.read.emit(progress)

    def _on_read(self, report: "ScanReport") -> None:
        status = report.servers[0]
        self._services.live.load()
        if status.status == READ:
            text = f"Signed in to {status.name}: {plural(status.tools, 'tool')} read."
            self._messages.show_message(DONE, text)
            self._services.show_status(f"Signed in to {status.name}")
        else:
            text = f"Signed in to {status.name}, but its tools were not read. {status.problem}"
            self._messages.show_message(WARN, text)

    def _on_failed(self, error: ToolcribError) -> None:
        self._job = None
        server_id, name = self._server
        problem = ToolcribError(f"Not signed in to {name}. {error.title}", error.hint)
        self._messages.error(problem, ("Try again", lambda: self.start(server_id, name)))
