"""The strip follows the page's host, and what a write saved is shown as a saving."""

import json

import pytest
from hosts_kit import CURSOR, open_host, put_files, stock, write

from app.catalog.catalog import change_settings
from app.policy.budget import BLOCK, WARN, Budget, verdict


@pytest.fixture
def window(ctx, places, open_window, qtbot, services):
    put_files(places)
    stock(services)
    window = open_window()
    qtbot.waitUntil(lambda: bool(window.services.hosts.sizes))
    return window


@pytest.fixture
def page(window, qtbot):
    window.open_page("hosts")
    page = window.pages["hosts"]
    qtbot.waitUntil(lambda: page.preview is not None and page.services.tasks.idle)
    return page


def test_the_strip_follows_the_host_whose_page_is_read(window, page, qtbot):
    assert window.services.hosts.size.facts.id == page.preview.plan.host.id
    for host_id, name in (("codex", "Codex"), ("cursor", "Cursor")):
        page.choose(host_id)
        assert window.strip.host.text().startswith(name)
        qtbot.waitUntil(lambda: page.services.tasks.idle)
        number = page.detail.headline.text().partition(" → ")[0]
        assert window.strip.total.text().startswith(f"{number} tokens")
    window.open_page("catalog")
    assert window.strip.host.text() == "Cursor", "which is the worst off"


def test_a_host_without_servers_is_followed_too(window, page, places, qtbot):
    (places.home / CURSOR).write_text(json.dumps({"mcpServers": {}}))
    page.choose("cursor")
    page.desk.survey()
    qtbot.waitUntil(lambda: window.strip.total.text().startswith("0 tokens"))
    assert window.strip.host.text() == "Cursor"


def test_a_saving_is_shown_as_one_and_goes_with_its_undo(window, page, qtbot):
    open_host(page, qtbot, "cursor", "pruned")
    before, after = page.preview.plan.tokens_before, page.preview.plan.tokens_after
    assert before > after
    write(page, qtbot)
    saved = f"· {before - after:,} ≈ saved"
    qtbot.waitUntil(lambda: saved in window.strip.on.text())
    assert window.strip.host.text() == "Cursor"
    window.open_page("catalog")
    assert window.strip.host.text() == "Cursor" and saved in window.strip.on.text()
    window.services.undo.undo()
    qtbot.waitUntil(lambda: "saved" not in window.strip.on.text())
    assert window.strip.total.text() == f"{before:,} tokens ≈"


def test_what_another_program_made_of_the_file_is_no_saving(window, page, places, qtbot):
    open_host(page, qtbot, "cursor", "pruned")
    write(page, qtbot)
    qtbot.waitUntil(lambda: "saved" in window.strip.on.text())
    (places.home / CURSOR).write_text('{"mcpServers": {"foreign": {"command": "/bin/cat"}}}')
    page.desk.survey()
    qtbot.waitUntil(lambda: window.strip.total.text().startswith("0 tokens"))
    assert window.strip.on.text() == "0 tools, as is · 1 server not read"


def test_the_next_step_in_the_catalogue_does_not_outlive_the_write(window, qtbot, ctx):
    db = ctx.open_store()
    db.execute("UPDATE servers SET read_at = 1")
    db.close()
    window.live.load()
    qtbot.waitUntil(lambda: any(server.read_at for server in window.live.catalog.servers))
    window.catalog.show_first_steps()
    before = window.services.hosts.size
    assert f"{before.verdict.tokens:,} tokens" in window.catalog.messages.text
    window.live.set_on([row.tool.id for row in window.live.catalog.tools[:1]], False)
    window.open_page("hosts")
    page = window.pages["hosts"]
    qtbot.waitUntil(lambda: page.preview is not None)
    open_host(page, qtbot, before.facts.id, "through")
    write(page, qtbot)
    qtbot.waitUntil(lambda: window.catalog.messages.text == "")


def test_a_warning_about_the_number_of_tools_says_so(window, qtbot):
    judged = verdict(100, 42, Budget(max_tools=40))
    assert (judged.word, judged.why_tools) == (BLOCK, "42 tools are 2 over the cap of 40.")
    assert verdict(100, 39, Budget(max_tools=40)).word == WARN
    assert verdict(100, 3, Budget(max_tools=40)).why_tools == ""
    assert verdict(99_000, 39, Budget(max_tools=40)).why_tools == ""  # tokens make it BLOCK
    size = window.services.hosts.size
    db = window.services.ctx.open_store()
    change_settings(db, "default", {"budget.max_tools": size.sent.count})
    db.close()
    window.live.load()
    qtbot.waitUntil(lambda: "close to the cap of" in window.strip.on.text())
