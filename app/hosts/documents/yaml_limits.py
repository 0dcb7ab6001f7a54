"""Refuses YAML whose aliases or nesting would take the machine down, before values are built."""

from ruamel.yaml import YAML
from ruamel.yaml.events import (
    AliasEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
)

from app.core.errors import ToolcribError
from app.hosts.documents.json_spans import DEEPEST

_MOST_NODES = 100_000  # with every alias written out; a real config has some hundred
_LONG_TAG = "!" * 2_000  # ruamel.yaml reads a tag in the square of its length
_HINT = "Write the values out, or use another file."


def check_yaml(text: str) -> None:
    """Raise ToolcribError where a text has too many values or levels once aliases are filled in."""
    if _LONG_TAG in text:
        raise ToolcribError("The file has a tag that no config has.", _HINT)
    total, depth = 0, 0
    sizes: dict[str, int] = {}  # nodes under each anchor
    opened: list[tuple[str, int]] = []  # anchor and nodes before it, of what is not closed yet
    for event in YAML(typ="safe", pure=True).parse(text):
        if isinstance(event, AliasEvent):
            total += sizes.get(event.anchor, 1)
        elif isinstance(event, ScalarEvent):
            total += 1
        elif isinstance(event, MappingStartEvent | SequenceStartEvent):
            opened.append((event.anchor or "", total))
            total, depth = total + 1, depth + 1
        elif isinstance(event, MappingEndEvent | SequenceEndEvent):
            anchor, before = opened.pop()
            sizes[anchor] = total - before
            depth -= 1
        if total > _MOST_NODES:
            raise ToolcribError(
                "The file has too many values for a config, its aliases written out.", _HINT
            )
        if depth > DEEPEST:
            raise ToolcribError("The file is nested too deeply for a config.", _HINT)
