import tomllib
from pathlib import Path

import pytest

from app.core.errors import ToolcribError
from app.hosts.documents.editing import edit
from app.hosts.documents.edits import Delete, Set
from app.hosts.documents.values import read_values

CODEX = (Path(__file__).parents[3] / "data/hosts/codex/config.toml").read_bytes()
ENTRY = {"command": "/opt/gw", "args": ["--profile", "p"], "env": {"A": "b"}}


def changed_lines(before: bytes, after: bytes) -> list[bytes]:
    old = before.splitlines()
    return [line for line in after.splitlines() if line not in old]


def test_a_changed_value_changes_its_line_only():
    after = edit(CODEX, "toml", [Set(("mcp_servers", "context7", "command"), "/opt/gw")])
    assert changed_lines(CODEX, after) == [b'command = "/opt/gw"']
    assert len(after.splitlines()) == len(CODEX.splitlines())


def test_a_new_key_stands_in_its_table_before_the_comment_of_the_next():
    text = b'[mcp_servers.a]\ncommand = "x"\n\n# about b\n[mcp_servers.b]\ncommand = "y"\n'
    after = edit(text, "toml", [Set(("mcp_servers", "a", "enabled_tools"), ["t"])])
    assert after == text.replace(b'"x"\n', b'"x"\nenabled_tools = ["t"]\n')


def test_a_new_server_is_a_table_at_the_end_and_goes_without_a_trace():
    after = edit(CODEX, "toml", [Set(("mcp_servers", "toolcrib"), ENTRY)])
    assert after.startswith(CODEX)
    assert read_values(after, "toml").value["mcp_servers"]["toolcrib"] == ENTRY
    assert edit(after, "toml", [Delete(("mcp_servers", "toolcrib"))]) == CODEX


def test_a_deleted_server_takes_its_own_tables_and_no_comment_of_others():
    after = edit(CODEX, "toml", [Delete(("mcp_servers", "figma"))])
    assert b"figma" not in after
    assert b"# ---- MCP ---" in after and b'"shop db"' in after
    text = b"[a]\nx = 1\n\n# about b\n[b]\ny = 2\n"
    assert edit(text, "toml", [Delete(("a",))]) == b"# about b\n[b]\ny = 2\n" or b"# about b" in (
        edit(text, "toml", [Delete(("a",))])
    )


def test_a_key_with_a_value_over_several_lines_is_deleted_whole():
    after = edit(CODEX, "toml", [Delete(("mcp_servers", "figma", "enabled_tools"))])
    assert b"get_design_context" not in after
    assert b'default_tools_approval_mode = "prompt"' in after


def test_crlf_and_a_byte_order_mark_stay():
    data = b"\xef\xbb\xbf" + CODEX.replace(b"\n", b"\r\n")
    after = edit(data, "toml", [Set(("mcp_servers", "n"), ENTRY)])
    assert after.startswith(b"\xef\xbb\xbf") and after.count(b"\n") == after.count(b"\r\n")


ENV = "TOOLCRIB_HOME"
TABLES = {
    "no env": '[mcp_servers.a]\ncommand = "x"\n\n[tui]\ntheme = "dark"\n',
    "an env table": '[mcp_servers.a]\ncommand = "x"\n\n[mcp_servers.a.env]\nB = "c"\n[tui]\n',
    "an inline env": '[mcp_servers.a]\ncommand = "x"\nenv = { B = "c" }\n\n[tui]\ntheme = "dark"\n',
    "an inline server": '[mcp_servers]\na = { command = "x" }\n',
    "dotted": 'mcp_servers.a.command = "x"\n',
    "no last line end": '[mcp_servers.a]\ncommand = "x"\n# end',
    "a long text": '[mcp_servers.a]\ncommand = "x"\n\n[n]\nt = """a\nb"""\n',
}


@pytest.mark.parametrize("name", TABLES)
def test_line_ends_stay_as_they_are_where_an_env_table_is_added(name):
    at = ("mcp_servers", "a", "env", ENV)
    data = TABLES[name].encode()
    plain = edit(data, "toml", [Set(at, "/h")])
    crlf = edit(data.replace(b"\n", b"\r\n"), "toml", [Set(at, "/h")])
    assert tomllib.loads(plain.decode())["mcp_servers"]["a"]["env"][ENV] == "/h"
    assert crlf.count(b"\r\n") == crlf.count(b"\n") > 0 and crlf.count(b"\r\r") == 0
    assert crlf.replace(b"\r\n", b"\n") == plain


def test_a_first_variable_stands_beside_its_server():
    text = b'# mine\n[mcp_servers.a]\ncommand = "x"\n\n# about b\n[mcp_servers.b]\ncommand = "y"\n'
    own = b'\n[mcp_servers.a.env]\nK = "v"\n'
    wanted = text.replace(b'"x"\n', b'"x"\n' + own)
    assert edit(text, "toml", [Set(("mcp_servers", "a", "env"), {"K": "v"})]) == wanted
    assert edit(wanted, "toml", [Delete(("mcp_servers", "a", "env"))]) == text
    crlf = edit(
        text.replace(b"\n", b"\r\n"), "toml", [Set(("mcp_servers", "a", "env"), {"K": "v"})]
    )
    assert crlf == wanted.replace(b"\n", b"\r\n")


def test_tables_of_the_server_and_its_values_over_lines_stay_whole():
    text = b'[mcp_servers.a]\nargs = [\n  "x",\n]\n[mcp_servers.a.tools.t]\non = true\n'
    after = edit(text, "toml", [Set(("mcp_servers", "a", "env"), {"K": "v"})])
    assert after == text.replace(b"]\n[mcp", b']\n\n[mcp_servers.a.env]\nK = "v"\n[mcp')


def test_dotted_keys_and_inline_tables_are_edited():
    data = b'mcp_servers.a.command = "uvx"\nmcp_servers.a.args = ["x"]\n\n[tui]\ntheme = "dark"\n'
    after = edit(data, "toml", [Set(("mcp_servers", "a", "command"), "gw")])
    assert read_values(after, "toml").value["mcp_servers"]["a"] == {"command": "gw", "args": ["x"]}
    data = b'[mcp_servers]\na = { command = "x", env = { K = "v" } }\n'
    after = edit(data, "toml", [Set(("mcp_servers", "a", "env", "H"), "h")])
    assert read_values(after, "toml").value["mcp_servers"]["a"]["env"] == {"K": "v", "H": "h"}


@pytest.mark.parametrize("data", [b"a = ", b"[a\n", b"\xff\xfea\x00"])
def test_what_is_not_toml_is_refused(data):
    with pytest.raises(ToolcribError):
        edit(data, "toml", [Set(("a",), 1)])
