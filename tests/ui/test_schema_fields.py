"""A tool's schema as fields of a form, and what is typed as values."""

import pytest

from ui.pages.catalog.calling.schema_fields import (
    CHOICE,
    GROUP,
    INTEGER,
    JSON,
    LIST,
    NUMBER,
    SWITCH,
    TEXT,
    FieldError,
    fields_of,
    value_of,
)

SCHEMA = {
    "type": "object",
    "$defs": {"Place": {"type": "object", "properties": {"city": {"type": "string"}}}},
    "properties": {
        "note": {"type": "string", "default": "none", "description": "Say\u200bso."},
        "count": {"type": "integer"},
        "ratio": {"type": ["number", "null"]},
        "loud": {"type": "boolean"},
        "tone": {"enum": ["plain", "loud"]},
        "ids": {"type": "array", "items": {"type": "integer"}},
        "where": {"$ref": "#/$defs/Place"},
        "maybe": {"anyOf": [{"type": "string"}, {"type": "null"}]},
        "either": {"anyOf": [{"type": "string"}, {"type": "integer"}]},
        "rows": {"type": "array", "items": {"type": "object"}},
        "api_key": {"type": "string"},
        "pin": {"type": "string", "format": "password"},
        "loop": {"$ref": "#/properties/loop"},
    },
    "required": ["count"],
}


def test_each_kind_of_argument_has_its_field():
    kinds = {field.name: field.kind for field in fields_of(SCHEMA)}
    assert kinds == {
        "count": INTEGER,
        "note": TEXT,
        "ratio": NUMBER,
        "loud": SWITCH,
        "tone": CHOICE,
        "ids": LIST,
        "where": GROUP,
        "maybe": TEXT,
        "either": JSON,
        "rows": JSON,
        "api_key": TEXT,
        "pin": TEXT,
        "loop": JSON,
    }


def test_what_must_be_given_comes_first_and_secrets_are_known():
    fields = fields_of(SCHEMA)
    assert fields[0].name == "count" and fields[0].required
    assert [field.name for field in fields if field.secret] == ["api_key", "pin"]
    note = next(field for field in fields if field.name == "note")
    assert note.default == "none"
    assert note.description == "Say⟨U+200B⟩so."
    where = next(field for field in fields if field.name == "where")
    assert [child.name for child in where.children] == ["city"]


def test_groups_without_end_end_as_json():
    schema = {"type": "object", "properties": {"a": {"$ref": "#/$defs/A"}}}
    schema["$defs"] = {"A": schema}
    field = fields_of(schema)[0]
    depth = 0
    while field.kind == GROUP:
        field, depth = field.children[0], depth + 1
    assert field.kind == JSON
    assert depth == 4


@pytest.mark.parametrize("schema", [{}, {"properties": 7}, {"properties": {"a": "text"}}])
def test_odd_schemas_raise_nothing(schema):
    assert all(field.kind == JSON for field in fields_of(schema))


def test_values_are_of_their_kind_or_refused_in_words():
    assert value_of(INTEGER, " 12 ") == 12
    assert value_of(NUMBER, "2") == 2 and value_of(NUMBER, "2.5") == 2.5
    assert value_of(JSON, '{"a": [1]}') == {"a": [1]}
    for kind, text in ((INTEGER, "many"), (NUMBER, "x"), (JSON, "{")):
        with pytest.raises(FieldError):
            value_of(kind, text)
