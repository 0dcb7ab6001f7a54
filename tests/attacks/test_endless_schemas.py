"""A server's schema whose check would take years, or minutes a pattern: the gateway goes on.

Who checks arguments holds the interpreter, and with it every host behind the backend.
"""

import json
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fakes.cpu_time import CpuTime

ROOT = Path(__file__).parents[2]
FAKES = ROOT / "tests" / "fakes"
sys.path.insert(0, str(FAKES))

import gateway_store  # noqa: E402
import raw_host  # noqa: E402

from app.gateway.menu.arguments import Checker, undeclared  # noqa: E402

STEPS = 40
AT_ONCE = 20  # seconds; a hundredth of one on an idle machine
LETTERS = "a" * 60 + "!"


def chain(step) -> dict:
    """Definitions of which each holds the one before it twice."""
    defs = {"d0": {"type": "string"}}
    for number in range(1, STEPS):
        before = {"$ref": f"#/$defs/d{number - 1}"}
        defs[f"d{number}"] = step([before, dict(before)])
    return {"type": "object", "$defs": defs, "properties": {"a": {"$ref": f"#/$defs/d{STEPS - 1}"}}}


def tree(depth: int) -> dict:
    return {"a": tree(depth - 1)} if depth else {}


LOOP = {"$defs": {"n": {"properties": {"a": {"$ref": "#/$defs/n"}}}}}
TWICE = {"allOf": [{"properties": {"a": {"$ref": "#/$defs/n"}}}] * 2}
ALL, ANY = chain(lambda both: {"allOf": both}), chain(lambda both: {"anyOf": both})
SCHEMAS = {
    "all of": (ALL, {"a": "x"}),
    "any of": (ANY, {"a": 1}),
    "one of": (chain(lambda both: {"oneOf": both}), {"a": "x"}),
    "not": (chain(lambda both: {"not": {"allOf": both}}), {"a": "x"}),
    "if then": (chain(lambda both: {"if": both[0], "then": both[1]}), {"a": "x"}),
    "at the top": ({**ALL, "allOf": [{"$ref": f"#/$defs/d{STEPS - 1}"}]}, {"a": "x"}),
    "by a path": (
        {
            "type": "object",
            "properties": {
                "a": {"$ref": "#/properties/b/anyOf/0"},
                "b": {"anyOf": [ANY["$defs"]["d39"]]},
            },
            "$defs": ANY["$defs"],
        },
        {"a": 1},
    ),
    "down the value": ({"type": "object", "$defs": {"n": TWICE}, **TWICE}, tree(40)),
    "by itself": ({"type": "object", **LOOP, "allOf": [{"$ref": "#"}, {"$ref": "#"}]}, {"a": {}}),
    "a pattern": (
        {"type": "object", "properties": {"a": {"pattern": "^(?=a)(a|aa)+\\1$"}}},
        {"a": LETTERS},
    ),
    "patterns": (
        {"type": "object", "properties": {"a": {"items": {"pattern": "(a|aa)+\\1$"}}}},
        {"a": [LETTERS] * 500},
    ),
    "a pattern of names": (
        {"type": "object", "patternProperties": {"(?=a)(a|aa)+\\1$": {}}, "properties": {}},
        {LETTERS + str(number): 1 for number in range(500)},
    ),
}


@pytest.mark.parametrize("name", SCHEMAS)
def test_a_check_of_arguments_comes_to_an_end(name):
    schema, arguments = SCHEMAS[name]
    raw = json.dumps({"name": "t", "inputSchema": schema})
    with CpuTime() as cpu:
        Checker().problems(raw, arguments)
        undeclared(raw, arguments)
    assert cpu.seconds < 5


@pytest.mark.parametrize(
    ("schema", "good", "bad"),
    [
        (chain(lambda both: {"allOf": both[:1]}), {"a": "x"}, {"a": 1}),
        ({**LOOP, "$ref": "#/$defs/n", "required": ["a"]}, {"a": {}}, {}),
        ({"$defs": {"n": {"type": "integer"}}, "properties": {"a": {"$ref": "#/$defs/n"}}},
         {"a": 1}, {"a": "x"}),
        ({"properties": {"a": {"pattern": "^[a-z]+$"}}}, {"a": "abc"}, {"a": "A"}),
    ],
)  # fmt: skip
def test_an_honest_schema_is_still_checked(schema, good, bad):
    raw = json.dumps({"name": "t", "inputSchema": {"type": "object", **schema}})
    assert Checker().problems(raw, good) == []
    assert Checker().problems(raw, bad)


schemas = st.recursive(
    st.sampled_from([{"type": "string"}, {"$ref": "#/$defs/x"}, {"$ref": "#/$defs/y"}, {}, True]),
    lambda inner: st.one_of(
        st.builds(lambda a, b: {"allOf": [a, b]}, inner, inner),
        st.builds(lambda a, b: {"anyOf": [a, b], "not": a}, inner, inner),
        st.builds(lambda a, b: {"properties": {"a": a, "b": b}}, inner, inner),
        st.builds(lambda a: {"items": a, "contains": a}, inner),
    ),
    max_leaves=12,
)
values = st.recursive(
    st.sampled_from(["x", 1, None]),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("ab"), inner, max_size=2)
    ),
    max_leaves=20,
)


@settings(max_examples=150, deadline=None)
@given(x=schemas, y=schemas, value=values)
def test_generated_references_come_to_an_end(x, y, value):
    defs = {"x": x, "y": y}
    schema = {"type": "object", "$defs": defs, "properties": {"a": {"$ref": "#/$defs/x"}}}
    with CpuTime() as cpu:
        Checker().problems(json.dumps({"name": "t", "inputSchema": schema}), {"a": value})
    assert cpu.seconds < 20


@pytest.mark.parametrize("mode", ["pruned", "through"])
def test_a_gateway_answers_while_such_a_tool_is_called(mode, tmp_path):
    tools = [
        {"name": f"t{number}", "description": "Get a thing.", "inputSchema": schema}
        for number, (schema, _) in enumerate(SCHEMAS.values())
    ]
    listed, log = tmp_path / "tools.json", tmp_path / "log"
    listed.write_text(json.dumps(tools), encoding="utf-8")
    env = {"CHANGING_TOOLS": str(listed), "CHANGING_LOG": str(log)}
    command = [str(FAKES / "changing_server.py")]
    launch = {"command": sys.executable, "args": command, "env": env}
    gateway_store.stock(tmp_path / "home", {"mail": launch})
    words = ["--server", "mail"] if mode == "pruned" else []
    home = {"TOOLCRIB_HOME": str(tmp_path / "home"), "PYTHONPATH": str(ROOT)}
    host = raw_host.RawHost(raw_host.gateway_command("--profile", "default", *words), home)
    try:
        host.initialize()
        waiting = []
        for number, (_, arguments) in enumerate(SCHEMAS.values()):
            named = {"name": f"t{number}", "arguments": arguments}
            if mode == "through":
                named = {"name": "call_tool", "arguments": {**named, "name": f"mail/t{number}"}}
            waiting.append(host.ask("tools/call", named))
            assert host.request("ping", seconds=AT_ONCE) == {}
        for number in waiting:
            assert "result" in host.wait(number, AT_ONCE)
    finally:
        host.close()
