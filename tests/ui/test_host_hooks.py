"""The switch "Suggest tools for each prompt" of the Hosts page, over real host files."""

import json
import os
from contextlib import closing

import pytest
from hosts_kit import CODEX, GITHUB, open_host, open_page, put, put_files, stock, write
from PySide6.QtWidgets import QPushButton, QStyle, QStyleOptionButton

from app.core.settings import GatewaySettings
from app.hooks.files import CACHE, KEEPS, READS, reads
from app.indexing.indexer import Indexer
from app.safety.review import approve
from store import servers, tools
from store.connection import transaction
from store.queries import save_labels
from store.records import LabelRecord, NewTool
from ui.pages.hosts.page import HostsPage

TIMEOUT = 20_000
CLAUDE_CODE = ".claude.json"
SETTINGS = ".claude/settings.json"
OWN = """\
{
  "model": "opus",
  "hooks": {"UserPromptSubmit": [{"hooks": [{"type": "command", "command": "echo mine"}]}]}
}
"""


@pytest.fixture
def home(places):
    home = put_files(places)
    put(home / CLAUDE_CODE, {"mcpServers": {"github": GITHUB}})
    put(home / SETTINGS, OWN)
    return home


@pytest.fixture
def page(home, services, qtbot):
    return open_page(services, qtbot)


def show(page, qtbot, host, mode="as-is"):
    """Open a host, with its hook looked at."""
    open_host(page, qtbot, host, mode)
    qtbot.waitUntil(lambda: not page.detail.hook.isHidden(), timeout=TIMEOUT)


def show_through(page, qtbot):
    """OpenCode through Toolcrib, with a server of another host: it has none of its own."""
    show(page, qtbot, "opencode", "through")
    page.detail.reach.chosen.emit(("github",))
    qtbot.waitUntil(lambda: page.preview.plan.also == ("github",), timeout=TIMEOUT)


def press(page, qtbot):
    """Press the switch and wait for the preview."""
    page.detail.hook.switch.click()
    qtbot.waitUntil(lambda: page._stack.currentWidget() is page.hook, timeout=TIMEOUT)


def write_hook(page, qtbot):
    page.hook.write.click()
    qtbot.waitUntil(lambda: page._stack.currentWidget() is page.detail, timeout=TIMEOUT)
    qtbot.waitUntil(lambda: page.services.tasks.idle, timeout=TIMEOUT)


def switched(page, on):
    return lambda: page.detail.hook.switch.isChecked() is on


def words(page):
    return page.detail.hook.words.text()


def undo_of_the_message(page):
    return next(b for b in page.messages.findChildren(QPushButton) if b.text() == "Undo")


def test_the_switch_says_what_is_read_before_it_is_pressed(page, qtbot):
    show(page, qtbot, "claude-code")
    switch = page.detail.hook.switch
    assert switch.isEnabled() and not switch.isChecked()
    assert words(page) == READS
    assert switch.toolTip() == READS and switch.accessibleDescription() == READS


def test_where_prompts_are_kept_the_switch_and_the_preview_say_so(page, qtbot, services):
    services.live.change_settings({"gateway": GatewaySettings(keep_prompts=True)})
    show(page, qtbot, "claude-code")
    qtbot.waitUntil(lambda: words(page) == KEEPS, timeout=TIMEOUT)
    press(page, qtbot)
    assert KEEPS in page.hook.notes.text() and READS not in page.hook.notes.text()


def test_nothing_is_written_before_the_change_was_seen(page, qtbot, home):
    show(page, qtbot, "claude-code")
    press(page, qtbot)
    assert (home / SETTINGS).read_text() == OWN
    assert not page.detail.hook.switch.isChecked(), "it moves only when the file is written"
    assert READS in page.hook.notes.text()
    assert page.hook.path.text() == f"~/{SETTINGS}"
    page.hook.close_button.click()
    assert page._stack.currentWidget() is page.detail
    press(page, qtbot)
    assert page.escape() and page._stack.currentWidget() is page.detail
    assert (home / SETTINGS).read_text() == OWN


def test_what_is_written_is_what_was_shown_and_the_users_own_hook_stays(page, qtbot, home):
    show(page, qtbot, "claude-code")
    press(page, qtbot)
    shown = page.hook.diff.after.toPlainText()
    page.primary()
    qtbot.waitUntil(switched(page, True), timeout=TIMEOUT)
    written = (home / SETTINGS).read_text()
    assert written == shown + "\n"
    assert '"command": "echo mine"' in written and "toolcrib-gateway" in written
    assert page.messages.text == "Written. Start Claude Code anew."
    assert words(page).startswith("Installed. Claude Code runs a small program at each prompt.")


def test_through_toolcrib_the_connected_gateway_is_asked(page, qtbot, home):
    show(page, qtbot, "claude-code", "through")
    write(page, qtbot)
    press(page, qtbot)
    write_hook(page, qtbot)
    qtbot.waitUntil(switched(page, True), timeout=TIMEOUT)
    assert '"mcp_tool"' in (home / SETTINGS).read_text()
    assert "asks the connected gateway" in words(page)


def test_taking_it_out_leaves_the_file_as_it_was_and_is_a_step_of_its_own(page, qtbot, home):
    show(page, qtbot, "claude-code")
    press(page, qtbot)
    write_hook(page, qtbot)
    qtbot.waitUntil(switched(page, True), timeout=TIMEOUT)
    with_hook = (home / SETTINGS).read_bytes()
    press(page, qtbot)
    assert page.hook.write.text() == "Take the hook out"
    assert (home / SETTINGS).read_bytes() == with_hook
    write_hook(page, qtbot)
    qtbot.waitUntil(switched(page, False), timeout=TIMEOUT)
    assert (home / SETTINGS).read_text() == OWN
    stack = page.services.undo
    assert stack.undoText() == "Stop suggesting tools in Claude Code"
    stack.undo()
    qtbot.waitUntil(switched(page, True), timeout=TIMEOUT)
    assert (home / SETTINGS).read_bytes() == with_hook
    assert stack.undoText() == "Suggest tools in Claude Code"
    stack.undo()
    qtbot.waitUntil(switched(page, False), timeout=TIMEOUT)
    assert (home / SETTINGS).read_text() == OWN


def test_a_file_made_for_the_hook_goes_with_it(page, qtbot, home):
    (home / SETTINGS).unlink()
    show(page, qtbot, "claude-code")
    for on in (True, False, True):
        press(page, qtbot)
        write_hook(page, qtbot)
        qtbot.waitUntil(switched(page, on), timeout=TIMEOUT)
        assert (home / SETTINGS).exists() is on
    undo_of_the_message(page).click()
    qtbot.waitUntil(switched(page, False), timeout=TIMEOUT)
    assert not (home / SETTINGS).exists()


def test_redo_shows_the_preview_and_writes_nothing(page, qtbot, home):
    show(page, qtbot, "claude-code")
    press(page, qtbot)
    write_hook(page, qtbot)
    qtbot.waitUntil(switched(page, True), timeout=TIMEOUT)
    page.services.undo.undo()
    qtbot.waitUntil(switched(page, False), timeout=TIMEOUT)
    open_host(page, qtbot, "cursor", "as-is")
    page.services.undo.redo()
    qtbot.waitUntil(lambda: page._stack.currentWidget() is page.hook, timeout=TIMEOUT)
    assert page.hook.preview.plan.host.id == "claude-code" and page.hook.preview.wanted
    assert (home / SETTINGS).read_text() == OWN
    qtbot.waitUntil(page.services.undo.canRedo, timeout=TIMEOUT)


def test_a_file_that_changed_after_the_preview_is_not_written(page, qtbot, home):
    show(page, qtbot, "claude-code")
    press(page, qtbot)
    theirs = OWN.replace("opus", "haiku")
    put(home / SETTINGS, theirs)
    page.hook.write.click()
    qtbot.waitUntil(lambda: page.messages.text.startswith("Not written: "), timeout=TIMEOUT)
    assert (home / SETTINGS).read_text() == theirs
    assert page._stack.currentWidget() is page.hook
    again = next(
        b for b in page.messages.findChildren(QPushButton) if b.text() == "Refresh preview"
    )
    again.click()
    qtbot.waitUntil(lambda: "haiku" in page.hook.diff.before.toPlainText(), timeout=TIMEOUT)
    write_hook(page, qtbot)
    qtbot.waitUntil(switched(page, True), timeout=TIMEOUT)
    assert "haiku" in (home / SETTINGS).read_text()


def test_codex_waits_for_the_users_own_trust_step(page, qtbot, home):
    show(page, qtbot, "codex", "through")
    write(page, qtbot)
    press(page, qtbot)
    assert "/hooks" in page.hook.notes.text()
    write_hook(page, qtbot)
    qtbot.waitUntil(switched(page, True), timeout=TIMEOUT)
    assert words(page).startswith("Installed, waiting for you.") and "/hooks" in words(page)
    assert page.detail.hook._icon.isVisible()
    hooks, config = home / ".codex/hooks.json", home / CODEX
    trust = f'\n[hooks.state."{hooks}:user_prompt_submit:0:0"]\n'
    text = config.read_text() + trust + 'enabled = true\ntrusted_hash = "sha256:1"\n'
    put(config, text)
    os.utime(config, (hooks.stat().st_mtime + 5,) * 2)
    page.desk.survey()
    qtbot.waitUntil(lambda: words(page).startswith("Installed. Codex asks"), timeout=TIMEOUT)
    put(config, text.replace("enabled = true\ntrusted", "enabled = false\ntrusted"))
    os.utime(config, (hooks.stat().st_mtime + 5,) * 2)
    page.desk.survey()
    qtbot.waitUntil(lambda: "waiting for you" in words(page), timeout=TIMEOUT)


def test_a_decision_older_than_the_hook_is_about_another_text(page, qtbot, home):
    show(page, qtbot, "codex", "through")
    write(page, qtbot)
    press(page, qtbot)
    hooks, config = home / ".codex/hooks.json", home / CODEX
    trust = f'\n[hooks.state."{hooks}:user_prompt_submit:0:0"]\ntrusted_hash = "sha256:1"\n'
    put(config, config.read_text() + trust)
    os.utime(config, (1_000_000_000,) * 2)
    write_hook(page, qtbot)
    qtbot.waitUntil(lambda: "waiting for you" in words(page), timeout=TIMEOUT)


@pytest.mark.parametrize(
    ("host", "why"),
    [
        ("cursor", "Toolcrib knows no hook of Cursor"),
        ("codex", "sends all its tools itself. Hooks help once it goes through Toolcrib"),
        ("qwen-code", "Qwen Code was not found on this computer."),
    ],
)
def test_where_it_is_not_possible_the_reason_stands_there(page, qtbot, host, why):
    show(page, qtbot, host)
    assert not page.detail.hook.switch.isEnabled()
    assert why in words(page)


def test_without_a_backend_it_says_so(page, qtbot, services):
    (services.ctx.paths.home / "backend.off").touch()
    page.desk.survey()
    show(page, qtbot, "claude-code")
    qtbot.waitUntil(lambda: "toolcrib backend on" in words(page), timeout=TIMEOUT)
    assert not page.detail.hook.switch.isEnabled()


def test_a_file_that_cannot_be_read_says_why(home, services, qtbot):
    put(home / SETTINGS, '{"hooks": ')
    stock(services)
    page = HostsPage(services)
    qtbot.addWidget(page)
    services.live.load()
    page.show()
    qtbot.waitUntil(lambda: page.preview is not None, timeout=TIMEOUT)
    show(page, qtbot, "claude-code")
    assert not page.detail.hook.switch.isEnabled()
    assert "settings.json" in words(page)


def test_the_way_out_takes_hooks_out_as_well(page, qtbot, home, monkeypatch):
    show(page, qtbot, "claude-code")
    assert page.side.way_out.isHidden()
    press(page, qtbot)
    write_hook(page, qtbot)
    qtbot.waitUntil(lambda: not page.side.way_out.isHidden(), timeout=TIMEOUT)
    asked = []
    monkeypatch.setattr(
        "ui.pages.hosts.way_out.confirm",
        lambda _parent, _text, more, *, yes: asked.append((more, yes)) or True,
    )
    page.side.way_out.click()
    qtbot.waitUntil(lambda: page.messages.text == "Restored 1 file.", timeout=TIMEOUT)
    ((more, yes),) = asked
    assert more.startswith("Claude Code: back to the state before Toolcrib.") and yes == "Restore"
    assert (home / SETTINGS).read_text() == OWN
    qtbot.waitUntil(lambda: page.side.way_out.isHidden(), timeout=TIMEOUT)


def test_the_plugin_of_opencode_is_shown_as_text(page, qtbot, home):
    put(home / ".config/opencode/opencode.json", {"mcp": {}})
    page.desk.survey()
    qtbot.waitUntil(lambda: page.model.find("opencode").state != "not found", timeout=TIMEOUT)
    show_through(page, qtbot)
    write(page, qtbot)
    press(page, qtbot)
    shown = page.hook.diff.after.toPlainText()
    write_hook(page, qtbot)
    file = home / ".config/opencode/plugin/toolcrib.js"
    assert file.read_text() == shown + "\n"


def test_opencode_as_it_is_can_narrow_its_list(page, qtbot, home):
    put(home / ".config/opencode/opencode.json", {"mcp": {}})
    file = home / ".config/opencode/plugin/toolcrib.js"
    page.desk.survey()
    qtbot.waitUntil(lambda: page.model.find("opencode").state != "not found", timeout=TIMEOUT)
    show(page, qtbot, "opencode")
    card = page.detail.hook
    assert not card.switch.isEnabled(), "it sends every tool itself"
    qtbot.waitUntil(card.list_button.isVisible, timeout=TIMEOUT)
    card.list_button.click()
    qtbot.waitUntil(lambda: page._stack.currentWidget() is page.hook, timeout=TIMEOUT)
    assert page.hook.title.text() == "Remove tools that do not fit: opencode"
    assert CACHE in page.hook.notes.text(), "the cost is said before"
    assert reads(keeps=False, listed=True) in page.hook.notes.text()
    assert not file.exists()
    write_hook(page, qtbot)
    qtbot.waitUntil(switched(page, True), timeout=TIMEOUT)
    assert '"--form", "list"' in file.read_text()
    assert words(page).startswith("Installed. opencode leaves tools that do not fit out")
    assert not card.list_button.isVisible()
    page.services.undo.undo()
    qtbot.waitUntil(switched(page, False), timeout=TIMEOUT)
    assert not file.exists()
    page.services.undo.redo()
    qtbot.waitUntil(lambda: page._stack.currentWidget() is page.hook, timeout=TIMEOUT)
    assert CACHE in page.hook.notes.text(), "the same form again"
    write_hook(page, qtbot)
    qtbot.waitUntil(switched(page, True), timeout=TIMEOUT)
    press(page, qtbot)
    write_hook(page, qtbot)
    qtbot.waitUntil(switched(page, False), timeout=TIMEOUT)
    assert not file.exists()


def test_a_list_form_that_has_nothing_to_do_any_more_can_be_brought_up_to_date(page, qtbot, home):
    put(home / ".config/opencode/opencode.json", {"mcp": {}})
    file = home / ".config/opencode/plugin/toolcrib.js"
    page.desk.survey()
    qtbot.waitUntil(lambda: page.model.find("opencode").state != "not found", timeout=TIMEOUT)
    show(page, qtbot, "opencode")
    card = page.detail.hook
    qtbot.waitUntil(card.list_button.isVisible, timeout=TIMEOUT)
    card.list_button.click()
    qtbot.waitUntil(lambda: page._stack.currentWidget() is page.hook, timeout=TIMEOUT)
    write_hook(page, qtbot)
    qtbot.waitUntil(switched(page, True), timeout=TIMEOUT)
    show_through(page, qtbot)
    write(page, qtbot)
    qtbot.waitUntil(card.update_button.isVisible, timeout=TIMEOUT)
    assert "The host lists only Toolcrib's menu already" in words(page)
    card.update_button.click()
    qtbot.waitUntil(lambda: page._stack.currentWidget() is page.hook, timeout=TIMEOUT)
    assert READS in page.hook.notes.text()
    write_hook(page, qtbot)
    qtbot.waitUntil(lambda: not card.update_button.isVisible(), timeout=TIMEOUT)
    assert '"--form"' not in file.read_text()


def test_no_list_is_narrowed_where_the_menu_is_all(page, qtbot, home):
    put(home / ".config/opencode/opencode.json", {"mcp": {}})
    page.desk.survey()
    qtbot.waitUntil(lambda: page.model.find("opencode").state != "not found", timeout=TIMEOUT)
    show(page, qtbot, "claude-code")
    assert not page.detail.hook.list_button.isVisible()
    show_through(page, qtbot)
    write(page, qtbot)
    qtbot.waitUntil(page.detail.hook.switch.isEnabled, timeout=TIMEOUT)
    assert not page.detail.hook.list_button.isVisible()


def test_no_secret_of_the_file_is_shown(page, qtbot, home):
    secret = "sk-ant-neverShownAnywhere9"
    put(home / SETTINGS, {"env": {"ANTHROPIC_API_KEY": secret}})
    show(page, qtbot, "claude-code")
    press(page, qtbot)
    for side in (page.hook.diff.before, page.hook.diff.after):
        assert secret not in side.toPlainText()
    write_hook(page, qtbot)
    assert json.loads((home / SETTINGS).read_text())["env"]["ANTHROPIC_API_KEY"] == secret


def describe(services):
    """A tool whose use only its argument tells, which no search by name and description sees."""
    raw = {
        "name": "github_0",
        "description": "Tool 0 of github.",
        "inputSchema": {
            "type": "object",
            "properties": {"title": {"type": "string", "description": "Headline of the bug."}},
        },
    }
    with closing(services.ctx.open_store()) as db:
        server = next(one for one in servers.all_servers(db) if one.name == "github")
        with transaction(db):
            tools.save_list(db, server.id, [NewTool("github_0", raw, "h")], at=2.0)
        (id_,) = (one.id for one in tools.tools(db) if one.tool_id == "github/github_0")
        approve(db, id_, "h", 3.0)
        Indexer(services.ctx, db).texts()


def label(services, query, tool):
    with closing(services.ctx.open_store()) as db, transaction(db):
        save_labels(db, [LabelRecord(0, query, (tool,), "typed", 1.0)])


def test_what_the_hosts_own_search_misses_recommends_the_hook_or_through(home, services, qtbot):
    label(services, "zap", "github/github_0")  # no word of the tool
    page = open_page(services, qtbot)
    show(page, qtbot, "claude-code")
    describe(services)
    notes, detail = page.detail.notes, page.detail
    assert "labelled" not in notes.text(), "Toolcrib finds it no better"
    label(services, "file a bug", "github/github_0")
    services.live.load()
    qtbot.waitUntil(lambda: not detail.advice.isHidden(), timeout=TIMEOUT)
    assert notes.text().startswith(
        "Recommended: Through Toolcrib. Claude Code's own search (emulated, 2.1.330) misses"
    )
    assert detail.radios["through"].text() == "Through Toolcrib (recommended)"
    detail.suggest.click()
    qtbot.waitUntil(lambda: page._stack.currentWidget() is page.hook, timeout=TIMEOUT)
    assert page.escape()
    detail.go_through.click()
    assert detail.mode == "through"
    qtbot.waitUntil(lambda: detail.advice.isHidden(), timeout=TIMEOUT)


@pytest.mark.parametrize("zoom", [100, 200])
def test_what_a_switch_does_stands_below_its_title(page, qtbot, theme, zoom):
    try:
        theme.set_zoom(zoom)
        show(page, qtbot, "opencode")
        lefts = set()
        for card in (page.detail.hook, page.detail.rules):
            words, switch = card.words, card.switch
            qtbot.waitUntil(
                lambda w=words, s=switch: w.y() >= s.geometry().bottom(), timeout=TIMEOUT
            )
            option = QStyleOptionButton()
            switch.initStyleOption(option)
            title = switch.style().subElementRect(
                QStyle.SubElement.SE_CheckBoxContents, option, switch
            )
            left = words.contentsRect().left() + words.x()
            assert abs(left - switch.x() - title.left()) <= 2
            lefts.add(left)
        assert len(lefts) == 1
    finally:
        theme.set_zoom(100)
