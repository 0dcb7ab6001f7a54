"""Toolcrib's own small tools, called through call_tool."""

from app.gateway.menu.results import CHARACTERS_A_TOKEN, Results
from app.mcp.protocol import text_result
from store.typed import Json

PREFIX = "toolcrib/"
READ_RESULT = "toolcrib/read_result"
MILESTONE = "toolcrib/milestone"
_PAGE_TOKENS = 5000


def read_result(results: Results, fields: Json) -> Json:
    """The next part of a result that was cut."""
    offset = fields.get("offset")
    start = offset if isinstance(offset, int) else 0
    most = _PAGE_TOKENS * CHARACTERS_A_TOKEN
    piece = results.read(str(fields.get("result", "")), start, most)
    if piece is None:
        return text_result("That result is no longer kept; call the tool again.", is_error=True)
    text, total = piece
    end = start + len(text)
    more = f"\n({end} of {total} characters; next offset {end})" if end < total else ""
    return text_result(text + more)
