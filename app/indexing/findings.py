"""What speaks against tools: their texts, their pins, their schemas."""

from collections.abc import Sequence

from app.indexing.tool_checks import schema_notes
from app.safety import patterns, pins
from store.records import Finding, ToolRecord

SCHEMA_RULE = "SC-01"


def findings_of_tools(
    chosen: Sequence[ToolRecord], among: Sequence[ToolRecord]
) -> dict[int, tuple[Finding, ...]]:
    """Findings of the chosen tools, each seen beside all of `among`."""
    seen = patterns.check_all(chosen, among)
    return {
        tool.id: (*seen[tool.id], *pins.check(tool), *_schema_findings(tool)) for tool in chosen
    }


def _schema_findings(tool: ToolRecord) -> tuple[Finding, ...]:
    notes = "" if tool.problem else " ".join(schema_notes(tool.raw))
    return (Finding(0, tool.id, SCHEMA_RULE, "info", notes, tool.hash),) if notes else ()
