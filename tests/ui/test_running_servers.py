"""Activity > Servers over a real backend with real hosts."""

import os
import sys
from pathlib import Path

import pytest

from app.catalog.catalog import set_disabled

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tests" / "fakes"))

import gateway_store  # noqa: E402
import raw_host  # noqa: E402

from app.core.context import AppContext  # noqa: E402
from app.gateway.backend.client import request  # noqa: E402
from app.gateway.backend.rendezvous import STOP, Place  # noqa: E402
from app.gateway.stored_sharing import every_sharing  # noqa: E402
from ui.pages.activity.servers import COLUMNS, ServersTab  # noqa: E402

WAIT = 20_000


@pytest.fixture
def hosts(services, monkeypatch):
    """hosts(n): n hosts that have called the server probe through one backend."""
    home = services.ctx.paths.home
    probe = {"command": sys.executable, "args": [str(ROOT / "tests/fakes/probe_upstream.py")]}
    gateway_store.stock(home, {"probe": probe})
    monkeypatch.delenv("TOOLCRIB_STANDALONE")
    environ = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "TOOLCRIB_HOME": str(home),
        "TOOLCRIB_BACKEND_IDLE": "60",
    }
    started: list[raw_host.RawHost] = []

    def start(count: int) -> list[raw_host.RawHost]:
        command = raw_host.gateway_command("--profile", "default", "--server", "probe")
        for _ in range(count):
            host = raw_host.RawHost(command, environ)
            started.append(host)
            host.initialize()
            host.call("echo", {"text": "a"})
        return started

    yield start
    for host in started:
        host.close()
    request(Place(str(home)), STOP)


@pytest.fixture
def tab(services, qtbot):
    tab = ServersTab(services)
    qtbot.addWidget(tab)
    tab.resize(1000, 600)
    return tab


def rows(tab):
    return [tuple(column.text(row) for column in COLUMNS) for row in tab.model.rows]


def test_without_a_backend_the_tab_says_how_one_comes(tab, services, qtbot):
    tab.show()
    qtbot.waitUntil(lambda: services.tasks.idle)
    assert tab.empty.isVisible() and "No backend runs" in tab.empty.text.text()


def test_each_sessions_server_is_a_row_and_can_be_stopped(tab, services, hosts, qtbot):
    host, _ = hosts(2)
    tab.show()
    qtbot.waitUntil(lambda: len(tab.model.rows) == 2, timeout=WAIT)
    name, users, state, sharing, calls, processes, megabytes = rows(tab)[0]
    assert (name, users, state, calls) == ("probe", "raw-host (default)", "runs", "1")
    assert processes == "1" and float(megabytes) > 1 and sharing == "One per session"
    assert [label.text() for label in tab.figures.values[:2]] == ["2", "2"]
    assert not tab.stop.isEnabled()
    tab.view.setCurrentIndex(tab.model.index(0, 0))
    assert "subscriptions, which belong to one session" in tab.why.text()
    tab.stop.click()
    qtbot.waitUntil(lambda: "not running" in {row[2] for row in rows(tab)}, timeout=WAIT)
    assert [row[2] for row in rows(tab)].count("runs") == 1, "only the selected one"
    assert host.call("echo", {"text": "b"})["content"][0]["text"] == "b"
    tab.refresh()
    qtbot.waitUntil(lambda: [row[2] for row in rows(tab)] == ["runs", "runs"], timeout=WAIT)


def test_a_choice_of_sharing_is_kept_and_taken_back(tab, services, hosts, qtbot):
    hosts(1)
    tab.show()
    qtbot.waitUntil(lambda: len(tab.model.rows) == 1, timeout=WAIT)
    tab.view.setCurrentIndex(tab.model.index(0, 0))
    tab.sharing.setCurrentIndex(tab.sharing.findData("shared"))
    tab.sharing.activated.emit(tab.sharing.currentIndex())
    assert services.undo.undoText() == "Switch probe to “one for all hosts”"
    qtbot.waitUntil(lambda: rows(tab)[0][3] == "One for all hosts", timeout=WAIT)
    assert stored(services.ctx) == ("shared", True)
    services.undo.undo()
    qtbot.waitUntil(lambda: services.tasks.idle)
    assert stored(services.ctx) == ("session", False)


def test_stopping_all_leaves_hosts_that_go_on(tab, services, hosts, qtbot):
    (host,) = hosts(1)
    tab.show()
    qtbot.waitUntil(lambda: len(tab.model.rows) == 1, timeout=WAIT)
    tab.stop_all.click()
    qtbot.waitUntil(lambda: services.tasks.idle, timeout=WAIT)  # a call under way would end with it
    assert host.call("echo", {"text": "b"})["content"][0]["text"] == "b"


def stored(ctx: AppContext) -> tuple[str, bool]:
    db = ctx.open_store()
    try:
        decision = every_sharing(db)["probe"]
    finally:
        db.close()
    return decision.choice, decision.by_user


def test_a_server_that_is_disabled_ends_and_its_row_says_so(tab, services, hosts, qtbot):
    (host,) = hosts(1)
    services.live.load()
    tab.show()
    qtbot.waitUntil(lambda: [row[2] for row in rows(tab)] == ["runs"], timeout=WAIT)
    qtbot.waitUntil(lambda: services.live.catalog is not None, timeout=WAIT)
    number = services.live.catalog.server("probe").id
    services.tasks.change(lambda db: set_disabled(db, [number], True))
    services.live.load()
    qtbot.waitUntil(lambda: [row[2] for row in rows(tab)] == ["disabled"], timeout=WAIT)
    answer = host.call("echo", {"text": "b"})
    assert answer["isError"] and "disabled in Toolcrib" in answer["content"][0]["text"]
    tab.refresh()
    qtbot.waitUntil(lambda: services.tasks.idle, timeout=WAIT)
    assert [row[2] for row in rows(tab)] == ["disabled"], "no call started it"
