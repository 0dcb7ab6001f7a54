"""Values of servers' variables and credentials, kept so that Toolcrib itself can start them.

A scan takes values from a host's file and keeps none. A server that is started without that file
(over HTTP, for another host) needs them in the secret store, after the user's yes.
"""

import os
from collections.abc import Collection
from dataclasses import dataclass

import apsw

from app.core.context import AppContext
from app.core.paths import Paths
from app.hosts.launch import LaunchSpec, missing, secrets_of
from app.hosts.places import Places
from app.hosts.reading import read_hosts
from app.registry.register import register
from app.secrets.secret_store import SecretStore, install_key
from store import servers


@dataclass(frozen=True, slots=True)
class MissingValues:
    """A server that Toolcrib could not start by itself, and the names of the values it lacks."""

    server: str
    names: tuple[str, ...]
    launch: LaunchSpec | None  # with the values, where a host's file has them

    @property
    def text(self) -> str:
        """One line; names only."""
        return f"{self.server}: {', '.join(self.names)}"


def lacking(
    ctx: AppContext, db: apsw.Connection, places: Places, only: Collection[str] = ()
) -> tuple[MissingValues, ...]:
    """The trusted servers that lack values, by name; `only` narrows it to these servers."""
    registered = register(ctx, db, read_hosts(places))
    store = SecretStore.open(ctx.paths)
    rows = [
        MissingValues(server.name, names, registered.launches.get(server.id))
        for server in servers.all_servers(db)
        if server.trusted and (not only or server.name in only)
        if (names := missing(server.spec, secrets_of(server.spec, store), os.environ))
    ]
    return tuple(sorted(rows, key=lambda one: one.server))


def keep(paths: Paths, wanted: Collection[MissingValues]) -> tuple[str, ...]:
    """Keep the values of these servers; names of those that no file has values for.

    The caller has the user's yes. Raises OSError where the store cannot be written.
    """
    store, key = SecretStore.open(paths), install_key(paths)
    left = []
    for one in wanted:
        if one.launch is None:
            left.append(one.server)
            continue
        spec, secrets = one.launch.to_spec(key)
        store.put(spec.key, secrets)
    return tuple(left)
