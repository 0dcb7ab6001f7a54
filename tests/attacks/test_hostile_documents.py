"""Files that are bombs, too deep, too large, no files at all, or hold what no text can."""

import json
import os
import random
from itertools import pairwise
from pathlib import Path

import pytest

from app.cli.main import run
from app.core.errors import ToolcribError
from app.core.settings import Settings
from app.hosts.documents.editing import edit
from app.hosts.documents.edits import Delete, Set
from app.hosts.documents.json_edit import edit_json
from app.hosts.documents.values import read_values
from app.hosts.importing import read_data, read_file
from app.hosts.reading import read_hosts
from tests.fakes.cpu_time import CpuTime

NINE = ["a", *"bcdefghij"]
LAUGHS = "".join(f"{new}: &{new} [{','.join([f'*{old}'] * 9)}]\n" for old, new in pairwise(NINE))
MERGES = "".join(
    f"{new}: &{new} {{<<: [{','.join([f'*{old}'] * 9)}]}}\n" for old, new in pairwise(NINE)
)
HOSTILE = {
    "yaml bomb": ("yaml", "a: &a [x, x]\n" + LAUGHS),
    "yaml bomb of merges": ("yaml", "a: &a {x: 1}\n" + MERGES),
    "yaml that holds itself": ("yaml", "a: &a [*a]"),
    "deep yaml": ("yaml", "[" * 20_000),
    "deep yaml blocks": ("yaml", "\n".join(" " * level + "a:" for level in range(900))),
    "yaml of another version": ("yaml", "%YAML 1.99\n---\na: 1"),
    "yaml with a day that is none": ("yaml", "a: 2001-99-99"),
    "long yaml tag": ("yaml", "!" * 900_000),
    "large yaml": ("yaml", "a: b\n" * 300_000),
    "deep toml": ("toml", f"a = {'[' * 50_000}{']' * 50_000}"),
    "long toml key": ("toml", f"a{'.a' * 50_000} = 1"),
    "long toml header": ("toml", f"[a{'.a' * 50_000}]\n"),
    "long toml number": ("toml", f"a = {'9' * 10_000}"),
    "deep json": ("jsonc", "[" * 100_000),
    "deep json that closes": ("jsonc", '{"a":' * 50_000 + "1" + "}" * 50_000),
    "json just deep enough to be parsed": ("json", '{"a":' * 600 + "1" + "}" * 600),
    "long json number": ("json", f'{{"a": {"9" * 10_000}}}'),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_what_no_reader_should_take_is_refused_at_once_with_a_sentence(name):
    kind, text = HOSTILE[name]
    with CpuTime() as cpu:
        with pytest.raises(ToolcribError) as refused:
            read_values(text.encode(), kind)
        assert refused.value.title.endswith(".") and refused.value.hint
    assert cpu.seconds < 5


@pytest.mark.parametrize(
    "text",
    [
        "[" * 150 + '"' + "x" * 1_000_000 + '" /* c */' + "]" * 150,  # read anew at each level
        "{" + ",".join(f'"k{number % 40_000}":1' for number in range(80_000)) + "}",
    ],
    ids=["a comment under many levels", "many keys twice"],
)
def test_what_is_only_large_is_read_in_seconds(text):
    with CpuTime() as cpu:
        read_values(text.encode(), "jsonc")
    assert cpu.seconds < 5


def test_two_hundred_servers_are_edited_in_a_second():
    names = [f"server{number}" for number in range(200)]
    servers = {n: {"command": "npx", "args": ["-y", n], "env": {"A": "b"}} for n in names}
    edits = [
        Set(("mcpServers", name, *place), value)
        for name in names
        for place, value in [(("command",), "g"), (("args",), ["--", "x"]), (("env", "B"), "c")]
    ]
    with CpuTime() as cpu:
        edit(json.dumps({"mcpServers": servers}, indent=2).encode(), "json", edits)
    assert cpu.seconds < 1


def test_a_broken_character_costs_its_server_only():
    text = '{"mcpServers": {"a\\ud800": {"command": "x"}, "b": {"command": "y\\udfff"}, '
    text += '"c": {"command": "z", "env": {"N": "\\u0000"}}, "d": {"command": "d"}}}'
    reading = read_data(text.encode(), Path("mcp.json"))
    assert [entry.name for entry in reading.entries] == ["a?", "b", "c", "d"]
    assert [bool(entry.launch) for entry in reading.entries] == [True, False, False, True]
    assert "broken character" in reading.entries[1].problem
    json.dumps([entry.name for entry in reading.entries], ensure_ascii=False).encode()


@pytest.fixture
def special(tmp_path):
    """What is no plain file, by its kind."""
    os.mkfifo(tmp_path / "pipe.json")
    (tmp_path / "folder.json").mkdir()
    (tmp_path / "device.json").symlink_to("/dev/zero")
    (tmp_path / "loop.json").symlink_to(tmp_path / "loop.json")
    return tmp_path


@pytest.mark.parametrize("name", ["pipe", "folder", "device", "loop"])
def test_what_is_no_file_is_refused_and_nothing_waits_for_it(special, name):
    with pytest.raises(ToolcribError) as refused:
        read_file(special / f"{name}.json")
    assert str(special) in refused.value.title


@pytest.mark.parametrize("name", ["pipe", "folder", "device", "loop"])
def test_settings_that_are_no_file_are_refused(special, name):
    with pytest.raises(ToolcribError):
        Settings.load(special / f"{name}.json")


def test_settings_that_are_a_bomb_are_refused(tmp_path):
    for text in (f"zoom = {'[' * 50_000}", f"a{'.a' * 20_000} = 1", "\0", f"zoom = {'9' * 9_000}"):
        (tmp_path / "settings.toml").write_text(text)
        with pytest.raises(ToolcribError, match=r"settings\.toml"):
            Settings.load(tmp_path / "settings.toml")


@pytest.mark.parametrize("name", HOSTILE)
def test_the_command_line_names_a_hostile_file_and_ends(tmp_path, capsys, monkeypatch, name):
    kind, text = HOSTILE[name]
    monkeypatch.setenv("TOOLCRIB_HOME", str(tmp_path / "own"))
    file = tmp_path / f"servers.{kind}"
    file.write_text(text)
    assert run(["import", str(file), "--dry-run"]) == 1
    assert "Traceback" not in capsys.readouterr().err


def test_a_state_file_of_seventeen_megabytes_is_read_and_written(world):
    history = [{"display": "x" * 900} for _ in range(400)]
    state = {"projects": {f"/p{number}": {"history": history} for number in range(48)}}
    state["mcpServers"] = {"stub": {"command": "x"}}
    file = world.write(".claude.json", state)
    assert file.stat().st_size > 17_000_000
    world.learn()
    world.narrow()
    assert [e.name for r in read_hosts(world.places) for e in r.entries] == ["stub"]
    world.export("claude-code", "pruned")
    assert "toolcrib-gateway" in file.read_text()


def test_edits_made_in_one_go_are_those_made_one_by_one():
    chosen = random.Random(5)
    for _ in range(150):
        text, edits = _random_document(chosen)
        one_by_one = text
        for one in edits:
            one_by_one = edit_json(one_by_one, [one])
        at_once = edit_json(text, list(edits))
        assert read_values(at_once.encode(), "jsonc") == read_values(one_by_one.encode(), "jsonc")
        assert at_once.count("/") == one_by_one.count("/"), "a comment was lost"
        assert "/" in text[12:] or at_once == one_by_one


def _random_document(chosen):
    names = [f"s{number}" for number in range(chosen.randrange(2, 7))]
    lines = []
    notes = chosen.choice([("",), ("", " // note", " /* a */")])
    for name in names:
        note = chosen.choice(notes)
        comma = "" if name == names[-1] else ","
        lines.append(f'    "{name}": {{"command": "x", "args": ["a"]}}{comma}{note}')
    text = '{\n  // mine\n  "m": {\n' + "\n".join(lines) + '\n  },\n  "z": [1, 2]\n}\n'
    edits = []
    alive = list(names)
    for _ in range(chosen.randrange(1, 9)):
        name = chosen.choice(alive)
        what = chosen.randrange(5)
        if what == 0 and len(alive) > 1:
            alive.remove(name)
            edits.append(Delete(("m", name)))
        elif what == 1:
            edits.append(Set(("m", name, "args"), ["b", "c"]))
        elif what == 2:
            edits.append(Set(("m", name, "env", f"V{len(edits)}"), "v"))
        elif what == 3:
            edits.append(Set(("m", f"new{len(edits)}"), {"command": "n"}))
        else:
            edits.append(Set(("z", 0), len(edits)))
    return text, edits
