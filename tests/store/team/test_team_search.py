"""Candidates of a team's search: each scope finds its own nearest, and nothing that is closed."""

import json
import os
import random
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import numpy as np
import psycopg
import pytest
from psycopg import sql

from app.core.paths import Paths
from app.encoder.onnx import Encoder
from app.encoder.weights import ensure_model
from app.ranking.text import split_name
from store.team import members, organisations, search, servers, tools
from store.team import upkeep as upkeep_module
from store.team.connecting import as_member, as_owner
from store.team.records import NewRequest, NewServer, NewTool
from store.team.upkeep import analyse, build_indexes, upkeep
from store.team.words import Tokens, frequencies, stems_of
from tests.fakes.team_kit import copy_vectors, unit, variants

WELL_KNOWN = Path(__file__).parents[2] / "data" / "well_known_tools.jsonl"
MODEL = "m"
COUNT = 8_000
SHARES = {"half": 0.5, "twentieth": 0.05, "hundredth": 0.01, "thousandth": 0.001}
K = 20


@pytest.fixture(scope="module")
def encoder() -> Encoder:
    models = Path(os.environ["TOOLCRIB_MODELS"])
    return Encoder.load(ensure_model(Paths(models.parent, models)))


@pytest.fixture(scope="module")
def real_vectors(encoder: Encoder) -> np.ndarray:
    """Vectors of 116 well-known tools."""
    rows = [json.loads(line) for line in WELL_KNOWN.read_text(encoding="utf-8").splitlines()]
    return encoder.encode([f"{split_name(r['name'])}: {r['description']}" for r in rows])


def test_every_size_of_scope_finds_its_true_neighbours(pool, real_vectors, monkeypatch) -> None:
    """Recall against numpy for scopes of 50, 5, 1 and .1 %, with an HNSW index over all.

    Left to the planner, or to the index alone, the smallest scopes find least, without an error.
    """
    monkeypatch.setattr(search, "EXACT", 1_000)
    vectors = variants(real_vectors, COUNT, seed=1)
    own: dict[str, np.ndarray] = {}
    ids: dict[str, list[int]] = {}
    with as_owner(pool) as db:
        organisation = organisations.create(db, "scopes").id
        editor = members.add(db, organisation, "all", "editor")
        people = {n: members.add(db, organisation, n, groups=(n,)) for n in SHARES}
        start = 0
        for name, share in SHARES.items():
            own[name] = vectors[start : start + round(COUNT * share)]
            start += len(own[name])
        own["rest"] = vectors[start:]
        for name, rows in own.items():
            server = NewServer(name, "stdio", grants=(f"group:{name}",))
            ids[name] = copy_vectors(db, organisation, server, rows, MODEL)
    with upkeep(pool.conninfo) as db:
        analyse(db)
        assert build_indexes(db, organisation) == 1
    queries = variants(real_vectors, 25, seed=2)
    own["all"] = np.concatenate(list(own.values()))
    ids["all"] = [id_ for some in list(ids.values()) for id_ in some]
    plans, recall = {}, {}
    for name, who in {**people, "all": editor}.items():
        with as_member(pool, who) as db:
            seen = search.visible(db, organisation)
            assert seen.vectors.seen == len(own[name])
            plans[name] = search.uses_exact(seen.vectors)
            hits = 0
            for query in queries:
                near = search.nearest(db, seen, MODEL, query.tobytes(), k=K)
                best = np.argsort(-(own[name] @ query))[:K]
                true = {ids[name][place] for place in best}
                assert near.keys() <= set(ids[name])
                hits += len(true & near.keys()) / len(true)
            recall[name] = hits / len(queries)
    assert plans == {"half": False, "all": False, "twentieth": True, "hundredth": True,
                     "thousandth": True}  # fmt: skip
    assert min(recall.values()) >= 0.99, recall


def test_the_index_is_used_only_where_it_was_chosen(pool, real_vectors, monkeypatch) -> None:
    monkeypatch.setattr(search, "EXACT", 500)
    with as_owner(pool) as db:
        organisation = organisations.create(db, "plans").id
        member = members.add(db, organisation, "ada")
        copy_vectors(
            db, organisation, NewServer("s", "stdio"), variants(real_vectors, 2_000, seed=3), MODEL
        )
    with upkeep(pool.conninfo) as db:
        build_indexes(db, organisation)
    scans = "SELECT coalesce(idx_scan, 0) FROM pg_stat_user_indexes WHERE indexrelname = %s"
    name = search.index_name(search.TOOLS, organisation, 0, 1)

    def scanned() -> int:
        with psycopg.connect(pool.conninfo) as db:
            return db.execute(scans, (name,)).fetchone()[0]

    def nearest() -> None:
        with as_member(pool, member) as db:
            seen = search.visible(db, organisation)
            assert len(search.nearest(db, seen, MODEL, unit(1), k=5)) == 5
            db.execute("SELECT pg_stat_force_next_flush()")

    nearest()
    used = scanned()
    assert used == 1
    monkeypatch.setattr(search, "EXACT", 20_000)
    nearest()
    assert scanned() == used


def test_the_planner_takes_the_index_wherever_it_was_chosen(
    pool, real_vectors, monkeypatch
) -> None:
    """Of few rows a sort costs least; the plan is what was chosen, before statistics too."""
    monkeypatch.setattr(search, "EXACT", 50)
    with as_owner(pool) as db:
        organisation = organisations.create(db, "planner").id
        people = [
            members.add(db, organisation, "ada"),
            members.add(db, organisation, "eve", "editor"),
        ]
        for name, grant in {"own": "organisation", "apart": "role:editor"}.items():
            server = NewServer(name, "stdio", grants=(grant,))
            copy_vectors(db, organisation, server, variants(real_vectors, 60, seed=3), MODEL)
    with upkeep(pool.conninfo) as db:
        build_indexes(db, organisation)
    for who in people:
        with as_member(pool, who) as db:
            wanted = search.Nearest(search.TOOLS, organisation, MODEL, unit(1), 5)
            counted = search.visible(db, organisation).vectors
            for exact in (False, True):
                statement, values = wanted.statement(parts=0 if exact else 1)
                with nullcontext() if exact else search.index_scan(db, counted):
                    plan = db.execute(sql.SQL("EXPLAIN ") + statement, values).fetchall()
                used = search.index_name(search.TOOLS, organisation, 0, 1) in str(plan)
                assert used is not exact, plan
            assert db.execute("SHOW enable_sort").fetchone() == ("on",)


def test_requests_have_an_index_of_their_own(pool, real_vectors, monkeypatch) -> None:
    monkeypatch.setattr(search, "EXACT", 50)
    vectors = variants(real_vectors, 80, seed=5)
    with as_owner(pool) as db:
        organisation = organisations.create(db, "requests").id
        member = members.add(db, organisation, "ada")
        server = servers.save(db, organisation, NewServer("s", "stdio"))
        asked_for = [
            NewRequest(f"please {n}", "pack", "h", {MODEL: row.tobytes()})
            for n, row in enumerate(vectors)
        ]
        ids = tools.save(
            db,
            organisation,
            server,
            [tool(f"t{n}", requests=asked_for[n::4]) for n in range(4)],
        )
    with upkeep(pool.conninfo) as db:
        assert build_indexes(db, organisation) == 1
    with as_member(pool, member) as db:
        seen = search.visible(db, organisation)
        assert (seen.requests.seen, seen.requests.indexed, seen.vectors.indexed) == (
            80,
            True,
            False,
        )
        for n in range(0, 80, 7):
            near = search.nearest_by_request(db, seen, MODEL, vectors[n].tobytes(), k=3)
            assert near[0] == ids[n % 4]


def test_a_large_organisation_s_index_is_in_parts_which_come_and_go_together(
    pool, real_vectors, monkeypatch
) -> None:
    """Each part is read and the nearest of all are found; none is used until all are there."""
    monkeypatch.setattr(search, "EXACT", 50)
    vectors = variants(real_vectors, 1_200, seed=6)
    with as_owner(pool) as db:
        organisation = organisations.create(db, "parts").id
        member = members.add(db, organisation, "ada")
        ids = copy_vectors(db, organisation, NewServer("s", "stdio"), vectors, MODEL)

    def parts() -> int:
        with as_member(pool, member) as db:
            seen = search.visible(db, organisation)
            query = vectors[7].tobytes()
            near = search.nearest(db, seen, MODEL, query, k=K)
            best = np.argsort(-(vectors @ vectors[7]))[:K]
            assert set(near) == {ids[place] for place in best}
            assert list(near.values()) == sorted(near.values(), reverse=True)
            if seen.vectors.indexed:
                statement, values = search.Nearest(
                    search.TOOLS, organisation, MODEL, query, K
                ).statement(parts=seen.vectors.parts)
                with search.index_scan(db, seen.vectors):
                    plan = str(db.execute(sql.SQL("EXPLAIN ") + statement, values).fetchall())
                assert "Merge Append" not in plan and "Incremental Sort" not in plan
                for part in range(seen.vectors.parts):
                    name = search.index_name(search.TOOLS, organisation, part, seen.vectors.parts)
                    assert plan.count(f"using {name} ") == 1, plan
            return seen.vectors.parts

    def names() -> list[str]:
        with as_owner(pool) as db:
            like = f"^tool_vectors_near_{organisation}_"
            rows = db.execute("SELECT relname FROM pg_class WHERE relname ~ %s", (like,))
            return sorted(row[0] for row in rows.fetchall())

    # as many as there are while those hold about the right number of rows
    for size, count in ((5_000, 1), (700, 2), (400, 2), (300, 4), (150, 8), (700, 2)):
        monkeypatch.setattr(upkeep_module, "PART", size)
        with upkeep(pool.conninfo) as db:
            assert build_indexes(db, organisation) == 1
        assert parts() == count and len(names()) == count
    with upkeep(pool.conninfo) as db:
        db.execute(
            "UPDATE pg_index SET indisvalid = false WHERE indexrelid = to_regclass(%s)",
            (f"toolcrib.{search.index_name(search.TOOLS, organisation, 1, 2)}",),
        )
        assert parts() == 0
        assert build_indexes(db, organisation) == 1
        assert parts() == 2 and len(names()) == 2


def test_an_organisation_that_shrinks_loses_its_index(pool, real_vectors, monkeypatch) -> None:
    monkeypatch.setattr(search, "EXACT", 50)
    with as_owner(pool) as db:
        organisation = organisations.create(db, "shrinks").id
        member = members.add(db, organisation, "ada")
        server = NewServer("s", "stdio")
        copy_vectors(db, organisation, server, variants(real_vectors, 60, seed=3), MODEL)

    def indexed() -> bool:
        with as_member(pool, member) as db:
            return search.visible(db, organisation).vectors.indexed

    with upkeep(pool.conninfo) as db:
        assert build_indexes(db, organisation) == 1
        assert build_indexes(db, organisation) == 1
        assert indexed()
        # as one whose building was ended: it must neither be used nor be taken for done
        name = search.index_name(search.TOOLS, organisation, 0, 1)
        db.execute(
            "UPDATE pg_index SET indisvalid = false WHERE indexrelid = to_regclass(%s)",
            (f"toolcrib.{name}",),
        )
        assert not indexed()
        assert build_indexes(db, organisation) == 1
        assert indexed()
    with as_owner(pool) as db:
        tools.save(db, organisation, servers.named(db, organisation, "s").id, [])
    with upkeep(pool.conninfo) as db:
        assert build_indexes(db, organisation) == 0
    assert not indexed()


def tool(name: str, **more) -> NewTool:
    words, length = Tokens().literal((0, name, f"does {name}", "", "s", ""))
    return NewTool(
        name, {"name": name}, "h", name, 1, words, length,
        vectors={MODEL: ("t", unit(len(name)))}, vocabulary=(name,), **more,
    )  # fmt: skip


def test_what_is_held_changed_broken_or_off_is_no_candidate(pool, make_team) -> None:
    team = make_team("a")
    new = [
        tool("good"),
        tool("held", held=True),
        tool("changed", trusted_hash="another"),
        tool("broken", problem="no"),
        tool("unticked"),
    ]
    with as_member(pool, team.editor) as db:
        server = servers.save(db, team.id, NewServer("s", "stdio"))
        ids = dict(zip((t.name for t in new), tools.save(db, team.id, server, new), strict=True))
        other = servers.save(db, team.id, NewServer("off", "stdio"))
        tools.save(db, team.id, other, [tool("sleeping")])
        servers.set_enabled(db, team.id, other, enabled=False)
    with as_member(pool, team.member) as db:
        seen = search.visible(db, team.id)

        def candidates(within: search.Limits) -> tuple[set[int], set[int]]:
            near = search.nearest(db, seen, MODEL, unit(4), k=50, within=within)
            weights = dict.fromkeys(("doe", "good"), 1.0)
            by_words = search.matching(
                db, weights, named=2.0, mean_length=3.0, most=50, apart=within.apart
            )
            return set(near), {match.tool_id for match in by_words}

        usual = search.limits(db, team.id, off=["s/unticked"])
        assert candidates(usual) == ({ids["good"]}, {ids["good"]})
        without_profile = search.limits(db, team.id)
        assert candidates(without_profile)[0] == {ids["good"], ids["unticked"]}


def test_words_keep_their_fields_and_counts() -> None:
    tokens = Tokens()
    row = (1, "list files", "Lists the files of a folder, files only", "path", "files", "list it")
    literal, length = tokens.literal(row)
    assert length == len(tokens.of(" ".join(map(str, row[1:]))))
    places = dict(part.rsplit(":", 1) for part in literal.split())
    numbers = [int(at[:-1]) for at in places["'file'"].split(",")]
    assert frequencies(numbers) == [1, 2, 0, 1, 0]
    assert stems_of([literal, literal])["list"] == 2


@pytest.mark.parametrize("text", ["it's", "back\\slash", "naïve café", "名前 ツール", "a" * 300])
def test_words_of_any_text_are_a_tsvector(pool, text: str) -> None:
    literal, _ = Tokens().literal((1, text, text, "", "", text))
    with as_owner(pool) as db:
        assert db.execute("SELECT %s::tsvector IS NOT NULL", (literal,)).fetchone() == (True,)


def test_slips_are_looked_up_among_words_that_the_caller_sees(pool, make_team) -> None:
    team = make_team("a")
    with as_member(pool, team.editor) as db:
        for name, grants in {"open": ("organisation",), "closed": ("role:editor",)}.items():
            id_ = servers.save(db, team.id, NewServer(name, "stdio", grants=grants))
            tools.save(db, team.id, id_, [tool(f"calendar{name}")])
    with as_member(pool, team.member) as db:
        assert search.like_words(db, team.id, "calendaropen", least=5, most=20) == {
            "calendaropen": 1
        }
        assert search.holders(db, team.id, ["calendarclos", "calendaropen", "doe"]) == {
            "calendaropen": 1, "doe": 1,
        }  # fmt: skip


def test_words_are_summed_by_scope_whatever_happens_to_servers(pool, make_team) -> None:
    """Sums are those of the servers' rows after saves, moves between scopes and deletions."""
    team, rng = make_team("a"), random.Random(1)
    grants = (("organisation",), ("role:editor",), ("group:ops",))
    names = ("alpha", "beta", "gamma", "delta")
    for _ in range(30):
        with as_member(pool, team.editor) as db:
            server = NewServer(f"s{rng.randint(0, 3)}", "stdio", grants=rng.choice(grants))
            id_ = servers.save(db, team.id, server)
            step = rng.random()
            if step < 0.6:
                new = [tool(name) for name in rng.sample(names, rng.randint(0, 4))]
                tools.save(db, team.id, id_, new)
            elif step < 0.8:
                servers.set_grants(db, team.id, id_, rng.choice(grants))
            else:
                servers.delete(db, team.id, id_)
        with as_owner(pool) as db:
            for table, word, number in (
                ("vocabulary", "word", "count"),
                ("stems", "stem", "tools"),
            ):
                summed = db.execute(
                    f"SELECT scope_id, {word}, sum({number}) FROM {table}"
                    " WHERE organisation_id = %s GROUP BY 1, 2 ORDER BY 1, 2",
                    (team.id,),
                ).fetchall()
                kept = db.execute(
                    f"SELECT scope_id, {word}, {number} FROM scope_{table}"
                    " WHERE organisation_id = %s ORDER BY 1, 2",
                    (team.id,),
                ).fetchall()
                assert kept == summed


def test_words_are_found_alike_by_scope_and_by_reading_all_of_the_caller_s_tools(
    pool, make_team, monkeypatch
) -> None:
    """Few and many scopes, an allowlist, tools apart: matching() finds what Python finds."""
    team, rng = make_team("a"), random.Random(3)
    words = ("alpha", "beta", "gamma", "delta", "epsilon")
    grants = ["organisation", "role:editor", *(f"group:g{n}" for n in range(120))]
    named: dict[str, int] = {}
    with as_member(pool, team.editor) as db:
        for at, grant in enumerate(grants):
            server = NewServer(f"s{at}", "stdio", grants=(grant,))
            chosen = sorted(set(rng.choices(words, k=3)))
            for name, id_ in zip(chosen, tools.save(
                db, team.id, servers.save(db, team.id, server), [tool(n) for n in chosen]
            ), strict=True):  # fmt: skip
                named[f"s{at}/{name}"] = id_
    with as_owner(pool) as db:
        groups = [f"g{n}" for n in range(0, 120, 3)]
        few = members.add(db, team.id, "few", groups=groups)
    agent = replace(few, allow=("s5/*", "s8/*", "s11/alpha"))
    for who, sees in {
        team.editor: lambda _at: True,
        few: lambda at: at == 0 or (at >= 2 and (at - 2) % 3 == 0),
        agent: lambda at: at in (5, 8, 11),
    }.items():
        true = {
            id_ for name, id_ in named.items()
            if sees(int(name[1:].partition("/")[0])) and name.endswith(("/alpha", "/delta"))
            and not (who is agent and name == "s11/delta")
        }  # fmt: skip
        apart = sorted(true)[:1]
        with as_member(pool, who) as db:
            stems = [Tokens().of(word)[0] for word in ("alpha", "delta")]
            found = search.matching(
                db, dict.fromkeys(stems, 1.0), named=2.0, mean_length=3.0, most=500, apart=apart
            )
        assert {match.tool_id for match in found} == true - set(apart)
        assert len(found) == len(true) - 1 and (who is agent or len(true) > 20)


def test_a_search_by_words_reads_no_tool_that_the_caller_does_not_see(pool, make_team) -> None:
    """Rows of a common word in another scope cost a caller nothing: the index knows scopes."""
    team = make_team("a")
    literal, _ = Tokens().literal((0, "name", "common word", "", "s", ""))
    with as_member(pool, team.editor) as db:
        for name, grant, count in (("open", "organisation", 40), ("closed", "role:editor", 9_000)):
            server = servers.save(db, team.id, NewServer(name, "stdio", grants=(grant,)))
            db.execute(
                "INSERT INTO tools (organisation_id, server_id, scope_id, tool_id, name, raw, hash,"
                " summary, words, length) SELECT s.organisation_id, s.id, s.scope_id,"
                " s.name || '/' || n, n, '{}', '', repeat('x', 500), %s::tsvector, 3"
                " FROM servers s, generate_series(1, %s) n WHERE s.id = %s",
                (literal, count, server),
            )
    with upkeep(pool.conninfo) as db:
        analyse(db)

    reads = (
        "SELECT pg_stat_get_xact_numscans('tools_by_scope_and_words'::regclass),"
        " pg_stat_get_xact_tuples_returned('tools'::regclass)"
        " + pg_stat_get_xact_tuples_fetched('tools'::regclass)"
    )
    with as_member(pool, team.member) as db:
        weights = {"common": 1.0, "word": 1.0}
        before = db.execute(reads).fetchone()
        found = search.matching(db, weights, named=2.0, mean_length=3.0, most=100)
        after = db.execute(reads).fetchone()
    assert len(found) == 40
    assert after[0] - before[0] == 1, (before, after)
    assert after[1] - before[1] <= 120  # the 40, and once more for their words
