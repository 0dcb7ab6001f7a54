"""The form for one tool: what has to hold before it is offered, and to whom."""

from collections.abc import Mapping

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QLineEdit, QWidget

from app.catalog.catalog import CatalogTool
from app.catalog.conditions import matches
from app.catalog.rule_lines import problem, to_entries, to_lines
from app.catalog.setting_checks import check_change
from app.core.errors import ToolcribError
from app.core.settings import ProfileSettings, with_settings
from store.typed import Json
from ui.shell.actions import SettingsCommand
from ui.shell.services import Services
from ui.widgets.boxes import form
from ui.widgets.form_dialog import FormDialog
from ui.widgets.label import PlainLabel

_HINT = (
    "Divide several by commas. A precondition is authenticated(scope), after(tool pattern) or"
    " milestone(name). Rules for patterns are in Settings, Profile."
)


class ConditionDialog(FormDialog):
    """Stays open until the rules can be used.

    Signals: given(settings) then.
    """

    given = Signal(object)

    def __init__(
        self, tool_id: str, settings: ProfileSettings, parent: QWidget | None = None
    ) -> None:
        super().__init__("Conditions", "Save", parent, name="conditionDialog")
        self.setMinimumWidth(self.fontMetrics().averageCharWidth() * 72)
        self._tool_id, self._settings = tool_id, settings
        self.needs = self._line(settings.preconditions, "after(github/get_pull_request)")
        self.needs.setAccessibleName("Preconditions")
        self.principals = self._line(settings.scopes, "user:ann, role:ops; empty: everybody")
        self.principals.setAccessibleName("Only for")
        rows = form(("&Preconditions", self.needs), ("Only &for", self.principals))
        wider = PlainLabel(_wider(tool_id, settings), wrap=True, look="faint")
        wider.setVisible(bool(wider.text()))
        self.lay_out(
            PlainLabel(tool_id, wrap=True), rows, wider, PlainLabel(_HINT, wrap=True, look="faint")
        )
        self.needs.setFocus()

    def press(self) -> None:
        """Give the settings with these rules, or say what is wrong with them."""
        new = with_settings(
            self._settings,
            {
                "preconditions": self._with(self._settings.preconditions, self.needs),
                "scopes": self._with(self._settings.scopes, self.principals),
            },
        )
        try:
            check_change(self._settings, new)
        except ToolcribError as error:
            wrong = self.needs if error.title.startswith("preconditions") else self.principals
            self.refuse(problem(error), wrong)
            return
        if new != self._settings:
            self.given.emit(new)
        self.accept()

    def _line(self, rules: object, example: str) -> QLineEdit:
        own = rules.get(self._tool_id, ()) if isinstance(rules, Mapping) else ()
        return QLineEdit(", ".join(map(str, own)), placeholderText=example)

    def _with(self, rules: object, line: QLineEdit) -> Json:
        """The rules with those of this tool replaced; of none there is no entry."""
        entries = to_entries(line.text())
        others = dict(rules) if isinstance(rules, Mapping) else {}
        if entries:
            return {**others, self._tool_id: entries}
        others.pop(self._tool_id, None)
        return others


def edit_conditions(services: Services, row: CatalogTool, parent: QWidget) -> None:
    """Let the user say when and to whom a tool is offered, as one undo step."""
    live, tool_id = services.live, row.tool.tool_id
    if live.catalog is None or not live.in_view:
        return
    old = live.catalog.settings
    dialog = ConditionDialog(tool_id, old, parent)
    dialog.given.connect(
        lambda new: services.undo.push(
            SettingsCommand(live, old, new, f"Edit conditions of {row.tool.name}")
        )
    )
    dialog.open()


def _wider(tool_id: str, settings: ProfileSettings) -> str:
    """Rules of patterns that name this tool, too."""
    both: Json = {}
    for rules in (settings.preconditions, settings.scopes):
        if isinstance(rules, Mapping):
            both |= {k: v for k, v in rules.items() if k != tool_id and matches(tool_id, k)}
    return f"Also by a pattern: {'; '.join(to_lines(both).splitlines())}" if both else ""
