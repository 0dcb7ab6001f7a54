"""From a switch of a host's prompts (hook, rules snippet) to the file written, or as it was."""

from collections.abc import Callable

from PySide6.QtCore import QObject
from PySide6.QtWidgets import QStackedWidget

from app.core.errors import ToolcribError
from app.export.plan import Plan
from ui.pages.hosts.change_sheet import say_refused
from ui.pages.hosts.detail import HostDetail
from ui.pages.hosts.hook_sheet import HOOKS, LISTED, WORDS, HookPreview, HookSheet, about_of
from ui.pages.hosts.session import HostsSession
from ui.widgets.message_bar import DONE, MessageBar


class HookFlow(QObject):
    """Shows the preview in the page's stack, writes it when it is wanted, says what came of it."""

    def __init__(
        self,
        desk: HostsSession,
        sheet: HookSheet,
        stack: QStackedWidget,
        messages: MessageBar,
        home: HostDetail,
    ) -> None:
        super().__init__(sheet)
        self._desk, self._sheet, self._stack = desk, sheet, stack
        self._messages, self._home = messages, home
        self.host = ""  # that is in view
        home.hook.change_wanted.connect(self.open)
        home.hook.list_button.clicked.connect(lambda: self.open(True, LISTED))
        home.rules.change_wanted.connect(lambda wanted: self.open(wanted, WORDS))
        desk.hook_previewed.connect(self._on_previewed)
        sheet.write_wanted.connect(self._write)

    def open(self, wanted: bool, about: str = HOOKS) -> None:
        """Show what the switch would write."""
        self._messages.clear()
        self._desk.preview_hook(self.host, wanted=wanted, about=about)

    def open_again(self, plan: Plan) -> None:
        """Show what writing the same would change by now."""
        self.open(bool(plan.profile), about_of(plan))

    def written(self, plan: Plan, take_back: Callable[[], None]) -> None:
        """Say that it was written, and what the host wants of the user."""
        self._stack.setCurrentWidget(self._home)
        is_hook = about_of(plan) != WORDS
        (self._home.hook if is_hook else self._home.rules).switch.setFocus()
        note = plan.host.hook.note if is_hook and plan.profile and plan.host.hook else ""
        words = "Written." if plan.profile else "Taken out."
        text = " ".join(filter(None, (words, note, plan.restart_hint)))
        self._messages.show_message(DONE, text, ("Undo", take_back))

    def refused(self, error: ToolcribError) -> bool:
        """Show a refusal of the preview in view; False if it was about another."""
        preview = self._sheet.preview
        if self._stack.currentWidget() is not self._sheet or preview is None:
            return False
        say_refused(self._messages, error, lambda: self.open(preview.wanted, preview.about))
        return True

    def _on_previewed(self, preview: HookPreview) -> None:
        if preview.plan.host.id == self.host:
            self._sheet.show_preview(preview)
            self._stack.setCurrentWidget(self._sheet)
            self._sheet.write.setFocus()

    def _write(self, plan: Plan) -> None:
        self._sheet.write.setEnabled(False)  # once
        self._desk.write(plan)
