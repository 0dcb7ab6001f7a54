import contextlib
import json
from pathlib import Path

import pytest

from app.core.errors import ToolcribError
from app.hosts.documents.editing import edit
from app.hosts.documents.edits import Delete, Set
from app.hosts.documents.values import read_values
from tests.fakes.cpu_time import CpuTime

SAMPLES = Path(__file__).parents[3] / "data" / "hosts"
ENTRY = {"command": "/opt/gw", "args": ["--profile", "p"], "env": {"A": "grüß"}}


def change(text: str, *edits) -> str:
    return edit(text.encode(), "jsonc", edits).decode()


@pytest.mark.parametrize(
    "text",
    [
        "{}",
        '{"servers": {}}\n',
        '{\n  "servers": {\n    "a": {"command": "x"}\n  }\n}\n',
        '{\r\n\t"servers": {\r\n\t\t"a": { "command": "x" }, // keep\r\n'
        '\t\t"b": 1 // tail\r\n\t},\r\n}\r\n',
        '{"servers":{"a":{"command":"x"}},"big":12345678901234567890,"f":1.0}',
        '// before\n{ "servers": { /* why */ "a": {}, } } // after',
        '{"servers": {"a": {} // one\n}}',
        '{\n "servers": {\n  "a": {\n   "x": []\n  }\n }\n}',
    ],
)
def test_adding_and_deleting_again_gives_the_same_bytes(text):
    added = change(text, Set(("servers", "new"), ENTRY))
    assert read_values(added.encode(), "jsonc").value["servers"]["new"] == ENTRY
    had_servers = '"servers"' in text
    back = change(added, Delete(("servers", "new") if had_servers else ("servers",)))
    assert back == text


def test_tabs_crlf_bom_comments_and_trailing_commas_stay():
    data = (SAMPLES / "_nasty/bom-crlf-tabs.jsonc").read_bytes()
    after = edit(data, "jsonc", [Set(("servers", "b", "args"), ["1"]), Delete(("servers", "a"))])
    assert after.startswith(b"\xef\xbb\xbf{\r\n\t// top\r\n")
    assert b"// keep me" in after and b"// tail" in after
    assert after.count(b"\n") == after.count(b"\r\n")
    assert edit(data, "jsonc", []) == data


def test_numbers_and_escapes_outside_the_edit_keep_their_spelling():
    data = (SAMPLES / "_nasty/one-line.json").read_bytes()
    after = edit(data, "jsonc", [Set(("mcpServers", "a", "command"), "y")])
    assert after == data.replace(b'"command":"x"', b'"command":"y"')
    data = (SAMPLES / "_nasty/escapes.json").read_bytes()
    after = edit(data, "jsonc", [Set(("mcpServers", "grüß", "env"), {})])
    assert b'"gr\\u00fc\\u00df"' in after and b'"\\/a"' in after


def test_only_the_line_of_a_changed_value_changes():
    data = (SAMPLES / "zed/settings.json").read_bytes()
    after = edit(data, "jsonc", [Set(("context_servers", "time", "command"), "/opt/gw")])
    old, new = data.splitlines(), after.splitlines()
    assert len(old) == len(new)
    assert sum(a != b for a, b in zip(old, new, strict=True)) == 1


def test_a_deleted_last_member_before_a_line_comment_leaves_valid_text():
    assert read_values(change('{ "a": 1, // c\n "b": 2 }', Delete(("b",))).encode(), "jsonc").value
    assert change('{"a": 1 /* c */, "b": 2}', Delete(("a",))).count("/* c */") == 1


def test_lists_of_the_user_are_appended_to_and_keep_their_layout():
    text = '{"permissions": {"deny": [\n  "A", // a\n  "B"\n]}}\n'
    after = change(text, Set(("permissions", "deny", 2), "C"))
    assert after == '{"permissions": {"deny": [\n  "A", // a\n  "B",\n  "C"\n]}}\n'


def test_a_null_map_and_an_empty_file_become_maps():
    assert read_values(change('{"m": null}', Set(("m", "a"), 1)).encode(), "json").value == {
        "m": {"a": 1}
    }
    assert change("", Set(("m", "a"), 1)) == '{\n  "m": {\n    "a": 1\n  }\n}\n'


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ('{"a": 1, "a": 2}', "twice"),
        ('{"a": {"b": 1, "b": 2}}', "twice"),
        ('{"a": ', "not valid JSON"),
        ('{"a": [1]}', "unexpected type"),
        ('{"a": "text"}', "unexpected type"),
    ],
)
def test_what_cannot_be_edited_safely_is_refused(text, what):
    with pytest.raises(ToolcribError, match=what):
        edit(text.encode(), "json", [Set(("a", "new"), 1)])


def test_deleting_what_is_not_there_is_refused():
    with pytest.raises(ToolcribError, match="no longer"):
        change('{"a": 1}', Delete(("b",)))


@pytest.mark.parametrize(
    "text",
    [
        "{",
        '{"a" 1}',
        '{"a": 1,,}',
        "[1 2]",
        '{"a": tru}',
        '{"\n": 1}',
        "{} x",
        "/* open",
        '{"a": "\\q"}',
    ],
)
def test_text_that_is_not_json_is_refused_with_its_line(text):
    with pytest.raises(ToolcribError, match=r"line [12]"):
        read_values(text.encode(), "json")


def test_deep_nesting_is_refused_and_not_a_crash():
    with pytest.raises(ToolcribError, match="nested too deeply"):
        read_values(b"[" * 5000, "json")


def test_a_lone_surrogate_is_written_escaped():
    after = change('{"a": "\\ud83d"}', Set(("b",), "\ud83d"))
    assert after.count("\\ud83d") == 2


SERVERS = '"mcpServers": {"a": {}}'
SHAPES = {
    "members": lambda n: (
        '{"p": {' + ", ".join(f'"k{i}": "{"x" * 30}"' for i in range(n)) + "}, %s}"
    ),
    "servers": lambda n: '{"s": 1, %s, ' + ", ".join(f'"s{i}": {{"a": 1}}' for i in range(n)) + "}",
    "items": lambda n: '{"p": [' + ", ".join(['{"a": [1, "x"]}'] * n) + "], %s}",
    "comments": lambda n: '{"p": [' + ", ".join(['{"a": 1 /* x */}'] * n) + "], %s}",
    "commas": lambda n: '{"p": [' + ", ".join(['{"a": "x",}'] * n) + "],, %s}".replace(",,", ","),
    "blanks": lambda n: '{"p": [1' + " " * 16 * n + ",], %s}",
    "quotes": lambda n: '{"p": "' + '\\"' * 8 * n + '", %s,}',
    "mistake": lambda n: '{"p": [' + ", ".join(['{"a": 1 /* x */}'] * n) + "], %s, x}",
    "unclosed": lambda n: '{"p": "' + '\\"/*' * 4 * n + ", %s}",
}


@pytest.mark.parametrize("shape", SHAPES)
def test_an_edit_of_a_file_of_one_line_costs_time_in_proportion_to_its_length(shape):
    """One whose mistake is not explained part by part; 8 times the text, the square is 64."""

    def cost(parts: int) -> float:
        data = (SHAPES[shape](parts) % SERVERS).encode()
        with CpuTime() as cpu, contextlib.suppress(ToolcribError):
            edit(data, "jsonc", [Set(("mcpServers", "z"), {"command": "q"})])
        return cpu.seconds

    cost(1000)
    assert min(cost(40_000) for _ in range(2)) < 32 * max(cost(5_000), 0.002)


def test_a_thousand_edits_of_a_large_file_do_not_copy_it_a_thousand_times():
    servers = {f"s{i}": {"command": "x"} for i in range(1000)}
    data = json.dumps({"mcpServers": servers, "history": ["x" * 100] * 20_000}).encode()
    edits = [Set(("mcpServers", name, "command"), "y") for name in servers]
    with CpuTime() as cpu:
        after = edit(data, "jsonc", edits)
    many = cpu.seconds
    with CpuTime() as cpu:
        edit(data, "jsonc", edits[:1])
    assert many < 8 * cpu.seconds
    assert after.count(b'"command": "y"') == 1000
