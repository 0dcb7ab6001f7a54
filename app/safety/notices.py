"""Notices of Review on a whole profile: servers' own texts, toxic combinations, look-alikes."""

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from app.catalog.catalog import Catalog, CatalogTool
from app.catalog.server_findings import findings_of
from app.safety.flow import can_send, snake
from app.safety.hidden import made_plain, visible
from app.safety.rules import rules
from store.records import ServerRecord

SERVER_TEXT, COMBINATION, LOOK_ALIKE = "server text", "combination", "look-alike"
_YOUNGER = 3600.0  # seconds between two first readings that make one tool the younger
_NEAR = 0.5  # share of words that two descriptions have in common to be near (Jaccard)
_READS = re.compile(
    r"(?:^|_)(?:get|read|list|search|find|query|fetch|download|export|show|describe|select|view"
    r"|retrieve|dump|cat|open)(?:_|$)"
)
_PRIVATE = re.compile(
    r"\b(?:e-?mails?|mail|inbox|messages?|conversations?|calendar|contacts?|files?|documents?"
    r"|drives?|notes?|database|tables?|sql|repositor\w+|private|secrets?|vault|credentials?"
    r"|environment variables|clipboard|history|tickets?|issues?|customers?|invoices?|accounts?)\b",
    re.IGNORECASE,
)
_UNTRUSTED = re.compile(
    r"\b(?:web ?pages?|websites?|urls?|internet|online|rss|feeds?|search results|browser?"
    r"|e-?mails?|inbox|comments?|issues?|pull requests?|tickets?|reviews?|posts?|transcripts?)\b",
    re.IGNORECASE,
)
_SHOWN = 140  # characters of a description
_WORD = re.compile(r"\w{3,}")


@dataclass(frozen=True, slots=True)
class Notice:
    """One thing to know about a profile, with the tools or the server that it is about."""

    kind: str  # SERVER_TEXT | COMBINATION | LOOK_ALIKE
    text: str
    about: tuple[str, ...]  # ids of tools, or the name of a server


def notices(catalog: Catalog) -> tuple[Notice, ...]:
    """Every notice; combinations and look-alikes only if the profile asks for them."""
    items = [*server_texts(catalog)]
    if catalog.settings.gateway.combinations:
        items += [*combination(catalog.shown), *look_alikes(catalog.tools)]
    return tuple(items)


def server_texts(catalog: Catalog) -> Iterable[Notice]:
    """Undecided findings in instructions, prompts and resources of servers."""
    for server in catalog.servers:
        yield from notices_of(server)


def notices_of(server: ServerRecord) -> Iterable[Notice]:
    """Undecided findings in the texts of one server."""
    for finding in findings_of(server):
        if not finding.get("decided"):
            held = " It is kept from hosts." if finding["severity"] == "block" else ""
            rule = rules().get(finding["rule"])
            seen = f"{rule.title}, in its {finding['detail']}" if rule else finding["detail"]
            text = f"{visible(server.name)}: {seen}.{held}"
            yield Notice(SERVER_TEXT, text, (server.name,))


def combination(tools: Sequence[CatalogTool]) -> Iterable[Notice]:
    """One warning where private data, untrusted content and a way out meet in one profile."""
    private = [t for t in tools if _reads(t) and _PRIVATE.search(_text(t))]
    untrusted = [t for t in tools if _reads(t) and _UNTRUSTED.search(_text(t))]
    senders = [t for t in tools if not t.tool.has_hint("readOnlyHint") and can_send(t.tool.raw)]
    legs = {"private data": private, "untrusted content": untrusted, "a way out": senders}
    chosen = _three(private, untrusted, senders)
    if chosen is None:
        return
    what, fewest = min(legs.items(), key=lambda leg: len(leg[1]))
    names = ", ".join(visible(tool.tool.tool_id) for tool in chosen)
    cut = ", ".join(visible(tool.tool.tool_id) for tool in fewest[:3])
    more = f" and {len(fewest) - 3} more" if len(fewest) > 3 else ""
    yield Notice(
        COMBINATION,
        f"A text that a tool reads could make a model send private data away: {names}. The"
        f" cheapest way out: switch off {what} ({cut}{more}).",
        tuple(tool.tool.tool_id for tool in chosen),
    )


def look_alikes(tools: Sequence[CatalogTool]) -> Iterable[Notice]:
    """Tools of one name that say nearly the same, one younger than the other and not trusted."""
    by_name: dict[str, list[CatalogTool]] = defaultdict(list)
    for tool in tools:
        if not tool.tool.gone:
            by_name[snake(made_plain(tool.tool.name)).strip("_")].append(tool)
    for group in by_name.values():
        group.sort(key=lambda tool: tool.tool.first_seen)
        oldest = group[0]
        for tool in group[1:]:
            if _imitates(tool, oldest):
                yield Notice(
                    LOOK_ALIKE,
                    f"{visible(tool.tool.tool_id)} came after {visible(oldest.tool.tool_id)}, has"
                    " its name and says nearly the same. A model may take the wrong one."
                    f"\n{_described(oldest)}\n{_described(tool)}",
                    (oldest.tool.tool_id, tool.tool.tool_id),
                )


def _described(tool: CatalogTool) -> str:
    """One of two lines that are shown one above the other."""
    text = " ".join(visible(tool.tool.description).split())
    cut = f"{text[:_SHOWN]}…" if len(text) > _SHOWN else text
    trust = "trusted" if tool.server.trusted and not tool.held else "not trusted"
    return f"{visible(tool.tool.tool_id)} ({trust}): “{cut}”"


def _imitates(tool: CatalogTool, older: CatalogTool) -> bool:
    younger = tool.tool.first_seen - older.tool.first_seen > _YOUNGER
    if not younger or tool.tool.server_id == older.tool.server_id:
        return False
    less_trusted = not tool.server.trusted or bool(tool.held) or older.server.trusted
    one, other = (set(_WORD.findall(_text(t).lower())) for t in (tool, older))
    return less_trusted and len(one & other) >= _NEAR * max(1, len(one | other))


def _three(*legs: Sequence[CatalogTool]) -> tuple[CatalogTool, ...] | None:
    """One tool of each leg, three different ones, of several servers where that can be."""
    chosen: dict[int, CatalogTool] = {}
    for number in sorted(range(len(legs)), key=lambda n: len(legs[n])):
        left = [tool for tool in legs[number] if tool not in chosen.values()]
        if not left:
            return None
        servers = {tool.server.id for tool in chosen.values()}
        chosen[number] = next((t for t in left if t.server.id not in servers), left[0])
    return tuple(chosen[number] for number in sorted(chosen))


def _reads(tool: CatalogTool) -> bool:
    return bool(_READS.search(snake(tool.tool.name))) or tool.tool.has_hint("readOnlyHint")


def _text(tool: CatalogTool) -> str:
    return f"{snake(tool.tool.name).replace('_', ' ')} {tool.tool.description[:2000]}"
