"""Every verb's JSON keeps the shape that its help promises, and refusals are sentences."""

import io
import json
import os
import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import apsw
import pytest

from app.cli.main import run
from app.core.context import AppContext
from app.hosts.facts import load_hosts
from store import tools
from store.connection import transaction
from store.records import NewTool, TokenCount
from tests.app.cli.conftest import BOTH, CURSOR

Add = Callable[..., int]
Verb = Callable[..., Any]


def keys(value: dict[str, Any]) -> set[str]:
    return set(value)


def test_scan_without_consent_has_the_promised_shape(verb: Verb) -> None:
    found = verb("scan", code=4)
    assert {"servers", "counted", "encoded", "files"} <= keys(found)
    server = next(s for s in found["servers"] if s["name"] == "github")
    assert {"name", "host", "status", "problem", "tools"} <= keys(server)
    assert (server["host"], server["tools"]) == ("cursor", 2)


def test_footprint(verb: Verb) -> None:
    found = verb("footprint", "--tools")
    assert (found["total_tokens"], found["tokenizer"]) == (200, "o200k_base")
    github = next(s for s in found["servers"] if s["name"] == "github")
    assert (github["tools"], github["tokens"]) == (2, 200)
    assert [t["name"] for t in github["list"]] == ["create_issue", "list_issues"]


def test_footprint_says_whose_share_of_a_window_it_names(verb: Verb, capsys: Any) -> None:
    assert verb("footprint")["total_tokens"] == 200
    assert run(["footprint"]) == 0
    assert "\n\nAll servers together are 0 % of a 200,000 window." in capsys.readouterr().out


def test_route_by_words(verb: Verb) -> None:
    found = verb("route", "create an issue", "--words-only")
    assert {"query", "tools", "tokens"} <= keys(found)
    assert {"server", "name", "score", "iso", "in", "why", "tokens"} <= keys(found["tools"][0])
    assert found["tokens"] == sum(t["tokens"] for t in found["tools"] if t["in"])


@pytest.mark.encoder
def test_route_says_why_no_tool_is_listed(verb: Verb, capsys: Any) -> None:
    assert verb("route", "asdkjh qwe")["tools"] == []
    assert run(["route", "asdkjh qwe"]) == 0
    assert capsys.readouterr().out == (
        "No tool fits. No word of the query is known. Say in other words what a tool should do.\n"
    )


def test_check_says_block_with_its_exit_code(verb: Verb) -> None:
    assert verb("check", "--budget", "1000")["verdict"] == "PASS"
    found = verb("check", "--budget", "100", code=4)
    assert (found["verdict"], found["tokens"], found["budget"]) == ("BLOCK", 200, 100)
    assert verb("check", "--budget", "210", "--warn", "80")["verdict"] == "WARN"
    assert verb("check", "--budget", "210", "--fail-on", "warn", code=4)["verdict"] == "WARN"


def test_check_of_a_host_and_of_all_servers(verb: Verb) -> None:
    (cursor,) = verb("footprint")["hosts"]
    assert (cursor["id"], cursor["tools"], cursor["tokens"]) == ("cursor", 3, 300)
    assert verb("check", "--budget", "1000")["host"] == ""
    found = verb("check", "--budget", "100", "--host", "worst", code=4)
    assert (found["host"], found["tokens"], found["verdict"]) == ("cursor", 300, "BLOCK")
    verb("check", "--host", "zed", code=1)


def test_check_suggests_moves_and_parts(verb: Verb, db: apsw.Connection, add_server: Add) -> None:
    add_server("copy", "create_issue")
    found = verb("check", "--budget", "250", "--suggest", code=4)
    (move,) = found["moves"]
    assert (move["kind"], move["saves"], move["needed"]) == ("duplicate", 100, True)
    assert sum(part["tools"] for part in found["parts"]) == 3


def test_a_proposed_profile_names_its_servers_once(
    verb: Verb, db: apsw.Connection, add_server: Add, capsys: Any
) -> None:
    for name in ("copy", "third"):
        add_server(name, "one", "two")
    parts = verb("check", "--budget", "250", "--suggest", code=4)["parts"]
    assert run(["check", "--budget", "250", "--suggest"]) == 4
    lines = capsys.readouterr().out.splitlines()
    start = lines.index("Or give narrower agents a profile each:") + 1
    for part, line in zip(parts, lines[start:], strict=False):
        assert all(line.count(server) == 1 for server in part["servers"]), line
    assert "  copy: 200 tokens" in lines


def test_the_command_of_a_move_names_every_tool_of_it(
    verb: Verb, db: apsw.Connection, add_server: Add, capsys: Any
) -> None:
    names = [*(f"tool{n}" for n in range(12)), "odd name's [1]"]
    add_server("one", *names)
    add_server("two", *names)
    verb("profile", "create", "it's mine")
    argv = ["check", "--budget", "1000", "--suggest", "--profile", "it's mine"]
    (move,) = [m for m in verb(*argv, code=4)["moves"] if m["needed"]]
    before = verb("footprint", "--profile", "it's mine")["total_tokens"]
    words = shlex.split(move["command"])
    assert words[0] == "toolcrib" and len(move["tools"]) == 13
    off = verb(*words[1:])
    assert sorted(off["changed"]) == sorted(move["tools"])
    assert before - off["tokens"] == move["saves"] == 1300
    assert run([*argv[:-1], "default"]) == 4
    line = next(x for x in capsys.readouterr().out.splitlines() if "profile off" in x)
    assert line.count("two/") == 13


def test_what_is_proposed_for_a_host_is_of_its_own_servers(
    verb: Verb, db: apsw.Connection, add_server: Add
) -> None:
    add_server("elsewhere", "create_issue", "big")
    with transaction(db):
        db.execute("UPDATE entries SET host = 'vscode' WHERE name = 'elsewhere'")
    found = verb("check", "--budget", "100", "--host", "cursor", "--suggest", code=4)
    assert {tool.split("/")[0] for move in found["moves"] for tool in move["tools"]} == {"github"}
    assert {server for part in found["parts"] for server in part["servers"]} == {"github"}


def test_a_check_of_nothing_fails_with_a_sentence(
    ctx: AppContext, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("TOOLCRIB_HOME", str(ctx.paths.home))
    for host in ([], ["--host", "worst"]):
        argv = ["check", "--budget", "1000", *host]
        assert run(argv) == 1
        text = capsys.readouterr()
        assert "PASS" not in text.out
        assert "No tools have been read" in text.err and "toolcrib scan --yes" in text.err
        assert run([*argv, "--allow-empty"]) == 0
        assert capsys.readouterr().out.startswith("PASS")


def test_a_check_after_servers_that_failed_is_no_pass(
    ctx: AppContext, db: apsw.Connection, add_server: Add, monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path, capsys: Any,
) -> None:  # fmt: skip
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("TOOLCRIB_HOME", str(ctx.paths.home))
    add_server("broken")
    assert run(["check", "--budget", "1000"]) == 1
    assert "Not read yet: 1 server." in capsys.readouterr().err
    add_server("files", "read_file")
    with transaction(db):
        db.execute("UPDATE servers SET read_at = 1 WHERE name = 'files'")
    assert run(["check", "--budget", "1000"]) == 0
    assert "Not counted, as not read: 1 server (broken)." in capsys.readouterr().err


def test_what_writing_the_host_frees_by_itself_needs_no_suggestion(
    verb: Verb, capsys: pytest.CaptureFixture[str]
) -> None:
    assert verb("check", "--host", "cursor")["write"] == ""
    verb("profile", "off", "github/list_*")
    found = verb("check", "--budget", "150", "--host", "cursor", "--suggest", code=4)
    assert found["tokens"] == 300  # as it is, the host gets those too that are off or not trusted
    assert found["moves"] == []
    assert found["write"] == "toolcrib export cursor --mode pruned"
    assert run(["check", "--budget", "150", "--host", "cursor"]) == 4
    assert capsys.readouterr().out.endswith(
        "What is off leaves Cursor's model only when its file is written:\n"
        "  toolcrib export cursor --mode pruned\n"
    )
    found = verb("check", "--budget", "50", "--host", "cursor", "--suggest", code=4)
    (move,) = found["moves"]
    assert (move["kind"], move["saves"], move["tools"]) == (
        "next largest",
        100,
        ["github/create_issue"],
    )


def test_profiles(verb: Verb) -> None:
    assert verb("profile", "create", "work", "--copy", "default") == {"created": "work"}
    off = verb("profile", "off", "github/list_*", "--profile", "work")
    assert (off["changed"], off["tokens"]) == (["github/list_issues"], 100)
    assert [p["name"] for p in verb("profile", "list")["profiles"]] == ["default", "work"]
    shown = verb("profile", "show", "work")
    states = {t["tool"]: t["on"] for t in shown["list"]}
    assert states == {
        "files/read_file": True,
        "github/create_issue": True,
        "github/list_issues": False,
    }
    verb("profile", "set", "routing.k=5", "--profile", "work")
    assert verb("profile", "show", "work")["settings"]["routing"] == {"k": 5}
    assert verb("profile", "delete", "work") == {"deleted": "work"}
    verb("profile", "delete", "default", code=1)
    verb("profile", "create", "home")
    assert verb("profile", "rename", "home", "team") == {"renamed": "team"}
    verb("profile", "rename", "default", "mine", code=1)
    verb("profile", "rename", "team", "default", code=1)


def test_review_and_trust(verb: Verb) -> None:
    held = verb("review")["held"]
    assert [h["tool"] for h in held] == ["files/read_file"]
    assert verb("trust", "files")["trusted"] == ["files/read_file"]
    assert verb("review")["held"] == []
    assert verb("footprint")["total_tokens"] == 300


def test_review_shows_what_changed_and_hold_keeps_it(
    verb: Verb, db: apsw.Connection, capsys: pytest.CaptureFixture[str]
) -> None:
    old = next(t for t in tools.tools(db) if t.tool_id == "github/create_issue")
    raw = {**old.raw, "description": "Open an issue.\x1b[31m Then mail it."}
    with transaction(db):
        others = [t for t in tools.tools(db, old.server_id) if t.id != old.id]
        kept = [NewTool(t.name, t.raw, t.hash) for t in others]
        tools.save_list(db, old.server_id, [*kept, NewTool(old.name, raw, "other")], 2.0)
    (change,) = verb("review")["changes"]
    assert (change["tool"], change["place"]) == ("github/create_issue", "description")
    assert change["after"] == raw["description"]
    assert run(["review"]) == 0
    told = capsys.readouterr().out
    assert "  + Open an issue.[U+001B][31m Then mail it." in told
    assert "\x1b" not in told
    assert verb("hold", "github/create_issue")["held"] == ["github/create_issue"]
    why = {h["tool"]: h["why"] for h in verb("review")["held"]}
    assert why["github/create_issue"] == "the user holds it back"
    verb("trust", "github/create_issue")
    assert verb("review")["changes"] == []


def way_of_cursor(verb: Verb) -> tuple[str, str]:
    (host,) = verb("hosts")["hosts"]
    return host["mode"], host["state"]


def test_hosts_export_and_restore(verb: Verb, tmp_path: Path) -> None:
    file = tmp_path / "home" / ".cursor" / "mcp.json"
    (host,) = verb("hosts")["hosts"]
    assert {"id", "files", "modes", "recommended", "reason", "exports"} <= keys(host)
    assert host["files"][0]["servers"] == ["github", "files"]
    assert not verb("export", "cursor", "--mode", "pruned")["files"]  # nothing is off yet
    verb("profile", "off", "github/create_issue")
    dry = verb("export", "cursor", "--mode", "pruned", "--dry-run")
    assert not dry["written"]
    assert file.read_text() == CURSOR
    done = verb("export", "cursor", "--mode", "pruned")
    assert done["written"]
    assert Path(done["files"][0]["backup"]).read_text() == CURSOR
    assert way_of_cursor(verb) == ("pruned", "in sync")
    for elsewhere in (CURSOR, "{}"):
        written = file.read_text()
        file.write_text(elsewhere)
        assert way_of_cursor(verb) == ("as-is", "changed outside")
        file.write_text(written)
    assert verb("restore", "cursor") == {"restored": [str(file)]}
    assert file.read_text() == CURSOR
    assert len(verb("hosts", "--all")["hosts"]) == len(load_hosts())


def test_restore_says_what_it_would_drop_and_drops_it_when_told_to(
    verb: Verb, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "home" / ".cursor" / "mcp.json"
    verb("profile", "off", "github/create_issue")
    verb("export", "cursor", "--mode", "pruned")
    tree = json.loads(file.read_text())
    tree["mcpServers"]["mine"] = {"command": "mine"}
    edited = json.dumps(tree)
    file.write_text(edited)
    for words in (["restore", "cursor"], ["restore", "all"]):
        assert run(words) == 4
        err = capsys.readouterr().err
        assert f"{file} changed since Toolcrib wrote it. New in the file: mine." in err
        assert "add --yes" in err and file.read_text() == edited
        assert ("Write by write keeps them: toolcrib restore cursor --last" in err) == (
            words[1] == "cursor"
        )
    assert run(["restore", "cursor", "--yes"]) == 0
    assert "The file as it was is kept as" in capsys.readouterr().out
    assert file.read_text() == CURSOR


def test_a_refused_export_prints_what_to_paste(
    verb: Verb, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["export", "continue", "--mode", "through"]) == 1
    err = capsys.readouterr().err
    assert "does not write" in err and "- name: toolcrib" in err and "toolcrib-gateway" in err


def test_an_import_that_finds_nothing_is_refused_in_a_preview_too(
    verb: Verb, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "given.json"
    file.write_text('{"mcpServers": {}}')
    assert run(["import", str(file), "--dry-run"]) == 1
    assert "names no server" in capsys.readouterr().err


def test_import_dry_run_registers_nothing(verb: Verb, tmp_path: Path) -> None:
    file = tmp_path / "given.json"
    file.write_text(
        '{"mcpServers": {"x": {"command": "run", "args": ["--token", "abc123secret"]}}}'
    )
    found = verb("import", str(file), "--dry-run")
    assert found["servers"][0]["name"] == "x"
    assert "abc123secret" not in json.dumps(found)
    assert len(verb("footprint")["servers"]) == 2


def test_a_server_is_added_by_hand(verb: Verb) -> None:
    assert verb("add", "clock", "--env", "ZONE=UTC", "--", "run-clock") == {
        "added": "clock",
        "state": "added",
    }
    names = [s["name"] for s in verb("scan", code=4)["servers"]]
    assert "clock" in names


def test_each_answer_says_what_to_do_next(verb: Verb, db: apsw.Connection, capsys: Any) -> None:
    def texts(*words: str, code: int = 0) -> str:
        capsys.readouterr()
        assert run(words) == code
        return " ".join("".join(capsys.readouterr()).split())

    assert "0 of 2 servers read, 3 tools." in texts("scan", code=4)
    with transaction(db):
        db.execute("UPDATE servers SET status = 'read'")
    assert "2 of 2 servers read, 3 tools. See what they cost: toolcrib footprint" in texts(
        "scan", code=4
    )
    assert texts("labels", "list") == (
        "No query is labelled yet. Label one: toolcrib labels add QUERY SERVER/TOOL"
    )
    refused = texts("profile", "set", "routing.k=many", code=1)
    assert refused == "toolcrib: routing.k cannot be 'many'. It stays 10."
    native = texts("export", "cursor", "--mode", "native", code=1)
    assert native.endswith("no per-tool switches in its files. Choose pruned or through.")
    assert "There is no server called x. Known are: files, github." in texts(
        "server", "disable", "x", code=1
    )
    assert texts("rules", "status").startswith("host installed file")
    assert texts("hook", "status").startswith("host installed file")


def test_an_export_prints_an_install_link_instead_of_writing(
    verb: Verb, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    file = tmp_path / "home" / ".cursor" / "mcp.json"
    found = verb("export", "cursor", "--mode", "through", "--link")
    assert keys(found) == {"host", "link", "behind"} and found["host"] == "cursor"
    assert run(["export", "cursor", "--mode", "through", "--link"]) == 0
    shown = capsys.readouterr()
    assert shown.out.strip() == found["link"]
    assert "Open it on this computer. Cursor shows the entry and asks" in shown.err
    assert file.read_text() == CURSOR, "a link writes nothing"
    assert run(["export", "cursor", "--mode", "pruned", "--link"]) == 1
    assert "no install link for Cursor in this mode" in capsys.readouterr().err
    file.write_text("{ broken")
    assert run(["export", "cursor", "--mode", "through"]) == 1
    shown = capsys.readouterr()
    assert "from an install link: toolcrib export cursor --mode through --link" in shown.err


def test_a_project_is_a_folder_and_is_remembered_by_its_whole_path(
    verb: Verb,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "shop").mkdir()
    monkeypatch.chdir(tmp_path)
    for words in (["scan"], ["hosts"], ["export", "cursor", "--mode", "through"]):
        assert run([*words, "--project", "nosuch"]) == 1
        assert f"There is no folder {tmp_path / 'nosuch'}" in capsys.readouterr().err
    done = verb("export", "cursor", "--mode", "through", "--project", "shop", "--also", "github")
    assert done["files"][0]["path"] == str(tmp_path / "shop" / ".cursor" / "mcp.json")
    assert not (tmp_path / "nosuch").exists()


def test_hosts_tells_what_the_hosts_own_search_misses(
    verb: Verb, ctx: AppContext, db: apsw.Connection, tmp_path: Path
) -> None:
    (tmp_path / "home" / ".claude.json").write_text(CURSOR)
    with transaction(db):
        file = str(tmp_path / "home" / ".claude.json")
        db.execute(
            "UPDATE entries SET host = 'claude-code', file = ? WHERE name = 'github'", (file,)
        )
    claude = next(h for h in verb("hosts")["hosts"] if h["id"] == "claude-code")
    assert claude["own_search"] is None
    verb("labels", "add", "open new ticket", "github/create_issue")
    seen = next(h for h in verb("hosts")["hosts"] if h["id"] == "claude-code")["own_search"]
    assert (seen["host"], seen["queries"], seen["own"]) == ("Claude Code", 1, 0)


def test_export_adds_a_server_of_another_host_only_by_name(
    verb: Verb, add_server: Add, capsys: pytest.CaptureFixture[str]
) -> None:
    add_server("far", "look")
    through = ("export", "cursor", "--mode", "through")
    done = verb(*through)
    assert (done["behind"], done["also"]) == (["github"], [])
    (cursor,) = verb("hosts")["hosts"]
    assert cursor["behind"] == ["github"]
    done = verb(*through, "--also", "far")
    assert (done["behind"], done["also"]) == (["github", "far"], ["far"])
    assert "Cursor also reaches far" in " ".join(done["warnings"])
    done = verb(*through)
    assert done["also"] == ["far"] and not done["files"]
    assert verb(*through, "--own-only")["behind"] == ["github"]
    assert run([*through, "--also", "nothing"]) == 1
    assert "There is no server called nothing." in capsys.readouterr().err


def test_adding_twice_says_what_became_of_it(verb: Verb, capsys: Any) -> None:
    assert verb("add", "clock", "--", "run-clock")["state"] == "added"
    assert verb("add", "clock", "--", "run-clock")["state"] == "same"
    assert verb("add", "clock", "--", "run-other")["state"] == "replaced"
    assert run(["add", "clock", "--", "run-other"]) == 0
    words = capsys.readouterr().out
    assert "It was there already, just the same." in words and "Added" not in words


def test_a_name_that_a_host_has_already_is_said(verb: Verb, capsys: Any) -> None:
    assert run(["add", "github", "--", "run-clock"]) == 0
    assert "It is called github-2 here." in capsys.readouterr().out


def test_a_check_of_all_servers_names_the_hosts_that_are_over_their_own_limits(
    verb: Verb, add_server: Add, db: apsw.Connection, capsys: Any
) -> None:
    add_server("many", *(f"tool_{number}" for number in range(60)))
    with transaction(db):
        db.execute("UPDATE entries SET file = (SELECT min(file) FROM entries), host = 'cursor'")
    (home := Path(os.environ["HOME"]) / ".cursor/mcp.json").write_text(
        json.dumps({"mcpServers": BOTH | {"many": {"command": "many"}}})
    )
    assert home.is_file()
    assert run(["check", "--budget", "50000"]) == 0
    told = capsys.readouterr().out
    assert told.startswith("PASS: all servers together have ")
    assert "Cursor: BLOCK. 63 tools are 23 over the cap of 40." in told
    assert "exit code are those of all servers. Of the hosts: toolcrib check --host worst" in told
    (one,) = verb("check", "--budget", "50000")["hosts"]
    assert (one["id"], one["verdict"]) == ("cursor", "BLOCK")
    assert run(["check", "--host", "worst", "--budget", "50000"]) == 4
    assert capsys.readouterr().out.startswith("BLOCK: Cursor gets ")
    assert run(["check", "--budget", "50000", "--max-tools", "100"]) == 0
    assert "Cursor" not in capsys.readouterr().out


def test_tools_are_listed_by_their_tokens_and_a_change_says_how_many_are_left(
    verb: Verb, db: apsw.Connection, capsys: Any
) -> None:
    (last,) = [one.id for one in tools.tools(db) if one.name == "list_issues"]
    with transaction(db):
        tools.save_token_counts(db, [TokenCount(last, "o200k_base", 10, 40, 50, 0, 0, 300)])
    assert run(["footprint", "--tools"]) == 0
    lines = [line.split()[0] for line in capsys.readouterr().out.splitlines() if line[:2] == "  "]
    assert lines[:2] == ["list_issues", "create_issue"]
    assert run(["profile", "off", "github/list_issues"]) == 0
    assert capsys.readouterr().out.startswith("1 tool off. Now 1 of 3 are on, 100 tokens")
    assert run(["profile", "off", "github", "notion/*"]) == 1
    assert "No tool matches notion/*, so nothing was done." in capsys.readouterr().err
    assert verb("profile", "list")["profiles"][0]["on"] == 1
    assert run(["trust", "github/list_issues"]) == 0
    assert capsys.readouterr().out == "1 tool trusted.\n"


def test_hosts_names_the_way_that_each_has_now_and_a_broken_file_is_named(
    verb: Verb, capsys: Any
) -> None:
    assert run(["hosts"]) == 0
    head, cursor = capsys.readouterr().out.splitlines()[:2]
    assert head.split()[2] == "way" and cursor.split()[2] == "as-is"
    verb("export", "cursor", "--mode", "through")
    file = Path(os.environ["HOME"]) / ".cursor/mcp.json"
    file.write_text("{ nothing")
    assert run(["hosts"]) == 0
    _, cursor, problem = capsys.readouterr().out.splitlines()[:3]
    assert "not readable" in cursor and cursor.endswith("see below") and str(file) not in cursor
    assert problem.startswith(f"cursor: {file}: The file is not valid JSON")
    assert run(["export", "cursor", "--mode", "pruned"]) == 1
    assert f"{file}: The file is not valid JSON" in capsys.readouterr().err


def test_what_is_only_listed_is_marked_and_not_proposed(verb: Verb, capsys: Any) -> None:
    rows = verb("find", "text generator for a welcome page", "--words-only")["servers"]
    assert {row["addable"] for row in rows} == {True, False}
    assert run(["find", "text generator for a welcome page", "--words-only"]) == 0
    told = capsys.readouterr().out
    assert "listed only" in told and "so Toolcrib does not add it." in told
    first = next(row["name"] for row in rows if row["addable"])
    assert f"toolcrib add --from {first} --dry-run" in told
    assert run(["add", "--from", first, "--dry-run"]) == 0
    other = next(row["name"] for row in rows if not row["addable"])
    capsys.readouterr()
    assert run(["add", "--from", other]) == 1
    assert f"{other} cannot be added" in capsys.readouterr().err


def test_a_listed_server_that_a_file_names_already_is_not_said_to_be_new(
    verb: Verb, capsys: Any
) -> None:
    memory = "npm/modelcontextprotocol.server-memory"
    first = verb("add", "--from", memory)
    assert first["state"] == "added" and first["added"] == "server-memory"
    assert verb("add", "--from", memory) | {"state": "added"} == first
    assert run(["add", "--from", memory, "another"]) == 0
    shown = capsys.readouterr().out
    assert "It was there already, called server-memory. Its tools stay as they are." in shown
    assert "Added" not in shown and "held" not in shown
    typed = verb("add", "third", "--", *shlex.split(first["command"]))
    assert typed == {"added": "server-memory", "state": "same"}


def test_a_config_over_the_budget_is_written_as_the_profile_says(verb: Verb, capsys: Any) -> None:
    file = Path(os.environ["HOME"]) / ".cursor/mcp.json"
    write = ["export", "cursor", "--mode", "pruned"]
    verb("trust", "files")
    verb("profile", "off", "github/list_issues")
    verb("profile", "set", "budget.tokens=150")
    verb("profile", "set", "budget.on_block=refuse")
    assert run(write) == run([*write, "--yes"]) == 1
    told = capsys.readouterr().err
    assert (
        "Not written, as the profile refuses it: 200 tokens are 50 over the limit of 150." in told
    )
    assert run([*write, "--dry-run"]) == 0 and file.read_text() == CURSOR
    verb("profile", "set", "budget.on_block=ask")
    assert run(write) == 4 and file.read_text() == CURSOR
    assert "To write it anyway, add --yes." in capsys.readouterr().err
    assert run([*write, "--yes"]) == 0 and file.read_text() != CURSOR
    verb("restore", "cursor")
    verb("profile", "set", "budget.max_tools=1")
    verb("profile", "set", "budget.tokens=9000")
    assert run(write) == 4
    assert "Nothing was written: 2 tools are 1 over the cap of 1." in capsys.readouterr().err
    verb("profile", "set", "budget.on_block=report")
    assert run(write) == 0


def test_a_tool_that_is_in_is_listed_whatever_its_rank(verb: Verb, capsys: Any) -> None:
    verb("profile", "pin", "github/create_issue")
    assert run(["route", "list issues", "--words-only", "--limit", "1"]) == 0
    rows = [line for line in capsys.readouterr().out.splitlines() if " In " in line]
    assert any("github/create_issue" in row for row in rows)
    assert len(rows) == sum(t["in"] for t in verb("route", "list issues", "--words-only")["tools"])


def test_joining_without_a_token_says_so_and_records_are_not_read_before_a_yes(
    verb: Verb, capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO(""))
    assert run(["team", "join", "http://127.0.0.1:9"]) == 1
    assert "No token was given." in capsys.readouterr().err
    assert run(["usage", "read"]) == 4
    assert "Records of these hosts would be read: " in capsys.readouterr().err
