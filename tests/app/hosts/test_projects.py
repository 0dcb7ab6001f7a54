"""Folders that hosts note in files of their own are known as projects where they have servers."""

import json
from urllib.parse import quote

import pytest

from app.cli.main import run
from app.hosts.places import Places
from app.hosts.projects import known_projects

SERVERS = json.dumps({"mcpServers": {"shop": {"command": "npx", "args": ["shop"]}}})


@pytest.fixture
def home(tmp_path):
    """Six folders; those of the first four hosts name servers."""
    home = tmp_path / "home"
    for name in ("claude", "codex", "gemini", "code & more", "plain", "gone"):
        (home / "work" / name).mkdir(parents=True)
    for name in ("claude", "codex", "gemini", "code & more"):
        (home / "work" / name / ".mcp.json").write_text(SERVERS)
    (home / "work/codex/.codex").mkdir()
    (home / "work/codex/.codex/config.toml").write_text('[mcp_servers.a]\ncommand = "a"\n')
    (home / "work/gone").rmdir()
    work = home / "work"
    claude = {str(work / name): {} for name in ("claude", "codex", "plain", "gone")}
    (home / ".claude.json").write_text(json.dumps({"projects": {**claude, str(home): {}}}))
    (home / ".codex").mkdir()
    (home / ".codex/config.toml").write_text(
        f'[projects."{work / "codex"}"]\ntrust_level = "trusted"\n'
    )
    (home / ".gemini").mkdir()
    trusted = {str(work / "gemini"): "TRUST_FOLDER", "relative": "TRUST_FOLDER"}
    (home / ".gemini/trustedFolders.json").write_text(json.dumps(trusted))
    storage = home / ".config/Code/User/workspaceStorage"
    for number, folder in enumerate((f"file://{quote(str(work / 'code & more'))}", 5, "file://[")):
        (storage / str(number)).mkdir(parents=True)
        (storage / str(number) / "workspace.json").write_text(json.dumps({"folder": folder}))
    return home


def test_each_hosts_own_list_is_read_and_a_folder_without_servers_is_none(home):
    known = known_projects(Places(home, {}, "linux"))
    assert [(one.folder.name, one.hosts) for one in known] == [
        ("claude", ("Claude Code",)),
        ("code & more", ("VS Code",)),
        ("codex", ("Claude Code", "Codex")),
        ("gemini", ("Gemini CLI",)),
    ]
    codex = known[2]
    assert {str(file.relative_to(codex.folder)) for file in codex.files} == {
        ".mcp.json",
        ".codex/config.toml",
    }


def test_lists_that_cannot_be_read_say_nothing(home):
    (home / ".claude.json").write_text("{ broken")
    (home / ".codex/config.toml").write_bytes(b"\xff\xfe\x00")
    (home / ".gemini/trustedFolders.json").write_text("[1, 2]")
    assert [one.folder.name for one in known_projects(Places(home, {}, "linux"))] == ["code & more"]


def test_scan_names_the_projects_that_were_not_looked_at(home, ctx, monkeypatch, capsys):
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("TOOLCRIB_HOME", str(ctx.paths.home))
    run(["scan"])
    err = capsys.readouterr().err
    claude = home / "work/claude"
    assert f"toolcrib scan --project {claude}  (Claude Code: .mcp.json)" in err
    assert f"'{home / 'work/code & more'}'  (VS Code: .mcp.json)" in err
    run(["scan", "--project", str(claude)])
    assert "Projects that" not in capsys.readouterr().err
    run(["scan"])
    err = capsys.readouterr().err
    assert f"--project {claude} " not in err and "work/gemini" in err, "it was looked at"
