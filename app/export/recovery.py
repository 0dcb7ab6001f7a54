"""Cleans up, at a program's start, after writers that were killed."""

from contextlib import suppress

from app.core.context import AppContext
from app.core.errors import ToolcribError
from app.core.paths import LOCK_FILE
from app.core.safe_write import remove_leftovers
from store.errors import StoreError


def recover(ctx: AppContext) -> None:
    """Remove what killed writers left; usually that is a look into one folder and at one file.

    What cannot be cleaned now, as on a full disk or while another Toolcrib writes, stays for the
    next start.
    """
    remove_leftovers(ctx.paths.home)
    notes = ctx.paths.home / LOCK_FILE
    if not notes.is_file() or not notes.stat().st_size:
        return
    from app.export.apply import writer  # what it needs is too much for every start

    unsettled = suppress(ToolcribError, StoreError)
    with unsettled, ctx.store() as db, writer(ctx, db, wait=0):
        pass  # taking the lock settles the unfinished work of the process before
