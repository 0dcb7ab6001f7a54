"""Hosts that still read an earlier file: it is written as it stands, or refused and named."""

import json
from dataclasses import replace

import pytest

from app.hosts.facts import host, load_hosts
from app.hosts.importing import read_data
from app.hosts.places import Places
from app.hosts.reading import read_host

CODE = ".config/Code/User"
CLINE = f"{CODE}/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json"
KILO = f"{CODE}/globalStorage/kilocode.kilo-code/settings/mcp_settings.json"
STUB = {"stub": {"command": "python", "args": ["stub.py"]}}
SETTINGS = """{
  // mine
  "editor.fontSize": 12,
  "mcp": {"servers": {"stub": {"command": "python"}}},
}
"""


@pytest.mark.parametrize(
    ("host_id", "path"),
    [
        ("cline", CLINE),
        ("cline", CLINE.replace("Code", "VSCodium")),
        ("cline", CLINE.replace("Code", "Cursor")),
        ("kilo-code", KILO),
        ("kilo-code", KILO.replace("Code", "Code - OSS")),
    ],
)
@pytest.mark.parametrize("mode", ["pruned", "through"])
def test_an_extensions_earlier_file_is_written_and_none_is_made_beside_it(
    world, host_id, path, mode
):
    file = world.write(path, {"mcpServers": STUB})
    before = file.read_bytes()
    world.learn()
    world.narrow()
    (written,) = world.plan(host_id, mode).files
    assert written.path == file
    world.export(host_id, mode)
    name = "stub" if mode == "pruned" else "toolcrib"
    assert list(json.loads(file.read_bytes())["mcpServers"]) == [name]
    assert world.plan(host_id, mode).empty  # the file is still known to be of this host
    world.export(host_id, "as-is")
    assert file.read_bytes() == before


@pytest.mark.parametrize("folder", ["Code", "Code - Insiders", "VSCodium", "Code - OSS"])
def test_servers_in_the_settings_of_vs_code_are_pruned_where_they_stand(world, folder):
    file = world.write(f".config/{folder}/User/settings.json", SETTINGS)
    world.learn()
    world.narrow()
    (written,) = world.plan("vscode", "pruned").files
    text = written.after.decode()
    assert written.path == file and "// mine" in text and "toolcrib-gateway" in text
    again = read_data(written.after, file, "vscode")
    assert [(entry.name, entry.launch.command) for entry in again.entries] == [("stub", "python")]


def test_through_takes_the_servers_out_of_the_settings_and_stays_in_one_file(world):
    settings = world.write(f"{CODE}/settings.json", SETTINGS)
    world.learn()
    (alone,) = world.plan("vscode", "through").files
    assert alone.path == settings and '"toolcrib"' in alone.after.decode()
    newer = world.write(f"{CODE}/mcp.json", {"servers": {}})
    files = {file.path: file.after.decode() for file in world.plan("vscode", "through").files}
    assert list(files) == [newer, settings]
    assert '"toolcrib"' in files[newer] and '"stub"' not in files[settings]
    assert '"toolcrib"' not in files[settings]  # one installation, one entry
    world.export("vscode", "through")
    assert world.plan("vscode", "through").empty


def test_an_installation_without_a_newer_file_gets_an_entry_of_its_own(world):
    world.write(f"{CODE}/mcp.json", {"servers": STUB})
    other = world.write(".config/VSCodium/User/settings.json", SETTINGS)
    world.learn()
    files = {file.path: file.after.decode() for file in world.plan("vscode", "through").files}
    assert '"toolcrib"' in files[other]


def test_settings_that_name_no_server_are_left_alone(world):
    world.write(f"{CODE}/settings.json", '{"editor.fontSize": 12}')
    world.serve_another()
    (made,) = world.plan("vscode", "through", also=["far"]).files
    assert made.path.name == "mcp.json" and made.before is None


def test_what_cline_took_over_is_read_no_more(world):
    world.write(CLINE, {"mcpServers": STUB})
    newer = {"__vscodeLegacyMcpSettingsMigration": True, "mcpServers": {"mine": {"command": "x"}}}
    file = world.write(".cline/data/settings/cline_mcp_settings.json", newer)
    world.learn()
    assert [reading.file for reading in read_host(world.places, host("cline"))] == [file]
    assert [made.path for made in world.plan("cline", "through").files] == [file]


@pytest.mark.parametrize("folder", [".kilocode", ".kilo"])
def test_kilos_project_file_is_of_the_project(world, folder):
    project = world.home / "shop"
    file = world.write(f"shop/{folder}/mcp.json", {"mcpServers": STUB})
    places = Places(world.home, {}, "linux", project)
    (reading,) = read_host(places, host("kilo-code"))
    assert [entry.project_level for entry in reading.entries] == [True]
    world.learn(places=places)
    world.narrow()
    for mode in ("pruned", "through"):
        (written,) = world.plan("kilo-code", mode, project=project).files
        assert written.path == file


def test_a_file_that_is_only_read_is_refused_by_name_with_what_to_paste(world):
    file = world.write(".gemini/antigravity/mcp_config.json", {"mcpServers": STUB})
    world.learn()
    world.narrow()
    for mode in ("native", "pruned", "through"):
        made = world.plan("antigravity", mode)
        assert str(file) in made.refusal and "does not write" in made.refusal
        assert made.empty
        assert "toolcrib-gateway" in made.snippet
    assert world.plan("antigravity", "as-is").refusal is None


def test_every_host_that_is_not_written_refuses_with_a_snippet(world):
    for facts in load_hosts():
        if not facts.writable:
            made = world.plan(facts.id, "through")
            assert facts.name in made.refusal and "toolcrib-gateway" in made.snippet, facts.id


def test_every_file_that_names_servers_is_written_or_refused(world):
    """No host, no place: an export never passes over a file and says that all is done."""
    for facts in load_hosts():
        for kind in facts.files:
            paths = world.places.candidates(kind)
            if kind.role != "servers" or kind.scope != "user" or kind.format == "toml" or not paths:
                continue
            tree: dict = STUB if facts.style.command == "command" else {}
            for key in reversed(kind.at):
                tree = {key: tree}
            if facts.style.array and kind.style is None:
                tree = {"mcp": {"stub": {"type": "local", "command": ["python", "stub.py"]}}}
            if facts.style.command == "cmd":
                tree = {"extensions": {"stub": {"cmd": "python", "args": ["stub.py"]}}}
            file = world.write(str(paths[0].relative_to(world.home)), tree)
            world.learn()
            world.narrow()
            made = world.plan(facts.id, "pruned")
            assert made.refusal or [one.path for one in made.files] == [file], (facts.id, kind.key)
            file.unlink()


def test_a_host_without_known_servers_is_not_called_in_sync(world):
    world.write(".cursor/mcp.json", {"mcpServers": STUB})
    made = world.plan("cursor", "pruned")
    assert made.empty and made.matched == 0
    world.learn()
    world.narrow()
    assert world.plan("cursor", "pruned").matched == 1


def test_servers_beside_those_of_a_project_stay_the_users(world):
    places = replace(world.places, project=world.home / "shop")
    for facts in load_hosts():
        for kind in facts.files:
            below = [p for p in places.candidates(kind) if p.is_relative_to(places.project)]
            if kind.role != "settings":
                assert not below or kind.scope == "project", (facts.id, kind.key)
