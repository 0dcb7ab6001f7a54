"""The main window: sections, keys, focus, geometry, themes, problems."""

import logging
import os
import subprocess
import sys

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QApplication,
    QDialog,
    QLabel,
    QMenu,
    QPlainTextEdit,
    QPushButton,
    QTreeView,
    QUndoView,
    QWidget,
)

from app.core.errors import ToolcribError
from app.core.logs import configure
from app.core.settings import Settings
from ui.shell.actions import LateCommand, Tick
from ui.shell.problems import as_problem
from ui.windows.sections import SECTIONS

CTRL = Qt.KeyboardModifier.ControlModifier


@pytest.fixture
def window(fill, open_window):
    fill()
    return open_window()


def test_only_sections_that_exist_are_shown(window):
    model = window.nav.model()
    names = [model.index(row, 0).data() for row in range(model.rowCount())]
    assert names == [section.title for section in SECTIONS]
    assert names == [
        "Catalog",
        "Playground",
        "Budget",
        "Review",
        "Hosts",
        "Activity",
    ]


def test_fixed_object_names_are_there(window):
    names = {w.objectName() for w in window.findChildren(QWidget)}
    assert names >= {
        "nav", "budgetBar", "exportButton", "filterEdit", "filterError", "catalogTree", "treemap",
        "details", "firstRunTable", "cancelRead", "messageBar", "statusMessage", "statusUndo",
    }  # fmt: skip


def test_tab_reaches_every_focusable_widget_and_comes_back(window, qtbot):
    start = window.focusWidget()
    seen = []
    for _ in range(60):
        QTest.keyClick(window.focusWidget(), Qt.Key.Key_Tab)
        if window.focusWidget() is start:
            break
        seen.append(window.focusWidget())
    assert window.focusWidget() is start
    assert window.strip.bar in seen and window.pages["catalog"].content.map in seen


def test_f6_goes_through_the_panes_both_ways(window):
    content = window.pages["catalog"].content
    ring = [content.tree, content.details.area, content.map, window.nav, window.strip.bar]
    ring.append(content.filter.edit)
    for pane in [*ring[1:], ring[0]]:
        QTest.keyClick(window, Qt.Key.Key_F6)
        assert window.focusWidget() is pane
    QTest.keyClick(window, Qt.Key.Key_F6, Qt.KeyboardModifier.ShiftModifier)
    assert window.focusWidget() is content.filter.edit


def test_the_focus_is_seen(window, qtbot):
    content = window.pages["catalog"].content
    for widget in (content.filter.edit, content.tree, content.map, window.strip.bar):
        other = content.details.area if widget is not content.details.area else content.tree
        other.setFocus()
        before = widget.grab().toImage()
        widget.setFocus()
        after = widget.grab().toImage()
        changed = sum(
            before.pixel(x, y) != after.pixel(x, y)
            for x in range(0, after.width())
            for y in (*range(4), *range(after.height() - 4, after.height()))
        )
        assert changed >= 200, widget.objectName()


def test_the_strip_goes_from_server_to_server(window):
    window.strip.bar.setFocus()
    QTest.keyClick(window.strip.bar, Qt.Key.Key_Right)
    assert "github 3,095" in window.strip.bar.accessibleName()
    QTest.keyClick(window.strip.bar, Qt.Key.Key_Right)
    QTest.keyClick(window.strip.bar, Qt.Key.Key_Return)
    assert window.pages["catalog"].content.tree.currentIndex().data() == "time"
    assert window.focusWidget() is window.pages["catalog"].content.tree


@pytest.mark.parametrize(
    ("limit", "word"), [(4171, "PASS"), (4118, "WARN"), (3300, "WARN"), (3294, "BLOCK")]
)
def test_the_badge_follows_the_budget(window, limit, word, qtbot):
    from dataclasses import replace

    from app.catalog.catalog import save_settings

    settings = window.live.catalog.settings
    wanted = replace(settings, budget=replace(settings.budget, tokens=limit))
    window.tasks.change(lambda db: save_settings(db, "default", wanted))
    qtbot.waitUntil(lambda: window.strip.verdict.budget.limit == limit)
    assert window.strip.badge.badge.word == word
    assert window.strip.badge.badge.solid == (word == "BLOCK")
    end = window.strip.bar.segments()[-1][1].right()
    assert (window.strip.bar.line_x(limit) > end) == (word != "BLOCK")


def test_every_menu_entry_has_an_access_key(window):
    menus = [m for m in window.menuBar().findChildren(QMenu) if m.title()]
    actions = [a for menu in menus for a in menu.actions() if a.text()]
    assert len(actions) > 12
    assert [a.text() for a in actions if "&" not in a.text()] == []


def test_a_narrow_window_has_a_narrow_sidebar(window):
    window.resize(1024, 640)
    assert window.nav.width() == 48
    window.resize(1280, 800)
    assert window.nav.width() == 188
    assert window.minimumSizeHint().width() <= 1024
    assert window.minimumSizeHint().height() <= 640


def test_geometry_and_splitters_survive_a_restart(window, open_window, ctx):
    window.resize(780, 700)  # the offscreen screen is 800 wide
    QApplication.processEvents()
    size = window.size()  # as the contents let it be
    window.pages["catalog"].content.across.setSizes([400, 300])
    sizes = window.pages["catalog"].content.across.sizes()
    window.close()
    assert (ctx.paths.home / "window.ini").exists()
    again = open_window()
    assert again.size() == size and size.width() < 795
    assert again.pages["catalog"].content.across.sizes() == sizes


def test_the_theme_changes_while_running(window, theme, qtbot):
    app = QApplication.instance()
    light = window.grab().toImage().pixelColor(400, 130)
    theme.choose("dark")
    assert app.palette().window().color() == theme.colors.window
    dark = window.grab().toImage().pixelColor(400, 130)
    assert light.lightness() > 200 and dark.lightness() < 60
    theme.choose("light")


def test_the_chosen_look_is_kept_for_the_next_start(window, theme, ctx):
    view = next(
        m
        for m in window.menuBar().findChildren(QMenu)
        if m.title().replace("&", "") == "Appearance"
    )
    next(a for a in view.actions() if a.text() == "&Dark").trigger()
    assert theme.colors.dark
    assert Settings.load(ctx.paths.settings_file).appearance == "dark"
    theme.choose("light")


def test_damage_in_the_store_is_named_and_the_rest_is_shown(fill, services, open_window, qtbot):
    fill()
    db = services.ctx.open_store()
    db.execute("UPDATE tools SET raw = '{' WHERE id = (SELECT min(id) FROM tools)")
    number = db.execute("SELECT count(*) FROM tools WHERE gone = 0").fetchone()[0]
    db.close()
    window = open_window()
    qtbot.waitUntil(lambda: "is damaged" in window.page.messages.text)
    assert "toolcrib doctor --repair" in window.page.messages.text
    assert len(window.live.catalog.tools) == number


def test_a_problem_is_a_line_in_the_page(window):
    window.show_problem(ToolcribError("The store is locked.", "Close the other program."))
    assert window.page.messages.text == "The store is locked. Close the other program."
    assert window.page.messages.isVisible()


def test_a_store_that_cannot_be_read_is_told(open_window, ctx, qtbot, qapp, places, theme):
    from ui.windows.main_window import MainWindow

    ctx.paths.create()
    ctx.paths.database.write_bytes(b"this is no database at all" * 100)
    window = MainWindow(ctx, places, theme)
    qtbot.addWidget(window)
    window.show()
    qtbot.waitUntil(lambda: window.page.messages.text != "")
    assert "toolcrib.db" in window.page.messages.text
    window.close()


def test_closing_with_work_in_hand_leaves_no_thread(window):
    window.tasks.work(lambda job: job.cancelled.wait(20), lambda _: None)
    window.live.load()
    window.close()


def test_help_opens_and_closes(window, qtbot):
    QTest.keyClick(window, Qt.Key.Key_Slash, CTRL)
    dialogs = [w for w in QApplication.topLevelWidgets() if w.windowTitle() == "Shortcuts"]
    assert dialogs and dialogs[0].isVisible()
    dialogs[0].close()


def test_without_a_display_it_says_so(monkeypatch, capsys):
    from ui.display import display_problem
    from ui.main import NO_DISPLAY, main

    for name in ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(sys, "platform", "linux")
    assert main([]) == NO_DISPLAY == 3
    assert "no display" in capsys.readouterr().err
    assert display_problem({}, "win32") == ""
    assert display_problem({"QT_QPA_PLATFORM": "offscreen"}, "linux") == ""


@pytest.mark.parametrize(
    "variables",
    [
        {"DISPLAY": ":4711"},
        {"DISPLAY": ":4711", "WAYLAND_DISPLAY": "wayland-none", "XDG_RUNTIME_DIR": "/nowhere"},
        {"DISPLAY": "no display"},
        {"DISPLAY": ":4711", "QT_QPA_PLATFORM": "xcb"},
    ],
)
def test_a_display_that_does_not_answer_is_a_sentence_and_no_abort(variables, tmp_path):
    names = ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM")
    environ = {k: v for k, v in os.environ.items() if k not in names}
    ended = subprocess.run(
        [sys.executable, "-m", "ui.main"],
        env={**environ, **variables, "TOOLCRIB_HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert ended.returncode == 3, ended.stderr
    assert "does not answer" in ended.stderr and "toolcrib --help" in ended.stderr


def test_text_can_be_made_larger_and_that_is_kept(window, ctx, theme, qtbot):
    window.resize(1800, 900)  # names have room, so that no column gives them some
    window.open_page("review")
    window.open_page("catalog")
    strip, tree = window.strip, window.catalog.content.tree
    before, wide = strip.total.font().pointSizeF(), tree.columnWidth(1)
    for _ in range(5):
        QTest.keyClick(window, Qt.Key.Key_Equal, CTRL)
    assert theme.zoom == 150
    assert strip.total.font().pointSizeF() > 1.3 * before
    assert window.nav.font().pointSizeF() > 1.3 * (before - 3)
    assert tree.columnWidth(1) == round(1.5 * wide)
    assert window.status.message.text() == "Text at 150 %"
    assert Settings.load(ctx.paths.settings_file).zoom == 150
    QTest.keyClick(window, Qt.Key.Key_0, CTRL)
    assert theme.zoom == 100
    assert strip.total.font().pointSizeF() == before
    assert tree.columnWidth(1) == wide


def test_text_has_a_least_and_a_largest_size(window, theme):
    theme.set_zoom(200)
    QTest.keyClick(window, Qt.Key.Key_Equal, CTRL)
    assert theme.zoom == 200
    theme.set_zoom(80)
    QTest.keyClick(window, Qt.Key.Key_Minus, CTRL)
    assert theme.zoom == 80
    theme.set_zoom(100)


def test_at_150_percent_the_sections_still_fit_a_small_screen(window, theme):
    theme.set_zoom(150)
    for section in SECTIONS:
        window.open_page(section.key)
    assert window.minimumSizeHint().width() <= 1024
    theme.set_zoom(100)


@pytest.mark.parametrize(
    ("section", "name", "column"),
    [("catalog", "catalogTree", 1), ("budget", "budgetTable", 0), ("activity", "usageTable", 2)],
)
def test_widths_of_columns_survive_a_restart(window, open_window, section, name, column):
    window.open_page(section)
    header = window.page.findChild(QTreeView, name).header()
    header.resizeSection(column, 123)
    window.close()
    again = open_window()
    again.open_page(section)
    assert again.page.findChild(QTreeView, name).header().sectionSize(column) == 123


def test_kept_widths_follow_another_text_size(window, open_window):
    window.open_page("budget")
    window.page.findChild(QTreeView, "budgetTable").header().resizeSection(0, 120)
    window.close()
    again = open_window()
    again.services.theme.set_zoom(150)
    again.open_page("budget")
    header = again.page.findChild(QTreeView, "budgetTable").header()
    wide = header.sectionSize(0)
    again.services.theme.set_zoom(100)
    assert (wide, header.sectionSize(0)) == (180, 120)


def test_back_and_forward_through_the_sections(window):
    for section in ("hosts", "review"):
        window.open_page(section)
    alt = Qt.KeyboardModifier.AltModifier
    for key, section in (
        (Qt.Key.Key_Left, "hosts"),
        (Qt.Key.Key_Left, "catalog"),
        (Qt.Key.Key_Left, "catalog"),
        (Qt.Key.Key_Right, "hosts"),
    ):
        QTest.keyClick(window, key, alt)
        assert window.page is window.pages[section]
    window.open_page("budget")
    QTest.keyClick(window, Qt.Key.Key_Right, alt)  # nothing lies ahead any more
    assert window.page is window.pages["budget"]


def test_the_history_goes_back_to_any_step(window, qtbot):
    QTest.keyClick(window, Qt.Key.Key_H, CTRL)
    empty = window.findChild(QDialog, "history")
    assert [label.text() for label in empty.findChildren(QLabel)] == [
        "Nothing to take back yet. What you change from now on is listed here."
    ]
    QTest.keyClick(empty, Qt.Key.Key_Escape)
    qtbot.waitUntil(lambda: not window.findChild(QDialog, "history"))
    window.activateWindow()
    qtbot.waitUntil(window.isActiveWindow)
    tools = window.live.catalog.tools
    for tool in tools[:3]:
        window.undo.push(Tick(window.live, [tool], False))
    QTest.keyClick(window, Qt.Key.Key_H, Qt.KeyboardModifier.ControlModifier)
    steps = window.findChild(QUndoView)
    assert steps.isVisible() and steps.model().rowCount() == 4
    steps.setCurrentIndex(steps.model().index(1, 0))
    assert [t.on for t in window.live.catalog.tools[:3]] == [False, True, True]
    QTest.keyClick(steps, Qt.Key.Key_Escape)
    assert not steps.isVisible()


def test_after_the_history_was_looked_at_undo_redo_and_themes_go_on(window, qtbot):
    tools = window.live.catalog.tools
    for _again in range(2):
        QTest.keyClick(window, Qt.Key.Key_H, CTRL)
        QTest.keyClick(window.findChild(QUndoView), Qt.Key.Key_Escape)
        qtbot.waitUntil(lambda: not window.findChild(QDialog, "history"))
        window.activateWindow()
        qtbot.waitUntil(window.isActiveWindow)
    window.undo.push(Tick(window.live, [tools[0]], False))
    assert window.commands.undo.text() == f"&Undo Turn off {tools[0].tool.name}"
    window.services.theme.choose("dark")
    icon = window.commands.undo.icon().pixmap(20, 20).toImage()
    lightest = max(icon.pixelColor(x, y).lightness() for x in range(20) for y in range(20))
    assert lightest > 150  # not a dark icon on dark
    window.commands.undo.trigger()
    assert window.live.tool(tools[0].tool.id).on
    assert window.commands.redo.isEnabled() and not window.commands.undo.isEnabled()
    assert window.page.messages.text == ""


def test_an_unforeseen_error_offers_the_log(window, ctx, qtbot):
    handler = configure(ctx.paths.logs)
    try:
        window.show_problem(as_problem(KeyError("a defect")))
    finally:
        logging.getLogger("toolcrib").removeHandler(handler)
        handler.close()
    assert window.page.messages.text.startswith("Something went wrong: KeyError.")
    button = next(b for b in window.page.messages.findChildren(QPushButton) if b.isVisible())
    assert button.text() == "Show log"
    button.click()
    log = window.findChild(QDialog, "log")
    assert "a defect" in log.findChild(QPlainTextEdit).toPlainText()
    log.reject()


def test_a_step_whose_outcome_is_open_says_nothing_before_it_is_known(window):
    class Late(LateCommand):
        def undo(self):
            self.quiet = True

    window.undo.push(Late("Write config of Cursor"))
    assert window.status.message.text() == "Wrote config of Cursor"
    window.undo.undo()
    assert window.status.message.text() == "Wrote config of Cursor"  # not "Undone"
