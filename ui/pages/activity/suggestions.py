"""Suggestions of hooks for prompts, and the model's calls that followed."""

from collections.abc import Sequence

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QTreeView, QWidget

from app.core.context import Db
from app.core.text import plural
from app.hooks.suggestion import SILENCES
from app.hooks.usage import (
    HIT,
    MISSED,
    NONE,
    OTHER,
    SILENT,
    SPOKEN,
    UNSEEN,
    SuggestionUse,
    suggestion_uses,
    weeks,
)
from app.policy.usage import DAY
from ui.look.text import count, moment
from ui.pages.activity.figures import Figures
from ui.shell.badges import badge
from ui.shell.host_names import host_names
from ui.shell.query_set import save_label
from ui.shell.services import Services
from ui.widgets.boxes import boxed, hbox, stacked, vbox
from ui.widgets.columns import Column
from ui.widgets.delegates import BadgeDelegate, TextDelegate
from ui.widgets.elided import ElidedLabel
from ui.widgets.empty_state import EmptyState
from ui.widgets.named import named
from ui.widgets.push_button import push_button
from ui.widgets.roles import BADGE, FAINT
from ui.widgets.row_table import RowTable
from ui.widgets.rows import as_table

DAYS = 84  # that are looked at
WEEKS = 6  # that the line shows
OUTCOMES = {
    HIT: "Called",
    OTHER: "Another called",
    NONE: "None called",
    UNSEEN: "Not seen",
    SILENT: "Silent",
    MISSED: "Missed",
}
_CARDS = (
    ("suggestions", f"Prompts of the last {DAYS} days for which tools were suggested."),
    ("then called", "The model then called a suggested tool. Counted where its calls can be seen."),
    ("another called", "The model called a tool that was not suggested."),
    ("silent", "Prompts for which nothing was suggested."),
    ("tokens each ≈", "Mean tokens that a suggestion adds to a request: an upper estimate."),
)
_KEPT = "Prompts are kept, as you chose in Settings."
_UNKEPT = "Prompts are not kept. Settings, Keep prompts, makes labels of misses possible."
_LABEL = "Label this prompt"
_TIP = "Remember that this prompt should have found the tool that was called"
_WHY_NOT = "For a miss whose prompt was kept"
_HINT = (
    "Hosts has a switch for each host that suggests tools for each prompt; what it suggests, and"
    " whether the model then called it, appears here."
)


def _score(use: SuggestionUse) -> str:
    scores = use.event.detail.get("scores") or ()
    return f"{scores[0]:.2f}" if scores and not use.silence else ""


def _tools(use: SuggestionUse) -> str:
    return SILENCES.get(use.silence, use.silence) if use.silence else ", ".join(use.tools)


def columns() -> tuple[Column[SuggestionUse], ...]:
    """The table's columns; the hosts' names are looked up once."""
    names = host_names()
    return (
        Column("Time", lambda use: moment(use.event.at), lambda use: use.event.at, width=104),
        Column("Host", lambda use: names.get(use.host, use.host or "unknown"), width=110),
        Column("Suggested", _tools),
        Column(
            "Score",
            _score,
            width=64,
            tip="Of the first tool; the query's own score, as in the Playground.",
            right=True,
        ),
        Column(
            "Tokens ≈",
            lambda use: count(use.event.tokens) if use.event.tokens else "",
            lambda use: use.event.tokens,
            width=84,
            right=True,
        ),
        Column(
            "ms",
            lambda use: f"{use.event.ms:.0f}" if use.event.ms else "",
            lambda use: use.event.ms,
            width=56,
            right=True,
        ),
        Column(
            "Then",
            lambda use: OUTCOMES[use.outcome],
            delegate=BadgeDelegate,
            width=136,
            tip="Calls up to the next prompt of the session. Calls outside Toolcrib are not"
            " counted.",
            roles={BADGE: lambda use: badge(use.outcome, OUTCOMES[use.outcome])},
        ),
        Column("Called tools", lambda use: ", ".join(use.called), width=190),
    )


class _Table(RowTable[SuggestionUse]):
    def row_data(self, row: SuggestionUse, role: int) -> object:
        """Faint where it was silent for good; the kept prompt, else the whole text."""
        if role == FAINT:
            return row.outcome == SILENT
        if role == Qt.ItemDataRole.ToolTipRole:
            return f"“{row.event.query}”" if row.event.query else _tools(row) or None
        return None


class SuggestionsTab(QWidget):
    """Figures above, the hit rate of each week, prompts below.

    Signals: result(text) for the status bar; failed(ToolcribError).
    """

    result = Signal(str)
    failed = Signal(object)

    def __init__(self, services: Services) -> None:
        super().__init__()
        self._services = services
        self.model = _Table(columns(), self)
        self.figures = Figures(services.theme, _CARDS)
        self.weeks = ElidedLabel()
        self.kept = ElidedLabel(look="faint")
        self.label = push_button(_LABEL, self._label)
        self.label.setEnabled(False)
        view = named(QTreeView(), "Suggestions", name="suggestionTable")
        self.view = as_table(view, self.model, services.theme, delegate=TextDelegate)
        self.empty = EmptyState(
            services.theme,
            icon="pulse",
            text=f"No suggestion in the last {DAYS} days",
            hint=_HINT,
            buttons=(("Open Hosts", lambda: services.open_page("hosts")),),
        )
        self._lay_out()
        self.view.selectionModel().currentRowChanged.connect(lambda *_: self._on_current())
        self._on_current()

    def main_view(self) -> QWidget:
        """The table, or the button of the empty tab."""
        return self.view if self._stack.currentIndex() else self.empty.buttons[0]

    def refresh(self) -> None:
        """Look into the journal again."""
        since = self._services.ctx.clock() - DAYS * DAY

        def read(db: Db) -> tuple[SuggestionUse, ...]:
            return suggestion_uses(db, since)

        self._services.tasks.latest(self, read, self._show, self.failed.emit)

    def _show(self, uses: Sequence[SuggestionUse]) -> None:
        chosen = self._current()
        if list(uses) != list(self.model.rows):
            self.model.replace_rows(uses)
            self._choose_again(chosen)
        with_tools = [use for use in uses if use.outcome in SPOKEN]
        seen = [use for use in with_tools if use.outcome != UNSEEN]
        hits = sum(use.outcome == HIT for use in seen)
        tokens = sum(use.event.tokens for use in with_tools)
        self.figures.show_values(
            (
                count(len(with_tools)),
                f"{100 * hits / len(seen):.0f} %" if seen else "–",
                count(sum(use.outcome == OTHER for use in seen)),
                count(len(uses) - len(with_tools)),
                count(round(tokens / len(with_tools))) if with_tools else "–",
            )
        )
        self.weeks.setText(self._week_words(uses))
        catalog = self._services.live.catalog
        keeps = catalog is not None and catalog.settings.gateway.keep_prompts
        self.kept.setText(_KEPT if keeps else _UNKEPT)
        self._stack.setCurrentIndex(bool(uses))
        self._on_current()
        if self.isVisible():
            self.result.emit(plural(len(with_tools), "suggestion") if uses else "")

    def _week_words(self, uses: Sequence[SuggestionUse]) -> str:
        made = weeks(uses)[:WEEKS]
        if not made:
            return "Hit rate per week: no call can be seen yet."
        parts = (
            f"{week.monday.day} {week.monday:%b}: {week.hits} of {week.made}"
            f" ({100 * week.hits / week.made:.0f} %)"
            for week in made
        )
        return f"Hit rate, week of {' · '.join(parts)}"

    def _current(self) -> SuggestionUse | None:
        return self.model.row(self.view.currentIndex().row())

    def _choose_again(self, chosen: SuggestionUse | None) -> None:
        if chosen is None:
            return
        for number, use in enumerate(self.model.rows):
            if use.event.id == chosen.event.id:
                self.view.setCurrentIndex(self.model.index(number, 0))

    def _on_current(self) -> None:
        use = self._current()
        can = use is not None and use.label is not None
        self.label.setEnabled(can)
        self.label.setToolTip(_TIP if can else _WHY_NOT)

    def _label(self) -> None:
        use = self._current()
        if use is None or use.label is None:
            return
        save_label(self._services, *use.label)

    def _lay_out(self) -> None:
        row = hbox((self.kept, 1), self.label)
        shown = boxed(vbox(self.figures, self.weeks, row, (self.view, 1)))
        self._stack = stacked(self.empty, shown)
        vbox(self._stack, inside=self)
