"""Stacks out of the registered servers, and servers registered out of a stack."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import apsw

from app.core.context import AppContext
from app.core.errors import ToolcribError
from app.hosts.launch import LaunchSpec
from app.market.entry import read_entry
from app.market.launch import choices
from app.market.stack import OwnLaunch, Stack, StackServer, plain_given, without_home
from app.registry.importing import add_server
from app.registry.installing import plain_values
from app.registry.register import stored_launch
from app.secrets.secret_store import SecretStore, install_key
from store import market, servers
from store.connection import transaction
from store.market import MarketInstall
from store.records import ServerRecord

BY_STACK = "stack:"  # in the place of a list's URL
_SHORTEST = 6  # characters of a secret that is looked for


def make_stack(
    ctx: AppContext, db: apsw.Connection, name: str, chosen: Sequence[str], policy: str
) -> Stack:
    """A stack of these servers; ToolcribError for one that is not known, or for a secret in it."""
    records = {server.name: server for server in servers.all_servers(db)}
    unknown = next((one for one in chosen if one not in records), "")
    if unknown or not chosen:
        what = f"There is no server called {unknown}." if unknown else "A stack needs a server."
        raise ToolcribError(what, "See: toolcrib footprint")
    installs = market.installs(db)
    rows = [_server(records[one], installs.get(records[one].id)) for one in chosen]
    stack = Stack(name, tuple(rows), policy)
    text = stack.to_bytes().decode()
    store = SecretStore.open(ctx.paths)
    for one in chosen:
        launch = stored_launch(records[one], store)
        values = launch.secret_values() if launch else ()
        if any(len(value) >= _SHORTEST and value in text for value in values):
            raise ToolcribError(
                f"The stack would hold a secret of {one}.", "Nothing was written. Leave it out."
            )
    return stack


def _server(record: ServerRecord, install: MarketInstall | None) -> StackServer:
    home = str(Path.home())
    if install is not None and install.entry != "{}" and not install.source.startswith(BY_STACK):
        entry = json.loads(install.entry)
        ways = choices(read_entry(entry), private=True)
        way = next((one for one in ways if one.number == install.number), None)
        if way is not None and way.kind != "mcpb":
            given = plain_given(json.loads(install.given), way, home)
            return StackServer(record.name, install.source, entry, install.number, given)
    spec = record.spec
    launch = OwnLaunch(
        spec.transport,
        without_home(spec.command, home),
        tuple(without_home(arg, home) for arg in spec.args),
        without_home(spec.url, home),
        spec.env_names,
        spec.header_names,
    )
    return StackServer(record.name, launch=launch)


def launches(stack: Stack, values: Mapping[str, Mapping[str, str]]) -> dict[str, LaunchSpec]:
    """The launch of each server; ToolcribError where a value is missing."""
    home = str(Path.home())
    return {one.name: one.launch_with(values.get(one.name, {}), home) for one in stack.servers}


def add_stack(
    ctx: AppContext, db: apsw.Connection, stack: Stack, values: Mapping[str, Mapping[str, str]]
) -> tuple[str, ...]:
    """Register its servers; starts nothing. One that is there with the same command stays.

    Raises ToolcribError, with nothing added, where a name is taken by another command.
    """
    wanted = launches(stack, values)
    known = {server.name: server for server in servers.all_servers(db)}
    key = install_key(ctx.paths)
    for name, launch in wanted.items():
        there = known.get(name)
        if there is not None and there.spec.key != launch.to_spec(key)[0].key:
            raise ToolcribError(
                f"A server is called {name} already, with another command.",
                f"Nothing was added. Rename it: toolcrib server rename {name} NEW",
            )
    added = [one for one in stack.servers if one.name not in known]
    for one in added:
        done = add_server(ctx, db, one.name, wanted[one.name])
        with transaction(db):
            for server_id in done.registered.server_ids:
                given = values.get(one.name, {})
                market.save_install(db, _install(ctx, stack, one, given, server_id))
    return tuple(one.name for one in added)


def _install(
    ctx: AppContext, stack: Stack, one: StackServer, given: Mapping[str, str], server_id: int
) -> MarketInstall:
    """The note that has the tools wait for Review, as those out of any list."""
    if one.launch is not None:
        source = f"{BY_STACK}{stack.name}"
        return MarketInstall(server_id, source, one.name, "", 1, ctx.clock())
    every = {**one.given, **given}
    return MarketInstall(
        server_id,
        one.source or f"{BY_STACK}{stack.name}",
        one.listed.name,
        one.listed.version,
        one.number,
        ctx.clock(),
        entry=json.dumps(one.entry),
        given=json.dumps(plain_values(one.choice, every)),
    )
