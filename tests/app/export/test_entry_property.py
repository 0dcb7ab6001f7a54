"""Whatever a file looks like, changing one server touches no other, and undo gives the bytes."""

import json
import tempfile
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
import tomlkit
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from app.core.context import AppContext
from app.core.paths import Paths
from app.core.settings import Settings
from app.export.apply import apply, undo_host
from app.export.entries.plan import find_entry, plan_entry
from app.export.plan import DISABLE, EDIT, REMOVE, EntryChange
from app.hosts.documents.values import read_values
from app.hosts.places import Places
from store import exports
from store.records import EntryRecord

WORD = st.text("abcXYZ019-_ .é\"'/#:\\", min_size=1, max_size=9).map(str.strip).filter(bool)
NAMES = st.lists(WORD, min_size=2, max_size=4, unique_by=str.lower)
ENTRY = st.fixed_dictionaries(
    {
        "command": WORD,
        "args": st.lists(WORD, max_size=3),
        "env": st.dictionaries(st.sampled_from(["A", "TOKEN", "b_c"]), WORD, max_size=2),
    }
)
SPACE = st.sampled_from(["", " ", "\n", "\n    ", "\t"])
CASE = st.fixed_dictionaries(
    {
        "names": NAMES,
        "entries": st.lists(ENTRY, min_size=4, max_size=4),
        "space": SPACE,
        "crlf": st.booleans(),
        "which": st.integers(0, 3),
        "kind": st.sampled_from([REMOVE, "rename", "launch", DISABLE]),
        "new": WORD,
    }
)


def json_file(case, comment=""):
    space = case["space"]
    blocks = [
        f"{json.dumps(name, ensure_ascii=False)}{space}:{space}{{{space}"
        f'"command" :{json.dumps(one["command"])},{space}"args":{json.dumps(one["args"])},'
        f'  "env": {json.dumps(one["env"])}{space}}}'
        for name, one in zip(case["names"], case["entries"], strict=False)
    ]
    return f'{{ "first": [1,2 ],{comment}\n', blocks, ', "last":{"a" : null} }\n'


def json_text(case, key, comment=""):
    head, blocks, tail = json_file(case, comment)
    text = f'{head}"{key}" : {{ ' + f",{comment}\n".join(blocks) + f" }}{tail}"
    return text, head, blocks, tail


def toml_text(case):
    head, tail = "# top\nmodel = 'x'   # kept\n\n", "[last]\nx = {a = 1}  # kept\n"
    blocks = []
    for name, one in zip(case["names"], case["entries"], strict=False):
        key = tomlkit.key(name).as_string()
        lines = [f"[mcp_servers.{key}]  # it", f"command={json.dumps(one['command'])}"]
        lines += [f"args = {json.dumps(one['args'])}"]
        if one["env"]:
            lines += [f"[ mcp_servers.{key}.env ]"]
            lines += [f"{k}   = {json.dumps(v)}" for k, v in one["env"].items()]
        blocks.append("\n".join(lines) + "\n")
    return head + "\n".join(blocks) + "\n" + tail, head, blocks, tail


def yaml_text(case):
    head, tail = "# top\nA: 'x'   # kept\nextensions:\n", "LAST: {a: 1}   # kept\n"
    blocks = []
    for name, one in zip(case["names"], case["entries"], strict=False):
        lines = [f"  {json.dumps(name, ensure_ascii=False)}:", "    type: stdio"]
        lines += [f"    cmd: {json.dumps(one['command'])}", f"    args: {json.dumps(one['args'])}"]
        lines += [f"    envs: {json.dumps(one['env'])}", "    enabled: true"]
        blocks.append("\n".join(lines) + "\n")
    return head + "".join(blocks) + tail, head, blocks, tail


FORMATS = {
    "kiro": (".kiro/settings/mcp.json", lambda case: json_text(case, "mcpServers")),
    "vscode": (
        ".config/Code/User/mcp.json",
        lambda case: json_text(case, "servers", " // said, once {\n"),
    ),
    "codex": (".codex/config.toml", toml_text),
    "goose": (".config/goose/config.yaml", yaml_text),
}


@pytest.mark.parametrize("host", FORMATS)
@settings(deadline=None, max_examples=8, suppress_health_check=list(HealthCheck))
@given(case=CASE)
def test_one_server_changes_no_other_and_undo_gives_the_bytes_back(host, case):
    path, make = FORMATS[host]
    text, head, blocks, tail = make(case)
    if case["crlf"]:
        text, head, tail = (part.replace("\n", "\r\n") for part in (text, head, tail))
        blocks = [block.replace("\n", "\r\n") for block in blocks]
    with tempfile.TemporaryDirectory() as folder:
        places = Places(Path(folder) / "home", {}, "linux")
        file = places.home / path
        file.parent.mkdir(parents=True)
        file.write_bytes(text.encode())
        which = case["which"] % len(case["names"])
        entry = EntryRecord(host, "user", str(file), case["names"][which])
        plan = plan_entry(places, _change(places, entry, case))
        if plan.refusal or not plan.files:
            assert file.read_bytes() == text.encode()
            return
        own = Path(folder) / "own"
        ctx = AppContext(Paths(own, own / "models"), Settings())
        ctx.paths.create()
        with closing(ctx.open_store()) as db:
            apply(plan, ctx, db)
            after = file.read_bytes().decode()
            for number, block in enumerate(blocks):
                assert number == which or block.rstrip() in after
            assert after.startswith(head.rstrip())
            # a first table of variables goes to the end of a TOML file
            assert after.endswith(tail) or (host == "codex" and tail in after)
            file.write_bytes(after.encode() + (b"\n" if case["crlf"] else b""))
            undo_host(host, ctx, db)
            assert not [one for one in exports.for_host(db, host) if not one.undone_at]
        kind, old = plan.files[0].format, read_values(text.encode(), plan.files[0].format)
        assert read_values(file.read_bytes(), kind).value == old.value
        assert case["crlf"] or file.read_bytes() == text.encode()


def _change(places, entry, case):
    if case["kind"] == "rename":
        return EntryChange(entry, EDIT, name=case["new"])
    if case["kind"] == "launch":
        launch = find_entry(places, entry).entry.launch
        env = {**launch.env, "NEW": case["new"]}
        env.pop("A", None)
        return EntryChange(entry, EDIT, launch=replace(launch, command=case["new"], env=env))
    return EntryChange(entry, case["kind"])
