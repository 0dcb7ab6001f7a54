"""Writing a host as a URL: the endpoint goes on with consent, and off again where that fails."""

from PySide6.QtCore import QObject

from app.export.plan import Plan
from app.gateway.backend.http_access import HttpState, endpoint, possible, switch_on
from app.host_status.status import HostStatus
from ui.pages.hosts.http_row import HttpRow
from ui.pages.hosts.session import HostsSession
from ui.shell.services import Services
from ui.widgets.message_bar import INFO, WARN, MessageBar

_WAITING = "Waiting for the backend to listen ..."


class HttpFlow(QObject):
    """Between the button and the write; a plan without a URL is written at once."""

    def __init__(
        self, services: Services, desk: HostsSession, messages: MessageBar, row: HttpRow
    ) -> None:
        super().__init__(desk)
        self._services, self._desk, self._messages, self._row = services, desk, messages, row
        self._switched = False  # for a write that has not ended
        desk.wrote.connect(lambda _written: self._settle(keep=True))
        desk.refused.connect(lambda _error: self._settle(keep=False))
        row.login.clicked.connect(lambda: services.open_settings("login"))

    def look(self) -> None:
        """Read the system's and the settings' present limits."""
        now = endpoint(self._services.ctx)
        self._row.possible, self._row.at_login = possible(self._services.ctx), now.at_login

    def is_stale(self, plan: Plan) -> bool:
        """True if the endpoint has changed since this plan."""
        if plan.endpoint is None or plan.of_team:
            return False
        return plan.endpoint != endpoint(self._services.ctx)

    def write(self, plan: Plan, *, insist: bool = False) -> None:
        """Write, after a question where the endpoint is off."""
        if plan.gives_token:
            self._messages.show_message(
                WARN,
                f"{plan.host.name} gets your team token in its file, for all who read that file.",
                ("Write with the token", lambda: self._desk.write(plan, insist=insist)),
            )
        elif plan.endpoint is None or plan.of_team:
            self._desk.write(plan, insist=insist)
        elif plan.endpoint.on:
            self._listen(plan, insist=insist)
        else:
            at = f"127.0.0.1:{plan.endpoint.port}"
            self._messages.show_message(
                WARN,
                f"The HTTP endpoint is off. Writing switches it on: Toolcrib listens on {at} then.",
                ("Switch on and write", lambda: self._listen(plan, insist=insist)),
            )

    def show_off(self, status: HostStatus) -> None:
        """The endpoint is off that a host was written for."""
        text = f"The HTTP endpoint is off, so {status.host.name} reaches nothing."
        self._messages.show_message(WARN, text, ("Switch it on", self._switch_on))

    def _listen(self, plan: Plan, *, insist: bool) -> None:
        ctx, port = self._services.ctx, plan.endpoint.port if plan.endpoint is not None else 0
        self._messages.show_message(INFO, _WAITING)
        was_on = plan.endpoint is not None and plan.endpoint.on

        def write(_state: HttpState) -> None:
            self._switched = not was_on
            self._desk.write(plan, insist=insist)

        def fail(error: object) -> None:
            self._switched = not was_on
            self._desk.refused.emit(error)

        self._services.tasks.wait(lambda _job: switch_on(ctx, port), write, failed=fail)

    def _settle(self, *, keep: bool) -> None:
        switched, self._switched = self._switched, False
        if switched and not keep:
            self._services.ctx.keep(http=False)

    def _switch_on(self) -> None:
        ctx = self._services.ctx
        self._messages.show_message(INFO, _WAITING)

        def done(state: HttpState) -> None:
            self._messages.clear()
            self._services.show_status(state.sentence)
            self._desk.survey()

        port = endpoint(ctx).port
        self._services.tasks.wait(
            lambda _job: switch_on(ctx, port), done, failed=self._messages.error
        )
