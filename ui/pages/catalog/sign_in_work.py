"""Signing in to servers and out of them, as work for other threads; no widgets here."""

from typing import TYPE_CHECKING

from app.catalog.catalog import load_catalog
from app.core.context import AppContext
from app.core.errors import ToolcribError
from app.hosts.places import Places
from store.records import NEEDS_SIGN_IN, ServerRecord
from ui.pages.catalog.server_work import find_servers
from ui.shell.tasks import Job

if TYPE_CHECKING:
    from app.registry.register import Target


def can_sign_in(server: ServerRecord) -> bool:
    """True if the server waits for a person to sign in and is trusted."""
    return server.status == NEEDS_SIGN_IN and bool(server.spec.url) and server.trusted


def can_sign_out(server: ServerRecord) -> bool:
    """True if tokens of the server are kept."""
    return bool(server.taken_with.get("signed_in"))


def sign_in(ctx: AppContext, places: Places, server_id: int, job: Job) -> "Target | None":
    """The server, once the user signed in to it; None when cancelled.

    Reports the address of the authorization page.
    """
    from app.registry.signing import sign_in as enter

    target = find_servers(ctx, places).targets.get(server_id)
    if target is None:
        raise ToolcribError("The server cannot be reached.", "No host's file names its address.")
    entered = enter(ctx, target, open_page=job.report, cancel=job.cancelled)
    return target if entered else None


def sign_out(ctx: AppContext, name: str) -> None:
    """Forget the server's tokens."""
    from app.registry.signing import sign_out as leave

    with ctx.store() as db:
        server = load_catalog(db).server(name)
        if server is not None:
            leave(ctx, db, server)
