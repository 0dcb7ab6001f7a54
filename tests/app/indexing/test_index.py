"""What is made of tools after they are read, over a real store with the real encoder."""

from dataclasses import replace

from app.catalog.catalog import load_catalog
from app.core.context import AppContext
from app.indexing.indexer import VIEW, Indexer
from app.ranking.floor import load_floor, own_chit_chat
from app.ranking.router import Router
from store import servers, tools, vectors
from store.connection import transaction
from store.records import EntryRecord, NewTool, ServerSpec, Vector


def test_tools_read_with_another_encoder_get_their_vectors_when_it_is_asked_for(
    ctx: AppContext,
) -> None:
    ctx.paths.create()
    db = ctx.open_store()
    tool = NewTool("read_file", {"name": "read_file", "description": "Read a file."}, "h")
    with transaction(db):
        entry = EntryRecord("manual", "manual", "", "files")
        id_ = servers.place(
            db, entry, ServerSpec("stdio", key="f", command="f"), name="files", trusted=True
        )
        tools.save_list(db, id_, [tool], at=0.0)
    Indexer(ctx, db).texts()
    (row,) = tools.tools(db)
    old = Vector(row.id, "another@encoder", VIEW, "h", bytes(4 * 384))
    with transaction(db):
        vectors.save(db, [old])
    routed = [Router.from_store(db, load_catalog(db), None, Indexer(ctx, db).encoder())]
    indexer = Indexer(ctx, db)
    encoder = indexer.encoder()
    assert indexer.encoded == 0  # the first one did it
    routed.append(Router.from_store(db, load_catalog(db), None, encoder))
    for router in routed:
        ranked = router.route("open a document", limit=5)
        assert not ranked.words_only
        assert ranked.tools[0].iso
    db.close()


def test_most_small_talk_gets_no_tool_after_the_first_scan_and_real_requests_do(
    ctx: AppContext,
) -> None:
    ctx.paths.create()
    db = ctx.open_store()
    listed = [
        ("create_issue", "Opens a ticket in the tracker."),
        ("get_weather", "Forecast of temperature and rain for a city."),
        ("send_mail", "Sends an electronic letter to somebody."),
    ]
    new = [NewTool(n, {"name": n, "description": d}, n) for n, d in listed]
    with transaction(db):
        entry = EntryRecord("manual", "manual", "", "office")
        spec = ServerSpec("stdio", key="f", command="f")
        id_ = servers.place(db, entry, spec, name="office", trusted=True)
        tools.save_list(db, id_, new, at=0.0)
        tools.trust(db, [tool.id for tool in tools.tools(db)])
    indexer = Indexer(ctx, db)
    indexer.texts()
    encoder = indexer.encoder()
    catalog = load_catalog(db)

    def shown(query: str, **changed: float) -> list[str]:
        settings = replace(catalog.settings.routing, **changed)
        router = Router.from_store(db, catalog, settings, encoder)
        return [tool.name for tool in router.route(query).shown]

    refused = [talk for talk in own_chit_chat() if not shown(talk)]
    assert len(refused) >= len(own_chit_chat()) // 2
    assert any(shown(talk, floor=-1.0) for talk in refused)  # whoever wants no floor gets none
    assert shown("will it rain in Oslo")[0] == "get_weather"
    assert shown("file a bug about the crash")[0] == "create_issue"
    before = load_floor(db, encoder.key, encoder.dims).plain
    with transaction(db):
        more = [*new, NewTool("chat", {"name": "chat", "description": "Thanks and good bye."}, "c")]
        tools.save_list(db, id_, more, at=1.0)
    again = Indexer(ctx, db)
    again.texts()
    again.encoder()
    assert load_floor(db, encoder.key, encoder.dims).plain > before
    assert load_floor(db, "another@encoder", encoder.dims).plain == 0.0
    db.close()


def test_encoding_ends_with_the_time_and_the_next_one_goes_on(ctx: AppContext) -> None:
    ctx.paths.create()
    db = ctx.open_store()
    new = [
        NewTool(f"t{n}", {"name": f"t{n}", "description": f"Does {n}."}, f"h{n}") for n in range(60)
    ]
    with transaction(db):
        entry = EntryRecord("manual", "manual", "", "many")
        spec = ServerSpec("stdio", key="f", command="f")
        id_ = servers.place(db, entry, spec, name="many", trusted=True)
        tools.save_list(db, id_, new, at=0.0)
    indexer = Indexer(ctx, db)
    indexer.texts()
    note = indexer.vectors(
        keep_going=lambda: True, prepare=True, clock=lambda: iter([True, False]).__next__
    )
    assert note == "12 tools to encode, searched by words until then; the next scan goes on."
    assert indexer.encoded == 48
    assert Indexer(ctx, db).vectors(keep_going=lambda: True, prepare=True) == ""
    db.close()
