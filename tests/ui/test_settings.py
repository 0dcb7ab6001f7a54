"""Settings: those of the profile are undo steps, Toolcrib's own hold from then on."""

import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QWheelEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QComboBox, QLabel, QScrollArea, QWidget

from app.catalog.catalog import change_settings, load_catalog
from app.core.settings import Settings
from app.policy.profiles import create
from ui.widgets.elided import ElidedChoice
from ui.windows.settings_dialog import SettingsDialog

CTRL = Qt.KeyboardModifier.ControlModifier


@pytest.fixture
def window(fill, open_window):
    fill()
    return open_window()


@pytest.fixture
def dialog(window):
    QTest.keyClick(window, Qt.Key.Key_Comma, CTRL)
    found = window.findChild(SettingsDialog)
    assert found.isVisible()
    yield found
    found.reject()


def stored(ctx):
    db = ctx.open_store()
    try:
        return load_catalog(db).settings
    finally:
        db.close()


def choose(box, value):
    place = box.findData(value)
    box.setCurrentIndex(place)
    box.activated.emit(place)


def settled(window, qtbot):
    qtbot.waitUntil(lambda: window.tasks.idle)


def test_a_change_for_the_gateway_is_stored_and_undone(window, dialog, qtbot, ctx):
    dialog.profile.fields["gateway.result_tokens"].setValue(5_000)
    dialog.profile.fields["gateway.start_ahead"].click()
    settled(window, qtbot)
    assert stored(ctx).gateway.result_tokens == 5_000
    assert stored(ctx).gateway.start_ahead
    assert window.undo.undoText() == "Set start servers with the host to on"
    window.undo.undo()
    window.undo.undo()
    settled(window, qtbot)
    assert stored(ctx).gateway.result_tokens == 25_000
    assert dialog.profile.fields["gateway.result_tokens"].value() == 25_000
    assert not dialog.profile.fields["gateway.start_ahead"].isChecked()


def test_what_is_said_at_the_start_shows_what_it_costs(dialog):
    pool = dialog.profile.fields["gateway.pool"]
    words = [pool.itemText(place) for place in range(pool.count())]
    sizes = [int(w.rpartition("· ")[2].split()[0].replace(",", "")) for w in words]
    none, servers, names, lines = (
        sizes[pool.findData(p)] for p in ("none", "servers", "names", "all")
    )
    assert none < servers < names < lines


def test_patterns_are_taken_once_each(window, dialog, qtbot, ctx):
    line = dialog.profile.fields["gateway.loop_exempt"]
    line.setText("browser/*, , time/now , browser/*")
    line.editingFinished.emit()
    settled(window, qtbot)
    assert stored(ctx).gateway.loop_exempt == ("browser/*", "time/now")
    assert line.text() == "browser/*, time/now"


def test_new_tools_may_be_on_at_once(window, dialog, qtbot, ctx):
    choose(dialog.profile.fields["new_tools"], "on")
    settled(window, qtbot)
    assert stored(ctx).new_tools == "on"
    assert window.undo.undoText() == "Set tools that appear later to On at once"


def test_zero_may_mean_a_word_of_its_own(dialog):
    call = dialog.profile.fields["gateway.call_seconds"]
    assert call.text() == "One hour"  # which ends every call
    call.setValue(30)
    assert call.text() == "30 s"
    result = dialog.profile.fields["gateway.result_tokens"]
    result.setValue(0)
    assert result.text() == "No limit"


def test_the_wheel_over_a_field_without_the_focus_changes_nothing(dialog):
    limit = dialog.profile.fields["gateway.call_seconds"]
    up = QWheelEvent(
        QPointF(5, 5),
        QPointF(limit.mapToGlobal(QPoint(5, 5))),
        QPoint(),
        QPoint(0, 120),
        Qt.MouseButton.NoButton,
        Qt.KeyboardModifier.NoModifier,
        Qt.ScrollPhase.NoScrollPhase,
        False,
    )
    QApplication.sendEvent(limit, up)
    assert limit.value() == 0
    limit.setFocus()
    QApplication.sendEvent(limit, up)
    assert limit.value() == 10


def test_other_colours_and_text_size_are_used_and_kept(window, dialog, ctx):
    choose(dialog.look.fields["appearance"], "dark")
    dialog.look.fields["zoom"].setValue(120)
    assert window.services.theme.colors.dark
    assert window.services.theme.zoom == 120
    kept = Settings.load(ctx.paths.settings_file)
    assert (kept.appearance, kept.zoom) == ("dark", 120)
    assert window.undo.count() == 0
    choose(dialog.look.fields["appearance"], "light")


def test_another_tokenizer_counts_everything_anew(window, dialog, qtbot, ctx):
    choose(dialog.look.fields["encoding"], "cl100k_base")
    settled(window, qtbot)
    assert window.live.catalog.encoding == "cl100k_base"
    assert window.status.catalog.text().endswith("cl100k_base")


def test_how_servers_are_read_holds_at_the_next_reading(window, dialog, ctx):
    dialog.reading.fields["scan_seconds"].setValue(90)
    dialog.reading.fields["scratch_home"].click()
    assert (ctx.settings.scan_seconds, ctx.settings.scratch_home) == (90, True)
    dialog.look.fields["zoom"].setValue(120)
    kept = Settings.load(ctx.paths.settings_file)
    assert (kept.scan_seconds, kept.scratch_home, kept.zoom) == (90, True, 120)
    dialog.look.fields["zoom"].setValue(100)


def test_what_somebody_wrote_to_the_file_meanwhile_is_kept(dialog, ctx):
    Settings(backups_kept=7).save(ctx.paths.settings_file)
    dialog.reading.fields["scan_at_once"].setValue(4)
    assert dialog.reading.fields["backups_kept"].value() == 7
    dialog.reading.fields["scan_at_once"].setValue(5)
    kept = Settings.load(ctx.paths.settings_file)
    assert (kept.backups_kept, kept.scan_at_once) == (7, 5)


def test_a_settings_file_that_cannot_be_read_is_said_and_nothing_is_lost(dialog, ctx):
    ctx.paths.settings_file.write_text("zoom = what", encoding="utf-8")
    dialog.reading.fields["scan_at_once"].setValue(4)
    assert "cannot be read" in dialog.problem.text() and dialog.problem.isVisible()
    assert dialog.reading.fields["scan_at_once"].value() == ctx.settings.scan_at_once == 2
    assert ctx.paths.settings_file.read_text(encoding="utf-8") == "zoom = what"


def test_enter_ends_what_is_typed_and_the_dialog_stays(window, dialog, qtbot, ctx):
    line = dialog.profile.fields["gateway.loop_exempt"]
    line.setText("time/*")
    QTest.keyClick(line, Qt.Key.Key_Return)
    settled(window, qtbot)
    assert dialog.isVisible()
    assert stored(ctx).gateway.loop_exempt == ("time/*",)


def test_what_is_being_typed_survives_a_reading(window, dialog, qtbot):
    line = dialog.profile.fields["gateway.loop_exempt"]
    line.setText("brow")
    window.live.load()
    settled(window, qtbot)
    assert line.text() == "brow"


def test_a_value_outside_the_forms_bounds_is_shown_as_it_is(window, dialog, qtbot):
    window.live.change_settings({"gateway.search_tokens": 50})
    settled(window, qtbot)
    assert dialog.profile.fields["gateway.search_tokens"].value() == 50


def test_undo_of_one_setting_leaves_what_others_set_meanwhile(window, dialog, qtbot, db):
    dialog.profile.fields["gateway.result_tokens"].setValue(5_000)
    settled(window, qtbot)
    change_settings(db, "default", {"gateway.search_tokens": 777})
    window.live.load()
    settled(window, qtbot)
    window.undo.undo()
    settled(window, qtbot)
    found = load_catalog(db).settings.gateway
    assert (found.result_tokens, found.search_tokens) == (25_000, 777)


def test_until_another_profile_is_read_its_settings_cannot_be_changed(window, dialog, qtbot, db):
    create(db, "work")
    change_settings(db, "work", {"gateway.search_tokens": 4_321})
    window.live.show_profile("work")
    assert not dialog.profile.isEnabled()
    dialog.profile.fields["gateway.start_ahead"].setChecked(True)
    settled(window, qtbot)
    found = load_catalog(db, "work").settings.gateway
    assert (found.search_tokens, found.start_ahead) == (4_321, False)
    assert dialog.profile.isEnabled()
    assert dialog.profile.fields["gateway.search_tokens"].value() == 4_321


def test_it_fits_the_screen_at_any_text_size(window, qtbot):
    window.services.theme.set_zoom(200)
    window.commands.open_settings()
    dialog = window.findChild(SettingsDialog)
    room = dialog.screen().availableGeometry()
    assert dialog.height() <= room.height() and dialog.width() <= room.width()
    dialog.reject()
    window.services.theme.set_zoom(100)


def test_everything_that_takes_the_focus_has_a_name_and_choices_are_known(dialog):
    for widget in dialog.findChildren(QWidget):
        if widget.focusPolicy() & Qt.FocusPolicy.TabFocus and widget.metaObject().className() in (
            "QSpinBox",
            "QCheckBox",
            "QComboBox",
            "QLineEdit",
        ):
            assert widget.accessibleName() or widget.parent().accessibleName(), widget
    for box in dialog.findChildren(QComboBox):
        assert box.currentIndex() >= 0, box.accessibleName()


def test_settings_are_found_by_their_words_and_explained(dialog):
    QTest.keyClicks(dialog.search, "tokenizer")
    assert dialog.tabs.currentWidget().isAncestorOf(dialog.look.fields["encoding"]) or (
        dialog.tabs.currentWidget().isAncestorOf(dialog.reading.fields["encoding"])
    )
    dialog.search.setText("search answer")
    assert dialog.tabs.currentIndex() == 0
    assert dialog.profile.fields["gateway.search_tokens"].isVisible()
    assert not dialog.profile.fields["gateway.pool"].isVisible()
    shown = [label.text() for label in dialog.profile.findChildren(QLabel) if label.isVisible()]
    assert "The best tool's arguments and the names of others fit into this." in shown
    dialog.search.setText("no such thing")
    assert dialog.problem.text() == "No setting matches."
    dialog.search.clear()
    assert dialog.profile.fields["gateway.pool"].isVisible()
    assert not dialog.problem.isVisible()


def test_a_tab_is_reset_in_one_step_that_can_be_undone(window, dialog, qtbot, ctx):
    assert not dialog.usual.isEnabled()
    dialog.profile.fields["gateway.result_tokens"].setValue(5_000)
    choose(dialog.profile.fields["gateway.pool"], "all")
    settled(window, qtbot)
    steps = window.undo.count()
    dialog.usual.click()
    settled(window, qtbot)
    assert stored(ctx).gateway.result_tokens == 25_000
    assert stored(ctx).gateway.pool == "servers"
    assert window.undo.count() == steps + 1
    assert not dialog.usual.isEnabled()
    window.undo.undo()
    settled(window, qtbot)
    assert stored(ctx).gateway.pool == "all"


@pytest.mark.parametrize("zoom", [100, 150])
def test_each_explanation_is_as_high_as_its_lines(dialog, theme, zoom):
    dialog.every.click()
    theme.set_zoom(zoom)
    try:
        for form in dialog._forms:
            dialog.tabs.setCurrentWidget(tab_of(dialog, form))
            QApplication.sendPostedEvents()
            tips = [tip for _words, tip in form._tips.values()]
            heights = {tip.text(): (tip.height(), tip.heightForWidth(tip.width())) for tip in tips}
            assert all(height == needed for height, needed in heights.values()), heights
    finally:
        theme.set_zoom(100)


def tab_of(dialog, form):
    pages = (dialog.tabs.widget(n) for n in range(dialog.tabs.count()))
    return next(page for page in pages if page.isAncestorOf(form))


def test_choices_in_a_narrow_dialog_end_in_dots(dialog):
    assert all(isinstance(box, ElidedChoice) for box in dialog.findChildren(QComboBox))


def test_no_row_is_wider_than_the_dialog(dialog):
    dialog.every.click()
    for area in dialog.findChildren(QScrollArea):
        assert area.horizontalScrollBar().maximum() == 0


def test_words_for_the_hosts_own_search_say_what_they_are_worth(window, dialog, qtbot):
    tip = dialog.profile.findChildren(QLabel)
    texts = [label.text() for label in tip]
    assert any("Every server then goes behind the gateway." in text for text in texts)
    dialog.profile.explain("gateway.search_hints", "With words 3 of 4.")
    assert any(label.text().endswith("With words 3 of 4.") for label in tip)
    dialog.profile.explain("gateway.search_hints", "")
    assert not any(label.text().endswith("With words 3 of 4.") for label in tip)
    dialog.profile.fields["gateway.search_hints"].click()
    settled(window, qtbot)
    assert stored(window.tasks.ctx).gateway.search_hints


@pytest.mark.parametrize("zoom", [100, 150, 200])
def test_no_name_loses_its_last_letter_at_any_text_size(dialog, theme, qtbot, zoom):
    try:
        theme.set_zoom(zoom)
        names = {label.text(): label for label in dialog.look.findChildren(QLabel)}
        name = names["&Text size"]
        width = name.fontMetrics().horizontalAdvance
        drawn = width("T") + width("ext size")  # apart, since the first is underlined
        assert drawn > width("Text size") or zoom == 100
        dialog.open_tab("window")
        qtbot.waitUntil(lambda: name.width() >= drawn, timeout=20_000)
    finally:
        theme.set_zoom(100)


def test_telemetry_is_off_until_it_is_switched_on_for_a_receiver_that_can_be(dialog, ctx):
    form = dialog.reading
    switch, line = form.fields["telemetry"], form.fields["telemetry_endpoint"]
    assert not switch.isChecked() and not ctx.settings.telemetry
    words = " ".join(label.text() for label in form.findChildren(QLabel))
    assert "Arguments and results never do." in words
    switch.click()
    assert ctx.settings.telemetry and dialog.problem.isHidden()
    line.setText("nowhere")
    line.editingFinished.emit()
    assert "nowhere is no address of a receiver." in dialog.problem.text()
    assert ctx.settings.telemetry_endpoint == line.text() == "http://127.0.0.1:4318"
    line.setText("http://127.0.0.1:9999 ")
    line.editingFinished.emit()
    assert ctx.settings.telemetry_endpoint == "http://127.0.0.1:9999"
    switch.click()
    line.setText("later")
    line.editingFinished.emit()
    switch.click()
    assert not ctx.settings.telemetry and not switch.isChecked()
    assert "later is no address of a receiver." in dialog.problem.text()


def test_a_price_turns_the_weeks_tokens_into_money_once_it_is_set(dialog, ctx):
    field = dialog.reading.fields["price"]
    assert (field.text(), ctx.settings.price) == ("Not set", 0)
    field.setValue(3.25)
    assert ctx.settings.price == 3.25
    assert Settings.load(ctx.paths.settings_file).price == 3.25
    field.setValue(0)
    assert (field.text(), ctx.settings.price) == ("Not set", 0)
