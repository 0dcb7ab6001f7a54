"""The Budget page counts what tools hide, after a question, by asking a real server."""

import json
import sys
from pathlib import Path

import pytest

from app.cli.main import run
from tests.ui.test_budget import settled
from ui.pages.budget import hidden
from ui.pages.budget.page import BudgetPage

SERVER = Path(__file__).parents[1] / "fakes" / "menu_server.py"


@pytest.fixture
def page(services, places, monkeypatch, tmp_path, qtbot):
    monkeypatch.setenv("TOOLCRIB_HOME", str(services.ctx.paths.home))
    monkeypatch.setenv("HOME", str(places.home))
    env = {"MENU": "search", "MENU_LOG": str(tmp_path / "calls.log")}
    entry = {"command": sys.executable, "args": [str(SERVER)], "env": env}
    file = places.home / ".cursor" / "mcp.json"
    file.parent.mkdir(exist_ok=True)
    file.write_text(json.dumps({"mcpServers": {"menu": entry}}))
    assert run(["scan", "--yes"]) == 0
    page = BudgetPage(services)
    qtbot.addWidget(page)
    page.resize(1080, 640)
    page.show()
    services.live.load()
    settled(qtbot, page)
    return page


def test_both_numbers_are_shown_once_the_server_was_asked(page, qtbot, monkeypatch):
    moves = page.moves
    assert moves.whole.text() == "3 tools listed, 3 with what they hide; 1 server not known."
    assert moves.behind.isVisible()
    monkeypatch.setattr(hidden, "confirm", lambda *_args, **_yes: False)
    moves.behind.click()
    settled(qtbot, page)
    assert moves.whole.text().endswith("not known.")
    asked = []
    monkeypatch.setattr(hidden, "confirm", lambda *args, **_yes: asked.append(args[1:]) or True)
    moves.behind.click()
    qtbot.waitUntil(
        lambda: moves.whole.text() == "3 tools listed, at least 8 with what they hide.",
        timeout=30_000,
    )
    assert asked[0][0] == "Start and ask menu?" and "Each of them is started." in asked[0][1]
    assert not moves.behind.isVisible()
