"""Names behind tools: in definitions, in answers, in calls, in lists that grew."""

import json

import pytest

from app.catalog.behind import name_behind
from app.policy.expansion import GREW, WRITTEN, Known, expand
from app.policy.hidden_names import groups_in_answer, named_in_answer, named_in_definition
from app.policy.hiding import CALLS
from tests.app.policy.conftest import Make


def text(value: object) -> dict:
    body = value if isinstance(value, str) else json.dumps(value)
    return {"content": [{"type": "text", "text": body}]}


@pytest.mark.parametrize(
    "answer",
    [
        text({"tools": [{"name": "a_b", "inputSchema": {}}, {"name": "c.d", "description": "x"}]}),
        text([{"name": "a_b", "description": "x"}, {"name": "c.d", "parameters": {}}]),
        text("<tool>a_b(q): finds</tool>\n<tool>c.d</tool>"),
        text("Tools:\n- a_b: finds\n- `c.d` - reads"),
        {"structuredContent": {"tools": ["a_b", "c.d"]}},
    ],
)
def test_names_are_taken_from_answers_of_many_shapes(answer: dict) -> None:
    assert set(named_in_answer(answer)) == {"a_b", "c.d"}


def test_groups_are_no_tools() -> None:
    answer = text({"servers": [{"name": "time", "description": "t", "tools_count": 2}]})
    assert named_in_answer(answer) == {} and groups_in_answer(answer) == ["time"]
    categories = text({"categories": [{"id": "wiki", "toolCount": 10}]})
    assert groups_in_answer(categories) == ["wiki"]


def test_a_definition_that_lists_its_tools_needs_no_asking(make: Make) -> None:
    schema = {"properties": {"tool_name": {"enum": ["x", "read_all"]}, "arguments": {}}}
    definition = {"description": "Runs <tool>echo</tool>", "inputSchema": schema}
    assert named_in_definition(definition, CALLS) == {"read_all", "echo"}
    row = make(
        "menu/invoke_tool",
        description="Runs <tool>echo</tool> and <tool>time</tool>",
        properties=("tool_name", "tool_input"),
    )
    whole = expand([row], Known())
    assert (whole.listed, whole.tools, whole.behind[0].source) == (1, 3, WRITTEN)
    assert whole.sentence == "1 tool listed, 3 with what they hide."


def test_a_list_that_grew_counts_though_nothing_hides(make: Make) -> None:
    row = make("menu/plain", 100)
    whole = expand([row], Known(grown={row.server.id: (("later", 40), ("plain", 10))}))
    assert (whole.tools, whole.tokens, whole.behind[0].source) == (2, 140, GREW)
    assert whole.behind[0].text == "menu: its list grows; 1 are behind (by a list that grew)."


def test_only_the_name_of_a_hidden_tool_is_kept_of_a_call() -> None:
    arguments = {"tool_name": "send", "parameters": {"to": "PRIVATE"}}
    assert name_behind("execute_tool", arguments) == "send"
    assert name_behind("create_issue", arguments) == ""
    odd = {"tool_name": "PRIVATE text", "parameters": {}}
    assert name_behind("execute_tool", odd) == ""
