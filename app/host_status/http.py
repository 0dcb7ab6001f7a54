"""Hosts with a URL of the endpoint in their files, by Toolcrib's writes."""

from collections.abc import Sequence

import apsw

from app.hosts.facts import HostFacts, load_hosts
from store import exports
from store.records import THROUGH, ExportRecord


def is_over_http(history: Sequence[ExportRecord]) -> bool:
    """True if the newest write that was not undone gave the host a URL."""
    newest = exports.newest_own(history)
    return newest is not None and newest.mode == THROUGH and bool(newest.detail.get("http"))


def over_http(db: apsw.Connection) -> tuple[HostFacts, ...]:
    """Every such host, by rank."""
    return tuple(facts for facts in load_hosts() if is_over_http(exports.for_host(db, facts.id)))
