"""Text by which a tool is searched: made from its own, or written by the user, which wins."""

from collections.abc import Callable
from dataclasses import replace

import apsw

from app.core.changes import Changes
from app.core.context import AppContext
from app.indexing.indexer import Indexer
from app.ranking.summary import MOST_TOKENS, make_summary, most_tokens
from store import tools
from store.connection import transaction
from store.records import Summary, ToolRecord

MADE, USER = "made", "user"


def summary_of(db: apsw.Connection, tool_id: int) -> Summary | None:
    """A tool's summary, None before it was read."""
    return tools.summaries(db).get(tool_id)


def summary_problem(text: str) -> str:
    """Reason that a summary cannot be used, "" when it can; its tokens are an upper bound."""
    if not text.strip():
        return "A summary says what the tool is for."
    over = most_tokens(" ".join(text.split())) - MOST_TOKENS
    return f"Shorten it: a summary has at most {MOST_TOKENS} tokens." if over > 0 else ""


def written(before: Summary, text: str) -> Summary:
    """The user's own instead; the tool's hash stays, or what else is stale would look fresh."""
    return replace(before, text=" ".join(text.split()), source=USER)


def made(before: Summary, tool: ToolRecord) -> Summary:
    """Toolcrib's own instead."""
    return replace(before, text=make_summary(tool), source=MADE)


def put(db: apsw.Connection, summary: Summary) -> Changes:
    """Store a summary, whatever was there; its vector is made by `encode`."""
    with transaction(db):
        tools.put_summary(db, summary)
    return Changes(tools=True)


def encode(ctx: AppContext, keep_going: Callable[[], bool] = lambda: True) -> None:
    """Make the vectors of changed summaries, where the encoder is prepared already."""
    with ctx.store() as db:
        Indexer(ctx, db).vectors(keep_going=keep_going, prepare=False)
