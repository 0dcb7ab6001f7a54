"""A slimmed schema accepts and rejects exactly what the original does."""

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jsonschema import Draft7Validator, Draft202012Validator

from app.gateway import slim

NEW = "https://json-schema.org/draft/2020-12/schema"
OLD = "http://json-schema.org/draft-07/schema#"
NAMES = ("title", "path", "definitions", "items", "repo_name", "$schema", "default")
names = st.sampled_from(NAMES)
titles = st.sampled_from(["Path", "Repo Name", "Something else", "title", "A"])

leaves = st.one_of(
    st.just({"type": "string"}),
    st.builds(lambda t: {"type": "string", "title": t}, titles),
    st.just({"type": "integer", "minimum": 3}),
    st.just(
        {"type": ["string", "null"], "description": "a description that is long enough to share"}
    ),
    st.just({"enum": ["a", 1, None, {"$ref": "#/$defs/A"}]}),
    st.just({"const": {"title": "Path", "$schema": OLD}}),
    st.just({"default": {"title": "Path"}, "type": "object"}),
    st.just({"type": "boolean"}),
    st.sampled_from([{"$ref": "#/$defs/A"}, {"$ref": "#/$defs/B~1c"}, {"$ref": "#/definitions/A"}]),
    st.booleans(),
)


def inner(children):
    named = st.dictionaries(names, children, max_size=4)
    return st.one_of(
        st.builds(
            lambda p, r, a, t: {
                "type": "object",
                "properties": p,
                **({"required": r} if r else {}),
                **({} if a is None else {"additionalProperties": a}),
                **({"title": t} if t else {}),
            },
            named,
            st.lists(names, unique=True, max_size=2),
            st.one_of(st.none(), st.booleans(), children),
            st.one_of(st.none(), titles),
        ),
        st.builds(lambda c: {"type": "array", "items": c}, children),
        st.builds(
            lambda k, c: {k: c},
            st.sampled_from(["anyOf", "oneOf", "allOf"]),
            st.lists(children, min_size=1, max_size=3),
        ),
        st.builds(lambda c: {"not": c}, children),
        st.builds(lambda a, b: {"if": a, "then": b}, children, children),
    )


schemas = st.recursive(leaves, inner, max_leaves=10)


@st.composite
def roots(draw):
    twin = draw(schemas)
    root = {"type": "object", "properties": draw(st.dictionaries(names, schemas, max_size=3))}
    root["properties"] |= {"one": twin, "two": json.loads(json.dumps(twin))}
    # a definition refers to none or to a later one, so that no schema refers to itself for ever
    root["$defs"] = {"A": {"type": "string", "title": "A"}, "B/c": {"$ref": "#/$defs/A"}}
    root["definitions"] = {"A": {"type": "integer"}}
    root["$defs"] |= draw(st.dictionaries(st.sampled_from(["U", "V"]), schemas, max_size=2))
    if draw(st.booleans()):
        root["title"] = "thingArguments"
    if draw(st.booleans()):
        root["$schema"] = draw(st.sampled_from([NEW, OLD]))
    return root


values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(0, 6), st.sampled_from(["a", "b", ""])),
    lambda v: st.one_of(
        st.lists(v, max_size=3),
        st.dictionaries(st.sampled_from([*NAMES, "one", "two"]), v, max_size=5),
    ),
    max_leaves=12,
)


def accepts(schema, value):
    kind = Draft7Validator if schema.get("$schema") == OLD else Draft202012Validator
    return kind(schema).is_valid(value)


@pytest.mark.parametrize("level", [slim.PLAIN, slim.LOSSLESS])
@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(schema=roots(), arguments=st.dictionaries(st.sampled_from([*NAMES, "one", "two"]), values))
def test_slimming_is_lossless(level, schema, arguments):
    before = json.dumps(schema)
    slimmed = slim.slimmed(schema, level)
    assert json.dumps(schema) == before  # the original is not touched
    assert accepts(slimmed, arguments) == accepts(schema, arguments)
    assert len(json.dumps(slimmed)) <= len(before)


@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
@given(schema=roots())
def test_the_fast_way_over_the_text_gives_the_same(schema):
    tool = {"name": "t", "description": 'says "$schema" and "$defs"', "inputSchema": schema}
    raw = json.dumps(tool, ensure_ascii=False, separators=(",", ":"))
    for level in (slim.NONE, slim.PLAIN, slim.LOSSLESS, slim.STRONG):
        assert json.loads(slim.tool_text(raw, level)) == slim.tool(tool, level)


@pytest.mark.parametrize("place", ["first", "last", "only"])
@pytest.mark.parametrize("dialect", [NEW, OLD])
def test_a_dialect_that_changes_nothing_is_dropped_wherever_it_stands(place, dialect):
    rest = {"type": "object"} if place != "only" else {}
    mark = {"$schema": dialect}
    schema = mark | rest if place == "first" else rest | mark
    raw = json.dumps({"name": "t", "inputSchema": schema}, separators=(",", ":"))
    assert json.loads(slim.tool_text(raw, slim.PLAIN))["inputSchema"] == rest


def test_a_dialect_that_matters_stays_in_pruned_mode():
    schema = {"$schema": NEW, "$defs": {"A": {}}, "properties": {"a": {"$ref": "#/$defs/A"}}}
    assert slim.slimmed(schema, slim.PLAIN) == schema


def test_unused_definitions_go_and_used_ones_stay():
    schema = {
        "$defs": {"A": {"$ref": "#/$defs/B"}, "B": {"type": "string"}, "C": {"$ref": "#/$defs/A"}},
        "properties": {"x": {"$ref": "#/$defs/A"}},
    }
    assert set(slim.slimmed(schema, slim.PLAIN)["$defs"]) == {"A", "B"}
    assert "$defs" not in slim.slimmed({**schema, "properties": {}}, slim.PLAIN)


def test_a_property_called_title_is_no_title():
    schema = {"type": "object", "properties": {"title": {"type": "string", "title": "Title"}}}
    assert slim.slimmed(schema) == {"type": "object", "properties": {"title": {"type": "string"}}}


def test_anchors_and_ids_keep_every_definition():
    schema = {"$id": "http://x/y", "$defs": {"A": {"type": "string"}}, "properties": {}}
    assert slim.slimmed(schema) == schema


def test_the_strong_level_also_opens_closed_objects():
    schema = {"type": "object", "additionalProperties": False, "properties": {}}
    assert slim.slimmed(schema, slim.STRONG) == {"type": "object", "properties": {}}
    assert slim.slimmed(schema) == schema


def test_long_duplicates_are_shared_once():
    point = {
        "type": "object",
        "properties": {a: {"type": "number", "description": f"the {a} of a point"} for a in "xyz"},
    }
    names = {f"p{n}": point for n in range(5)}
    slimmed = slim.slimmed({"type": "object", "properties": names})
    assert slimmed["properties"]["p0"] == {"$ref": "#/$defs/s1"}
    assert len(json.dumps(slimmed)) < len(json.dumps(names)) / 2
