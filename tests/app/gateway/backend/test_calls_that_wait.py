"""Calls that wait for a yes, each way in, with real processes: nothing without one, nothing twice.

Ways: behind the backend, over HTTP, alone (test_approvals). The window is a process of its own.
"""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from process_waits import until
from raw_host import text
from web_client import WebClient, free_port

from app.policy.approvals import waiting
from app.system.presence import Presence, is_window_open
from store import approvals
from store.connection import open_store, transaction
from store.records import Approval

ROOT = Path(__file__).parents[4]
pytestmark = pytest.mark.usefixtures("encoderless")
ASKS = {"gateway": {"approve": ["probe/echo"], "approve_seconds": 40}}
CHANGED = "changed after it was trusted"
WINDOW = """
import sys
from app.core.context import AppContext
from app.hosts.places import Places
from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QApplication
from ui.look.theme import Theme
from ui.windows.main_window import MainWindow
app = QApplication([])
ctx = AppContext.default()
theme = Theme(app, ctx.paths.home / "cache", "light")
window = MainWindow(ctx, Places.here(), theme)
window.show()
def look():
    call = window.approvals.call
    if call is not None:
        print("shown", call.id, flush=True)
        timer.stop()
timer = QTimer(interval=50)
timer.timeout.connect(look)
timer.start()
class Choice(__import__("threading").Thread):
    def run(self):
        for line in sys.stdin:
            word = line.strip()
            if word == "close":
                QTimer.singleShot(0, window, window.close)
            else:
                QTimer.singleShot(0, window, window.approvals.buttons[int(word)].click)
Choice(daemon=True).start()
app.exec()
"""


@pytest.fixture
def ready(stocked: Any, adapter: Any, log: Any, home: Path) -> Callable[..., Any]:
    """ready() gives a host behind the backend, the store, and the calls the server got."""

    def make(settings: Any = ASKS) -> Any:
        database = stocked({"probe": "ok"}, settings)
        host = adapter()
        host.initialize({})
        return host, database

    return make


@pytest.fixture
def calls(log: Any) -> Callable[[], list[str]]:
    def texts() -> list[str]:
        sent = [m["params"] for m in log("probe") if m.get("method") == "tools/call"]
        return [call["arguments"]["text"] for call in sent]

    return texts


@pytest.fixture
def window(home: Path) -> Iterator[Callable[[], subprocess.Popen[str]]]:
    """window() opens the window in a process of its own."""
    opened: list[subprocess.Popen[str]] = []

    def start() -> subprocess.Popen[str]:
        fake = home.parent / "user"
        fake.mkdir(exist_ok=True)
        env = {
            **os.environ,
            "TOOLCRIB_HOME": str(home),
            "HOME": str(fake),
            "PYTHONPATH": str(ROOT),
            "QT_QPA_PLATFORM": "offscreen",
        }
        process = subprocess.Popen(
            [sys.executable, "-c", WINDOW],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=env,
            cwd=ROOT,
        )
        opened.append(process)
        return process

    yield start
    for process in opened:
        process.kill()
        process.communicate()


def ask(host: Any, value: str = "hi") -> Any:
    arguments = {"name": "probe/echo", "arguments": {"text": value}}
    return host.ask("tools/call", {"name": "call_tool", "arguments": arguments})


def rows(database: Path) -> list[Approval]:
    db = open_store(database)
    try:
        return waiting(db, time.time())
    finally:
        db.close()


def row_of(host: Any, database: Path) -> Approval:
    (row,) = host.until(lambda: rows(database))
    return row


def state(database: Path, number: int) -> str:
    db = open_store(database)
    try:
        found = approvals.find(db, number)
        return found.state if found is not None else ""
    finally:
        db.close()


def approve(home: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """`toolcrib approve ...` in a process of its own."""
    env = {**os.environ, "TOOLCRIB_HOME": str(home), "PYTHONPATH": str(ROOT)}
    return subprocess.run(
        [sys.executable, "-m", "ui.main", "approve", *words],
        cwd=ROOT,
        env=env,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def shown(process: subprocess.Popen[str]) -> int:
    assert process.stdout is not None
    word, number = process.stdout.readline().split()
    assert word == "shown"
    return int(number)


def press(process: subprocess.Popen[str], word: str) -> None:
    assert process.stdin is not None
    process.stdin.write(f"{word}\n")
    process.stdin.flush()


def test_allowed_behind_the_backend_it_runs_once(ready: Any, home: Path, calls: Any) -> None:
    host, database = ready()
    number = ask(host)
    row = row_of(host, database)
    assert calls() == []
    assert approve(home, str(row.id)).returncode == 0
    assert text(host.wait(number)["result"]) == "hi"
    assert approve(home, str(row.id)).returncode == 1
    assert calls() == ["hi"]


def test_denied_behind_the_backend_it_never_runs(ready: Any, home: Path, calls: Any) -> None:
    host, database = ready()
    number = ask(host)
    assert approve(home, str(row_of(host, database).id), "--deny").returncode == 0
    assert "The user said no" in text(host.wait(number)["result"])
    assert calls() == []


def test_timed_out_behind_the_backend_it_never_runs(ready: Any, home: Path, calls: Any) -> None:
    host, database = ready({"gateway": {"approve": ["probe/echo"], "approve_seconds": 1}})
    number = ask(host)
    row = row_of(host, database)
    assert "answered in time" in text(host.wait(number)["result"])
    assert approve(home, str(row.id)).returncode == 1
    assert calls() == []


def test_a_host_that_is_gone_behind_the_backend_runs_nothing(
    ready: Any, adapter: Any, home: Path, calls: Any
) -> None:
    host, database = ready()
    ask(host)
    row = row_of(host, database)
    os.kill(host.process.pid, signal.SIGKILL)
    host.process.wait(10)
    host.until(lambda: state(database, row.id) == "gone")
    assert approve(home, str(row.id)).returncode == 1
    other = adapter()
    other.initialize()
    other.tools()
    assert calls() == []


def test_the_backend_killed_while_a_call_waits_runs_nothing_then_or_later(
    ready: Any, home: Path, calls: Any, backends: Any
) -> None:
    host, database = ready()
    number = ask(host)
    row = row_of(host, database)
    (old,) = backends()
    old.send_signal(signal.SIGKILL)
    assert "error" in host.wait(number)
    approve(home, str(row.id))  # a yes that comes after the kill
    second = ask(host, "second")  # by the next backend
    later = host.until(lambda: [one for one in rows(database) if "second" in one.arguments])[0]
    assert calls() == []
    assert approve(home, str(later.id)).returncode == 0
    assert text(host.wait(second)["result"]) == "second"
    assert calls() == ["second"]


def test_a_window_that_is_closed_while_a_call_waits_decides_nothing(
    ready: Any, home: Path, calls: Any, window: Any
) -> None:
    host, database = ready()
    number = ask(host)
    process = window()
    row = row_of(host, database)
    assert shown(process) == row.id
    assert is_window_open(str(home))
    press(process, "close")
    assert process.wait(20) == 0
    assert not is_window_open(str(home))
    assert state(database, row.id) == "waiting" and calls() == []
    assert approve(home, str(row.id)).returncode == 0
    assert text(host.wait(number)["result"]) == "hi"
    assert calls() == ["hi"]


def test_two_windows_that_say_yes_at_once_run_it_once(ready: Any, calls: Any, window: Any) -> None:
    host, database = ready()
    number = ask(host)
    both = [window(), window()]
    row = row_of(host, database)
    assert [shown(process) for process in both] == [row.id, row.id]
    for process in both:
        press(process, "0")
    assert text(host.wait(number)["result"]) == "hi"
    assert calls() == ["hi"] and state(database, row.id) == "sent"


def test_twenty_at_once_each_get_their_own_answer_once(ready: Any, home: Path, calls: Any) -> None:
    host, database = ready()
    numbers = {f"call {n}": ask(host, f"call {n}") for n in range(20)}
    host.until(lambda: len(rows(database)) == 20)
    waits = rows(database)
    db = open_store(database)
    for place, row in enumerate(waits):
        with transaction(db):
            approvals.decide(db, row.id, "allowed" if place % 2 else "denied", time.time())
    db.close()
    yes = {json.loads(row.arguments)["text"] for place, row in enumerate(waits) if place % 2}
    for value, number in numbers.items():
        assert ("said no" in text(host.wait(number)["result"])) is (value not in yes)
    assert sorted(calls()) == sorted(yes)


def test_over_http_a_call_waits_and_runs_once(
    stocked: Any, home: Path, backends: Any, calls: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TOOLCRIB_STANDALONE", raising=False)
    database = stocked({"probe": "ok"}, ASKS)
    env = {**os.environ, "TOOLCRIB_HOME": str(home), "PYTHONPATH": str(ROOT)}

    def toolcrib(*words: str) -> str:
        return subprocess.run(
            [sys.executable, "-m", "ui.main", *words],
            cwd=ROOT,
            env=env,
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
        ).stdout.strip()

    port = free_port()
    toolcrib("backend", "http", "on", "--port", str(port))
    token = toolcrib("backend", "http", "token", "--profile", "default")
    web = WebClient(port, token, "/mcp/default", "web")
    web.initialize()
    arguments = {"name": "probe/echo", "arguments": {"text": "hi"}}
    with ThreadPoolExecutor(1) as pool:
        answer = pool.submit(web.call, "call_tool", arguments)
        found = until(lambda: answer.done() or rows(database))
        assert not answer.done()
        assert calls() == []
        assert approve(home, str(found[0].id)).returncode == 0
        assert answer.result(20).text == "hi"
    assert calls() == ["hi"]


# ---- held and changed tools, which wait without any setting


@pytest.fixture
def changed(ready: Any) -> Any:
    """A host, the store, and a tool whose text is not the trusted one."""
    host, database = ready({})
    db = open_store(database)
    with transaction(db):
        db.execute("UPDATE tools SET trusted_hash = 'other' WHERE name = 'echo'")
    db.close()
    return host, database


def test_a_changed_tool_is_refused_where_no_person_can_be_asked(changed: Any, calls: Any) -> None:
    host, database = changed
    host.until(lambda: CHANGED in text(host.run("probe/echo", {"text": "x"})))
    assert rows(database) == []


def test_a_changed_tool_waits_for_a_yes_where_a_window_is_open(
    changed: Any, home: Path, calls: Any
) -> None:
    host, database = changed
    host.until(lambda: CHANGED in text(host.run("probe/echo", {"text": "x"})))
    before = calls()
    presence = Presence(str(home))
    presence.hold()
    try:
        number = ask(host, "once")
        row = row_of(host, database)
        assert calls() == before
        assert approve(home, str(row.id)).returncode == 0
        assert text(host.wait(number)["result"]) == "once"
        assert calls() == [*before, "once"]
        again = ask(host, "again")  # one yes is for one call
        row = row_of(host, database)
        db = open_store(database)
        with transaction(db):
            db.execute("UPDATE tools SET hash = 'new', raw = json_set(raw, '$.title', 'x')")
        db.close()
        assert approve(home, str(row.id)).returncode == 0
        assert CHANGED in text(host.wait(again)["result"])
        assert calls() == [*before, "once"]  # the yes was for another text
    finally:
        presence.release()
    assert CHANGED in text(host.run("probe/echo", {"text": "x"}))


def test_the_setting_ends_asking_about_held_tools(ready: Any, home: Path) -> None:
    host, database = ready({"gateway": {"approve_held": False}})
    db = open_store(database)
    with transaction(db):
        db.execute("UPDATE tools SET trusted_hash = 'other' WHERE name = 'echo'")
    db.close()
    presence = Presence(str(home))
    presence.hold()
    try:
        host.until(lambda: CHANGED in text(host.run("probe/echo", {"text": "x"})))
        assert rows(database) == []
    finally:
        presence.release()
