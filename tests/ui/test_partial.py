"""Nothing is offered before it is known: files not looked at, tokens not counted."""

from dataclasses import replace

from hosts_kit import CLAUDE, open_page, put, put_files, stock

from store.connection import transaction
from ui.pages.hosts.page import HostsPage
from ui.shell.host_in_view import COUNTING
from ui.shell.host_state import could_save, state_text

WAIT = 20_000


def test_before_the_first_look_nothing_can_be_written(services, places, qtbot):
    put_files(places)
    stock(services)
    page = HostsPage(services)
    qtbot.addWidget(page)
    page.show()
    detail = page.detail
    assert detail.name.text() == "Looking at the files of your hosts…"
    for widget in (detail.write, detail.copy, detail.tools, detail.modes, detail.hook):
        assert not widget.isVisible()
    page.primary()
    assert not page.messages.text
    services.live.load()
    qtbot.waitUntil(lambda: page.preview is not None, timeout=WAIT)
    assert detail.write.isVisible() and detail.modes.isVisible()
    assert detail.name.text() == "Claude Desktop"
    qtbot.waitUntil(lambda: services.tasks.idle, timeout=WAIT)


def test_a_part_of_the_tokens_is_no_ground_for_a_verdict(ctx, places, services, open_window, qtbot):
    put_files(places)
    stock(services)
    db = ctx.open_store()
    with transaction(db):
        db.execute(
            "DELETE FROM token_counts WHERE tool_id = (SELECT max(tool_id) FROM token_counts)"
        )
    db.close()
    window = open_window()
    qtbot.waitUntil(lambda: bool(window.services.hosts.sizes) and window.tasks.idle, timeout=WAIT)
    strip = window.strip
    assert strip.total.text().endswith("so far") and strip.badge.isHidden()
    assert "PASS" not in strip.accessibleName()
    reading = window.catalog.reading
    reading.after_read = True
    window.live.load()
    qtbot.waitUntil(lambda: reading.sum.text().endswith("together so far"), timeout=WAIT)
    window.open_page("budget")
    moves = window.page.moves
    qtbot.waitUntil(lambda: moves.headline.text() == COUNTING, timeout=WAIT)
    assert "follows by itself" in moves.evidence.text()
    page = window.hosts_page
    qtbot.waitUntil(lambda: page.preview is not None and window.tasks.idle, timeout=WAIT)
    assert page.detail.headline.text().endswith("counted so far")
    with ctx.store() as db:
        db.execute("DELETE FROM token_counts")
    window.live.load()
    qtbot.waitUntil(lambda: reading.sum.text() == COUNTING, timeout=WAIT)


def test_a_host_whose_file_was_emptied_gets_no_tool_and_could_save_none(services, places, qtbot):
    """As a strip with 0 tokens and PASS beside a list that says "to save"."""
    put_files(places)
    stock(services)
    put(places.home / CLAUDE, {"mcpServers": {}})
    page = HostsPage(services)
    qtbot.addWidget(page)
    services.live.load()
    page.show()
    qtbot.waitUntil(lambda: page.preview is not None, timeout=WAIT)
    emptied, cursor = page.model.find("claude-desktop"), page.model.find("cursor")
    assert could_save(cursor) and not could_save(emptied)
    assert state_text(emptied) == "As is · in sync"
    page.choose("claude-desktop")
    qtbot.waitUntil(lambda: services.tasks.idle, timeout=WAIT)
    assert "The files of Claude Desktop give its model no tool now." in page.detail.notes.text()


def test_a_headline_of_many_times_the_tokens_says_no_per_cent(services, places, qtbot):
    put_files(places)
    stock(services)
    page = open_page(services, qtbot)
    shown = page.preview

    def headline(before, after):
        plan = replace(shown.plan, tokens_before=before, tokens_after=after)
        return replace(shown, plan=plan).headline

    assert headline(200, 29_519) == "200 → 29,519 tokens ≈ (148 times)"
    assert headline(200, 2_000) == "200 → 2,000 tokens ≈ (+900 %)"
