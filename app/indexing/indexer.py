"""Rows derived from tools once they are read: counts, summaries, keywords, findings, vectors."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import apsw

from app.core.context import AppContext
from app.core.text import plural
from app.encoder.weights import ModelFiles, ensure_model, find_model
from app.indexing.findings import findings_of_tools
from app.indexing.recheck import recheck
from app.indexing.requests import index_keywords, offer_pack
from app.ranking.floor import floor_is_stale, lacks_world, set_scan_floor
from app.ranking.learning import teaching
from app.ranking.requests import texts_mark
from app.ranking.summary import make_summary
from app.ranking.views import View, mixed, views_hash, views_of
from app.ranking.world import World
from app.safety.patterns import Names
from app.tokens.counters import ENCODINGS, counter
from app.tokens.footprint import count_tool
from store import findings, requests, tools, vectors
from store.connection import transaction
from store.records import Finding, Summary, ToolRecord, Vector

if TYPE_CHECKING:
    from app.encoder.onnx import Encoder

VIEW = "summary"
TEXT_BATCH = 200  # tools counted, summarised and stored between two such looks
BATCH = 24  # texts encoded between two looks at what else there is to do

Progress = Callable[[str, float], None]


class Indexer:
    """Does only what is not done yet and counts what it did; one thread at a time.

    A tool's summary carries the hash of the text it was made from, and is stored in the same
    transaction as the counts, keywords and findings: where it differs, all of them are stale.
    """

    def __init__(
        self, ctx: AppContext, db: apsw.Connection, *, progress: Progress = lambda _t, _d: None
    ) -> None:
        self.counted = 0
        self.encoded = 0
        self._ctx = ctx
        self._db = db
        self._progress = progress
        self._encoder: Encoder | None = None

    def texts(
        self,
        server_id: int | None = None,
        *,
        only: Collection[int] | None = None,
        keep_going: Callable[[], bool] = lambda: True,
    ) -> int:
        """Count, summarise and index the tools of one server, or of all, that need it.

        They are judged once more, beside the tools of servers that came since they were stored.
        `only` narrows it to tools of these ids. Stored batch by batch until `keep_going` says no;
        returns how many are left for the next time.
        """
        every = tools.tools(self._db)
        rows = [
            tool
            for tool in every
            if server_id in (None, tool.server_id) and (only is None or tool.id in only)
        ]
        with transaction(self._db):
            reworded = offer_pack(self._db, rows)
            index_keywords(self._db, [tool for tool in rows if tool.id in reworded])
        known = tools.summaries(self._db)
        counts = [tools.token_counts(self._db, encoding) for encoding in ENCODINGS]
        stale = [
            tool
            for tool in rows
            if (summary := known.get(tool.id)) is None
            or summary.hash != tool.hash
            or any(tool.id not in counted for counted in counts)
        ]
        names = Names.of(every if stale else ())
        for start in range(0, len(stale), TEXT_BATCH):
            if not keep_going():
                return len(stale) - start
            batch = stale[start : start + TEXT_BATCH]
            self._make_texts(batch, known, findings_of_tools(batch, names))
            self.counted += len(batch)
            done = start + len(batch)
            self._progress(f"Indexed {done:,} of {len(stale):,} tools", done / len(stale))
        return 0

    def _make_texts(
        self,
        batch: Sequence[ToolRecord],
        known: Mapping[int, Summary],
        findings_of: Mapping[int, Sequence[Finding]],
    ) -> None:
        """Make and store what the tools of a batch lack; nothing is made while the store waits."""
        counted = [count_tool(counter(encoding), tool) for tool in batch for encoding in ENCODINGS]
        summaries = [_summary(tool, known.get(tool.id)) for tool in batch]
        with transaction(self._db):
            tools.save_token_counts(self._db, counted)
            tools.save_summaries(self._db, summaries)
            index_keywords(self._db, batch)
            for tool in batch:
                findings.save(self._db, tool.id, findings_of[tool.id], tool.last_seen)

    def recheck(self, keep_going: Callable[[], bool]) -> None:
        """Judge every stored text again where another scanner judged it last."""
        recheck(self._db, keep_going=keep_going, at=self._ctx.clock())

    def pending(self, model: ModelFiles) -> list[tuple[int, tuple[View, ...]]]:
        """Tools and their texts whose vectors are missing or of another text, usable tools only."""
        usable = {tool.id: tool for tool in tools.tools(self._db) if not tool.problem}
        have = vectors.hashes(self._db, model.key, VIEW)
        weights = self._ctx.settings.views
        views = {
            tool_id: views_of(usable[tool_id], summary, weights)
            for tool_id, summary in tools.summaries(self._db).items()
            if tool_id in usable
        }
        return [(id_, texts) for id_, texts in views.items() if have.get(id_) != views_hash(texts)]

    def is_current(self, model: ModelFiles) -> bool:
        """True if every text has its vector of this encoder, and what a scan derives is theirs."""
        db, key = self._db, model.key
        if self.pending(model) or requests.pending(db, key):
            return False
        texts = texts_mark(db, key)
        return not (floor_is_stale(db, key, texts) or teaching.is_stale(db, texts))

    def vectors(
        self,
        *,
        keep_going: Callable[[], bool],
        prepare: bool,
        clock: Callable[[], Callable[[], bool]] = lambda: lambda: True,
    ) -> str:
        """Encode what is pending, batch by batch; why there are no vectors ("" when there are).

        `clock` starts a check of the time; past it, the tools that are left wait for the next scan.
        `prepare` exports the encoder first where that was not done yet (10 to 20 s once).
        """
        paths, name = self._ctx.paths, self._ctx.settings.model
        model = ensure_model(paths, name, self._progress) if prepare else find_model(paths, name)
        if model is None:
            return (
                f"The encoder {name} is not prepared yet; tools are searched by words until then."
            )
        return self._catch_up(model, keep_going, clock)

    def encoder(self, *, keep_going: Callable[[], bool] = lambda: True) -> "Encoder":
        """The encoder, exported if need be, after every tool that lacks a vector of it got one."""
        model = ensure_model(self._ctx.paths, self._ctx.settings.model, self._progress)
        self._catch_up(model, keep_going)
        return self._loaded(model)

    def _catch_up(
        self,
        model: ModelFiles,
        keep_going: Callable[[], bool],
        clock: Callable[[], Callable[[], bool]] = lambda: lambda: True,
    ) -> str:
        waiting = self.pending(model)
        in_time = clock()
        for start in range(0, len(waiting), BATCH):
            if not keep_going():
                return "Stopped. Tools without vectors are searched by words."
            if start and not in_time():
                left = plural(len(waiting) - start, "tool")
                return f"{left} to encode, searched by words until then; the next scan goes on."
            self._encode(model, waiting[start : start + BATCH])
            done = min(start + BATCH, len(waiting))
            self._progress(f"Encoded {done} of {len(waiting)} tools", done / len(waiting))
        if not self._encode_requests(model, keep_going):
            return "Stopped. Requests without vectors are searched by words."
        vectors.ensure_index(self._db, model.key, model.dims, VIEW)
        texts = texts_mark(self._db, model.key)
        if floor_is_stale(self._db, model.key, texts) and not self._set_floor(model, keep_going):
            return "Stopped. The threshold for queries that fit no tool is unchanged."
        if teaching.is_stale(self._db, texts) and not self._teach(model, keep_going):
            return "Stopped. Rankings have not learned from the new requests."
        return ""

    def _teach(self, model: ModelFiles, keep_going: Callable[[], bool]) -> bool:
        """Teach the catalogue by its requests; False if stopped."""
        self._progress("Comparing tools by their requests", 0.0)
        return teaching.teach_requests(self._db, self._loaded(model), self._ctx.clock, keep_going)

    def _set_floor(self, model: ModelFiles, keep_going: Callable[[], bool]) -> bool:
        """Set the catalogue's floor; False if stopped, which leaves the old one."""
        encoder, world = self._loaded(model), None
        if lacks_world(self._db, model.key):  # at a model's first scan, before anybody is locked

            def tell(done: int, total: int) -> bool:
                if done:
                    text = f"Preparing search: {done:,} of {total:,}"
                    self._progress(text, done / total)
                return keep_going()

            beside = model.onnx.parent
            world = World.kept_in(beside, model.key, model.dims)
            if world is None:
                world = World.encode(encoder, tell)
                if world is None:
                    return False
                if self._ctx.paths.models in beside.parents:  # and no part of the package
                    world.keep_in(beside)
        with transaction(self._db):
            set_scan_floor(self._db, encoder, self._ctx.clock, world)
        return True

    def _encode_requests(self, model: ModelFiles, keep_going: Callable[[], bool]) -> bool:
        waiting = requests.pending(self._db, model.key)
        for start in range(0, len(waiting), BATCH):
            if not keep_going():
                return False
            batch = waiting[start : start + BATCH]
            rows = self._loaded(model).encode([text for _, text in batch])
            made = [
                (id_, row.astype("<f4").tobytes())
                for (id_, _), row in zip(batch, rows, strict=True)
            ]
            with transaction(self._db):
                requests.save_vectors(self._db, model.key, made)
            done = start + len(batch)
            self._progress(f"Encoded {done} of {len(waiting)} requests", done / len(waiting))
        return True

    def _loaded(self, model: ModelFiles) -> "Encoder":
        if self._encoder is None or self._encoder.key != model.key:
            from app.encoder.onnx import Encoder

            self._encoder = Encoder.shared(self._ctx, model)
        return self._encoder

    def _encode(self, model: ModelFiles, batch: Sequence[tuple[int, tuple[View, ...]]]) -> None:
        rows = mixed(self._loaded(model).encode, [texts for _, texts in batch])
        made = [
            Vector(tool_id, model.key, VIEW, views_hash(texts), row)
            for (tool_id, texts), row in zip(batch, rows, strict=True)
        ]
        with transaction(self._db):
            vectors.save(self._db, made)
        self.encoded += len(made)


def _summary(tool: ToolRecord, known: Summary | None) -> Summary:
    """A made summary, or the one that a user or a model wrote, now beside the tool's new text."""
    if known is not None and known.source != "made":
        return replace(known, hash=tool.hash)
    return Summary(tool.id, make_summary(tool), "made", tool.hash)
