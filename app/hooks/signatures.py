"""A tool on one line: its name, its arguments and their types."""

import re
from collections.abc import Iterator, Sequence

from store.typed import Json, compact_json, list_or_empty, object_or_empty

_CHOICES = 8  # values of an enum that a signature names
_SENTENCE = re.compile(r"(?<=[.!?。！？])\s+|\n+")


def signature(tool_id: str, raw: Json) -> str:
    """`server/tool(path: string, mode?: "a"|"b")`; a question mark where it may be left out."""
    schema = object_or_empty(raw.get("inputSchema"))
    named = object_or_empty(schema.get("properties")).items()
    needed = set(list_or_empty(schema.get("required")))
    rows = [f"{name}{'' if name in needed else '?'}: {_kind(value)}" for name, value in named]
    # what must be given comes first, so that a cut loses the least
    rows.sort(key=lambda row: row.partition(":")[0].endswith("?"))
    return f"{tool_id}({', '.join(rows)})"


def cut(text: str, most: int) -> str:
    """Whole sentences from the beginning, or whole words, within `most` characters."""
    if len(text) <= most:
        return text
    kept = ""
    for sentence in _SENTENCE.split(text):
        longer = f"{kept} {sentence}".strip()
        if len(longer) > most:
            break
        kept = longer
    return kept or text[:most].rsplit(" ", 1)[0] + " ..."


def own_words(summary: str, name: str) -> str:
    """A summary without the tool's name in front, which is printed anyway."""
    head, colon, rest = summary.partition(": ")
    return rest if colon and len(head) <= len(name) + 8 else summary


def _kind(value: object) -> str:
    """A parameter's type in a word, or its choices."""
    if not isinstance(value, dict):
        return "any"
    choices = value.get("enum")
    if isinstance(choices, list) and choices:
        shown = "|".join(compact_json(choice) for choice in choices[:_CHOICES])
        return shown + ("|..." if len(choices) > _CHOICES else "")
    kind = value.get("type")
    if kind == "array":
        return f"{_kind(value.get('items'))}[]"
    if isinstance(kind, str):
        return kind
    return "|".join(dict.fromkeys(_kinds(kind, value))) or "any"


def _kinds(kind: object, value: Json) -> Iterator[str]:
    if isinstance(kind, list):
        yield from (str(one) for one in kind if one != "null")
    for word in ("anyOf", "oneOf"):
        options = value.get(word)
        if isinstance(options, Sequence) and not isinstance(options, str):
            yield from (_kind(one) for one in options if one != {"type": "null"})
