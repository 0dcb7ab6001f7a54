"""Rows of the store from entries, and entries from rows."""

from collections.abc import Iterator

import orjson

from app.market.entry import LONGEST_ENTRY, OFFICIAL_META, Entry, EntryError, read_item
from app.market.guards import skeleton
from app.ranking.text import split_name
from store.market import ListedServer, MarketServer, MarketTool
from store.typed import Json

PUBLISHER_META = "io.modelcontextprotocol.registry/publisher-provided"
_MOST_TOOLS = 300  # that a publisher names
_LONGEST_TEXT = 400  # characters of a text that is searched
_DEPTH = 3


def row_of(entry: Entry, tools: tuple[MarketTool, ...] = ()) -> MarketServer:
    """The row of an entry; EntryError where it is too large to keep."""
    meta = {
        "status": entry.status,
        "statusMessage": entry.status_message,
        "publishedAt": entry.published_at,
        "updatedAt": entry.updated_at,
    }
    try:
        packed = orjson.dumps({"server": entry.raw, "_meta": {OFFICIAL_META: meta}})
    except (TypeError, ValueError) as error:  # lone surrogates, too deep
        raise EntryError(f"{entry.name} cannot be kept.", "It was left out.") from error
    if len(packed) > LONGEST_ENTRY:
        raise EntryError(f"{entry.name} is an entry of over 256 kB.", "It was left out.")
    return MarketServer(
        name=entry.name,
        version=entry.version,
        skeleton=skeleton(entry.name),
        package=package_key(entry),
        status=entry.status,
        published_at=entry.published_at,
        updated_at=entry.updated_at,
        title=" ".join(filter(None, [entry.title, split_name(entry.name.rpartition("/")[2])])),
        text=" ".join(entry.description.split())[:_LONGEST_TEXT],
        entry=packed,
        tools=tools or tuple(_named_tools(entry)),
    )


def entry_of(row: ListedServer) -> Entry:
    """The entry that a row keeps."""
    return read_item(row.entry)


def package_key(entry: Entry) -> str:
    """Key under which the tools of an entry are known: of the package, in any list."""
    for one in entry.packages:
        if one.identifier:
            name = one.identifier.lower()
            if one.kind == "oci":
                head, _, tail = name.partition("@")[0].rpartition("/")
                name = f"{head}/{tail.partition(':')[0]}"
            return f"{one.kind}:{name}"[:300]
    return f"name:{entry.name}"


def _named_tools(entry: Entry) -> Iterator[MarketTool]:
    """Tools that the publisher names in the entry itself: its own claim."""
    meta = entry.raw.get("_meta")
    given = meta.get(PUBLISHER_META) if isinstance(meta, dict) else None
    for one in _tool_list(given, _DEPTH)[:_MOST_TOOLS]:
        name = one if isinstance(one, str) else one.get("name") if isinstance(one, dict) else None
        text = one.get("description") if isinstance(one, dict) else ""
        if isinstance(name, str) and 0 < len(name) <= 128:
            about = text if isinstance(text, str) else ""
            yield MarketTool(name, " ".join(about.split())[:_LONGEST_TEXT])


def _tool_list(value: object, depth: int) -> list[object]:
    if not isinstance(value, dict) or not depth:
        return []
    fields: Json = value
    if isinstance(fields.get("tools"), list):
        return list(fields["tools"])
    inner = (_tool_list(one, depth - 1) for one in list(fields.values())[:20])
    return next((tools for tools in inner if tools), [])
