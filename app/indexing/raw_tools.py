"""Stored form of an entry of tools/list, whatever program read it: clean, without secrets.

Light on purpose: the gateway compares every list that a running server sends with the store.
"""

import json
import re
from collections.abc import Iterable

from app.core.scrubber import Scrubber
from store.hashes import canonical_text, tool_hash
from store.typed import Any, Json

TOOL_BYTES = 1_000_000  # characters of one tool's definition
NOTHING_SECRET = Scrubber()
_HALF_PAIR = re.compile("[\ud800-\udfff]")


class StoredForm:
    """Stored form of one entry of tools/list: its name, its JSON, and why it is unusable.

    `problem` is "" as far as the form alone tells; the input schema is checked elsewhere.
    """

    __slots__ = ("name", "problem", "raw")

    def __init__(self, name: str, raw: Json, problem: str = "") -> None:
        self.name = name
        self.raw = raw
        self.problem = problem

    @property
    def hash(self) -> str:
        """Hash by which a changed tool is noticed."""
        return tool_hash(self.raw)

    def is_stored_as(self, text: str) -> bool:
        """True if the store's JSON text is this tool; cheaper than its hash."""
        return canonical_text(self.raw) == canonical_text(json.loads(text))


def stored_forms(
    entries: Iterable[Any], scrubber: Scrubber, most: int = TOOL_BYTES
) -> list[StoredForm]:
    """One form per entry, in order; `most` characters of a definition are kept."""
    return [_form(entry, place, scrubber, most) for place, entry in enumerate(entries, start=1)]


def clean(value: Any) -> Any:
    """The value with halves of surrogate pairs, which no database takes, replaced."""
    if isinstance(value, str):
        return _HALF_PAIR.sub("\ufffd", value)
    if isinstance(value, list):
        return [clean(item) for item in value]
    if isinstance(value, dict):
        return {clean(name): clean(item) for name, item in value.items()}
    return value


def _form(entry: Any, place: int, scrubber: Scrubber, most: int) -> StoredForm:
    try:
        text = json.dumps(entry, ensure_ascii=False)
        entry = clean(entry) if _HALF_PAIR.search(text) else entry
        hidden = scrubber.json(entry)
    except RecursionError:
        return StoredForm(f"#{place}", {}, "Its definition is nested too deeply; it was not kept.")
    if not isinstance(entry, dict):
        return StoredForm(f"#{place}", {"value": hidden}, "It is not an object.")
    name = entry.get("name")
    if not isinstance(name, str) or not name.strip():
        return StoredForm(f"#{place}", hidden, "It has no name.")
    shown = scrubber.text(name)
    if len(text) > most:
        problem = f"Its definition takes {len(text):,} characters; it was not kept."
        return StoredForm(shown, {"name": shown, "inputSchema": {"type": "object"}}, problem)
    if shown != name:
        return StoredForm(shown, hidden, "Its name holds a secret value of its server.")
    return StoredForm(shown, hidden)
