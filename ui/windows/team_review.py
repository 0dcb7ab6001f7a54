"""Tools that the team holds: an editor reads a definition and decides for every member."""

import json
from collections.abc import Sequence

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QListWidget, QPlainTextEdit, QWidget

from app.core.changes import Changes
from app.core.context import AppContext, Db
from app.core.errors import ToolcribError
from app.core.text import plural, visible
from app.team import reviewing
from app.team.client import OfflineError
from app.team.reviewing import TeamTool
from store.findings import APPROVED, KEPT
from ui.shell.services import Services
from ui.widgets.boxes import STRETCH, STYLE, hbox, splitter
from ui.widgets.dialog import Dialog
from ui.widgets.label import PlainLabel
from ui.widgets.named import named
from ui.widgets.push_button import push_button

_SIZE = (760, 460)
_ALL = Changes(servers=True, tools=True, profile=True)
_TITLE = "{} held by the team"
_NONE = "The team holds no tool"
_INTRO = (
    "No member gets these tools. Read a definition, then decide for every member. The decision is"
    " for this text: another one is held again."
)
_KEPT = " · kept by a review"
_READING = "Reading what the team holds"
_SENDING = "Sending the decision"
_OFFLINE = "Nothing was decided. Try again once the team server can be reached."


def show_team_review(services: Services, parent: QWidget) -> "TeamReviewDialog":
    """Open the dialog; the window can be used beside it."""
    dialog = TeamReviewDialog(services, parent)
    dialog.show()
    dialog.refresh()
    return dialog


class TeamReviewDialog(Dialog):
    """A list of the tools, the definition of the one chosen, and the two decisions."""

    def __init__(self, services: Services, parent: QWidget) -> None:
        super().__init__(parent, title="Tools held by the team")
        self._services = services
        self._tools: Sequence[TeamTool] = ()
        self._sending = False
        theme = services.theme
        self.fit(theme, *_SIZE)
        self.title = theme.heading(PlainLabel(_READING, wrap=True), 2)
        self.intro = PlainLabel(_INTRO, wrap=True)
        self.names = named(QListWidget(), "Tools held by the team")
        self.definition = named(QPlainTextEdit(readOnly=True), "Definition of the tool")
        theme.dress_fixed(self.definition)
        self.problem = PlainLabel(wrap=True, look="wrong")
        self.problem.hide()
        self.approve = push_button("Give to every member", lambda: self._decide(APPROVED))
        self.keep = push_button("Keep from every member", lambda: self._decide(KEPT))
        self.names.currentRowChanged.connect(self._show_definition)
        self._lay_out()
        self._show_definition(-1)

    def refresh(self) -> None:
        """Read what the team holds again."""
        self._services.tasks.latest(self, _held, self._show, owner=self)

    def _show(self, tools: Sequence[TeamTool]) -> None:
        row = self.names.currentRow()
        self._tools = tools
        self.names.clear()
        self.names.addItems([visible(tool.name) + (_KEPT if tool.kept else "") for tool in tools])
        self.title.setText(_TITLE.format(plural(len(tools), "tool")) if tools else _NONE)
        self.intro.setVisible(bool(tools))
        self.names.setCurrentRow(max(0, min(row, len(tools) - 1)) if tools else -1)
        self._show_definition(self.names.currentRow())

    def _show_definition(self, row: int) -> None:
        chosen = self._tools[row] if 0 <= row < len(self._tools) else None
        raw = json.dumps(chosen.raw, indent=2, ensure_ascii=False) if chosen else ""
        self.definition.setPlainText(visible(raw, "\n"))
        for button in (self.approve, self.keep):
            button.setEnabled(chosen is not None and not self._sending)

    def _decide(self, decision: str) -> None:
        chosen, ctx = self._tools[self.names.currentRow()], self._services.ctx
        self._sending = True
        self._say("")
        self.title.setText(_SENDING)
        self._show_definition(self.names.currentRow())
        self._services.tasks.wait(
            lambda _job: _decided(ctx, chosen, decision),
            self._ended,
            failed=self._failed,
            owner=self,
        )

    def _ended(self, sentence: str) -> None:
        self._sending = False
        self._services.show_status(sentence)
        self._services.tasks.changed.emit(_ALL, None)
        self.refresh()

    def _failed(self, error: ToolcribError) -> None:
        self._sending = False
        hint = _OFFLINE if isinstance(error, OfflineError) else error.hint
        self._say(f"{error.title} {hint}".strip())
        self.refresh()

    def _say(self, text: str) -> None:
        self.problem.say(visible(text))

    def _lay_out(self) -> None:
        parts = splitter(
            Qt.Orientation.Horizontal, (self.names, 1), (self.definition, 2), gap=STYLE
        )
        row = hbox(self.keep, self.approve, STRETCH, self.close_box(), gap=STYLE)
        self.lay_out(self.title, self.intro, (parts, 1), self.problem, row)


def _held(db: Db) -> Sequence[TeamTool]:
    return [tool for tool in reviewing.team_tools(db) if tool.held]


def _decided(ctx: AppContext, tool: TeamTool, decision: str) -> str:
    with ctx.store() as db:
        reviewing.decide(ctx, db, [tool], decision)
    done = "Every member gets" if decision == APPROVED else "No member gets"
    return f"{done} {visible(tool.name)} with this text."
