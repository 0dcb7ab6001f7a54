"""`bench suggest`: when a hook speaks, whether it is right, and when it is silent.

Queries are split by the hash of their text: constants were chosen on one half, the other judges.
Small talk that judges is in none of the texts that the hook compares with.
"""

import hashlib
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, median

from app.catalog.catalog import load_catalog
from app.encoder.onnx import Encoder
from app.hooks.small_talk import KINDS, SmallTalk
from app.hooks.suggestion import LONGEST, Suggestion, silence_of, suggest
from app.hooks.suggestion import MOST as SUGGESTED
from app.ranking.floor import own_chit_chat, set_scan_floor
from app.ranking.router import Router
from app.ranking.tool_search import ENGINE, KEYWORDS
from app.tokens.counters import Counter, counter
from app.tokens.host_text import host_text
from store.connection import transaction
from tests.bench.data.corpus import open_corpus
from tests.bench.data.embeddings import CachedEncoder
from tests.bench.data.sets import Labelled, QuerySet
from tests.bench.data.testbed import read_testbed
from tests.bench.hooks import turns
from tests.bench.host_search import BY_KEYWORDS, HostSearch
from tests.bench.report import Cell, Column, Report, Table, label, table

ENCODING = "o200k_base"
MOST_QUERIES = 300  # of a set
_POOL = 10  # tools asked of the router, as the gateway does


@dataclass(frozen=True, slots=True)
class Given:
    """One prompt's suggestion and what it took."""

    made: Suggestion
    ms: float  # of CPU, without encoding the prompt


def run(sets: Sequence[QuerySet], encoder: Encoder, *, cache: Path | None = None) -> Report:
    """Coverage, precision, silence, tokens and CPU of suggestions on the judging halves."""
    cached = CachedEncoder(encoder, cache)
    count = counter(ENCODING)
    try:
        talk = SmallTalk(cached)
        rows = [_set(given, cached, talk, count) for given in sets]
        trips = _trips(sets, cached, count)
    finally:
        cached.close()
    titles = (
        "tools", "prompts", "speaks %", "right when it speaks %", "first is right %",
        "right of all %", "small talk answered %", "tokens", "most tokens",
        "all schemas, tokens", "CPU ms", "the host's own search, right of all %",
    )  # fmt: skip
    figures = [[row[i] for row in rows] for i in range(1, len(titles) + 1)]
    macro: tuple[Cell, ...] = ("mean", *(mean(map(_number, column)) for column in figures))
    columns = [label("set"), *map(Column, titles)]
    suggestions = table("Suggestions", columns, [*rows, macro])
    return Report("suggest", (suggestions, *trips), (*_notes(), *turns.notes(ENCODING)))


def _trips(sets: Sequence[QuerySet], encoder: CachedEncoder, count: Counter) -> tuple[Table, ...]:
    """Tokens and turns to the call over the paper's testbed and over the sets."""
    testbed = read_testbed(counter("cl100k_base")).as_set
    models = encoder.models
    made = {
        given.name: turns.rows(turns.measured(given, prompts, encoder, count, models))
        for given, prompts in ((testbed, testbed.queries), *((one, _judging(one)) for one in sets))
    }
    of_sets = {given.name: made[given.name] for given in sets}
    title = "{}, as the paper's Table 3, measured"
    return (
        turns.as_table(title.format(f"Testbed of {len(testbed.tools)} tools"), made[testbed.name]),
        turns.as_table(title.format(f"Mean of {len(sets)} sets"), turns.means(of_sets.values())),
        turns.by_set(of_sets),
    )


def _judging(given: QuerySet) -> list[Labelled]:
    return [query for query in given.queries if judges(query.query)]


def judges(text: str) -> bool:
    """Whether a query belongs to the half that judges; the other chose the constants."""
    return hashlib.sha256(text.encode()).digest()[0] % 2 == 1


def _set(
    given: QuerySet, encoder: CachedEncoder, talk: SmallTalk, count: Counter
) -> tuple[Cell, ...]:
    prompts = _judging(given)[:MOST_QUERIES]
    small = [text for kind in KINDS for text in own_chit_chat(f"{kind}-heldout")]
    with tempfile.TemporaryDirectory(prefix="toolcrib-bench-") as folder:
        db = open_corpus(Path(folder) / "bench.db", given, encoder)
        try:
            with transaction(db):
                set_scan_floor(db, encoder, time.time)
            router = Router.from_store(db, load_catalog(db), None, encoder)
            rows = {row.tool.id: row for row in load_catalog(db).tools}

            def answer_to(prompt: str) -> Given:
                if silence := silence_of(prompt):
                    return Given(Suggestion(silence=silence), 0.0)
                text = prompt.strip()[:LONGEST]
                encoder.encode_query(text)
                began = time.process_time()
                ranked = router.route(text, limit=_POOL)
                likeness = talk.likeness(text)
                made = suggest(ranked, small_talk=likeness, tool=rows.get)
                return Given(made, (time.process_time() - began) * 1000)

            answers = [(query, answer_to(query.query)) for query in prompts]
            chats = [answer_to(text) for text in small]
        finally:
            db.close()
    own = HostSearch(given)
    alone = [
        any(_fits(query, tool) for tool in own.answer(query.query, BY_KEYWORDS, SUGGESTED))
        for query in prompts
    ]
    figures = _figures(answers, chats, given, count)
    return (given.name, len(given.tools), len(prompts), *figures, 100 * mean(alone))


def _figures(
    answers: Sequence[tuple[Labelled, Given]],
    chats: Sequence[Given],
    given: QuerySet,
    count: Counter,
) -> tuple[Cell, ...]:
    answered = [(query, one) for query, one in answers if one.made.text]
    right = [any(_fits(query, tool) for tool in one.made.tools) for query, one in answered]
    first = [_fits(query, one.made.tools[0]) for query, one in answered]
    sizes = [count.count(one.made.text) for _, one in answered]
    schemas = sum(count.count(host_text(dict(tool.raw))) for tool in given.tools)
    return (
        100 * len(answered) / len(answers),
        100 * mean(right),
        100 * mean(first),
        100 * sum(right) / len(answers),
        100 * mean(bool(one.made.text) for one in chats),
        median(sizes),
        max(sizes),
        schemas,
        median(one.ms for _, one in answers),
    )


def _fits(query: Labelled, tool: str) -> bool:
    return tool in query.gold.tools or tool in query.gold.same


def _number(cell: Cell) -> float:
    return float(cell) if isinstance(cell, int | float) else 0.0


def _notes() -> tuple[str, ...]:
    return (
        "Prompts are the sets' queries whose text has an odd hash; constants were chosen on the"
        " even ones. Small talk: 40 held-out sentences and 20 held-out ones that steer an agent.",
        "A suggestion is right when a labelled tool, or one that does the same, is among its tools;"
        " tools that nobody labelled count as wrong. All tools are on, without requests or labels.",
        f"The host's own search: {ENGINE}, asked with the prompt's {KEYWORDS} rarest words; its"
        f" first {SUGGESTED} tools, as many as a suggestion has.",
        "A right suggestion saves the model's search: one turn, and its answer's tokens.",
    )
