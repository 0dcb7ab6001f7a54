from app.catalog.catalog import CatalogTool
from app.tokens.counters import counter
from app.tokens.footprint import count_tool, footprint
from app.tokens.host_text import host_text
from store.records import READ, ServerRecord, ServerSpec, TokenCount, ToolRecord

RAW = {
    "name": "read_file",
    "description": "Read a file.",
    "inputSchema": {"type": "object", "properties": {"path": {"type": "string"}}},
    "annotations": {"readOnlyHint": True},
}


def row(
    tool: ToolRecord, server: ServerRecord, tokens: TokenCount | None, shown: bool = True
) -> CatalogTool:
    return CatalogTool(tool, server, shown, False, "", tokens, "")


def tool(number: int, **changes: object) -> ToolRecord:
    values = {"id": number, "server_id": 1, "server": "fs", "name": "read_file", "raw": RAW}
    return ToolRecord(**{**values, "hash": "h", "trusted_hash": "h", **changes})


def server(name: str) -> ServerRecord:
    return ServerRecord(1, name, ServerSpec("stdio", "k"), trusted=True, status=READ, problem="")


def test_a_tool_is_counted_per_field_and_as_the_text_a_host_sends() -> None:
    count = counter("cl100k_base")
    found = count_tool(count, tool(7))
    assert found.tool_id == 7
    assert found.encoding == "cl100k_base"
    assert found.host_text == count.count(host_text(RAW))
    assert found.description == count.count("Read a file.")
    assert found.output_schema == 0
    assert found.annotations > 0
    assert found.name + found.description + found.input_schema < found.host_text


def test_the_footprint_sums_by_server_costliest_first_and_leaves_out_what_is_gone() -> None:
    rows = [
        row(tool(1), server("small"), _tokens(10)),
        row(tool(2), server("big"), _tokens(100)),
        row(tool(3), server("big"), _tokens(50), shown=False),
        row(tool(4), server("big"), None),
        row(tool(5, gone=True), server("big"), _tokens(999)),
    ]
    found = footprint(rows, "o200k_base")
    assert [s.name for s in found.servers] == ["big", "small"]
    assert (found.tools, found.tokens) == (4, 160)
    assert (found.shown_tools, found.shown_tokens) == (3, 110)


def test_an_empty_catalogue_costs_nothing() -> None:
    assert footprint([], "o200k_base").tokens == 0


def _tokens(host: int) -> TokenCount:
    return TokenCount(1, "o200k_base", 1, 1, 1, 0, 0, host)
