"""Listed servers that are called what was typed, which come before those that only do it."""

import re
from collections.abc import Mapping, Sequence
from itertools import accumulate

import apsw

from app.market.details import doubts
from app.market.entry import ACTIVE, Entry
from app.market.guards import KINDS
from app.market.launch import can_be_added
from app.market.records import entry_of
from app.ranking.text import MOST_QUERY, split_name
from store import market

_MOST = 200  # servers with the words in their names that are read
_JUDGED = 20  # of that name whose texts are judged, a millisecond or two each
_LONGEST = 6  # words of a name
# words of a server's name that name no product
_GENERIC = re.compile(
    r"client|context|integration|mcps?|model|modelcontextprotocol|official|plugin|protocol"
    r"|servers?|tools?"
)
_REFERENCE = "modelcontextprotocol"  # publisher of the protocol's own servers


def named(db: apsw.Connection, query: str, scores: Mapping[int, float]) -> Sequence[int]:
    """Ids of the servers whose whole name is the query, the likeliest first.

    The publisher's own name may be left out. First come servers that can be added, are not doubted
    and whose publisher has the product's name; then the protocol's own; then by `scores`.
    """
    terms = _product(query)
    if not 0 < len(terms) <= _LONGEST:
        return ()
    product, vendors = "".join(terms), set(accumulate(terms))
    rows = market.by_ids(db, market.ids_by_title(db, terms, _MOST))
    entries = {id_: entry_of(row) for id_, row in rows.items()}
    ids = [id_ for id_, one in entries.items() if terms in _names(one)]

    def likeliest(id_: int) -> tuple[bool, bool, bool, float, int]:
        publisher = _parts(entries[id_])[0]
        vendor = publisher.replace("-", "")
        return (
            not (vendor.startswith(product) or vendor in vendors),
            vendor.startswith(product) and vendor != product,  # anyone can add to a name
            publisher != _REFERENCE,
            -scores.get(id_, 0.0),
            id_,
        )

    def refused(id_: int) -> tuple[bool, bool]:
        entry = entries[id_]
        return entry.status != ACTIVE or bool(doubts(entry)), not can_be_added(entry)

    return sorted(sorted(ids, key=likeliest)[:_JUDGED], key=refused)


def _names(entry: Entry) -> tuple[tuple[str, ...], ...]:
    """The words of a server's title, of its own name, and of its publisher's where it has none."""
    publisher, own = _parts(entry)
    return _product(entry.title), _product(own) or _product(publisher)


def _product(text: str) -> tuple[str, ...]:
    """The words of a text that can name a product."""
    words = split_name(text[:MOST_QUERY].lower()).split()
    return tuple(word for word in words if not _GENERIC.fullmatch(word))


def _parts(entry: Entry) -> tuple[str, str]:
    """Publisher and own name: `io.github.them/sky`, and `npm/them.sky` of the shipped list."""
    space, _, own = entry.name.rpartition("/")
    if space not in KINDS:
        return space.rpartition(".")[2], own
    publisher, dot, rest = own.partition(".")
    return (publisher, rest) if dot else ("", own)
