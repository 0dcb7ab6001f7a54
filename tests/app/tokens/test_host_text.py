import json

import pytest

from app.core.errors import ToolcribError
from app.tokens.host_text import host_text

RAW = {
    "name": "get.issue",
    "description": "Get an issue — “exactly”",
    "inputSchema": {"type": "object", "properties": {"n": {"type": "integer"}}},
    "outputSchema": {"type": "object"},
    "annotations": {"readOnlyHint": True},
}


def test_the_generic_text_is_name_description_and_input_schema_without_spaces() -> None:
    assert host_text(RAW) == (
        '{"name":"get.issue","description":"Get an issue — “exactly”",'
        '"input_schema":{"type":"object","properties":{"n":{"type":"integer"}}}}'
    )


def test_a_tool_without_description_or_schema_still_has_all_three_keys() -> None:
    assert host_text({"name": "x"}) == '{"name":"x","description":"","input_schema":{}}'


def test_a_broken_description_counts_as_none() -> None:
    assert json.loads(host_text({"name": "x", "description": 5}))["description"] == ""


def test_claude_code_prefixes_the_server_and_cuts_the_description() -> None:
    sent = json.loads(
        host_text({**RAW, "description": "d" * 3000}, "claude-code", server="git hub")
    )
    assert sent["name"] == "mcp__git_hub__get_issue"
    assert len(sent["description"]) == 2048


def test_openai_wraps_the_tool_in_a_function() -> None:
    sent = json.loads(host_text(RAW, "openai"))
    assert sent["type"] == "function"
    assert sent["function"]["parameters"] == RAW["inputSchema"]


def test_an_unknown_style_is_refused() -> None:
    with pytest.raises(ToolcribError):
        host_text(RAW, "morse")
