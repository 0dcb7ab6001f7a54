"""Queries of the command line, ranked by the encoder that is loaded already."""

import json
import threading
from typing import TYPE_CHECKING

from app.gateway.backend.hello import Hello
from app.gateway.backend.pool import Pool
from store.typed import Json

if TYPE_CHECKING:
    import apsw

    from app.core.context import AppContext
    from app.encoder.onnx import Encoder
    from app.ranking.router import Router


class Rankings:
    """Ranks as `toolcrib route` does by itself; made once a backend."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._lock = threading.Lock()
        self._db: apsw.Connection | None = None
        self._known: object = None  # what the router was made of
        self._router: Router | None = None

    def answer(self, hello: Hello) -> Json:
        """`ranked`; or `why` the command line has to do it by itself, which prepares and says."""
        from app.core.errors import ToolcribError
        from store.errors import StoreError

        try:
            with self._lock:
                return self._ranked(json.loads(hello.words[1]), hello)
        except (ToolcribError, StoreError) as error:
            return {"why": error.title}
        except (ValueError, LookupError, TypeError, OSError, ImportError) as error:
            return {"why": repr(error)}

    def close(self) -> None:
        """Let go of the store."""
        with self._lock:
            if self._db is not None:
                self._db.close()
                self._db = None

    def _ranked(self, fields: Json, hello: Hello) -> Json:
        from app.core.context import AppContext
        from app.ranking.ranked import Request
        from app.ranking.report import ranked_json
        from store.connection import data_version

        ctx = AppContext.default()
        if self._db is None:
            self._db = ctx.open_store()
        words_only, profile = bool(fields["words_only"]), str(fields["profile"])
        known = (data_version(self._db), ctx.settings, profile, words_only)
        if self._router is None or known != self._known:
            encoder = None if words_only else self._encoder(ctx, self._db, hello)
            if encoder is None and not words_only:
                return {
                    "why": "The encoder or the vectors are not prepared yet. Run: toolcrib scan"
                }
            self._router = _router(ctx, self._db, profile, encoder)
            self._known = known
        request = Request(str(fields["query"]), server=str(fields["server"]))
        return {"ranked": ranked_json(self._router.route(request))}

    def _encoder(self, ctx: "AppContext", db: "apsw.Connection", hello: Hello) -> "Encoder | None":
        """The process's, None where the store is not ready for it."""
        from app.encoder.weights import ready_model
        from app.indexing.indexer import Indexer

        model = ready_model(ctx.paths, ctx.settings.model)
        if model is None or not Indexer(ctx, db).is_current(model):
            return None
        encoder = self._pool.environment(0, hello).load_encoder()
        return encoder if encoder is not None and encoder.key == model.key else None


def _router(
    ctx: "AppContext", db: "apsw.Connection", profile: str, encoder: "Encoder | None"
) -> "Router":
    from app.catalog.catalog import load_catalog
    from app.ranking.router import Router

    return Router.from_store(db, load_catalog(db, profile, ctx.settings.encoding), encoder=encoder)
