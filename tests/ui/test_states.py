"""What the window says while it reads, beside other programs, and after a command."""

import json

import pytest
from PySide6.QtCore import Qt
from query_set_kit import labelled, put, run, settled

from ui.pages.catalog.calling.inputs import TO_CHOOSE, make_input
from ui.pages.catalog.calling.schema_fields import FieldError, fields_of
from ui.shell.host_in_view import COUNTING
from ui.widgets.roles import BADGE
from ui.windows.sections import SECTIONS

WAIT = 20_000


def badge(window, key):
    model = window.nav.model()
    row = [section.key for section in SECTIONS].index(key)
    shown = model.index(row, 0).data(BADGE)
    return shown.word if shown else ""


def test_ctrl_z_after_a_command_of_the_palette_takes_back_the_command(fill, open_window, qtbot):
    fill()
    window = open_window()
    tree, line = window.catalog.content.tree, window.catalog.content.filter.edit
    window.catalog.content.show_tool(window.live.catalog.find("github/merge").tool.id)
    line.setFocus()
    qtbot.keyClicks(line, "merge")
    window.finder.open("> Turn selection on or off")
    entry = window.finder.model.index(0, 0)
    assert "Turn selection" in entry.data()
    qtbot.keyClick(window.finder.line, Qt.Key.Key_Return)
    assert window.focusWidget() is tree
    qtbot.waitUntil(lambda: not window.live.catalog.find("github/merge").on)
    qtbot.keyClick(window.focusWidget(), Qt.Key.Key_Z, Qt.KeyboardModifier.ControlModifier)
    qtbot.waitUntil(lambda: window.live.catalog.find("github/merge").on)
    assert line.text() == "merge"
    qtbot.waitUntil(lambda: window.tasks.idle)


def test_tools_that_are_not_counted_are_no_pass(fill, ctx, open_window, qtbot):
    fill()
    db = ctx.open_store()
    db.execute("DELETE FROM token_counts")
    db.close()
    window = open_window()
    assert window.strip.total.text() == COUNTING
    assert not window.strip.badge.isVisible()
    assert window.strip.on.text() == ""
    window.open_page("budget")
    qtbot.waitUntil(lambda: window.page.moves.headline.text() == COUNTING)


@pytest.mark.parametrize(
    ("file", "text"),
    [(".codex/config.toml", "[mcp_servers\n"), (".gemini/settings.json", '{"mcpServers": {')],
)
def test_a_host_file_that_cannot_be_read_has_a_badge_before_hosts_is_opened(
    fill, places, open_window, qtbot, file, text
):
    path = places.home / file
    path.parent.mkdir(parents=True)
    path.write_text(text)
    fill()
    window = open_window()
    assert "hosts" not in window.pages
    qtbot.waitUntil(lambda: badge(window, "hosts") == "1 problem", timeout=WAIT)


def test_f5_refreshes_the_page_in_view_and_leaves_it_there(fill, open_window, qtbot):
    fill()
    window = open_window()
    window.open_page("activity")
    with qtbot.waitSignal(window.live.loaded, timeout=WAIT):
        qtbot.keyClick(window, Qt.Key.Key_F5)
    assert window.page is window.pages["activity"]
    qtbot.waitUntil(lambda: window.tasks.idle, timeout=WAIT)


def test_a_label_made_elsewhere_appears_while_the_page_is_in_view(open_set, qtbot):
    tab = open_set(1)
    tab.services.live.follow()
    settled(tab, qtbot)
    put(tab.services, labelled(2)[1:])
    qtbot.waitUntil(lambda: len(tab.queries.labels) == 2, timeout=WAIT)


def test_reading_the_same_catalogue_again_does_not_make_a_run_old(open_set, qtbot):
    tab = open_set(3)
    run(tab, qtbot)
    assert "changed" not in tab._hint()
    with qtbot.waitSignal(tab.services.live.loaded, timeout=WAIT):
        tab.services.live.load()
    assert "changed" not in tab._hint()
    tool = tab.services.live.catalog.tools[0].tool.id
    tab.services.live.set_on([tool], False)
    assert "changed" in tab._hint()
    settled(tab, qtbot)


SCHEMA = {
    "properties": {
        "text": {"type": "string"},
        "color": {"enum": ["red", None]},
        "many": {"type": "array", "items": {"type": "string"}},
    },
    "required": ["text", "color", "many"],
}


def test_what_a_call_requires_is_never_sent_empty_or_chosen_for_the_user(theme, qtbot):
    for field in fields_of(json.loads(json.dumps(SCHEMA))):
        one = make_input(field, theme)
        qtbot.addWidget(one.widget)
        with pytest.raises(FieldError, match="must be given"):
            one.read()
        if field.name == "color":
            assert one.widget.currentText() == TO_CHOOSE
            one.widget.setCurrentIndex(2)
            assert one.read() == (None,), "null is a value that can be chosen"
