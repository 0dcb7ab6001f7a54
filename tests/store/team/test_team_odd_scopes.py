"""Searches of callers with odd scopes and allowlists find what is theirs, whatever is in the lists.

The names and patterns of an allowlist are compared with fnmatch on the tools' own names.
"""

from dataclasses import replace
from fnmatch import fnmatchcase

import pytest

from store.team import members, organisations, search, servers, tools
from store.team.connecting import as_member, as_owner
from store.team.records import Member, NewServer, NewTool
from store.team.words import Tokens
from tests.fakes.team_kit import unit

MODEL = "m"
NAMES = ("read", "read_all", "readXall", "50%", "50x", "back\\slash", "it's", "名前", "a*b", "r.d")
MANY = tuple(f"s{n % 3}/other{n}" for n in range(10_000))
ALLOWLISTS = {
    "nothing": (),
    "an empty name": ("",),
    "all": ("*",),
    "all, many times": ("*/*", "*") * 500,
    "a server": ("s1/*",),
    "an underscore is no wildcard": ("s0/read_all",),
    "a percent sign is no wildcard": ("s0/50%", "%", "_%"),
    "a backslash escapes nothing": ("s0/back\\slash", "s1/back\\*", "\\"),
    "a star in a name is a wildcard": ("s2/a*b",),
    "quotes, braces and commas": (
        "s0/it's",
        '"',
        "{",
        "}",
        "{s0/read,s1/read}",
        "s0/read,",
        "NULL",
    ),
    "letters of any script": ("s0/名前", "*/名*"),
    "ten thousand names": (*MANY, "s0/read", "s2/50%"),
    "ten thousand names and a pattern": (*MANY, "s1/r*"),
    "twice the same": ("s0/read",) * 2_000,
}


def tool(name: str) -> NewTool:
    words, length = Tokens().literal((0, name, "common", "", "s", ""))
    return NewTool(
        name, {"name": name}, "h", name, 1, words, length, vectors={MODEL: ("t", unit(len(name)))}
    )


@pytest.fixture(scope="module")
def odd(pool) -> tuple[int, dict[str, int], Member]:
    """An organisation, its tools by name, and a member who sees them all."""
    with as_owner(pool) as db:
        organisation = organisations.create(db, "odd").id
        member = members.add(db, organisation, "ada", groups=("ops", "ops", ""))
        ids: dict[str, int] = {}
        grants = (("organisation",), ("group:ops",), ("role:member", "group:ops", "member:0"))
        for at, given in enumerate(grants):
            server = servers.save(db, organisation, NewServer(f"s{at}", "stdio", grants=given))
            saved = tools.save(db, organisation, server, [tool(name) for name in NAMES])
            ids |= {f"s{at}/{name}": id_ for name, id_ in zip(NAMES, saved, strict=True)}
    return organisation, ids, member


def found(pool, organisation: int, member: Member) -> tuple[set[int], set[int]]:
    """Tools by meaning and by words."""
    with as_member(pool, member) as db:
        seen = search.visible(db, organisation)
        within = search.limits(db, organisation, allowlist=member.allow is not None)
        near = search.nearest(db, seen, MODEL, unit(4), k=100, within=within)
        by_words = search.matching(
            db, {"common": 1.0}, named=2.0, mean_length=3.0, most=100, apart=within.apart
        )
        words = {match.tool_id for match in by_words}
        assert len(words) == len(by_words)
        return set(near), words


@pytest.mark.parametrize("listed", ALLOWLISTS)
def test_an_allowlist_means_its_names_and_stars_alone(pool, odd, listed: str) -> None:
    organisation, ids, member = odd
    allow = ALLOWLISTS[listed]
    # of fnmatch, [ and ? are wildcards too: none is in these lists
    true = {
        id_
        for name, id_ in ids.items()
        if any(pattern == name or fnmatchcase(name, pattern) for pattern in set(allow))
    }
    assert found(pool, organisation, replace(member, allow=allow)) == (true, true)


def test_a_caller_without_a_scope_finds_nothing_and_one_with_all_finds_each_tool_once(
    pool, odd
) -> None:
    organisation, ids, member = odd
    with as_owner(pool) as db:
        other = organisations.create(db, "empty").id
        stranger = members.add(db, other, "eve")
        apart = members.add(db, organisation, "max", "editor", groups=[f"g{n}" for n in range(999)])
    assert found(pool, other, stranger) == (set(), set())
    assert found(pool, organisation, stranger) == (set(), set())
    assert found(pool, organisation, member) == (set(ids.values()), set(ids.values()))
    assert found(pool, organisation, apart) == (set(ids.values()), set(ids.values()))


def test_names_of_an_allowlist_are_looked_up_in_a_hash(pool, odd) -> None:
    """Compared one by one, 10,000 names took 2.4 s over 5,000 tools."""
    _, _, member = odd
    with as_member(pool, replace(member, allow=MANY)) as db:
        plan = db.execute("EXPLAIN SELECT id FROM tools").fetchall()
        (body,) = db.execute("SELECT pg_get_functiondef('toolcrib.matching'::regproc)").fetchone()
    assert "hashed SubPlan" in str(plan)
    assert "IN (SELECT toolcrib.allowed_names())" in body
