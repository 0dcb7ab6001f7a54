"""Editing what a tool is found by: rankings follow, undo takes it back."""

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from app.indexing.summaries import summary_of
from ui.shell.query_session import READY
from ui.shell.summaries import SummaryDialog

QUERY = "buy a kite at the toy shop"
TOOL = "github/list_commits"


@pytest.fixture
def page(open_playground, qtbot):
    """The first tab, with the encoder loaded and the query asked."""
    page = open_playground().tried
    qtbot.waitUntil(lambda: page.session.state == READY, timeout=30_000)
    page.query.submit_query(QUERY)
    qtbot.waitUntil(lambda: page.answer is not None and page.services.tasks.idle)
    return page


def rank(page):
    return [t.tool_id for t in page.answer.ranked.tools].index(TOOL) + 1


def stored(page):
    tool = page.services.live.catalog.find(TOOL).tool
    db = page.services.ctx.open_store()
    try:
        return summary_of(db, tool.id)
    finally:
        db.close()


def open_dialog(page, qtbot):
    tool = next(t for t in page.answer.ranked.tools if t.tool_id == TOOL)
    page.explain.summary_wanted.emit(tool)
    qtbot.waitUntil(lambda: page.services.tasks.idle)
    return page.findChildren(SummaryDialog)[-1]


def settled(page, qtbot):
    qtbot.waitUntil(lambda: page.services.tasks.idle, timeout=20_000)


def test_a_tool_is_found_by_the_users_words_and_undo_takes_them_back(page, qtbot):
    before, made = rank(page), stored(page)
    assert before > 1
    dialog = open_dialog(page, qtbot)
    assert dialog.text.toPlainText() == made.text and not dialog.reset.isEnabled()
    dialog.text.setPlainText("  Buy a kite  at the toy shop.\n")
    dialog.save.click()
    settled(page, qtbot)
    assert rank(page) == 1
    assert (stored(page).text, stored(page).source) == ("Buy a kite at the toy shop.", "user")
    assert page.services.undo.undoText() == "Edit summary of list_commits"
    page.services.undo.undo()
    settled(page, qtbot)
    assert rank(page) == before
    assert stored(page) == made


def test_toolcribs_own_words_come_back(page, qtbot):
    made = stored(page)
    dialog = open_dialog(page, qtbot)
    dialog.text.setPlainText(QUERY)
    dialog.save.click()
    settled(page, qtbot)
    dialog = open_dialog(page, qtbot)
    assert dialog.text.toPlainText() == QUERY
    dialog.reset.click()
    settled(page, qtbot)
    assert (stored(page).text, stored(page).source) == (made.text, "made")
    page.services.undo.undo()
    settled(page, qtbot)
    assert stored(page).text == QUERY


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (" \n", "A summary says what the tool is for."),
        ("word " * 100, "Shorten it: a summary has at most 60 tokens."),
    ],
)
def test_words_that_cannot_be_used_are_refused_in_the_form(page, qtbot, text, problem):
    dialog = open_dialog(page, qtbot)
    dialog.text.setPlainText(text)
    dialog.save.click()
    assert dialog.isVisible() and dialog.problem.text() == problem
    QTest.keyClick(dialog, Qt.Key.Key_Escape)
    assert not dialog.isVisible()
    assert page.services.undo.count() == 0


def test_the_same_words_are_no_step(page, qtbot):
    made = stored(page)
    dialog = open_dialog(page, qtbot)
    dialog.save.click()
    settled(page, qtbot)
    assert page.services.undo.count() == 0
    assert stored(page) == made


def test_one_form_at_a_time(page, qtbot):
    first = open_dialog(page, qtbot)
    open_dialog(page, qtbot)
    shown = [dialog for dialog in page.findChildren(SummaryDialog) if dialog.isVisible()]
    assert shown == [first]
    first.reject()


def test_the_tokens_are_counted_while_typing(page, qtbot):
    dialog = open_dialog(page, qtbot)
    dialog.text.setPlainText("one two three")
    assert dialog.tokens.text() == "3 of 60 tokens at most" and dialog.tokens.isVisible()
    dialog.reject()
