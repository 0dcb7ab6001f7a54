"""Where windows open, as only a display with a window manager shows it: see test_under_x.py."""

from PySide6.QtCore import QPoint


def test_a_window_opens_where_it_was_closed(open_window, qtbot):
    """Under X the frame takes room above and beside the window."""
    places = []
    for _start in range(3):
        window = open_window()
        qtbot.waitActive(window)
        if not places:
            window.move(60, 70)
            qtbot.waitUntil(lambda w=window: w.pos() == QPoint(60, 70))
        qtbot.waitUntil(lambda w=window: w.tasks.idle)
        qtbot.waitUntil(lambda w=window: w.frameGeometry() != w.geometry())  # it is known
        places.append(window.geometry())
        window.close()
    assert places[0] == places[1] == places[2]
