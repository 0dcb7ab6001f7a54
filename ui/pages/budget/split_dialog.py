"""The split of a profile: what would be made, who gets what, and what would be written."""

from collections.abc import Sequence

from PySide6.QtCore import QModelIndex, QObject, Qt, Signal
from PySide6.QtWidgets import QTreeView, QWidget

from app.core.text import plural
from app.export.masking import masked_change, masked_diff
from app.host_status.splitting import Assignment, Split
from app.policy.clusters import NewProfile
from app.policy.sessions import Owner
from ui.look.text import count
from ui.look.theme import ROW, Theme
from ui.widgets.columns import Column
from ui.widgets.delegates import TextDelegate
from ui.widgets.diff_rows import DiffRow, diff_rows
from ui.widgets.diff_view import DiffView
from ui.widgets.form_dialog import FormDialog
from ui.widgets.label import PlainLabel
from ui.widgets.named import named
from ui.widgets.roles import FAINT
from ui.widgets.row_table import R, RowTable, TickTable
from ui.widgets.rows import as_table

PROFILE, TOOLS, TOKENS, WITHOUT = "Profile", "Tools", "Tokens ≈", "Without"
WHO, GETS, KEEPS = "Host or project", "Gets", "Calls kept"


class SplitTable(RowTable[NewProfile]):
    """One row a profile to be made."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(
            (
                Column(PROFILE, lambda one: one.name),
                Column(TOOLS, lambda one: count(len(one.tools)), width=70, right=True),
                Column(TOKENS, lambda one: count(one.tokens), width=84, right=True),
                Column(
                    WITHOUT, lambda one: f"{count(one.lost_tools)} tools", width=100, right=True
                ),
            ),
            parent,
        )

    def row_data(self, row: NewProfile, role: int) -> object:
        """Its servers and what it lacks as a tooltip."""
        if role != Qt.ItemDataRole.ToolTipRole:
            return None
        return f"{', '.join(row.servers)}. {row.loss}"


class AssignmentTable(TickTable[Assignment]):
    """One row a host or project; ticked ones get their profile, none is at first."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(
            (
                Column(WHO, lambda one: one.title),
                Column(GETS, lambda one: one.profile, width=190),
                Column(KEEPS, _keeps, width=110, right=True),
            ),
            parent,
        )
        self._ticked: set[Owner] = set()

    def show(self, assignments: Sequence[Assignment]) -> None:
        """Show these, none of them ticked."""
        self._ticked = set()
        self.replace_rows(assignments)

    @property
    def owners(self) -> list[Owner]:
        """The owners that are ticked."""
        return [one.owner for one in self._rows if one.owner in self._ticked]

    def is_ticked(self, number: int) -> bool | None:
        """True if it gets its profile; None where that is not possible."""
        row = self._rows[number]
        return None if row.refusal else row.owner in self._ticked

    def tick(self, number: int, on: bool) -> None:
        """Give it its profile, or not."""
        owner = {self._rows[number].owner}
        self._ticked = self._ticked | owner if on else self._ticked - owner

    def row_data(self, row: Assignment, role: int) -> object:
        """Faint with the reason where it cannot get one."""
        if role == FAINT:
            return bool(row.refusal)
        return row.refusal or None if role == Qt.ItemDataRole.ToolTipRole else None


def _keeps(one: Assignment) -> str:
    return f"{count(one.kept)} of {count(one.calls)}"


_NO_OWNERS = "No calls are known yet, so no host or project is proposed. Choose profiles in Hosts."
_WHO = "Tick who gets its profile now. A host's file or a project's .toolcrib.toml is written."
_NOTHING = "One profile holds every tool. There is nothing to split."
_TABLE_ROWS = 4
_WIDTH = 96  # letters


class SplitDialog(FormDialog):
    """Stays open until the split is made or dropped.

    Signals: wanted(owners).
    """

    wanted = Signal(object)

    def __init__(self, split: Split, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(
            f"Split the profile {split.plan.base}", "Make them", parent, name="splitDialog"
        )
        self.setMinimumWidth(self.fontMetrics().averageCharWidth() * _WIDTH)
        self._theme = theme
        self.split = split
        plan = split.plan
        count = plural(len(plan.profiles), "profile")
        limit = f"{plan.budget.limit:,}"
        self.headline = theme.heading(
            PlainLabel(f"{count} of at most {limit} tokens ≈ each", wrap=True), 1
        )
        self.evidence = PlainLabel(
            f"{plan.evidence} Undo takes all of it back.", wrap=True, look="faint"
        )
        self.profiles = SplitTable(self)
        self.profiles.replace_rows(plan.profiles)
        self.profile_view = self._table(self.profiles, "Profiles to be made")
        self.loss = PlainLabel(wrap=True, look="faint")
        self.assignments = AssignmentTable(self)
        self.assignments.show(split.assignments)
        self.assignment_view = self._table(self.assignments, "Who gets which profile")
        self.who = PlainLabel(_WHO if split.assignments else _NO_OWNERS, wrap=True, look="faint")
        self.reason = PlainLabel(wrap=True, look="faint")
        self.diff = DiffView(theme)
        self.diff.setMinimumHeight(theme.scaled(120))
        self.diff.hide()
        self.lay_out(
            self.headline,
            self.evidence,
            self.profile_view,
            self.loss,
            self.who,
            self.assignment_view,
            self.reason,
            self.diff,
        )
        self.assignment_view.setVisible(bool(split.assignments))
        self.reason.hide()
        self._connect()
        if len(plan.profiles) < 2:
            self.save.setEnabled(False)
            self.loss.setText(_NOTHING)
        else:
            self.profile_view.setCurrentIndex(self.profiles.index(0, 0))
        self._count()

    def press(self) -> None:
        """Ask for it."""
        self.save.setEnabled(False)
        self.wanted.emit(self.assignments.owners)

    def show_problem(self, title: str, hint: str) -> None:
        """Nothing was made, and why."""
        self.save.setEnabled(True)
        self.refuse(f"{title} {hint}".strip(), self.profile_view)

    def _connect(self) -> None:
        self.profile_view.selectionModel().currentChanged.connect(self._explain)
        self.assignment_view.selectionModel().currentChanged.connect(self._show_change)
        self.assignments.dataChanged.connect(lambda *_: self._count())

    def _count(self) -> None:
        made = f"Make {plural(len(self.split.plan.profiles), 'profile')}"
        owners = self.assignments.owners
        self.save.setText(f"{made}, write {plural(len(owners), 'file')}" if owners else made)

    def _explain(self, now: QModelIndex, _before: QModelIndex) -> None:
        profile = self.profiles.row(now.row())
        if profile is not None:
            self.loss.setText(f"{profile.name}: {profile.loss}")

    def _show_change(self, now: QModelIndex, _before: QModelIndex) -> None:
        row = self.assignments.row(now.row())
        changes = change_rows(row) if row is not None else ()
        self.reason.say(_reason(row) if row is not None else "")
        self.diff.show_rows(changes)
        self.diff.setVisible(bool(changes))

    def _table(self, model: RowTable[R], name: str) -> QTreeView:
        view = as_table(named(QTreeView(), name), model, self._theme, delegate=TextDelegate)
        rows = max(2, min(_TABLE_ROWS, model.rowCount()))
        head = view.header().sizeHint().height()
        view.setMinimumHeight(head + rows * self._theme.scaled(ROW) + 8)
        return view


def _reason(row: Assignment) -> str:
    if row.refusal:
        return row.refusal
    files = [file.path for file in row.host_plan.files] if row.host_plan else [row.policy]
    names = ", ".join(str(file) for file in files)
    return f"Would be written: {names}" if names else "Its file is as it should be already."


def change_rows(row: Assignment) -> tuple[DiffRow, ...]:
    """The change of a host's files or a project's policy, secrets masked."""
    if row.policy is not None:
        change = masked_change(row.policy, None, row.text.encode(), "text")
        return diff_rows(change.pairs, hidden=change.hidden)
    files = masked_diff(row.host_plan) if row.host_plan is not None else ()
    return tuple(one for file in files for one in diff_rows(file.pairs, hidden=file.hidden))
