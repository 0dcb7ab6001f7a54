"""The query set over a real store with the real encoder: labels, runs, calibration, learning."""

import json
from contextlib import closing

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QFileDialog, QWidget

from app.routing.learn import Lesson
from app.settings import ProfileSettings
from store import events, queries
from store.connection import transaction
from store.records import EventRecord, LabelRecord
from ui.models.query_rows import EXPECTED, FOUND, SOURCE, VERDICT
from ui.views.label_dialog import LabelDialog
from ui.views.learning_line import learned_from
from ui.views.playground_session import READY

ASKED = {
    "github/search_code": "search the code of all repositories",
    "github/create_pull_request": "open a pull request for my branch",
    "github/merge_pull_request": "merge the pull request into main",
    "github/list_commits": "which commits are on this branch",
    "files/read_file": "show me what is in this file",
    "files/write_file": "save this text to a file",
    "time/get_current_time": "what time is it in Tokyo",
    "slack/post_message": "tell the channel that we are done",
}
WORDS = ("please", "now", "again")


def labelled(number: int) -> list[LabelRecord]:
    made = [
        LabelRecord(0, f"{query} {word}", (tool,), "imported", float(at))
        for at, (word, (tool, query)) in enumerate((w, p) for w in WORDS for p in ASKED.items())
    ]
    return made[:number]


def put(services, rows=(), seen=()):
    with closing(services.ctx.open_store()) as db, transaction(db):
        queries.save_labels(db, rows)
        events.add(db, seen)


def stored(services):
    with closing(services.ctx.open_store()) as db:
        return queries.labels(db)


def routing(services):
    with closing(services.ctx.open_store()) as db:
        text = db.execute("SELECT settings FROM profiles WHERE name = 'default'").fetchone()[0]
    return ProfileSettings.from_json(json.loads(text)).routing


@pytest.fixture
def open_set(stocked, open_playground, qtbot):
    """Opens the second tab over that many labels, with the encoder loaded."""

    def open_it(number: int, seen=()):
        put(stocked, labelled(number), seen)
        page = open_playground()
        qtbot.waitUntil(lambda: page.tried.session.state == READY, timeout=30_000)
        page.open_tab(1)
        return page.query_set

    return open_it


def settled(tab, qtbot):
    qtbot.waitUntil(lambda: tab.services.tasks.idle, timeout=30_000)


def run(tab, qtbot):
    with qtbot.waitSignal(tab.session.chosen, timeout=60_000):
        tab.head.run.click()
    settled(tab, qtbot)


def column(tab, number):
    table = tab.view.table
    return [table.index(row, number).data() for row in range(table.rowCount())]


def fill_in(tab, query, tools):
    form = tab.findChild(LabelDialog)
    form.query.setText(query)
    form.tools.setText(tools)
    form.press()
    return form


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
    assert "no search" in tab.messages.text


def test_a_run_tells_how_far_it_is_and_what_each_query_finds(open_set, qtbot):
    tab = open_set(24)
    said = []
    tab.session.progressed.connect(lambda done, total: said.append((done, total)))
    run(tab, qtbot)
    assert said[0] == (1, 24)
    assert said[-1] == (24, 24)
    assert tab.head.progress.format() == "24 of 24 queries"
    assert set(column(tab, VERDICT)) <= {"Passed", "Failing"}
    assert column(tab, FOUND).count("1 of 1") == column(tab, VERDICT).count("Passed") > 20
    assert len(tab.queries.runs) == 1
    assert tab.panel.isVisible()
    assert tab.panel.plot.recommended == pytest.approx(tab.panel.best)
    assert tab.panel.plot.threshold == pytest.approx(0.75)
    assert not tab.panel.few.isVisible()


def test_using_the_recommendation_sets_the_profile_and_can_be_undone(open_set, qtbot):
    tab = open_set(24)
    before = routing(tab.services)
    run(tab, qtbot)
    best = tab.panel.best
    assert tab.panel.use.text() == f"Use {best:.2f} (recommended)"
    assert tab.panel.use.property("primary")
    assert not tab.head.run.property("primary")
    tab.primary()
    settled(tab, qtbot)
    after = routing(tab.services)
    assert 1 - after.delta == pytest.approx(best)
    assert after.floor == tab.session.calibration.floor
    assert tab.panel.use.text() == f"{best:.2f} is in use"
    assert tab.panel.plot.threshold == pytest.approx(best)
    assert tab.services.undo.undoText() == f"Set threshold to {best:.2f} (recommended)"
    tab.services.undo.undo()
    settled(tab, qtbot)
    assert routing(tab.services) == before


def test_why_names_the_target_the_certainty_and_the_floor(open_set, qtbot):
    tab = open_set(24)
    run(tab, qtbot)
    tab.panel.why.click()
    assert "fewest tools in of all that reach recall 0.90" in tab.messages.text
    assert "95 % between" in tab.messages.text
    with qtbot.waitSignal(tab.session.chosen, timeout=30_000):
        tab.panel.target.setValue(0.0)
    tab.panel.why.click()
    assert "balances recall and precision best" in tab.messages.text


def test_few_queries_are_shown_but_not_recommended_loudly(open_set, qtbot):
    tab = open_set(8)
    run(tab, qtbot)
    assert tab.panel.few.isVisible()
    assert tab.panel.few.badge.word == "Too few queries to trust: 8 of 20"
    assert tab.panel.use.isEnabled()
    assert not tab.panel.use.property("primary")


def test_the_line_is_moved_by_keys_and_every_verdict_follows(open_set, qtbot):
    tab = open_set(24)
    run(tab, qtbot)
    passing = column(tab, VERDICT).count("Passed")
    for _ in range(5):
        qtbot.keyClick(tab.panel.plot, Qt.Key.Key_Right, Qt.KeyboardModifier.ShiftModifier)
    settled(tab, qtbot)
    assert routing(tab.services).delta == pytest.approx(0.0)
    assert column(tab, VERDICT).count("Passed") < passing
    assert tab.services.undo.count() == 1


def test_cancel_keeps_what_was_asked_and_stores_no_run(open_set, qtbot):
    tab = open_set(24)
    tab.session.progressed.connect(lambda done, _total: done == 3 and tab.head.cancel.click())
    with qtbot.waitSignal(tab.session.stopped, timeout=60_000):
        tab.head.run.click()
    settled(tab, qtbot)
    assert tab.messages.text.startswith("Stopped after")
    assert tab.queries.runs == ()
    asked = [word for word in column(tab, VERDICT) if word != "Not run"]
    assert len(asked) >= 3
    assert tab.head.run.isEnabled()


def test_a_second_run_says_what_it_fixed_and_the_runs_can_be_compared(open_set, qtbot):
    tab = open_set(24)
    live = tab.services.live
    live.set_on([live.catalog.find("files/read_file").tool.id], False)
    settled(tab, qtbot)
    run(tab, qtbot)
    assert column(tab, VERDICT).count("Failing") >= 3
    live.set_on([live.catalog.find("files/read_file").tool.id], True)
    settled(tab, qtbot)
    assert "changed since this run" in tab.head.hint.text()
    run(tab, qtbot)
    fixed = column(tab, VERDICT).count("Fixed")
    assert fixed >= 3
    page = tab.window()
    assert page.compare.chips["Fixed"].text() == f"Fixed {fixed}"


def test_a_query_of_another_catalogue_is_told_apart(open_set, qtbot):
    tab = open_set(1)
    put(tab.services, [LabelRecord(0, "make coffee", ("kitchen/brew",), "imported", 99.0)])
    tab.queries.load()
    settled(tab, qtbot)
    run(tab, qtbot)
    assert column(tab, VERDICT)[1] == "Not here"


def test_learning_tells_before_and_after_and_can_be_undone_and_forgotten(open_set, qtbot):
    tab = open_set(24)
    tried = tab.window().tried
    assert tab.learning.learn.text() == "Learn from 24 queries"
    with qtbot.waitSignal(tab.session.learned, timeout=60_000) as heard:
        tab.learning.learn.click()
    settled(tab, qtbot)
    report = heard.args[0].report
    assert f"{report.before:.1f} → {report.after:.1f}" in tab.messages.text
    assert report.used
    assert tab.learning.forget.isVisible()
    assert "learned from 24 queries" in learned_from(tab.queries.lesson)
    assert "learn again" in learned_from(Lesson(24, stale=True))
    assert tried.controls.past_use.isVisibleTo(tried)
    tab.learning.forget.click()
    settled(tab, qtbot)
    assert not tab.learning.forget.isVisible()
    assert tab.services.undo.undoText() == "Forget what was learned"
    tab.services.undo.undo()
    settled(tab, qtbot)
    assert tab.queries.learned
    assert tab.queries.lesson == Lesson(24, stale=False)
    tab.services.undo.undo()
    settled(tab, qtbot)
    assert not tab.queries.learned


def test_past_use_shows_what_it_moves_and_can_be_turned_off(open_set, qtbot):
    tab = open_set(24)
    page = tab.window()
    with qtbot.waitSignal(tab.session.learned, timeout=60_000):
        tab.learning.learn.click()
    settled(tab, qtbot)
    page.try_query("tell everybody that it is done")
    tried = page.tried
    qtbot.waitUntil(lambda: tried.answer is not None and bool(tried.answer.moves))
    moves = tried.answer.moves
    ranks = {tool.tool_id: tool.rank for tool in tried.answer.ranked.tools}
    moved = next(iter(moves))
    model = tried.table.model
    cell = model.index(model.row_of(moved), 0)
    assert cell.data().startswith("▲" if moves[moved] > 0 else "▼")
    tried.controls.past_use.click()
    qtbot.waitUntil(lambda: not tried.answer.moves)
    settled(tab, qtbot)
    plain = {tool.tool_id: tool.rank for tool in tried.answer.ranked.tools}
    assert all(plain[tool] == ranks[tool] + move for tool, move in moves.items())
    assert not routing(tab.services).learned
    tab.services.undo.undo()
    qtbot.waitUntil(lambda: bool(tried.answer.moves))


def test_the_explain_card_labels_the_query_in_view(open_set, qtbot):
    tab = open_set(0)
    page = tab.window()
    page.try_query("merge a pull request")
    tried = page.tried
    qtbot.waitUntil(lambda: tried.answer is not None)
    for tool in ("github/merge_pull_request", "github/list_commits"):
        tried.table.choose(tool)
        assert tried.explain.label.text() == "Label as expected"
        tried.explain.label.click()
        settled(tab, qtbot)
        assert tried.explain.label.text() == "Not expected"
    made = stored(tab.services)
    assert [(r.query, r.expected) for r in made] == [
        ("merge a pull request", ("github/list_commits", "github/merge_pull_request"))
    ]
    assert {mark.tool_id for mark in tried.strip.plot.marks if mark.kind == "expected"} == set(
        made[0].expected
    )
    tried.explain.label.click()
    settled(tab, qtbot)
    assert stored(tab.services)[0].expected == ("github/merge_pull_request",)


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
