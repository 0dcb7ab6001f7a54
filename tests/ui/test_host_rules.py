"""The switch "Rules snippet" of the Hosts page, and hooks that another mode left behind."""

import pytest
from hosts_kit import CODEX, GITHUB, open_host, open_page, put, put_files, write
from PySide6.QtWidgets import QPushButton

from app.hooks.rules import BEGIN, COST, END, RULES

TIMEOUT = 20_000
SETTINGS = ".claude/settings.json"
SNIPPET = ".claude/CLAUDE.md"
OWN = "# Mine\n\nAlways answer in French.\n"


@pytest.fixture
def home(places):
    home = put_files(places)
    put(home / ".claude.json", {"mcpServers": {"github": GITHUB}})
    return home


@pytest.fixture
def page(home, services, qtbot):
    return open_page(services, qtbot)


def show(page, qtbot, host, mode="as-is"):
    """Open a host, with its files looked at."""
    open_host(page, qtbot, host, mode)
    qtbot.waitUntil(lambda: not page.detail.hook.isHidden(), timeout=TIMEOUT)


def through(page, qtbot, host):
    """Open a host and write it through Toolcrib."""
    show(page, qtbot, host, "through")
    write(page, qtbot)
    qtbot.waitUntil(page.detail.rules.switch.isEnabled, timeout=TIMEOUT)


def press(page, qtbot, card):
    """Press a switch and wait for the preview."""
    card.switch.click()
    qtbot.waitUntil(lambda: page._stack.currentWidget() is page.hook, timeout=TIMEOUT)


def write_it(page, qtbot, card, on):
    page.hook.write.click()
    qtbot.waitUntil(lambda: page._stack.currentWidget() is page.detail, timeout=TIMEOUT)
    qtbot.waitUntil(lambda: card.switch.isChecked() is on, timeout=TIMEOUT)
    qtbot.waitUntil(lambda: page.services.tasks.idle, timeout=TIMEOUT)


def test_it_is_off_and_says_what_it_costs_before_it_is_pressed(page, qtbot, home):
    through(page, qtbot, "claude-code")
    card = page.detail.rules
    assert card.switch.text() == "Rules snippet" and not card.switch.isChecked()
    assert "CLAUDE.md" in card.words.text() and COST in card.words.text()
    assert card.switch.accessibleDescription() == card.words.text()
    assert not (home / SNIPPET).exists()


def test_nothing_is_written_before_the_change_was_seen(page, qtbot, home):
    put(home / SNIPPET, OWN)
    through(page, qtbot, "claude-code")
    press(page, qtbot, page.detail.rules)
    assert page.hook.title.text() == "Rules snippet: Claude Code"
    assert COST in page.hook.notes.text()
    assert page.hook.path.text() == f"~/{SNIPPET}"
    assert page.hook.write.text() == "Write words"
    assert not page.detail.rules.switch.isChecked(), "it moves only when the file is written"
    page.hook.close_button.click()
    assert page._stack.currentWidget() is page.detail
    assert (home / SNIPPET).read_text() == OWN


def test_what_was_shown_is_written_and_taken_out_without_a_trace(page, qtbot, home):
    put(home / SNIPPET, OWN)
    through(page, qtbot, "claude-code")
    card = page.detail.rules
    press(page, qtbot, card)
    shown = page.hook.diff.after.toPlainText()
    write_it(page, qtbot, card, on=True)
    written = (home / SNIPPET).read_text()
    assert written == shown + "\n" == f"{OWN}\n{BEGIN}\n{RULES}\n{END}\n"
    assert page.messages.text == "Written. Start Claude Code anew."
    assert card.words.text().startswith("In CLAUDE.md.")
    assert not page.detail.hook.switch.isChecked(), "the hook is another switch"
    press(page, qtbot, card)
    assert page.hook.write.text() == "Take the words out"
    write_it(page, qtbot, card, on=False)
    assert (home / SNIPPET).read_text() == OWN
    stack = page.services.undo
    assert stack.undoText() == "Take rules snippet out of Claude Code"
    stack.undo()
    qtbot.waitUntil(card.switch.isChecked, timeout=TIMEOUT)
    assert stack.undoText() == "Write rules snippet of Claude Code"
    stack.undo()
    qtbot.waitUntil(lambda: not card.switch.isChecked(), timeout=TIMEOUT)
    assert (home / SNIPPET).read_text() == OWN


def test_a_file_made_for_the_words_goes_with_them(page, qtbot, home):
    through(page, qtbot, "codex")
    card = page.detail.rules
    press(page, qtbot, card)
    write_it(page, qtbot, card, on=True)
    [file] = (home / CODEX).parent.glob("*.md")
    press(page, qtbot, card)
    write_it(page, qtbot, card, on=False)
    assert not file.exists()


def test_redo_shows_the_snippets_preview(page, qtbot, home):
    through(page, qtbot, "claude-code")
    card = page.detail.rules
    press(page, qtbot, card)
    write_it(page, qtbot, card, on=True)
    page.services.undo.undo()
    qtbot.waitUntil(lambda: not card.switch.isChecked(), timeout=TIMEOUT)
    qtbot.waitUntil(page.services.undo.canRedo, timeout=TIMEOUT)
    page.services.undo.redo()
    qtbot.waitUntil(lambda: page._stack.currentWidget() is page.hook, timeout=TIMEOUT)
    assert page.hook.preview.about == "rules" and not (home / SNIPPET).exists()


def test_a_file_that_changed_after_the_preview_is_not_written(page, qtbot, home):
    put(home / SNIPPET, OWN)
    through(page, qtbot, "claude-code")
    press(page, qtbot, page.detail.rules)
    put(home / SNIPPET, f"{OWN}More.\n")
    page.hook.write.click()
    qtbot.waitUntil(lambda: page.messages.text.startswith("Not written: "), timeout=TIMEOUT)
    assert (home / SNIPPET).read_text() == f"{OWN}More.\n"
    buttons = page.messages.findChildren(QPushButton)
    next(one for one in buttons if one.text() == "Refresh preview").click()
    qtbot.waitUntil(lambda: "More." in page.hook.diff.before.toPlainText(), timeout=TIMEOUT)
    assert page.hook.preview.about == "rules"


def test_without_the_menu_the_reason_stands_there(page, qtbot):
    show(page, qtbot, "claude-code")
    card = page.detail.rules
    assert not card.switch.isEnabled()
    assert card.words.text().startswith("Claude Code does not go through Toolcrib")


def test_a_host_whose_instructions_are_not_known_has_no_such_switch(page, qtbot):
    show(page, qtbot, "cursor")
    assert page.detail.rules.isHidden()


def test_words_on_a_menu_that_is_gone_can_be_taken_out(page, qtbot, home):
    through(page, qtbot, "claude-code")
    card = page.detail.rules
    press(page, qtbot, card)
    write_it(page, qtbot, card, on=True)
    leave(page, qtbot)
    qtbot.waitUntil(lambda: "no longer has Toolcrib's menu" in card.words.text(), timeout=TIMEOUT)
    assert card._icon.isVisible()
    press(page, qtbot, card)
    write_it(page, qtbot, card, on=False)
    assert not (home / SNIPPET).exists()


def leave(page, qtbot):
    """Put the shown host back as it was, its hook and words left where they are."""
    page.detail.radios["as-is"].click()
    ready = page.detail.write.isEnabled
    qtbot.waitUntil(lambda: page.preview is not None and ready(), timeout=TIMEOUT)
    page.detail.write.click()
    qtbot.waitUntil(lambda: page.services.tasks.idle, timeout=TIMEOUT)


def test_a_hook_of_another_mode_says_so_and_is_brought_up_to_date(page, qtbot, home):
    through(page, qtbot, "claude-code")
    card = page.detail.hook
    assert card.update_button.isHidden()
    press(page, qtbot, card)
    write_it(page, qtbot, card, on=True)
    assert '"mcp_tool"' in (home / SETTINGS).read_text()
    leave(page, qtbot)
    qtbot.waitUntil(card.update_button.isVisible, timeout=TIMEOUT)
    assert card.words.text().startswith("Installed, but silent: it asks Toolcrib's gateway")
    assert card._icon.isVisible() and card.switch.isChecked()
    card.update_button.click()
    qtbot.waitUntil(lambda: page._stack.currentWidget() is page.hook, timeout=TIMEOUT)
    assert page.hook.write.text() == "Write hook"
    write_it(page, qtbot, card, on=True)
    qtbot.waitUntil(card.update_button.isHidden, timeout=TIMEOUT)
    text = (home / SETTINGS).read_text()
    assert '"mcp_tool"' not in text and text.count("toolcrib-gateway") == 1
    assert "runs a small program" in card.words.text()
    press(page, qtbot, card)
    write_it(page, qtbot, card, on=False)
    assert not (home / SETTINGS).exists()
