"""The number that is always in view: one host's, the worst by default, the same everywhere."""

import hashlib
import json
from dataclasses import replace

import pytest
from PySide6.QtWidgets import QFileDialog

from app.catalog.catalog import save_settings
from app.export.model_tools import model_tools
from app.host_status.overview import prepare, survey
from app.hosts.reading import read_hosts
from app.registry.register import register
from app.tokens.counters import counter
from app.tokens.footprint import count_tool
from store import profiles, servers, tools
from store.connection import transaction
from store.records import AS_IS, PRUNED, THROUGH, NewTool
from ui.shell.host_in_view import EVERY, WORST
from ui.widgets.roles import BADGE

BIG = {"command": "npx", "args": ["-y", "big"]}
SMALL = {"command": "uvx", "args": ["small"]}
CLAUDE, CURSOR = ".config/Claude/claude_desktop_config.json", ".cursor/mcp.json"


@pytest.fixture
def window(ctx, places, open_window, qtbot):
    """Claude Desktop has one server, Cursor another; the smaller host is not the worst."""
    put(places.home / CLAUDE, {"mcpServers": {"big": BIG}})
    put(places.home / CURSOR, {"mcpServers": {"small": SMALL}})
    db = ctx.open_store()
    register(ctx, db, read_hosts(places))
    count = counter("o200k_base")
    with transaction(db):
        for server, number in (("big", 30), ("small", 5)):
            record = servers.by_name(db, server)
            tools.save_list(db, record.id, [tool(server, n) for n in range(number)], at=1.0)
            servers.set_trusted(db, record.id, True)
        tools.save_token_counts(db, [count_tool(count, one) for one in tools.tools(db)])
    db.close()
    window = open_window()
    qtbot.waitUntil(lambda: bool(window.services.hosts.sizes))
    return window


def put(path, value):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value, indent=2) + "\n", encoding="utf-8")


def tool(server, number):
    raw = {
        "name": f"{server}_{number}",
        "description": f"Tool {number} of {server}, which does what it says on {server}. " * 4,
        "inputSchema": {"type": "object", "properties": {"path": {"type": "string"}}},
    }
    return NewTool(raw["name"], raw, hashlib.sha256(repr(raw).encode()).hexdigest())


def of_host(window, host_id):
    return next(s for s in window.services.hosts.sizes if s.facts.id == host_id)


def test_the_strip_shows_the_worst_host_and_not_a_sum(window):
    big, small = of_host(window, "claude-desktop"), of_host(window, "cursor")
    assert big.verdict.tokens > small.verdict.tokens > 0
    assert window.services.hosts.size == big
    assert window.strip.host.text() == "Claude Desktop"
    assert window.strip.total.text() == f"{big.verdict.tokens:,} tokens ≈"
    assert window.strip.on.text() == "30 tools, as is"


def test_the_sidebar_keeps_the_verdict_while_another_hosts_page_is_read(window, qtbot):
    settings = window.live.catalog.settings
    limit = of_host(window, "claude-desktop").verdict.tokens - 1
    wanted = replace(settings, budget=replace(settings.budget, tokens=limit))
    window.tasks.change(lambda db: save_settings(db, "default", wanted))
    budget = window.nav.model().index(2, 0)
    qtbot.waitUntil(lambda: budget.data(BADGE) is not None and budget.data(BADGE).word == "BLOCK")
    window.services.hosts.read("cursor")
    assert window.strip.badge.badge.word == "PASS"
    assert budget.data(BADGE).word == "BLOCK", "as the Budget page will have it"


def test_another_host_can_be_kept_in_view_and_the_sum_says_that_it_is_one(window):
    hosts, strip = window.services.hosts, window.strip
    hosts.choose("cursor")
    assert strip.host.text().startswith("Cursor")
    assert strip.total.text() == f"{of_host(window, 'cursor').verdict.tokens:,} tokens ≈"
    hosts.choose(EVERY)
    assert strip.host.text() == "All servers"
    assert strip.total.text() == f"{window.live.total:,} tokens ≈"
    assert "No single model gets" in strip.host.toolTip()
    hosts.choose(WORST)
    assert strip.host.text() == "Claude Desktop"


def test_the_number_follows_every_export(window, ctx, qtbot):
    page = open_hosts(window, qtbot)
    page.detail.radios[THROUGH].click()
    qtbot.waitUntil(lambda: page.preview is not None and page.preview.plan.mode == THROUGH)
    qtbot.waitUntil(lambda: page.detail.write.isEnabled())
    promised = page.preview.plan.tokens_after
    page.detail.write.click()
    qtbot.waitUntil(lambda: of_host(window, "claude-desktop").mode == THROUGH)
    assert of_host(window, "claude-desktop").verdict.tokens == promised
    window.services.hosts.choose("claude-desktop")
    assert window.strip.total.text() == f"{promised:,} tokens ≈"
    assert (
        "through Toolcrib" in window.strip.on.text() or "through toolcrib" in window.strip.on.text()
    )


def test_hosts_budget_strip_and_plans_agree_for_every_host_and_mode(window, ctx, places, qtbot):
    db, catalog = ctx.open_store(), window.live.catalog
    with transaction(db):
        default = profiles.by_name(db, "default").id
        profiles.set_on(db, default, [t.tool.id for t in catalog.tools[:4]], False)
    window.live.load()
    qtbot.waitUntil(lambda: sum(t.on for t in window.live.catalog.tools) == 31)
    catalog = window.live.catalog
    for status in survey(db, places, catalog):
        if status.host.id not in ("claude-desktop", "cursor"):
            continue
        for mode in (AS_IS, PRUNED, THROUGH):
            made = prepare(db, places, catalog, host_id=status.host.id, mode=mode)
            sent = model_tools(status.host, mode, catalog)
            assert (made.tokens_after, made.tools_after) == (sent.tokens, sent.count)
            assert made.tokens_before == of_host(window, status.host.id).verdict.tokens
    db.close()


def open_hosts(window, qtbot):
    window.open_page("hosts")
    page = window.pages["hosts"]
    qtbot.waitUntil(lambda: page.preview is not None)
    page.choose("claude-desktop")
    qtbot.waitUntil(lambda: page.preview.plan.host.id == "claude-desktop")
    return page


def test_first_steps_name_the_host_in_view_and_not_a_sum(window, ctx, qtbot):
    db = ctx.open_store()
    with transaction(db):
        db.execute("UPDATE servers SET read_at = 1")
    db.close()
    window.live.load()
    qtbot.waitUntil(lambda: any(server.read_at for server in window.live.catalog.servers))
    action(window, "First steps").trigger()
    number = of_host(window, "claude-desktop").verdict.tokens
    assert window.catalog.messages.text.startswith(
        f"Tools are read. Claude Desktop's model gets {number:,} tokens ≈"
    )


def test_the_report_is_on_every_host_and_the_way_out_is_in_the_menu(window, places, qtbot):
    action(window, "Export report…").trigger()
    dialog = window.findChild(QFileDialog, "saveFile")
    dialog.fileSelected.emit(str(places.home / "all.json"))
    dialog.reject()
    report = json.loads((places.home / "all.json").read_text(encoding="utf-8"))
    assert {h["id"]: h["tokens"] for h in report["hosts"]} == {
        size.facts.id: size.sent.tokens for size in window.services.hosts.sizes
    }
    action(window, "Restore all hosts…").trigger()
    said = "No host's file holds a write of Toolcrib."
    qtbot.waitUntil(lambda: window.pages["hosts"].messages.text == said)


def action(window, text):
    return next(
        action
        for menu in window.menuBar().actions()
        for action in menu.menu().actions()
        if action.text().replace("&", "") == text
    )
