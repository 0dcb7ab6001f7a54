"""Proposals from a simulated journal over real tools; the first is "Shown by" 2 of issue 31."""

import json
import os
from array import array
from collections.abc import Mapping
from pathlib import Path
from random import Random

import apsw
import pytest

from app.catalog.catalog import Catalog, load_catalog
from app.core.context import AppContext
from app.core.paths import Paths
from app.core.settings import Settings
from app.encoder.onnx import Encoder
from app.encoder.weights import ensure_model
from app.policy.near import near_duplicates, superseded
from app.policy.proposals import (
    DOUBLE,
    NEVER,
    RARE,
    Proposal,
    bring_back,
    budget_proposal,
    snooze,
    tool_proposals,
    without,
)
from app.policy.usage import DAY, Usage, read_usage
from app.ranking.summary import summarise
from app.ranking.views import mixed, views_of
from app.tokens.counters import counter
from app.tokens.footprint import count_tool
from store import events, put_off, servers, tools, vectors
from store.connection import transaction
from store.hashes import text_hash
from store.records import (
    EntryRecord,
    EventRecord,
    NewTool,
    Observed,
    ServerSpec,
    Summary,
    Vector,
)
from tests.app.policy.conftest import Make

NOW = 1_795_700_000.0
DATA = Path(__file__).parents[2] / "data"
REAL = ("well_known_tools.jsonl", "large_tools.jsonl")  # 119 definitions as servers send them
UNUSED = ("git/git_create_branch", "git/git_reset", "slack/slack_get_thread_replies")
COSTLY = ("google-calendar/update-event", "google-calendar/search-events")
# planted in a server of its own: another name, the same parameters, the text in other words
DOUBLES = {
    "slack/slack_post_message": ("send_message", "Send a new message into a Slack channel"),
    "filesystem/create_directory": (
        "make_directory",
        "Make a new directory, or ensure that a directory exists. Creates several nested"
        " directories at once. Only works within allowed directories.",
    ),
}


def real_tools() -> dict[str, list[Mapping[str, object]]]:
    by_server: dict[str, list[Mapping[str, object]]] = {}
    lines = [line for name in REAL for line in (DATA / name).read_text("utf-8").splitlines()]
    for line in lines:
        row = json.loads(line)
        raw = {key: row[key] for key in ("name", "description")} | {
            "inputSchema": row["input_schema"]
        }
        by_server.setdefault(row["server"], []).append(raw)
    return by_server


@pytest.fixture(scope="module")
def encoder() -> Encoder:
    """The default encoder, loaded."""
    models = Path(os.environ["TOOLCRIB_MODELS"])
    return Encoder.load(ensure_model(Paths(models.parent, models)))


@pytest.fixture
def stocked(ctx: AppContext, db: apsw.Connection, encoder: Encoder) -> Catalog:
    """The real tools and the planted doubles, counted and embedded."""
    by_server = real_tools()
    known = {f"{server}/{raw['name']}": raw for server, rows in by_server.items() for raw in rows}
    by_server["planted"] = [
        dict(known[tool]) | {"name": name, "description": text}
        for tool, (name, text) in DOUBLES.items()
    ]
    count = counter()
    with transaction(db):
        for name, rows in by_server.items():
            entry = EntryRecord("cursor", "user", "/h/mcp.json", name)
            number = servers.place(db, entry, ServerSpec("stdio", name), name=name, trusted=True)
            new = [NewTool(str(raw["name"]), dict(raw), text_hash(json.dumps(raw))) for raw in rows]
            tools.save_list(db, number, new, at=NOW - 20 * DAY)
        every = tools.tools(db)
        tools.save_token_counts(db, [count_tool(count, tool) for tool in every])
        views = [
            views_of(
                t, Summary(t.id, summarise(t.name, t.description), "made", "h"), Settings().views
            )
            for t in every
        ]
        data = mixed(encoder.encode, views)
        vectors.save(
            db,
            [
                Vector(tool.id, encoder.key, "summary", "h", one)
                for tool, one in zip(every, data, strict=True)
            ],
        )
    return load_catalog(db)


def simulate(db: apsw.Connection, catalog: Catalog, days: int) -> None:
    """A journal of so many days: each tool is called a few times, the planted ones as planted."""
    random = Random(3)
    rows = []
    for row in catalog.tools:
        tool = row.tool.tool_id
        calls = random.randint(4, 30)
        if tool in UNUSED:
            calls = 0
        elif tool in COSTLY:
            calls = random.randint(1, 2)
        elif row.server.name == "planted":
            calls = 3
        for _ in range(calls):
            at = NOW - random.random() * days * DAY
            session = f"{int((NOW - at) / DAY)}"
            rows.append(EventRecord(at, "call", host="Cursor", session=session, tool=tool))
    rows.append(EventRecord(NOW - days * DAY, "list", host="Cursor", session="first"))
    with transaction(db):
        events.add(db, rows)


def proposed(db: apsw.Connection, catalog: Catalog) -> tuple[Proposal, ...]:
    model = vectors.newest_model(db)
    return tool_proposals(catalog.tools, read_usage(db, NOW), vectors.load(db, model), NOW)


def test_proposals_name_exactly_what_was_planted_and_free_its_tokens(
    db: apsw.Connection, stocked: Catalog
) -> None:
    simulate(db, stocked, 14)
    proposals = proposed(db, stocked)
    named = {(p.kind, t.tool.tool_id) for p in proposals for t in p.tools}
    planted = {(NEVER, tool) for tool in UNUSED} | {(RARE, tool) for tool in COSTLY}
    planted |= {(DOUBLE, f"planted/{name}") for name, _text in DOUBLES.values()}
    assert named == planted
    cost = {row.tool.tool_id: row.cost for row in stocked.tools}
    assert sum(p.saves for p in proposals) == sum(cost[tool] for _kind, tool in planted)
    assert {p.key: p.saves for p in proposals if p.kind == NEVER} == {
        "never called:git": cost[UNUSED[0]] + cost[UNUSED[1]],
        "never called:slack": cost[UNUSED[2]],
    }


def test_three_days_of_the_same_journal_propose_nothing(
    db: apsw.Connection, stocked: Catalog
) -> None:
    simulate(db, stocked, 3)
    assert proposed(db, stocked) == ()


def test_a_tool_that_came_this_week_is_not_called_unused(
    db: apsw.Connection, stocked: Catalog
) -> None:
    simulate(db, stocked, 14)
    with transaction(db):
        db.execute("UPDATE tools SET first_seen = ? WHERE name = 'git_reset'", (NOW - 2 * DAY,))
    named = {t.tool.tool_id for p in proposed(db, load_catalog(db)) for t in p.tools}
    assert "git/git_reset" not in named and "git/git_create_branch" in named


def test_a_proposal_is_put_off_for_30_days_or_for_good_and_brought_back(
    db: apsw.Connection, make: Make
) -> None:
    proposal = Proposal("never called:git", NEVER, "git: 2 tools never called in 14 days", "")
    snooze(db, proposal, NOW, for_good=False)
    assert without([proposal], put_off.in_force(db, NOW + 29 * DAY)) == ()
    assert without([proposal], put_off.in_force(db, NOW + 31 * DAY)) == (proposal,)
    before = put_off.one(db, proposal.key)
    snooze(db, proposal, NOW, for_good=True)
    assert without([proposal], put_off.in_force(db, NOW + 9_999 * DAY)) == ()
    bring_back(db, proposal.key, before)
    assert put_off.one(db, proposal.key) == before
    assert bring_back(db, proposal.key)
    assert without([proposal], put_off.in_force(db, NOW)) == (proposal,)
    assert not bring_back(db, proposal.key)


MONTH = {"days": 30.0, "seen": Observed(hosts=1)}


def test_a_newer_version_or_the_tools_own_words_name_its_successor(make: Make) -> None:
    tools = [
        make("a/search"),
        make("a/search_v2"),
        make("a/read_file", description="Read a file. DEPRECATED: use read_text_file instead."),
        make("a/read_text_file"),
        make("a/legacy_list"),
        make("a/list"),
        make("b/search_v3"),
        make("b/tell", description="Tells what is deprecated in a project."),
    ]
    pairs = {(s.tool.name, k.tool.name) for s, k in superseded(tools, Usage(**MONTH))}
    assert pairs == {
        ("search", "search_v2"),
        ("read_file", "read_text_file"),
        ("legacy_list", "list"),
    }
    used = Usage(**MONTH, calls={"a/search": 5, "a/search_v2": 1, "a/legacy_list": 2})
    assert [s.tool.name for s, _kept in superseded(tools, used)] == ["read_file"]


def test_other_parameters_or_another_meaning_make_no_double(
    stocked: Catalog, db: apsw.Connection
) -> None:
    data = vectors.load(db, vectors.newest_model(db))
    pairs = near_duplicates(stocked.tools, data, Usage())
    assert {f"{s.tool.tool_id}={k.tool.tool_id}" for s, k in pairs} <= {
        name
        for tool, (n, _text) in DOUBLES.items()
        for name in (f"planted/{n}={tool}", f"{tool}=planted/{n}")
    }


def test_a_tool_that_names_its_service_is_no_double_of_one_that_does_not(make: Make) -> None:
    one = make("github/search", description="Search GitHub repositories", properties=("q",))
    other = make("gitlab/search", description="Search repositories", properties=("q",))
    same = array("f", [1.0]).tobytes()
    data = {one.tool.id: same, other.tool.id: same}
    assert near_duplicates([one, other], data, Usage()) == []
    copy = make("fork/search", description="Search GitHub repositories", properties=("q",))
    data[copy.tool.id] = same
    assert near_duplicates([one, copy], data, Usage(calls={"fork/search": 2})) == [(one, copy)]


def test_a_budget_is_judged_over_a_week_of_looks() -> None:
    missed = [(day, 24_000 + day, True) for day in range(9)]
    proposal = budget_proposal("default", 20_000, missed)
    assert proposal is not None and proposal.budget == 25_000
    assert proposal.title == (
        "The budget of default was missed on 9 of 9 days: 25,000 tokens would hold"
    )
    assert proposal.evidence == "On 9 days it was 24,000 to 24,008 tokens."
    unused = budget_proposal("default", 20_000, [(day, 3_000, False) for day in range(9)])
    assert unused is not None and unused.budget == 4_000
    assert unused.title == "The budget of default is never half used: 4,000 tokens are enough"
    assert budget_proposal("default", 20_000, missed[:4]) is None
    assert budget_proposal("default", 20_000, missed[:6]) is None  # not a week yet
    assert budget_proposal("default", 20_000, [(d, 15_000, False) for d in range(9)]) is None


def test_nothing_is_proposed_twice_and_pinned_tools_stay(make: Make) -> None:
    same = {"description": "Read a file from disk and return its text", "properties": ("path",)}
    tools = [
        make("a/read", 300, **same),
        make("b/read", 290, **same),
        make("c/pinned", pinned=True),
        make("c/used"),
    ]
    usage = Usage(**MONTH, calls={"a/read": 30, "c/used": 9})
    proposals = tool_proposals(tools, usage, {}, NOW)
    assert [(p.kind, [t.tool.tool_id for t in p.tools]) for p in proposals] == [
        (DOUBLE, ["b/read"])
    ]
    assert proposals[0].title == "b/read: the same as a/read"
    assert proposals[0].evidence == "Called 0 times; a/read 30 times."
