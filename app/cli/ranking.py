"""Queries ranked in this process: what that imports is most of a second."""

from app.catalog.catalog import load_catalog
from app.cli.console import Console
from app.core.context import AppContext
from app.core.errors import ToolcribError
from app.encoder.onnx import Encoder
from app.indexing.indexer import Indexer
from app.ranking.ranked import Request
from app.ranking.report import ranked_json
from app.ranking.router import Router
from store.errors import StoreError
from store.typed import Json


def rank(
    ctx: AppContext, console: Console, request: Request, *, profile: str, words_only: bool
) -> Json:
    """The ranking of one query, prepared with the tools' vectors if need be."""
    with ctx.store() as db:
        catalog = load_catalog(db, profile, ctx.settings.encoding)
        ready = not words_only and bool(catalog.tools)  # without tools it would be made for nothing
        encoder = load_encoder(ctx, console) if ready else None
        return ranked_json(Router.from_store(db, catalog, encoder=encoder).route(request))


def load_encoder(ctx: AppContext, console: Console) -> Encoder | None:
    """The encoder, prepared with the tools' vectors if need be; None and a note without one."""

    def show(step: str, done: float) -> None:
        console.progress(f"{step} ({done:.0%})")

    with ctx.store() as db:
        try:
            return Indexer(ctx, db, progress=show).encoder()
        except (ToolcribError, StoreError) as error:
            console.note(f"{error.title} Words only. {error.hint}")
            return None
