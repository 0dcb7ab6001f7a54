"""Pins: a tool whose text is no longer the one that was trusted."""

from app.safety.rules import rules
from store.records import Finding, ToolRecord

RULE = "RP-01"


def check(tool: ToolRecord) -> tuple[Finding, ...]:
    """A finding if the tool's text changed since it was trusted."""
    if tool.hash == tool.trusted_hash:
        return ()
    rule = rules()[RULE]
    detail = f"fingerprint {tool.trusted_hash[:8]} → {tool.hash[:8]}"
    return (Finding(0, tool.id, rule.id, rule.severity, detail, tool.hash),)
