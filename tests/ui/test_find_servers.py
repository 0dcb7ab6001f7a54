"""Find servers: the list, its filters, what one would mean, fetching and stopping, adding."""

import os
import shutil
import sys
import threading
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtCore import Qt, QUrl
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QCheckBox, QComboBox, QLineEdit, QPlainTextEdit
from shiboken6 import isValid

from app.catalog.catalog import load_catalog
from app.core.context import AppContext
from app.core.paths import Paths
from app.core.settings import Settings
from app.market import sources
from app.market.details import details
from app.market.entry import read_entry
from app.market.launch import choices
from app.market.records import row_of
from app.market.seed import take_seed
from app.registry.register import targets
from app.registry.scan import ScanOptions, scan
from store import market, profiles, servers, teams, tools
from store.connection import transaction
from store.records import EntryRecord, NewTool, ServerSpec, TokenCount
from ui.pages.catalog.market.finder import FindServersDialog
from ui.pages.catalog.market.fitting import FitDialog
from ui.pages.catalog.market.input_form import InputForm
from ui.pages.catalog.market.update_dialog import UpdateDialog
from ui.pages.catalog.market.work import install

sys.path.insert(0, str(Path(__file__).parents[1] / "fakes"))

from fake_registry import entry, fake_registry
from npx_shim import Packages, tool

WAIT = 20_000


@pytest.fixture(scope="module")
def listed(tmp_path_factory):
    """A store with the shipped list, which takes half a second of CPU; pictures take it anew."""
    folder = tmp_path_factory.mktemp("listed")
    ctx = AppContext(Paths(folder, folder / "models"), Settings())
    ctx.paths.create()
    with closing(ctx.open_store()) as db:
        assert take_seed(db, ctx.clock)
    return ctx.paths.database


@pytest.fixture
def window(open_window, qtbot, ctx, listed):
    ctx.paths.create()
    shutil.copy(listed, ctx.paths.database)
    window = open_window()
    qtbot.waitUntil(lambda: window.catalog.state == "empty" and window.tasks.idle, timeout=WAIT)
    return window


@pytest.fixture
def dialog(window, qtbot, monkeypatch):
    """The dialog, which compares by words: preparing takes a minute of CPU."""
    monkeypatch.setattr("ui.pages.catalog.market.work.ready_model", lambda *_args: None)
    window.catalog.find_listed()
    dialog = window.findChild(FindServersDialog)
    qtbot.waitUntil(lambda: dialog.model.rowCount() > 0, timeout=WAIT)
    qtbot.waitUntil(lambda: window.tasks.idle, timeout=WAIT)
    yield dialog
    if isValid(dialog):
        dialog.reject()


def names(dialog):
    return [row.name for row in dialog.model.rows]


def type_in(dialog, qtbot, text):
    dialog.query.setText(text)
    qtbot.waitUntil(lambda: dialog._services.tasks.idle, timeout=WAIT)


def choose(dialog, qtbot, name):
    dialog.list.setCurrentIndex(dialog.model.index(names(dialog).index(name), 0))
    qtbot.waitUntil(lambda: dialog._services.tasks.idle, timeout=WAIT)


def sync_fake(window, items):
    with fake_registry(items) as server:
        db = window.services.ctx.open_store()
        try:
            source = sources.add(window.services.ctx, db, server.url, name="team", private=True)
            from app.market.sync import sync

            sync(window.services.ctx, db, source)
        finally:
            db.close()


def test_a_search_names_servers_by_what_their_tools_do(dialog, qtbot):
    type_in(dialog, qtbot, "read pdf")
    assert "npm/shtse8.pdf-reader-mcp" in " ".join(names(dialog))
    assert "words only" in dialog.state.text()
    type_in(dialog, qtbot, "")
    assert names(dialog) and not any(row.about.startswith("Tools:") for row in dialog.model.rows)


def test_details_say_tools_tokens_command_and_what_is_not_known(dialog, qtbot):
    type_in(dialog, qtbot, "sequential thinking step by step")
    choose(dialog, qtbot, "npm/modelcontextprotocol.server-sequential-thinking")
    facts = dialog.details.facts.text()
    assert "tokens when they were last counted" in facts and "PASS" in facts
    assert "its publisher was not checked" in facts
    assert "From: " not in facts  # once is enough
    assert "server-sequential-thinking@" in dialog.details.command.text()
    assert dialog.list.currentIndex().siblingAtColumn(4).data() == ""
    assert dialog.details.add.isEnabled()


def test_a_package_without_a_version_cannot_be_added_and_says_why(dialog, qtbot):
    type_in(dialog, qtbot, "train tickets 12306")
    choose(dialog, qtbot, "npm/12306-mcp")
    assert "pins no version" in dialog.details.reason.text()
    assert dialog.list.currentIndex().siblingAtColumn(4).data() == "listed only"
    assert not dialog.details.add.isEnabled()


def test_pages_of_an_entry_are_links_that_name_their_host(dialog, window, qtbot, monkeypatch):
    """An address with another's name before the @ leads to the host that is shown."""
    repository = {"url": "https://github.com@evil.example/them/linked"}
    linked = entry(1, title="linked", repository=repository, websiteUrl="file:///etc/passwd")
    plain = entry(2, title="plain")
    sync_fake(window, [linked, plain])
    type_in(dialog, qtbot, "linked")
    choose(dialog, qtbot, linked["server"]["name"])
    repository, website = dialog.details.repository, dialog.details.website
    assert repository.isVisible() and repository.text() == "Repository at evil.example"
    assert "https://github.com@evil.example/them/linked" in repository.toolTip()
    assert not website.isVisible()
    opened: list[QUrl] = []
    monkeypatch.setattr(QDesktopServices, "openUrl", lambda url: opened.append(url))
    repository.click()
    assert [url.host() for url in opened] == ["evil.example"]
    assert "No browser could be opened." in dialog.details.problem.text()
    type_in(dialog, qtbot, "plain")
    choose(dialog, qtbot, plain["server"]["name"])
    assert not repository.isVisible() and not dialog.details.problem.isVisible()


def test_nothing_that_fits_is_a_sentence(dialog, qtbot):
    type_in(dialog, qtbot, "qwxyzzy")
    assert names(dialog) == [] and "No listed server fits" in dialog.details.about.text()


def test_filters_leave_only_what_passes(dialog, qtbot):
    type_in(dialog, qtbot, "read files")
    everything = names(dialog)
    dialog.kind.setCurrentIndex(dialog.kind.findData("pypi"))
    qtbot.waitUntil(lambda: dialog._services.tasks.idle, timeout=WAIT)
    assert names(dialog) and all(name.startswith("pypi/") for name in names(dialog))
    dialog.kind.setCurrentIndex(0)
    dialog.most.setCurrentIndex(1)
    qtbot.waitUntil(lambda: dialog._services.tasks.idle, timeout=WAIT)
    rows = range(dialog.model.rowCount())
    tokens = [dialog.model.index(row, 3).data() for row in rows]
    assert tokens and all(0 < int(one.replace(",", "")) <= 1_000 for one in tokens)
    dialog.most.setCurrentIndex(0)
    dialog.licence.setChecked(True)
    dialog.no_secrets.setChecked(True)
    qtbot.waitUntil(lambda: dialog._services.tasks.idle, timeout=WAIT)
    assert names(dialog) and names(dialog) != everything
    dialog.recent.setChecked(True)
    qtbot.waitUntil(lambda: dialog._services.tasks.idle, timeout=WAIT)
    assert names(dialog) == []  # the shipped list tells no dates


def test_in_a_team_profile_an_editor_is_to_be_asked(dialog, window, qtbot):
    with closing(window.services.ctx.open_store()) as db, transaction(db):
        team = teams.join(db, "https://tools.example", "acme", "mia", "member", 1.0)
        made = profiles.create(db, "everyday@acme")
        teams.own(db, made.id, team.id, "everyday", 1)
    type_in(dialog, qtbot, "read pdf")
    choose(dialog, qtbot, names(dialog)[0])
    assert "acme" not in dialog.details.facts.text()
    window.live.show_profile("everyday@acme")
    qtbot.waitUntil(lambda: window.live.catalog.profile.name == "everyday@acme", timeout=WAIT)
    choose(dialog, qtbot, names(dialog)[1])
    assert (
        "Not installed in acme: ask an editor of the team to add it. Add installs it for your own"
        " profiles alone." in dialog.details.facts.text()
    )


def test_a_strangers_text_is_shown_as_it_is_written(dialog, window, qtbot):
    item = entry(1, title="<b>bold</b>", description="<img src=x> sky forecasts \u202eevil")
    sync_fake(window, [item])
    type_in(dialog, qtbot, "sky forecasts")
    choose(dialog, qtbot, "io.github.somebody/server-1")
    assert dialog.details.title.text().startswith("<b>bold</b>")
    assert "<img" in dialog.details.about.text()
    assert dialog.details.warning.isVisibleTo(dialog)


def test_a_port_to_fill_in_can_be_and_what_the_command_may_not_hold_is_said(dialog, window, qtbot):
    port = {"type": "named", "name": "--port", "valueHint": "port", "isRequired": True}
    items = [entry(number, description="sky forecasts") for number in (1, 2)]
    own = {"type": "streamable-http", "url": "http://localhost:{port}/mcp"}
    items[0]["server"]["packages"][0] |= {"transport": own, "packageArguments": [port]}
    items[1]["server"]["packages"][0]["runtimeArguments"] = [port]
    sync_fake(window, items)
    type_in(dialog, qtbot, "sky forecasts")
    choose(dialog, qtbot, "io.github.somebody/server-1")
    panel = dialog.details
    assert panel.add.isEnabled() and "http://localhost:<port>/mcp --" in panel.command.text()
    panel.add.click()
    assert panel.problem.text() == "port needs a value."
    choose(dialog, qtbot, "io.github.somebody/server-2")
    assert not panel.add.isEnabled() and "can run something else" in panel.reason.text()


def test_adding_asks_for_what_is_missing_then_goes_to_consent(dialog, window, qtbot):
    token = {"name": "SKY_TOKEN", "isRequired": True, "isSecret": True, "description": "A key"}
    item = entry(1, description="sky forecasts")
    item["server"]["packages"][0]["environmentVariables"] = [token]
    with fake_registry([item]) as server:
        ctx = window.services.ctx
        db = ctx.open_store()
        from app.market.sync import sync

        sync(ctx, db, sources.add(ctx, db, server.url, name="team", private=True))
        type_in(dialog, qtbot, "sky forecasts")
        choose(dialog, qtbot, "io.github.somebody/server-1")
        dialog.details.add.click()
        assert dialog.details.problem.text() == "SKY_TOKEN needs a value."
        assert servers.all_servers(db) == []
        editor = dialog.details.form.editors["SKY_TOKEN"]
        assert editor.echoMode() == QLineEdit.EchoMode.Password
        editor.setText("sk-neverShownAnywhere")
        dialog.details.add.click()
        qtbot.waitUntil(lambda: window.catalog.state == "reading", timeout=WAIT)
        qtbot.waitUntil(lambda: window.tasks.idle, timeout=WAIT)
        (record,) = servers.all_servers(db)
        assert record.name == "server-1" and record.spec.args == ("-y", "server-1@1.0.0")
        assert market.installs(db)[record.id].name == "io.github.somebody/server-1"
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        db.close()
        assert b"sk-neverShownAnywhere" not in ctx.paths.database.read_bytes()


def test_a_source_that_changed_its_entry_is_said_and_nothing_is_added(dialog, window, qtbot):
    with fake_registry([entry(1, description="sky forecasts")]) as server:
        ctx = window.services.ctx
        db = ctx.open_store()
        from app.market.sync import sync

        sync(ctx, db, sources.add(ctx, db, server.url, name="team", private=True))
        type_in(dialog, qtbot, "sky forecasts")
        choose(dialog, qtbot, "io.github.somebody/server-1")
        server.items[0]["server"]["description"] = "other"
        dialog.details.add.click()
        qtbot.waitUntil(lambda: bool(dialog.details.problem.text()), timeout=WAIT)
        assert "not what was shown any more" in dialog.details.problem.text()
        assert dialog.details.add.isEnabled() and servers.all_servers(db) == []
        db.close()


def test_fetching_can_be_stopped_and_an_error_is_a_sentence(dialog, window, qtbot, monkeypatch):
    monkeypatch.setattr("app.market.sources.OFFICIAL", "https://127.0.0.1:1")
    go = threading.Event()
    with fake_registry([entry(n) for n in range(300)]) as server:
        ctx = window.services.ctx
        db = ctx.open_store()
        monkeypatch.setattr(
            "app.market.sources.all_sources",
            lambda db: tuple(s for s in market.sources(db) if s.name == "team"),
        )
        sources.add(ctx, db, server.url, name="team", private=True)
        server.before_page = lambda number: go.wait(20) if number == 2 else None
        dialog.fetch.click()
        assert dialog.fetch.text() == "Stop"
        qtbot.waitUntil(lambda: "100 servers" in dialog.state.text(), timeout=WAIT)
        dialog.fetch.click()
        go.set()
        qtbot.waitUntil(lambda: dialog.fetch.text() == "Fetch lists", timeout=WAIT)
        qtbot.waitUntil(lambda: window.tasks.idle, timeout=WAIT)
        assert dialog.state.text() == "Stopped. The next fetch continues from here."
        server.mode = "fails"
        dialog.fetch.click()
        qtbot.waitUntil(lambda: dialog.fetch.text() == "Fetch lists", timeout=WAIT)
        qtbot.waitUntil(lambda: window.tasks.idle, timeout=WAIT)
        assert "status 500" in dialog.state.text()
        type_in(dialog, qtbot, "server")
        assert "servers searched" in dialog.state.text()
        db.close()


def test_closing_while_lists_are_fetched_stops_that(dialog, window, qtbot, monkeypatch):
    go = threading.Event()
    with fake_registry([entry(n) for n in range(300)]) as server:
        ctx = window.services.ctx
        db = ctx.open_store()
        monkeypatch.setattr(
            "app.market.sources.all_sources",
            lambda db: tuple(s for s in market.sources(db) if s.name == "team"),
        )
        sources.add(ctx, db, server.url, name="team", private=True)
        server.before_page = lambda number: go.wait(20) if number == 2 else None
        dialog.fetch.click()
        qtbot.waitUntil(lambda: "100 servers" in dialog.state.text(), timeout=WAIT)
        dialog.reject()
        go.set()
        qtbot.waitUntil(lambda: window.tasks.idle, timeout=WAIT)
        assert sources.named(db, "team").cursor == "100"
        db.close()


def test_each_kind_of_input_gets_its_field(theme, qtbot):
    raw = {
        "name": "com.example/all",
        "packages": [
            {
                "registryType": "npm", "identifier": "all", "version": "1.0.0",
                "packageArguments": [
                    {"type": "named", "name": "--mode", "choices": ["a", "b"], "isRequired": True},
                    {"type": "named", "name": "--quiet", "description": "Say less"},
                    {"type": "positional", "valueHint": "folder", "format": "filepath",
                     "isRepeated": True, "isRequired": True},
                    {"type": "named", "name": "--port", "default": "80", "format": "number"},
                ],
                "environmentVariables": [{"name": "KEY", "isSecret": True, "placeholder": "sk-…"}],
            }
        ],
    }  # fmt: skip
    form = InputForm(theme)
    qtbot.addWidget(form)
    form.show_fields(choices(read_entry(raw))[0])
    kinds = {key: type(editor) for key, editor in form.editors.items()}
    assert kinds == {
        "KEY": QLineEdit, "mode": QComboBox, "quiet": QCheckBox, "folder": QPlainTextEdit,
        "port": QLineEdit,
    }  # fmt: skip
    form.editors["mode"].setCurrentText("b")
    form.editors["quiet"].setChecked(True)
    form.editors["folder"].setPlainText("/a\n\n/b")
    assert dict(form.values) == {"mode": "b", "quiet": "true", "folder": "/a\n/b", "port": "80"}
    assert form.editors["KEY"].placeholderText() == "sk-…"
    form.show_fields(None)
    assert form.values == {}


def cost_of(window, name, tokens):
    """Tools of a server, each of as many tokens, read and waiting in Review."""
    db = window.services.ctx.open_store()
    entry = EntryRecord("manual", "user", "by-hand.json", name)
    new = [NewTool(f"{name}_{n}", {"name": f"{name}_{n}"}, f"h{n}") for n in range(len(tokens))]
    with transaction(db):
        spec = ServerSpec(transport="stdio", key=name, command=name)
        server = servers.place(db, entry, spec, name=name, trusted=True)
        delta = tools.save_list(db, server, new, at=1.0)
        pairs = zip(sorted(delta.added), tokens, strict=True)
        counts = [TokenCount(i, "o200k_base", 1, 1, 1, 0, 0, cost) for i, cost in pairs]
        tools.save_token_counts(db, counts)
    db.close()
    return server


def test_ticks_that_fit_in_the_budget_are_proposed_changed_and_taken_back(window, qtbot):
    cost_of(window, "pdf", [9_000, 4_000, 8_000])
    window.services.live.load()
    qtbot.waitUntil(lambda: window.services.live.total == 21_000, timeout=WAIT)
    page = window.catalog
    page.show_server("pdf")
    page.fit_server()
    qtbot.waitUntil(lambda: window.findChild(FitDialog) is not None, timeout=WAIT)
    dialog = window.findChild(FitDialog)
    assert "With all 3 tools of pdf: BLOCK, 21,000 of 20,000 tokens." in dialog.about.text()
    assert dialog.sum.text() == "With 2 ticked tools: PASS, 12,000 of 20,000 tokens."
    assert [tool.tool.name for tool in dialog.chosen] == ["pdf_1", "pdf_2"]
    last, tick = dialog.model.index(2, 0), Qt.ItemDataRole.CheckStateRole
    assert dialog.model.setData(last, Qt.CheckState.Checked, tick)
    assert dialog.sum.text() == "With 3 ticked tools: BLOCK, 21,000 of 20,000 tokens."
    assert dialog.model.setData(last, Qt.CheckState.Unchecked, tick)
    dialog.save.click()
    qtbot.waitUntil(lambda: window.services.live.total == 12_000, timeout=WAIT)
    assert window.undo.undoText() == "Fit pdf in the budget"
    window.undo.undo()
    qtbot.waitUntil(lambda: window.services.live.total == 21_000, timeout=WAIT)
    qtbot.waitUntil(lambda: window.tasks.idle, timeout=WAIT)


def test_an_update_is_read_compared_taken_and_taken_back(
    window, qtbot, tmp_path, monkeypatch
):  # fmt: skip
    packages = Packages(tmp_path / "packages")
    monkeypatch.setenv("PATH", packages.path)
    packages.publish("server-1", "1.0.0", tool("look", "Look at the sky"))
    packages.publish("server-1", "1.1.0", tool("look", "Look up"), tool("snow", "Measure snow"))
    ctx = window.services.ctx
    db = ctx.open_store()
    sync_fake(window, [entry(1)])
    row = market.by_name(db, "io.github.somebody/server-1")[0]
    known = details(db, row, load_catalog(db))
    with fake_registry([entry(1)]) as server:
        db.execute("UPDATE market_sources SET url = ? WHERE name = 'team'", (server.url,))
        known = details(db, row, load_catalog(db))
        install(ctx, known, known.ways[0], {})
    scan(ctx, targets(ctx, db), ScanOptions(prepare_encoder=False))
    newer = row_of(read_entry(entry(1, version="1.1.0")["server"]))
    with transaction(db):
        market.save(db, sources.named(db, "team"), [newer])
    window.services.live.load()
    qtbot.waitUntil(lambda: bool(window.live.catalog and window.live.catalog.tools), timeout=WAIT)
    window.catalog.show_server("server-1")
    window.catalog.update_server()
    qtbot.waitUntil(lambda: window.findChild(UpdateDialog) is not None, timeout=WAIT)
    dialog = window.findChild(UpdateDialog)
    assert dialog.title.text() == "server-1 1.0.0 → 1.1.0" and not dialog.back.isVisible()
    assert "server-1@1.1.0" in dialog.command.text() and "Nothing is changed" in dialog.text.text()
    dialog.go.click()
    qtbot.waitUntil(lambda: dialog.go.text() == "Take 1.1.0", timeout=WAIT)
    assert "Tools: 1 new, 1 with another text." in dialog.text.text()
    assert "+ snow, " in dialog.parts.toPlainText() and "- Look at" in dialog.parts.toPlainText()
    if folder := os.environ.get("TOOLCRIB_LOOK"):
        dialog.grab().save(f"{folder}/update.png")
    dialog.go.click()
    qtbot.waitUntil(lambda: window.catalog.state == "reading", timeout=WAIT)
    assert servers.by_name(db, "server-1").spec.args[1] == "server-1@1.1.0"
    qtbot.waitUntil(lambda: window.tasks.idle, timeout=WAIT)
    window.catalog.reading.leave()
    window.catalog.show_server("server-1")
    window.catalog.update_server()
    qtbot.waitUntil(lambda: len(window.findChildren(UpdateDialog)) == 1, timeout=WAIT)
    dialog = window.findChild(UpdateDialog)
    assert dialog.title.text() == "server-1 1.1.0 is the latest version that its list has."
    assert dialog.back.text() == "Back to 1.0.0" and dialog.go.text() == "Fetch its list"
    with fake_registry([entry(1, version="1.1.0", updated="2027-01-01T00:00:00Z")]) as server:
        db.execute("UPDATE market_sources SET url = ? WHERE name = 'team'", (server.url,))
        db.execute("UPDATE market_installs SET source = ?", (server.url,))
        dialog._known = replace(dialog._known, source=server.url)
        dialog.go.click()
        qtbot.waitUntil(lambda: dialog.text.text() == "New or changed: 1 server.", timeout=WAIT)
        assert dialog.go.isEnabled() and "1.1.0 is the latest" in dialog.title.text()
        server.items = [entry(1, version="1.2.0", updated="2027-01-02T00:00:00Z")]
        dialog.go.click()
        qtbot.waitUntil(lambda: dialog.go.text() == "Read and compare", timeout=WAIT)
        assert dialog.title.text() == "server-1 1.1.0 → 1.2.0"
    dialog.back.click()
    qtbot.waitUntil(
        lambda: servers.by_name(db, "server-1").spec.args[1] == "server-1@1.0.0", timeout=WAIT
    )
    qtbot.waitUntil(lambda: window.tasks.idle, timeout=WAIT)
    db.close()
