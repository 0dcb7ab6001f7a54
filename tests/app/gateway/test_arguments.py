"""Arguments are checked against the tool's own schema, never against the network."""

import json

import pytest

from app.gateway.menu.arguments import Checker, as_object


def raw(schema):
    return json.dumps({"name": "t", "inputSchema": schema})


NUMBER = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}


def test_problems_say_where_and_what():
    found = Checker().problems(raw(NUMBER), {"n": "four"})
    assert found == ['n: "four" is not of type "integer"']
    assert Checker().problems(raw(NUMBER), {"n": 4}) == []


def test_at_most_three_problems_are_told():
    many = {"type": "object", "properties": {str(i): {"type": "integer"} for i in range(9)}}
    assert len(Checker().problems(raw(many), {str(i): "x" for i in range(9)})) == 3


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "no-such-type"},
        {"properties": {"a": {"$ref": "https://example.invalid/schema"}}},
        {"properties": {"a": {"$ref": "#/$defs/none"}}},
        {"properties": {"a": {"pattern": "(["}}},
        None,
        "oops",
    ],
)
def test_a_schema_that_nobody_can_read_lets_the_server_judge(schema):
    assert Checker().problems(raw(schema), {"a": 1}) == []


def test_old_validators_make_room(monkeypatch):
    monkeypatch.setattr("app.gateway.menu.arguments._MOST_TOOLS", 2)
    checker = Checker()
    for limit in range(5):
        schema = {"type": "object", "maxProperties": limit}
        assert bool(checker.problems(raw(schema), {"a": 1, "b": 2})) == (limit < 2)


@pytest.mark.parametrize(
    ("given", "found"),
    [
        (None, {}),
        ('{"a": 1}', {"a": 1}),
        ("[1]", "[1]"),
        ("no json", "no json"),
        ({"a": 1}, {"a": 1}),
    ],
)
def test_arguments_in_a_text_are_read(given, found):
    assert as_object(given) == found
