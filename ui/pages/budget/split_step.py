"""A split as an undo step: profiles, hosts' files and policies go and come together."""

from collections.abc import Callable, Sequence

from app.catalog.catalog import load_catalog
from app.core.changes import Changes
from app.core.context import Db
from app.core.errors import ToolcribError
from app.core.text import plural
from app.gateway.backend.http_access import endpoint
from app.host_status.splitting import Split, UndoneSplit, look_at_split, make_split, undo_split
from app.policy.budget import Budget
from app.policy.sessions import Owner
from store.records import SplitRecord
from ui.shell.actions import LateCommand
from ui.shell.services import Services

CHANGES = Changes(profile=True, hosts=True, exports=True)


def look(services: Services, db: Db, profile: str) -> Split:
    """The split of a profile as it would be made now."""
    catalog = load_catalog(db, profile, services.ctx.settings.encoding)
    budget = Budget.from_settings(catalog.settings.budget)
    ctx = services.ctx
    return look_at_split(db, services.places, catalog, budget, ctx.clock(), endpoint=endpoint(ctx))


def make(
    services: Services,
    split: Split,
    owners: Sequence[Owner],
    done: Callable[[SplitRecord], None],
    failed: Callable[[ToolcribError], None],
) -> None:
    """Make a split on the store thread, then done(its record)."""
    made: list[SplitRecord] = []

    def change(db: Db) -> Changes:
        catalog = load_catalog(db, split.plan.base, services.ctx.settings.encoding)
        made.append(make_split(services.ctx, db, catalog, split, owners))
        return CHANGES

    services.tasks.change(change, lambda _changes: done(made[0]), failed)


class SplitCommand(LateCommand):
    """A split that was made."""

    def __init__(self, services: Services, record: SplitRecord, owners: Sequence[Owner]) -> None:
        super().__init__(f"Split profile {record.profile}")
        self._services, self._record, self._owners = services, record, tuple(owners)

    def again(self) -> None:
        """Look at it anew and make it."""
        services, base = self._services, self._record.profile

        def change(db: Db) -> Changes:
            catalog = load_catalog(db, base, services.ctx.settings.encoding)
            split = look(services, db, base)
            self._record = make_split(services.ctx, db, catalog, split, self._owners)
            return CHANGES

        made = f"Split the profile {base} again"
        services.tasks.change(change, lambda _changes: services.show_status(made))

    def take_back(self) -> None:
        """Take all of it back; what stays is named."""
        services, number = self._services, self._record.id
        undone: list[UndoneSplit] = []

        def change(db: Db) -> Changes:
            undone.append(undo_split(services.ctx, db, number))
            return CHANGES

        services.tasks.change(change, lambda _changes: services.show_status(_words(undone[0])))


def _words(undone: UndoneSplit) -> str:
    gone = plural(len(undone.profiles), "profile")
    return " ".join((f"The split of {undone.profile} is undone: {gone} deleted.", *undone.notes))
