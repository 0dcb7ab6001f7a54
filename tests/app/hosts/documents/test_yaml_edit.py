from pathlib import Path

import pytest

from app.core.errors import ToolcribError
from app.hosts.documents.editing import edit
from app.hosts.documents.edits import Delete, Rename, Set
from app.hosts.documents.values import read_values
from tests.fakes.cpu_time import CpuTime

HOSTS = Path(__file__).parents[3] / "data/hosts"
GOOSE = (HOSTS / "goose/config.yaml").read_bytes()


def test_lines_outside_the_edit_keep_their_bytes():
    after = edit(GOOSE, "yaml", [Set(("extensions", "time", "enabled"), True)])
    old, new = GOOSE.splitlines(), after.splitlines()
    assert len(old) == len(new)
    assert [b for a, b in zip(old, new, strict=True) if a != b] == [b"    enabled: true"]


def test_adding_and_deleting_an_extension_gives_the_same_bytes():
    entry = {"type": "stdio", "cmd": "/opt/gw", "args": ["--profile", "p"], "envs": {}}
    after = edit(GOOSE, "yaml", [Set(("extensions", "toolcrib"), entry)])
    assert read_values(after, "yaml").value["extensions"]["toolcrib"] == entry
    assert edit(after, "yaml", [Delete(("extensions", "toolcrib"))]) == GOOSE


def test_comments_quotes_and_line_ends_stay():
    data = GOOSE.replace(b"\n", b"\r\n")
    after = edit(data, "yaml", [Set(("extensions", "github", "available_tools"), ["x"])])
    assert b'# MCP servers are "extensions"\r\n' in after
    assert b'["mcp-server-time"]' in after and b'{ TZ: "Europe/Vienna" }' in after
    assert after.count(b"\n") == after.count(b"\r\n")


def test_a_value_that_comes_from_an_anchor_is_not_changed_elsewhere():
    data = (HOSTS / "_nasty/goose-anchors.yaml").read_bytes()
    after = edit(data, "yaml", [Set(("extensions", "a", "enabled"), False)])
    assert b"<<: *c" in after and b"&c\n  enabled: true" in after
    for one in (Set(("x-common", "timeout"), 1), Delete(("extensions", "a", "timeout"))):
        with pytest.raises(ToolcribError):
            edit(data, "yaml", [one])


@pytest.mark.parametrize("text", ["a: [1", "a: 1\na: 2\n", "\tx: 1", "a: *nothing"])
def test_what_is_not_yaml_is_refused(text):
    with pytest.raises(ToolcribError):
        edit(text.encode(), "yaml", [Set(("b",), 1)])


def test_front_matter_is_edited_and_the_body_stays():
    data = (HOSTS / "vscode/project/.github/agents/reviewer.agent.md").read_bytes()
    after = edit(data, "markdown", [Set(("tools",), ["github/get_issue"])])
    assert read_values(after, "markdown").value["tools"] == ["github/get_issue"]
    assert after.split(b"---")[-1] == data.split(b"---")[-1]


COMMENTED = """extensions:
  # about a
  a:   # a
    cmd: npx
    args:
    - x   # x
    # end of a
    enabled: true

  # about b
  b:
    cmd: z
# bottom
"""


def test_a_deletion_leaves_the_comments_of_what_comes_after():
    after = edit(COMMENTED.encode(), "yaml", [Delete(("extensions", "a"))]).decode()
    kept = "extensions:\n  # about a\n\n  # about b\n  b:\n    cmd: z\n# bottom\n"
    assert after == kept
    last = edit(COMMENTED.encode(), "yaml", [Delete(("extensions", "b"))]).decode()
    assert last == COMMENTED.replace("  b:\n    cmd: z\n", "")


@pytest.mark.parametrize("end", ["", "\n"])
def test_a_file_without_a_last_line_end_takes_new_lines_and_has_none_after(end):
    data = f"extensions:\n  a:\n    cmd: npx{end}".encode()
    after = edit(data, "yaml", [Set(("extensions", "a", "envs"), {"K": "v"})])
    assert after == f"extensions:\n  a:\n    cmd: npx\n    envs:\n      K: v{end}".encode()


def test_a_new_file_ends_with_a_line_end():
    assert edit(b"", "yaml", [Set(("mcpServers", "a"), {"command": "x"})]).endswith(b"x\n")


def test_a_layout_that_takes_no_edit_is_refused_with_a_sentence():
    data = b"servers:\n   a:\n      command: x\n      env: {A: b}\n   b:\n      command: y\n"
    at = ("servers", "a", "env")
    with pytest.raises(ToolcribError, match="cannot be edited in place"):
        edit(data, "yaml", [Set(at, {"B": "c"}), Rename(at, "envs")])


def test_a_text_read_again_costs_no_parsing_and_shares_no_value():
    data = b"servers: [" + b"{command: npx, args: [a, b]}, " * 3_000 + b"]"
    with CpuTime() as once:
        first = read_values(data, "yaml").value
    first["servers"][0]["args"].append("mine")
    with CpuTime() as again:
        assert read_values(data, "yaml").value["servers"][0]["args"] == ["a", "b"]
    assert again.seconds < once.seconds / 5
