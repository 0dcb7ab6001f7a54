"""Native pruning, spelled as each host was seen to want it; TOOLS has `gamma-dash.dot`."""

import json
import tomllib

import pytest

from app.hosts.documents.values import read_values

GOOSE = (
    "extensions:\n  stub:\n    type: stdio\n    name: stub\n    cmd: y\n"
    "    args: []\n    enabled: true\n"
)
STUB = {"command": "python", "args": ["stub.py"]}


def after_of(made, path_end, kind="jsonc"):
    (file,) = [file for file in made.files if str(file.path).endswith(path_end)]
    return read_values(file.after, kind).value


def two_off(world):
    world.learn()
    world.off("stub/beta_delete", "stub/gamma-dash.dot")


def test_claude_code_gets_normalised_deny_rules_beside_the_users_own(world):
    world.write(".claude.json", {"mcpServers": {"stub": STUB}})
    world.write(".claude/settings.json", {"permissions": {"deny": ["Bash(rm:*)"]}, "theme": "dark"})
    two_off(world)
    after = after_of(world.plan("claude-code", "native"), "settings.json")
    assert after["permissions"]["deny"] == [
        "Bash(rm:*)",
        "mcp__stub__beta_delete",
        "mcp__stub__gamma-dash_dot",
    ]
    assert after["theme"] == "dark"


def test_claude_codes_settings_are_made_when_there_are_none(world):
    world.write(".claude.json", {"mcpServers": {"stub": STUB}})
    world.learn()
    world.off("stub/*")
    (file,) = world.plan("claude-code", "native").files
    assert json.loads(file.after) == {"permissions": {"deny": ["mcp__stub"]}}


def test_the_rules_follow_when_the_ticks_change_and_the_users_own_stay(world):
    world.write(".claude.json", {"mcpServers": {"stub": STUB}})
    file = world.write(".claude/settings.json", {"permissions": {"deny": ["A"]}})
    two_off(world)
    world.export("claude-code", "native")
    world.on("stub/beta_delete")
    made = world.plan("claude-code", "native")
    assert after_of(made, "settings.json")["permissions"]["deny"] == [
        "A",
        "mcp__stub__gamma-dash_dot",
    ]
    tree = json.loads(file.read_bytes())
    tree["permissions"]["deny"].insert(0, "B")  # the user adds one meanwhile
    file.write_text(json.dumps(tree))
    made = world.plan("claude-code", "native")
    assert after_of(made, "settings.json")["permissions"]["deny"] == [
        "B",
        "A",
        "mcp__stub__gamma-dash_dot",
    ]


@pytest.mark.parametrize(
    ("host_id", "path", "at", "keys"),
    [
        (
            "copilot-cli",
            ".copilot/mcp-config.json",
            "mcpServers",
            {"tools": ["alpha_get", "alpha_list"]},
        ),
        (
            "gemini-cli",
            ".gemini/settings.json",
            "mcpServers",
            {"includeTools": ["alpha_get", "alpha_list"]},
        ),
        (
            "qwen-code",
            ".qwen/settings.json",
            "mcpServers",
            {"includeTools": ["alpha_get", "alpha_list"]},
        ),
        (
            "crush",
            ".config/crush/crush.json",
            "mcp",
            {"enabled_tools": ["alpha_get", "alpha_list"]},
        ),
        (
            "windsurf",
            ".codeium/windsurf/mcp_config.json",
            "mcpServers",
            {"disabledTools": ["beta_delete", "gamma-dash.dot"]},
        ),
        (
            "antigravity",
            ".gemini/config/mcp_config.json",
            "mcpServers",
            {"disabledTools": ["beta_delete", "gamma-dash.dot"]},
        ),
        (
            "kiro",
            ".kiro/settings/mcp.json",
            "mcpServers",
            {"disabledTools": ["beta_delete", "gamma-dash.dot"]},
        ),
        (
            "factory-droid",
            ".factory/mcp.json",
            "mcpServers",
            {"disabledTools": ["beta_delete", "gamma-dash.dot"]},
        ),
    ],
)
def test_lists_in_the_entry_hold_raw_names(world, host_id, path, at, keys):
    world.write(path, {at: {"stub": {"type": "stdio", **STUB}}})
    two_off(world)
    entry = after_of(world.plan(host_id, "native"), path)[at]["stub"]
    assert entry == {"type": "stdio", **STUB, **keys}


def test_codex_and_goose_get_allow_lists_of_raw_names(world):
    world.write(
        ".codex/config.toml", '[mcp_servers.stub]\ncommand = "x"\ndisabled_tools = ["alpha_get"]\n'
    )
    world.write(
        ".config/goose/config.yaml",
        GOOSE,
    )
    world.learn()
    world.off("*/beta_delete", "*/gamma-dash.dot")
    (codex,) = world.plan("codex", "native").files
    entry = tomllib.loads(codex.after.decode())["mcp_servers"]["stub"]
    assert entry["enabled_tools"] == ["alpha_get", "alpha_list"]
    assert entry["disabled_tools"] == []  # it would win over the allow list
    (goose,) = world.plan("goose", "native").files
    tree = read_values(goose.after, "yaml").value
    assert tree["extensions"]["stub"]["available_tools"] == ["alpha_get", "alpha_list"]


def test_a_server_without_any_tool_is_switched_off_not_given_an_empty_list(world):
    world.write(
        ".config/goose/config.yaml",
        GOOSE,
    )
    world.write(".codex/config.toml", '[mcp_servers.stub]\ncommand = "x"\n')
    world.write(".kiro/settings/mcp.json", {"mcpServers": {"stub": {"command": "z"}}})
    world.write(".gemini/settings.json", {"mcpServers": {"stub": {"command": "w"}}})
    world.learn()
    world.off("*/*")
    goose = after_of(world.plan("goose", "native"), "config.yaml", "yaml")["extensions"]["stub"]
    assert goose["enabled"] is False and "available_tools" not in goose
    codex = after_of(world.plan("codex", "native"), "config.toml", "toml")["mcp_servers"]["stub"]
    assert codex["enabled"] is False
    kiro = after_of(world.plan("kiro", "native"), "mcp.json")["mcpServers"]["stub"]
    assert kiro["disabled"] is True
    gemini = after_of(world.plan("gemini-cli", "native"), "settings.json")["mcpServers"]["stub"]
    assert len(gemini["excludeTools"]) == 4


def test_opencode_and_kilo_get_normalised_permission_rules_that_come_last(world):
    entry = {"type": "local", "command": ["x"]}
    for path in (".config/opencode/opencode.jsonc", ".config/kilo/kilo.jsonc"):
        rules = {"stub_beta_delete": "ask", "stub_*": "ask"}
        world.write(path, {"mcp": {"stub": entry}, "permission": rules})
    world.learn()
    world.off("*/beta_delete", "*/gamma-dash.dot")
    for host_id in ("opencode", "kilo-code"):
        rules = after_of(world.plan(host_id, "native"), ".jsonc")["permission"]
        assert list(rules.items()) == [
            ("stub_*", "ask"),
            ("stub_beta_delete", "deny"),
            ("stub_gamma-dash_dot", "deny"),
        ]


@pytest.mark.parametrize("later", ["*", "stub_*", "stub_beta_delet?"])
def test_a_denial_that_a_later_rule_overrules_moves_to_the_end(world, later):
    entry = {"type": "local", "command": ["x"]}
    rules = {"stub_beta_delete": "deny", later: "allow", "bash": {"git *": "ask"}}
    for path in (".config/opencode/opencode.jsonc", ".config/kilo/kilo.jsonc"):
        world.write(path, {"mcp": {"stub": entry}, "permission": rules})
    world.learn()
    world.off("*/beta_delete")
    for host_id in ("opencode", "kilo-code"):
        after = after_of(world.plan(host_id, "native"), ".jsonc")["permission"]
        assert list(after) == [later, "bash", "stub_beta_delete"]
        assert after["stub_beta_delete"] == "deny" and after["bash"] == rules["bash"]


def test_a_server_without_tools_is_denied_after_what_allows_one(world):
    entry = {"type": "local", "command": ["x"]}
    rules = {"stub_*": "deny", "bash": "ask", "stub_alpha_get": "allow"}
    world.write(".config/opencode/opencode.jsonc", {"mcp": {"stub": entry}, "permission": rules})
    world.learn()
    world.off("stub/*")
    after = after_of(world.plan("opencode", "native"), ".jsonc")["permission"]
    assert list(after.items())[-1] == ("stub_*", "deny")


def test_a_denial_that_wins_stays_in_its_place(world):
    entry = {"type": "local", "command": ["x"]}
    rules = {"*": "allow", "stub_beta_delete": "deny", "bash": "ask", "stub_x*": "deny"}
    world.write(".config/opencode/opencode.jsonc", {"mcp": {"stub": entry}, "permission": rules})
    world.learn()
    world.off("*/beta_delete")
    assert world.plan("opencode", "native").files == ()


def test_opencodes_single_word_permission_becomes_a_map(world):
    tree = {"mcp": {"stub": {"type": "local", "command": ["x"]}}, "permission": "ask"}
    world.write(".config/opencode/opencode.jsonc", tree)
    two_off(world)
    after = after_of(world.plan("opencode", "native"), ".jsonc")
    assert after["permission"]["*"] == "ask"
    assert after["permission"]["stub_beta_delete"] == "deny"


def test_zed_gets_a_profile_of_its_own_based_on_the_users(world, samples):
    world.write(".config/zed/settings.json", (samples / "zed/settings.json").read_bytes())
    world.learn()
    world.off("time/beta_delete")
    after = after_of(world.plan("zed", "native"), "settings.json")
    profile = after["agent"]["profiles"]["toolcrib"]
    assert after["agent"]["default_profile"] == "toolcrib"
    assert profile["tools"] == {"read_file": True, "terminal": False}
    assert profile["enable_all_context_servers"] is False
    assert profile["context_servers"]["time"]["tools"]["beta_delete"] is False
    assert after["agent"]["profiles"]["lean"]["name"] == "Lean"


def test_vs_codes_tool_set_says_that_it_is_partial(world):
    world.write(".config/Code/User/mcp.json", {"servers": {"stub": STUB}})
    two_off(world)
    made = world.plan("vscode", "native")
    after = after_of(made, "prompts/toolcrib.toolsets.jsonc")
    assert after["toolcrib"]["tools"] == ["stub/alpha_get", "stub/alpha_list"]
    assert any("when you pick" in warning for warning in made.warnings)


def test_nothing_is_written_when_every_tool_is_on(world):
    world.write(".codex/config.toml", '[mcp_servers.stub]\ncommand = "x"\n')
    world.write(".kiro/settings/mcp.json", {"mcpServers": {"stub": {"command": "z"}}})
    world.learn()
    assert world.plan("codex", "native").empty
    assert world.plan("kiro", "native").empty


def test_lists_that_hide_a_tool_that_is_on_are_opened(world):
    lists = {"tools": ["alpha_get"], "excludeTools": ["alpha_list", "else"]}
    world.write(".copilot/mcp-config.json", {"mcpServers": {"stub": {**STUB, **lists}}})
    world.learn()
    after = after_of(world.plan("copilot-cli", "native"), "mcp-config.json")["mcpServers"]["stub"]
    assert after["tools"] == list(world.tools)
    assert after["excludeTools"] == ["else"]


def test_a_deny_list_follows_new_tools_of_its_server(world):
    world.write(".kiro/settings/mcp.json", {"mcpServers": {"stub": {"command": "z"}}})
    two_off(world)
    world.export("kiro", "native")
    assert world.plan("kiro", "native").empty
    world.learn((*world.tools, "delta_new"))
    world.off("stub/delta_new")
    after = after_of(world.plan("kiro", "native"), "mcp.json")["mcpServers"]["stub"]
    assert "delta_new" in after["disabledTools"]
