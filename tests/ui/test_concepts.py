"""A newcomer is told in one line what each page is for, and each word in the one glossary."""

from PySide6.QtCore import Qt

from ui.look.glossary import TERMS, explained
from ui.shell.host_names import MODE_NAMES
from ui.windows.sections import SECTIONS


def test_each_page_says_in_one_line_what_it_is_for(fill, open_window):
    fill()
    window = open_window()
    for section in SECTIONS:
        window.open_page(section.key)
        assert window.purpose.isVisible()
        assert window.purpose.text() == section.purpose
        width = window.purpose.fontMetrics().horizontalAdvance(section.purpose)
        assert width < window.purpose.contentsRect().width(), "it is cut at 1280 px"


def test_the_glossary_explains_each_word_once():
    names = [name.lower() for name, _text in TERMS]
    assert len(names) == len(set(names))
    for needed in ("server", "tool", "host", "profile", "hook", "sharing", *MODE_NAMES.values()):
        assert explained(needed)


def test_the_ways_a_host_gets_its_tools_are_explained_where_they_are_chosen(fill, open_window):
    fill()
    window = open_window()
    window.open_page("hosts")
    for mode, radio in window.page.detail.radios.items():
        assert radio.toolTip() == explained(MODE_NAMES[mode])


def test_a_low_window_gives_the_room_of_that_line_to_the_page(fill, open_window):
    fill()
    window = open_window()
    window.resize(1024, 640)
    assert window.height() == 640 and not window.purpose.isVisible()
    row = window.nav.model().index(0, 0)
    assert SECTIONS[0].purpose in row.data(Qt.ItemDataRole.ToolTipRole)
