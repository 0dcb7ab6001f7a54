"""The quick look never lets through what the validator would refuse."""

import json

import jsonschema_rs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.gateway.menu.fast_check import quick_check

NAMES = st.sampled_from(["a", "b", "c"])
scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 3),
    st.sampled_from([0.0, 1.5, 2.0, -0.5]),
    st.sampled_from(["", "a", "bb", "ccc"]),
)
values = st.recursive(
    scalars,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(NAMES, inner, max_size=3)),
    max_leaves=6,
)
numbers = st.sampled_from([-1, 0, 1, 2, 1.5])
counts = st.integers(0, 3)
kinds = st.sampled_from(["string", "integer", "number", "boolean", "null", "array", "object"])


def schemas(inner):
    listed = st.lists(inner, min_size=1, max_size=3)
    given_keywords = {
        "type": st.one_of(kinds, st.lists(kinds, min_size=1, max_size=3, unique=True)),
        "enum": st.lists(scalars, min_size=1, max_size=3, unique_by=repr),
        "const": scalars,
        "properties": st.dictionaries(NAMES, inner, max_size=3),
        "required": st.lists(NAMES, max_size=2, unique=True),
        "additionalProperties": inner,
        "patternProperties": st.dictionaries(st.just("^a"), inner),
        "items": inner,
        "prefixItems": listed,
        "anyOf": listed,
        "allOf": listed,
        "oneOf": listed,
        "not": inner,
        "minimum": numbers,
        "maximum": numbers,
        "exclusiveMinimum": numbers,
        "exclusiveMaximum": numbers,
        "minLength": counts,
        "maxLength": counts,
        "minItems": counts,
        "maxItems": counts,
        "uniqueItems": st.booleans(),
        "multipleOf": st.sampled_from([1, 2, 0.5]),
        "$ref": st.sampled_from(["#/$defs/one", "#/$defs/two", "#/$defs/one/properties/a"]),
        "description": st.just("text"),
    }
    keywords = st.lists(st.sampled_from(sorted(given_keywords)), max_size=4, unique=True)
    return keywords.flatmap(lambda ks: st.fixed_dictionaries({k: given_keywords[k] for k in ks}))


schema = st.recursive(st.one_of(st.booleans(), schemas(st.booleans())), schemas, max_leaves=5)
whole = st.fixed_dictionaries(
    {"$defs": st.fixed_dictionaries({"one": schema, "two": schema}), "allOf": st.tuples(schema)},
    optional={
        "$schema": st.sampled_from(
            [
                "http://json-schema.org/draft-07/schema#",
                "https://json-schema.org/draft/2020-12/schema",
            ]
        )
    },
)


@settings(max_examples=600)
@given(schema=whole, value=values)
def test_what_surely_fits_is_valid(schema, value):
    schema = json.loads(json.dumps(schema))
    if quick_check(schema)(value):
        try:
            validator = jsonschema_rs.validator_for(schema)
        except (ValueError, jsonschema_rs.ReferencingError):
            return  # a schema that nobody can read lets everything through
        assert validator.is_valid(value)


TOOL = {
    "type": "object",
    "properties": {
        "path": {"type": "string", "minLength": 1, "description": "where"},
        "mode": {"enum": ["r", "w"], "default": "r"},
        "lines": {"anyOf": [{"type": "integer", "minimum": 1}, {"type": "null"}]},
        "tags": {"type": "array", "items": {"$ref": "#/$defs/tag"}, "maxItems": 2},
    },
    "required": ["path"],
    "additionalProperties": False,
    "$defs": {"tag": {"type": "string", "x-hint": "any"}},
}


@pytest.mark.parametrize(
    ("value", "sure"),
    [
        ({"path": "/tmp"}, True),
        ({"path": "/tmp", "mode": "w", "lines": 3, "tags": ["a", "b"]}, True),
        ({"path": "/tmp", "lines": None}, True),
        ({"path": ""}, False),
        ({"path": 1}, False),
        ({}, False),
        ({"path": "/tmp", "mode": "x"}, False),
        ({"path": "/tmp", "lines": 0}, False),
        ({"path": "/tmp", "tags": [1]}, False),
        ({"path": "/tmp", "other": 1}, False),
        ("text", False),
    ],
)
def test_an_ordinary_tools_arguments_are_judged_without_the_validator(value, sure):
    assert quick_check(TOOL)(value) is sure


def test_a_schema_that_refers_to_itself_is_left_to_the_validator():
    loop = {"$ref": "#/$defs/a", "$defs": {"a": {"anyOf": [{"$ref": "#/$defs/a"}]}}}
    assert not quick_check(loop)({})


@pytest.mark.parametrize("keyword", ["pattern", "format", "if", "dependentRequired", "$id"])
def test_a_keyword_that_is_not_known_is_left_to_the_validator(keyword):
    assert not quick_check({keyword: "x"})("y")
