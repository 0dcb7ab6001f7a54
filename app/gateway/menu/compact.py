"""A tool's text cut to a size: whole where there is room, else short, else as a signature.

Only a signature that is too long itself loses parameters: those that may be left out. A call is
checked against the whole schema all the same, and a tool's exact name always gets all of it.
"""

from app.gateway import slim
from app.hooks.signatures import cut, signature
from store.typed import Json, compact_json, object_or_empty

DESCRIPTION = 700  # characters of a description in full,
SHORT = 240  # and where room is short
_OPTIONAL = ("description", "examples", "title", "default")  # what a schema can do without
_NAMED = ("properties", "$defs", "definitions", "patternProperties")


def describe(tool_id: str, raw: Json, level: str, room: int = 0) -> str:
    """Name, description and arguments in at most about `room` characters (0: any number)."""
    schema = object_or_empty(raw.get("inputSchema"))
    whole = slim.slimmed(schema, level) if level != slim.NONE else schema
    text = str(raw.get("description") or "").strip()
    for most, arguments in ((DESCRIPTION, whole), (SHORT, whole), (SHORT, bare(whole))):
        made = f"{tool_id}: {cut(text, most)}\narguments: {compact_json(arguments)}"
        if not room or len(made) <= room:
            return made
    return f"{signature(tool_id, raw)}: {cut(text, SHORT)}"[:room]


def bare(schema: object, *, names: bool = False) -> object:
    """A schema without prose; `names` where keys are not keywords but free names."""
    if isinstance(schema, dict):
        return {
            key: bare(value, names=not names and key in _NAMED)
            for key, value in schema.items()
            if names or key not in _OPTIONAL
        }
    return [bare(item) for item in schema] if isinstance(schema, list) else schema
