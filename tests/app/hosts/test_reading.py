import json
import shutil
from pathlib import Path

import pytest

from app.core.errors import ToolcribError
from app.hosts.importing import read_data, read_file
from app.hosts.places import Places
from app.hosts.reading import also_read_by, read_hosts
from tests.fakes.cpu_time import CpuTime

SAMPLES = Path(__file__).parents[2] / "data" / "hosts"
INDEX = json.loads((SAMPLES / "index.json").read_text(encoding="utf-8"))
READABLE = [
    name for name, about in INDEX.items() if about["servers"] is not None and about["valid"]
]
REFUSED = [name for name, about in INDEX.items() if not about["valid"]]


def hint(name):
    return None if INDEX[name]["host"] == "*" else INDEX[name]["host"]


@pytest.mark.parametrize("name", READABLE)
def test_every_sample_reads_to_the_names_of_its_index(name):
    reading = read_file(SAMPLES / name, hint(name))
    found = [entry.name for entry in reading.entries if not entry.scope.startswith("local:")]
    assert reading.problem == ""
    assert found == INDEX[name]["servers"]


def test_no_sample_is_left_out_of_the_index():
    samples = {p.relative_to(SAMPLES).as_posix() for p in SAMPLES.rglob("*") if p.is_file()}
    assert samples - {"index.json", ".gitattributes"} == set(INDEX)


@pytest.mark.parametrize("name", REFUSED)
def test_a_broken_sample_is_refused_with_a_reason(name):
    with pytest.raises(ToolcribError) as error:
        read_file(SAMPLES / name, hint(name))
    assert error.value.title.endswith(".")


def test_a_list_where_a_map_is_expected_is_a_problem():
    reading = read_file(SAMPLES / "_nasty/wrong-shape-list.json")
    assert reading.entries == ()
    assert "list" in reading.problem


def test_duplicate_keys_are_read_as_hosts_do_and_said():
    reading = read_file(SAMPLES / "_nasty/duplicate-keys.json")
    assert [entry.name for entry in reading.entries] == ["b"]
    assert "mcpServers is in this file twice" in reading.notes[0]


def place(home, sample, at):
    target = home / at
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(SAMPLES / sample, target)
    return target


def one(readings, host_id):
    (found,) = [reading for reading in readings if reading.host.id == host_id]
    return {entry.name: entry for entry in found.entries}


def test_a_home_without_hosts_reads_to_nothing(tmp_path):
    assert read_hosts(Places(tmp_path, {}, "linux", None, tmp_path / "root")) == ()


def test_every_hosts_own_spelling_gives_the_same_kind_of_launch(tmp_path):
    place(tmp_path, "codex/config.toml", ".codex/config.toml")
    place(tmp_path, "goose/config.yaml", ".config/goose/config.yaml")
    place(tmp_path, "opencode/opencode.jsonc", ".config/opencode/opencode.jsonc")
    place(tmp_path, "cline/cline_mcp_settings.json", ".cline/data/settings/cline_mcp_settings.json")
    place(tmp_path, "qwen-code/settings.json", ".qwen/settings.json")
    place(tmp_path, "windsurf/mcp_config.json", ".codeium/windsurf/mcp_config.json")
    place(tmp_path, "warp/.mcp.json", ".warp/.mcp.json")
    readings = read_hosts(Places(tmp_path, {}, "linux", None, tmp_path / "root"))

    codex = one(readings, "codex")
    assert codex["context7"].launch.env == {
        "CONTEXT7_API_KEY": "${CONTEXT7_API_KEY}",
        "LOG_LEVEL": "warn",
    }
    assert codex["figma"].launch.headers["Authorization"] == "Bearer ${FIGMA_OAUTH_TOKEN}"
    assert codex["shop db"].disabled

    goose = one(readings, "goose")
    assert list(goose) == ["github", "time"]
    assert goose["github"].launch.url == "https://api.githubcopilot.com/mcp/"
    assert goose["time"].disabled and goose["time"].launch.command == "uvx"

    opencode = one(readings, "opencode")
    assert opencode["time"].launch.command == "uvx"
    assert opencode["time"].launch.args == ("mcp-server-time",)
    assert opencode["time"].launch.env == {"TZ": "{env:TZ}"}

    cline = one(readings, "cline")
    assert cline["old"].launch.transport == "sse"
    assert cline["nested"].launch.transport == "http"
    assert cline["notion"].disabled

    qwen = one(readings, "qwen-code")
    assert {name: entry.launch.transport for name, entry in qwen.items()} == {
        "web": "http",
        "old": "sse",
        "time": "stdio",
    }
    assert one(readings, "windsurf")["github"].launch.url.startswith("https://")
    assert one(readings, "warp")["time"].launch.cwd


def test_claude_codes_local_scope_is_project_level_and_named_by_its_folder(tmp_path):
    place(tmp_path, "claude-code/dot-claude.json", ".claude.json")
    entries = one(read_hosts(Places(tmp_path, {}, "linux", None, tmp_path / "root")), "claude-code")
    assert entries["memory"].scope == "user" and not entries["memory"].project_level
    assert entries["shop-db"].scope == "local:/Users/ana/src/shop"
    assert entries["shop-db"].project_level


def test_a_url_without_a_type_is_a_problem_in_claude_code_only():
    data = b'{"mcpServers": {"a": {"url": "https://h/mcp"}}}'
    (skipped,) = read_data(data, Path(".mcp.json"), "claude-code").entries
    (taken,) = read_data(data, Path("mcp.json"), "cursor").entries
    assert skipped.launch is None and "skips" in skipped.problem
    assert taken.launch.transport == "http"


def test_installed_extensions_become_servers_with_their_settings(tmp_path):
    base = tmp_path / ".config/Claude"
    for name in ("Claude Extensions", "Claude Extensions Settings"):
        shutil.copytree(SAMPLES / "claude-desktop" / name, base / name)
    readings = read_hosts(Places(tmp_path, {}, "linux", None, tmp_path / "root"))
    entries = {entry.name: entry for reading in readings for entry in reading.entries}
    files = entries["Filesystem"]
    folder = base / "Claude Extensions/ant.dir.ant.anthropic.filesystem"
    assert files.scope == "extension" and not files.disabled
    assert files.launch.command == "node"
    assert files.launch.args == (f"{folder}/server/index.js", "/Users/ana/Documents")
    notes = entries["notes-search"]
    assert notes.disabled
    assert notes.launch.env["NOTES_DIR"] == "/Users/ana/Notes"
    assert "api_key" in notes.problem


def test_an_extension_takes_the_overrides_of_the_system(tmp_path):
    base = tmp_path / "AppData/Roaming/Claude"
    for name in ("Claude Extensions", "Claude Extensions Settings"):
        shutil.copytree(SAMPLES / "claude-desktop" / name, base / name)
    readings = read_hosts(Places(tmp_path, {}, "windows", None, tmp_path / "root"))
    entries = {entry.name: entry for reading in readings for entry in reading.entries}
    assert entries["Filesystem"].launch.command == "node.exe"


def test_an_unreadable_file_is_a_reading_with_a_problem(tmp_path):
    place(tmp_path, "_nasty/truncated.json", ".cursor/mcp.json")
    place(tmp_path, "_nasty/utf16.json", ".lmstudio/mcp.json")
    readings = read_hosts(Places(tmp_path, {}, "linux", None, tmp_path / "root"))
    problems = {reading.host.id: reading.problem for reading in readings}
    assert "line 4" in problems["cursor"]
    assert "UTF-16" in problems["lm-studio"]


def test_an_entry_that_toolcrib_wrote_gives_its_own_server_back():
    wrapped = {
        "mcpServers": {
            "time": {
                "command": "/opt/x/toolcrib-gateway",
                "args": ["--profile", "p", "--server", "time-2", "--", "uvx", "mcp-server-time"],
                "env": {"TZ": "UTC", "TOOLCRIB_HOME": "/h"},
            },
            "web": {
                "command": "C:\\x\\toolcrib-gateway.exe",
                "args": ["--profile", "p", "--server", "web"],
            },
            "toolcrib": {"command": "toolcrib-gateway", "args": ["--profile", "lean"]},
        }
    }
    reading = read_data(json.dumps(wrapped).encode(), Path("mcp.json"), "cursor")
    time, web = reading.entries
    assert (time.launch.command, time.launch.args) == ("uvx", ("mcp-server-time",))
    assert time.launch.env == {"TZ": "UTC"}
    assert (time.pruned, time.server) == ("p", "time-2")
    assert web.launch is None and web.server == "web" and web.problem == ""
    assert reading.through == "lean"


def test_files_of_several_hosts_are_said_to_be_shared(tmp_path):
    project = tmp_path / "p"
    places = Places(tmp_path, {}, "linux", project)
    readers = also_read_by(places, project / ".mcp.json", but="claude-code")
    assert {"Copilot CLI", "Warp"} <= set(readers)
    assert "Warp" in also_read_by(places, tmp_path / ".claude.json", but="claude-code")


def test_notes_say_what_the_host_will_not_read(tmp_path):
    data = b'\xef\xbb\xbf{"mcpServers": {}, /* c */ }'
    notes = " ".join(read_data(data, Path("mcp.json"), "factory-droid").notes)
    assert "comments" in notes and "trailing commas" in notes and "byte order mark" in notes


@pytest.mark.parametrize(
    ("text", "suffix", "names"),
    [
        ('{"github": {"command": "x"}}', ".json", ["github"]),
        ('{"servers": {"a": {"url": "http://h"}}}', ".json", ["a"]),
        ('{"mcp": {"a": {"type": "stdio", "command": "x"}}}', ".json", ["a"]),
        ('{"mcp": {"a": {"type": "local", "command": ["x", "y"]}}}', ".json", ["a"]),
        ('{"mcpServers": {"a": {"httpUrl": "http://h"}}}', ".json", ["a"]),
        ('[mcp_servers.a]\ncommand = "x"\n', ".toml", ["a"]),
        ("extensions:\n  a:\n    type: stdio\n    cmd: x\n", ".yaml", ["a"]),
    ],
)
def test_a_pasted_config_of_no_known_host_is_recognised(text, suffix, names):
    reading = read_data(text.encode(), Path("pasted" + suffix))
    assert [entry.name for entry in reading.entries] == names
    assert all(entry.launch is not None for entry in reading.entries)
    assert {entry.scope for entry in reading.entries} == {"manual"}


def test_a_file_without_servers_is_refused():
    with pytest.raises(ToolcribError, match="holds no servers"):
        read_data(b'{"a": 1}', Path("x.json"))


def test_no_secret_is_in_the_printed_form_of_a_reading():
    reading = read_file(SAMPLES / "claude-desktop/claude_desktop_config.json", "claude-desktop")
    assert "not-a-real-password" not in repr(reading)


def test_reading_starts_no_program_and_opens_no_connection(tmp_path):
    import sys

    for name in ("claude-desktop/claude_desktop_config.json", "claude-code/dot-claude.json"):
        place(tmp_path, name, ".config/Claude/claude_desktop_config.json")
    place(tmp_path, "crush/crush.json", ".config/crush/crush.json")
    events: list[str] = []
    watching = [True]

    def hook(event, _args):
        starts = event.split(".")[0] in ("subprocess", "socket")
        if watching[0] and (
            starts or event in ("os.system", "os.posix_spawn", "os.fork", "os.exec")
        ):
            events.append(event)

    sys.addaudithook(hook)
    try:
        assert read_hosts(Places(tmp_path, {}, "linux", None, tmp_path / "root"))
    finally:
        watching[0] = False
    assert events == []


def test_a_file_of_more_servers_than_are_read_is_a_problem_and_not_a_wait(tmp_path):
    servers = {f"s{i}": {"command": "x"} for i in range(5_001)}
    file = tmp_path / "mcp.json"
    file.write_text(json.dumps({"mcpServers": servers}), encoding="utf-8")
    reading = read_file(file)
    assert reading.problem == "mcpServers names 5,001 servers. Toolcrib reads up to 5,000."
    assert reading.entries == ()
    del servers["s0"]
    file.write_text(json.dumps({"mcpServers": servers}), encoding="utf-8")
    assert len(read_file(file).entries) == 5_000


@pytest.mark.parametrize("part", ['{"a": 1 /* x */}', '{"a": 1,}', "[1]", '{"a": "\\\\" }'])
def test_a_projects_file_costs_time_in_proportion_to_its_length(tmp_path, part):
    """15 MB took up to 28 s: an item that was no strict JSON was read part by part."""
    project = tmp_path / "home" / "project"
    project.mkdir(parents=True)
    places = Places(tmp_path / "home", {}, "linux", project, tmp_path / "root")

    def cost(parts: int) -> float:
        items = ", ".join([part] * parts)
        text = f'{{"history": [{items}], "mcpServers": {{"a": {{"command": "x"}}}},}}'
        (project / ".mcp.json").write_text(text, encoding="utf-8")
        with CpuTime() as cpu:
            readings = read_hosts(places)
        assert [entry.name for entry in readings[0].entries] == ["a"]
        return cpu.seconds

    cost(1_000)
    assert min(cost(80_000) for _ in range(2)) < 32 * max(cost(10_000), 0.002)
