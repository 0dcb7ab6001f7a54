"""The query set in the window: labels, runs and what was learned, as the store has them."""

import os
from collections.abc import Sequence

from PySide6.QtCore import QObject, Signal

from app.catalog.activity import ACTIVITY
from app.core.changes import Changes
from app.core.context import Db
from app.indexing.hidden_labels import hidden_labels
from app.ranking.learning.learn import LearnedModel
from app.ranking.learning.query_set import StoredQuerySet, change_labels, held
from store.records import LabelRecord, RunRecord
from ui.shell.services import Services
from ui.shell.tasks import Tasks


class QuerySet(QObject):
    """Reads the query set, and again after every change to it.

    Signals: changed() when what it holds is other than before, and after the first reading.
    """

    changed = Signal()

    def __init__(self, tasks: Tasks, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._tasks = tasks
        self._held: StoredQuerySet | None = None
        tasks.changed.connect(self._on_changed)

    @property
    def loaded(self) -> bool:
        """True if it was read."""
        return self._held is not None

    @property
    def labels(self) -> tuple[LabelRecord, ...]:
        """Labelled queries, the oldest first."""
        return self._held.labels if self._held else ()

    @property
    def runs(self) -> tuple[RunRecord, ...]:
        """Runs of the query set, newest first."""
        return self._held.runs if self._held else ()

    @property
    def learned(self) -> str:
        """A digest of what rankings learned from past use, "" when nothing was."""
        return self._held.learned if self._held else ""

    @property
    def lesson(self) -> LearnedModel | None:
        """From how many queries rankings learned, and whether tools changed since."""
        return self._held.lesson if self._held else None

    @property
    def unlabelled(self) -> tuple[LabelRecord, ...]:
        """Labels that activity would add: searches with the tool called next, not labels yet."""
        if self._held is None:
            return ()
        there = {key(label) for label in self._held.labels}
        return tuple(label for label in self._held.seen if key(label) not in there)

    @property
    def lessons(self) -> int:
        """Queries with a tool that learning can learn from: labels and activity."""
        if self._held is None:
            return 0
        every = (*self._held.labels, *self._held.seen)
        return len({label.query.strip() for label in every if label.expected})

    def expected(self, query: str) -> frozenset[str]:
        """The tools that labels expect for a query."""
        wanted = query.strip()
        mine = [label.expected for label in self.labels if label.query.strip() == wanted]
        return frozenset().union(*mine)

    def load(self) -> None:
        """Read it."""
        self._tasks.request(held, self._on_read)

    def apply(self, *, removed: Sequence[LabelRecord], added: Sequence[LabelRecord]) -> None:
        """Forget and remember labels in the store, secrets as dots; `changed` follows."""
        paths = self._tasks.ctx.paths

        def change(db: Db) -> Changes:
            hidden = hidden_labels(db, paths, os.environ, (*removed, *added))
            gone, kept = hidden[: len(removed)], hidden[len(removed) :]
            return change_labels(db, removed=[*removed, *gone], added=kept)

        self._tasks.change(change, keychain=True)

    def _on_changed(self, changes: Changes) -> None:
        if changes.labels or changes.events:
            self.load()

    def _on_read(self, stored: StoredQuerySet) -> None:
        if stored != self._held:
            self._held = stored
            self.changed.emit()


def key(label: LabelRecord) -> tuple[str, tuple[str, ...]]:
    """Key of a label: the query and its tools."""
    return label.query, tuple(sorted(label.expected))


def save_label(services: Services, query: str, tool: str) -> None:
    """Keep that a query should find a tool, and say so."""
    ctx = services.ctx
    made = LabelRecord(0, query, (tool,), ACTIVITY, ctx.clock())

    def change(db: Db) -> Changes:
        kept = hidden_labels(db, ctx.paths, os.environ, [made])
        return change_labels(db, removed=(), added=kept)

    services.tasks.change(change, keychain=True)
    services.show_status(f"“{query}” should find {tool}")
