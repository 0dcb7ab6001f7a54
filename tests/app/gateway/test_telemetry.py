"""Telemetry leaves when asked, to a real receiver; values only where that is switched on."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from process_waits import until

from app.gateway.journal import Journal
from app.gateway.telemetry import Telemetry
from store.connection import open_store
from tests.fakes.otlp_receiver import Receiver, attributes

pytestmark = pytest.mark.usefixtures("encoderless")
ROOT = Path(__file__).parents[3]
QUERY = "return the given text for mallory"


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    made = Receiver()
    yield made
    made.close()


def toolcrib(home: Path, *words: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "TOOLCRIB_HOME": str(home), "PYTHONPATH": str(ROOT)}
    return subprocess.run(
        [sys.executable, "-m", "ui.main", "telemetry", *words],
        cwd=ROOT,
        env=env,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def session(gateway: Any) -> None:
    host = gateway()
    host.initialize({})
    host.search(QUERY)
    host.run("probe/echo", {"text": "secret-argument"})
    host.run("probe/fail", {})
    host.close()


def test_nothing_leaves_until_it_is_switched_on(
    stocked: Any, gateway: Any, home: Path, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor where the surroundings name a receiver, for other programs."""
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", receiver.endpoint)
    stocked({"probe": "ok"})
    session(gateway)
    assert json.loads(toolcrib(home, "show", "--json").stdout)["on"] is False
    assert receiver.raw == []


def test_spans_and_durations_reach_the_receiver_without_values(
    stocked: Any, gateway: Any, home: Path, receiver: Receiver
) -> None:
    stocked({"probe": "ok"})
    on = toolcrib(home, "on", "--endpoint", receiver.endpoint)
    assert on.returncode == 0, on.stderr
    session(gateway)
    by_name = {span.name: span for span in receiver.spans}
    call = by_name["tools/call echo"]
    named = attributes(call)
    assert named["mcp.method.name"] == "tools/call"
    assert named["gen_ai.operation.name"] == "execute_tool"
    assert (named["gen_ai.tool.name"], named["toolcrib.server"]) == ("echo", "probe")
    assert named["toolcrib.host"] == "raw-host" and named["mcp.session.id"]
    assert call.kind == 2 and call.end_time_unix_nano > call.start_time_unix_nano
    assert "tools/call search_tools" in by_name
    assert "mcp.server.operation.duration" in receiver.metrics
    everything = b"".join(receiver.raw)
    assert b"secret-argument" not in everything and QUERY.encode() not in everything
    assert toolcrib(home, "off").returncode == 0
    count = len(receiver.raw)
    session(gateway)
    assert len(receiver.raw) == count


def test_texts_leave_only_where_that_is_switched_on_and_arguments_never(
    stocked: Any, gateway: Any, home: Path, receiver: Receiver
) -> None:
    stocked({"probe": "ok"})
    assert toolcrib(home, "on", "--endpoint", receiver.endpoint, "--texts").returncode == 0
    session(gateway)
    everything = b"".join(receiver.raw)
    assert QUERY.encode() in everything and b"secret-argument" not in everything


def test_a_receiver_that_is_not_there_costs_no_call_and_no_event(
    stocked: Any, gateway: Any, home: Path
) -> None:
    stocked({"probe": "ok"})
    assert toolcrib(home, "on", "--endpoint", "http://127.0.0.1:9").returncode == 0
    session(gateway)
    lines = toolcrib(home, "export").stdout.splitlines()
    assert "echo" in [json.loads(line)["tool"] for line in lines]


def test_the_journal_is_exported_as_lines_of_json(
    stocked: Any, gateway: Any, home: Path, tmp_path: Path
) -> None:
    stocked({"probe": "ok"})
    session(gateway)
    lines = [json.loads(line) for line in toolcrib(home, "export").stdout.splitlines()]
    call = next(line for line in lines if line["kind"] == "call" and line["tool"] == "echo")
    assert set(call) == {
        *("time", "kind", "server", "tool", "host", "profile", "session", "ms", "tokens"),
        "failed",
    }
    assert (call["server"], call["host"], call["failed"]) == ("probe", "raw-host", False)
    assert QUERY not in json.dumps(lines)
    file = tmp_path / "journal.jsonl"
    assert toolcrib(home, "export", "--texts", "--out", str(file)).returncode == 0
    assert QUERY in file.read_text() and file.stat().st_mode & 0o077 == 0
    assert "secret-argument" not in file.read_text()
    assert toolcrib(home, "export", "--days", "0").stdout == ""


def test_an_address_that_is_none_is_refused(home: Path) -> None:
    for address in ("ftp://x", "http://", "http://user:pass@host", "nonsense"):
        assert toolcrib(home, "on", "--endpoint", address).returncode == 1


def test_a_journal_without_telemetry_loads_no_sdk(tmp_path: Path) -> None:
    code = f"""
import sys
sys.path.insert(0, {str(ROOT)!r})
from app.core.settings import Settings
from app.gateway.journal import Journal
from app.gateway.telemetry import Telemetry
from store.connection import open_store
from pathlib import Path
home = Path({str(tmp_path)!r})
telemetry = Telemetry(str(home / "settings.toml"), lambda: Settings.load(home / "settings.toml"))
journal = Journal(
    lambda: open_store(home / "t.db"), profile="p", session="s", telemetry=lambda: telemetry
)
journal.add("call", tool="a/b")
journal.close(10)
assert not [name for name in sys.modules if name.startswith(("opentelemetry", "google"))]
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_a_missing_sdk_is_said_once_in_the_journal(tmp_path: Path) -> None:
    code = f"""
import sys
sys.modules["opentelemetry"] = None
from pathlib import Path
from app.core.settings import Settings
from app.gateway.journal import Journal
from app.gateway.telemetry import Telemetry
from store import events
from store.connection import open_store
home = Path({str(tmp_path)!r})
file = home / "settings.toml"
Settings(telemetry=True).save(file)
telemetry = Telemetry(str(file), lambda: Settings.load(file))
journal = Journal(
    lambda: open_store(home / "t.db"), profile="p", session="s", telemetry=lambda: telemetry
)
journal.add("call", tool="a/b")
journal.close(10)
db = open_store(home / "t.db")
rows = [(row.kind, row.problem) for row in events.recent(db, 10)]
db.close()
assert sorted(rows) == [
    ("call", ""),
    ("error", "The OpenTelemetry SDK is missing: install Toolcrib as toolcrib[otel]."),
], rows
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60, cwd=ROOT)


def test_settings_are_followed_while_a_session_runs(tmp_path: Path, receiver: Receiver) -> None:
    from app.core.settings import Settings

    database, file = tmp_path / "t.db", tmp_path / "settings.toml"
    open_store(database).close()
    telemetry = Telemetry(str(file), lambda: Settings.load(file))
    journal = Journal(
        lambda: open_store(database), profile="p", session="s", telemetry=lambda: telemetry
    )
    journal.add("call", tool="a/before")
    until(lambda: database.exists() and _rows(database))
    Settings(telemetry=True, telemetry_endpoint=receiver.endpoint).save(file)
    journal.add("call", tool="a/after")
    journal.close(20)
    assert [span.name for span in receiver.spans] == ["tools/call after"]


def _rows(database: Path) -> list[Any]:
    db = open_store(database)
    try:
        return list(db.execute("SELECT tool FROM events"))
    finally:
        db.close()
