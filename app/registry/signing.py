"""Signing in to a server of the catalogue, and out of it."""

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from threading import Event

import apsw

from app.core.changes import Changes
from app.core.context import AppContext
from app.core.errors import ToolcribError
from app.hosts.interpolation import expand
from app.hosts.launch import STDIO
from app.registry.register import Target
from app.secrets.secret_store import SecretStore
from app.signin.flow import ScopeError, SignInRequest
from app.signin.flow import sign_in as visit
from app.signin.grant import Client, Grant, kept, key, load, save
from app.signin.renewal import give_back
from app.signin.scopes import union
from store import servers
from store.connection import transaction
from store.records import NEEDS_SIGN_IN, ServerRecord

OUT = "You signed out."


def sign_in(
    ctx: AppContext,
    target: Target,
    *,
    open_page: Callable[[str], None],
    cancel: Event,
    client: Client | None = None,
    port: int = 0,
) -> bool:
    """Let a person sign in and keep the tokens; False when cancelled. Blocks for minutes.

    `open_page` is given the authorization page, on a helper thread. `client` is for a server
    where Toolcrib cannot register itself; the browser comes back to `port`, 0 for any.
    Raises ToolcribError.
    """
    launch = expand(target.launch, os.environ, Path.home())
    if launch.transport == STDIO:
        raise ToolcribError(
            f"{target.name} is a program on this computer; there is nothing to sign in to.",
            "Give it its credentials where its host's file starts it.",
        )
    store = SecretStore.open(ctx.paths)
    earlier = load(store, target.name, launch.url)
    plain = SignInRequest(launch.url, open_page, cancel, launch.headers, client=client, port=port)
    grant = _visited(plain, earlier)
    if grant is None:
        return False
    with store.alone(key(target.name)):
        save(store, target.name, grant)
    return True


def _visited(plain: SignInRequest, earlier: Grant | None) -> Grant | None:
    """The sign-in with the rights that were lacking; where those are refused, without them."""
    if earlier is None or not earlier.wanted:
        return visit(plain)
    try:
        return visit(replace(plain, scopes=union(earlier.scope, earlier.wanted)))
    except ScopeError:
        return visit(plain)


def sign_out(ctx: AppContext, db: apsw.Connection, server: ServerRecord) -> Changes:
    """Remove the tokens of a server, here and at its authorization server if that answers."""
    store = SecretStore.open(ctx.paths)
    if kept(store, server.name) is None and not server.taken_with.get("signed_in"):
        raise ToolcribError(f"You are not signed in to {server.name}.")
    give_back(store, server.name)
    with transaction(db):
        servers.forget_sign_in(db, server.id)
        servers.set_status(db, server.id, NEEDS_SIGN_IN, OUT)
    return Changes(servers=True)
