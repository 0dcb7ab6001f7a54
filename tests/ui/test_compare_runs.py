"""Two runs compared, and the calibration plot at a known optimum."""

import pytest
from PySide6.QtCore import Qt

from app.core.settings import RoutingSettings
from app.ranking.learning.calibrate import choose as choose_values
from app.ranking.learning.calibrate import prepare
from app.ranking.learning.cases import Case
from store import queries
from store.connection import transaction
from store.records import RunRecord
from ui.pages.query_set.calibration_panel import CalibrationPanel
from ui.pages.query_set.compare_rows import compared
from ui.pages.query_set.compare_tab import CompareTab
from ui.shell.calibration_curves import threshold_of, with_threshold
from ui.shell.query_set import QuerySet

BEFORE = {"a": False, "b": False, "c": True, "d": True, "e": False}
AFTER = {"a": True, "b": True, "c": False, "d": True, "e": False, "f": True}
SETTINGS = {"cut": "relative", "delta": 0.25, "theta": 0.28, "floor": 0.0, "k": 10}


def a_run(passed, *, fingerprint="m:1", **settings):
    got = {q: {"in": ["s/x"], "missing": [] if ok else ["s/y"]} for q, ok in passed.items()}
    means = {"recall": sum(passed.values()) / len(passed)}
    result = {"passed": passed, "got": got, "means": means}
    return RunRecord(0, 1.0, fingerprint, SETTINGS | settings, result)


@pytest.fixture
def open_tab(services, qtbot):
    def open_it(*runs):
        db = services.ctx.open_store()
        with transaction(db):
            for run in runs:
                queries.save_run(db, run)
        db.close()
        known = QuerySet(services.tasks)
        tab = CompareTab(services, known)
        qtbot.addWidget(tab)
        known.load()
        qtbot.waitUntil(lambda: known.loaded)
        tab.show()
        qtbot.waitExposed(tab)
        return tab

    return open_it


def shown(tab):
    return [tab.table.index(row, 0).data() for row in range(tab.table.rowCount())]


def test_two_runs_give_the_known_counts_and_the_worst_comes_first(open_tab):
    tab = open_tab(a_run(BEFORE), a_run(AFTER, delta=0.3))
    assert {kind: chip.text() for kind, chip in tab.chips.items()} == {
        "Fixed": "Fixed 2",
        "Regressed": "Regressed 1",
        "Still failing": "Still failing 1",
        "Passed": "Passed 1",
        "New": "New 1",
    }
    assert shown(tab) == ["Regressed", "Fixed", "Fixed", "Still failing", "New", "Passed"]
    first = [tab.table.index(0, n).data() for n in range(4)]
    assert first == ["Regressed", "c", "1 tool in", "lacks s/y"]
    assert tab.differences.text() == "recall 0.40 → 0.67 · threshold 0.75 → 0.70"
    assert not tab.other.isVisible()
    assert tab.curve.accessibleName().endswith("0.40, 0.67")


def test_chips_choose_what_is_listed(open_tab, qtbot):
    tab = open_tab(a_run(BEFORE), a_run(AFTER))
    qtbot.mouseClick(tab.chips["Fixed"], Qt.MouseButton.LeftButton)
    assert shown(tab) == ["Fixed", "Fixed"]
    qtbot.mouseClick(tab.chips["Regressed"], Qt.MouseButton.LeftButton)
    assert len(shown(tab)) == 3
    for kind in ("Fixed", "Regressed"):
        tab.chips[kind].setChecked(False)
    assert len(shown(tab)) == 6


def test_runs_over_other_tools_say_so(open_tab):
    tab = open_tab(a_run(BEFORE), a_run(AFTER, fingerprint="m:2"))
    assert tab.other.isVisible()
    assert tab.other.badge.word == "Tools differ between these runs"


def test_any_two_runs_can_be_chosen_and_the_older_one_is_always_before(open_tab):
    tab = open_tab(a_run(BEFORE), a_run(BEFORE), a_run(AFTER))
    assert tab.before.count() == 3
    tab.before.setCurrentIndex(0)
    tab.after.setCurrentIndex(2)
    tab.after.activated.emit(2)
    assert (tab.before.currentIndex(), tab.after.currentIndex()) == (2, 0)
    assert tab.chips["Fixed"].text() == "Fixed 2"


def test_with_one_run_the_page_says_that_two_are_needed(open_tab, qtbot):
    tab = open_tab(a_run(BEFORE))
    button = tab.empty.buttons[0]
    assert tab.main_view() is button
    with qtbot.waitSignal(tab.run_requested):
        button.click()


def test_runs_of_the_command_line_can_be_compared_too():
    plain = {"queries": 2, "passed": {"a": True, "b": False}}
    run = RunRecord(1, 1.0, "m:1", SETTINGS, plain)
    found = compared(run, a_run(BEFORE))
    assert found.counts["Regressed"] == 1
    assert found.rows[0].before == "passed"


def test_the_recommended_line_stands_at_the_known_optimum(theme, qtbot):
    cases = [
        Case(f"q{n:02}", frozenset({"s/a"}), ("s/a", "s/b"), (1.0, 0.5), (0.45, 0.31))
        for n in range(24)
    ]
    settings = RoutingSettings(cut="theta")
    panel = CalibrationPanel(theme, 0.9)
    qtbot.addWidget(panel)
    found = choose_values(prepare(cases, 0, []), settings, target_recall=0.9, least=1)
    panel.show_calibration(found, settings, lambda _settings: {})
    assert panel.plot.recommended == pytest.approx(0.32, abs=0.011)
    assert panel.plot.threshold == pytest.approx(0.28)
    assert panel.trusted
    assert panel.waits


def test_the_threshold_shown_is_the_threshold_set():
    for cut in ("theta", "relative"):
        settings = with_threshold(RoutingSettings(cut=cut), 0.52)
        assert threshold_of(settings) == pytest.approx(0.52)


@pytest.mark.parametrize(("zoom", "rows"), [(100, 1), (200, 2)])
def test_the_curve_and_all_columns_are_there_at_any_text_size(open_tab, theme, qtbot, zoom, rows):
    tab = open_tab(a_run(BEFORE), a_run(AFTER, delta=0.3))
    try:
        theme.set_zoom(zoom)
        tab.resize(1190, 600)  # of a window of 1280
        qtbot.waitUntil(lambda: tab.curve.width() >= tab.curve.sizeHint().width(), timeout=20_000)
        middles = {
            box.mapTo(tab, box.rect().center()).y() for box in (tab.before, tab.after, tab.curve)
        }
        qtbot.waitUntil(lambda: tab.view.horizontalScrollBar().maximum() == 0, timeout=20_000)
        assert len(middles) == rows
        words = tab.differences
        assert words.height() >= words.heightForWidth(words.width())
    finally:
        theme.set_zoom(100)
