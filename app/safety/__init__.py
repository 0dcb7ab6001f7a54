"""Findings: reasons to distrust a tool."""
