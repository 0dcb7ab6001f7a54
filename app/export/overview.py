"""What the Hosts page and its like ask: all hosts' states, one host's plan, from the store."""

import apsw

from app.catalog import Catalog
from app.export.plan import Plan, plan
from app.export.status import HostStatus, host_status
from app.hosts.facts import load_hosts
from app.hosts.places import Places
from app.paths import gateway_program
from store import exports


def survey(db: apsw.Connection, places: Places, catalog: Catalog) -> tuple[HostStatus, ...]:
    """Every known host's state, by rank; starts nothing, writes nothing."""
    gateway = gateway_program()
    return tuple(
        host_status(
            places,
            facts,
            catalog=catalog,
            gateway_path=gateway,
            history=exports.for_host(db, facts.id),
        )
        for facts in load_hosts()
    )


def prepare(
    db: apsw.Connection, places: Places, catalog: Catalog, *, host_id: str, mode: str
) -> Plan:
    """The plan of exporting the catalogue's profile to a host, on top of its earlier writes."""
    return plan(
        places,
        host_id,
        catalog=catalog,
        mode=mode,
        profile=catalog.profile.name,
        gateway_path=gateway_program(),
        history=exports.for_host(db, host_id),
    )
