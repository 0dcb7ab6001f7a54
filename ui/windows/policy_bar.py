"""Policy file of a project that waits for a decision, at the top of the window."""

from collections.abc import Sequence
from pathlib import Path

from app.core.changes import Changes
from app.core.context import Db
from app.core.text import plural, visible
from app.policy.project_policy import CHANGED, ProjectPolicy, known_policies
from ui.look.text import with_tilde
from ui.look.theme import MARGIN
from ui.shell.project_policies import decision, show_policies
from ui.shell.services import Services
from ui.widgets.boxes import hbox
from ui.widgets.label import PlainLabel
from ui.widgets.message_bar import INFO, Bar
from ui.widgets.push_button import push_button


class PolicyBar(Bar):
    """Hidden while no file waits; one at a time."""

    def __init__(self, services: Services) -> None:
        super().__init__(services.theme, INFO)
        self.setAccessibleName("Policy files that wait for your trust")
        self._services = services
        self._waiting: Sequence[ProjectPolicy] = ()
        self.text = PlainLabel(wrap=True)
        self.show_it = push_button("Show…", lambda: show_policies(services, self.window()))
        self.later = push_button("Not now", self._put_off)
        hbox(
            self._icon,
            (self.text, 1),
            self.show_it,
            self.later,
            inside=self,
            margins=(MARGIN, 6, MARGIN, 6),
        )
        services.live.loaded.connect(self.look)
        services.live.written.connect(self.look)
        services.tasks.changed.connect(self._on_changed)

    def look(self) -> None:
        """Look which files wait."""
        self._services.tasks.latest(self, _waiting, self._show, lambda _error: None, owner=self)

    def _on_changed(self, changes: Changes) -> None:
        if changes.policies:
            self.look()

    def _show(self, waiting: Sequence[ProjectPolicy]) -> None:
        self._waiting = waiting
        self.setVisible(bool(waiting))
        if not waiting:
            return
        first = waiting[0]
        file = visible(with_tilde(Path(first.path), self._services.places.home))
        what = (
            f"The policy file {file} changed after you trusted it."
            if first.state == CHANGED
            else f"A host works in a project with a policy file: {file}."
        )
        more = f" {plural(len(waiting) - 1, 'more file')}." if len(waiting) > 1 else ""
        self.text.setText(f"{what} It changes nothing until you trust it.{more}")

    def _put_off(self) -> None:
        if self._waiting:
            services = self._services
            at = services.ctx.clock()
            services.undo.push(decision(services.tasks, self._waiting[0], at, yes=False))


def _waiting(db: Db) -> list[ProjectPolicy]:
    return [policy for policy in known_policies(db) if policy.waits]
