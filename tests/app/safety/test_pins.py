from dataclasses import replace

from app.safety.pins import check
from store.records import ToolRecord

TOOL = ToolRecord(
    3, 1, "fs", "read", {"name": "read"}, hash="9f86d081aa", trusted_hash="9f86d081aa"
)


def test_an_unchanged_tool_has_no_finding() -> None:
    assert check(TOOL) == ()


def test_a_changed_tool_is_found_with_both_fingerprints() -> None:
    (finding,) = check(replace(TOOL, hash="41bc07ff00"))
    assert (finding.rule, finding.severity, finding.tool_id) == ("RP-01", "block", 3)
    assert finding.detail == "fingerprint 9f86d081 → 41bc07ff"
    assert finding.hash == "41bc07ff00"
