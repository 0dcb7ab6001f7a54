from pathlib import Path

import pytest

from app.hosts.facts import host
from app.hosts.places import Places


def names(places, host_id, key="user"):
    file = host(host_id).file(key)
    return [str(p.relative_to(places.home)) for p in places.candidates(file)]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.mark.parametrize(
    ("system", "expected"),
    [
        ("linux", [".config/Claude/claude_desktop_config.json"]),
        ("macos", ["Library/Application Support/Claude/claude_desktop_config.json"]),
        ("windows", ["AppData/Roaming/Claude/claude_desktop_config.json"]),
    ],
)
def test_claude_desktop_is_found_by_the_rules_of_each_system(home, system, expected):
    assert names(Places(home, {}, system), "claude-desktop") == expected


def test_on_windows_the_store_package_comes_first_even_before_its_file_exists(home):
    package = home / "AppData/Local/Packages/Claude_pzs8sxrjxfjjc"
    package.mkdir(parents=True)
    found = names(Places(home, {}, "windows"), "claude-desktop")
    assert found[0].startswith("AppData/Local/Packages/Claude_pzs8sxrjxfjjc/LocalCache/")
    assert found[1] == "AppData/Roaming/Claude/claude_desktop_config.json"


@pytest.mark.parametrize(
    ("host_id", "variable", "value", "expected"),
    [
        ("codex", "CODEX_HOME", "/c", "/c/config.toml"),
        ("claude-code", "CLAUDE_CONFIG_DIR", "/c", "/c/.claude.json"),
        ("opencode", "XDG_CONFIG_HOME", "/x", "/x/opencode/opencode.jsonc"),
        ("copilot-cli", "COPILOT_HOME", "/c", "/c/mcp-config.json"),
        ("gemini-cli", "GEMINI_CLI_HOME", "/g", "/g/.gemini/settings.json"),
        ("cline", "CLINE_MCP_SETTINGS_PATH", "/c/x.json", "/c/x.json"),
        ("cline", "CLINE_DIR", "/c", "/c/data/settings/cline_mcp_settings.json"),
        ("goose", "GOOSE_PATH_ROOT", "/g", "/g/config/config.yaml"),
        ("vscode", "VSCODE_PORTABLE", "/v", "/v/user-data/User/mcp.json"),
        ("crush", "CRUSH_GLOBAL_CONFIG", "/c", "/c/crush.json"),
    ],
)
def test_variables_move_a_hosts_file(home, host_id, variable, value, expected):
    places = Places(home, {variable: value}, "linux")
    assert str(places.candidates(host(host_id).file("user"))[0]) == expected


def test_a_tilde_in_a_variable_is_this_home(home):
    places = Places(home, {"QWEN_HOME": "~/q"}, "linux")
    assert names(places, "qwen-code") == ["q/settings.json"]


def test_opencodes_variable_adds_a_file_and_replaces_none(home):
    places = Places(home, {"OPENCODE_CONFIG": str(home / "own.json")}, "linux")
    found = names(places, "opencode")
    assert found[0] == ".config/opencode/opencode.jsonc"
    assert found[-1] == "own.json"


def test_project_files_need_a_project_and_claude_code_looks_above_it(home):
    file = host("claude-code").file("project")
    assert Places(home, {}, "linux").candidates(file) == ()
    places = Places(home, {}, "linux", home / "a" / "b")
    assert names(places, "claude-code", "project") == ["a/b/.mcp.json", "a/.mcp.json"]


def test_alternatives_and_profiles_of_vs_code_are_found(home):
    profile = home / ".config/Code/User/profiles/abc"
    profile.mkdir(parents=True)
    found = names(Places(home, {}, "linux"), "vscode")
    assert ".config/Code - Insiders/User/mcp.json" in found
    assert ".config/Code/User/profiles/abc/mcp.json" in found


def test_plugin_folders_are_searched_but_not_package_trees(home):
    plugins = home / ".claude/plugins/cache/one"
    deep = plugins / "node_modules/x"
    for folder in (plugins, deep):
        folder.mkdir(parents=True)
        (folder / ".mcp.json").write_text("{}")
    found = names(Places(home, {}, "linux"), "claude-code", "plugins")
    assert ".claude/plugins/cache/one/.mcp.json" in found
    assert not any("node_modules" in name for name in found)


def test_managed_files_can_be_put_under_another_root(tmp_path, home):
    places = Places(home, {}, "linux", None, tmp_path / "root")
    file = host("codex").file("system")
    assert places.candidates(file) == (tmp_path / "root/etc/codex/config.toml",)


def test_this_machine_takes_home_from_the_environment_given():
    assert Places.here(environ={"HOME": "/somewhere"}).home == Path("/somewhere")


def test_a_folder_that_may_not_be_read_holds_no_file(home, monkeypatch):
    def refuse(path):
        raise PermissionError(13, "no", str(path))

    monkeypatch.setattr(Path, "is_file", refuse)
    places = Places(home, {}, "linux")
    assert places.existing(host("cursor").file("user")) == ()
