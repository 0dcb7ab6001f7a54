"""A bundle's later version in the window: downloaded after a yes, asked for values, taken, back."""

import json
import os
import sys
from pathlib import Path

import pytest
from PySide6.QtWidgets import QWidget

from app.catalog.catalog import trust_server
from app.market.entry import Entry
from app.market.launch import choices, launch_of
from app.market.records import entry_of
from app.registry.installing import install, ready
from app.registry.register import targets
from app.registry.scan import ScanOptions, scan
from store import market, servers
from tests.app.market import test_bundles as bundles
from ui.pages.catalog.market.update_dialog import UpdateDialog, open_update

WAIT = 60_000
files = bundles.files  # a fixture
VALUES = {"place": "here", "key": "k-1-s3cret-value"}


@pytest.fixture
def dialog(services, files, qtbot, monkeypatch):
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    ctx = services.ctx
    with ctx.store() as db:
        source = bundles.listed(db, files, "1.0.0")
        entry: Entry = entry_of(market.by_name(db, "com.example/sky")[0])
        way = ready(ctx, entry, choices(entry, private=True)[0], private=True)
        launch = launch_of(entry, way, VALUES, private=True)
        done = install(ctx, db, entry, way, launch, source=source, values=VALUES)
        scan(ctx, targets(ctx, db), ScanOptions(prepare_encoder=False))
        trust_server(db, done.registered.server_ids[0], 1.0)
        config = {**bundles.MANIFEST["user_config"], "unit": {"type": "string", "required": True}}
        more = [*bundles.TOOLS, {"name": "snow", "inputSchema": {"type": "object"}}]
        code = {"server/main.py": bundles.SERVER.read_bytes(), "tools.json": json.dumps(more)}
        files.body = bundles.archive(code, {**bundles.MANIFEST, "user_config": config})
        bundles.listed(db, files, "1.1.0")
    parent = QWidget()
    qtbot.addWidget(parent)
    parent.show()
    open_update(services, "sky", parent, lambda: None)
    qtbot.waitUntil(lambda: parent.findChild(UpdateDialog) is not None, timeout=WAIT)
    yield parent.findChild(UpdateDialog)
    qtbot.waitUntil(lambda: services.tasks.idle, timeout=WAIT)


def test_it_is_downloaded_after_the_press_asks_for_its_value_and_is_taken(
    dialog, services, files, qtbot
):
    assert "downloads" in dialog.command.text() and "checksum" in dialog.command.text()
    assert dialog.text.text().startswith("The bundle is downloaded, checked and started once")
    assert files.asked == 1, "nothing is downloaded before the press"
    dialog.go.click()
    qtbot.waitUntil(lambda: "unit" in dialog.form.editors and dialog.go.isEnabled(), timeout=WAIT)
    assert files.asked == 2 and list(dialog.form.editors) == ["unit"]
    assert dialog.text.text().startswith("The bundle is here and checked.")
    dialog.form.editors["unit"].setText("mm")
    dialog.go.click()
    qtbot.waitUntil(lambda: dialog.go.text() == "Take 1.1.0", timeout=WAIT)
    assert "+ snow" in dialog.parts.toPlainText() and "server/main.py" in dialog.command.text()
    assert "s3cret" not in dialog.command.text()
    with qtbot.waitSignal(dialog.changed, timeout=WAIT):
        dialog.go.click()
    with services.ctx.store() as db:
        record = servers.by_name(db, "sky")
    assert record.spec.cwd.endswith(bundles.sha(files.body))
