"""The window in which a tool is called by hand."""

import json
import time
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication, QKeySequence, QShortcut
from PySide6.QtWidgets import QWidget

from app.catalog.catalog import CatalogTool
from app.core.errors import ToolcribError
from app.tokens.counters import counter
from store.typed import Json
from ui.look.text import APPROX, count, visible
from ui.pages.catalog.calling.form import ArgumentForm, ArgumentProblem
from ui.pages.catalog.calling.history import CallHistory, Kept
from ui.pages.catalog.calling.result_view import ResultView
from ui.shell.services import Services
from ui.shell.tasks import Job
from ui.widgets.boxes import STRETCH, STYLE, hbox, splitter, vbox
from ui.widgets.dialog import Dialog
from ui.widgets.elided import Choice, ElidedLabel
from ui.widgets.label import PlainLabel
from ui.widgets.push_button import push_button
from ui.widgets.question import confirm

if TYPE_CHECKING:
    from app.registry.calling import CallResult

_LATER = "Earlier calls"


class CallDialog(Dialog):
    """A form, the call, its result; the server runs until the dialog is closed."""

    def __init__(
        self, services: Services, tool: CatalogTool, history: CallHistory, parent: QWidget
    ) -> None:
        from app.registry.calling import CallSession  # not needed for the window's start

        super().__init__(parent, title=f"Call {tool.tool.name}", name="callDialog")
        self._services, self._tool, self._history = services, tool, history
        self._server: CallSession = CallSession(services.ctx, tool.tool.server_id)
        self._job: Job | None = None
        self._agreed = tool.tool.has_hint("readOnlyHint")
        self.form = ArgumentForm(services.theme, tool.tool.input_schema)
        self.result_view = ResultView(services.theme)
        self.state = ElidedLabel("Nothing was called yet.", name="callState")
        self.problem = PlainLabel(wrap=True, look="wrong")
        self.problem.hide()
        self.earlier = Choice()
        self.earlier.setAccessibleName(_LATER)
        self.earlier.activated.connect(self._on_earlier)
        self.call = push_button("&Call", self._press, look="primary")
        self.call.setToolTip("Enter, or Ctrl+Enter in a text of several lines")
        self.cancel = push_button("&Stop", self._stop)
        self.cancel.setEnabled(False)
        self.copy = push_button("C&opy", self._copy)
        self.close_button = push_button("Close", self.close)
        self.submit_with(self.call)
        shortcut = QShortcut(QKeySequence("Ctrl+Return"), self)
        shortcut.activated.connect(self.call.click)
        services.tasks.closing.connect(self._server.close)
        self._lay_out()
        self._show_earlier()
        self.form.first.setFocus()

    def done(self, result: int) -> None:
        """However it is closed: end the server; nothing of it stays."""
        super().done(result)
        self._end()

    def _end(self) -> None:
        if self._job is not None:
            self._job.cancel()
        server = self._server
        self._services.tasks.wait(lambda _job: server.close(), lambda _none: None)

    def _press(self) -> None:
        if self._job is not None:
            return
        try:
            arguments = self.form.arguments()
        except ArgumentProblem as problem:
            self._refuse(str(problem), problem.widget)
            return
        wrong = self._problems(arguments)
        if wrong:
            self._refuse("The schema says: " + "; ".join(wrong), self.form.first)
            return
        if self._agreed or self._confirm(arguments):
            self._agreed = not self._tool.tool.has_hint("destructiveHint")
            self._start(arguments)

    def _problems(self, arguments: Json) -> list[str]:
        from app.gateway.menu.arguments import Checker

        return Checker().problems(json.dumps(self._tool.tool.raw), arguments)

    def _confirm(self, arguments: Json) -> bool:
        tool = self._tool
        says = (
            "says that it may delete or overwrite things"
            if tool.tool.has_hint("destructiveHint")
            else "does not say that it only reads"
        )
        kept = json.dumps(self.form.without_secrets(arguments), ensure_ascii=False)
        return confirm(
            self,
            f"Call {tool.tool.name} of {tool.server.name}?",
            f"The tool {says}. Nothing that it does can be undone here.\n\n{visible(kept)[:600]}",
            yes="Call it",
        )

    def _start(self, arguments: Json) -> None:
        self.problem.hide()
        self.state.setText("Waiting for the answer…")
        self.call.setEnabled(False)
        self.cancel.setEnabled(True)
        name, server, secrets = self._tool.tool.name, self._server, self.form.secrets()
        encoding = self._services.ctx.settings.encoding
        kept = self.form.without_secrets(arguments)

        def work(job: Job) -> "tuple[CallResult, int]":
            cancelled = job.cancelled.is_set
            call = server.call(name, arguments, secrets=secrets, cancelled=cancelled)
            return call, counter(encoding).count(json.dumps(call.result, ensure_ascii=False))

        self._job = self._services.tasks.wait(
            work,
            lambda answer: self._on_answer(kept, *answer),
            failed=self._on_failed,
            owner=self,
        )

    def _on_answer(self, arguments: Json, call: "CallResult", tokens: int) -> None:
        self._history.add(Kept(self._tool.tool.tool_id, time.time(), arguments, call))
        self._ready()
        self._show_earlier()
        self._show_call(call, tokens)

    def _on_failed(self, error: ToolcribError) -> None:
        self._ready()
        self.state.setText("Nothing was called.")
        self._refuse(error.text, self.call)

    def _ready(self) -> None:
        self._job = None
        self.call.setEnabled(True)
        self.cancel.setEnabled(False)

    def _show_call(self, call: "CallResult", tokens: int | None = None) -> None:
        self.result_view.show_call(call)
        word = (
            "No answer" if call.problem else "The tool says: error" if call.failed else "Answered"
        )
        parts = [f"{word} after {_time(call.seconds)}"]
        if call.start_seconds:
            parts.append(f"starting the server took {_time(call.start_seconds)}")
        if tokens is not None and not call.problem:
            parts.append(f"the result takes {count(tokens)} tokens {APPROX}")
        self.state.setText(" · ".join(parts))

    def _stop(self) -> None:
        if self._job is not None:
            self._job.cancel()

    def _copy(self) -> None:
        QGuiApplication.clipboard().setText(self.result_view.shown)

    def _refuse(self, text: str, widget: QWidget) -> None:
        self.problem.say(visible(text))
        widget.setFocus()

    def _show_earlier(self) -> None:
        kept = self._history.of(self._tool.tool.tool_id)
        self.earlier.clear()
        self.earlier.addItem(f"{_LATER} ({len(kept)})")
        self.earlier.addItems([_line(one) for one in kept])
        self.earlier.setEnabled(bool(kept))

    def _on_earlier(self, number: int) -> None:
        kept = self._history.of(self._tool.tool.tool_id)
        if 0 < number <= len(kept):
            self.form.show_arguments(kept[number - 1].arguments)
            self._show_call(kept[number - 1].call)

    def _lay_out(self) -> None:
        theme, tool = self._services.theme, self._tool
        title = theme.heading(PlainLabel(tool.tool.name), 3)
        words = f"{tool.server.name} · {visible(tool.tool.description)}"
        described = ElidedLabel(words, look="faint")
        sides = (self.form, self.result_view)
        split = splitter(Qt.Orientation.Horizontal, *sides, sizes=(360, 520))
        row = hbox(self.earlier, STRETCH, self.copy, self.cancel, self.call, self.close_button)
        vbox(
            title, described, (split, 1), self.state, self.problem, row, inside=self, margins=STYLE
        )
        self.fit(theme, 920, 560)


def _time(seconds: float) -> str:
    return f"{seconds * 1000:,.0f} ms" if seconds < 10 else f"{seconds:,.1f} s"


def _line(kept: Kept) -> str:
    moment = time.strftime("%H:%M:%S", time.localtime(kept.at))
    state = "failed" if kept.call.failed else "answered"
    text = json.dumps(kept.arguments, ensure_ascii=False)
    return f"{moment} {state}  {visible(text)[:60]}"
