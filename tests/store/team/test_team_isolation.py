"""No call of any member, over random organisations, returns a row that is another's.

The same with every WHERE of ours taken out: row-level security alone keeps them apart.
"""

import random
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from fnmatch import fnmatchcase

import psycopg
import pytest
from psycopg import sql

from store.team import (
    audit,
    blobs,
    changes,
    labels,
    members,
    organisations,
    policies,
    profiles,
    reviews,
    search,
    servers,
    tokens,
    tools,
    upstream_secrets,
    use,
)
from store.team.connecting import Connection, as_member, as_owner
from store.team.records import Finding, Member, NewServer
from tests.fakes.team_kit import unit
from tests.fakes.team_tenants import MARK, MODEL, TODAY, Tenant, fill, made

SEED = 20_261_126
ORGANISATIONS = 120
CALLS = 1_500


Call = Callable[[Connection, Tenant, Tenant], object]


def seen(db: Connection, tenant: Tenant) -> search.Visible:
    return search.visible(db, tenant.id)


# ruff: noqa: E501 - a table of calls
# every function that reads, aimed at another organisation `o` (its ids, its names)
READS: dict[str, Call] = {
    "organisations.find": lambda db, me, o: organisations.find(db, o.mark),
    "organisations.get": lambda db, me, o: organisations.get(db, o.id),
    "organisations.every": lambda db, me, o: organisations.every(db),
    "members.every": lambda db, me, o: members.every(db, o.id),
    "members.named": lambda db, me, o: members.named(db, o.id, f"{o.mark} 0"),
    "members.seeing": lambda db, me, o: members.seeing(db, o.id, ["organisation"]),
    "tokens.of_member": lambda db, me, o: tokens.of_member(db, o.people[0].member_id),
    "servers.every": lambda db, me, o: servers.every(db, o.id),
    "servers.some": lambda db, me, o: servers.some(db, o.id, o.server_ids),
    "servers.named": lambda db, me, o: servers.named(db, o.id, f"{o.mark}0"),
    "tools.every": lambda db, me, o: tools.every(db, o.id),
    "tools.counts": lambda db, me, o: list(tools.counts(db, o.id).items()),
    "tools.some": lambda db, me, o: tools.some(db, o.id, list(o.tool_ids)),
    "tools.named": lambda db, me, o: tools.named(db, o.id, f"{o.mark}0/t0"),
    "tools.vectors": lambda db, me, o: tools.vectors(db, o.id, MODEL, list(o.tool_ids)),
    "tools.requests": lambda db, me, o: tools.requests(db, o.id, list(o.tool_ids)),
    "reviews.findings": lambda db, me, o: reviews.findings(db, o.id, list(o.tool_ids)),
    "reviews.decisions": lambda db, me, o: reviews.decisions(db, o.id, list(range(1, 2_000))),
    "profiles.every": lambda db, me, o: profiles.every(db, o.id),
    "profiles.some": lambda db, me, o: profiles.some(db, o.id, list(range(1, 2_000))),
    "profiles.named": lambda db, me, o: profiles.named(db, o.id, f"{o.mark}-0"),
    "policies.every": lambda db, me, o: policies.every(db, o.id),
    "policies.named": lambda db, me, o: policies.named(db, o.id, o.mark),
    "labels.every": lambda db, me, o: labels.every(db, o.id),
    "labels.expected": lambda db, me, o: labels.expected(db, o.id, "same words"),
    "use.since": lambda db, me, o: use.since(db, o.id, TODAY),
    "upstream_secrets.load": lambda db, me, o: upstream_secrets.load(db, o.id, o.server_ids[0]),
    "blobs.load": lambda db, me, o: blobs.load(db, o.id, "other"),
    "blobs.fingerprints": lambda db, me, o: blobs.fingerprints(db, o.id),
    "audit.since": lambda db, me, o: audit.since(db, o.id),
    "search.cosines": lambda db, me, o: [
        pair
        for table in (search.TOOLS, search.REQUESTS)
        for pair in search.cosines(
            db, o.id, MODEL, unit(1), list(o.tool_ids), table=table
        ).items()
    ],
    "search.nearest": lambda db, me, o: search.nearest(db, seen(db, me), MODEL, unit(1), k=500),
    "search.nearest_by_request": lambda db, me, o: search.nearest_by_request(
        db, seen(db, me), MODEL, unit(1), k=500
    ),
    "search.matching": lambda db, me, o: search.matching(
        db, {"common": 1.0, o.mark: 1.0}, named=2.0, mean_length=5, most=900
    ),
    "search.word_matches": lambda db, me, o: search.word_matches(
        db, o.id, ["common"], list(o.tool_ids)
    ),
    "search.server_cosines": lambda db, me, o: search.server_cosines(
        db, o.id, unit(1), o.server_ids
    ),
    "search.like_words": lambda db, me, o: search.like_words(db, o.id, "commo", least=3, most=40),
    "search.limits": lambda db, me, o: search.limits(
        db, o.id, off=list(o.tool_ids.values()), allowlist=True
    ),
    "changes.since": lambda db, me, o: changes.since(db, o.id, 0),
}  # fmt: skip
# reads whose rows do not depend on the organisation that they are aimed at
OF_CALLER = {
    "organisations.every", "search.nearest", "search.nearest_by_request", "search.matching",
    "search.limits",
}  # fmt: skip
# reads by the other's own numbers: without our conditions too they find nothing at all
BY_NUMBER = {
    "servers.some", "tools.some", "tools.vectors", "tools.requests", "reviews.findings",
    "search.cosines", "search.word_matches", "search.server_cosines", "tokens.of_member",
}  # fmt: skip
# numbers of the whole organisation that a row's id or count may be part of
COUNTS: dict[str, Call] = {
    "tools.count": lambda db, me, o: tools.count(db, o.id),
    "changes.last": lambda db, me, o: changes.last(db, o.id),
    "search.visible": lambda db, me, o: search.visible(db, o.id).vectors.every,
    "search.holders": lambda db, me, o: sum(search.holders(db, o.id, ["common", "file"]).values()),
}
# every function that writes, aimed at another organisation
WRITES: dict[str, Call] = {
    "organisations.create": lambda db, me, o: organisations.create(db, "mine now"),
    "organisations.remove": lambda db, me, o: organisations.remove(db, o.id),
    "members.add": lambda db, me, o: members.add(db, o.id, "intruder", "admin"),
    "members.set_role": lambda db, me, o: members.set_role(db, o.id, o.people[-1].member_id, "admin"),
    "members.set_groups": lambda db, me, o: members.set_groups(db, o.id, o.people[0].member_id, ["x"]),
    "members.remove": lambda db, me, o: members.remove(db, o.id, o.people[0].member_id),
    "tokens.issue": lambda db, me, o: tokens.issue(db, o.people[0], "mine"),
    "tokens.revoke": lambda db, me, o: any(tokens.revoke(db, id_) for id_ in range(1, 600)
                                           if id_ not in own_tokens(db, me)),
    "servers.scope": lambda db, me, o: servers.scope(db, o.id, ("new",)),
    "servers.save": lambda db, me, o: servers.save(db, o.id, NewServer("new", "stdio")),
    "servers.set_enabled": lambda db, me, o: servers.set_enabled(db, o.id, o.server_ids[0], enabled=False),
    "servers.set_grants": lambda db, me, o: servers.set_grants(db, o.id, o.server_ids[0], ("organisation",)),
    "servers.delete": lambda db, me, o: servers.delete(db, o.id, o.server_ids[0]),
    "tools.save": lambda db, me, o: tools.save(db, o.id, o.server_ids[0], [made(random.Random(1), me, "x", 9)]),
    "reviews.save_findings": lambda db, me, o: reviews.save_findings(
        db, o.id, next(iter(o.tool_ids)), [Finding(0, "new", "info", "", "")]),
    "reviews.decide": lambda db, me, o: reviews.decide(
        db, o.id, next(iter(o.tool_ids)), "kept", hash_=f"{o.mark}0", member_id=1),
    "profiles.save": lambda db, me, o: profiles.save(db, o.id, f"{o.mark}-0", {}, []),
    "profiles.delete": lambda db, me, o: any(profiles.delete(db, o.id, id_) for id_ in range(1, 300)),
    "policies.save": lambda db, me, o: policies.save(db, o.id, o.mark, "mine"),
    "policies.delete": lambda db, me, o: any(policies.delete(db, o.id, id_) for id_ in range(1, 200)),
    "labels.add": lambda db, me, o: labels.add(db, o.people[0], "q", ["a/b"], words="q"),
    "labels.delete": lambda db, me, o: any(labels.delete(db, o.id, id_) for id_ in range(1, 400)),
    "use.count": lambda db, me, o: use.count(db, o.people[0], [(TODAY, "call", "a/b", 1)]),
    "upstream_secrets.save": lambda db, me, o: upstream_secrets.save(
        db, o.id, o.server_ids[0], b"mine", key_name="k"),
    "upstream_secrets.delete": lambda db, me, o: upstream_secrets.delete(db, o.id, o.server_ids[0]),
    "blobs.save": lambda db, me, o: blobs.save(db, o.id, "other", fingerprint="", data=b""),
}  # fmt: skip


def own_tokens(db: Connection, me: Tenant) -> set[int]:
    return {row.id for who in me.people for row in tokens.of_member(db, who.member_id)}


@pytest.fixture(scope="module")
def tenants(pool) -> list[Tenant]:
    rng = random.Random(SEED)
    with as_owner(pool) as db:
        return [fill(db, rng, number) for number in range(ORGANISATIONS)]


def callers(
    tenants: list[Tenant], count: int, seed: int
) -> Iterator[tuple[Tenant, Tenant, Member]]:
    """Random pairs of organisations with a member of the first, some with an agent's allowlist."""
    rng = random.Random(seed)
    for _ in range(count):
        mine, other = rng.sample(tenants, 2)
        who = rng.choice(mine.people)
        allow = rng.choice([None, None, (f"{mine.mark}0/*",), ("*/t1",), ("nothing",), ()])
        yield (
            mine,
            other,
            Member(who.organisation_id, who.member_id, who.role, who.name, who.groups, allow),
        )


def check_own(mine: Tenant, who: Member, rows: object, name: str) -> None:
    """Nothing of another's; of one's own only what grants and the allowlist open."""
    marks = {int(number) for number in MARK.findall(str(rows))}
    assert marks <= {mine.number}, (name, who)


def check_tools(mine: Tenant, who: Member, ids: set[int], name: str) -> None:
    for id_ in ids:
        tool_id = mine.tool_ids.get(id_)
        assert tool_id is not None, (name, "another's tool", id_)
        assert mine.sees(who, tool_id.split("/")[0]), (name, who, tool_id)
        if who.allow is not None and name != "search.nearest":
            assert any(fnmatchcase(tool_id, pattern) for pattern in who.allow), (name, tool_id)


def test_every_function_of_the_store_is_called_here() -> None:
    """A function that is added to the store is added to this test."""
    modules = (
        audit, blobs, changes, labels, members, organisations, policies, profiles, reviews,
        search, servers, tokens, tools, upstream_secrets, use,
    )  # fmt: skip
    named = {
        f"{module.__name__.rpartition('.')[2]}.{name}"
        for module in modules
        for name, value in vars(module).items()
        if callable(value) and getattr(value, "__module__", "") == module.__name__
        and not name.startswith("_") and not isinstance(value, type)
    }  # fmt: skip
    of_operator = {
        "members.of_subject", "tokens.holder", "tokens.digest",
        "search.built_parts", "search.in_part", "search.index_name", "search.index_scan",
        "search.uses_exact", "tools.half",
        "tokens.note_use", "servers.save_vectors", "tools.refresh_mean",
    }  # fmt: skip
    assert named - of_operator == READS.keys() | COUNTS.keys() | WRITES.keys()


def test_random_reads_return_nothing_of_anothers(pool, tenants) -> None:
    names = sorted(READS)
    for at, (mine, other, who) in enumerate(callers(tenants, CALLS, SEED + 1)):
        with as_member(pool, who) as db:
            name = names[at % len(names)]
            rows = READS[name](db, mine, other)
            check_own(mine, who, rows, name)
            assert name in OF_CALLER or not rows, (name, who)  # numbers hold no mark
            own = READS[name](db, mine, mine)
            check_own(mine, who, own, name)
            if name in ("tools.every", "tools.some"):
                check_tools(mine, who, {tool.id for tool in own}, name)
            if name == "search.nearest":
                check_tools(mine, who, set(own), name)
            if name in ("search.matching", "search.word_matches"):
                check_tools(mine, who, {match.tool_id for match in own}, name)
            if at % 10 == 0:
                for count in COUNTS.values():
                    assert count(db, mine, other) == 0


def test_the_reads_are_well_aimed(pool, tenants) -> None:
    """Of the operator, whom nothing is hidden from, each brings something of the other."""
    mine, other = tenants[0], tenants[1]
    bound = {"search.nearest", "search.nearest_by_request", "search.matching", "changes.since",
             "search.limits", "search.like_words"}  # fmt: skip
    with as_owner(pool) as db:
        for name in sorted(READS.keys() - bound):
            rows = READS[name](db, mine, other)
            assert rows, name


class Careless:
    """A connection on which our statements have lost their conditions of organisation and scope."""

    def __init__(self, db: Connection) -> None:
        self._db = db

    def execute(self, statement: object, values: object = None) -> object:
        text = statement.decode() if isinstance(statement, bytes) else statement
        text = text if isinstance(text, str) else text.as_string(self._db)
        return self._db.execute(careless(text), values)


def careless(text: str) -> str:
    """A statement without conditions on organisation, scope and allowlist."""
    text = re.sub(r"(\w+\.)?organisation_id = (%\(organisation\)s|\d+)", "true", text)
    text = re.sub(r"o\.id = %\(organisation\)s", "true", text)
    return re.sub(
        r"(\w+\.)?scope_id = ANY\(\(SELECT toolcrib.scopes\(\)\)::bigint\[\]\)", "true", text
    )


def test_our_functions_without_their_conditions_return_nothing_of_anothers(pool, tenants) -> None:
    definition = "SELECT pg_get_functiondef('toolcrib.matching'::regproc)"
    with as_owner(pool) as db:
        (matching,) = db.execute(definition).fetchone()
    start, end = matching.index("WHERE t.organisation_id"), matching.index("AND t.id <> ALL")
    bare = f"{matching[:start]}WHERE true {matching[end:]}"
    names = sorted(READS)
    reached_words = 0
    for at, (mine, other, who) in enumerate(callers(tenants, 20 * len(names), SEED + 4)):
        name = names[at % len(names)]
        try:
            with as_member(pool, who) as db:
                if name == "search.matching":
                    db.execute("RESET ROLE")
                    db.execute(bare)
                    db.execute("SET LOCAL ROLE toolcrib_member")
                rows = READS[name](Careless(db), mine, other)
                check_own(mine, who, rows, name)
                assert name not in BY_NUMBER or not rows, (name, who)
                if name in ("search.matching", "search.word_matches"):
                    reached_words += len(rows)
                    check_tools(mine, who, {match.tool_id for match in rows}, name)
                raise RollBackError
        except RollBackError:
            pass
    assert reached_words


class RollBackError(Exception):
    """Ends a transaction whose effect was looked at."""


TABLES = (
    "organisations", "members", "tokens", "scopes", "servers", "tools", "tool_vectors", "requests",
    "request_vectors", "vocabulary", "stems",
    "scope_vocabulary", "scope_stems", "findings", "decisions", "profiles", "profile_tools",
    "policies", "labels", "use", "upstream_secrets", "blobs", "audit", "cursors",
    "changes",
)  # fmt: skip


def test_writes_at_anothers_rows_reach_none(pool, tenants) -> None:
    """Each write at another organisation is refused or finds nothing; the database says so."""
    for name, write in sorted(WRITES.items()):
        for mine, other, who in callers(tenants, 6, len(name)):
            with as_owner(pool) as db:
                before = rows_of(db, other)
            changed = None
            try:
                with as_member(pool, who) as db:
                    write(db, mine, other)
                    db.execute("RESET ROLE")
                    changed = reached(db, other, before)
                    raise RollBackError
            except (psycopg.errors.InsufficientPrivilege, psycopg.errors.ForeignKeyViolation):
                pass
            except (psycopg.errors.UniqueViolation, LookupError, RollBackError):
                pass
            assert not changed, (name, who, changed)


def test_the_writes_are_well_aimed(pool, tenants) -> None:
    """Of the operator, whom nothing is hidden from, each changes something of the other."""
    mine, other = tenants[0], tenants[1]
    for name in sorted(WRITES.keys() - {"organisations.create"}):
        changed = []
        with suppress(RollBackError), as_owner(pool) as db:
            before = rows_of(db, other)
            WRITES[name](db, mine, other)
            changed = reached(db, other, before)
            raise RollBackError
        assert changed, name


def of_other(table: str) -> sql.Composed:
    """The part of a statement that takes an organisation's rows of a table."""
    column = "id" if table == "organisations" else "organisation_id"
    return sql.SQL("FROM {} WHERE {} = %s").format(sql.Identifier(table), sql.Identifier(column))


def rows_of(db: Connection, other: Tenant) -> dict[str, object]:
    """The number of rows of the other organisation in each table."""
    counting = sql.SQL("SELECT count(*) {}")
    return {t: db.execute(counting.format(of_other(t)), (other.id,)).fetchone() for t in TABLES}


def reached(db: Connection, other: Tenant, before: dict[str, object]) -> list[str]:
    """Tables in which this transaction wrote or deleted a row of the other organisation."""
    written = sql.SQL("SELECT 1 {} AND xmin = pg_current_xact_id()::xid LIMIT 1")
    after = rows_of(db, other)
    return [
        table
        for table in TABLES
        if after[table] != before[table]
        or db.execute(written.format(of_other(table)), (other.id,)).fetchone()
    ]


def test_without_any_where_row_level_security_keeps_them_apart(pool, tenants) -> None:
    for at, (mine, _other, who) in enumerate(callers(tenants, 300, SEED + 3)):
        with as_member(pool, who) as db:
            for table in TABLES[at % 4 :: 4]:
                rows = db.execute(sql.SQL("SELECT * FROM {}").format(sql.Identifier(table)))
                names = [column.name for column in rows.description or ()]
                for row in map(lambda values: dict(zip(names, values, strict=True)), rows):  # noqa: C417
                    of = row["id"] if table == "organisations" else row["organisation_id"]
                    assert of == mine.id, (table, who)
                    if table == "tools":
                        check_tools(mine, who, {row["id"]}, table)
                    if table in ("tool_vectors", "requests", "request_vectors", "findings"):
                        server = mine.tool_ids[row["tool_id"]].split("/")[0]
                        assert mine.sees(who, server), (table, who)
                    if table in ("tokens", "use"):
                        assert who.role == "admin" or row["member_id"] == who.member_id
                    if table == "audit":
                        assert who.role == "admin"


def test_without_a_caller_there_are_no_rows(pool, tenants) -> None:
    with pool.connection() as db, db.transaction():
        db.execute("SET LOCAL search_path = toolcrib, public")
        db.execute("SET LOCAL ROLE toolcrib_member")
        for table in TABLES:
            statement = sql.SQL("SELECT count(*) FROM {}").format(sql.Identifier(table))
            assert db.execute(statement).fetchone() == (0,), table
        assert db.execute(
            "SELECT count(*) FROM matching(ARRAY['common'], ARRAY[1.0], ARRAY['common'], 2, 5, '{}', 9)"
        ).fetchone() == (0,)


def test_members_may_neither_enter_as_another_nor_look_up_tokens(pool, tenants) -> None:
    who = tenants[0].people[-1]
    for call in (
        "SELECT toolcrib.enter(1, 1, NULL)",
        "SELECT * FROM toolcrib.holder('x')",
        "SELECT * FROM toolcrib.holders('https://i', 's0')",
        "SELECT toolcrib.note_changes(1, 'tools', '{1}', true)",
    ):
        with pytest.raises(psycopg.errors.InsufficientPrivilege), as_member(pool, who) as db:
            db.execute(call)
