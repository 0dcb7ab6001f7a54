"""Stacks in the window: saved, looked at, filled in, added; a bad one is a sentence."""

import json
import os

import pytest
from PySide6.QtWidgets import QLineEdit

from app.catalog.catalog import load_catalog
from app.market.stack import Stack, StackServer, read_stack
from store import servers
from ui.pages.catalog.market.stack_dialog import StackDialog, write_profile

WAIT = 20_000
PACKAGE = {
    "registryType": "npm", "identifier": "sky", "version": "1.0.0",
    "environmentVariables": [{"name": "SKY_TOKEN", "isRequired": True, "isSecret": True}],
}  # fmt: skip
ENTRY = {"name": "com.example/sky", "version": "1.0.0", "packages": [PACKAGE]}
POLICY = 'version = 1\n\n[budget]\nmax_schema_tokens = 7000\n\n[tools]\noff = ["sky/rain"]\n'


@pytest.fixture
def window(open_window, qtbot):
    window = open_window()
    qtbot.waitUntil(lambda: window.catalog.state == "empty" and window.tasks.idle, timeout=WAIT)
    return window


def test_a_stack_is_looked_at_filled_in_and_added(window, qtbot, tmp_path):
    file = tmp_path / "weather.stack"
    stack = Stack("weather", (StackServer("sky", "https://x", ENTRY, 1),), POLICY)
    file.write_bytes(stack.to_bytes())
    window.catalog.open_stack()
    dialog = window.findChild(StackDialog)
    dialog.place.setText(str(tmp_path / "none"))
    dialog.save.click()
    qtbot.waitUntil(lambda: "cannot be read" in dialog.problem.text(), timeout=WAIT)
    dialog.place.setText(str(file))
    dialog.save.click()
    qtbot.waitUntil(lambda: dialog.save.text() == "Add", timeout=WAIT)
    assert "sky: npx -y sky@1.0.0" in dialog.text.text() and dialog.name.text() == "weather"
    (editor,) = dialog.form.editors.values()
    assert editor.echoMode() == QLineEdit.EchoMode.Password
    dialog.save.click()
    assert dialog.problem.text() == "sky: SKY_TOKEN needs a value."
    if folder := os.environ.get("TOOLCRIB_LOOK"):
        dialog.grab().save(f"{folder}/stack.png")
    editor.setText("sk-neverShownAnywhere")
    qtbot.waitUntil(lambda: dialog.save.isEnabled(), timeout=WAIT)
    dialog.save.click()
    qtbot.waitUntil(lambda: window.catalog.state == "reading", timeout=WAIT)
    qtbot.waitUntil(lambda: window.tasks.idle, timeout=WAIT)
    db = window.services.ctx.open_store()
    (record,) = servers.all_servers(db)
    assert record.name == "sky" and record.spec.args == ("-y", "sky@1.0.0")
    assert load_catalog(db, "weather").settings.budget.tokens == 7000
    db.close()
    saved = tmp_path / "again.stack"
    write_profile(window.services, saved, window)
    qtbot.waitUntil(saved.exists, timeout=WAIT)
    qtbot.waitUntil(lambda: window.tasks.idle, timeout=WAIT)
    text = saved.read_text()
    assert "sk-neverShownAnywhere" not in text and json.loads(text)["servers"][0]["name"] == "sky"
    assert read_stack(saved.read_bytes()).servers[0].lacking[0].key == "SKY_TOKEN"
