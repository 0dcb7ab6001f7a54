import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.export.side_by_side import line_pairs

SERVERS = {
    "files": {"command": "node", "args": ["a.js", "/x"], "env": {"A": "1"}},
    "memory": {"command": "node", "args": ["b.js"], "env": {"M": "1"}},
    "github": {"command": "node", "args": ["c.js"]},
}


def text_of(servers: object) -> str:
    return json.dumps({"first": 1, "mcpServers": servers, "last": 2}, indent=2)


def pairs_of(before: str, after: str):
    sides = (before.splitlines(), after.splitlines())
    return list(line_pairs(sides, *sides))


def test_one_entry_for_all_stands_beside_no_line_of_another_and_the_rest_is_unchanged():
    one = {"toolcrib": {"command": "gateway", "args": ["--profile", "default"], "env": {"H": "/"}}}
    pairs = pairs_of(text_of(SERVERS), text_of(one))
    same = [left for left, right in pairs if left == right]
    assert same == ["{", '  "first": 1,', '  "mcpServers": {', "  },", '  "last": 2', "}"]
    assert all(None in pair for pair in pairs if pair[0] != pair[1])
    assert pairs[3] == (None, '    "toolcrib": {')  # in sight, above what goes


def test_a_rewritten_entry_stands_beside_itself():
    wrapped = {"command": "gateway", "args": ["--server", "memory"], "env": {"M": "1"}}
    pairs = pairs_of(text_of(SERVERS), text_of({**SERVERS, "memory": wrapped}))
    assert [pair for pair in pairs if pair[0] != pair[1]] == [
        ('      "command": "node",', '      "command": "gateway",'),
        ('        "b.js"', '        "--server",'),
        (None, '        "memory"'),
    ]


@pytest.mark.parametrize(
    ("before", "after", "changed"),
    [
        (
            "[s.a]\ncommand = 'x'\n\n[s.b]\ncommand = 'x'\n",
            "[s.b]\ncommand = 'y'\n",
            [
                ("[s.a]", None),
                ("command = 'x'", None),
                ("", None),
                ("command = 'x'", "command = 'y'"),
            ],
        ),
        (
            "e:\n  a:\n    cmd: x\n  b:\n    cmd: x\n",
            "e:\n  b:\n    cmd: y\n",
            [("  a:", None), ("    cmd: x", None), ("    cmd: x", "    cmd: y")],
        ),
        (
            '[\n {\n  "name": "a",\n  "x": 1\n },\n {\n  "name": "b",\n  "x": 1\n }\n]',
            '[\n {\n  "name": "b",\n  "x": 2\n }\n]',
            [
                (" {", None),
                ('  "name": "a",', None),
                ('  "x": 1', None),
                (" },", None),
                ('  "x": 1', '  "x": 2'),
            ],
        ),
    ],
    ids=["toml", "yaml", "a list"],
)
def test_entries_are_told_apart_in_every_format(before, after, changed):
    pairs = pairs_of(before, after)
    assert sorted(p for p in pairs if None in p) == sorted(p for p in changed if None in p)
    assert [p for p in pairs if None not in p and p[0] != p[1]] == [changed[-1]]


LINES = st.lists(st.sampled_from(["{", "}", "  a: 1", "  a: 2", "[t]", "- x", "", "\tb", "  ]"]))


@given(LINES, LINES)
def test_no_line_is_lost_and_none_is_moved(left, right):
    pairs = list(line_pairs((left, right), left, right))
    assert [a for a, _ in pairs if a is not None] == left
    assert [b for _, b in pairs if b is not None] == right
    assert (None, None) not in pairs
