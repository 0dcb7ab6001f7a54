"""Every page at every size, in both looks: nothing is cut, nothing of the other look is left."""

import pytest
from PySide6.QtCore import QSize, Qt
from PySide6.QtWidgets import QAbstractButton, QCheckBox, QSlider, QStyle, QToolButton

from ui.look.theme import DARK_ONLY, LIGHT_ONLY
from ui.windows.sections import SECTIONS

SIZES = [(1024, 640), (1280, 800), (1366, 728), (1920, 1080)]
# the least size is promised for the usual text size
SHOWN = [(size, 100) for size in SIZES] + [(size, 150) for size in SIZES[1:]]


@pytest.fixture
def window(shared_window):
    return shared_window


@pytest.mark.parametrize(("size", "zoom"), SHOWN)
def test_every_page_fits_every_size_in_both_looks(window, theme, qtbot, size, zoom):
    theme.set_zoom(zoom)
    window.resize(*size)
    try:
        for look in (DARK_ONLY, LIGHT_ONLY):
            theme.choose(look)  # once for all pages: it styles every widget anew
            for section in SECTIONS:
                window.open_page(section.key)
                qtbot.waitUntil(lambda: window.tasks.idle, timeout=60_000)
                assert window.size() == QSize(*size), section.key  # no page makes it larger
                image = window.grab().toImage()
                corner = image.pixelColor(image.width() - 3, image.height() - 3)
                assert (corner.lightness() < 128) is (look == DARK_ONLY), section.key
                primary_buttons_are_whole(window, qtbot)
    finally:
        theme.set_zoom(100)


def primary_buttons_are_whole(window, qtbot) -> None:
    for button in window.page.findChildren(QAbstractButton):
        if button.isVisible() and button.property("primary"):
            # its words may have come with the last answer
            qtbot.waitUntil(lambda b=button: b.width() >= b.sizeHint().width() - 1, timeout=20_000)
            place = button.mapTo(window, button.rect().bottomRight())
            assert window.rect().contains(place), (window.page, button.text())


def test_with_everything_shown_the_difference_in_hosts_keeps_its_height(window, qtbot):
    window.resize(1024, 640)
    window.services.advanced.switch(on=True)
    try:
        window.open_page("hosts")
        qtbot.waitUntil(lambda: window.tasks.idle, timeout=60_000)
        assert window.page.detail.diff.parentWidget().height() >= 168
    finally:
        window.services.advanced.switch(on=False)


def test_larger_text_leaves_the_difference_no_more_room_than_the_buttons_can_spare(
    window, theme, qtbot
):
    window.open_page("hosts")
    shown = window.page.detail.diff.parentWidget()
    try:
        for zoom, least in ((100, 168), (150, 168), (200, 180)):
            theme.set_zoom(zoom)
            assert shown.minimumHeight() == least
    finally:
        theme.set_zoom(100)


def test_at_200_per_cent_the_playground_fits_a_small_screen(window, theme, qtbot):
    window.open_page("playground")
    try:
        theme.set_zoom(200)
        tried = window.page.tried
        assert tried.engine.sizeHint().width() < tried.engine.fontMetrics().averageCharWidth() * 24
        for tab in range(3):
            window.page.open_tab(tab)
        assert window.minimumSizeHint().width() <= 1366
    finally:
        theme.set_zoom(100)


@pytest.mark.parametrize(("zoom", "size"), [(100, 16), (150, 24), (200, 32)])
def test_icons_and_boxes_grow_with_the_text(window, theme, zoom, size):
    try:
        theme.set_zoom(zoom)
        button, box = window.commands.export, QCheckBox("On", window)
        assert button.iconSize().width() == size
        assert button.icon().pixmap(size, size).width() == size
        assert window.commands.bar.iconSize().width() == min(32, size * 20 // 16)
        ticked = box.style().pixelMetric(QStyle.PixelMetric.PM_IndicatorWidth, None, box)
        assert ticked >= size * 14 // 16
    finally:
        theme.set_zoom(100)


def test_the_toolbar_says_read_tools_where_there_is_room(window, theme):
    read = window.commands.bar.read
    style = Qt.ToolButtonStyle
    assert read.toolButtonStyle() == style.ToolButtonTextBesideIcon
    assert read.text() == "Read tools"
    assert read.width() > read.fontMetrics().horizontalAdvance(read.text())
    try:
        theme.set_zoom(200)
        window.resize(1024, 720)
        assert read.toolButtonStyle() == style.ToolButtonIconOnly
        assert not window.commands.bar.findChild(QToolButton, "qt_toolbar_ext_button").isVisible()
    finally:
        theme.set_zoom(100)


def test_at_200_per_cent_a_filter_cuts_no_letters(window, theme):
    try:
        theme.set_zoom(200)
        edit = window.page.content.filter.edit
        assert edit.height() >= edit.minimumSizeHint().height()
    finally:
        theme.set_zoom(100)


def test_at_200_per_cent_the_details_buttons_are_whole(window, theme, qtbot):
    try:
        theme.set_zoom(200)
        window.page.content.tree.open_server("github")
        shown = [b for b in window.page.content.details.buttons if b.isVisible()]
        assert shown
        for button in shown:
            qtbot.waitUntil(lambda b=button: b.width() >= b.sizeHint().width(), timeout=20_000)
    finally:
        theme.set_zoom(100)


@pytest.mark.parametrize("zoom", [100, 150, 200])
def test_a_sliders_handle_is_round_at_any_text_size(window, theme, zoom):
    try:
        theme.set_zoom(zoom)
        slider = QSlider(Qt.Orientation.Horizontal, window, minimum=0, maximum=100, value=50)
        slider.resize(400, slider.sizeHint().height())
        slider.ensurePolished()
        image, ink = slider.grab().toImage(), theme.colors.accent.ink.rgb()
        columns = [
            sum(image.pixel(x, y) == ink for y in range(image.height()))
            for x in range(image.width())
        ]
        # the groove is lower than any handle
        wide, high = sum(column > 4 for column in columns), max(columns)
        assert abs(wide - high) <= 2
        assert high >= 14 * zoom // 100
    finally:
        theme.set_zoom(100)


def test_at_200_per_cent_the_budget_needs_no_scrolling_sideways(window, theme, qtbot):
    try:
        theme.set_zoom(200)
        window.resize(1280, 800)
        window.open_page("budget")
        page = window.page
        qtbot.waitUntil(lambda: window.tasks.idle, timeout=60_000)
        page.moves.through.setText("Words as wide as two buttons beside each other")
        page.moves.through.show()  # as where a host is over its budget
        qtbot.waitUntil(lambda: page.moves.y() > page.form.geometry().bottom())
        assert page.area.widget().width() <= page.area.viewport().width()
        theme.set_zoom(100)
        qtbot.waitUntil(lambda: page.moves.y() == page.form.y())
    finally:
        theme.set_zoom(100)


@pytest.mark.parametrize("zoom", [100, 200])
def test_the_arrow_of_a_menu_grows_with_the_text(window, theme, zoom):
    try:
        theme.set_zoom(zoom)
        button = window.strip.host
        image, back = button.grab().toImage(), theme.colors.raised.rgb()
        corner = range(image.width() - theme.scaled(12) - 6, image.width() - 4)
        rows = range(4, image.height() - 4)
        columns = [x for x in corner if any(image.pixel(x, y) != back for y in rows)]
        assert len(columns) == pytest.approx(theme.scaled(7), abs=theme.scaled(1))
        words = button.fontMetrics().horizontalAdvance(button.text())
        assert button.width() >= words + theme.scaled(12) + 12, "beside the words"
    finally:
        theme.set_zoom(100)


def test_icons_that_fill_their_place_stand_off_the_words(window, qtbot):
    window.open_page("hosts")
    hosts = window.page.detail
    window.open_page("review")
    card = window.page.card
    for button in (hosts.tools, card.off, card.server_off):
        assert button.text().startswith(" "), "Qt leaves 4 px, whatever the icon"
