"""Servers that a host reaches through Toolcrib are changed in its file; its real gateway follows.

Real files in a fake HOME, the verbs of the command line, the gateway as the file starts it.
"""

import json
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

import psutil
import pytest
import raw_host
from web_process import serving

from app.cli.main import run
from app.policy.approvals import decide, waiting
from store import profiles, servers
from store.connection import open_store, transaction
from store.records import ALLOWED
from tests.fakes.verbs import without_encoder

ROOT = Path(__file__).parents[3]
PROBE = [str(ROOT / "tests/fakes/probe_upstream.py")]
SCRIPTED = str(ROOT / "tests/fakes/scripted_server.py")
WEB = ROOT / "tests/fakes/sdk_web_server.py"
SECRET = "n3w-s3cret-value-42"


class Machine:
    """A fake HOME with one host's file, the command line, and the host itself."""

    def __init__(self, base: Path) -> None:
        self.file = base / "home/.kiro/settings/mcp.json"
        self.file.parent.mkdir(parents=True)
        self.env = {"HOME": str(base / "home"), "TOOLCRIB_HOME": str(base / "toolcrib")}
        without_encoder(base / "toolcrib")

    def name(self, off: str = "*/delete_note", **entries: dict[str, Any]) -> None:
        """Write the host's file, read its servers, switch a tool of each off."""
        self.file.write_text(json.dumps({"theme": "x", "mcpServers": entries}, indent=2) + "\n")
        self.run("scan", "--yes")
        self.run("profile", "off", off)

    def run(self, *words: str) -> Any:
        return json.loads(self._printed(*words, "--json"))

    def _printed(self, *words: str) -> str:
        out = StringIO()
        with redirect_stdout(out):
            assert run([*words]) == 0
        return out.getvalue()

    def server(self, *words: str, host: str = "kiro") -> Any:
        """`toolcrib server ...`, first as a dry run, which shows and writes nothing."""
        before = self.file.read_bytes()
        shown = self._printed("server", *words, "--host", host, "--dry-run")
        assert "Nothing was written" in shown and SECRET not in shown
        assert self.file.read_bytes() == before
        return self.run("server", *words, "--host", host)

    @property
    def entries(self) -> dict[str, Any]:
        entries: dict[str, Any] = json.loads(self.file.read_text())["mcpServers"]
        return entries

    def twin(self, **entries: dict[str, Any]) -> None:
        """Write another host's file, Windsurf's."""
        file = self.file.parents[2] / ".codeium/windsurf/mcp_config.json"
        file.parent.mkdir(parents=True)
        file.write_text(json.dumps({"mcpServers": entries}))

    def name_two_alike(self) -> None:
        """Two hosts go through Toolcrib to notes and other; secret is switched off in both."""
        servers = {name: probe(PROBE_NAME=name) for name in ("notes", "other", "secret")}
        self.twin(**servers)
        self.name(**servers)
        for name in ("kiro", "windsurf"):
            self.run("export", name, "--mode", "through", "--yes")
            self.server("disable", "secret", host=name)

    def start(self, name: str, entry: dict[str, Any] | None = None) -> Any:
        """The entry, perhaps an earlier one, started as the host starts it."""
        entry = entry or self.entries[name]
        assert not entry.get("disabled") and entry["command"].endswith("toolcrib-gateway")
        env = {**self.env, **entry.get("env", {})}
        host = raw_host.RawHost([entry["command"], *entry["args"]], env)
        host.initialize()
        return host


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    machine = Machine(tmp_path)
    for name, value in machine.env.items():
        monkeypatch.setenv(name, value)
    return machine


@pytest.fixture
def started(machine: Machine) -> Iterator[Callable[..., Any]]:
    hosts: list[Any] = []

    def start(name: str, entry: dict[str, Any] | None = None) -> Any:
        hosts.append(machine.start(name, entry))
        return hosts[-1]

    yield start
    for host in hosts:
        host.close()


def probe(**env: str) -> dict[str, Any]:
    return {"command": sys.executable, "args": PROBE, "env": {"PROBE_TOKEN": "old-s3cret", **env}}


def scripted(file: Path, **script: Any) -> dict[str, Any]:
    """A server with one tool that says what the script says."""
    tools = [{"name": "read", "description": "Reads", "inputSchema": {"type": "object"}}]
    file.write_text(json.dumps({"tools/list": {"tools": tools}, **script}))
    return {"command": sys.executable, "args": [SCRIPTED], "env": {"SCRIPT": str(file)}}


def process_of(host: Any, name: str = "pid", **arguments: Any) -> psutil.Process:
    answer = host.call(name, arguments)
    assert not answer.get("isError"), answer
    return psutil.Process(int(answer["content"][0]["text"].split()[0]))


def text_of(answer: Any) -> str:
    return str(answer["content"][0]["text"])


def test_a_pruned_entry_is_edited_and_the_gateway_starts_the_new_command(machine, started):
    machine.name(notes=probe())
    plain = machine.file.read_bytes()
    machine.run("export", "kiro", "--mode", "pruned", "--yes")
    pruned = machine.file.read_bytes()
    line = " ".join([sys.executable, *PROBE, "--edited"])
    made = machine.server("edit", "notes", "--command", line, "--env", f"PROBE_TOKEN={SECRET}")
    assert made["written"] and any("goes on starting it through" in one for one in made["notes"])
    host = started("notes")
    assert "delete_note" not in [tool["name"] for tool in host.tools()]
    running = process_of(host)
    assert running.cmdline()[-1] == "--edited" and running.environ()["PROBE_TOKEN"] == SECRET
    machine.run("scan", "--yes")
    assert "--edited" in machine.entries["notes"]["args"]
    machine.run("restore", "kiro", "--last")
    assert machine.file.read_bytes() == pruned
    assert "--edited" not in process_of(started("notes")).cmdline()
    machine.run("restore", "kiro", "--last")
    assert machine.file.read_bytes() == plain


def test_a_pruned_entry_is_renamed_switched_off_and_removed_each_with_a_way_back(machine, started):
    machine.name(notes=probe(), other=probe(PROBE_NAME="other"))
    machine.run("export", "kiro", "--mode", "pruned", "--yes")
    pruned = machine.file.read_bytes()
    machine.server("rename", "notes", "diary")
    assert "delete_note" not in [tool["name"] for tool in started("diary").tools()]
    machine.server("disable", "diary")
    assert machine.entries["diary"]["disabled"] is True
    machine.server("remove", "other")
    assert list(machine.entries) == ["diary"]
    machine.run("export", "kiro", "--mode", "as-is", "--yes")
    assert machine.entries["diary"] == {**probe(), "disabled": True}
    for _ in range(4):
        machine.run("restore", "kiro", "--last")
    assert machine.file.read_bytes() == pruned
    assert process_of(started("other")).is_running()


def test_a_pruned_url_is_edited_and_the_running_gateway_goes_to_the_new_one(machine, started):
    with serving(WEB, "streamable-http") as new:
        with serving(WEB, "streamable-http") as old:
            entry = {"url": f"http://127.0.0.1:{old}/mcp", "headers": {"X-Key": SECRET}}
            machine.name("*/steps", web=entry)
            machine.run("export", "kiro", "--mode", "pruned", "--yes")
            pruned = machine.file.read_bytes()
            host = started("web")
            assert host.call("add", {"a": 1, "b": 2})["content"][0]["text"] == "3"
            machine.server("edit", "web", "--url", f"http://127.0.0.1:{new}/mcp")
            assert machine.file.read_bytes() == pruned
        # the former server is gone

        def answered() -> bool:
            answer = host.call("add", {"a": 2, "b": 2})
            return not answer.get("isError") and answer["content"][0]["text"] == "4"

        host.until(answered, 30)
        machine.run("export", "kiro", "--mode", "as-is", "--yes")
        assert machine.entries["web"]["url"] == f"http://127.0.0.1:{new}/mcp"
        assert machine.entries["web"]["headers"] == {"X-Key": SECRET}


def test_behind_the_one_entry_a_server_is_switched_off_and_removed(machine, started):
    machine.name(notes=probe(), other=probe(PROBE_NAME="other"), third=probe(PROBE_NAME="third"))
    plain = machine.file.read_bytes()
    machine.run("export", "kiro", "--mode", "through", "--yes")
    through = machine.file.read_bytes()

    def calls(name: str) -> bool:
        answer = started("toolcrib").run(f"{name}/pid")
        return not answer.get("isError")

    assert calls("notes") and calls("other")
    machine.server("disable", "notes")
    assert not calls("notes") and calls("other")
    machine.server("remove", "other")
    assert not calls("notes") and not calls("other") and calls("third")
    machine.server("enable", "notes")
    assert calls("notes") and not calls("other")
    machine.run("export", "kiro", "--mode", "as-is", "--yes")
    assert list(machine.entries) == ["notes", "third"]
    assert machine.entries["notes"] == {**probe(), "disabled": False}
    for _ in range(4):
        machine.run("restore", "kiro", "--last")
    assert machine.file.read_bytes() == through
    assert calls("notes") and calls("other")
    machine.run("restore", "kiro", "--last")
    assert machine.file.read_bytes() == plain


def test_a_running_session_lets_go_of_a_server_that_is_switched_off(machine, started):
    """Its call under way ends, then its process; its tools say why; the host is told."""
    machine.name(notes=probe(), other=probe(PROBE_NAME="other"))
    machine.run("export", "kiro", "--mode", "through", "--yes")
    host = started("toolcrib")
    assert "notes" in json.dumps(host.tools())
    process, other = (
        psutil.Process(int(text_of(host.run(f"{n}/pid")))) for n in ("notes", "other")
    )
    slow = {"name": "notes/sleep", "arguments": {"ms": 4000}}
    under_way = host.ask("tools/call", {"name": "call_tool", "arguments": slow})
    shown = machine.server("disable", "notes")
    assert any("no more, also where it runs; a call under way" in one for one in shown["notes"])
    host.until(lambda: host.noted("notifications/tools/list_changed"), 30)
    assert not host.wait(under_way)["result"].get("isError")
    host.until(lambda: not process.is_running(), 30)
    for call in (("call_tool", {"name": "notes/pid", "arguments": {}}), ("notes__pid", {})):
        answer = host.call(*call)
        assert answer["isError"] and "switched off or removed for this host" in text_of(answer)
    assert "notes" not in json.dumps(host.tools()) and other.is_running()
    machine.server("enable", "notes")
    host.until(lambda: not host.run("notes/pid").get("isError"), 30)
    machine.run("restore", "kiro", "--last")
    host.until(lambda: host.run("notes/pid").get("isError"), 30)


def test_a_yes_that_comes_late_reaches_no_server_that_was_switched_off(machine, started):
    """Its process still runs: it has another call under way."""
    machine.name(notes=probe(), other=probe(PROBE_NAME="other"))
    machine.run("export", "kiro", "--mode", "through", "--yes")
    db = open_store(Path(machine.env["TOOLCRIB_HOME"]) / "toolcrib.db")
    with closing(db):
        with transaction(db):
            profiles.save_settings(db, 1, {"gateway": {"approve": ["notes/echo"]}})
        host = started("toolcrib")
        process = psutil.Process(int(text_of(host.run("notes/pid"))))
        slow = {"name": "notes/sleep", "arguments": {"ms": 8000}}
        under_way = host.ask("tools/call", {"name": "call_tool", "arguments": slow})
        echo = {"name": "notes/echo", "arguments": {"text": "hi"}}
        waits = host.ask("tools/call", {"name": "call_tool", "arguments": echo})
        (row,) = host.until(lambda: waiting(db, time.time()))
        machine.server("disable", "notes")
        host.until(lambda: host.noted("notifications/tools/list_changed"), 30)
        assert process.is_running() and not host.answered(under_way)
        decide(db, row.id, ALLOWED, time.time())
    assert "switched off or removed for this host" in text_of(host.wait(waits)["result"])
    assert not host.wait(under_way)["result"].get("isError")


def test_a_running_session_lets_go_of_a_server_by_the_name_that_it_has_today(machine, started):
    """Its entry still has the former name; the host is told of one that comes back, too."""
    machine.name(notes=probe(), other=probe(PROBE_NAME="other"))
    machine.run("export", "kiro", "--mode", "through", "--yes")
    db = open_store(Path(machine.env["TOOLCRIB_HOME"]) / "toolcrib.db")
    with closing(db), transaction(db):
        assert servers.rename(db, servers.by_name(db, "notes").id, "diary")
    host = started("toolcrib")
    process = psutil.Process(int(text_of(host.run("diary/pid"))))
    changed = "notifications/tools/list_changed"
    machine.server("disable", "notes")
    host.until(lambda: host.noted(changed), 30)
    host.until(lambda: not process.is_running(), 30)
    for call in (("call_tool", {"name": "diary/pid", "arguments": {}}), ("diary__pid", {})):
        answer = host.call(*call)
        assert answer["isError"] and "switched off or removed for this host" in text_of(answer)
    machine.server("enable", "notes")
    host.until(lambda: len(host.noted(changed)) > 1, 30)
    assert "diary" in json.dumps(host.tools())


def test_a_running_session_announces_a_server_that_comes_behind_its_entry(machine, started):
    machine.name(notes=probe(), agenda=probe(PROBE_NAME="agenda"))
    machine.run("export", "kiro", "--mode", "through", "--yes")
    machine.server("disable", "agenda")
    host = started("toolcrib")
    assert "agenda" not in json.dumps(host.tools())
    machine.server("enable", "agenda")
    host.until(lambda: host.noted("notifications/tools/list_changed"), 30)
    assert "agenda" in json.dumps(host.tools())


def test_a_running_session_lists_nothing_of_a_server_that_is_switched_off(
    machine, started, tmp_path
):
    """Not what it listed while it ran either; a list that the host was promised goes on empty."""
    changed = "notifications/prompts/list_changed"
    greets = {"prompts/list": {"prompts": [{"name": "greet"}]}, "announce": [changed]}
    plain = {"initialize": {"capabilities": {"tools": {}}}}
    machine.name(
        "other/read",
        notes=scripted(tmp_path / "notes.json", **greets),
        other=scripted(tmp_path / "other.json", **plain),
    )
    machine.run("export", "kiro", "--mode", "through", "--yes")
    host = started("toolcrib")
    host.run("notes/read")
    host.until(lambda: host.noted(changed))
    assert "greet" in json.dumps(host.request("prompts/list"))

    def announced() -> str:
        methods = " ".join(note["method"] for note in host.notes)
        return methods.partition("notifications/tools/list_changed")[2]

    machine.server("disable", "notes")
    host.until(lambda: changed in announced(), 30)
    assert host.request("prompts/list")["prompts"] == []
    assert not host.noted("notifications/resources/list_changed")  # never promised
    machine.server("enable", "notes")
    host.until(lambda: "greet" in json.dumps(host.request("prompts/list")), 30)


def test_a_list_that_comes_late_from_a_server_that_is_trusted_no_more_is_not_kept(
    machine, started, tmp_path
):
    changed, script, go = "notifications/prompts/list_changed", tmp_path / "s.json", tmp_path / "go"
    listed = {"prompts": [{"name": "greet"}]}
    notes = scripted(script, **{"prompts/list": listed})
    machine.name("other/read", notes=notes, other=scripted(tmp_path / "other.json"))
    machine.run("export", "kiro", "--mode", "through", "--yes")
    host = started("toolcrib")
    later = {"prompts": [{"name": "wave"}]}
    scripted(script, **{"announce": [changed]})
    host.run("notes/read")
    host.until(lambda: host.noted(changed))
    scripted(script, **{"prompts/list": later, "wait:prompts/list": str(go)})
    listing = host.ask("prompts/list")

    def trust(trusted: bool) -> None:
        with closing(open_store(tmp_path / "toolcrib/toolcrib.db")) as db, transaction(db):
            servers.set_trusted(db, servers.by_name(db, "notes").id, trusted)

    def is_refused() -> bool:
        number = host.ask("prompts/get", {"name": "notes__greet"})
        host.tools()  # answered after it, where that did not go to the server
        return host.answered(number)

    assert not is_refused()
    trust(False)
    host.until(is_refused, 30)
    go.touch()
    assert host.wait(listing)["result"]["prompts"] == []
    trust(True)
    shown = host.until(lambda: host.request("prompts/list")["prompts"], 30)
    assert [prompt["name"] for prompt in shown] == ["notes__greet"]


def test_two_hosts_with_the_same_servers_keep_theirs_until_they_start_anew(machine, started):
    """Nothing in a session says whose it is, so no session may lose a server by a guess."""
    machine.twin(notes=probe(), other=probe(PROBE_NAME="o"))
    machine.name(notes=probe(), other=probe(PROBE_NAME="o"))
    for name in ("kiro", "windsurf"):
        machine.run("export", name, "--mode", "through", "--yes")
    host = started("toolcrib")
    assert not host.run("notes/pid").get("isError")
    shown = machine.server("disable", "notes")
    assert any(
        "may reach it through Toolcrib until its next start. A running session does not say" in n
        for n in shown["notes"]
    )
    assert "Windsurf" in json.dumps(shown["notes"])
    assert "notes" in json.dumps(host.tools()) and not host.run("notes/pid").get("isError")
    assert started("toolcrib").run("notes/pid")["isError"]


def seen(machine: Machine, host: Any) -> None:
    """Wait until a session has taken in everything that was written before."""
    machine.run("profile", "off", "other/pid")
    host.until(lambda: "turned off" in text_of(host.run("other/pid")), 30)
    machine.run("profile", "on", "other/pid")
    host.until(lambda: not host.run("other/pid").get("isError"), 30)


def test_a_running_session_gains_no_server_by_a_guess(machine, started):
    """Another host's file names one more: a session that may be either's does not reach it."""
    machine.name_two_alike()
    host = started("toolcrib")
    assert not host.run("notes/pid").get("isError")
    shown = machine.server("enable", "secret", host="windsurf")
    assert any("again from its next start on. A running" in one for one in shown["notes"])
    seen(machine, host)
    assert host.run("secret/pid")["isError"] and not host.run("notes/pid").get("isError")
    machine.server("enable", "secret")  # by now both files name it
    host.until(lambda: not host.run("secret/pid").get("isError"), 30)


def test_a_host_whose_file_names_others_by_now_keeps_no_server_in_a_session(machine, started):
    """It named the same servers once, and says nothing for the one that is switched off."""
    servers = {name: probe(PROBE_NAME=name) for name in ("notes", "other")}
    machine.twin(**servers)
    machine.name(**servers)
    for name in ("kiro", "windsurf"):
        machine.run("export", name, "--mode", "through", "--yes")
    machine.server("disable", "notes", host="windsurf")
    host = started("toolcrib")
    assert not host.run("notes/pid").get("isError")
    shown = machine.server("disable", "notes")
    assert any("reaches it no more, also where it runs" in one for one in shown["notes"])
    host.until(lambda: host.run("notes/pid").get("isError"), 30)


def test_a_gateway_that_comes_anew_for_a_running_host_follows_that_hosts_file(machine, started):
    """A backend that was started again gets the words that the entry had when the host started."""
    machine.name(notes=probe(), other=probe(PROBE_NAME="other"))
    machine.run("export", "kiro", "--mode", "through", "--yes")
    entry = machine.entries["toolcrib"]
    machine.server("disable", "notes")
    assert "notes" in json.dumps(entry) and "notes" not in json.dumps(machine.entries["toolcrib"])
    again = started("toolcrib", entry)
    answer = again.run("notes/pid")
    assert answer["isError"] and "switched off or removed for this host" in text_of(answer)
    assert not again.run("other/pid").get("isError")
    machine.server("enable", "notes")
    again.until(lambda: not again.run("notes/pid").get("isError"), 30)


def test_a_gateway_that_comes_anew_does_not_follow_the_file_of_another_host(machine, started):
    """The other file names just what the words name, but the words may be older than both."""
    machine.name_two_alike()
    entry = machine.entries["toolcrib"]
    machine.server("disable", "notes")
    again = started("toolcrib", entry)
    machine.server("enable", "secret", host="windsurf")
    seen(machine, again)
    assert again.run("secret/pid")["isError"] and not again.run("notes/pid").get("isError")
