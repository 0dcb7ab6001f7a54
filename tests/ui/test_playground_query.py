"""The query field."""

import pytest
from PySide6.QtCore import QPoint, Qt

from ui.pages.playground.candidates import SCORE
from ui.pages.playground.query_field import QueryField


@pytest.fixture
def field(theme, qtbot):
    field = QueryField(theme)
    qtbot.addWidget(field)
    field.show()
    return field


def test_enter_asks_at_once_and_only_once(field, qtbot):
    asked = []
    field.submitted.connect(lambda query, now: asked.append((query, now)))
    qtbot.keyClicks(field, "find files ")
    qtbot.keyClick(field, Qt.Key.Key_Return)
    with qtbot.assertNotEmitted(field.submitted, wait=400):
        pass
    assert asked == [("find files", True)]


def test_a_rest_in_typing_asks_too(field, qtbot):
    with qtbot.waitSignal(field.submitted, timeout=2000) as asked:
        qtbot.keyClicks(field, "find")
    assert asked.args == ["find", False]


def test_up_and_down_go_through_earlier_queries(field, qtbot):
    for query in ("one", "two", "one"):
        field.submit_query(query)
    assert field.history == ("two", "one")
    qtbot.keyClick(field, Qt.Key.Key_Up)
    qtbot.keyClick(field, Qt.Key.Key_Up)
    assert field.text() == "two"
    qtbot.keyClick(field, Qt.Key.Key_Down)
    assert field.text() == "one"
    qtbot.keyClick(field, Qt.Key.Key_Down)
    assert field.text() == ""


def test_an_empty_field_asks_nothing(field, qtbot):
    with qtbot.assertNotEmitted(field.submitted):
        field.submit_query("  ")
    assert field.history == ()


def by_host(page, qtbot, query):
    page.engine.setCurrentIndex(1)
    page.engine.activated.emit(1)
    page.query.submit_query(query)
    qtbot.waitUntil(
        lambda: (
            page.answer is not None
            and bool(page.answer.engine)
            and page.answer.ranked.query == query
        ),
        timeout=30_000,
    )


def test_what_a_host_finds_by_itself_is_ranked_with_its_reasons(open_playground, qtbot):
    page = open_playground().tried
    by_host(page, qtbot, "merge a pull request")
    model, best = page.table.model, page.table.current
    assert page.engine.currentText() == "Claude Code's ToolSearch (emulated, 2.1.330)"
    assert (model.rowCount(), len(page.answer.ranked.shown)) == (158, 5)
    assert best.tool_id == "github/merge_pull_request"
    assert model.index(0, 4).data() == f"{best.keyword:.0f} points by merge, a, pull, request"
    below = model.row(5)
    words = f"{below.keyword:.0f} points by {', '.join(below.matched)}: too few for an answer"
    assert model.index(5, 4).data() == words  # the figures first: a narrow column ends in dots
    assert "whatever is off or held here" in page.messages.text
    by_host(page, qtbot, "merge")
    last = model.index(model.rowCount() - 1, 4).data()
    assert last == "No word of the query is in its name or description"
    assert not page.strip.isVisible() and not page.controls.threshold.isVisible()
    assert page.services.undo.count() == 0
    page.engine.setCurrentIndex(0)
    page.engine.activated.emit(0)
    qtbot.waitUntil(lambda: not page.answer.engine, timeout=30_000)
    assert page.strip.isVisible() and page.controls.threshold.isVisible()
    assert "off or held here" not in page.messages.text


def test_a_host_finds_by_itself_what_is_off_here(open_playground, qtbot):
    page = open_playground().tried
    live = page.services.live
    live.set_on([live.catalog.find("github/merge_pull_request").tool.id], False)
    by_host(page, qtbot, "merge_pull_request")
    assert page.answer.find("github/merge_pull_request").shown
    by_host(page, qtbot, "zzz")
    assert not page.answer.ranked.shown
    assert page.messages.text.startswith("Claude Code's own search finds nothing.")


def test_another_engines_ranking_is_read_from_its_top(open_playground, qtbot):
    page = open_playground().tried
    page.query.submit_query("merge a pull request")
    qtbot.waitUntil(lambda: page.answer is not None, timeout=30_000)
    page.table.choose(page.table.model.row(90).tool_id)
    by_host(page, qtbot, "merge a pull request")
    assert page.table.view.currentIndex().row() == 0
    assert page.table.view.indexAt(QPoint(1, 1)).row() == 0


def test_a_hosts_search_has_no_threshold_on_its_bars(open_playground, qtbot):
    page = open_playground().tried
    by_host(page, qtbot, "merge")
    view, last = page.table.view, page.table.model.rowCount() - 1
    score = page.table.model.index(last, page.table.model.place(SCORE))
    view.scrollTo(score)
    cell = view.viewport().grab(view.visualRect(score)).toImage()
    ink = page.services.theme.colors.text
    tick = [cell.pixelColor(x, cell.height() // 2 - 7) for x in range(cell.width() // 2)]
    assert ink not in tick  # its bars have no length at 0, where a tick would stand
