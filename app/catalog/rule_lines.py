"""Preconditions and scopes as lines to read and to edit: `pattern: one, other`."""

from collections.abc import Mapping

from app.core.errors import ToolcribError


def to_lines(rules: object) -> str:
    """A line for each pattern, in the rules' order; what is no such table is left out."""
    if not isinstance(rules, Mapping):
        return ""
    shown = ((str(key), one) for key, one in rules.items())
    return "\n".join(
        f"{pattern}: {', '.join(map(str, values)) if isinstance(values, list | tuple) else values}"
        for pattern, values in shown
    )


def from_lines(text: str) -> dict[str, list[str]]:
    """The rules of such lines; two of one pattern are one. Raises ToolcribError for other lines."""
    rules: dict[str, list[str]] = {}
    for line in filter(None, map(str.strip, text.splitlines())):
        pattern, colon, values = line.partition(":")
        entries = to_entries(values)
        if not (colon and pattern.strip() and entries):
            raise ToolcribError(
                f"“{line}” is not understood.", "Write a tool pattern, a colon, and what it needs."
            )
        before = rules.setdefault(pattern.strip(), [])
        before += [entry for entry in entries if entry not in before]
    return rules


def to_entries(text: str) -> list[str]:
    """Split at commas outside brackets; each entry once."""
    parts, depth = [""], 0
    for letter in text:
        depth += (letter == "(") - (letter == ")")
        if letter == "," and depth <= 0:
            parts.append("")
        else:
            parts[-1] += letter
    return list(dict.fromkeys(filter(None, map(str.strip, parts))))


def problem(error: ToolcribError) -> str:
    """The fault in rules that were typed, without the table that they make."""
    if error.hint.startswith(("preconditions", "scopes")):
        return error.hint
    return error.text
