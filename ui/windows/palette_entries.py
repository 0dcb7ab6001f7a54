"""Entries of the command palette, and their match with the typed words."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial

from app.catalog.catalog import Catalog

COMMAND, TOOL, SERVER, TERM = "command", "tool", "server", "term"
ICONS = {COMMAND: "play", TOOL: "wrench-outline", SERVER: "server", TERM: "help-circle-outline"}
PREFIXES = {">": (COMMAND,), "#": (TOOL,), "@": (SERVER,), "?": (TERM,)}
MOST = 60  # rows shown
_WORD_ENDS = " _-/.:"


@dataclass(frozen=True, slots=True)
class Entry:
    """One thing that can be found; `also` is what Ctrl+Enter does, where there is something."""

    kind: str
    text: str
    hint: str  # its keys, or what it is
    run: Callable[[], object]
    also: Callable[[], object] | None = None


@dataclass(frozen=True, slots=True)
class PaletteActions:
    """Actions of the window on servers and tools in the palette."""

    show_tool: Callable[[int], object]
    why: Callable[[int], object]
    show_server: Callable[[str], object]
    turn: Callable[[str, bool], object]  # all tools of a server on or off


def catalogue_entries(catalog: Catalog, actions: PaletteActions) -> Iterator[Entry]:
    """Servers with their switches, then tools."""
    for server in catalog.servers:
        name, tools = server.name, catalog.of_server(server.id)
        yield Entry(SERVER, name, f"server, {len(tools)} tools", partial(actions.show_server, name))
        if any(tool.on for tool in tools):
            yield Entry(COMMAND, f"Turn off {name}", "", partial(actions.turn, name, False))
        if not all(tool.on for tool in tools):
            yield Entry(COMMAND, f"Turn on {name}", "", partial(actions.turn, name, True))
    for row in catalog.tools:
        if not row.tool.gone:
            number = row.tool.id
            yield Entry(
                TOOL,
                row.tool.tool_id,
                f"{row.cost:,} ≈",
                partial(actions.show_tool, number),
                partial(actions.why, number),
            )


def matches(entries: Iterable[Entry], typed: str) -> list[Entry]:
    """The entries that fit, best first; without words the commands, as they come."""
    kinds = PREFIXES.get(typed[:1])
    words = (typed[1:] if kinds else typed).casefold().split()
    wanted = kinds or (COMMAND, SERVER, TOOL, TERM)
    if not words:
        return [e for e in entries if e.kind in (kinds or (COMMAND,))][:MOST]
    fitting = [(score(e.text, words), e) for e in entries if e.kind in wanted]
    fitting = [(value, entry) for value, entry in fitting if value > 0]
    fitting.sort(key=lambda pair: (-pair[0], len(pair[1].text)))
    return [entry for _, entry in fitting[:MOST]]


def score(text: str, words: Iterable[str]) -> float:
    """Score of the match of every word with a text, 0 when one does not match.

    Best at the beginning of a word, then inside one, then as letters in order.
    """
    lower, total = text.casefold(), 1.0
    for word in words:
        place = lower.find(word)
        while place > 0 and lower[place - 1] not in _WORD_ENDS:
            later = lower.find(word, place + 1)
            if later < 0:
                break
            place = later
        if place == 0 or (place > 0 and lower[place - 1] in _WORD_ENDS):
            total += 3.0 if place else 3.5
        elif place > 0:
            total += 2.0
        elif _in_order(word, lower):
            total += 0.5
        else:
            return 0.0
    return total


def _in_order(word: str, text: str) -> bool:
    letters = iter(text)
    return len(word) > 1 and all(letter in letters for letter in word)
