"""One rule says whether a tool may reach a host; SQL, catalogue, gateway and search agree on it."""

import operator
import tempfile
from collections import ChainMap
from pathlib import Path

import apsw
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from app.catalog import availability, reasons
from app.catalog.availability import Conditions
from app.catalog.catalog import load_catalog
from app.catalog.conditions import State
from store import findings, profiles, servers, tools
from store.connection import open_store, transaction
from store.records import EntryRecord, Finding, NewTool, ServerSpec
from store.search import Scope
from store.serving import tool_rows

CLEAN = {
    "on": True, "pinned": False, "held": "", "changed": False, "gone": False, "problem": "",
    "finding": "", "decided": "",
}  # fmt: skip
# drawn together, all of these values leave one tool in 300 available
REASONS = (
    {"on": False}, {"on": None}, {"pinned": True}, {"held": reasons.NEW}, {"held": reasons.HELD},
    {"changed": True}, {"gone": True}, {"problem": "its input schema is an array"},
    *(
        {"finding": severity, "decided": decided}
        for severity in ("block", "warn")
        for decided in ("", findings.APPROVED, findings.KEPT)
    ),
)  # fmt: skip
TOOL = st.builds(
    lambda server, some: dict(ChainMap({"server": server}, *some, CLEAN)),
    st.sampled_from(["one", "two"]),
    st.lists(st.sampled_from(REASONS), max_size=3),
)
MOSTLY = st.sampled_from([True, True, True, False])
STORE = st.fixed_dictionaries(
    {
        "tools": st.lists(TOOL, min_size=1, max_size=8),
        "disabled": st.fixed_dictionaries(dict.fromkeys(("one", "two"), MOSTLY.map(operator.not_))),
        "trusted": st.fixed_dictionaries(dict.fromkeys(("one", "two"), MOSTLY)),
        "servers": st.sampled_from([None, ["one"], ["one", "two"], []]),
    }
)
EACH_ALONE = {
    "tools": [CLEAN | {"server": "one"} | some for some in ({}, *REASONS)],
    "disabled": {"one": False, "two": False},
    "trusted": {"one": True, "two": True},
    "servers": None,
}


def stored(case, folder: str) -> apsw.Connection:
    db = open_store(f"{folder}/store.db")
    with transaction(db):
        wanted = case["servers"]
        profile = profiles.create(db, "p", settings={} if wanted is None else {"servers": wanted})
        for name, trusted in case["trusted"].items():
            spec = ServerSpec(transport="stdio", key=name, command=name)
            entry = EntryRecord("cursor", "user", "/f", name)
            id_ = servers.place(db, entry, spec, name=name, trusted=trusted)
            servers.set_disabled(db, id_, case["disabled"][name])
            own = [(i, t) for i, t in enumerate(case["tools"]) if t["server"] == name]
            new = [NewTool(f"t{i}", {"name": f"t{i}"}, "h", t["problem"]) for i, t in own]
            added = tools.save_list(db, id_, new, 1.0).added
            for tool_id, (_, one) in zip(added, own, strict=True):
                _state(db, profile.id, tool_id, one)
    return db


def _state(db: apsw.Connection, profile_id: int, tool_id: int, one) -> None:
    if one["on"] is not None:
        profiles.set_on(db, profile_id, [tool_id], one["on"])
    if one["pinned"]:
        profiles.set_pinned(db, profile_id, [tool_id], True)
    if one["held"]:
        profiles.set_held(db, profile_id, [tool_id], one["held"])
    if one["changed"]:
        db.execute("UPDATE tools SET trusted_hash = 'earlier' WHERE id = ?", (tool_id,))
    if one["gone"]:
        db.execute("UPDATE tools SET gone = 1 WHERE id = ?", (tool_id,))
    if one["finding"]:
        findings.save(db, tool_id, [Finding(0, tool_id, "X", one["finding"], "d", "h")], 1.0)
        (finding,) = findings.of_tool(db, tool_id)
        findings.decide(db, finding.id, one["decided"], 2.0)


def _by_the_rule(case) -> dict[str, str]:
    """The first reason of each tool by the function alone."""
    kinds = {}
    for number, one in enumerate(case["tools"]):
        blocked = one["finding"] == "block" and one["decided"] != findings.APPROVED
        withheld = availability.withheld(
            trusted=case["trusted"][one["server"]],
            held=one["held"],
            changed=one["changed"],
            blocked=blocked,
        )
        found = availability.stored_reasons(
            on=one["on"] is not False,
            withheld=withheld,
            problem=one["problem"],
            gone=one["gone"],
            outside=case["servers"] is not None and one["server"] not in case["servers"],
            disabled=case["disabled"][one["server"]],
        )
        kinds[f"t{number}"] = found[0].kind if found else ""
    return kinds


@settings(deadline=None, max_examples=25, suppress_health_check=[HealthCheck.too_slow])
@example(EACH_ALONE)
@given(STORE)
def test_view_catalogue_gateway_and_search_follow_the_one_rule(case) -> None:
    with tempfile.TemporaryDirectory() as folder:
        db = stored(case, folder)
        try:
            _compare(db, _by_the_rule(case))
        finally:
            db.close()


def _compare(db: apsw.Connection, kinds: dict[str, str]) -> None:
    profile = profiles.by_name(db, "p")
    assert profile is not None
    names = dict(db.execute("SELECT id, name FROM tools"))

    view = db.execute(
        "SELECT tool_id, reason FROM availability WHERE profile_id = ?", (profile.id,)
    )
    assert {names[id_]: reason for id_, reason in view} == kinds

    present = {name: kind for name, kind in kinds.items() if kind != reasons.GONE}
    assert {row.name: row.reason for row in tool_rows(db, profile.id)} == present

    inside = {name: kind for name, kind in present.items() if kind != reasons.OUTSIDE}
    rows = load_catalog(db, "p").tools
    assert {r.tool.name: r.reasons[0].kind if r.reasons else "" for r in rows} == inside
    assert {r.tool.name for r in rows if r.shown} == {n for n, kind in kinds.items() if not kind}

    scope = Scope(profile_id=profile.id, only_on=True).condition()
    assert {names[id_] for (id_,) in db.execute(scope)} == {n for n, k in kinds.items() if not k}


def test_every_kind_of_reason_has_its_sentence_and_its_remedy() -> None:
    kinds = {value for name, value in vars(reasons).items() if name[0].isupper() and value != ""}
    kinds = {kind for kind in kinds if isinstance(kind, str)}
    for kind in kinds - {reasons.PRECONDITION}:  # whose own kinds have them
        assert reasons.sentence(kind, "x") and reasons.remedy(kind, "x")
    assert (
        len({reasons.sentence(kind) for kind in kinds - {reasons.PRECONDITION}}) == len(kinds) - 1
    )


def test_a_condition_that_cannot_be_read_holds_its_tools_back_and_says_so() -> None:
    asked = Conditions.of({}, {"tracker/create_issue": ["authenticated"], "git/*": ["after(x)"]})
    assert (
        "tracker/create_issue" in asked.problems[0] and "authenticated(scope)" in asked.problems[0]
    )
    reason = asked.reason("tracker/create_issue", State(scopes=frozenset({"tracker"})))
    assert reason is not None and "cannot be read" in reason.sentence
    assert asked.reason("tracker/list", State()) is None
    assert asked.reason("git/push", State(called=("git/x",))) is None


def test_each_sentence_of_a_reason_stands_in_one_file_only() -> None:
    sentences = [text.partition("{")[0] for text in map(reasons.sentence, reasons.WITHHELD)]
    root = Path(__file__).parents[3]
    files = [file for top in ("app", "store", "ui") for file in (root / top).rglob("*.py")]
    texts = {file: file.read_text(encoding="utf-8") for file in files}
    for sentence in sentences:
        assert [file.name for file, text in texts.items() if sentence in text] == ["reasons.py"]
