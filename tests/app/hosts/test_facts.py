from importlib.resources import files

import pytest

from app.core.errors import ToolcribError
from app.hosts.facts import SYSTEMS, NameRule, host, load_hosts

FIRST_TWELVE = [
    "claude-code",
    "claude-desktop",
    "cursor",
    "vscode",
    "codex",
    "copilot-cli",
    "opencode",
    "windsurf",
    "antigravity",
    "cline",
    "zed",
    "goose",
]


def test_each_host_of_the_file_is_known_by_rank():
    hosts = load_hosts()
    text = (files("resources") / "hosts.toml").read_text(encoding="utf-8")
    assert len(hosts) == text.count("[[host]]\n") >= len(FIRST_TWELVE)
    assert [h.rank for h in hosts] == sorted(h.rank for h in hosts)
    assert [h.id for h in hosts[:12]] == FIRST_TWELVE


def test_the_first_twelve_and_those_of_the_same_adapters_are_written():
    more = "gemini-cli qwen-code kilo-code kiro lm-studio factory-droid junie warp visual-studio"
    for host_id in (*FIRST_TWELVE, *more.split(), "crush", "trae"):
        assert host(host_id).writable, host_id
    for host_id in ("raycast", "copilot-coding-agent", "jan", "witsy", "continue", "jetbrains-ai"):
        assert not host(host_id).writable, host_id


def test_no_managed_state_or_extension_file_is_ever_written():
    for facts in load_hosts():
        for file in facts.files:
            if file.scope in ("managed", "state", "extension") and file.role == "servers":
                assert not file.writable, (facts.id, file.key)


def test_every_server_file_says_where_its_servers_are_and_has_a_path():
    for facts in load_hosts():
        for file in facts.files:
            assert any(file.paths[system] for system in SYSTEMS), (facts.id, file.key)
            if file.role == "servers":
                assert file.at, (facts.id, file.key)


@pytest.mark.parametrize(
    ("host_id", "name"),
    [
        ("claude-code", "mcp__my_stub__gamma-dash_dot"),
        ("codex", "mcp__my_stub__gamma_dash_dot"),
        ("copilot-cli", "my-stub-gamma-dash-dot"),
        ("opencode", "my_stub_gamma-dash_dot"),
        ("gemini-cli", "mcp_my_stub_gamma-dash.dot"),
        ("qwen-code", "mcp__my_stub__gamma-dash.dot"),
        ("factory-droid", "my_stub___gamma-dash_dot"),
    ],
)
def test_names_are_spelled_as_the_host_was_seen_to_spell_them(host_id, name):
    assert host(host_id).names.name("my stub", "gamma-dash.dot") == name


def test_a_rule_that_is_not_known_keeps_every_character():
    assert NameRule().name("s", "a b.c") == "a b.c"


def test_an_unknown_host_is_an_error_that_names_the_known_ones():
    with pytest.raises(ToolcribError) as error:
        host("emacs")
    assert "claude-code" in error.value.hint
