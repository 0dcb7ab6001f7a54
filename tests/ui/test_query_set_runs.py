"""Runs of the query set with the real encoder: calibration, comparison, learning."""

import pytest
from PySide6.QtCore import QPointF, Qt
from query_set_kit import column, put, routing, run, settled, stored

from app.ranking.host_ranking import searched, usable
from app.ranking.learning.learn import LearnedModel
from store.records import LabelRecord
from ui.pages.query_set.learning_line import learned_from
from ui.pages.query_set.query_rows import ALONE, FOUND, VERDICT


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
    # what it costs is said, and nothing urges to take it
    assert tab.panel.use.text() == f"Use {best:.2f}: 2 that pass now fail"
    assert not tab.panel.use.property("primary")
    tab.panel.use.click()
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
    assert "has the best balance of recall and precision" in tab.messages.text


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
    assert "learn again" in learned_from(LearnedModel(24, stale=True))
    assert "does not use it" in learned_from(LearnedModel(24, stale=False, used=False))
    assert tried.controls.past_use.isVisibleTo(tried)
    tab.learning.forget.click()
    settled(tab, qtbot)
    assert not tab.learning.forget.isVisible()
    assert tab.services.undo.undoText() == "Forget what was learned"
    tab.services.undo.undo()
    settled(tab, qtbot)
    assert tab.queries.learned
    assert tab.queries.lesson == LearnedModel(24, stale=False)
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


def test_a_pressed_badge_shows_its_rows_only(open_set, qtbot):
    tab = open_set(24)
    run(tab, qtbot)
    for _ in range(5):  # a threshold at which some fail
        qtbot.keyClick(tab.panel.plot, Qt.Key.Key_Right, Qt.KeyboardModifier.ShiftModifier)
    settled(tab, qtbot)
    words = column(tab, VERDICT)
    failing = sum(word in ("Failing", "Still failing", "Regressed") for word in words)
    assert 0 < failing < 24
    assert tab.head.failing.badge.word.endswith("failing")
    tab.head.failing.setFocus()
    qtbot.keyClick(tab.head.failing, Qt.Key.Key_Space)
    shown = column(tab, VERDICT)
    assert len(shown) == int(tab.head.failing.badge.word.split()[0])
    assert "Passed" not in shown
    tab.head.passed.click()  # another badge takes its place
    assert set(column(tab, VERDICT)) == {"Passed"}
    assert tab.head.title.text() == "24 labelled queries"  # the head still counts all
    assert tab.head.show_all()
    assert len(column(tab, VERDICT)) == 24


def test_each_query_says_whether_the_hosts_own_search_finds_it(open_set, qtbot):
    tab = open_set(24)
    assert set(column(tab, ALONE)) == {""}, "nothing is said before a run"
    run(tab, qtbot)
    seen = column(tab, ALONE)
    assert set(seen) <= {"finds it", "misses it"} and "finds it" in seen
    rows = usable(tab.services.live.catalog.tools)
    search = searched(rows)
    for label, words in zip(tab.queries.labels, seen, strict=True):
        right = {n for n, row in enumerate(rows) if row.tool.tool_id in label.expected}
        assert (words == "finds it") is search.finds(label.query, right), label.query
    tab.session.cases, tab.session.alone = {}, {}
    tab._show()
    assert column(tab, ALONE) == seen, "the stored run says it, too"


@pytest.mark.parametrize(("zoom", "width"), [(100, 1068), (200, 1188)])
def test_the_recommendation_is_read_whole(open_set, qtbot, theme, zoom, width):
    tab = open_set(10)
    run(tab, qtbot)
    panel, page = tab.panel, tab.window()
    try:
        theme.set_zoom(zoom)
        page.resize(width + 24, 640)  # as in a window of 1280
        assert page.width() == width + 24, "it forces no greater width"
        words = panel.text
        qtbot.waitUntil(
            lambda: words.height() >= words.heightForWidth(words.width()), timeout=20_000
        )
        assert panel.now.width() >= panel.now.fontMetrics().horizontalAdvance(panel.now.text())
        for button in (panel.why, panel.use):
            assert button.width() >= button.sizeHint().width()
            assert button.mapTo(panel, button.rect().bottomLeft()).y() < panel.legend.y()
        assert panel.legend.geometry().bottom() < panel.plot.y()
    finally:
        theme.set_zoom(100)


@pytest.mark.parametrize(("height", "zoom", "ticks"), [(300, 100, 3), (120, 100, 2), (120, 200, 1)])
def test_a_low_plot_writes_no_tick_over_another(open_set, qtbot, theme, height, zoom, ticks):
    tab = open_set(10)
    run(tab, qtbot)
    try:
        theme.set_zoom(zoom)
        plot = tab.panel.plot
        plot.setFixedHeight(height)
        axis = plot.shares.getAxis("left")
        qtbot.waitUntil(lambda: len(axis._tickLevels[0]) == ticks, timeout=20_000)
    finally:
        theme.set_zoom(100)


def test_the_scales_of_both_plots_end_apart(open_set, qtbot):
    tab = open_set(10)
    run(tab, qtbot)
    plot = tab.panel.plot
    plot.setFixedHeight(222)  # as in a window of 1280x800

    def y_of(one, value):
        return one.getViewBox().mapViewToScene(QPointF(0.5, value)).y()

    def gap():
        most = max(value for value, _text in plot.counts.getAxis("left")._tickLevels[0])
        return y_of(plot.counts, most) - y_of(plot.shares, 0.0)

    qtbot.waitUntil(lambda: gap() >= plot.fontMetrics().capHeight() * 1.5)


def test_a_low_plot_still_says_what_it_shows(open_set, qtbot, theme):
    tab = open_set(10)
    run(tab, qtbot)
    panel = tab.panel
    panel.plot.setFixedHeight(146)  # as in a window of 1024x640
    qtbot.waitUntil(lambda: not panel.plot.counts.getAxis("left").label.isVisible())
    assert panel.plot.counts.getAxis("bottom").label.isVisible()
    for words in ("Recall", "Precision", "Tools in", "Threshold"):
        assert words in panel.legend.accessibleDescription()
    image = panel.legend.grab().toImage()
    colors = {image.pixel(x, y) for x in range(image.width()) for y in range(image.height())}
    for ink in (theme.colors.bar, theme.colors.unused, theme.colors.passed.ink):
        assert ink.rgb() in colors, "each curve has its sample"
