"""Compare runs: which queries were fixed, which regressed, and what else differs."""

import time
from collections.abc import Sequence

from PySide6.QtCore import QSignalBlocker, Qt, Signal
from PySide6.QtWidgets import QPushButton, QTreeView, QWidget

from store.records import RunRecord
from ui.pages.query_set.compare_rows import KINDS, Compared, CompareTable, compared, recall_of
from ui.pages.query_set.sparkline import Sparkline
from ui.shell.badges import badge
from ui.shell.query_set import QuerySet
from ui.shell.services import Services
from ui.widgets.badge import Badge
from ui.widgets.boxes import boxed, hbox, stacked, vbox
from ui.widgets.delegates import TextDelegate
from ui.widgets.elided import ElidedChoice
from ui.widgets.empty_state import EmptyState
from ui.widgets.flow import Flow
from ui.widgets.label import PlainLabel
from ui.widgets.named import named
from ui.widgets.push_button import push_button
from ui.widgets.rows import as_table

_LETTERS = 24  # of a run's name that its box shows at least
_SHOWN = 30  # newest runs in the curve


class CompareTab(QWidget):
    """Two of the stored runs.

    Signals: run_requested() from the empty page.
    """

    run_requested = Signal()

    def __init__(self, services: Services, queries: QuerySet) -> None:
        super().__init__()
        theme = services.theme
        self._queries = queries
        self._runs: Sequence[RunRecord] = ()  # newest first, as the boxes list them
        self._comparison: Compared | None = None
        self.before, self.after = ElidedChoice(_LETTERS), ElidedChoice(_LETTERS)
        self.before.setAccessibleName("Earlier run")
        self.after.setAccessibleName("Later run")
        self.curve = Sparkline(theme)
        self.differences = PlainLabel(wrap=True, look="faint")
        self.other = Badge(theme, badge("other tools"))
        self.other.setToolTip("The catalog has changed in between: not all is due to settings.")
        self.chips = {kind: self._chip(kind) for kind in KINDS}
        self.table = CompareTable(self)
        view = named(QTreeView(), "Queries of both runs", name="compareRuns")
        self.view = as_table(view, self.table, theme, delegate=TextDelegate)
        self.nothing = PlainLabel("No query of these kinds.", look="faint")
        self.nothing.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.empty = EmptyState(
            theme,
            icon="file-compare",
            text="Two runs are needed to compare",
            hint="Each run of the query set is kept with its settings. Run it, change something,"
            " and run it again.",
            buttons=(("Open the query set", self.run_requested.emit),),
        )
        self._lay_out()
        for box in (self.before, self.after):
            box.activated.connect(lambda _place: self._compare())
        queries.changed.connect(self._on_queries)
        self._on_queries()

    def main_view(self) -> QWidget:
        """The table, or the button of the empty page."""
        return self.view if len(self._runs) > 1 else self.empty.buttons[0]

    def panes(self) -> tuple[QWidget, ...]:
        """Both boxes and the table."""
        if len(self._runs) < 2:
            return (self.empty.buttons[0],)
        return (self.before, self.after, self.view)

    def primary(self) -> None:
        """Go and run the query set, while there is nothing to compare."""
        if len(self._runs) < 2:
            self.run_requested.emit()

    def _on_queries(self) -> None:
        if self._runs == self._queries.runs and self._comparison:
            return
        self._runs = self._queries.runs
        for box, place in ((self.before, 1), (self.after, 0)):
            with QSignalBlocker(box):
                box.clear()
                box.addItems([_name(run) for run in self._runs])
                box.setCurrentIndex(min(place, len(self._runs) - 1))
        self._stack.setCurrentIndex(1 if len(self._runs) > 1 else 0)
        if len(self._runs) > 1:
            self._compare()

    def _compare(self) -> None:
        places = self.before.currentIndex(), self.after.currentIndex()
        # newest first: the larger place is the earlier run, whichever box names it
        comparison = self._comparison = compared(self._runs[max(places)], self._runs[min(places)])
        if places[0] < places[1]:
            for box, place in ((self.before, max(places)), (self.after, min(places))):
                box.setCurrentIndex(place)
        for kind, chip in self.chips.items():
            chip.setText(f"{kind} {comparison.counts[kind]}")
            chip.setEnabled(comparison.counts[kind] > 0)
            if not comparison.counts[kind]:
                chip.setChecked(False)
        self.other.setVisible(not comparison.same_catalogue)
        self.differences.setText(comparison.differences)
        latest = self._runs[:_SHOWN][::-1]
        marked = frozenset(len(latest) - 1 - place for place in places)
        self.curve.show_values([recall_of(run) for run in latest], marked)
        self._filter()

    def _filter(self) -> None:
        if self._comparison is None:
            return
        kinds = frozenset(kind for kind, chip in self.chips.items() if chip.isChecked())
        self.table.show(self._comparison.rows, kinds)
        self._inner.setCurrentIndex(0 if self.table.rowCount() else 1)
        if self.table.rowCount():
            self.view.setCurrentIndex(self.table.index(0, 0))

    def _chip(self, kind: str) -> QPushButton:
        chip = push_button(kind, look="chip", label=f"Show only: {kind}")
        chip.setCheckable(True)
        chip.toggled.connect(lambda _on: self._filter())
        return chip

    def _lay_out(self) -> None:
        top = Flow()
        for words, box in (("&Before", self.before), ("Af&ter", self.after)):
            top.addWidget(_named(words, box))
        top.add_wide(_named("Recall", self.curve))
        chips = Flow()
        for chip in (*self.chips.values(), self.other):
            chips.addWidget(chip)
        self._inner = stacked(self.view, self.nothing)
        content = boxed(vbox(top, chips, self.differences, (self._inner, 1)))
        self._stack = stacked(self.empty, content)
        vbox(self._stack, inside=self)


def _named(words: str, widget: QWidget) -> QWidget:
    """A widget behind its name, which stay beside each other."""
    return boxed(hbox(PlainLabel(words, buddy=widget), (widget, 1)))


def _name(run: RunRecord) -> str:
    """`Run 3 · 21 Nov 14:02 · 28 of 30 pass`."""
    passed = run.result.get("passed", {})
    when = time.strftime("%d %b %H:%M", time.localtime(run.at))
    return f"Run {run.id} · {when} · {sum(passed.values())} of {len(passed)} pass"
