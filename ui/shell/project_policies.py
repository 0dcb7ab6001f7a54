"""Policy files of projects: the text, what it would leave of the profile, and the decision."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QListWidget,
    QListWidgetItem,
    QPlainTextEdit,
    QWidget,
)

from app.core.changes import Changes
from app.core.context import Db
from app.core.text import plural, visible
from app.policy.policy_effect import Effect, effect_on
from app.policy.project_policy import (
    CHANGED,
    TRUSTED,
    ProjectPolicy,
    decide,
    known_policies,
    put_back,
)
from store.records import PolicyTrust
from ui.look.text import plain_tip, with_tilde
from ui.shell.badges import badge
from ui.shell.services import Services
from ui.shell.steps import Step, store_step
from ui.shell.tasks import Tasks
from ui.widgets.badge import Badge
from ui.widgets.boxes import STRETCH, boxed, hbox, splitter, stacked, vbox
from ui.widgets.dialog import Dialog
from ui.widgets.diff_rows import diff_rows, pair_lines
from ui.widgets.diff_view import DiffView
from ui.widgets.empty_state import EmptyState
from ui.widgets.label import PlainLabel
from ui.widgets.named import named
from ui.widgets.push_button import push_button

_SIZE = (940, 600)
_MOST_NAMES = 12
_HINT = (
    "Sessions of hosts in a project follow its .toolcrib.toml once you trust its text."
    " It can only take tools away."
)
_NONE = "No policy file yet"
_NONE_HINT = (
    "When a host works in a folder that has a .toolcrib.toml, the file is shown here."
    " Until you trust it, it changes nothing."
)
_COUNTS = "It counts: sessions in this project are narrowed by it."
_UNDECIDED = "It changes nothing until you trust it."
_PUT_OFF = "You put it off: it changes nothing."
_ALTERED = "Its text changed after you trusted it. It changes nothing until you trust it again."


@dataclass(frozen=True, slots=True)
class _Known:
    """A file with its effect on the profile in view."""

    policy: ProjectPolicy
    effect: Effect | None  # None where it cannot be used


def show_policies(services: Services, parent: QWidget) -> "PoliciesDialog":
    """Open the list; the window can be used beside it."""
    dialog = PoliciesDialog(services, parent)
    dialog.show()
    dialog.refresh()
    return dialog


def decision(tasks: Tasks, policy: ProjectPolicy, at: float, *, yes: bool) -> Step:
    """One text of a file is trusted or put off."""
    before: PolicyTrust | None = None  # known to the store thread only

    def choose(db: Db) -> Changes:
        nonlocal before
        before = decide(db, policy, at, yes=yes)
        return Changes(policies=True)

    def go_back(db: Db) -> Changes:
        if before is not None:
            put_back(db, policy.path, before, at)
        return Changes(policies=True)

    return store_step(tasks, f"{'Trust' if yes else 'Put off'} {policy.path}", choose, go_back)


class PoliciesDialog(Dialog):
    """Files left, the chosen one right; a decision is one step that can be undone."""

    def __init__(self, services: Services, parent: QWidget) -> None:
        super().__init__(parent, title="Project policies", name="projectPolicies")
        self._services = services
        self._known: Sequence[_Known] = ()
        theme = services.theme
        self.fit(theme, *_SIZE)
        self.list = named(QListWidget(), "Policy files")
        self.title = theme.heading(PlainLabel(wrap=True), 3)
        self.state = Badge(theme, badge("policy not trusted"))
        self.meaning = PlainLabel(wrap=True)
        self.effect = PlainLabel(wrap=True)
        self.notes = PlainLabel(wrap=True, look="faint")
        self.text = named(QPlainTextEdit(readOnly=True), "Text of the file")
        theme.dress_fixed(self.text)
        self.diff = DiffView(theme)
        self.diff.before.setAccessibleName("Text that you trusted")
        self.diff.after.setAccessibleName("Text now")
        self.trust = push_button("Trust", lambda: self._decide(yes=True), look="primary")
        self.later = push_button("Not now", lambda: self._decide(yes=False))
        self.empty = EmptyState(theme, icon="shield-alert-outline", text=_NONE, hint=_NONE_HINT)
        self._lay_out()
        self.list.currentRowChanged.connect(self._open)
        services.live.loaded.connect(self.refresh)
        services.tasks.changed.connect(self._on_changed)

    @property
    def current(self) -> ProjectPolicy | None:
        """The file in view."""
        row = self.list.currentRow()
        return self._known[row].policy if 0 <= row < len(self._known) else None

    def refresh(self) -> None:
        """Read the files again."""
        catalog = self._services.live.catalog

        def read(db: Db) -> list[_Known]:
            return [
                _Known(one, effect_on(catalog, one.policy) if catalog and not one.problem else None)
                for one in known_policies(db)
            ]

        self._services.tasks.latest(self, read, self._show, owner=self)

    def _on_changed(self, changes: Changes) -> None:
        if changes.policies:
            self.refresh()

    def _show(self, known: Sequence[_Known]) -> None:
        before = self.current
        self._known = known
        self.list.blockSignals(True)
        self.list.clear()
        for one in known:
            item = QListWidgetItem(_name(one.policy))
            look = badge(_badge(one.policy))
            item.setIcon(self._services.theme.icons.icon(look.icon, "text"))
            item.setToolTip(plain_tip(f"{one.policy.path}: {one.policy.state}"))
            self.list.addItem(item)
        paths = [one.policy.path for one in known]
        row = paths.index(before.path) if before and before.path in paths else 0
        self.list.setCurrentRow(row if known else -1)
        self.list.blockSignals(False)
        self._stack.setCurrentIndex(1 if known else 0)
        self._open(self.list.currentRow())

    def _open(self, row: int) -> None:
        if not 0 <= row < len(self._known):
            return
        policy, effect = self._known[row].policy, self._known[row].effect
        self.title.setText(visible(with_tilde(Path(policy.path), self._services.places.home)))
        self.state.show_badge(badge(_badge(policy)))
        self.meaning.setText(_meaning(policy))
        self.effect.setText("\n".join(_effect_lines(effect)) if effect else "")
        self.notes.setText("\n".join(map(visible, effect.notes)) if effect else "")
        for label in (self.effect, self.notes):
            label.setVisible(bool(label.text()))
        if policy.state == CHANGED:
            self.diff.show_rows(diff_rows(pair_lines(policy.before.text, policy.text)))
        else:
            self.text.setPlainText(visible(policy.text, "\n\t"))
        self._texts.setCurrentWidget(self.diff if policy.state == CHANGED else self.text)
        self._texts.setVisible(not policy.problem)
        self.trust.setEnabled(not policy.problem and not policy.trusted)
        self.later.setText("Trust no more" if policy.trusted else "Not now")
        self.later.setEnabled(policy.trusted or policy.waits)

    def _decide(self, *, yes: bool) -> None:
        policy, services = self.current, self._services
        if policy is not None:
            self.trust.setEnabled(False)
            self.later.setEnabled(False)
            at = services.ctx.clock()
            services.undo.push(decision(services.tasks, policy, at, yes=yes))

    def _lay_out(self) -> None:
        head = hbox((self.title, 1), (self.state, Qt.AlignmentFlag.AlignTop))
        buttons = hbox(STRETCH, self.later, self.trust)
        self._texts = stacked(self.text, self.diff)
        right = vbox(head, self.meaning, self.effect, self.notes, (self._texts, 1), buttons)
        split = splitter(Qt.Orientation.Horizontal, self.list, boxed(right), sizes=(240, 700))
        self._stack = stacked(self.empty, split)
        hint = PlainLabel(_HINT, wrap=True, look="faint")
        self.lay_out(hint, (self._stack, 1), self.close_box())


def _name(policy: ProjectPolicy) -> str:
    """The folder of a file, as the list shows it."""
    folder = policy.path.replace("\\", "/").rpartition("/")[0]
    return visible(folder.rpartition("/")[2] or folder)


def _badge(policy: ProjectPolicy) -> str:
    return f"policy {policy.state}"


def _meaning(policy: ProjectPolicy) -> str:
    if policy.problem:
        return visible(policy.problem)
    if policy.state == TRUSTED:
        return _COUNTS
    if not policy.waits:
        return _PUT_OFF
    return _ALTERED if policy.state == CHANGED else _UNDECIDED


def _effect_lines(effect: Effect) -> list[str]:
    lines = [effect.summary]
    if effect.left_out:
        more = len(effect.left_out) - _MOST_NAMES
        names = ", ".join(map(visible, effect.left_out[:_MOST_NAMES]))
        lines.append(f"Left out: {names}{f' and {more} more' if more > 0 else ''}.")
    if effect.refused:
        lines.append(f"{plural(len(effect.refused), 'demand')} refused:")
        lines += [f"  {visible(line)}" for line in effect.refused[:_MOST_NAMES]]
    return lines
