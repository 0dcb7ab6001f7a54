"""The Review page: tools that changed or look wrong, the evidence, and what you decide."""

from collections.abc import Callable

from PySide6.QtCore import Qt
from PySide6.QtGui import QKeySequence, QShortcut
from PySide6.QtWidgets import QTreeView, QWidget

from app.catalog.catalog import CatalogTool, approve_texts, reopen_texts
from app.catalog.server_findings import findings_of
from app.core.changes import Changes
from app.core.context import Db
from app.core.errors import ToolcribError
from app.core.text import plural
from app.safety.notices import SERVER_TEXT, Notice, notices
from app.safety.review import (
    OPEN,
    ReviewItem,
    ToolDecisions,
    approve,
    decisions_of,
    hold,
    undo_decision,
)
from store.records import ServerRecord
from store.typed import Json
from ui.pages.review.card import ReviewCard
from ui.pages.review.checks_dialog import show_checks
from ui.pages.review.notes import Notes
from ui.pages.review.rows import FINDING, WHEN, ReviewTable
from ui.shell.actions import Tick
from ui.shell.page import Page
from ui.shell.services import Services
from ui.shell.steps import store_step
from ui.shell.tool_menu import add_tool_menu
from ui.widgets.boxes import STRETCH, boxed, hbox, splitter, stacked, vbox
from ui.widgets.delegates import TextDelegate
from ui.widgets.empty_state import EmptyState
from ui.widgets.label import PlainLabel
from ui.widgets.named import named
from ui.widgets.push_button import Press, push_button
from ui.widgets.question import confirm
from ui.widgets.rows import as_table

_LIST_WIDTH = 440
_CHECKED = (
    "{} checked: texts that changed after you trusted them, instructions to the model,"
    " hidden characters, names that imitate other tools."
)
_NO_TOOLS = "No tools are known yet: read your servers in the Catalog first."


class ReviewPage(Page):
    """The list left, the chosen tool right; a decision is one step that can be undone."""

    def __init__(self, services: Services) -> None:
        super().__init__(services)
        self.model = ReviewTable(self)
        self.list = self._make_list()
        self.card = ReviewCard(services.theme)
        self.headline = PlainLabel()
        self.notes = Notes(services.theme)  # what concerns servers and the profile, not one tool
        self.decided = push_button(tip="Also list the tools that you have decided on")
        self.decided.setCheckable(True)
        self.checks = push_button("What is checked?", lambda: show_checks(self))
        self.empty = EmptyState(
            services.theme,
            icon="shield-alert-outline",
            text="Nothing to review",
            hint="",
            buttons=(
                ("Open the catalog", lambda: services.open_page("catalog")),
                ("What is checked?", lambda: show_checks(self)),
                ("Show decided", lambda: self.decided.setChecked(True)),
            ),
        )
        self._lay_out()
        self._connect()

    def main_view(self) -> QWidget:
        """The list, or the first button of the empty page."""
        return self.list if self._stack.currentIndex() else self.empty.buttons[0]

    def panes(self) -> tuple[QWidget, ...]:
        """List, evidence, first button."""
        return (self.list, self.card.evidence, self.card.hold)

    def primary(self) -> None:
        """Keep the tool held."""
        if self._stack.currentIndex():
            self.card.hold.click()

    def choose(self, tool_id: int) -> None:
        """Show that tool, decided or not."""
        if self.model.row_of(tool_id) < 0:
            self.decided.setChecked(True)
        self._select(self.model.row_of(tool_id))

    def _connect(self) -> None:
        live, card = self.services.live, self.card
        live.loaded.connect(self._on_changed)
        live.toggled.connect(lambda _ids: self._on_changed())
        live.review.connect(self.choose)
        self.decided.toggled.connect(lambda _on: self._refresh())
        self.list.selectionModel().currentRowChanged.connect(lambda now, _: self._open(now.row()))
        card.hold.clicked.connect(self._hold)
        card.approve.clicked.connect(self._approve)
        card.off.clicked.connect(lambda: self._turn_off(whole_server=False))
        card.server_off.clicked.connect(lambda: self._turn_off(whole_server=True))
        for keys, step in ((Qt.Key.Key_J, 1), (Qt.Key.Key_K, -1)):
            shortcut = QShortcut(QKeySequence(keys), self.list)
            shortcut.setContext(Qt.ShortcutContext.WidgetShortcut)
            shortcut.activated.connect(
                lambda step=step: self._select(self.list.currentIndex().row() + step)
            )

    def opened(self) -> None:
        """Show what became known while the page was out of view."""
        self._refresh()

    def _on_changed(self) -> None:
        if self.isVisible():
            self._refresh()

    def _refresh(self) -> None:
        """Show what is known now; the selection stays, or its place in the list does."""
        items = self.services.live.items
        waiting = [item for item in items if item.state == OPEN]
        place = self.list.currentIndex().row()
        self._show_standing(items, waiting)
        shown = items if self.decided.isChecked() else waiting
        self.model.show(shown, self.services.ctx.clock())
        self._stack.setCurrentIndex(1 if shown else 0)
        here = self.model.row_of(self.card.item.row.tool.id) if self.card.item else -1
        self._select(here if here >= 0 else min(max(place, 0), len(shown) - 1))

    def _show_standing(self, items: tuple[ReviewItem, ...], waiting: list[ReviewItem]) -> None:
        catalog = self.services.live.catalog
        tools = catalog.tools if catalog else ()
        held = sum(bool(tool.held) and tool.on for tool in tools)
        self.headline.setText(
            f"{plural(len(waiting), 'tool')} to decide on · {held} held back from hosts"
        )
        others = len(items) - len(waiting)
        verb = "Hide" if self.decided.isChecked() else "Show"
        self.decided.setText(f"{verb} decided ({others})")
        self.decided.setEnabled(bool(others))
        self.empty.buttons[2].setText(f"Show decided ({others})")
        self.empty.buttons[2].setVisible(bool(others))
        count = sum(not tool.tool.gone for tool in tools)
        warnings = notices(catalog) if catalog else ()
        self.notes.show_texts(
            [notice.text for notice in warnings], [self._note_buttons(one) for one in warnings]
        )
        self.empty.text.setText("No tool to decide on" if warnings else "Nothing to review")
        self.empty.hint.setText(_CHECKED.format(plural(count, "tool")) if count else _NO_TOOLS)
        self.result.emit(f"{len(waiting)} to decide on" if waiting else "")

    def _note_buttons(self, notice: Notice) -> tuple[Press, ...]:
        """Ways on from a note about a server's own texts; none from one about tools."""
        catalog = self.services.live.catalog
        server = catalog.server(notice.about[0]) if catalog else None
        if notice.kind != SERVER_TEXT or server is None:
            return ()
        return (
            ("Show server", lambda: self._show_server(server.name)),
            ("Approve text", lambda: self._approve_texts(server)),
        )

    def _show_server(self, name: str) -> None:
        self.services.open_page("catalog")
        self.services.live.server_sought.emit(name)

    def _approve_texts(self, server: ServerRecord) -> None:
        held = any(one["severity"] == "block" for one in findings_of(server))
        question = f"Approve the texts of {server.name} as they are now?"
        effect = "Models will read them on every host that gets this server."
        if held and not confirm(self, question, effect, yes="Approve"):
            return
        before: list[Json] = []  # what the texts were; known to the store thread only
        step = store_step(
            self.services.tasks,
            f"Approve the texts of {server.name}",
            lambda db: approve_texts(db, server.id, before),
            lambda db: reopen_texts(db, server.id, before),
        )
        self.services.undo.push(step)

    def _select(self, row: int) -> None:
        if 0 <= row < self.model.rowCount():
            self.list.setCurrentIndex(self.model.index(row, 0))

    def _open(self, row: int) -> None:
        item = self.model.row(row)
        if item is None or item == self.card.item:
            return
        if self.card.item is None or item.row.tool.id != self.card.item.row.tool.id:
            self.messages.clear()
        self.card.show_item(item)

    # ---- decisions

    def _hold(self) -> None:
        item, at = self.card.item, self.services.ctx.clock()
        if item is not None:
            tool = item.row.tool
            self._decide(item, "Hold back", lambda db: hold(db, tool.id, tool.hash, at))

    def _approve(self) -> None:
        item, at = self.card.item, self.services.ctx.clock()
        if item is None or (item.severity == "block" and not self._sure(item)):
            return
        tool = item.row.tool
        self._decide(item, "Approve", lambda db: approve(db, tool.id, tool.hash, at))

    def _sure(self, item: ReviewItem) -> bool:
        return confirm(
            self,
            f"Approve the text of {item.row.tool.tool_id} as it is now?",
            "Models will read it on every host that gets this tool.",
            yes="Approve",
        )

    def _decide(self, item: ReviewItem, verb: str, change: Callable[[Db], Changes]) -> None:
        """Decide in the store, then remember how to take it back."""
        tool, tasks = item.row.tool, self.services.tasks
        before: list[ToolDecisions] = []

        def decide(db: Db) -> Changes:
            before.append(decisions_of(db, tool.id))
            return change(db)

        def done(_changes: Changes) -> None:
            step = store_step(
                tasks,
                f"{verb} {tool.tool_id}",
                change,
                lambda db: undo_decision(db, tool.id, before[0]),
                made=True,
            )
            self.services.undo.push(step)

        self.card.wait()
        tasks.change(decide, done, self._on_refused)

    def _on_refused(self, error: ToolcribError) -> None:
        self.messages.error(error)
        if self.card.item is not None:
            self.card.show_item(self.card.item)
        self.services.live.load()

    def _turn_off(self, *, whole_server: bool) -> None:
        item, catalog = self.card.item, self.services.live.catalog
        if item is None or catalog is None:
            return
        every: tuple[CatalogTool, ...] = catalog.of_server(item.row.tool.server_id)
        tools = [tool for tool in every if tool.on] if whole_server else [item.row]
        if tools:
            self.services.undo.push(Tick(self.services.live, tools, False))

    # ---- layout

    def _lay_out(self) -> None:
        head = hbox(self.headline, STRETCH, self.decided, self.checks)
        split = splitter(
            Qt.Orientation.Horizontal,
            (self.list, 1),  # findings are cut before the card has room to spare
            (self.card, 1),
            name="reviewSplit",
            sizes=(_LIST_WIDTH, 600),
        )
        self._stack = stacked(self.empty, boxed(vbox(head, (split, 1))))
        self.body.addWidget(self.notes)
        self.body.addWidget(self._stack, 1)

    def _make_list(self) -> QTreeView:
        view = named(QTreeView(), "Tools to review", name="reviewList")
        theme, first = self.services.theme, (WHEN, FINDING)
        as_table(view, self.model, theme, delegate=TextDelegate, gone_first=first)
        add_tool_menu(view, self.services, lambda: self._rows(view))
        return view

    def _rows(self, view: QTreeView) -> list[CatalogTool]:
        item = self.model.row(view.currentIndex().row())
        return [item.row] if item is not None else []
