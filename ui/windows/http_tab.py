"""Settings, HTTP: the switch, whether the endpoint answers, and what a client needs to know."""

from PySide6.QtCore import Signal
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QSpinBox, QWidget

from app.core.context import AppContext
from app.core.errors import ToolcribError
from app.gateway.backend.http_access import HttpState, bring_up, token_for, url_of
from app.host_status.http import over_http
from ui.look.theme import MARGIN
from ui.shell.services import Services
from ui.widgets.boxes import STRETCH, STYLE, hbox, vbox
from ui.widgets.label import PlainLabel
from ui.widgets.push_button import push_button
from ui.windows.setting_fields import HTTP
from ui.windows.setting_form import SettingForm

_SECONDS = 5.0  # that the backend may take to start and to listen
_LOOKING = "Waiting for the backend ..."


class HttpTab(QWidget):
    """URL and token are those of the profile in view.

    Signals: failed(ToolcribError).
    """

    failed = Signal(object)

    def __init__(self, services: Services) -> None:
        super().__init__()
        self._services = services
        self.form = SettingForm(services.theme, HTTP)
        port = self.form.fields["http_port"]
        assert isinstance(port, QSpinBox)
        port.setGroupSeparatorShown(False)  # it is a name, not a quantity
        self.state = PlainLabel(wrap=True, look="faint")
        self.copy_url = push_button("Copy the &URL", self._copy_url)
        self.copy_token = push_button("Copy the &token", self._copy_token)
        self.copy_token.setToolTip("A secret; a client sends it as Authorization: Bearer")
        row = hbox(self.copy_url, self.copy_token, STRETCH)
        inside = vbox(self.state, row, margins=(MARGIN, 0, MARGIN, MARGIN), gap=STYLE)
        vbox(self.form, inside, inside=self, gap=STYLE)
        self._enable(on=False)

    def showEvent(self, event: QShowEvent) -> None:
        """Look whether it answers."""
        super().showEvent(event)
        self.follow()

    def follow(self) -> None:
        """Have a backend do what the settings say, and show whether it does."""
        ctx = self._services.ctx
        self._enable(on=ctx.settings.http)
        self.state.setText(_LOOKING if ctx.settings.http else "")
        self._services.tasks.wait(
            lambda _job: (bring_up(ctx, _SECONDS), _written(ctx)),
            lambda seen: self._show(*seen),
            failed=self._on_failed,
            owner=self,
        )

    def _show(self, state: HttpState, hosts: str) -> None:
        words = f"Written with its URL: {hosts}." if hosts else ""
        if hosts and not state.on:
            words = f"Without it these hosts reach no tool: {hosts}."
        self.state.setText(f"{state.sentence} {words}".strip())

    def _on_failed(self, error: ToolcribError) -> None:
        self.state.setText(error.text)

    def _enable(self, *, on: bool) -> None:
        self.copy_url.setEnabled(on)
        self.copy_token.setEnabled(on)

    # ---- what a client needs

    def _profile(self) -> str:
        catalog = self._services.live.catalog
        return catalog.profile.name if catalog is not None else "default"

    def _copy_url(self) -> None:
        name = self._profile()
        self._services.copy(url_of(self._services.ctx, name), f"the URL of {name}")

    def _copy_token(self) -> None:
        name, ctx = self._profile(), self._services.ctx
        self._services.tasks.wait(  # the keychain may ask the user
            lambda _job: token_for(ctx, name),
            lambda token: self._services.copy(token, f"the token of {name}"),
            failed=self.failed.emit,
            owner=self,
        )


def _written(ctx: AppContext) -> str:
    """The names of the hosts that have its URL in their files."""
    with ctx.store() as db:
        return ", ".join(facts.name for facts in over_http(db))
