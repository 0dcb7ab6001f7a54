"""The Budget page: numbers changed in place, hosts against them, and moves carried out."""

import json
from dataclasses import replace

import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QWheelEvent
from PySide6.QtWidgets import QApplication

from app.catalog.catalog import change_settings
from app.cli.main import run
from app.policy.budget import Budget
from app.policy.usage import DAY
from store import events
from store.connection import transaction
from store.records import EventRecord
from ui.pages.budget.form import meaning
from ui.pages.budget.moves import FREES, TITLE
from ui.pages.budget.page import BudgetPage, ci_command
from ui.pages.budget.rows import HOST, SHARE, STATE, TOKENS, TOOLS, WAY, BudgetTable
from ui.shell.host_in_view import EVERY
from ui.widgets.roles import BADGE, BAR

CURSOR = '{"mcpServers": {"github": {"command": "npx", "args": ["-y", "github"]}}}\n'


@pytest.fixture
def show(services, fill, qtbot):
    """Opens the page over the demo store: 3 x github, 2 x time on, 3,295 tokens."""

    def open_it(*called):
        fill()
        now = services.ctx.clock()
        db = services.ctx.open_store()
        with transaction(db):
            first = EventRecord(at=now - 20 * DAY, kind="list", host="cursor", session="s")
            calls = [
                EventRecord(at=now - DAY, kind="call", host="cursor", session="s", tool=tool)
                for tool in called
            ]
            events.add(db, [first, *calls] if called else [])
        db.close()
        page = BudgetPage(services)
        qtbot.addWidget(page)
        page.resize(1080, 640)
        page.show()
        qtbot.waitExposed(page)
        services.live.load()
        settled(qtbot, page)
        return page

    return open_it


def settled(qtbot, page):
    live, tasks = page.services.live, page.services.tasks
    qtbot.waitUntil(
        lambda: live.catalog is not None and tasks.idle and not page.rest.isActive(),
        timeout=20_000,
    )


def set_budget(page, qtbot, tokens):
    page.form.tokens.setValue(tokens)
    settled(qtbot, page)


def test_the_numbers_are_the_profiles(show):
    page = show()
    form = page.form
    assert (form.window_.value(), form.tokens.value()) == (200_000, 20_000)
    assert (form.warn.value(), form.block.value(), form.most.value()) == (80, 100, 0)
    assert form.most.text() == "The host's own limit"
    assert form.share.text() == "10 % of the window"
    assert form.meaning.text().startswith("PASS below 16,000 tokens. WARN from there on.")
    assert page.command.text() == "toolcrib check --budget 20000 --warn 80 --fail-on block"
    assert page.command.cursorPosition() == 0, "a field too narrow for it shows its beginning"
    assert page.moves.headline.text() == "3,295 tokens ≈ of 20,000"
    assert "nothing has to go" in page.moves.evidence.text()
    assert "Not enough evidence yet" in page.moves.evidence.text()
    assert not page.moves.off.isEnabled()  # nothing is ticked


def test_a_change_is_kept_and_undone(show, services, qtbot):
    page = show()
    set_budget(page, qtbot, 3_000)
    assert services.live.catalog.settings.budget.tokens == 3_000
    assert (
        page.moves.headline.text() == "To get all servers together out of BLOCK, free 295 tokens ≈"
    )
    assert services.undo.undoText() == "Set budget to 3,000"
    page.form.warn.setValue(50)
    page.form.on_block.activated.emit(2)
    settled(qtbot, page)
    assert page.form.meaning.text().endswith("Toolcrib writes no such config.")
    for _ in range(3):
        services.undo.undo()
    settled(qtbot, page)
    assert services.live.catalog.settings.budget.tokens == 20_000
    assert page.form.tokens.value() == 20_000
    assert services.live.catalog.settings.budget.on_block == "report"


def test_steps_that_follow_each_other_are_one(show, services, qtbot):
    page = show()
    for tokens in (19_000, 18_000, 17_000):
        page.form.tokens.setValue(tokens)
    settled(qtbot, page)
    assert services.undo.count() == 1
    services.undo.undo()
    assert page.form.tokens.value() == 20_000


def test_the_slider_follows_and_leads(show, services, qtbot):
    page = show()
    assert page.form.slider.value() == 10
    page.form.slider.setValue(25)
    settled(qtbot, page)
    assert page.form.tokens.value() == 50_000
    page.form.window_.setValue(100_000)
    settled(qtbot, page)
    assert page.form.share.text() == "50 % of the window"
    assert page.form.slider.value() == 50


def test_what_was_never_called_can_go_in_one_step(show, services, qtbot):
    page = show("github/search_code", "time/now")
    set_budget(page, qtbot, 3_000)
    table = page.moves.model
    assert table.index(0, table.place(TITLE)).data() == "3 tools never called in 20 days"
    assert table.index(0, table.place(FREES)).data() == "1,793"
    assert (
        table.index(0, table.place(TITLE)).data(Qt.ItemDataRole.CheckStateRole)
        == Qt.CheckState.Checked
    )
    assert "github/merge" in table.index(0, table.place(TITLE)).data(Qt.ItemDataRole.ToolTipRole)
    assert page.moves.off.text() == "Turn off 3 tools, frees 1,793 ≈"
    assert "Observed 20 days, 1 host, 2 calls." in page.moves.evidence.text()
    page.primary()
    settled(qtbot, page)
    assert sorted(t.tool.name for t in services.live.catalog.shown) == ["now", "search_code"]
    assert services.undo.undoText() == "Turn off 3 tools in 2 servers"
    assert page.moves.headline.text() == "1,502 tokens ≈ of 3,000"
    services.undo.undo()
    settled(qtbot, page)
    assert len(services.live.catalog.shown) == 5


def test_an_unticked_move_is_left_out(show, qtbot):
    page = show("github/search_code")
    set_budget(page, qtbot, 3_000)
    table = page.moves.model
    assert table.setData(
        table.index(0, table.place(TITLE)), Qt.CheckState.Unchecked, Qt.ItemDataRole.CheckStateRole
    )
    assert not page.moves.off.isEnabled()
    assert table.tools == []
    assert not table.setData(table.index(0, table.place(FREES)), 2, Qt.ItemDataRole.CheckStateRole)


def test_without_moves_another_way_is_named(show, services, qtbot):
    page = show()
    live = services.live
    live.set_pinned([row.tool.id for row in live.catalog.tools], True)
    set_budget(page, qtbot, 100)
    assert "No tool stands out" in page.moves.evidence.text()
    assert page.moves.through.isVisible()
    page.moves.through.click()
    assert services.open_page.__self__.opened == ["hosts"]


def test_without_a_log_sizes_suggest_what_to_look_at_in_one_step(show, services, qtbot):
    page = show()
    table = page.moves.model
    titles = [table.index(row, table.place(TITLE)) for row in range(table.rowCount())]
    wordy, title = titles
    assert wordy.data() == "2 tools with a description of 300 tokens and more"
    assert "github/search_code (470)" in wordy.data(Qt.ItemDataRole.ToolTipRole)
    assert title.data() == "1 tool, the largest of the others"
    assert title.data(Qt.ItemDataRole.CheckStateRole) == Qt.CheckState.Unchecked
    assert "It is not known yet" in title.data(Qt.ItemDataRole.ToolTipRole)
    assert page.moves.view.isVisible() and not page.moves.off.isEnabled()
    for row in titles:
        table.setData(row, Qt.CheckState.Checked, Qt.ItemDataRole.CheckStateRole)
    page.primary()
    settled(qtbot, page)
    assert services.undo.count() == 1
    assert not any(row.cost >= 500 for row in services.live.catalog.shown)
    services.undo.undo()
    settled(qtbot, page)
    assert len(services.live.catalog.shown) == 5
    set_budget(page, qtbot, 1_000)
    assert "chosen by size" in page.moves.evidence.text()


def test_ticking_everything_offered_gets_out_of_block(show, services, qtbot):
    page = show()
    before = sum(move.saves for move in page.moves.model.rows)
    on = sum(tool.cost for tool in services.live.catalog.shown)
    left = on - before  # what would stay if no more were offered for a smaller budget
    set_budget(page, qtbot, left - 1)
    table, needed = page.moves.model, f"{before + 1:,}"
    rows = [table.index(row, table.place(TITLE)) for row in range(table.rowCount())]
    assert rows[-1].data() == "1 tool more, the next largest"
    text = page.moves.evidence.text()
    assert "All of these together are enough." in text and "suffice" not in text
    assert page.moves.sum.text() == f"What is ticked frees 0 of {needed} tokens ≈: not enough yet."
    for row in rows:
        table.setData(row, Qt.CheckState.Checked, Qt.ItemDataRole.CheckStateRole)
    freed = sum(tool.cost for tool in table.tools)
    assert page.moves.sum.text() == f"What is ticked frees {freed:,} of {needed} tokens ≈: enough."
    page.primary()
    settled(qtbot, page)
    assert services.hosts.verdict.word != "BLOCK" and not page.moves.sum.isVisible()


def test_what_cannot_be_enough_is_said_with_the_numbers(show, services, qtbot):
    page = show()
    live = services.live
    largest = max(live.catalog.tools, key=lambda row: row.cost)
    live.set_pinned([largest.tool.id], True)
    set_budget(page, qtbot, 100)
    offered = sum(move.saves for move in page.moves.model.rows)
    assert 0 < offered < 3_195
    words = f"All of these together are not enough: that frees {offered:,} of 3,195 tokens ≈."
    assert words in page.moves.evidence.text() and page.moves.through.isVisible()


def test_the_proposals_count_what_the_hosts_model_gets(show, services, places, qtbot):
    (places.home / ".cursor").mkdir()
    (places.home / ".cursor/mcp.json").write_text(CURSOR)
    page = show()
    tools = services.hosts.size.sent.tools
    smallest = min(tools, key=lambda row: row.cost)
    services.live.set_on([smallest.tool.id], False)
    set_budget(page, qtbot, 1_000)
    over, text = services.hosts.verdict.to_free, page.moves.evidence.text()
    assert page.moves.headline.text() == f"To get Cursor out of BLOCK, free {over:,} tokens ≈"
    assert f"That write alone frees {smallest.cost:,} tokens of tools that are off already." in text
    assert page.moves.sum.text() == (
        f"What is ticked frees 0 of {over - smallest.cost:,} tokens ≈: not enough yet."
    )
    through = f"{services.hosts.size.through:,}"
    assert f"Or let Cursor go through Toolcrib: its model then gets {through} tokens" in text


def test_window_and_command_line_offer_the_same_moves(
    show, services, places, qtbot, monkeypatch, capsys
):
    (places.home / ".cursor").mkdir()
    (places.home / ".cursor/mcp.json").write_text(CURSOR)
    monkeypatch.setenv("HOME", str(places.home))
    monkeypatch.setenv("TOOLCRIB_HOME", str(services.ctx.paths.home))
    page = show()
    set_budget(page, qtbot, 1_000)
    capsys.readouterr()
    assert run(["check", "--host", "cursor", "--suggest", "--json"]) == 4
    printed = json.loads(capsys.readouterr().out)["moves"]
    offered = [
        (move.title, move.saves, [t.tool.tool_id for t in move.tools])
        for move in page.moves.model.rows
    ]
    assert offered and [(m["title"], m["saves"], m["tools"]) for m in printed] == offered


def test_each_host_is_held_against_the_budget(show, services, places, qtbot):
    folder = places.home / ".cursor"
    folder.mkdir()
    (folder / "mcp.json").write_text(CURSOR)
    desktop = places.home / ".config/Claude/claude_desktop_config.json"
    desktop.parent.mkdir(parents=True)
    more = {name: {"command": "npx", "args": ["-y", name]} for name in ("github", "time", "team")}
    desktop.write_text(json.dumps({"mcpServers": more}))
    page = show()
    set_budget(page, qtbot, 3_100)
    settled(qtbot, page)
    model = page.model
    rows = {model.index(r, model.place(HOST)).data(): r for r in range(model.rowCount())}
    assert set(rows) == {"Claude Desktop", "Cursor"}
    row = rows["Cursor"]
    cells = [
        model.index(row, model.place(column)).data()
        for column in (WAY, TOKENS, SHARE, TOOLS, STATE)
    ]
    assert cells == ["As is", "3,095", "100 %", "3 / 40", "WARN"]
    assert model.index(row, model.place(STATE)).data(BADGE).word == "WARN"
    assert model.index(rows["Claude Desktop"], model.place(STATE)).data() == "BLOCK"
    assert model.index(rows["Claude Desktop"], model.place(TOKENS)).data(BAR) == (1.0, 0.0)
    assert page.model.index(row, model.place(STATE)).data(Qt.ItemDataRole.ToolTipRole)


def test_copy_takes_the_command(show, services, qapp):
    page = show()
    page.copy.click()
    assert qapp.clipboard().text() == page.command.text()
    settings = services.live.catalog.settings.budget
    assert "--max-tools" not in ci_command(settings)
    other = replace(settings, block_percent=150, max_tools=30)
    assert ci_command(other).endswith("--warn 80 --block 150 --max-tools 30 --fail-on block")


def test_what_is_typed_or_ticked_survives_a_refresh(show, qtbot):
    page = show("github/search_code")
    set_budget(page, qtbot, 3_000)
    table = page.moves.model
    table.setData(
        table.index(0, table.place(TITLE)), Qt.CheckState.Unchecked, Qt.ItemDataRole.CheckStateRole
    )
    page.form.tokens.lineEdit().setText("1500")
    page.refresh()
    settled(qtbot, page)
    assert page.form.tokens.lineEdit().text() == "1500 tokens"
    unticked = table.index(0, table.place(TITLE)).data(Qt.ItemDataRole.CheckStateRole)
    assert unticked == Qt.CheckState.Unchecked


def test_words_follow_settings_that_leave_no_room_for_warn():
    odd = Budget(limit=60_000, warn_percent=80, block_percent=50)
    assert meaning(odd).startswith("PASS up to 30,000 tokens. BLOCK above 30,000 tokens:")


def test_the_sidebar_says_block_before_the_page_is_opened(fill, services, open_window):
    fill()
    window = open_window()
    assert window.nav.model().index(2, 0).data(BADGE) is None
    window.open_page("budget")
    window.page.form.tokens.setValue(1_000)
    assert window.nav.model().index(2, 0).data(BADGE).word == "BLOCK"
    assert window.strip.verdict.word == "BLOCK"


def test_the_tables_are_models(qtmodeltester, show):
    page = show("github/search_code")
    qtmodeltester.check(page.model)
    qtmodeltester.check(page.moves.model)
    assert BudgetTable().rowCount() == 0


def test_undo_of_a_number_leaves_what_others_set_meanwhile(show, services, qtbot):
    page = show()
    page.form.tokens.setValue(12_345)
    settled(qtbot, page)
    services.tasks.change(lambda db: change_settings(db, "default", {"budget.warn_percent": 55}))
    qtbot.waitUntil(lambda: services.live.catalog.settings.budget.warn_percent == 55)
    services.undo.undo()
    qtbot.waitUntil(lambda: services.tasks.idle)
    budget = services.live.catalog.settings.budget
    assert (budget.tokens, budget.warn_percent) == (20_000, 55)


def test_the_headline_and_the_proposals_are_about_the_host_in_view(show, services, places, qtbot):
    (places.home / ".cursor").mkdir()
    (places.home / ".cursor/mcp.json").write_text(CURSOR)
    page = show()
    set_budget(page, qtbot, 3_000)
    settled(qtbot, page)
    assert page.moves.headline.text() == "To get Cursor out of BLOCK, free 95 tokens ≈"
    text = page.moves.evidence.text()
    assert "What you turn off reaches Cursor once you write its config in Hosts." in text
    assert ("Or let Cursor go through Toolcrib: its model then gets " in text) != (
        page.moves._plan is not None and page.moves._plan.enough
    )
    services.hosts.choose(EVERY)
    settled(qtbot, page)
    assert page.moves.headline.text().startswith("To get all servers together out of BLOCK")
    assert "Cursor" not in page.moves.evidence.text()


def test_the_table_keeps_its_rows_at_200_per_cent_and_the_page_scrolls(show, theme, qtbot):
    page = show()
    usual = page.view.columnWidth(1)
    assert not page.view.isColumnHidden(1) and usual
    assert not page.command.visibleRegion().isEmpty(), "all fits without scrolling"
    try:
        theme.set_zoom(200)
        page.resize(980, 480)
        bar = page.area.verticalScrollBar()
        qtbot.waitUntil(lambda: bar.maximum() > 0, timeout=20_000)
        assert page.view.viewport().height() >= 4 * theme.scaled(28)
        tokens = next(n for n, c in enumerate(page.model.columns) if c.title == TOKENS)
        assert page.view.columnWidth(tokens) >= theme.scaled(100)
        assert page.view.header().length() <= page.view.viewport().width() + 1
        for field in (page.form.on_block, page.form.tokens, page.form.window_):
            assert field.height() >= field.minimumSizeHint().height()
        bar.setValue(bar.maximum())
        assert not page.command.visibleRegion().isEmpty()
    finally:
        theme.set_zoom(100)


def test_a_page_with_room_scrolls_nothing_and_cuts_nothing(show, services, places, qtbot):
    (places.home / ".cursor").mkdir()
    (places.home / ".cursor/mcp.json").write_text(CURSOR)
    page = show()
    set_budget(page, qtbot, 3_000)
    settled(qtbot, page)
    page.resize(1064, 620)  # what a window of 1280x800 leaves
    bar = page.area.verticalScrollBar()
    qtbot.waitUntil(lambda: bar.maximum() == 0, timeout=20_000)
    moves = page.moves
    assert moves.view.isVisible() and moves.view.geometry().bottom() < moves.sum.geometry().top()
    assert page.area.rect().contains(
        page.command.mapTo(page.area, page.command.rect().bottomRight())
    )


def test_the_wheel_scrolls_the_page_and_changes_no_number(show, qtbot):
    page = show()
    page.view.setFocus()
    for field in (page.form.tokens, page.form.slider, page.form.warn):
        before = field.value()
        wheel = QWheelEvent(
            QPointF(5, 5), QPointF(field.mapToGlobal(QPoint(5, 5))), QPoint(), QPoint(0, 120),
            Qt.MouseButton.NoButton, Qt.KeyboardModifier.NoModifier,
            Qt.ScrollPhase.NoScrollPhase, False,
        )  # fmt: skip
        QApplication.sendEvent(field, wheel)
        assert field.value() == before
    assert page.services.undo.count() == 0
