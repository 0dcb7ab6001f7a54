"""The Hosts page over real host files in a home of its own."""

import json
import re
from dataclasses import replace

import pytest
from host_world import HostWorld
from hosts_kit import (
    CLAUDE,
    CODEX,
    CURSOR,
    GITHUB,
    SECRET,
    open_host,
    open_page,
    put,
    put_files,
    state,
    stock,
    write,
)
from PySide6.QtCore import Qt, QTimer
from PySide6.QtGui import QFont, QFontMetrics
from PySide6.QtWidgets import QApplication, QLabel, QPushButton, QWidget

from app.hosts.reading import hash_bytes
from app.policy.profiles import create
from ui.pages.hosts.page import HostsPage
from ui.shell.actions import Tick
from ui.windows.export_state import ExportState


@pytest.fixture
def home(places):
    return put_files(places)


@pytest.fixture
def page(home, services, qtbot):
    return open_page(services, qtbot)


def test_hosts_that_are_here_come_first_and_say_how_they_stand(page):
    names = [page.model.index(row).data() for row in range(page.model.rowCount())]
    assert re.match(r"Claude Desktop\nAs is · [\d.]+k? ≈ to save", names[0])
    assert names[1].startswith("Cursor\n")
    assert not any(name.endswith("\nNot found") for name in names), "the others are folded"


def test_hosts_that_are_not_on_this_computer_are_folded_until_asked_for(page, qtbot):
    here, fold = page.model.rowCount(), page.side.fold
    assert here == 3 and fold.text() == f"Show {page.model.missing} other hosts"
    page.choose("claude-desktop")
    fold.click()
    assert page.model.rowCount() == here + page.model.missing
    last = page.model.index(page.model.rowCount() - 1)
    assert last.data().endswith("\nNot found")
    assert page.side.list.currentIndex().data().startswith("Claude Desktop"), "it stays chosen"
    fold.click()
    assert page.model.rowCount() == here and fold.text().startswith("Show")
    missing = page.model.rows[-1].host.id
    page.choose(missing)
    assert fold.isChecked() and page.side.list.currentIndex().row() >= here
    qtbot.waitUntil(lambda: page.services.tasks.idle, timeout=20_000)


def test_only_the_modes_a_host_allows_are_offered_and_one_is_recommended(page, qtbot):
    page.choose("claude-desktop")
    shown = [radio.text() for radio in page.detail.radios.values() if not radio.isHidden()]
    assert shown == ["As is", "Pruned (recommended)", "Through Toolcrib"]
    assert "the gateway hides 1 tool." in page.detail.notes.text()


def test_the_diff_is_what_gets_written_with_secrets_masked(page, qtbot, home):
    open_host(page, qtbot, "claude-desktop", "pruned")
    before = (home / CLAUDE).read_bytes()
    after = page.detail.diff.after.toPlainText()
    assert "→" in page.detail.headline.text()
    assert page.detail.diff.before.toPlainText() + "\n" == before.decode().replace(SECRET, "••••")
    write(page, qtbot)
    written = (home / CLAUDE).read_text()
    assert written.replace(SECRET, "••••") == after + "\n"
    assert '"globalShortcut": "Alt+Space"' in written
    assert page.messages.text.startswith("Written. Quit Claude Desktop")
    qtbot.waitUntil(lambda: state(page, "claude-desktop") == "Pruned · in sync")


def test_no_widget_ever_holds_a_secret(page, qtbot):
    for mode in ("pruned", "through", "as-is"):
        open_host(page, qtbot, "claude-desktop", mode)
        for widget in page.findChildren(QWidget):
            for name in ("text", "toPlainText", "toolTip", "accessibleName"):
                said = getattr(widget, name, "")
                said = said() if callable(said) else said
                assert SECRET not in str(said)
    page.detail.copy.click()
    assert SECRET not in QApplication.clipboard().text()


def test_undo_restores_the_file_byte_for_byte_and_redo_shows_the_preview(page, qtbot, home):
    stack = page.services.undo
    before = (home / CLAUDE).read_bytes()
    open_host(page, qtbot, "claude-desktop", "through")
    write(page, qtbot)
    written = (home / CLAUDE).read_bytes()
    assert stack.undoText() == "Write config of Claude Desktop"
    stack.undo()
    qtbot.waitUntil(lambda: (home / CLAUDE).read_bytes() == before)
    qtbot.waitUntil(lambda: page.services.tasks.idle)
    open_host(page, qtbot, "cursor", "as-is")
    stack.redo()
    qtbot.waitUntil(lambda: page.preview is not None and bool(page.preview.files))
    assert page.preview.plan.host.id == "claude-desktop"
    assert page.detail.mode == "through" and page.detail.write.isEnabled()
    qtbot.waitUntil(lambda: page.services.tasks.idle)
    assert (home / CLAUDE).read_bytes() == before  # nothing is written without a look
    assert stack.canRedo() and not stack.canUndo()
    write(page, qtbot)
    assert (home / CLAUDE).read_bytes() == written
    assert stack.canUndo() and not stack.canRedo()


def test_an_undo_that_is_refused_leaves_the_step_done(page, qtbot, home):
    stack = page.services.undo
    open_host(page, qtbot, "claude-desktop", "through")
    write(page, qtbot)
    theirs = json.loads((home / CLAUDE).read_text())
    theirs["mcpServers"]["toolcrib"]["command"] = "changed-outside"
    put(home / CLAUDE, theirs)
    stack.undo()
    qtbot.waitUntil(lambda: "changed since Toolcrib wrote it" in page.messages.text)
    assert json.loads((home / CLAUDE).read_text()) == theirs
    assert stack.undoText() == "Write config of Claude Desktop" and not stack.canRedo()
    qtbot.waitUntil(lambda: page.services.tasks.idle)


def test_the_undo_of_a_write_keeps_what_was_added_to_the_file_since(page, qtbot, home):
    before = json.loads((home / CLAUDE).read_text())
    open_host(page, qtbot, "claude-desktop", "through")
    write(page, qtbot)
    put(home / CLAUDE, json.loads((home / CLAUDE).read_text()) | {"added": "since"})
    page.services.undo.undo()
    qtbot.waitUntil(lambda: "github" in (home / CLAUDE).read_text())
    qtbot.waitUntil(lambda: page.services.tasks.idle)
    assert json.loads((home / CLAUDE).read_text()) == before | {"added": "since"}


def test_the_undo_of_the_message_takes_back_the_write_and_nothing_else(page, qtbot, home):
    before = (home / CLAUDE).read_bytes()
    open_host(page, qtbot, "claude-desktop", "through")
    write(page, qtbot)
    live = page.services.live
    row = live.catalog.find("time/time_1")
    page.services.undo.push(Tick(live, [row], False))
    undo = next(b for b in page.messages.findChildren(QPushButton) if b.text() == "Undo")
    undo.click()
    qtbot.waitUntil(lambda: (home / CLAUDE).read_bytes() == before)
    assert not live.catalog.find("time/time_1").on


def test_a_file_changed_after_the_preview_is_not_written_until_it_is_looked_at(page, qtbot, home):
    open_host(page, qtbot, "claude-desktop", "pruned")
    page.watch.follow([])  # the test is about the check at the moment of writing
    put(home / CLAUDE, {"mcpServers": {"github": GITHUB}, "added": 1})
    theirs = (home / CLAUDE).read_bytes()
    write(page, qtbot)
    assert (home / CLAUDE).read_bytes() == theirs
    assert page.messages.text.startswith("Not written: ")
    assert "was changed meanwhile" in page.messages.text
    page._refresh_preview()
    qtbot.waitUntil(lambda: '"added": 1' in page.detail.diff.after.toPlainText())
    write(page, qtbot)
    assert b"toolcrib-gateway" in (home / CLAUDE).read_bytes()


def test_a_watched_file_that_moves_on_is_told_before_writing(page, qtbot, home):
    open_host(page, qtbot, "claude-desktop", "pruned")
    put(home / CLAUDE, {"mcpServers": {"github": GITHUB}, "added": 1})
    qtbot.waitUntil(lambda: "changed since this preview" in page.messages.text)


def test_other_keys_of_the_file_change_and_both_places_say_in_sync(page, qtbot, home):
    open_host(page, qtbot, "claude-desktop", "through")
    write(page, qtbot)
    qtbot.waitUntil(lambda: state(page, "claude-desktop") == "Through Toolcrib · in sync")
    tree = json.loads((home / CLAUDE).read_text())
    put(home / CLAUDE, tree | {"theme": "dark"})
    page.desk.survey()
    qtbot.waitUntil(lambda: page.services.tasks.idle and _seen(page, home), timeout=20_000)
    assert state(page, "claude-desktop") == "Through Toolcrib · in sync"
    assert page.detail.state.isHidden()
    page.refresh()
    qtbot.waitUntil(lambda: page.services.tasks.idle, timeout=20_000)
    assert page.detail.nothing.text().startswith("In sync: ")


def test_a_server_added_outside_is_named_in_both_places(page, qtbot, home):
    open_host(page, qtbot, "claude-desktop", "through")
    write(page, qtbot)
    qtbot.waitUntil(lambda: state(page, "claude-desktop") == "Through Toolcrib · in sync")
    tree = json.loads((home / CLAUDE).read_text())
    tree["mcpServers"]["mine"] = {"command": "unheard-of"}
    put(home / CLAUDE, tree)
    page.desk.survey()
    outside = "Changed outside Toolcrib"
    qtbot.waitUntil(lambda: state(page, "claude-desktop") == outside, timeout=20_000)
    page.refresh()
    qtbot.waitUntil(lambda: page.services.tasks.idle, timeout=20_000)
    shown = page.detail.nothing.text() if not page.preview.files else outside
    assert shown.startswith(outside)


def _seen(page, home):
    """Whether the page's look at the hosts is of the file as it is now."""
    (reading,) = page.model.find("claude-desktop").readings
    return reading.bytes_hash == hash_bytes((home / CLAUDE).read_bytes())


def test_a_host_that_drops_our_entry_is_reported_and_left_alone(page, qtbot, home):
    open_host(page, qtbot, "claude-desktop", "through")
    write(page, qtbot)
    qtbot.waitUntil(lambda: state(page, "claude-desktop") == "Through Toolcrib · in sync")
    put(home / CLAUDE, {"mcpServers": {}})
    qtbot.waitUntil(lambda: "removed Toolcrib's entry" in page.messages.text)
    assert state(page, "claude-desktop") == "Changed outside Toolcrib"
    assert json.loads((home / CLAUDE).read_text()) == {"mcpServers": {}}


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ('{"mcpServers": {"a": {"command": "x"}, "a": {"command": "y"}}}', "a"),
        ('{"mcpServers": {', ""),
    ],
)
def test_a_file_that_cannot_be_edited_says_why_and_nothing_can_be_written(
    home, services, qtbot, text, why
):
    put(home / CLAUDE, text)
    stock(services)
    page = HostsPage(services)
    qtbot.addWidget(page)
    services.live.load()
    page.show()
    qtbot.waitUntil(lambda: page.preview is not None)
    page.choose("claude-desktop")
    open_host(page, qtbot, "claude-desktop", "through")
    refusal = page.preview.plan.refusal
    labels = [label.text() for label in page.detail.findChildren(QLabel)]
    assert sum(refusal in label for label in labels) == 1  # no sentence twice
    shown = " ".join([*labels, page.messages.text])
    assert "line" in shown or "not" in shown.lower()
    assert why in shown
    assert not page.detail.write.isEnabled()
    page.primary()
    assert (home / CLAUDE).read_text() == text


def test_a_read_only_file_is_refused_in_words(page, qtbot, home):
    import os

    if os.geteuid() == 0:
        pytest.skip("root may write read-only files")
    open_host(page, qtbot, "claude-desktop", "pruned")
    (home / CLAUDE).chmod(0o444)
    write(page, qtbot)
    assert "read-only" in page.messages.text


def test_backups_show_a_difference_before_they_are_restored(page, qtbot, home):
    before = (home / CLAUDE).read_bytes()
    open_host(page, qtbot, "claude-desktop", "through")
    write(page, qtbot)
    qtbot.waitUntil(lambda: page.detail.backups.text() == "Backups (1)")
    page.detail.backups.click()
    assert not page.sheet.restore.isEnabled()
    qtbot.waitUntil(page.sheet.restore.isEnabled)
    assert "toolcrib" in page.sheet.diff.before.toPlainText()
    assert "server-github" in page.sheet.diff.after.toPlainText()
    page.sheet.restore.click()
    qtbot.waitUntil(lambda: (home / CLAUDE).read_bytes() == before)
    qtbot.waitUntil(lambda: page.messages.text.startswith("Restored "))


def test_the_way_out_puts_every_file_back_after_asking(page, qtbot, home):
    before = {name: (home / name).read_bytes() for name in (CLAUDE, CODEX)}
    assert page.side.way_out.isHidden()
    for host, mode in (("claude-desktop", "through"), ("codex", "native")):
        open_host(page, qtbot, host, mode)
        write(page, qtbot)
    qtbot.waitUntil(lambda: not page.side.way_out.isHidden())
    answer_dialog("Restore")
    page.side.way_out.click()
    qtbot.waitUntil(lambda: page.messages.text == "Restored 2 files.", timeout=20_000)
    assert before == {name: (home / name).read_bytes() for name in (CLAUDE, CODEX)}
    qtbot.waitUntil(lambda: page.side.way_out.isHidden())
    for _ in range(2):  # nothing is left to undo, which is no error
        page.services.undo.undo()
    qtbot.waitUntil(lambda: page.services.tasks.idle)
    assert page.messages.text == "Restored 2 files."
    assert before == {name: (home / name).read_bytes() for name in (CLAUDE, CODEX)}


def test_the_way_out_names_later_edits_of_projects_files_too(page, qtbot, places, services):
    project = places.home / "shop"
    put(project / CURSOR, {"mcpServers": {"db": {"command": "db"}}})
    db = services.ctx.open_store()
    world = HostWorld.over(places, services.ctx, db)
    world.learn(places=replace(places, project=project))
    world.off("db/alpha_get")
    world.export("cursor", "pruned", project=project)
    db.close()
    text = (project / CURSOR).read_text(encoding="utf-8")
    written = text.replace("mcpServers", "mine", 1).replace("{", '{"colour": "red",', 1)
    (project / CURSOR).write_text(written, encoding="utf-8")
    questions = answer_dialog("Cancel")
    page.restore_all()
    qtbot.waitUntil(lambda: len(questions) == 1, timeout=20_000)
    assert "Put the files of 1 host back?" in questions[0]
    assert f"Dropped by this: {project / CURSOR} changed since Toolcrib wrote it." in questions[0]
    assert "colour" in questions[0] and "red" not in questions[0]
    assert (project / CURSOR).read_text(encoding="utf-8") == written


def answer_dialog(word):
    """Press a button of the dialog that opens next; its default must be the safe one.

    The texts of the dialog, once it was there.
    """
    texts = []

    def press():
        box = QApplication.activeModalWidget()
        if box is None:
            QTimer.singleShot(20, press)
            return
        assert box.defaultButton().text().replace("&", "") == "Cancel"
        texts.append(f"{box.text()}\n{box.informativeText()}")
        next(b for b in box.buttons() if b.text().replace("&", "") == word).click()

    QTimer.singleShot(0, press)
    return texts


def test_over_budget_with_the_policy_to_refuse_disables_the_button_in_words(page, qtbot):
    live = page.services.live
    budget = replace(live.catalog.settings.budget, tokens=1, on_block="refuse")
    live.change_settings({"budget": budget})
    open_host(page, qtbot, "claude-desktop", "pruned")
    qtbot.waitUntil(
        lambda: page.detail.hint.text().startswith("Not written, as the profile refuses it: ")
    )
    assert not page.detail.write.isEnabled()


def test_a_tick_makes_a_natively_pruned_host_wait_for_export(page, qtbot, home):
    open_host(page, qtbot, "codex", "native")
    assert "Also read by Warp." in page.detail.notes.text()
    write(page, qtbot)
    qtbot.waitUntil(lambda: state(page, "codex") == "Native · in sync")
    assert 'enabled_tools = ["github_0", "github_1"]' in (home / CODEX).read_text()
    badges = []
    page.badge.connect(lambda text, tone: badges.append(text))
    live = page.services.live
    live.set_on([live.catalog.find("github/github_1").tool.id], False)
    qtbot.waitUntil(lambda: state(page, "codex") == "1 change to export")
    assert badges[-1] == "1"
    qtbot.waitUntil(lambda: 'enabled_tools = ["github_0"]' in page.detail.diff.after.toPlainText())


def test_late_answers_are_dropped(page, qtbot):
    seen = []
    page.desk.previewed.connect(lambda preview: seen.append(preview.plan.mode))
    for mode in ("as-is", "pruned", "through"):
        page.desk.preview("cursor", mode)
    qtbot.waitUntil(lambda: page.services.tasks.idle)
    assert seen == ["through"]


def test_every_widget_that_takes_the_focus_has_a_name(page, qtbot):
    open_host(page, qtbot, "claude-desktop", "pruned")
    nameless = [
        type(w).__name__
        for w in page.findChildren(QWidget)
        if w.isVisible()
        and w.focusPolicy() & Qt.FocusPolicy.TabFocus
        and not (w.accessibleName() or getattr(w, "text", str)())
    ]
    assert nameless == []


def test_the_export_button_counts_changes_that_hosts_do_not_have(page, qtbot):
    services = page.services
    watch, told, waiting = ExportState(services), [], []
    watch.described.connect(lambda *said: told.append(said))
    watch.waiting.connect(lambda text, _tone: waiting.append(text))
    for host, mode in (("claude-desktop", "pruned"), ("cursor", "pruned"), ("codex", "native")):
        open_host(page, qtbot, host, mode)
        page.messages.clear()
        write(page, qtbot)
    qtbot.waitUntil(lambda: bool(told) and not told[-1][2], timeout=10_000)
    assert told[-1][:2] == ("Export to hosts…", "All hosts are in sync")
    services.live.set_on([t.tool.id for t in services.live.catalog.tools][:1], False)
    qtbot.waitUntil(lambda: told[-1][2], timeout=10_000)
    assert told[-1][:2] == ("Export 1 change…", "Not written yet: Codex (Ctrl+E)")
    assert waiting[-1] == "1"


def write_work(page, services, qtbot):
    """Cursor gets a new profile, work."""
    services.tasks.change(lambda db: create(db, "work", copy_of="default"))
    services.live.show_profile("work")
    qtbot.waitUntil(lambda: services.tasks.idle and services.live.profile == "work")
    open_host(page, qtbot, "cursor", "through")
    write(page, qtbot)


def test_a_host_of_another_profile_says_so(page, services, qtbot, home):
    write_work(page, services, qtbot)
    services.live.show_profile("default")
    note = "It gets the profile work. Writing gives it default."
    qtbot.waitUntil(lambda: page.detail.notes.text().startswith(note))
    assert state(page, "cursor").endswith("in sync · work")
    assert '"--profile",\n        "work"' in (home / CURSOR).read_text(encoding="utf-8")


def test_a_write_to_be_done_again_says_which_profile_it_would_give(page, services, qtbot, home):
    write_work(page, services, qtbot)
    before = (home / CURSOR).read_bytes()
    services.undo.undo()
    qtbot.waitUntil(lambda: (home / CURSOR).read_bytes() != before)
    theirs = (home / CURSOR).read_bytes()
    services.live.show_profile("default")
    qtbot.waitUntil(lambda: services.tasks.idle)
    services.undo.redo()
    qtbot.waitUntil(lambda: page.preview is not None and bool(page.preview.files))
    qtbot.waitUntil(lambda: services.tasks.idle)
    assert page.preview.plan.profile == "default"
    assert (home / CURSOR).read_bytes() == theirs


def test_lines_wrap_until_the_box_says_otherwise_and_the_page_keeps_it(page, services, tmp_path):
    from PySide6.QtCore import QSettings

    settings = QSettings(str(tmp_path / "kept.ini"), QSettings.Format.IniFormat)
    assert page.detail.diff.wraps
    page.detail.wrap.setChecked(False)
    assert not page.detail.diff.wraps
    page.save(settings, "hosts")
    page.detail.wrap.setChecked(True)
    page.restore(settings, "hosts")
    assert not page.detail.diff.wraps


def test_pruned_with_nothing_off_says_that_entries_stay(page, qtbot):
    live = page.services.live
    live.set_on([row.tool.id for row in live.catalog.tools], True)
    open_host(page, qtbot, "claude-desktop", "pruned")
    assert page.detail.nothing.text() == (
        "All tools of its servers are on, so their entries stay as they are."
    )
    assert page.detail.nothing.isVisible() and not page.detail.write.isEnabled()


def test_a_host_that_is_not_here_says_so_once_and_wraps_no_lines(page, qtbot):
    open_host(page, qtbot, "cursor", "through")
    assert page.detail.wrap.isVisible()
    open_host(page, qtbot, "kiro", "as-is")
    texts = (page.detail.path, page.detail.nothing, page.detail.notes)
    assert sum("found" in label.text().lower() for label in texts) == 1
    assert page.detail.wrap.isHidden(), "there is no difference to wrap"


def test_at_200_per_cent_no_words_are_cut_and_the_page_scrolls(page, theme, qtbot):
    detail = page.detail
    page.resize(1300, 500)
    try:
        theme.set_zoom(200)
        for host in ("claude-desktop", "codex"):
            open_host(page, qtbot, host, "pruned")
            for label in (detail.notes, detail.hint, detail.hook.words, detail.rules.words):
                if label.isVisible():
                    least = label.heightForWidth(label.width())
                    qtbot.waitUntil(lambda w=label, h=least: w.height() >= h, timeout=20_000)
            assert detail.diff.height() >= theme.scaled(90)
            bar = detail.area.verticalScrollBar()
            qtbot.waitUntil(lambda bar=bar: bar.maximum() > 0, timeout=20_000)
            bar.setValue(bar.maximum())
            assert not detail.hook.visibleRegion().isEmpty()
    finally:
        theme.set_zoom(100)


def test_at_200_per_cent_four_modes_need_no_scrolling_sideways(page, theme, qtbot):
    detail = page.detail
    page.resize(1212, 600)  # of a window of 1280
    try:
        theme.set_zoom(200)
        open_host(page, qtbot, "codex", "through")
        assert not any(radio.isHidden() for radio in detail.radios.values())
        qtbot.waitUntil(lambda: detail.area.horizontalScrollBar().maximum() == 0, timeout=20_000)
        for choice in (*detail.radios.values(), detail.wrap, detail.tools, detail.write):
            assert choice.width() >= choice.sizeHint().width()
        tops = {radio.y() for radio in detail.radios.values()}
        assert len(tops) == 2, "the modes go on in a second row"
        assert detail.hint.height() <= detail.hint.fontMetrics().height() * 2
    finally:
        theme.set_zoom(100)


@pytest.mark.parametrize("zoom", [100, 150, 200])
def test_the_list_is_as_wide_as_its_longest_host_at_any_text_size(page, theme, qtbot, zoom):
    page.resize(1300, 600)
    try:
        theme.set_zoom(zoom)
        view = page.list
        words = QFontMetrics(theme.font(0, QFont.Weight.Medium)).horizontalAdvance
        longest = max(words(row.host.name) for row in page.model.rows)
        beside = theme.scaled(20) + 28  # its icon, and what stands around it
        qtbot.waitUntil(lambda: view.viewport().width() >= beside + longest, timeout=20_000)
    finally:
        theme.set_zoom(100)
