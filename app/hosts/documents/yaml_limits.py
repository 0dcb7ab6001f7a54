"""Refuses YAML whose aliases or nesting would take the machine down, before values are built."""

from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.events import (
    AliasEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
)
from ruamel.yaml.parser import Parser

from app.core.errors import ToolcribError
from app.hosts.documents.json_spans import DEEPEST

_MOST_NODES = 100_000  # with every alias written out; a real config has some hundred
_LONG_TAG = "!" * 2_000  # ruamel.yaml reads a tag in the square of its length
_HINT = "Write the values out, or use another file."


def load_within_limits(text: str) -> Any:
    """The values of a text; ToolcribError where aliases fill in too many values or levels."""
    if _LONG_TAG in text:
        raise ToolcribError("The file has a tag that no config has.", _HINT)
    yaml = YAML(typ="safe", pure=True)
    yaml.Parser = _CountingParser
    return yaml.load(text)


class _CountingParser(Parser):
    """Counts what it parses; all of a text is parsed before values are built."""

    def __init__(self, loader: YAML) -> None:
        super().__init__(loader)
        self._total = 0
        self._sizes: dict[str, int] = {}  # nodes under each anchor
        self._opened: list[tuple[str, int]] = []  # anchor and nodes before it, not closed yet

    def get_event(self) -> object:
        """The next event; ToolcribError where it is one too many."""
        event = super().get_event()
        if isinstance(event, AliasEvent):
            self._total += self._sizes.get(event.anchor, 1)
        elif isinstance(event, ScalarEvent):
            self._total += 1
        elif isinstance(event, MappingStartEvent | SequenceStartEvent):
            self._opened.append((event.anchor or "", self._total))
            self._total += 1
        elif isinstance(event, MappingEndEvent | SequenceEndEvent):
            anchor, before = self._opened.pop()
            self._sizes[anchor] = self._total - before
        if self._total > _MOST_NODES:
            raise ToolcribError(
                "The file has too many values for a config, its aliases written out.", _HINT
            )
        if len(self._opened) > DEEPEST:
            raise ToolcribError("The file is nested too deeply for a config.", _HINT)
        return event
