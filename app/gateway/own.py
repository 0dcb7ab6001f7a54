"""Toolcrib's own small tools, called through call_tool, and small facts about servers."""

import json

from app.gateway.protocol import Json, text_result
from app.gateway.results import CHARACTERS_A_TOKEN, Results

PREFIX = "toolcrib/"
READ_RESULT = "toolcrib/read_result"
MILESTONE = "toolcrib/milestone"
_PAGE_TOKENS = 5000


def read_result(results: Results, given: Json) -> Json:
    """The next part of a result that was cut."""
    offset = given.get("offset")
    start = offset if isinstance(offset, int) else 0
    most = _PAGE_TOKENS * CHARACTERS_A_TOKEN
    found = results.read(str(given.get("result", "")), start, most)
    if found is None:
        return text_result("That result is no longer kept; call the tool again.", is_error=True)
    text, total = found
    end = start + len(text)
    more = f"\n({end} of {total} characters; next offset {end})" if end < total else ""
    return text_result(text + more)


def has_credentials(spec: str) -> bool:
    """Whether a server's stored spec names any secret."""
    found = json.loads(spec)
    return bool(found.get("env_names") or found.get("header_names") or "${secret:" in spec)
