"""From the wish to change a host's file for one server or for prompts to the file written."""

from collections.abc import Callable
from typing import Generic, TypeVar

from PySide6.QtCore import QObject
from PySide6.QtWidgets import QStackedWidget

from app.core.errors import ToolcribError
from app.export.plan import EDIT, REMOVE, EntryChange, Plan
from ui.pages.hosts.change_sheet import ChangeSheet, say_refused
from ui.pages.hosts.detail import HostDetail
from ui.pages.hosts.entry_sheet import EntryPreview, EntrySheet
from ui.pages.hosts.hook_sheet import HOOKS, LISTED, WORDS, HookPreview, HookSheet, about_of
from ui.pages.hosts.session import HostsSession
from ui.widgets.message_bar import DONE, WARN, MessageBar

_KEPT_HINT = "The next call starts it so."  # Toolcrib does, and not the host

SheetT = TypeVar("SheetT", bound=ChangeSheet)


class ChangeFlow(QObject, Generic[SheetT]):
    """Shows the preview in the page's stack, writes it when it is wanted, says what came of it."""

    def __init__(
        self,
        desk: HostsSession,
        sheet: SheetT,
        stack: QStackedWidget,
        messages: MessageBar,
        home: HostDetail,
    ) -> None:
        super().__init__(sheet)
        self._desk, self._sheet, self._stack = desk, sheet, stack
        self._messages, self._home = messages, home
        sheet.write_wanted.connect(self._write)
        self._connect()

    def _connect(self) -> None:
        raise NotImplementedError

    def _show_sheet(self) -> None:
        self._stack.setCurrentWidget(self._sheet)
        write = self._sheet.write
        (write if write.isEnabled() else self._sheet.close_button).setFocus()

    def _write(self, plan: Plan, *, insist: bool = False) -> None:
        if not plan.running or insist:
            self._sheet.write.setEnabled(False)  # once
            self._desk.write(plan, insist=insist)
            return
        text = f"{plan.host.name} is running and would undo the change. Quit it first."
        anyway = ("Write anyway", lambda: self._write(plan, insist=True))
        self._messages.show_message(WARN, text, anyway)


class EntryFlow(ChangeFlow[EntrySheet]):
    """Changes one server's entry in a host's file."""

    _change: EntryChange | None = None

    def _connect(self) -> None:
        self._desk.entry_previewed.connect(self._on_previewed)
        self._sheet.change_wanted.connect(self.open)
        self._sheet.closed.connect(self.leave)

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
            self._show_sheet()


class HookFlow(ChangeFlow[HookSheet]):
    """Writes or takes out what a host does with a prompt: its hook, its rules snippet."""

    host = ""  # that is in view

    def _connect(self) -> None:
        hook, rules = self._home.hook, self._home.rules
        hook.change_wanted.connect(self.open)
        hook.list_button.clicked.connect(lambda: self.open(True, LISTED))
        rules.change_wanted.connect(lambda wanted: self.open(wanted, WORDS))
        self._desk.hook_previewed.connect(self._on_previewed)

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
            self._show_sheet()
