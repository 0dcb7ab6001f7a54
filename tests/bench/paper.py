"""`bench paper`: the Tool Attention experiments (arXiv 2604.21816), rerun and checked."""

import tempfile
from collections.abc import Sequence
from pathlib import Path
from statistics import mean

from app.catalog.catalog import load_catalog
from app.encoder.onnx import Encoder
from app.ranking.router import Router
from app.tokens.counters import counter
from tests.bench.data.bed import PAPER_K, PAPER_THETA, EmbeddedCatalogue, Outcome
from tests.bench.data.corpus import open_corpus
from tests.bench.data.embeddings import CachedEncoder
from tests.bench.data.sets import SetTool
from tests.bench.data.testbed import Testbed, read_testbed
from tests.bench.lexical import tf_idf
from tests.bench.paper_published import TABLE_3, implied_task_tokens, not_adding_up
from tests.bench.prompt_cache import SYSTEM, TASK, TURNS, shares
from tests.bench.report import COMPUTED, PROJECTED, PUBLISHED, Column, Report, Table, label, table
from tests.bench.searching import gateway_over

ENCODING = "cl100k_base"  # the paper's
CLI_PROMPT = """You have the command-line program `tools` with the commands of these servers: \
{servers}. Run `tools SERVER --list` to see a server's commands, `tools SERVER COMMAND --help` \
for its options, `tools SERVER COMMAND --option value ...` to run it. Ask for lists and help only \
when you need them."""
PRICE, CACHED_PRICE = 3.0, 0.3  # dollars a million input tokens, fresh and from the cache
PREFILL = 10_000  # input tokens a second
_SIZES = (10, 30, 50, 100, 120, 300, 1_000, 3_000, 10_000)
_OUTCOME = tuple(map(Column, ("phase 1", "phase 2", "tokens/turn")))
_QUALITY = tuple(map(Column, ("recall %", "F1 %", "active", "empty %")))


def run(
    encoder: Encoder, *, catalogue: Sequence[SetTool] = (), cache: Path | None = None
) -> Report:
    """Every table over the testbed, and the main one over a real catalogue if there is one."""
    cached = CachedEncoder(encoder, cache)
    try:
        count = counter(ENCODING)
        testbed = read_testbed(count)
        bed = EmbeddedCatalogue(testbed.tools, testbed.queries, encoder=cached, counter=count)
        models = encoder.files.onnx.parents[1]
        with gateway_over(testbed.as_set, encoder=cached, counter=count, models=models) as gateway:
            searches = [gateway.search(query) for query in testbed.queries]
            searched = Outcome(
                phase1=float(gateway.menu_tokens),
                phase2=mean(f.tokens for f in searches),
                recall=100 * mean(f.listed for f in searches),
                precision=100 * sum(f.listed for f in searches) / sum(f.names for f in searches),
                active=mean(f.names for f in searches),
                empty=100 * mean(not f.names for f in searches),
            )
        curated = [i for i, name in enumerate(bed.ids) if name in testbed.curated]
        methods = baselines(bed, curated) | {
            "Toolcrib cut, same layout": bed.outcome(_routed(bed, testbed, cached), pool=True),
            "Toolcrib gateway (search)": searched,
        }
        tables = [
            _main(f"Testbed: {len(bed.ids)} tools, 6 servers, {len(bed.queries)} queries", methods),
            _published(),
            _ablations(bed),
            _thresholds(bed),
            _scaling(bed, methods),
            _cache(methods),
            _heuristics([("testbed", bed)]),
            _projections(methods),
        ]
        if catalogue:
            real = EmbeddedCatalogue(catalogue, testbed.queries, encoder=cached, counter=count)
            tables.insert(1, _real(real))
            tables[-2] = _heuristics([("testbed", bed), ("real catalogue", real)])
    finally:
        cached.close()
    return Report("paper", tuple(tables), not_adding_up())


def baselines(bed: EmbeddedCatalogue, curated: Sequence[int]) -> dict[str, Outcome]:
    """B1 to B4 and Tool Attention, all in the same serialisation."""
    everything = [list(range(len(bed.ids)))] * len(bed.queries)
    nearest = bed.gate(bed.schema_cosines, theta=-1.0, state=False)
    return {
        "B1 full schemas": bed.outcome(everything, pool=False),
        "B2 static 30": bed.outcome([list(curated)] * len(bed.queries), pool=False),
        "B3 top 10 over schemas": bed.outcome(nearest, pool=False),
        "B4 CLI, prompt only": _cli(bed),
        "Tool Attention": bed.outcome(bed.gate(), pool=True),
    }


def _routed(bed: EmbeddedCatalogue, testbed: Testbed, encoder: CachedEncoder) -> list[list[int]]:
    """Per query the tools that Toolcrib's router lets in by default."""
    place = {name: index for index, name in enumerate(bed.ids)}
    with tempfile.TemporaryDirectory(prefix="toolcrib-bench-") as folder:
        db = open_corpus(Path(folder) / "bench.db", testbed.as_set, encoder)
        try:
            router = Router.from_store(db, load_catalog(db), None, encoder)
            ranked = [router.route(query.query, limit=PAPER_K * 4) for query in bed.queries]
        finally:
            db.close()
    return [[place[tool.tool_id] for tool in one.shown] for one in ranked]


def _cli(bed: EmbeddedCatalogue) -> Outcome:
    """The prompt of every turn; what --list and --help print goes into the history instead."""
    servers = ", ".join(dict.fromkeys(tool.server for tool in bed.tools))
    tokens = counter(ENCODING).count(CLI_PROMPT.format(servers=servers))
    return Outcome(float(tokens), 0.0, recall=0.0, precision=0.0, active=0.0, empty=100.0)


def utilisation(tokens: float, *, turns: int = 1) -> float:
    """rho: the task's share of the context; `turns` > 1 adds the tools up as the paper's eq. 3."""
    return TASK / (TASK + turns * tokens + SYSTEM)


def _main(title: str, methods: dict[str, Outcome]) -> Table:
    full = methods["B1 full schemas"].tokens
    columns = [
        label("method"), *_OUTCOME, Column("less than B1 %", COMPUTED), Column("rho T30", COMPUTED),
        Column("rho by eq. 3", COMPUTED), *_QUALITY,
    ]  # fmt: skip
    rows = [
        (
            name, o.phase1, o.phase2, o.tokens, 100 * (1 - o.tokens / full), utilisation(o.tokens),
            utilisation(o.tokens, turns=TURNS), *_quality(o),
        )
        for name, o in methods.items()
    ]  # fmt: skip
    return table(title, columns, rows)


def _quality(o: Outcome) -> tuple[float | None, ...]:
    if not o.active:
        return (None, None, None, None)
    return (o.recall, o.f1, o.active, o.empty)


def _published() -> Table:
    columns = [
        label("method"), Column("tokens/turn", PUBLISHED), Column("rho T30", PUBLISHED),
        Column("task tokens that this rho implies", COMPUTED),
    ]  # fmt: skip
    rows = [(name, t, rho, implied_task_tokens(t, rho)) for name, t, rho in TABLE_3]
    return table("The paper's Table 3", columns, rows)


def _ablations(bed: EmbeddedCatalogue) -> Table:
    """Table 5, with what can be measured (recall, F1) instead of projected success."""
    words = tf_idf(bed)
    variants = {
        "full": bed.outcome(bed.gate(), pool=True),
        "- preconditions": bed.outcome(bed.gate(state=False), pool=True),
        "- lazy loading (summaries only)": bed.outcome([[] for _ in bed.queries], pool=True),
        "- summary pool": bed.outcome(bed.gate(), pool=False),
        "MiniLM -> TF-IDF": bed.outcome(bed.gate(words, theta=0.05), pool=True),
        "k = 5": bed.outcome(bed.gate(k=5), pool=True),
        "k = 20": bed.outcome(bed.gate(k=20), pool=True),
        "theta = 0.15": bed.outcome(bed.gate(theta=0.15), pool=True),
        "theta = 0.40": bed.outcome(bed.gate(theta=0.40), pool=True),
    }
    rows = [(name, o.phase1, o.phase2, o.tokens, *_quality(o)) for name, o in variants.items()]
    return table("Ablations (its Table 5)", [label("variant"), *_OUTCOME, *_QUALITY], rows)


def _thresholds(bed: EmbeddedCatalogue) -> Table:
    rows = []
    for step in range(10, 51, 2):
        o = bed.outcome(bed.gate(theta=step / 100), pool=True)
        rows.append((f"{step / 100:.2f}", o.recall, o.precision, o.f1, o.active, o.empty, o.phase2))
    names = ("recall %", "precision %", "F1 %", "active", "empty %", "phase 2")
    return table("Retrieval per theta, k = 10", [label("theta"), *map(Column, names)], rows)


def _scaling(bed: EmbeddedCatalogue, methods: dict[str, Outcome]) -> Table:
    """rho over the size of the catalogue (its Figure 5), from the testbed's mean sizes."""
    schema, summary = bed.full / len(bed.ids), bed.pool / len(bed.ids)
    promoted = methods["Tool Attention"].phase2
    gateway = methods["Toolcrib gateway (search)"].tokens
    cli = methods["B4 CLI, prompt only"].tokens
    names = ("B1 full", "B2 static 30", "B3 top 10", "B4 CLI", "Tool Attention", "Toolcrib gateway")
    rows = []
    for size in _SIZES:
        ceiling = size * schema
        tokens = (
            ceiling, min(size, 30) * schema, min(size, PAPER_K) * schema, cli,
            size * summary + min(promoted, ceiling), gateway,
        )  # fmt: skip
        rows.append((size, *(utilisation(t) for t in tokens)))
    columns = [label("tools"), *(Column(name, COMPUTED) for name in names)]
    return table("rho at turn 30 over catalogue size (its Figure 5)", columns, rows)


def _cache(methods: dict[str, Outcome]) -> Table:
    attention, gateway = methods["Tool Attention"], methods["Toolcrib gateway (search)"]
    layouts = shares(
        full=methods["B1 full schemas"].tokens,
        retrieved=methods["B3 top 10 over schemas"].tokens,
        pool=attention.phase1,
        promoted=attention.phase2,
        menu=gateway.phase1,
        answer=gateway.phase2,
    )
    published = {"B1, list changes every turn": 22.0, "Tool Attention": 84.0}
    rows = [(name, 100 * share, tokens, published.get(name)) for name, share, tokens in layouts]
    columns = [
        label("layout"), Column("prefix kept %", COMPUTED), Column("uncached tokens", COMPUTED),
        Column("paper %", PUBLISHED),
    ]  # fmt: skip
    return table(f"Prompt that stays a cacheable prefix over {TURNS} turns", columns, rows)


def _heuristics(beds: Sequence[tuple[str, EmbeddedCatalogue]]) -> Table:
    """Equation 2 and characters / 4 against real counts."""
    rows = []
    for name, bed in beds:
        characters, described = bed.characters
        count = len(bed.ids)
        low, high = (alpha * count + described / 4 for alpha in (200, 500))
        rows.append(
            (name, bed.full, bed.full / count, low, high, characters / 4, characters / bed.full)
        )
    computed = ("eq. 2, alpha 200", "eq. 2, alpha 500", "characters / 4")
    columns = [
        label("catalogue"),
        Column("tokens"),
        Column("tokens/tool"),
        *(Column(name, COMPUTED) for name in computed),
        Column("characters/token"),
    ]
    return table(f"Token heuristics against {ENCODING}", columns, rows)


def _projections(methods: dict[str, Outcome]) -> Table:
    columns = [
        label("method"),
        Column("$ per 30 turns", PROJECTED),
        Column("prefill s/turn", PROJECTED),
    ]
    rows = [
        (name, TURNS * o.tokens * PRICE / 1e6, o.tokens / PREFILL) for name, o in methods.items()
    ]
    title = (
        f"Projected: tool tokens only, nothing cached, {PRICE:g} dollars a million tokens,"
        f" {PREFILL:,} tokens a second. Task success is not projected."
    )
    return table(title, columns, rows)


def _real(bed: EmbeddedCatalogue) -> Table:
    """The same queries over a real catalogue; it has no gold labels there, so tokens only."""
    nearest = bed.gate(bed.schema_cosines, theta=-1.0, state=False)
    gated = bed.outcome(bed.gate(state=False), pool=True)
    rows = [
        ("B1 full schemas", 0.0, float(bed.full), float(bed.full)),
        ("B3 top 10 over schemas", *_phases(bed.outcome(nearest, pool=False))),
        (f"Tool Attention, theta {PAPER_THETA}", *_phases(gated)),
    ]
    title = f"Real catalogue: {len(bed.ids):,} tools, the testbed's queries"
    return table(title, [label("method"), *_OUTCOME], rows)


def _phases(o: Outcome) -> tuple[float, float, float]:
    return o.phase1, o.phase2, o.tokens
