"""`toolcrib lock` and `toolcrib check --project` over real servers, without a store."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import jsonschema
import pytest

from app.cli.footprint import FORMATS
from app.cli.main import run
from app.policy import check_formats

ROOT = Path(__file__).parents[3]
SERVER = ROOT / "tests" / "fakes" / "fake_server.py"
SARIF = ROOT / "tests" / "data" / "schemas" / "sarif-2.1.0-rtm.5.json"
Check = Callable[..., tuple[int, str, str]]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("TOOLCRIB_HOME", str(tmp_path / "store"))
    folder = tmp_path / "repo"
    folder.mkdir()
    tools(folder, "read_file", "write_file", "delete_file")
    return folder


@pytest.fixture
def call(capsys: pytest.CaptureFixture[str]) -> Check:
    def act(*argv: object) -> tuple[int, str, str]:
        capsys.readouterr()
        code = run([str(word) for word in argv])
        output = capsys.readouterr()
        return code, output.out, output.err

    return act


def tools(folder: Path, *names: str, text: str = "Does a thing", mode: str = "") -> None:
    """Let the project's file name one server with these tools."""
    raw = [{"name": n, "description": text, "inputSchema": {"type": "object"}} for n in names]
    env = {"FAKE_TOOLS": json.dumps(raw), "FAKE_MODE": mode}
    server = {"command": sys.executable, "args": [str(SERVER)], "env": env}
    (folder / ".mcp.json").write_text(json.dumps({"mcpServers": {"files": server}}))


def policy(folder: Path, text: str) -> None:
    (folder / ".toolcrib.toml").write_text(f"version = 1\n{text}")


def test_a_lock_is_written_and_checked_without_starting_anything(
    project: Path, call: Check, tmp_path: Path
) -> None:
    assert call("lock", "--project", project, "--yes")[0] == 0
    locked = json.loads((project / "toolcrib.lock").read_text())
    assert [t[0] for t in locked["servers"][0]["tools"]] == [
        "delete_file",
        "read_file",
        "write_file",
    ]
    (project / ".mcp.json").write_text(json.dumps({"mcpServers": {"x": {"command": "absent"}}}))
    code, out, _ = call("check", "--project", project)
    assert code == 0 and out.startswith("PASS: 3 tools with ")
    assert "no server was started" in out
    assert not (tmp_path / "store").exists()


def test_nothing_to_check_is_a_failure_with_a_sentence(project: Path, call: Check) -> None:
    code, out, err = call("check", "--project", project)
    assert code == 1 and not out
    assert "nothing was checked" in err and "toolcrib lock --project" in err


def test_servers_are_started_only_with_a_yes(project: Path, call: Check) -> None:
    code, out, err = call("check", "--project", project, "--start")
    assert code == 4 and not out
    assert "fake_server.py" in err and "Nothing was started." in err


def test_a_changed_text_and_added_tokens_are_named(project: Path, call: Check) -> None:
    call("lock", "--project", project, "--yes")
    tools(project, "read_file", "write_file", "new_tool", text="Does another thing entirely")
    code, out, _ = call("check", "--project", project, "--start", "--yes")
    assert code == 4 and out.startswith("BLOCK: 3 tools")
    assert "files/read_file: text changed (+1 tokens)." in out
    assert "files/new_tool: tool added" in out and "files/delete_file: tool removed" in out
    assert "Against the lock: +" in out


def test_the_policy_leaves_tools_out_and_limits_them(project: Path, call: Check) -> None:
    call("lock", "--project", project, "--yes")
    policy(project, '[budget]\nmax_tools = 2\n[tools]\noff = ["files/delete_*"]\n')
    code, out, _ = call("check", "--project", project)
    assert code == 0 and "The policy leaves out 1 of 3 tools." in out
    assert out.startswith("WARN: 2 tools")
    policy(project, "[budget]\nmax_tools = 2\n")
    code, out, _ = call("check", "--project", project)
    assert code == 4 and "3 tools are 1 over the cap of 2." in out


def test_the_word_destructive_is_no_pattern_that_names_no_tool(project: Path, call: Check) -> None:
    call("lock", "--project", project, "--yes")
    policy(project, '[tools]\nconfirm = ["destructive", "files/gone"]\n')
    code, out, _ = call("check", "--project", project)
    assert code == 0 and "files/gone names no tool." in out and "destructive" not in out


def test_a_policy_that_is_wrong_names_file_line_and_key(project: Path, call: Check) -> None:
    call("lock", "--project", project, "--yes")
    policy(project, "[budget]\nmax_tool = 2\n")
    code, _, err = call("check", "--project", project)
    assert code == 1 and ".toolcrib.toml, line 3: budget.max_tool is not a key" in err


def test_a_server_that_fails_blocks_and_is_not_called_removed(project: Path, call: Check) -> None:
    call("lock", "--project", project, "--yes")
    tools(project, "read_file", mode="exit")
    (project / ".mcp.json").write_text(
        json.dumps({"mcpServers": {"files": {"command": sys.executable, "args": ["-c", "pass"]}}})
    )
    code, out, _ = call("check", "--project", project, "--start", "--yes")
    assert code == 4 and "files: " in out and "removed" not in out
    before = (project / "toolcrib.lock").read_bytes()
    code, _, err = call("lock", "--project", project, "--yes")
    assert code == 1 and "The lock was not written." in err
    assert (project / "toolcrib.lock").read_bytes() == before


def test_a_project_without_servers_says_which_files_are_read(tmp_path: Path, call: Check) -> None:
    code, _, err = call("lock", "--project", tmp_path, "--yes")
    assert code == 1 and "names a server" in err and ".mcp.json" in err


def test_a_folder_that_is_missing_is_named(tmp_path: Path, call: Check) -> None:
    code, _, err = call("check", "--project", tmp_path / "none")
    assert code == 1 and "There is no folder" in err


def test_a_broken_file_of_the_project_is_named(project: Path, call: Check) -> None:
    (project / ".mcp.json").write_text("{")
    code, _, err = call("check", "--project", project, "--start", "--yes")
    assert code == 1 and str(project / ".mcp.json") in err


def test_the_same_server_in_two_files_is_one_and_others_of_its_name_stay_apart(
    project: Path, call: Check
) -> None:
    same = (project / ".mcp.json").read_text()
    (project / ".cursor").mkdir()
    (project / ".cursor" / "mcp.json").write_text(same)
    call("lock", "--project", project, "--yes")
    names = [s["name"] for s in json.loads((project / "toolcrib.lock").read_text())["servers"]]
    assert names == ["files"]
    tools(project / ".cursor", "other")
    (project / ".cursor" / ".mcp.json").rename(project / ".cursor" / "mcp.json")
    call("lock", "--project", project, "--yes")
    names = [s["name"] for s in json.loads((project / "toolcrib.lock").read_text())["servers"]]
    assert names == ["files", "files@cursor"]


def test_a_secret_of_a_command_is_not_in_the_lock(project: Path, call: Check) -> None:
    entry = json.loads((project / ".mcp.json").read_text())
    entry["mcpServers"]["files"]["args"] += ["--token", "ghp_abcdefghijklmnopqrstuvwxyz0123456789"]
    (project / ".mcp.json").write_text(json.dumps(entry))
    assert call("lock", "--project", project, "--yes")[0] == 0
    assert "ghp_" not in (project / "toolcrib.lock").read_text()


HOSTILE = ["<img src=x>", "a|b", "`x`", "[l](http://h)", "](x)", "\x1b[31m", "a\u202eb", "&amp;"]


@pytest.fixture
def hostile(project: Path, call: Check) -> Path:
    """A project whose tools' names and whose policy are written to break each format."""
    tools(project, *HOSTILE)
    call("lock", "--project", project, "--yes")
    tools(project, *HOSTILE, text="Changed")
    policy(project, '[budget]\nmax_tools = 1\n[tools]\noff = ["none/<x>"]\n')
    return project


def checked(call: Check, project: Path, form: str) -> str:
    code, out, err = call("check", "--project", project, "--start", "--yes", "--format", form)
    assert code == 4, err
    return out


def test_sarif_fits_its_schema(hostile: Path, call: Check) -> None:
    value = json.loads(checked(call, hostile, "sarif"))
    jsonschema.validate(value, json.loads(SARIF.read_text(encoding="utf-8")))
    results = value["runs"][0]["results"]
    assert {r["ruleId"] for r in results} == {"tool-changed", "budget", "unused-pattern"}
    assert {r["level"] for r in results} == {"error", "note"}


def test_junit_is_xml_with_a_failure_for_each_error(hostile: Path, call: Check) -> None:
    suite = ElementTree.fromstring(checked(call, hostile, "junit")).find("testsuite")
    assert suite is not None
    failures = suite.findall("testcase/failure")
    assert int(suite.attrib["tests"]) == len(suite.findall("testcase"))
    assert int(suite.attrib["failures"]) == len(failures) == len(HOSTILE) + 1


def test_markdown_holds_no_live_markup_of_a_server(hostile: Path, call: Check) -> None:
    text = checked(call, hostile, "markdown")
    assert "<img" not in text and "](x)" not in text.replace("\\]", "") and "http://" not in text
    rows = [line for line in text.splitlines() if line.startswith("| ")]
    assert all(line.replace("\\|", "").count("|") == 4 for line in rows)


def test_text_holds_no_control_character_of_a_server(hostile: Path, call: Check) -> None:
    text = checked(call, hostile, "text")
    assert "\x1b" not in text and "\u202e" not in text


def test_json_has_the_promised_shape(project: Path, call: Check) -> None:
    call("lock", "--project", project, "--yes")
    code, out, _ = call("check", "--project", project, "--json")
    value = json.loads(out)
    assert code == 0 and value["verdict"] == "PASS" and value["source"] == "lock"
    assert (value["tools"], value["all_tools"], value["findings"]) == (3, 3, [])


def test_the_formats_offered_are_those_that_exist() -> None:
    assert set(FORMATS) == set(check_formats.FORMATS)
