"""Edits of the query set, each as one undo step."""

from collections.abc import Sequence
from pathlib import Path

from PySide6.QtCore import QObject

from app.core.errors import ToolcribError
from app.core.text import plural
from app.ranking.learning.label_files import read, write
from app.ranking.learning.query_set import put_back
from store.records import LabelRecord
from ui.pages.query_set.run_session import Learned
from ui.shell.query_set import QuerySet, key
from ui.shell.services import Services
from ui.shell.steps import Step, store_step

TYPED, IMPORTED = "typed", "imported"
_LONGEST = 40  # characters of a query in the name of a step


class LabelSession(QObject):
    """Adds, changes and forgets labels."""

    def __init__(self, services: Services, queries: QuerySet) -> None:
        super().__init__(queries)
        self._services = services
        self._queries = queries

    def add(self, query: str, tools: Sequence[str]) -> bool:
        """Label a query by hand; False when it is labelled so already."""
        made = self._label(query, tools)
        if key(made) in self._keys():
            return False
        self._push(f"Add query {quoted(query)}", added=[made])
        return True

    def change(self, label: LabelRecord, query: str, tools: Sequence[str]) -> None:
        """Put another query or other tools in a label's place."""
        made = LabelRecord(0, query, tuple(sorted(tools)), label.source, label.at)
        if key(made) == key(label):
            return
        added = [] if key(made) in self._keys() else [made]
        self._push(f"Edit query {quoted(query)}", removed=[label], added=added)

    def delete(self, labels: Sequence[LabelRecord]) -> None:
        """Forget labels."""
        if labels:
            one = f"query {quoted(labels[0].query)}"
            what = one if len(labels) == 1 else plural(len(labels), "query")
            self._push(f"Delete {what}", removed=labels)

    def expect(self, query: str, tool: str, expected: bool) -> None:
        """Say that a query should find a tool, or should not."""
        mine = [label for label in self._queries.labels if label.query.strip() == query.strip()]
        tools = self._queries.expected(query) - {tool} | ({tool} if expected else set())
        added = [self._label(query, sorted(tools))] if tools else []
        verb = "Label" if expected else "Unlabel"
        self._push(f"{verb} {tool} for {quoted(query)}", removed=mine, added=added)

    def take_activity(self) -> int:
        """Add what activity teaches; how many labels that were."""
        new = self._queries.unlabelled
        if new:
            self._push(f"Add {plural(len(new), 'query')} from activity", added=new)
        return len(new)

    def take_records(self, labels: Sequence[LabelRecord]) -> int:
        """Add what the hosts' records teach; how many labels were new."""
        keys = self._keys()
        new = [label for label in labels if key(label) not in keys]
        if new:
            self._push(f"Add {plural(len(new), 'query')} from host records", added=new)
        return len(new)

    def take_file(self, path: Path) -> int:
        """Add a file's labelled queries; how many were new. Raises ToolcribError, adding none."""
        keys, new = self._keys(), []
        for query, tools in read(path):
            made = LabelRecord(
                0, query.strip(), tuple(sorted(tools)), IMPORTED, self._services.ctx.clock()
            )
            if key(made) not in keys:
                keys.add(key(made))
                new.append(made)
        if new:
            self._push(f"Import {plural(len(new), 'query')}", added=new)
        return len(new)

    def save_file(self, path: Path) -> None:
        """Write all labels to a file."""
        if path.suffix.lower() not in (".jsonl", ".csv"):
            raise ToolcribError("The file's name must end in .jsonl or .csv.")
        write(path, self._queries.labels)

    def keep(self, learned: Learned) -> None:
        """Make what was just learned a step that can be undone."""
        if learned.before != learned.after:
            name = f"Learn from {plural(learned.report.labels, 'query')}"
            self._push_learned(name, learned.before, learned.after)

    def forget(self, before: tuple[str, bytes]) -> None:
        """Forget what was learned."""
        self._push_learned("Forget what was learned", before, None)

    def _label(self, query: str, tools: Sequence[str]) -> LabelRecord:
        at = self._services.ctx.clock()
        return LabelRecord(0, query.strip(), tuple(sorted(tools)), TYPED, at)

    def _keys(self) -> set[tuple[str, tuple[str, ...]]]:
        return {key(label) for label in self._queries.labels}

    def _push(
        self,
        text: str,
        removed: Sequence[LabelRecord] = (),
        added: Sequence[LabelRecord] = (),
    ) -> None:
        apply = self._queries.apply
        step = Step(
            text,
            lambda: apply(removed=removed, added=added),
            lambda: apply(removed=added, added=removed),
        )
        self._services.undo.push(step)

    def _push_learned(
        self, text: str, before: tuple[str, bytes] | None, after: tuple[str, bytes] | None
    ) -> None:
        """Set the model of past use to the state after a step; None is no model."""
        tasks = self._services.tasks
        step = store_step(
            tasks,
            text,
            lambda db: put_back(db, after, at=tasks.ctx.clock()),
            lambda db: put_back(db, before, at=tasks.ctx.clock()),
        )
        self._services.undo.push(step)


def quoted(query: str) -> str:
    """A query in quotes, shortened."""
    text = query if len(query) <= _LONGEST else f"{query[:_LONGEST].rstrip()}…"
    return f"“{text}”"
