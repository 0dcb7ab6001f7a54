"""The query set over a real store with the real encoder: labels, files, activity."""

import json

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QFileDialog, QWidget
from query_set_kit import column, fill_in, labelled, put, run, settled, stored

from app.core.settings import GatewaySettings
from store.records import EventRecord
from ui.pages.query_set.label_dialog import LabelDialog
from ui.pages.query_set.query_rows import EXPECTED, SOURCE, VERDICT
from ui.shell.query_session import READY


def test_without_labels_the_page_says_what_to_do_and_a_query_can_be_added_and_undone(
    open_set, qtbot
):
    tab = open_set(0)
    assert tab.main_view() is tab.empty.buttons[0]
    assert "Add query" in tab.empty.buttons[0].text()
    tab.empty.buttons[0].click()
    fill_in(tab, "what time is it", "time/get_current_time")
    settled(tab, qtbot)
    assert column(tab, EXPECTED) == ["time/get_current_time"]
    assert column(tab, VERDICT) == ["Not run"]
    assert tab.services.undo.undoText() == "Add query “what time is it”"
    tab.services.undo.undo()
    settled(tab, qtbot)
    assert stored(tab.services) == []
    tab.services.undo.redo()
    settled(tab, qtbot)
    assert [(r.query, r.source) for r in stored(tab.services)] == [("what time is it", "typed")]


def test_a_secret_in_a_query_is_kept_as_dots_and_the_step_can_be_undone(open_set, qtbot):
    tab = open_set(0)
    tab.doing.add()
    fill_in(tab, "sign in with ghp_" + "a1b2c3d4" * 4, "time/get_current_time")
    settled(tab, qtbot)
    assert [r.query for r in stored(tab.services)] == ["sign in with ••••"]
    tab.services.undo.undo()
    settled(tab, qtbot)
    assert stored(tab.services) == []


def test_a_form_with_an_unknown_tool_or_no_query_stays_open_and_says_so(open_set):
    tab = open_set(0)
    tab.doing.add()
    form = fill_in(tab, "make coffee", "kitchen/brew")
    assert form.isVisible()
    assert form.problem.text() == "There is no tool kitchen/brew. Names are server/tool."
    fill_in(tab, " ", "")
    assert "empty" in form.problem.text()
    form.reject()
    assert stored(tab.services) == []


def test_the_form_completes_the_last_of_several_tools(open_set, qtbot):
    tab = open_set(0)
    tab.doing.add()
    form = tab.findChild(LabelDialog)
    qtbot.keyClicks(form.tools, "files/read_file, MERGE_P")
    form.tools._completer.activated.emit("github/merge_pull_request")
    assert form.tools.names() == ("files/read_file", "github/merge_pull_request")
    form.reject()


def test_a_label_can_be_changed_and_deleted_by_keys_each_as_one_step(open_set, qtbot):
    tab = open_set(3)
    tab.view.setCurrentIndex(tab.view.table.index(1, 0))
    qtbot.keyClick(tab.view, Qt.Key.Key_Return)
    fill_in(tab, "open a pull request", "github/create_pull_request, files/read_file")
    settled(tab, qtbot)
    assert "files/read_file, github/create_pull_request" in column(tab, EXPECTED)
    tab.view.selectAll()
    qtbot.keyClick(tab.view, Qt.Key.Key_Delete)
    settled(tab, qtbot)
    assert stored(tab.services) == []
    assert tab.services.undo.undoText() == "Delete 3 queries"
    tab.services.undo.undo()
    tab.services.undo.undo()
    settled(tab, qtbot)
    assert [r.query for r in stored(tab.services)] == [r.query for r in labelled(3)]


def test_an_import_adds_what_is_new_and_undoing_it_keeps_what_was_there(open_set, qtbot, tmp_path):
    tab = open_set(2)
    file = tmp_path / "queries.jsonl"
    rows = [{"query": r.query, "expected": list(r.expected)} for r in labelled(4)]
    file.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    tab.doing.take_file(file)
    settled(tab, qtbot)
    assert tab.messages.text == "2 queries added from queries.jsonl."
    assert len(stored(tab.services)) == 4
    assert column(tab, SOURCE) == ["file"] * 4
    tab.services.undo.undo()
    settled(tab, qtbot)
    assert len(stored(tab.services)) == 2
    assert tab.messages.text == "", "it no longer says that they were added"
    tab.services.undo.redo()
    settled(tab, qtbot)
    tab.doing.take_file(file)
    assert "Nothing new" in tab.messages.text


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("a.jsonl", '{"query": "x", "expected": ["a/b"]}\n{oops', "Line 2 of"),
        ("a.csv", "query,tools\nx,a/b\n", "lacks a column"),
        ("a.jsonl", '{"query": "", "expected": []}', "no labelled query"),
        ("missing.csv", None, "cannot be read"),
    ],
)
def test_a_bad_file_is_told_exactly_and_changes_nothing(open_set, tmp_path, name, text, said):
    tab = open_set(2)
    file = tmp_path / name
    if text is not None:
        file.write_text(text, encoding="utf-8")
    tab.doing.take_file(file)
    assert said in tab.messages.text
    assert tab.services.undo.count() == 0
    assert len(stored(tab.services)) == 2


@pytest.mark.parametrize("name", ["q.jsonl", "q.csv"])
def test_what_is_exported_is_what_an_import_reads(open_set, qtbot, tmp_path, name):
    tab = open_set(5)
    tab.editor.save_file(tmp_path / name)
    tab.view.selectAll()
    tab.editor.delete(tab.view.chosen)
    settled(tab, qtbot)
    tab.doing.take_file(tmp_path / name)
    settled(tab, qtbot)
    assert {(r.query, r.expected) for r in stored(tab.services)} == {
        (r.query, r.expected) for r in labelled(5)
    }


def test_activity_gives_the_searches_that_were_followed_by_a_call(open_set, qtbot):
    seen = [
        EventRecord(1.0, "search", session="s", query="read the log"),
        EventRecord(2.0, "call", session="s", tool="files/read_file"),
        EventRecord(3.0, "search", session="s", query="never answered"),
    ]
    tab = open_set(1, seen)
    tab.doing.take_activity()
    settled(tab, qtbot)
    assert sorted(column(tab, SOURCE)) == ["activity", "file"]
    assert tab.messages.text.startswith("1 query added from activity")
    tab.doing.take_activity()
    assert "no new search" in tab.messages.text


def test_host_records_give_prompts_once_both_consents_are_there(open_set, qtbot):
    tab = open_set(1)
    services = tab.services
    line = {"timestamp": "2026-11-26T02:06:30.904Z"}
    part = {"type": "tool_use", "id": "c", "name": "mcp__files__read_file"}
    lines = (
        {**line, "type": "user", "message": {"content": "what is in the log"}},
        {**line, "type": "assistant", "requestId": "r", "message": {"content": [part]}},
    )
    file = services.places.home / ".claude" / "projects" / "p" / "s.jsonl"
    file.parent.mkdir(parents=True)
    file.write_text("".join(json.dumps(one) + "\n" for one in lines), encoding="utf-8")
    (take,) = [a for a in tab.head.more.menu().actions() if a.text() == "Take from host records"]
    take.trigger()
    qtbot.waitUntil(lambda: "records are not read" in tab.messages.text)
    services.ctx.keep(host_records=True)
    take.trigger()
    qtbot.waitUntil(lambda: "Prompts are not kept" in tab.messages.text)
    services.live.change_settings({"gateway": GatewaySettings(keep_prompts=True)})
    settled(tab, qtbot)
    take.trigger()
    qtbot.waitUntil(lambda: "1 query added from host records" in tab.messages.text)
    settled(tab, qtbot)
    assert sorted(column(tab, SOURCE)) == ["Claude Code", "file"]
    take.trigger()
    qtbot.waitUntil(lambda: "no new prompt" in tab.messages.text)
    services.undo.undo()
    settled(tab, qtbot)
    assert column(tab, SOURCE) == ["file"]


def test_until_the_encoder_is_there_the_run_waits_and_says_why(stocked, open_playground, qtbot):
    put(stocked, labelled(3))
    page = open_playground()
    page.open_tab(1)
    tab = page.query_set
    if page.tried.session.state != READY:
        assert not tab.head.run.isEnabled()
        assert "encoder is loading" in tab.head.hint.text()
    qtbot.waitUntil(lambda: tab.head.run.isEnabled(), timeout=30_000)


def test_everything_that_takes_the_focus_has_a_name(open_set, qtbot):
    tab = open_set(24)
    run(tab, qtbot)
    nameless = [
        f"{type(w).__name__} in {type(w.parent()).__name__}"
        for w in tab.findChildren(QWidget)
        if w.isVisible()
        and w.focusPolicy() & Qt.FocusPolicy.TabFocus
        and not (w.accessibleName() or getattr(w, "text", str)())
        and not w.objectName().startswith("qt_")
    ]
    assert nameless == []
    table = tab.view.table
    for row in range(table.rowCount()):
        for place in range(table.columnCount()):
            assert table.index(row, place).data(Qt.ItemDataRole.AccessibleTextRole)


def test_the_file_menu_imports_into_the_query_set(fill, open_window, qtbot, tmp_path, monkeypatch):
    fill()
    window = open_window()
    file = tmp_path / "queries.csv"
    file.write_text("query,expected\nread a file,files/read_file\n", encoding="utf-8")
    monkeypatch.setattr(QFileDialog, "getOpenFileName", lambda *_args: (str(file), ""))
    (action,) = [a for a in window.findChildren(QAction) if "Import query set" in a.text()]
    action.trigger()
    qtbot.waitUntil(lambda: window.page.queries.labels != (), timeout=20_000)
    assert window.page.tabs.currentIndex() == 1
    assert window.undo.undoText() == "Import 1 query"
    assert window.status.message.text() == "Imported 1 query"
    qtbot.waitUntil(lambda: window.tasks.idle, timeout=60_000)
