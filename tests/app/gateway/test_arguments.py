"""Arguments are checked against the tool's own schema, never against the network."""

import json
import subprocess
import sys

import jsonschema_rs
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


PLAIN = {
    "type": "object",
    "properties": {
        "text": {"type": "string", "description": "a text"},
        "count": {"type": "integer", "default": 1},
        "share": {"type": "number"},
        "on": {"type": "boolean"},
        "name": {"type": "string", "pattern": "^a"},
        "either": {"type": ["string", "null"]},
    },
    "required": ["text"],
    "additionalProperties": False,
}


@pytest.mark.parametrize(
    "arguments",
    [
        {"text": "a"},
        {"text": "a", "count": 3, "share": 0.5, "on": True},
        {"text": "a", "share": 2, "either": None},
        {"text": "a", "count": True},
        {"text": "a", "count": 1.5},
        {"text": "a", "on": 1},
        {"text": "a", "name": "b"},
        {"text": "a", "more": "b"},
        {"count": 3},
        {},
        [],
    ],
)
def test_what_is_taken_without_the_validator_is_what_it_would_take(arguments):
    expected = jsonschema_rs.Draft202012Validator(PLAIN).is_valid(arguments)
    assert (Checker().problems(raw(PLAIN), arguments) == []) == expected


def test_more_rules_on_the_whole_are_the_validators():
    fewest = {"type": "object", "properties": {"a": {"type": "string"}}, "minProperties": 1}
    assert Checker().problems(raw(fewest), {}) != []


def test_plain_arguments_load_no_validator():
    program = (
        "import sys; from app.gateway.menu.arguments import Checker;"
        f"assert Checker().problems({raw(PLAIN)!r}, {{'text': 'a', 'count': 3}}) == [];"
        "assert 'jsonschema_rs' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
