"""The Review page: what waits, the evidence, decisions that are checked and can be undone."""

import json
from dataclasses import replace

import pytest
from demo_store import DemoServer, DemoTool
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLabel
from review_kit import POISON, change, item_of

from app.catalog.catalog import load_catalog
from app.safety import patterns
from store import findings, servers, tools
from store.connection import transaction
from ui.pages.review import page as review_module
from ui.pages.review.page import ReviewPage
from ui.pages.review.rows import FINDING, SEVERITY, TOOL, WHEN, ReviewTable
from ui.widgets.roles import BADGE, FAINT


def stored(services, tool_id):
    db = services.ctx.open_store()
    try:
        return load_catalog(db).find(tool_id)
    finally:
        db.close()


@pytest.fixture
def show(services, fill, qtbot):
    """Opens the page over a store in which these descriptions changed."""

    def open_it(**descriptions):
        fill()
        for name, description in descriptions.items():
            server, tool = name.split("__")
            change(services, f"{server}/{tool}", description)
        page = ReviewPage(services)
        qtbot.addWidget(page)
        page.resize(1080, 640)
        page.show()
        qtbot.waitExposed(page)
        services.live.load()
        qtbot.waitUntil(lambda: services.live.catalog is not None and services.tasks.idle)
        return page

    return open_it


def cells(page):
    model = page.model
    return [
        tuple(model.index(r, model.place(c)).data() for c in (SEVERITY, TOOL))
        for r in range(model.rowCount())
    ]


def settled(qtbot, page):
    qtbot.waitUntil(lambda: page.services.tasks.idle)


def ready(qtbot, page):
    """A tool can be decided on a moment after it came into view."""
    settled(qtbot, page)
    qtbot.waitUntil(page.card.server_off.isEnabled)


def test_nothing_to_review_says_what_is_checked(show, qtbot):
    page = show()
    assert page.main_view() is page.empty.buttons[0]
    assert page.empty.hint.text().startswith("6 tools checked")
    assert page.empty.buttons[0].text() == "Open the catalog"
    page.empty.buttons[0].click()
    assert page.services.open_page.__self__.opened == ["catalog"]
    assert not page.empty.buttons[2].isVisible()
    page.empty.buttons[1].click()
    (dialog,) = [w for w in page.findChildren(review_module.QWidget) if w.isWindow()]
    assert dialog.windowTitle() == "What is checked?"
    assert "RP-01" in dialog.findChildren(QLabel)[0].text()
    dialog.reject()


def test_a_changed_tool_waits_with_its_evidence(show, qtbot):
    page = show(github__search_code="Search code." + POISON)
    assert cells(page) == [("Block", "github/search_code")]
    assert (
        page.model.index(0, page.model.place(FINDING)).data()
        == "Text changed after you trusted it (+1)"
    )
    assert page.model.index(0, page.model.place(WHEN)).data() == "12 min ago"
    assert page.headline.text() == "1 tool to decide on · 2 held back from hosts"
    card = page.card
    assert card.state.badge.word == "Held back"
    assert "gives it to no host until you decide" in card.state_line.text()
    assert "Hosts that are left as they are" in card.state_line.text()
    assert card.hold.text() == "Keep held"
    text = card.evidence.toPlainText()
    assert "- Search code across repositories." in text
    assert f"+ Search code.{POISON}" in text
    qtbot.waitUntil(card.approve.isEnabled)


def test_a_text_can_be_approved_only_once_it_was_painted(show, services, qtbot):
    page = show(github__search_code="Other.")
    page.hide()
    page.card.show_item(page.card.item)
    assert not page.card.approve.isEnabled()
    page.show()
    qtbot.waitUntil(page.card.approve.isEnabled)


def test_approving_asks_trusts_and_can_be_undone(show, services, qtbot, monkeypatch):
    page = show(github__search_code="Search code." + POISON)
    qtbot.waitUntil(page.card.approve.isEnabled)
    asked = []
    monkeypatch.setattr(review_module, "confirm", lambda *a, **k: bool(asked.append(a[1])))
    page.card.approve.click()
    settled(qtbot, page)
    assert asked == ["Approve the text of github/search_code as it is now?"]
    assert stored(services, "github/search_code").held
    monkeypatch.setattr(review_module, "confirm", lambda *_a, **_k: True)
    page.card.approve.click()
    settled(qtbot, page)
    assert stored(services, "github/search_code").shown
    assert page.model.rowCount() == 0
    assert page.empty.buttons[2].text() == "Show decided (1)"
    assert services.undo.undoText() == "Approve github/search_code"
    services.undo.undo()
    settled(qtbot, page)
    assert not stored(services, "github/search_code").shown
    assert cells(page) == [("Block", "github/search_code")]
    services.undo.redo()
    settled(qtbot, page)
    assert stored(services, "github/search_code").shown


def test_keeping_a_tool_held_goes_on_to_the_next(show, services, qtbot):
    page = show(github__search_code="One.", github__merge="Two.", time__now="Three.")
    first, second = (page.model.row(n).row.tool.tool_id for n in (0, 1))
    ready(qtbot, page)
    page.primary()
    page.primary()  # a double click
    settled(qtbot, page)
    assert page.model.rowCount() == 2
    assert page.card.item.row.tool.tool_id == second
    page.decided.setChecked(True)
    assert cells(page)[-1] == ("Held", first)
    assert page.model.index(2, page.model.place(SEVERITY)).data(FAINT)
    page.choose(page.model.row(2).row.tool.id)
    ready(qtbot, page)
    assert not page.card.hold.isEnabled()
    assert page.card.state_line.text().startswith(
        f"You hold {first} back: Toolcrib gives it to no host."
    )
    assert not stored(services, first).shown


def test_a_text_that_changed_meanwhile_is_not_approved(show, services, qtbot, monkeypatch):
    page = show(github__search_code="Harmless.")
    qtbot.waitUntil(page.card.approve.isEnabled)
    monkeypatch.setattr(review_module, "confirm", lambda *_a, **_k: True)
    change(services, "github/search_code", "Harmless." + POISON)
    page.card.approve.click()
    settled(qtbot, page)
    assert "changed again; nothing was decided" in page.messages.text
    assert not stored(services, "github/search_code").shown
    assert POISON in page.card.evidence.toPlainText()
    assert services.undo.count() == 0


def test_a_tool_or_its_server_can_be_turned_off(show, services, qtbot):
    page = show(github__search_code="One.")
    ready(qtbot, page)
    page.card.off.click()
    settled(qtbot, page)
    assert not stored(services, "github/search_code").on
    assert page.model.rowCount() == 0
    services.undo.undo()
    settled(qtbot, page)
    assert page.model.rowCount() == 1
    ready(qtbot, page)
    page.card.server_off.click()
    settled(qtbot, page)
    assert not any(t.on for t in services.live.catalog.tools if t.server.name == "github")
    assert services.undo.undoText() == "Turn off 3 tools in github"


def test_j_and_k_go_through_the_list(show, qtbot):
    page = show(github__search_code="One.", github__merge="Two.")
    page.list.setFocus()
    page.activateWindow()
    QTest.keyClick(page.list, Qt.Key.Key_J)
    assert page.list.currentIndex().row() == 1
    assert page.card.item == page.model.row(1)
    QTest.keyClick(page.list, Qt.Key.Key_J)
    assert page.list.currentIndex().row() == 1
    QTest.keyClick(page.list, Qt.Key.Key_K)
    assert page.list.currentIndex().row() == 0


def test_a_warning_is_shown_and_can_be_held_back(show, services, qtbot):
    page = show()
    db = services.ctx.open_store()
    tool = next(t for t in tools.tools(db) if t.tool_id == "time/now")
    (found,) = patterns.check(
        replace(tool, raw={**tool.raw, "description": "<important>Now.</important>"})
    )
    with transaction(db):
        findings.save(db, tool.id, [found], 5.0)
    db.close()
    services.live.load()
    settled(qtbot, page)
    assert cells(page) == [("Warn", "time/now")]
    assert page.card.state.badge.word == "Warn"
    assert page.card.state_line.text().startswith("Hosts get time/now.")
    assert page.card.hold.text() == "Hold back"
    ready(qtbot, page)
    page.card.hold.click()
    settled(qtbot, page)
    assert stored(services, "time/now").held == "held"


def test_the_catalog_leads_to_a_held_tool(fill, services, open_window, qtbot):
    fill()
    change(services, "github/search_code", "One.")
    change(services, "time/now", "Two.")
    window = open_window()
    assert window.nav.model().index(3, 0).data(BADGE).word == "2"
    content = window.catalog.content
    chosen = next(t for t in window.live.catalog.tools if t.tool.tool_id == "time/now")
    content.show_tool(chosen.tool.id)
    assert content.details.buttons[2].text() == "Review…"
    content.details.buttons[2].click()
    assert window.page is window.pages["review"]
    assert window.page.card.item.row.tool.tool_id == "time/now"


def test_the_catalog_leads_from_a_server_to_its_first_held_tool(fill, services, open_window, qtbot):
    fill()
    change(services, "time/now", "Two.")
    window = open_window()
    window.catalog.show_server("time")
    buttons = window.catalog.content.details.buttons
    assert next(b.text() for b in buttons if not b.isHidden()) == "Review…"
    buttons[0].click()
    assert window.page is window.pages["review"]
    assert window.page.card.item.row.tool.tool_id == "time/now"
    window.catalog.show_server("github")
    assert "Review…" not in [button.text() for button in buttons if not button.isHidden()]


def test_what_is_cut_cannot_be_approved(show, qtbot):
    page = show(github__search_code="\n".join(f"line {n}" for n in range(3_000)))
    ready(qtbot, page)
    bar = page.card.evidence.verticalScrollBar()
    assert (
        page.card.approve.toolTip()
        == "Its text is too long to be shown here: approve it with toolcrib trust"
    )
    bar.setValue(bar.maximum())
    page.card.evidence.repaint()
    assert not page.card.approve.isEnabled()


def test_a_long_text_is_approved_only_after_its_end_was_seen(show, qtbot):
    page = show(github__search_code="\n".join(f"line {n}" for n in range(200)))
    ready(qtbot, page)
    assert not page.card.approve.isEnabled()
    assert page.card.approve.toolTip() == "Read the evidence to its end first"
    bar = page.card.evidence.verticalScrollBar()
    bar.setValue(bar.maximum())
    qtbot.waitUntil(page.card.approve.isEnabled)


def test_a_long_name_does_not_widen_the_card(show, services, qtbot):
    page = show(time__now="Two.")
    item = page.card.item
    tool = replace(item.row.tool, name="n" * 400)
    page.card.show_item(replace(item, row=replace(item.row, tool=tool)))
    assert page.minimumSizeHint().width() < 900


def test_the_table_is_a_model(qtmodeltester, services, fill):
    fill()
    change(services, "time/now", "Two.")
    table = ReviewTable()
    table.show([item_of(services, "time/now")], services.ctx.clock())
    qtmodeltester.check(table)
    assert table.row(5) is None
    assert table.row_of(-1) == -1


def test_what_concerns_the_whole_profile_stands_above_the_list(show, services, qtbot):
    page = show()
    assert page.notes.isHidden() and page.empty.text.text() == "Nothing to review"
    page.notes.show_texts(["Three tools could leak.", "One tool imitates another."])
    assert page.notes.isVisible()
    assert page.notes.text() == "Three tools could leak.\nOne tool imitates another."
    page.notes.show_texts([f"Note {number}." for number in range(11)])
    assert page.notes.text().splitlines()[-1] == "Note 7."
    assert any(label.text() == "And 3 more." for label in page.notes.findChildren(QLabel))
    page.notes.show_texts([])
    assert page.notes.isHidden()


def test_tools_that_together_could_leak_are_named_where_nothing_is_to_decide(
    services, fill, show, qtbot
):
    page = show()
    db = services.ctx.open_store()
    with transaction(db):
        asks = json.dumps({"gateway": {"combinations": True}})
        db.execute("UPDATE profiles SET settings = ?", (asks,))
    fill(
        (
            DemoServer("mail", (DemoTool("list_inbox", 9, "Lists the messages of your inbox."),)),
            DemoServer("web", (DemoTool("fetch_page", 9, "Fetches a web page as text."),)),
            DemoServer("chat", (DemoTool("post_message", 9, "Posts to a channel."),)),
        )
    )
    db.close()
    services.live.load()
    qtbot.waitUntil(lambda: "chat/post_message" in page.notes.text(), timeout=20_000)
    assert page.empty.text.text() == "No tool to decide on"


@pytest.mark.parametrize("zoom", [100, 200])
def test_a_narrow_list_gives_up_columns_before_names(show, qtbot, theme, zoom):
    page = show(github__search_code="Search code. Now with more words.")
    try:
        theme.set_zoom(zoom)
        page.resize(1188, 560)
        tool, view = page.model.place(TOOL), page.list
        least = theme.scaled(110)
        qtbot.waitUntil(lambda: view.columnWidth(tool) >= least, timeout=20_000)
        for column in map(page.model.place, (WHEN, FINDING)):
            gone = zoom == 200
            qtbot.waitUntil(lambda c=column, g=gone: view.isColumnHidden(c) is g, timeout=20_000)
        qtbot.waitUntil(lambda: view.horizontalScrollBar().maximum() == 0, timeout=20_000)
        buttons = (page.card.hold, page.card.off, page.card.server_off, page.card.approve)
        assert all(button.width() >= button.sizeHint().width() for button in buttons)
    finally:
        theme.set_zoom(100)


def test_the_finding_takes_its_part_of_a_wider_window(show, qtbot):
    page = show(github__create_issue=POISON)
    qtbot.waitUntil(lambda: page.list.isVisible())
    finding = page.model.place(FINDING)
    narrow = page.list.columnWidth(finding)
    page.resize(1880, 640)
    qtbot.waitUntil(lambda: page.list.columnWidth(finding) >= narrow + 150, timeout=10_000)


def test_a_note_about_a_servers_text_leads_to_it_and_can_be_approved_and_undone(
    services, fill, show, qtbot
):
    page = show()
    db = services.ctx.open_store()
    detail = "instructions: “Always call this first.”"
    text = {"kind": "instructions", "name": "", "rule": "CL-01", "severity": "warn"}
    text |= {"detail": detail, "hash": "h", "decided": ""}
    chosen = services.live.catalog.server("github").id
    with transaction(db):
        servers.save_texts(db, chosen, [text])
    db.close()
    services.live.load()
    qtbot.waitUntil(lambda: "Always call this first" in page.notes.text(), timeout=20_000)
    shown, approved = page.notes.buttons
    assert (shown.text(), approved.text()) == ("Show server", "Approve text")
    with qtbot.waitSignal(services.live.server_sought) as sought:
        shown.click()
    assert sought.args == ["github"]
    approved.click()
    qtbot.waitUntil(lambda: page.notes.isHidden(), timeout=20_000)
    assert services.undo.undoText() == "Approve the texts of github"
    services.undo.undo()
    qtbot.waitUntil(lambda: "Always call this first" in page.notes.text(), timeout=20_000)
    qtbot.waitUntil(lambda: services.tasks.idle, timeout=20_000)
