"""Text that a host sends to a model for a tool: the exact text whose tokens are counted."""

from collections.abc import Callable, Mapping

from app.core.errors import ToolcribError
from store.typed import Json, compact_json

# Claude Code cuts longer descriptions (HOSTS.md, limits)
CLAUDE_CODE_DESCRIPTION = 2048


def host_text(raw: Json, style: str = "generic", *, server: str = "") -> str:
    """The text of one tool as a host of this style sends it; `server` is used in its name."""
    form = STYLES.get(style)
    if form is None:
        raise ToolcribError(f"There is no host text style named “{style}”.")
    return compact_json(form(raw, server))


def _schema(raw: Json) -> object:
    schema = raw.get("inputSchema")
    return {} if schema is None else schema


def _description(raw: Json) -> str:
    text = raw.get("description")
    return text if isinstance(text, str) else ""


def _generic(raw: Json, _server: str) -> Json:
    return {
        "name": raw.get("name", ""),
        "description": _description(raw),
        "input_schema": _schema(raw),
    }


def _claude_code(raw: Json, server: str) -> Json:
    name = f"mcp__{_word(server)}__{_word(str(raw.get('name', '')))}"
    description = _description(raw)[:CLAUDE_CODE_DESCRIPTION]
    return {"name": name, "description": description, "input_schema": _schema(raw)}


def _openai(raw: Json, _server: str) -> Json:
    function = {
        "name": raw.get("name", ""),
        "description": _description(raw),
        "parameters": _schema(raw),
    }
    return {"type": "function", "function": function}


def _word(text: str) -> str:
    return "".join(c if c.isascii() and (c.isalnum() or c in "_-") else "_" for c in text)


STYLES: Mapping[str, Callable[[Json, str], Json]] = {
    "generic": _generic,
    "claude-code": _claude_code,
    "openai": _openai,
}
