"""The list that ships: facts about packages, and our own sentences for each of their tools.

So the first search finds something before any registry was asked, and without a network. It is a
source among the others, taken into the store at the first search of a version of Toolcrib.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import apsw

from app.market.entry import ACTIVE, Entry, read_entry
from app.market.records import row_of
from app.ranking.requests import read_named_pack
from app.ranking.text import split_name
from app.secrets.credentials import is_secret_name
from store import market
from store.connection import transaction
from store.market import MarketServer, MarketSource, MarketTool
from store.typed import Json

SEED_URL = "toolcrib:shipped"
SEED_NAME = "shipped with Toolcrib"
_SHOWN = 12  # tools that a description names


@dataclass(frozen=True, slots=True)
class SeedServer:
    """One line of the seed."""

    package: str  # kind:identifier
    version: str
    licence: str
    env: Sequence[str]  # names, those that are needed with a mark
    before: Sequence[str]
    script: str
    tools: Sequence[tuple[str, int]]  # key in the request pack, tokens


def read_seed() -> Iterator[SeedServer]:
    """The shipped servers, by package."""
    for line in _text().splitlines():
        row = json.loads(line)
        tools = [key.partition(":") for key in row["t"].split()]
        yield SeedServer(
            row["p"],
            row.get("v", ""),
            row.get("l", ""),
            row.get("e", ()),
            row.get("a", ()),
            row.get("s", ""),
            [(key, int(tokens or 0)) for key, _, tokens in tools],
        )


@cache
def _text() -> str:
    from importlib.resources import files

    return files("resources").joinpath("market", "seed.jsonl").read_text(encoding="utf-8")


def seed_mark() -> str:
    """The seed's mark: another text is another seed."""
    import hashlib

    return hashlib.sha256(_text().encode()).hexdigest()[:16]


def take_seed(db: apsw.Connection, now: Callable[[], float]) -> bool:
    """Put the shipped list into the store unless it is there already; True if it was put.

    Takes about a second of CPU for 900 servers. Opens its own transaction.
    """
    mark = seed_mark()
    if _is_taken(_seed_of(db), mark):
        return False
    rows = list(_rows(read_named_pack()))
    with transaction(db):
        known = _seed_of(db)
        if _is_taken(known, mark):  # by another thread, in the second that reading took
            return False
        added = market.add_source(db, MarketSource(0, SEED_URL, SEED_NAME)) if not known else 0
        market.begin_sync(db, known.id if known else added, "")
        source = _seed_of(db)
        assert source is not None  # it was added above
        market.save(db, source, rows)
        market.end_sync(db, source, now(), mark)
    return True


def _seed_of(db: apsw.Connection) -> MarketSource | None:
    return next((one for one in market.sources(db) if one.url == SEED_URL), None)


def _is_taken(source: MarketSource | None, mark: str) -> bool:
    return source is not None and source.newest == mark and bool(source.synced_at)


def _rows(pack: Mapping[str, tuple[str, tuple[str, ...]]]) -> Iterator[MarketServer]:
    for server in read_seed():
        tools = tuple(
            MarketTool(pack[key][0], ". ".join(pack[key][1]), tokens)
            for key, tokens in server.tools
            if key in pack
        )
        yield row_of(_entry(server, tools), tools)


def _entry(server: SeedServer, tools: Sequence[MarketTool]) -> Entry:
    kind, _, identifier = server.package.partition(":")
    names = [split_name(tool.name) for tool in tools]
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    script = [{"type": "positional", "value": server.script}] if server.script else []
    package: Json = {
        "registryType": kind,
        "identifier": identifier,
        "version": server.version,
        "transport": {"type": "stdio"},
        "runtimeArguments": list(_before(server, identifier)),
        "packageArguments": script,
        "environmentVariables": [_variable(name) for name in server.env],
    }
    return read_entry(
        {
            "name": entry_name(kind, identifier),
            "description": f"Tools: {', '.join(names[:_SHOWN])}{more}",
            "version": server.version,
            "license": server.licence,
            "packages": [package],
        },
        {"status": ACTIVE},
    )


def entry_name(kind: str, identifier: str) -> str:
    """The name of a package that is in no registry of servers: `npm/scope.name`."""
    return f"{kind}/{identifier.removeprefix('@').replace('/', '.')}"


def _before(server: SeedServer, identifier: str) -> Iterator[Json]:
    for word in server.before:
        yield {"type": "positional", "value": word}
    if server.script:
        spec = f"{identifier}=={server.version}"
        yield {"type": "named", "name": "--from", "value": spec}


def _variable(name: str) -> Json:
    plain = name.rstrip("!")
    return {"name": plain, "isRequired": name.endswith("!"), "isSecret": is_secret_name(plain)}
