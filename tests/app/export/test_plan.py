import json
from pathlib import Path

import pytest

from app.export.masking import masked_diff
from app.export.snippet import snippet
from app.export.wrapping import GatewayCall
from app.hosts.facts import host
from app.hosts.importing import read_data
from app.hosts.places import Places
from app.hosts.reading import read_host

GW = "/opt/toolcrib/bin/toolcrib-gateway"
CURSOR = {
    "mcpServers": {
        "stub": {
            "command": "python",
            "args": ["stub.py", "--token", "t0p-s3cret"],
            "env": {"A": "x"},
        },
        "web": {"url": "https://h.example/mcp", "headers": {"Authorization": "Bearer t0p-s3cret"}},
    },
    "other": 1,
}


def servers_of(made, name="mcpServers"):
    (file,) = made.files
    return json.loads(file.after)[name]


def test_pruned_keeps_the_name_and_env_and_puts_the_gateway_before_the_command(world):
    world.write(".cursor/mcp.json", CURSOR)
    world.learn()
    world.narrow()
    made = world.plan("cursor", "pruned")
    after = servers_of(made)
    assert after["stub"] == {
        "command": GW,
        "args": [
            *("--profile", "default", "--server", "stub", "--"),
            *("python", "stub.py", "--token", "t0p-s3cret"),
        ],
        "env": {"A": "x"},
    }
    assert after["web"] == {"command": GW, "args": ["--profile", "default", "--server", "web"]}
    assert json.loads(made.files[0].after)["other"] == 1
    assert [name for name, _ in made.secrets_to_store] == ["web"]


def test_through_is_one_entry_and_the_credentials_go_to_the_secret_store(world):
    world.write(".cursor/mcp.json", CURSOR)
    world.learn()
    made = world.plan("cursor", "through")
    assert servers_of(made) == {
        "toolcrib": {"command": GW, "args": ["--profile", "default", "--servers", "stub,web"]}
    }
    kept = dict(made.secrets_to_store)
    assert kept["stub"].env == {"A": "x"} and kept["stub"].values == ("t0p-s3cret",)
    assert any("secret store" in warning for warning in made.warnings)
    assert "t0p" not in repr(made)


def test_credentials_that_were_copied_are_not_said_to_be_copied_again(world):
    world.write(".cursor/mcp.json", CURSOR)
    world.learn()
    world.export("cursor", "through")
    again = world.plan("cursor", "through")
    assert again.empty and again.secrets_to_store == ()
    assert not any("secret store" in warning for warning in again.warnings)


def test_tokens_before_and_after_are_those_of_the_tools(world):
    world.write(".cursor/mcp.json", CURSOR)
    world.learn()
    world.off("stub/*", "web/beta_delete")
    made = world.plan("cursor", "pruned")
    assert (made.tools_before, made.tools_after) == (8, 3)
    assert (made.tokens_before, made.tokens_after) == (800, 300)
    world.pin("web/alpha_get")
    through = world.plan("cursor", "through")
    assert through.tools_after == 3 and 100 < through.tokens_after < 400


def test_toolcribs_own_folder_is_carried_to_the_gateway(world):
    world.write(".cursor/mcp.json", CURSOR)
    world.learn()
    world.narrow()
    places = Places(world.home, {"TOOLCRIB_HOME": "/h"}, "linux", None)
    after = servers_of(world.plan("cursor", "pruned", places=places))
    assert after["stub"]["env"] == {"A": "x", "TOOLCRIB_HOME": "/h"}
    assert after["web"]["env"] == {"TOOLCRIB_HOME": "/h"}
    through = servers_of(world.plan("cursor", "through", places=places))
    assert through["toolcrib"]["env"] == {"TOOLCRIB_HOME": "/h"}


def test_an_exported_file_reads_back_to_the_original_servers(world):
    file = world.write(".cursor/mcp.json", CURSOR)
    world.learn()
    world.narrow()
    before = {e.name: e.launch for r in read_host(world.places, host("cursor")) for e in r.entries}
    world.export("cursor", "pruned")
    again = {e.name: e for e in read_data(file.read_bytes(), file, "cursor").entries}
    assert again["stub"].launch == before["stub"]
    assert again["web"].server == "web"


def test_exporting_again_changes_nothing_and_another_mode_starts_from_the_original(world):
    file = world.write(".cursor/mcp.json", CURSOR)
    world.learn()
    world.narrow()
    start = file.read_bytes()
    world.export("cursor", "pruned")
    assert world.plan("cursor", "pruned").empty
    world.export("cursor", "through")
    assert "stub" not in json.loads(file.read_bytes())["mcpServers"]
    world.export("cursor", "pruned")
    assert json.loads(file.read_bytes())["mcpServers"]["stub"]["env"] == {"A": "x"}
    world.export("cursor", "as-is")
    assert file.read_bytes() == start


def test_what_the_host_changed_since_survives_another_mode(world):
    file = world.write(".cursor/mcp.json", CURSOR)
    world.learn()
    world.export("cursor", "through")
    tree = json.loads(file.read_bytes())
    tree["mcpServers"]["mine"] = {"command": "own"}
    tree["theme"] = "dark"
    file.write_text(json.dumps(tree, indent=4))
    world.export("cursor", "as-is")
    after = json.loads(file.read_bytes())
    assert after["theme"] == "dark"
    assert after["mcpServers"] == {"mine": {"command": "own"}, **CURSOR["mcpServers"]}


def test_servers_that_are_not_known_or_not_trusted_stay_as_they_are(world):
    from store import servers

    world.write(".cursor/mcp.json", CURSOR)
    world.learn()
    (web,) = [s for s in servers.all_servers(world.db) if s.name == "web"]
    servers.set_trusted(world.db, web.id, False)
    world.write(
        ".cursor/mcp.json",
        {"mcpServers": {**CURSOR["mcpServers"], "late": {"command": "late"}}},
    )
    made = world.plan("cursor", "through")
    assert list(servers_of(made)) == ["web", "late", "toolcrib"]
    text = " ".join(made.warnings)
    assert "late is not in the catalog" in text and "web is not trusted" in text


def test_entries_that_stay_for_the_same_reason_are_one_sentence(world):
    world.write(".cursor/mcp.json", CURSOR)
    world.learn()
    late = {f"late{number}": {"command": "late"} for number in range(3)}
    world.write(".cursor/mcp.json", {"mcpServers": {**CURSOR["mcpServers"], **late}})
    made = world.plan("cursor", "through")
    assert [text for text in made.warnings if "late" in text] == [
        "late0, late1 and late2 are not in the catalog; they stay as they are."
    ]
    assert not world.plan("cursor", "as-is").warnings  # there all of them stay
    world.write(".cursor/mcp.json", {"mcpServers": late})
    refused = world.plan("cursor", "pruned")
    assert "late0, late1 and late2 are not in the catalog; they stay as they are." in (
        refused.warnings
    )


def test_of_many_entries_that_stay_the_first_are_named(world):
    late = {f"late{number:02}": {"command": "late"} for number in range(25)}
    world.write(".cursor/mcp.json", {"mcpServers": {**CURSOR["mcpServers"], **late}})
    (stays,) = [text for text in world.plan("cursor", "pruned").warnings if "late" in text]
    assert stays.endswith("late04 and 20 more are not in the catalog; they stay as they are.")


@pytest.mark.parametrize(
    ("path", "host_id", "entry", "passed"),
    [
        (
            ".cursor/mcp.json",
            "cursor",
            {"url": "https://h", "headers": {"A": "${env:T}"}},
            {"env": {"T": "${env:T}"}},
        ),
        (
            ".gemini/settings.json",
            "gemini-cli",
            {"httpUrl": "https://h", "headers": {"A": "$T"}},
            {"env": {"T": "$T"}},
        ),
    ],
)
def test_variables_of_a_remote_server_are_passed_on_in_the_hosts_spelling(
    world, path, host_id, entry, passed
):
    world.write(path, {"mcpServers": {"web": entry}})
    world.learn()
    world.narrow()
    assert passed.items() <= servers_of(world.plan(host_id, "pruned"))["web"].items()
    assert passed.items() <= servers_of(world.plan(host_id, "through"))["toolcrib"].items()


@pytest.mark.parametrize(
    "entry",
    [
        {"url": "https://h", "headers": {"A": "${input:key}"}},
        {"url": "https://h", "auth": {"CLIENT_ID": "x"}},
        {"url": "https://h", "headers": {"A": "$(gh auth token)"}},
    ],
)
def test_what_only_the_host_can_do_keeps_its_entry(world, entry):
    world.write(".cursor/mcp.json", {"mcpServers": {"web": entry}})
    world.learn()
    world.narrow()
    for mode in ("pruned", "through"):
        made = world.plan("cursor", mode)
        assert any("it stays as it is" in text for text in (*made.warnings, made.refusal or ""))
        assert not made.files or servers_of(made)["web"] == entry


def test_a_new_file_is_made_for_the_one_entry(world):
    world.serve_another()
    made = world.plan("cursor", "through", also=["far"])
    (file,) = made.files
    assert file.before is None and file.before_hash == ""
    assert servers_of(made)["toolcrib"]["command"] == GW
    assert world.plan("cursor", "pruned").empty


@pytest.mark.parametrize("servers", [{}, {"mine": {"command": "x"}}])
def test_no_entry_is_written_with_nothing_behind_it(world, servers):
    file = world.write(".cursor/mcp.json", {"mcpServers": servers})
    before = file.read_bytes()
    refusal = world.plan("cursor", "through").refusal
    assert "No server would be behind the entry" in refusal
    assert "toolcrib scan" in refusal
    assert all(f"{name} is not in the catalog" in refusal for name in servers)
    assert file.read_bytes() == before


@pytest.mark.parametrize(
    ("host_id", "mode", "what"),
    [
        ("raycast", "pruned", "copy the snippet"),
        ("jan", "through", "copy the snippet"),
        ("cursor", "native", "no per-tool switches"),
        ("cursor", "sideways", "no mode called"),
    ],
)
def test_what_cannot_be_done_is_refused_with_a_sentence(world, host_id, mode, what):
    assert what in world.plan(host_id, mode).refusal


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (b'{"mcpServers": {"a"', "not valid JSON"),
        ('{"mcpServers": {}}'.encode("utf-16"), "UTF-16"),
        (b'{"mcpServers": []}', "list"),
        (b'{"mcpServers": {}, "mcpServers": {}}', "twice"),
    ],
)
def test_a_file_that_cannot_be_edited_is_refused_with_its_reason(world, content, what):
    world.write(".cursor/mcp.json", content)
    assert what in world.plan("cursor", "through").refusal


def test_a_server_called_toolcrib_that_is_not_ours_is_not_replaced(world):
    world.write(".cursor/mcp.json", {"mcpServers": {"toolcrib": {"command": "mine"}}})
    assert "did not write" in world.plan("cursor", "through").refusal


def test_limits_of_the_host_are_counted(world):
    world.write(".cursor/mcp.json", CURSOR)
    world.learn(
        tuple(f"a_tool_with_a_really_long_name_that_goes_on_and_on_and_on_{n}" for n in range(30))
    )
    text = " ".join(world.plan("cursor", "pruned").warnings)
    assert "at most 40 tools; 60 are on" in text
    assert "60 tool names are longer than the 60 characters" in text


def test_the_diff_masks_every_secret_and_shows_the_rest(world):
    world.write(".cursor/mcp.json", CURSOR)
    world.learn()
    world.narrow()
    (shown,) = masked_diff(world.plan("cursor", "pruned"))
    both = shown.before + shown.after
    assert "t0p-s3cret" not in both and "t0p-s3cret" not in repr(shown.pairs)
    assert '"A": "••••"' in both and GW in shown.after
    assert (None, None) not in shown.pairs


def test_the_same_name_in_two_hosts_goes_to_the_right_server(world):
    world.write(".cursor/mcp.json", {"mcpServers": {"time": {"command": "one"}}})
    world.write(".lmstudio/mcp.json", {"mcpServers": {"time": {"command": "two"}}})
    world.learn()
    world.narrow()
    names = {
        servers_of(world.plan(host_id, "pruned"))["time"]["args"][3]
        for host_id in ("cursor", "lm-studio")
    }
    assert names == {"time", "time-2"}


def test_every_host_of_the_first_set_gets_its_own_spelling(world, samples):
    files = {
        "vscode": ("vscode/User/mcp.json", ".config/Code/User/mcp.json"),
        "codex": ("codex/config.toml", ".codex/config.toml"),
        "opencode": ("opencode/opencode.jsonc", ".config/opencode/opencode.jsonc"),
        "zed": ("zed/settings.json", ".config/zed/settings.json"),
        "goose": ("goose/config.yaml", ".config/goose/config.yaml"),
    }
    for sample, path in files.values():
        world.write(path, (samples / sample).read_bytes())
    world.learn()
    through = {}
    for host_id in files:
        (file,) = world.plan(host_id, "through").files
        reading = read_data(file.after, file.path, host_id)
        assert reading.through == "default", host_id
        through[host_id] = file.after.decode()
    assert '"command": ["/opt' in through["opencode"] and '"type": "local"' in through["opencode"]
    assert "[mcp_servers.toolcrib]" in through["codex"]
    assert "cmd: /opt" in through["goose"] and "    name: toolcrib" in through["goose"]
    assert "// Zed settings" in through["zed"]
    assert "// MCP servers of the default profile" in through["vscode"]


def test_on_windows_the_store_apps_copy_gets_the_entry(world):
    package = "AppData/Local/Packages/Claude_pzs8sxrjxfjjc/LocalCache/Roaming/Claude/"
    places = Places(world.home, {}, "windows", None, world.home)
    (world.home / package).mkdir(parents=True)
    world.serve_another()
    (file,) = world.plan("claude-desktop", "through", places=places, also=["far"]).files
    assert str(file.path).endswith(package + "claude_desktop_config.json")


def test_on_windows_both_copies_of_claude_desktop_are_written(world):
    package = "AppData/Local/Packages/Claude_pzs8sxrjxfjjc/LocalCache/Roaming/Claude/"
    places = Places(world.home, {}, "windows", None, world.home)
    for folder in (package, "AppData/Roaming/Claude/"):
        world.write(folder + "claude_desktop_config.json", CURSOR)
    world.learn(places=places)
    files = world.plan("claude-desktop", "through", places=places).files
    assert len(files) == 2
    assert all(list(json.loads(f.after)["mcpServers"]) == ["toolcrib"] for f in files)


def test_a_host_that_fills_in_no_variables_gets_none_passed_on(world):
    entry = {"url": "https://h", "headers": {"A": "${T}"}}
    world.write(".lmstudio/mcp.json", {"mcpServers": {"web": entry}})
    world.learn()
    world.narrow()
    assert "env" not in servers_of(world.plan("lm-studio", "pruned"))["web"]


@pytest.mark.parametrize("mode", ["pruned", "through"])
def test_after_an_export_and_another_reading_every_mode_can_still_be_planned(world, mode):
    file = world.write(".cursor/mcp.json", CURSOR)
    world.learn()
    world.narrow()
    start = file.read_bytes()
    world.export("cursor", mode)
    world.learn()
    world.narrow()
    assert [server.name for server in world.catalog.servers] == ["stub", "web"]
    assert world.plan("cursor", mode).empty
    for other in ("through", "pruned", mode):
        made = world.plan("cursor", other)
        assert not any("not in the catalog" in warning for warning in made.warnings)
        world.export("cursor", other)
        world.learn()
        world.narrow()
    world.export("cursor", "as-is")
    assert file.read_bytes() == start
    world.learn()
    world.narrow()
    assert [server.name for server in world.catalog.servers] == ["stub", "web"]


def test_a_data_folder_that_only_the_shell_knows_is_carried_too(world):
    world.write(".cursor/mcp.json", CURSOR)
    world.learn()
    places = Places(world.home, {"XDG_DATA_HOME": "/data"}, "linux", None)
    after = servers_of(world.plan("cursor", "through", places=places))
    assert after["toolcrib"]["env"] == {"TOOLCRIB_HOME": "/data/toolcrib"}
    call = GatewayCall.here(Path("/opt/toolcrib-gateway"), "lean", places)
    assert "/data/toolcrib" in snippet(host("jan"), call)  # to copy by hand


def test_going_through_says_which_of_the_hosts_own_rules_end(world):
    text = '[mcp_servers.stub]\ncommand = "x"\ndisabled_tools = ["beta_delete"]\n'
    world.write(".codex/config.toml", text)
    world.write(".claude.json", {"mcpServers": {"stub": {"command": "x"}}})
    world.learn()
    world.narrow()
    codex = " ".join(world.plan("codex", "through").warnings)
    assert "stub has its own tool list, which no longer applies" in codex
    claude = " ".join(world.plan("claude-code", "through").warnings)
    assert "Rules of Claude Code that name tools" in claude
    assert "no longer appl" not in " ".join(world.plan("codex", "pruned").warnings)
