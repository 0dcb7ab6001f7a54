"""`toolcrib server` changes one server: in Toolcrib, or in the file of a host, after a dry run."""

import json
from pathlib import Path

import pytest

from app.cli.main import run
from app.hosts.launch import HTTP, STDIO, LaunchSpec
from app.hosts.places import Places
from app.hosts.reading import read_hosts
from app.registry.importing import add_server
from app.registry.register import register
from app.secrets.secret_store import SecretStore
from app.signin.grant import Grant, kept, load, save
from store import servers, tools
from store.records import NewTool

SECRET = "sup3r-s3cret-value-42"
CURSOR = {"mcpServers": {"github": {"command": "npx", "args": ["g"], "env": {"TOKEN": SECRET}}}}
KIRO = {"mcpServers": {"files": {"command": "npx", "args": ["f"]}}}


@pytest.fixture
def home(ctx, monkeypatch, tmp_path):
    home = tmp_path / "home"
    for path, content in ((".cursor/mcp.json", CURSOR), (".kiro/settings/mcp.json", KIRO)):
        (home / path).parent.mkdir(parents=True)
        (home / path).write_text(json.dumps(content, indent=2) + "\n")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("TOOLCRIB_HOME", str(ctx.paths.home))
    ctx.paths.create()
    db = ctx.open_store()
    register(ctx, db, read_hosts(Places.here()))
    add_server(ctx, db, "mine", LaunchSpec(STDIO, "uvx", ("mine",)))
    db.close()
    return home


@pytest.fixture
def verb(home, capsys):
    """Runs `toolcrib server ...`; its JSON document, or what stderr says where it refuses."""

    def call(*argv, code=0):
        capsys.readouterr()
        assert run(["server", *argv, "--json"]) == code
        out = capsys.readouterr()
        return out.err if code else json.loads(out.out)

    return call


def known(ctx):
    db = ctx.open_store()
    try:
        return {server.name: server for server in servers.all_servers(db)}
    finally:
        db.close()


def test_disable_and_enable_in_toolcrib(verb, ctx, capsys):
    done = verb("disable", "github")
    assert done == {"server": "github", "action": "disable", "disabled": True}
    assert known(ctx)["github"].disabled
    assert run(["scan", "github"]) == 1
    assert "disabled in Toolcrib" in capsys.readouterr().err
    assert verb("enable", "github")["disabled"] is False
    assert "Known are: files, github, mine" in verb("disable", "nobody", code=1)


def test_an_own_server_is_edited_renamed_and_removed(verb, ctx):
    verb("edit", "mine", "--command", "uvx 'other one' -v", "--env", "A=1")
    spec = known(ctx)["mine"].spec
    assert (spec.args, spec.env_names) == (("other one", "-v"), ("A",))
    verb("rename", "mine", "ours")
    verb("remove", "ours")
    assert set(known(ctx)) == {"files", "github"}
    assert "--host cursor" in verb("remove", "github", code=1)


def test_a_name_that_was_given_up_is_another_server_when_it_is_added_again(verb, ctx):
    verb("rename", "mine", "ours")
    old = known(ctx)["ours"]
    db = ctx.open_store()
    add_server(ctx, db, "mine", LaunchSpec(STDIO, "uvx", ("another",)))
    db.close()
    now = known(ctx)
    assert (now["ours"].id, now["ours"].spec) == (old.id, old.spec)
    assert now["mine"].spec.args == ("another",)
    verb("rename", "mine", "third")
    verb("edit", "ours", "--env", "A=1")
    assert {"ours", "third"} < set(known(ctx))


def test_a_sign_in_goes_along_with_a_new_name(verb, ctx):
    url = "https://mcp.example/one"
    db = ctx.open_store()
    add_server(ctx, db, "linear", LaunchSpec(HTTP, url=url))
    db.close()
    store = SecretStore.open(ctx.paths)
    save(store, "linear", Grant(url, "access", "client", "https://mcp.example/token"))
    verb("rename", "linear", "lin ear")
    assert load(store, "lin ear", url).access_token == "access"
    assert kept(store, "linear") is None
    verb("edit", "lin ear", "--url", "https://mcp.example/two")
    assert kept(store, "lin ear") is None


def test_the_secrets_of_a_server_go_when_it_is_removed(verb, ctx):
    verb("edit", "mine", "--env", f"TOKEN={SECRET}")
    assert SECRET in ctx.paths.secrets.read_text()
    verb("remove", "mine")
    assert SECRET not in ctx.paths.secrets.read_text()


def test_an_edit_in_a_file_of_two_hosts_keeps_the_server_and_its_id(verb, home, ctx):
    """A project's .mcp.json is Claude Code's and Copilot CLI's."""
    file = home / "work/.mcp.json"
    file.parent.mkdir()
    file.write_text('{"mcpServers": {"ours": {"command": "uvx", "args": ["o"]}}}\n')
    db = ctx.open_store()
    register(ctx, db, read_hosts(Places.here(file.parent)))
    db.execute("UPDATE servers SET read_at = 1")
    db.close()
    server = known(ctx)["ours"]
    assert len({entry.host for entry in server.entries}) == 2
    done = verb("edit", "ours", "--host", "claude-code", "--env", "A=1")
    assert any("Also read by" in note and "Copilot CLI" in note for note in done["notes"])
    assert not any("where it stays" in note for note in done["notes"])
    now = known(ctx)["ours"]
    assert (now.id, now.spec.env_names, len(now.entries)) == (server.id, ("A",), 2)
    verb("rename", "ours", "hub", "--host", "copilot-cli")
    assert {entry.name for entry in known(ctx)["ours"].entries} == {"hub"}
    verb("remove", "ours", "--host", "claude-code")
    assert "ours" not in known(ctx)


def test_a_server_that_stands_twice_in_one_file_is_told_by_its_scope(verb, home, ctx):
    """Claude Code keeps a user's and each folder's own servers in one file."""
    file, folder = home / ".claude.json", str(home / "my work")
    both = {"mcpServers": {"twin": {"command": "uvx", "args": ["t"]}}}
    file.write_text(json.dumps(both | {"projects": {folder: both}}))
    db = ctx.open_store()
    register(ctx, db, read_hosts(Places.here()))
    db.close()
    refusal = verb("remove", "twin", "--host", "claude-code", code=1)
    assert f"Add --scope: 'local:{folder}', user" in refusal
    verb("remove", "twin", "--host", "claude-code", "--scope", f"local:{folder}")
    left = json.loads(file.read_text())
    assert "twin" in left["mcpServers"] and not left["projects"][folder]["mcpServers"]


def test_a_dry_run_shows_the_difference_without_secrets_and_writes_nothing(home, capsys):
    file = home / ".cursor/mcp.json"
    before = file.read_bytes()
    words = ["server", "edit", "github", "--host", "cursor", "--env", "TOKEN=n3w-s3cret-value-1"]
    assert run([*words, "--command", "npx h", "--dry-run"]) == 0
    text = capsys.readouterr().out
    assert '-        "g"' in text and '+        "h"' in text and "Nothing was written" in text
    assert SECRET not in text and "n3w-s3cret" not in text
    assert file.read_bytes() == before


def test_a_dry_run_of_a_secret_alone_shows_which_line_changes(home, capsys):
    words = ["server", "edit", "github", "--host", "cursor", "--env", "TOKEN=n3w-s3cret-value-1"]
    assert run([*words, "--dry-run"]) == 0
    text = capsys.readouterr().out
    dots = '        "TOKEN": "••••"'
    assert f"-{dots}\n+{dots}\n" in text and "\0" not in text
    assert SECRET not in text and "n3w-s3cret" not in text


def test_an_entry_is_known_by_the_name_that_its_file_has(verb, ctx):
    verb("rename", "github", "hub", "--host", "cursor")
    assert verb("edit", "hub", "--host", "cursor", "--env", "A=1")["server"] == "github"
    assert "no server called hub" in verb("disable", "hub", code=1)
    verb("remove", "hub", "--host", "cursor")
    assert "github" not in known(ctx)


def test_a_hosts_entry_is_edited_renamed_removed_and_taken_back(verb, home, ctx):
    file = home / ".cursor/mcp.json"
    before = file.read_bytes()
    done = verb("edit", "github", "--host", "cursor", "--env", "TOKEN=", "--env", "MORE=x")
    assert done["written"] and Path(done["backup"]).read_bytes() == before
    entry = json.loads(file.read_text())["mcpServers"]["github"]
    assert entry["env"] == {"MORE": "x"}
    assert known(ctx)["github"].spec.env_names == ("MORE",)
    verb("rename", "github", "hub", "--host", "cursor")
    assert list(json.loads(file.read_text())["mcpServers"]) == ["hub"]
    verb("remove", "github", "--host", "cursor")  # its name in the catalog stays
    assert json.loads(file.read_text()) == {"mcpServers": {}}
    assert set(known(ctx)) == {"files", "mine"}
    others = known(ctx)
    assert run(["restore", "cursor", "--last"]) == 0  # what is in the file is in the catalog again
    assert [name for name, _ in of_cursor(ctx)] == ["hub"]
    assert run(["restore", "cursor", "--last"]) == 0
    ((name, server),) = of_cursor(ctx)
    assert name == "github" and server.spec.env_names == ("MORE",)
    assert run(["restore", "cursor", "--last"]) == 0
    ((name, again),) = of_cursor(ctx)
    assert (name, again.spec.env_names, again.id) == ("github", ("TOKEN",), server.id)
    assert file.read_bytes() == before
    assert {key: known(ctx)[key] for key in others} == others


def test_what_was_decided_of_a_server_outlives_its_removal_and_return(verb, ctx):
    """Its name in the catalogue, and that it is disabled; it was never read."""
    verb("rename", "github", "hub", "--host", "cursor")
    verb("disable", "github")
    verb("remove", "github", "--host", "cursor")
    assert run(["restore", "cursor", "--last"]) == 0
    ((name, server),) = of_cursor(ctx)
    assert (name, server.name, server.disabled) == ("hub", "github", True)
    verb("enable", "github")
    verb("remove", "github", "--host", "cursor")
    assert run(["restore", "cursor", "--last"]) == 0
    ((name, server),) = of_cursor(ctx)
    assert (name, server.name, server.disabled) == ("hub", "github", False)


def test_restore_says_how_changes_of_single_servers_are_taken_back(verb, capsys):
    assert run(["restore", "all"]) == 0
    assert capsys.readouterr().out.strip() == "Nothing to restore."
    verb("remove", "files", "--host", "kiro")
    assert run(["restore", "kiro"]) == 1
    assert "toolcrib restore kiro --last" in capsys.readouterr().err


def test_names_and_words_that_no_server_can_have_are_refused(verb, home, ctx):
    file = home / ".cursor/mcp.json"
    before = file.read_bytes()
    for new in ("", "  ", "a\nb", "\u200b"):
        code = {"code": 1}
        assert "empty" in verb("rename", "github", new, "--host", "cursor", **code), repr(new)
    assert "empty" in verb("rename", "mine", " ", code=1)
    own = verb("rename", "github", "toolcrib", "--host", "cursor", code=1)
    assert "the name of Toolcrib's own entry" in own
    assert "gets no headers" in verb("edit", "files", "--host", "kiro", "--header", "A=b", code=1)
    assert file.read_bytes() == before
    assert "mine" in known(ctx)


def of_cursor(ctx):
    """The names in Cursor's file and their servers, as the catalog has them."""
    entries = [(entry, server) for server in known(ctx).values() for entry in server.entries]
    return [(entry.name, server) for entry, server in entries if entry.host == "cursor"]


def test_a_host_switches_a_server_off_only_where_its_file_has_a_key_for_it(verb, home):
    file = home / ".kiro/settings/mcp.json"
    before = file.read_bytes()
    assert not verb("enable", "files", "--host", "kiro")["written"]
    assert file.read_bytes() == before, "it is on already"
    verb("disable", "files", "--host", "kiro")
    assert not verb("disable", "files", "--host", "kiro")["written"]
    kiro = json.loads((home / ".kiro/settings/mcp.json").read_text())
    assert kiro["mcpServers"]["files"]["disabled"] is True
    assert "no key in its file" in verb("disable", "github", "--host", "cursor", code=1)


def test_a_launch_that_a_host_names_twice_is_flagged_with_the_command_that_ends_it(
    verb, ctx, home, capsys
):
    file = home / ".cursor/mcp.json"
    two = {"mcpServers": {**CURSOR["mcpServers"], "hub": CURSOR["mcpServers"]["github"]}}
    file.write_text(json.dumps(two, indent=2) + "\n")
    db = ctx.open_store()
    register(ctx, db, read_hosts(Places.here()))
    db.close()
    assert run(["footprint", "--json"]) == 0
    (twice,) = json.loads(capsys.readouterr().out)["twice"]
    assert twice["server"] == "github" and twice["names"] == ["github", "hub"]
    assert twice["command"] == "toolcrib server remove hub --host cursor"
    run(["footprint"])
    assert "names it twice, as github and hub" in capsys.readouterr().out
    run(["check", "--allow-empty"])
    assert twice["command"] in capsys.readouterr().err
    verb(*twice["command"].split()[2:])
    assert json.loads(file.read_text()) == CURSOR
    run(["footprint", "--json"])
    assert json.loads(capsys.readouterr().out)["twice"] == []


def test_a_server_behind_toolcrib_is_edited_after_a_dry_run_and_undone(verb, ctx, home, capsys):
    file = home / ".cursor/mcp.json"
    before = file.read_text()
    db = ctx.open_store()
    for record in servers.all_servers(db):
        tools.save_list(db, record.id, [NewTool("t", {"name": "t"}, "h")], at=1.0)
    db.close()
    assert run(["export", "cursor", "--mode", "through", "--yes"]) == 0
    through = file.read_text()
    capsys.readouterr()
    change = ("edit", "github", "--host", "cursor", "--command", "npx other")
    assert run(["server", *change, "--dry-run"]) == 0
    shown = capsys.readouterr().out
    assert "other" in shown and SECRET not in shown and "through Toolcrib" in shown
    assert known(ctx)["github"].spec.args == ("g",)
    assert verb(*change)["written"] is True
    assert known(ctx)["github"].spec.args == ("other",)
    assert file.read_text() == through
    assert run(["restore", "cursor", "--last"]) == 0
    assert known(ctx)["github"].spec.args == ("g",)
    verb(*change)
    assert run(["export", "cursor", "--mode", "as-is", "--yes"]) == 0
    assert json.loads(file.read_text())["mcpServers"]["github"]["args"] == ["other"]
    assert json.loads(before)["mcpServers"]["github"]["args"] == ["g"]
