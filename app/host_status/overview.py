"""Queries of the Hosts page and its like: all hosts' states, one host's plan, from the store."""

from collections.abc import Sequence
from dataclasses import replace

import apsw

from app.catalog.catalog import Catalog, load_catalog
from app.core.paths import gateway_program
from app.export.history import newest_in_files
from app.export.http.of_team import endpoint_of, servers_of
from app.export.plan import Plan, added_before, plan
from app.hooks.rules import rules_status
from app.hooks.status import hook_status
from app.host_status.recommend import recommend
from app.host_status.status import NOT_FOUND, HostStatus, host_status
from app.hosts.facts import load_hosts
from app.hosts.places import Places
from app.policy.budget import Budget, Verdict, verdict
from app.policy.profiles import names, profile_of
from app.system.endpoint import Endpoint
from store import exports
from store.records import THROUGH


def survey(
    db: apsw.Connection,
    places: Places,
    catalog: Catalog,
    *,
    only: str = "",
    no_backend: str = "",
    endpoint: Endpoint | None = None,
) -> tuple[HostStatus, ...]:
    """Every known host's state, by rank, or that of the host `only`; starts and writes nothing.

    `no_backend` is why a hook has no backend to ask, "" where it may have one; `endpoint` is what
    hosts that were written as a URL are held against.
    A host that gets another profile is held against that one: ticks in this one do not concern it.
    """
    gateway = gateway_program()
    seen = {catalog.profile.name: catalog}
    known = names(db)
    statuses = []
    for facts in load_hosts():
        if only not in ("", facts.id):
            continue
        history = exports.for_host(db, facts.id)
        gets = profile_of([record for record in history if record.scope != "project"])
        if gets in known and gets not in seen:
            seen[gets] = load_catalog(db, gets, catalog.encoding)
        own = seen.get(gets, catalog)
        status = host_status(
            places,
            facts,
            catalog=own,
            gateway_path=gateway,
            history=history,
            endpoint=endpoint_of(db, own.profile.name, endpoint),
        )
        if own is not catalog:  # what would be written is of the one in view
            status = replace(status, recommendation=recommend(facts, catalog))
        here = status.state != NOT_FOUND
        hook = hook_status(places, facts, mode=status.mode, here=here, no_backend=no_backend)
        rules = rules_status(places, facts, mode=status.mode, here=here)
        written = newest_in_files(history) | newest_in_files(exports.hooks_of(db, facts.id))
        statuses.append(replace(status, hook=hook, rules=rules, written=written))
    return tuple(statuses)


def written_verdict(made: Plan, catalog: Catalog) -> Verdict:
    """The verdict on what the host's model gets once a plan is written."""
    budget = Budget.from_settings(catalog.settings.budget, host_limit=made.host.tool_limit)
    return verdict(made.tokens_after, made.tools_after, budget)


def prepare(
    db: apsw.Connection,
    places: Places,
    catalog: Catalog,
    *,
    host_id: str,
    mode: str,
    endpoint: Endpoint | None = None,
    also: Sequence[str] | None = None,
    more: Sequence[str] = (),
) -> Plan:
    """The plan of exporting the catalogue's profile to a host, on top of its earlier writes.

    With an `endpoint` as its URL; with servers of other hosts in `also`, None keeps those added
    before and takes a team profile's, which are in no host's file; and `more` of them.
    """
    history = exports.for_host(db, host_id)
    gets = profile_of([record for record in history if record.scope != "project"])
    others = gets in names(db) and gets != catalog.profile.name
    if also is None:
        also = added_before(history, mode, places, catalog)
        if mode == THROUGH:
            also += servers_of(db, catalog)
    return plan(
        places,
        host_id,
        catalog=catalog,
        mode=mode,
        gateway_path=gateway_program(),
        history=history,
        endpoint=endpoint_of(db, catalog.profile.name, endpoint),
        also=(*also, *more),
        now=load_catalog(db, gets, catalog.encoding) if others else catalog,
    )
