"""What the details card says, as values and as rich text."""

from dataclasses import replace

import pytest

from app.catalog.catalog import load_catalog
from ui.pages.catalog.details import parameter_table
from ui.pages.catalog.details_text import parameters, server_details, several_details, tool_details


@pytest.fixture
def catalog(db, demo):
    demo.fill(db)
    return load_catalog(db)


def test_a_tool_tells_its_split_and_share(catalog):
    found = tool_details(catalog.find("github/search_code"), catalog, hosts="Cursor")
    assert found.headline == "1,412 tokens ≈ · 39.3 % of all tools"
    assert [(p.name, p.tokens) for p in found.parts] == [
        ("Name", 4),
        ("Description", 470),
        ("Input schema", 938),
    ]
    # a share of what was counted, not a claim about hosts
    assert found.advice == "33 % of it is the description: 470 tokens."
    assert '"type": "object"' in found.code


def test_a_held_tool_says_why_first(catalog):
    found = tool_details(catalog.find("team/deploy"), catalog, hosts="")
    assert found.badges[0].word == "Held back"
    assert found.text.startswith("Held back: its server is not trusted yet.")


def test_a_server_tells_how_it_starts_without_credentials(catalog):
    from dataclasses import replace

    server = catalog.server("github")
    spec = replace(server.spec, args=("-y", "it's", "--token", "${secret:0}"))
    found = server_details(
        replace(server, spec=spec), catalog.of_server(server.id), hosts="", now=server.read_at + 60
    )
    assert 'Starts npx -y "it\'s" --token ••••' in found.text
    assert "Read 1 min ago." in found.text
    assert found.headline == "3,095 tokens ≈ · 3 of 3 tools on"


def test_a_server_that_failed_tells_its_reason(catalog):
    server = catalog.server("slack")
    found = server_details(server, (), hosts="", now=0)
    assert found.headline == "No tools known"
    assert found.text.startswith("Could not start: exit code 1: no token")


def test_several_tools_are_summed(catalog):
    found = several_details(catalog.tools)
    assert found.title == "6 tools selected"
    assert found.headline == "3,595 tokens ≈ · 6 on"


@pytest.mark.parametrize(
    ("schema", "said"),
    [
        ({"type": "string"}, "string"),
        ({"type": ["string", "null"]}, "string"),
        ({"type": "array", "items": {"type": "integer"}}, "array of integer"),
        ({"type": "array", "items": "oops"}, "array"),
        ({"anyOf": [{"type": "string"}, {"type": "null"}]}, "string"),
        ({"oneOf": "oops"}, ""),
        ("oops", ""),
        ({}, ""),
    ],
)
def test_types_of_parameters_in_words(schema, said):
    assert parameters({"properties": {"a": schema}})[0].type == said


@pytest.mark.parametrize("schema", [{}, {"properties": "oops"}, {"properties": {}, "required": 7}])
def test_schemas_that_say_nothing(schema):
    assert parameters(schema) == ()


def test_words_of_a_server_are_never_markup():
    schema = {
        "properties": {"<b>x</b>": {"type": "<i>", "description": "<img src=x>\u200b"}},
        "required": ["<b>x</b>"],
    }
    text = parameter_table(parameters(schema))
    assert "<img" not in text and "<b>x" not in text
    assert "&lt;img src=x&gt;⟨U+200B⟩" in text and "required" in text
    assert parameter_table(()) == ""


def test_who_may_use_a_tool_and_what_must_hold_first_is_shown(catalog):
    settings = replace(
        catalog.settings,
        preconditions={"github/*": ["after(github/search_code)"]},
        scopes={"github/merge": ["role:dev"]},
    )
    row = catalog.find("github/merge")
    text = tool_details(row, replace(catalog, settings=settings), hosts="").text
    assert "Only for role:dev." in text
    assert "Precondition: after(github/search_code)." in text
    other = tool_details(catalog.find("time/now"), replace(catalog, settings=settings), hosts="")
    assert "Precondition" not in other.text and "Only for" not in other.text
