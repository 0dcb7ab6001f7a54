"""What speaks against tools: their texts, their pins, their schemas."""

from collections.abc import Sequence

from app.indexing.tool_checks import schema_notes
from app.safety import patterns, pins
from store.records import Finding, NewTool, ServerRecord, ToolRecord

SCHEMA_RULE = "SC-01"


def findings_of_tools(
    chosen: Sequence[ToolRecord], among: Sequence[ToolRecord]
) -> dict[int, tuple[Finding, ...]]:
    """Findings of the chosen tools, each seen beside all of `among`."""
    seen = patterns.check_all(chosen, among)
    return {
        tool.id: (*seen[tool.id], *pins.check(tool), *_schema_findings(tool)) for tool in chosen
    }


def findings_of_texts(
    server: ServerRecord, new: Sequence[NewTool], stored: Sequence[ToolRecord]
) -> dict[str, tuple[Finding, ...]]:
    """Findings, by hash, of a server's texts that the store does not have yet.

    `stored` are the tools of all servers, beside which each text is seen.
    """
    texts = [_unstored(server, number, tool) for number, tool in enumerate(new, 1)]
    by_id = findings_of_tools(texts, [*stored, *texts])
    return {tool.hash: by_id[tool.id] for tool in texts}


def _unstored(server: ServerRecord, number: int, tool: NewTool) -> ToolRecord:
    """As a row whose id no stored tool has."""
    return ToolRecord(
        id=-number,
        server_id=server.id,
        server=server.name,
        name=tool.name,
        raw=tool.raw,
        hash=tool.hash,
        trusted_hash=tool.hash,
        problem=tool.problem,
    )


def _schema_findings(tool: ToolRecord) -> tuple[Finding, ...]:
    notes = "" if tool.problem else " ".join(schema_notes(tool.raw))
    return (Finding(0, tool.id, SCHEMA_RULE, "info", notes, tool.hash),) if notes else ()
