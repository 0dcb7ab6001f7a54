"""Repair of the store: the database first, then what hosts' files and the texts themselves give."""

import time
from contextlib import closing
from dataclasses import dataclass

from app.core.context import AppContext
from app.hosts.places import Places
from app.hosts.reading import read_hosts
from app.indexing.indexer import Indexer
from app.registry.register import register
from app.system.quoting import quoted
from store import repair as stores
from store import teams
from store.connection import open_store, sentences
from store.damage import damaged_rows


@dataclass(frozen=True, slots=True)
class RepairResult:
    """Outcome of a repair; `copy` is "" where nothing was damaged."""

    copy: str
    done: tuple[str, ...]
    left: tuple[str, ...]  # what only the user can give back, with what to do


def repair(ctx: AppContext) -> RepairResult:
    """Repair the store, keeping a copy; starts no server. Raises StoreError and ToolcribError."""
    file = str(ctx.paths.database)
    if not ctx.paths.database.exists():
        return RepairResult("", (), ())
    with sentences(file):
        copy, done = stores.repair(file, time.strftime("%Y%m%d-%H%M%S", time.gmtime(ctx.clock())))
    if not copy:
        return RepairResult("", (), ())
    with closing(open_store(file)) as db:
        register(ctx, db, read_hosts(Places.here()))
        indexer = Indexer(ctx, db)
        indexer.recheck(lambda: True)
        indexer.texts()
        left = [
            f"{row.sentence} Add it again with: toolcrib add {quoted(row.name)} -- COMMAND"
            for row in damaged_rows(db, ("servers",))
        ]
        of_team = teams.profiles(db)
        closed = [
            str(name)
            for id_, name in db.execute(
                "SELECT id, name FROM profiles WHERE settings ->> '$.servers' = '[]' ORDER BY id"
            )
            if id_ not in of_team
        ]
        if of_team:
            left.append("Fetch the team's servers and profiles again with: toolcrib team sync")
        left += [
            f"The profile {name} has no server. If it is to have all again:"
            f" toolcrib profile set servers=null --profile {quoted(name)}"
            for name in closed
        ]
    left.append("Read your servers again with: toolcrib scan --yes")
    return RepairResult(copy, tuple(done), tuple(left))
