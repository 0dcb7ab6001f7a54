"""What a list of a running server becomes in the store."""

from collections.abc import Sequence

import apsw
import pytest

from app.core.context import AppContext
from app.core.scrubber import Scrubber
from app.core.settings import Settings
from app.indexing.indexer import Indexer
from app.indexing.ingest import Judged, save_reading, text_judge
from app.indexing.reading import Limits, Reading
from app.indexing.tool_checks import check_tools
from app.safety.pins import RULE
from store import findings, servers, tools
from store.connection import transaction
from store.records import EntryRecord, NewTool, ServerSpec, ToolRecord
from store.typed import Json

FIRST = {"name": "read", "description": "Reads a file.", "inputSchema": {"type": "object"}}
OTHER = {**FIRST, "description": "Reads a folder."}


@pytest.fixture
def db(ctx: AppContext) -> apsw.Connection:
    """One server that lists nothing yet."""
    ctx.paths.create()
    db = ctx.open_store()
    with transaction(db):
        entry = EntryRecord("manual", "manual", "", "office")
        spec = ServerSpec("stdio", key="f", command="f")
        servers.place(db, entry, spec, name="office", trusted=True)
    return db


def judged_of(db: apsw.Connection, server_id: int, listed: Sequence[NewTool]) -> Judged:
    judge = text_judge(db, server_id, listed)
    assert judge is not None
    judge.run()
    return judge.judged


def read(db: apsw.Connection, entry: Json) -> ToolRecord:
    """Store a reading that lists one tool, before anything is indexed."""
    (server,) = servers.all_servers(db)
    listed = check_tools([entry], Limits.of(Settings()), Scrubber())
    reading = Reading(tools=tuple(listed))
    with transaction(db):
        save_reading(db, server.id, reading, judged_of(db, server.id, listed), at=1.0)
    (tool,) = tools.tools(db)
    return tool


def test_a_changed_text_is_stored_with_the_finding_that_it_changed(db: apsw.Connection) -> None:
    assert RULE not in {one.rule for one in findings.of_tool(db, read(db, FIRST).id)}
    tool = read(db, OTHER)
    assert RULE in {one.rule for one in findings.of_tool(db, tool.id) if one.hash == tool.hash}


def test_indexing_stops_between_batches_and_goes_on_the_next_time(
    ctx: AppContext, db: apsw.Connection
) -> None:
    (server,) = servers.all_servers(db)
    listed = check_tools([{**FIRST, "name": f"t{n}"} for n in range(450)], Limits())
    with transaction(db):
        save_reading(db, server.id, Reading(tools=listed), judged_of(db, server.id, listed), at=1.0)
    texts: list[str] = []
    indexer = Indexer(ctx, db, progress=lambda text, _share: texts.append(text))
    answers = iter([True, False])
    assert indexer.texts(server.id, keep_going=lambda: next(answers)) == 250
    assert (indexer.counted, len(tools.summaries(db))) == (200, 200)
    assert indexer.texts() == 0
    assert len(tools.summaries(db)) == 450
    assert texts[0] == "Indexed 200 of 450 tools" and texts[-1] == "Indexed 250 of 250 tools"
