"""`toolcrib footprint --expand` asks real servers what is behind their tools, after a yes."""

import json
import sys
from collections.abc import Callable
from pathlib import Path

import apsw
import pytest

from app.cli.main import run
from app.core.context import AppContext
from app.registry.expanding import MOST_CALLS
from app.registry.gateway_servers import configured_servers
from store import events
from store.connection import transaction
from store.records import EventRecord, ServerSpec
from store.typed import Json

Capture = pytest.CaptureFixture[str]
Scan = Callable[..., Path]
SERVER = Path(__file__).parents[2] / "fakes" / "menu_server.py"


@pytest.fixture
def scan(ctx: AppContext, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: Capture) -> Scan:
    """scan("search"): reads a server of that kind, called menu; gives its log of calls."""
    monkeypatch.setenv("TOOLCRIB_HOME", str(ctx.paths.home))
    monkeypatch.setenv("HOME", str(tmp_path))

    def read(kind: str, *words: str, **more: str) -> Path:
        log = tmp_path / "calls.log"
        entry = {
            "command": sys.executable,
            "args": [str(SERVER), *words],
            "env": {"MENU": kind, "MENU_LOG": str(log), **more},
        }
        file = tmp_path / ".cursor" / "mcp.json"
        file.parent.mkdir(exist_ok=True)
        file.write_text(json.dumps({"mcpServers": {"menu": entry}}))
        assert run(["scan", "--yes"]) == 0
        capsys.readouterr()
        return log

    return read


def footprint(capture: Capture, *options: str) -> Json:
    assert run(["footprint", "--json", *options]) == 0
    value: Json = json.loads(capture.readouterr().out)
    return value


def calls(log: Path) -> list[list[object]]:
    return [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []


def test_nothing_is_started_without_a_yes(scan: Scan, capsys: Capture) -> None:
    log = scan("search")
    assert run(["footprint", "--expand"]) == 4
    output = capsys.readouterr().err
    assert "1 server to ask: menu. Each of them is started." in output
    assert "Nothing was started." in output and calls(log) == []
    whole = footprint(capsys)["expanded"]
    assert (whole["tools"], whole["unknown"]) == (3, ["menu"])
    assert run(["footprint"]) == 0
    text = capsys.readouterr().out
    assert "menu: 3 tools hide others; how many is not known." in text
    assert "3 tools listed, 3 with what they hide; 1 server not known." in text
    assert "Ask these servers what is behind: toolcrib footprint --expand" in text


def test_its_own_search_is_asked_and_both_numbers_are_shown(scan: Scan, capsys: Capture) -> None:
    log = scan("search")
    whole = footprint(capsys, "--expand", "--yes")["expanded"]
    (behind,) = whole["behind"]
    assert (behind["tools"], behind["source"], whole["unknown"]) == (5, "asked", [])
    assert whole["tools"] == 8 and behind["tokens"] > 0
    names = {name for name, _arguments in calls(log)}
    assert names == {"search_tools"}, "what destroys or calls is never called"
    assert run(["check"]) == 0
    assert "3 tools listed, at least 8 with what they hide." in capsys.readouterr().out
    assert run(["check", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["expanded"]["tools"] == 8


def test_a_search_by_group_is_asked_for_every_group(scan: Scan, capsys: Capture) -> None:
    log = scan("group")
    whole = footprint(capsys, "--expand", "--yes")["expanded"]
    assert (whole["tools"], whole["behind"][0]["tools"]) == (7, 5)
    asked = [arguments for _name, arguments in calls(log)]
    assert asked[:2] == [{"group": "files"}, {"group": "mail"}]


def test_a_list_that_grows_is_counted_after_its_switches(scan: Scan, capsys: Capture) -> None:
    log = scan("switch")
    whole = footprint(capsys, "--expand", "--yes")["expanded"]
    assert (whole["tools"], whole["behind"][0]["tools"]) == (8, 5)
    assert {name for name, _arguments in calls(log)} == {"enable_toolset"}


def test_a_list_of_what_a_server_is_about_is_never_called(scan: Scan, capsys: Capture) -> None:
    log = scan("large")
    whole = footprint(capsys, "--expand", "--yes")["expanded"]
    assert (whole["tools"], whole["behind"][0]["tools"]) == (29, 5)
    assert {name for name, _arguments in calls(log)} == {"enable_toolset"}


def test_a_call_that_the_gateway_saw_names_one_at_least(
    scan: Scan, db: apsw.Connection, ctx: AppContext, capsys: Capture
) -> None:
    scan("search")
    with transaction(db):
        detail = {"behind": "read_page"}
        events.add(db, [EventRecord(ctx.clock(), "call", tool="menu/call_tool", detail=detail)])
    (behind,) = footprint(capsys)["expanded"]["behind"]
    assert (behind["tools"], behind["source"]) == (1, "seen")
    assert run(["footprint"]) == 0
    assert "1 are behind (at least, by calls seen)." in capsys.readouterr().out


def test_a_switch_that_takes_tools_by_name_is_given_those_that_were_named(
    scan: Scan, capsys: Capture
) -> None:
    log = scan("named")
    whole = footprint(capsys, "--expand", "--yes")["expanded"]
    (behind,) = whole["behind"]
    assert (whole["tools"], behind["tools"], behind["source"]) == (7, 5, "asked")
    assert behind["tokens"] > 0, "definitions were listed once they were on"
    switched = [arguments for name, arguments in calls(log) if name == "enable_tools"]
    assert {len(one["tools"]) for one in switched} == {5}, "all at once"


def test_a_switch_that_lists_its_groups_when_asked_is_given_each(
    scan: Scan, capsys: Capture
) -> None:
    scan("asked")
    whole = footprint(capsys, "--expand", "--yes")["expanded"]
    assert (whole["tools"], whole["unknown"]) == (6, [])


SERVERS = {"files": {"command": "f"}, "mail": {"command": "m"}}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("menu.json", json.dumps({"mcpServers": {**SERVERS, "old": {"disabled": True}}})),
        ("menu.json", json.dumps({"servers": [{"name": one} for one in SERVERS]})),
        ("menu.yaml", "servers:\n  files: {command: f}\n  mail: {command: m}\n"),
        ("menu.kdl", 'mcp "files" {\n  command "f"\n}\nmcp "mail" {\n  command "m"\n}\n'),
    ],
)
def test_a_server_that_a_gateway_did_not_reach_makes_its_count_one_in_part(
    scan: Scan, capsys: Capture, tmp_path: Path, name: str, text: str
) -> None:
    config = tmp_path / name
    config.write_text(text)
    scan("gateway", f"--config={config}", MENU_REACHED="files")
    whole = footprint(capsys, "--expand", "--yes")["expanded"]
    (behind,) = whole["behind"]
    assert (behind["tools"], behind["missing"], whole["partial"]) == (3, ["mail"], ["menu"])
    assert run(["footprint"]) == 0
    printed = capsys.readouterr().out
    assert "In part: no tool of mail is counted, which it may not have reached." in printed
    assert "5 with what they hide; menu counted in part." in printed
    assert "Ask these servers what is behind: toolcrib footprint --expand" in printed
    assert run(["check"]) == 0
    assert "menu counted in part" in capsys.readouterr().out
    scan("gateway", f"--config={config}", MENU_REACHED="files,mail")
    whole = footprint(capsys, "--expand", "--yes")["expanded"]
    (behind,) = whole["behind"]
    assert (behind["tools"], behind["missing"], whole["partial"]) == (5, [], [])


def test_the_config_of_a_host_in_its_folder_is_not_the_gateways(
    scan: Scan, capsys: Capture, tmp_path: Path
) -> None:
    (tmp_path / ".mcp.json").write_text(json.dumps({"mcpServers": {"mail": {"command": "m"}}}))
    scan("gateway", MENU_REACHED="files")
    assert footprint(capsys, "--expand", "--yes")["expanded"]["partial"] == []


def test_a_server_whose_name_begins_anothers_is_not_taken_for_reached(
    scan: Scan, capsys: Capture, tmp_path: Path
) -> None:
    config = tmp_path / "menu.json"
    named = {"git": "github_list", "mail": "mail-read", "time": "timeNow", "web": "WEBPAGE_read"}
    config.write_text(json.dumps({"mcpServers": {one: {"command": one} for one in named}}))
    scan("gateway", str(config), MENU_REACHED="files", MENU_NAMED=" ".join(named.values()))
    (behind,) = footprint(capsys, "--expand", "--yes")["expanded"]["behind"]
    assert (behind["tools"], behind["missing"]) == (7, ["git", "web"])


def test_missing_servers_are_asked_for_within_the_most_calls_of_a_server(
    scan: Scan, capsys: Capture, tmp_path: Path
) -> None:
    config = tmp_path / "menu.json"
    names = [f"far-{number}" for number in range(150)]
    config.write_text(json.dumps({"mcpServers": {one: {"command": one} for one in names}}))
    log = scan("gateway", str(config), MENU_REACHED="files")
    (behind,) = footprint(capsys, "--expand", "--yes")["expanded"]["behind"]
    assert len(calls(log)) == MOST_CALLS and behind["missing"] == sorted(names)


def test_a_folder_that_cannot_be_listed_names_no_server_and_ends_nothing(tmp_path: Path) -> None:
    config = tmp_path / "menu.json"
    config.write_text(json.dumps({"mcpServers": {"mail": {"command": "m"}}}))
    folder = tmp_path / ("long" * 64)  # longer than a name may be, for every user
    spec = ServerSpec("stdio", "", "menu", ("--config", str(config)), cwd=str(folder))
    assert configured_servers(spec) == ("mail",)
