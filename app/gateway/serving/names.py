"""Names that hosts accept: at most 48 of [A-Za-z0-9_-], one per tool, always the same."""

import re
from collections.abc import Iterable

# hosts put up to 16 characters (`mcp__toolcrib__`) before a name and cut the whole at 60 to 64
LIMIT = 48
_HASH = 6


def visible(server: str, tool: str) -> str:
    """`server__tool`, with other characters as _, cut with a hash of the whole where too long."""
    plain = f"{_clean(server)}__{_clean(tool)}"
    return plain if len(plain) <= LIMIT else _hashed(plain, f"{server}/{tool}")


def visible_names(
    tools: Iterable[tuple[str, str]], taken: Iterable[str] = ()
) -> dict[str, tuple[str, str]]:
    """Visible name -> (server, tool).

    Where several would share a name each of them gets a hash, so a name never depends on order.
    """
    pairs = list(dict.fromkeys(tools))
    taken_names = set(taken)
    counts: dict[str, int] = {}
    for pair in pairs:
        name = visible(*pair)
        counts[name] = counts.get(name, 0) + 1
    names: dict[str, tuple[str, str]] = {}
    for server, tool in pairs:
        name = visible(server, tool)
        if counts[name] > 1 or name in taken_names:
            name = _hashed(name, f"{server}/{tool}")
        names[name] = (server, tool)
    return names


def _clean(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9_-]", "_", text) or "_"


def _hashed(plain: str, whole: str) -> str:
    import hashlib

    digest = hashlib.sha256(whole.encode("utf-8", "surrogatepass")).hexdigest()[:_HASH]
    return f"{plain[: LIMIT - _HASH - 1]}_{digest}"
