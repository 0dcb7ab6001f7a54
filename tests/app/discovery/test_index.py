"""What is made of tools after they are read, over a real store with the real encoder."""

from app.catalog import load_catalog
from app.context import AppContext
from app.discovery.index import VIEW, Indexer
from app.routing.router import Router
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
