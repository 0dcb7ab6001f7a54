"""Proposals put off and brought back, as undo steps."""

from collections.abc import Callable, Sequence

from PySide6.QtGui import QUndoCommand

from app.core.changes import Changes
from app.core.context import Db
from app.policy.proposals import Proposal, bring_back, read_put_off, restore, snooze
from store.records import PutOff
from ui.shell.services import Services


class PutOffStep(QUndoCommand):
    """A proposal is not made for 30 days, or never again."""

    def __init__(
        self, services: Services, proposal: Proposal, *, for_good: bool, done: Callable[[], None]
    ) -> None:
        when = "for good" if for_good else "for 30 days"
        super().__init__(f"Put off {when}: {proposal.title}")
        self._services, self._proposal, self._done = services, proposal, done
        self._for_good = for_good
        self._before: PutOff | None = None  # known to the store thread only

    def redo(self) -> None:
        """Put it off."""
        now = self._services.ctx.clock()

        def change(db: Db) -> Changes:
            self._before = read_put_off(db, self._proposal.key)
            snooze(db, self._proposal, now, for_good=self._for_good)
            return Changes()

        self._services.tasks.change(change, lambda _changes: self._done())

    def undo(self) -> None:
        """Propose it again."""

        def change(db: Db) -> Changes:
            bring_back(db, self._proposal.key, self._before)
            return Changes()

        self._services.tasks.change(change, lambda _changes: self._done())


class BringBack(QUndoCommand):
    """All proposals that are put off are made again."""

    def __init__(
        self, services: Services, put: Sequence[PutOff], *, done: Callable[[], None]
    ) -> None:
        super().__init__(f"Propose {len(put)} put off again")
        self._services, self._put, self._done = services, tuple(put), done

    def redo(self) -> None:
        """Let them be made."""

        def change(db: Db) -> Changes:
            for one in self._put:
                bring_back(db, one.proposal)
            return Changes()

        self._services.tasks.change(change, lambda _changes: self._done())

    def undo(self) -> None:
        """Put them off as they were."""

        def change(db: Db) -> Changes:
            restore(db, self._put)
            return Changes()

        self._services.tasks.change(change, lambda _changes: self._done())
