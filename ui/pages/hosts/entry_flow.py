"""From the wish to change one server in a host's file to the file written, or left as it is."""

from collections.abc import Callable

from PySide6.QtCore import QObject
from PySide6.QtWidgets import QStackedWidget, QWidget

from app.core.errors import ToolcribError
from app.export.plan import EDIT, REMOVE, EntryChange, Plan
from ui.pages.hosts.change_sheet import say_refused
from ui.pages.hosts.entry_sheet import EntryPreview, EntrySheet
from ui.pages.hosts.session import HostsSession
from ui.widgets.message_bar import DONE, WARN, MessageBar

_KEPT_HINT = "The next call starts it so."  # Toolcrib does, and not the host


class EntryFlow(QObject):
    """Shows the preview in the page's stack, writes it when it is wanted, says what came of it."""

    def __init__(
        self,
        desk: HostsSession,
        sheet: EntrySheet,
        stack: QStackedWidget,
        messages: MessageBar,
        home: QWidget,
    ) -> None:
        super().__init__(sheet)
        self._desk, self._sheet, self._stack = desk, sheet, stack
        self._messages, self._home = messages, home
        self._change: EntryChange | None = None
        desk.entry_previewed.connect(self._on_previewed)
        sheet.write_wanted.connect(self._write)
        sheet.change_wanted.connect(self.open)
        sheet.closed.connect(self.leave)

    @property
    def host(self) -> str:
        """The id of the host whose change is in view or about to be, "" for none."""
        return self._change.entry.host if self._change is not None else ""

    def leave(self) -> None:
        """Show no change any more."""
        self._change = None
        if self._stack.currentWidget() is self._sheet:
            self._stack.setCurrentWidget(self._home)

    def open(self, change: EntryChange) -> None:
        """Show what the change would write now."""
        self._messages.clear()
        self._change = change
        self._desk.preview_entry(change)

    def written(self, plan: Plan, take_back: Callable[[], None]) -> None:
        """Say that it was written, and how the host takes it in."""
        self.leave()
        words = "Removed." if plan.change and plan.change.kind == REMOVE else "Written."
        edited = plan.change is not None and plan.change.kind == EDIT
        hint = plan.restart_hint or (_KEPT_HINT if edited else "")
        text = f"{words} {hint}".strip()
        buttons = [("Undo", take_back)]
        if plan.parted:
            text = f"Written. It is {plan.parted} now, whose tools are not read yet. {hint}"
            buttons.append(("Show server", lambda: self._desk.show_server(plan.parted)))
        self._messages.show_message(DONE, text, *buttons)

    def refused(self, error: ToolcribError) -> bool:
        """Show a refusal of the change in view; False if it was about another."""
        change = self._change
        if change is None:
            return False
        say_refused(self._messages, error, lambda: self.open(change))
        return True

    def _on_previewed(self, preview: EntryPreview) -> None:
        if preview.change is self._change:
            self._sheet.show_preview(preview)
            self._stack.setCurrentWidget(self._sheet)
            (self._sheet.write if preview.files else self._sheet.close_button).setFocus()

    def _write(self, plan: Plan) -> None:
        if not plan.running:
            self._sheet.write.setEnabled(False)  # once
            self._desk.write(plan)
            return
        text = f"{plan.host.name} is running and would undo the change. Quit it first."
        anyway = ("Write anyway", lambda: self._desk.write(plan, insist=True))
        self._messages.show_message(WARN, text, anyway)
