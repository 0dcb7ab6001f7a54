"""Tools that hide others are recognised by their shape."""

from typing import Any

import pytest

from app.catalog.catalog import load_catalog
from app.policy.hiding import CALLS, CODE, SEARCHES, SWITCHES, hiding_kind, hiding_tools


def tool(*names: str) -> dict[str, Any]:
    return {"inputSchema": {"type": "object", "properties": {name: {} for name in names}}}


@pytest.mark.parametrize(
    ("name", "fields", "kind"),
    [
        ("call_tool", ("name", "arguments"), CALLS),  # Toolcrib itself, and many gateways
        ("execute_tool", ("mcp_name", "tool_name", "parameters"), CALLS),  # slop-mcp
        ("call-modular-tool", ("group", "name", "args"), CALLS),  # modular-mcp
        ("invoke_tool", ("tool_name", "tool_input"), CALLS),  # mcp-compressor
        ("run_any_tool", ("tool", "input"), CALLS),
        ("search_tools", ("query",), SEARCHES),
        ("get-modular-tools", ("group",), SEARCHES),
        ("list_available_toolsets", (), SEARCHES),
        ("enable_toolset", ("toolset",), SWITCHES),  # github
        ("discover_tools", ("category",), SWITCHES),  # gitlab
        ("manage-workflows", ("workflowNames", "enable"), SWITCHES),  # xcodebuildmcp
        ("manage_workflows", ("workflow", "schedule"), ""),
        ("execute_code", ("code",), CODE),
        ("browser_run_code_unsafe", ("code", "filename"), CODE),  # playwright
        ("create_issue", ("title", "body"), ""),
        ("get_corporate_actions", ("symbols", "types"), SEARCHES),  # counts beside a call only
        ("run_query", ("query",), ""),
        ("activate_project", ("project",), ""),
        ("call_phone", ("number",), ""),
        ("list_issues", ("state",), ""),
    ],
)
def test_the_shape_says_the_kind(name: str, fields: tuple[str, ...], kind: str) -> None:
    assert hiding_kind(name, tool(*fields)) == kind


@pytest.mark.parametrize(
    "definition", [{}, {"inputSchema": 5}, {"inputSchema": {"properties": []}}]
)
def test_an_odd_definition_has_no_kind(definition: dict[str, Any]) -> None:
    assert hiding_kind("call_tool", definition) == ""


def test_a_search_alone_hides_nothing(db: Any, add_server: Any) -> None:
    add_server("tracker", "list_actions", "create_issue")
    add_server("menu", "search_tools", "enable_toolset")
    names = [(t.tool_id, t.kind) for t in hiding_tools(load_catalog(db).tools)]
    assert names == [("menu/enable_toolset", SWITCHES), ("menu/search_tools", SEARCHES)]
    assert "is not known" in hiding_tools(load_catalog(db).tools)[0].text
