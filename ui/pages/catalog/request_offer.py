"""Requests for tools that have none, by the user's own model: the offer, the consent, the work."""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QCheckBox, QComboBox, QLineEdit, QWidget

from app.core.errors import ToolcribError
from app.core.text import plural
from app.gateway.backend.host_model import HostModel, find_host_model
from app.gateway.backend.rendezvous import Place
from app.indexing.request_writer import (
    MissingRequests,
    WriterResult,
    chosen_model,
    find_missing_requests,
    write_and_encode,
)
from app.ranking.rewrite import Model, commands_here, model_of, what_is_sent
from store.records import ToolRecord
from ui.shell.services import Services
from ui.shell.tasks import Job
from ui.widgets.boxes import form
from ui.widgets.form_dialog import FormDialog
from ui.widgets.label import PlainLabel
from ui.widgets.message_bar import DONE, INFO, MessageBar
from ui.widgets.named import named

_ENDPOINT = "An OpenAI-compatible endpoint"
_SAMPLING = "sampling"
_OLLAMA = "http://127.0.0.1:11434/v1"
_LOOKING = "Looking for a connected host whose model can write them…"
_LATER = "Also for servers that are read &later, without asking again"


@dataclass(frozen=True, slots=True)
class Choice:
    """Model that is to write, and what the settings keep of it."""

    model: Model
    kept: dict[str, object]  # for AppContext.keep


class RequestOffer(FormDialog):
    """Says how many tools have none and what goes where; stays open until a model is named.

    Signals: agreed(Choice) then.
    """

    agreed = Signal(object)

    def __init__(
        self,
        services: Services,
        lacks: MissingRequests,
        host: HostModel | None = None,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__("Have requests written", "Send and write", parent, name="requestOffer")
        self.setMinimumWidth(self.fontMetrics().averageCharWidth() * 76)
        self._tools, self._host = lacks.tools, host
        settings = services.ctx.settings
        self.way = named(QComboBox(), name="requestWay")
        for name in commands_here(os.environ):
            self.way.addItem(f"`{name}`, as it is signed in here", name)
        if host is not None:
            self.way.addItem(f"The model of {host.host}, which is connected now", _SAMPLING)
        self.way.addItem(_ENDPOINT, "")
        if settings.requests_command or settings.requests_url:
            self.way.setCurrentIndex(max(0, self.way.findData(settings.requests_command)))
        self.url = _line(settings.requests_url or _OLLAMA, "URL")
        self.model = _line(settings.requests_model, "Model", "llama3.2")
        self.key = _line(settings.requests_key_env, "Variable with the key", "none")
        self.later = QCheckBox(_LATER)
        self.later.setChecked(settings.requests_new)
        self.sent = PlainLabel(wrap=True, name="requestsSent")
        self._rows = form(
            ("&Written by", self.way),
            ("&URL", self.url),
            ("&Model", self.model),
            ("Variable with the &key", self.key),
        )
        first = PlainLabel(f"{lacks.sentence} {lacks.held_sentence}".strip(), wrap=True)
        self.lay_out(first, self._rows, self.sent, self.later)
        self.way.currentIndexChanged.connect(self._show)
        for line in (self.url, self.model):
            line.textChanged.connect(self._show)
        self._show()
        self.way.setFocus()

    def press(self) -> None:
        """Give the model, or say what is missing."""
        try:
            model = self._chosen()
        except ToolcribError as error:
            self.refuse(error.text, self.model)
            return
        kept: dict[str, object] = {}
        if not self._is_sampling():  # a host is asked only after this very yes
            kept = self._kept()
        self.agreed.emit(Choice(model, kept))
        self.accept()

    def _kept(self) -> dict[str, object]:
        return {
            "requests_command": self.way.currentData(),
            "requests_url": "" if self.way.currentData() else self.url.text().strip(),
            "requests_model": self.model.text().strip(),
            "requests_key_env": self.key.text().strip(),
            "requests_new": self.later.isChecked(),
        }

    def _is_sampling(self) -> bool:
        return bool(self.way.currentData() == _SAMPLING)

    def _chosen(self) -> Model:
        if self._host is not None and self._is_sampling():
            return self._host
        return model_of(
            self.way.currentData(),
            url=self.url.text().strip(),
            name=self.model.text().strip(),
            key_env=self.key.text().strip(),
            environ=os.environ,
        )

    def _show(self) -> None:
        is_endpoint = not self.way.currentData()
        for line in (self.url, self.model, self.key):
            self._rows.setRowVisible(line, is_endpoint)
        self.later.setVisible(not self._is_sampling())
        self.problem.hide()
        try:
            place = self._chosen().place
        except ToolcribError:
            place = self.url.text().strip()
        self.sent.setText(what_is_sent(self._tools, place))


class RequestWriting(QObject):
    """Writes in the background, one run at a time; what came before a stop stays."""

    def __init__(self, services: Services, messages: MessageBar, parent: QWidget) -> None:
        super().__init__(parent)
        self._services = services
        self._messages = messages
        self._job: Job | None = None
        self._look: Job | None = None  # for a connected host

    def offer(self) -> None:
        """Ask for a model for the tools that have no request."""
        self._find(self._look_for_host)

    def after_reading(self, tool_ids: Sequence[int]) -> None:
        """Write for tools of a reading, where the user switched that on."""
        new = frozenset(tool_ids)
        if new:
            self._find(lambda lacks: self._write_new([t for t in lacks.tools if t.id in new]))

    def stop(self) -> None:
        """Stop; what was written before stays."""
        if self._job is not None:
            self._job.cancel()
            self._services.show_status("Stopping…")

    def _find(self, done: Callable[[MissingRequests], None]) -> None:
        if self._job is not None:
            self._services.show_status("Requests are being written already.")
            return
        profile = self._services.live.profile
        self._services.tasks.request(lambda db: find_missing_requests(db, profile), done)

    def _look_for_host(self, lacks: MissingRequests) -> None:
        if not lacks.tools:
            self._services.show_status("Every tool has requests.")
            return
        backend = Place(str(self._services.ctx.paths.home))
        self._stop_looking()  # pressed again while the backend was asked
        self._messages.show_message(INFO, _LOOKING, ("Cancel", self._stop_looking))
        self._look = look = self._services.tasks.wait(
            lambda _job: find_host_model(backend),
            lambda host: self._on_looked(look, lacks, host),
            failed=lambda error: self._on_looked(look, lacks, None, error),
            owner=self,
        )

    def _stop_looking(self) -> None:
        if self._look is not None:
            self._look = None
            self._messages.clear()

    def _on_looked(
        self,
        look: Job,
        lacks: MissingRequests,
        host: HostModel | None,
        error: ToolcribError | None = None,
    ) -> None:
        if self._look is not look:
            return
        self._stop_looking()
        if error is not None:
            self._messages.error(error)
        self._open(lacks, host)

    def _open(self, lacks: MissingRequests, host: HostModel | None) -> None:
        parent = self.parent()
        assert isinstance(parent, QWidget)
        dialog = RequestOffer(self._services, lacks, host, parent)
        dialog.agreed.connect(lambda choice: self._agreed(choice, lacks.tools))
        dialog.open()

    def _agreed(self, choice: Choice, tools: Sequence[ToolRecord]) -> None:
        try:
            self._services.ctx.keep(**choice.kept)
        except ToolcribError as error:
            self._messages.error(error)
            return
        self._write(tools, choice.model)

    def _write_new(self, tools: Sequence[ToolRecord]) -> None:
        try:
            model = chosen_model(self._services.ctx.settings, os.environ)
        except ToolcribError as error:
            self._messages.error(error)
            return
        if tools:
            self._write(tools, model)

    def _write(self, tools: Sequence[ToolRecord], model: Model) -> None:
        ctx, total = self._services.ctx, plural(len(tools), "tool")
        text = f"Requests for {total} are being written by {model.place}."
        self._messages.show_message(INFO, text, ("Stop", self.stop))
        self._job = self._services.tasks.wait(
            lambda job: write_and_encode(
                ctx, tools, model, progress=job.report,
                keep_going=lambda: not job.cancelled.is_set(),
            ),
            self._on_written,
            failed=self._on_failed,
            progress=lambda done: self._services.show_status(f"Requests: {done} of {total}"),
        )  # fmt: skip

    def _on_failed(self, error: ToolcribError) -> None:
        self._job = None
        self._services.live.load()
        self._messages.error(error, ("Try again…", self.offer))

    def _on_written(self, written: WriterResult) -> None:
        self._job = None
        self._services.live.load()
        self._messages.show_message(DONE, written.sentence)


def _line(text: str, name: str, example: str = "") -> QLineEdit:
    return named(QLineEdit(text, placeholderText=example), name)
