"""Splitting a profile in the Budget page: shown, made, undone, redone."""

import pytest
from PySide6.QtCore import Qt

from app.policy.profiles import names
from app.policy.sessions import HOST, Owner
from app.policy.usage import DAY
from store import events
from store.connection import transaction
from store.records import EventRecord
from tests.ui.test_budget import set_budget, settled, show  # noqa: F401
from ui.pages.budget.split_dialog import SplitDialog


@pytest.fixture
def opened(show, services, qtbot):  # noqa: F811
    """The dialog over the demo store with calls of Cursor, each profile of 1,600 tokens."""
    page = show()
    db = services.ctx.open_store()
    now = services.ctx.clock()
    with transaction(db):
        tools = [row.tool.tool_id for row in services.live.catalog.shown]
        events.add(
            db,
            [
                EventRecord(now - DAY, "call", host="Cursor", session="s", tool=tool)
                for tool in (tools[0], tools[-1])
            ],
        )
    db.close()
    set_budget(page, qtbot, 1_600)
    assert page.moves.split.isVisible()
    page.moves.split.click()
    qtbot.waitUntil(lambda: page.findChild(SplitDialog) is not None, timeout=20_000)
    dialog = page.findChild(SplitDialog)
    yield page, dialog
    for left in page.findChildren(SplitDialog):  # one that was saved is gone
        left.close()


def profiles(services) -> tuple[str, ...]:
    db = services.ctx.open_store()
    try:
        return names(db)
    finally:
        db.close()


def test_profiles_are_shown_made_and_undone_in_one_step(opened, services, qtbot):
    page, dialog = opened
    made = [profile.name for profile in dialog.profiles.rows]
    assert len(made) >= 2 and all(p.tokens <= 1_600 for p in dialog.profiles.rows)
    assert dialog.headline.text() == f"{len(made)} profiles of at most 1,600 tokens ≈ each"
    assert dialog.loss.text().startswith(f"{made[0]}: Without ")
    assert profiles(services) == ("default",)
    dialog.save.click()
    qtbot.waitUntil(lambda: services.undo.count() == 2, timeout=20_000)  # the budget, the split
    settled(qtbot, page)
    assert profiles(services) == ("default", *made)
    services.undo.undo()
    settled(qtbot, page)
    assert profiles(services) == ("default",)
    services.undo.redo()
    settled(qtbot, page)
    assert profiles(services) == ("default", *made)


def test_a_host_without_a_profile_cannot_be_ticked_and_says_why(opened):
    _page, dialog = opened
    table = dialog.assignments
    assert [row.owner for row in table.rows] == [Owner(HOST, "cursor")]
    assert not table.flags(table.index(0, 0)) & Qt.ItemFlag.ItemIsUserCheckable
    dialog.assignment_view.setCurrentIndex(table.index(0, 0))
    assert dialog.reason.text().endswith("write its config in Hosts first.")
    assert table.owners == []


def test_a_refused_split_leaves_the_dialog_open_with_the_reason(opened, services, qtbot):
    _page, dialog = opened
    db = services.ctx.open_store()
    with transaction(db):
        db.execute(
            "INSERT INTO profiles (name, settings) VALUES (?, '{}')",
            (dialog.profiles.rows[0].name,),
        )
    db.close()
    before = profiles(services)
    dialog.save.click()
    qtbot.waitUntil(lambda: dialog.problem.isVisible(), timeout=20_000)
    assert "already" in dialog.problem.text() and dialog.save.isEnabled()
    assert profiles(services) == before
