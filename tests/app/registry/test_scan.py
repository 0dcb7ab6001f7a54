"""Scans over real child processes into a real store, with the real encoder."""

import json
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import apsw
import pytest

from app.catalog.catalog import load_catalog
from app.core.context import AppContext
from app.hosts.launch import LaunchSpec
from app.ranking.keyword import word_scores
from app.registry.probe import ProbeOptions
from app.registry.register import Target
from app.registry.scan import ScanOptions, ScanReport, ServerStatus, _Scan, scan
from store import findings, profiles, servers, tools, vectors
from store.connection import transaction
from store.errors import LockedStoreError
from store.records import Summary

MakeFake = Callable[..., LaunchSpec]
MakeTargets = Callable[..., list[Target]]


def tool(name: str, description: str = "Does a thing") -> dict[str, object]:
    return {"name": name, "description": description, "inputSchema": {"type": "object"}}


def statuses(report: ScanReport) -> dict[str, tuple[str, int]]:
    return {said.name: (said.status, said.tools) for said in report.servers}


@pytest.fixture
def options(quick: ProbeOptions) -> ScanOptions:
    return ScanOptions(probe=quick)


def test_a_second_scan_encodes_nothing_and_counts_nothing(
    ctx: AppContext,
    db: apsw.Connection,
    fake: MakeFake,
    make_targets: MakeTargets,
    options: ScanOptions,
) -> None:
    targets = make_targets(one=fake("tools=3"), two=fake("extras,tools=4"))
    first = scan(ctx, targets, options)
    assert statuses(first) == {"one": ("read", 3), "two": ("read", 4)}
    assert (first.counted, first.encoded, first.note) == (7, 7, "")
    assert len(first.delta.added) == 7
    second = scan(ctx, targets, options)
    assert (second.counted, second.encoded) == (0, 0)
    assert (second.delta.added, second.delta.changed, second.delta.unchanged) == ((), (), 7)
    again = scan(ctx, (), options)
    assert (again.servers, again.counted, again.encoded) == ((), 0, 0)


def test_all_that_is_made_of_a_tool_is_there_after_a_scan(
    ctx: AppContext,
    db: apsw.Connection,
    fake: MakeFake,
    make_targets: MakeTargets,
    options: ScanOptions,
) -> None:
    scan(ctx, make_targets(one=fake("extras,mixed")), options)
    catalog = load_catalog(db)
    row = catalog.find("one/good_one")
    assert row is not None
    assert row.tokens is not None
    assert row.tokens.host_text > 10
    assert row.summary == "good one: Adds a comment to an issue"
    assert row.server.instructions == "Call tool_0 first."
    assert row.server.resources[0]["uri"] == "fake://1"
    assert tools.token_counts(db, "cl100k_base")[row.tool.id].host_text > 10
    assert word_scores(db, "comment on an issue").keys() == {row.tool.id}
    bad = catalog.find("one/no_schema")
    assert bad is not None
    assert not bad.shown
    assert catalog.find("one/no_type") in catalog.shown
    told = {(f.tool_id, f.rule) for f in findings.all_findings(db)}
    odd = {row.tool.id for row in catalog.tools if row.tool.name in ("no_type", "root_any_of")}
    assert {(tool_id, "SC-01") for tool_id in odd} <= told


def test_only_what_changed_is_counted_and_encoded_again(
    ctx: AppContext,
    db: apsw.Connection,
    fake: MakeFake,
    make_targets: MakeTargets,
    options: ScanOptions,
) -> None:
    before = [tool("a"), tool("b"), tool("c")]
    after = [tool("b"), tool("a", "Does it differently"), tool("d")]
    first = scan(ctx, make_targets(one=fake("", FAKE_TOOLS=json.dumps(before))), options)
    second = scan(ctx, make_targets(one=fake("", FAKE_TOOLS=json.dumps(after))), options)
    assert first.counted == 3
    assert (second.counted, second.encoded) == (2, 2)
    assert [len(x) for x in (second.delta.added, second.delta.changed, second.delta.gone)] == [
        1
    ] * 3
    catalog = load_catalog(db)
    assert [row.tool.name for row in catalog.tools] == ["b", "a", "d"]
    held = {row.tool.name: row.held for row in catalog.tools}
    assert held["b"] == ""
    assert held["a"] == "changed"
    assert held["d"] == "new"


def test_a_profile_may_take_new_tools_at_once(
    ctx: AppContext,
    db: apsw.Connection,
    fake: MakeFake,
    make_targets: MakeTargets,
    options: ScanOptions,
) -> None:
    with transaction(db):
        profiles.create(db, "open", settings={"new_tools": "on"})
    scan(ctx, make_targets(one=fake("", FAKE_TOOLS=json.dumps([tool("a")]))), options)
    scan(ctx, make_targets(one=fake("", FAKE_TOOLS=json.dumps([tool("a"), tool("b")]))), options)
    assert {row.tool.name for row in load_catalog(db, "open").shown} == {"a", "b"}
    assert {row.tool.name for row in load_catalog(db).shown} == {"a"}


def test_a_failure_is_a_row_and_leaves_the_known_tools_alone(
    ctx: AppContext,
    db: apsw.Connection,
    fake: MakeFake,
    make_targets: MakeTargets,
    options: ScanOptions,
) -> None:
    scan(ctx, make_targets(one=fake("tools=2")), options)
    report = scan(ctx, make_targets(one=fake("exit-early", API_KEY="hunter2-hunter2")), options)
    assert statuses(report) == {"one": ("could not start", 0)}
    server = servers.by_name(db, "one")
    assert server is not None
    assert server.problem == "It exited with code 3: fatal: bad key ••••"
    assert len(tools.tools(db, server.id)) == 2


def test_no_secret_reaches_the_database(
    ctx: AppContext,
    db: apsw.Connection,
    fake: MakeFake,
    make_targets: MakeTargets,
    options: ScanOptions,
) -> None:
    secret = "hunter2-hunter2"
    good = replace(fake("secret-banner", API_KEY=secret), cwd="")
    args = (*good.args, "--api-key", secret)
    report = scan(
        ctx,
        make_targets(
            one=replace(good, args=args),
            two=fake("exit-early", API_KEY=secret),
            three=fake("init-error", API_KEY=secret),
        ),
        options,
    )
    assert statuses(report)["one"] == ("read", 3)
    db.pragma("wal_checkpoint", "truncate")
    for file in ctx.paths.home.rglob("*"):
        if file.is_file():
            assert secret.encode() not in file.read_bytes(), file.name


def test_statuses_come_in_order_and_two_servers_at_a_time(
    ctx: AppContext, fake: MakeFake, make_targets: MakeTargets, options: ScanOptions
) -> None:
    said: list[ServerStatus] = []
    targets = make_targets(**{f"s{i}": fake(f"tools={i + 1}") for i in range(4)})
    scan(ctx, targets, replace(options, on_status=said.append))
    assert [status.status for status in said[:4]] == ["waiting"] * 4
    reading = 0
    for status in said[4:]:
        reading += 1 if status.status == "reading" else -1
        assert reading <= 2
    for target in targets:
        words = [status.status for status in said if status.name == target.name]
        assert words == ["waiting", "reading", "read"]
    assert said[-1].text.startswith("read ")


def test_a_status_does_not_wait_for_a_server_that_is_slow_to_stop(
    ctx: AppContext, fake: MakeFake, make_targets: MakeTargets, options: ScanOptions
) -> None:
    told: list[float] = []

    def note(status: ServerStatus) -> None:
        if status.status == "read":
            told.append(time.monotonic())

    scan(ctx, make_targets(one=fake("ignore-close")), replace(options, on_status=note))
    assert len(told) == 1
    assert time.monotonic() - told[0] > 2.0


def test_cancel_ends_everything(
    ctx: AppContext, fake: MakeFake, make_targets: MakeTargets, options: ScanOptions
) -> None:
    def stop_at_once(status: ServerStatus) -> None:
        if status.status == "reading":
            options.cancel.set()

    targets = make_targets(one=fake("hang-init"), two=fake("hang-list"), three=fake("tools=2"))
    report = scan(ctx, targets, replace(options, on_status=stop_at_once))
    assert {status for status, _ in statuses(report).values()} == {"stopped"}
    assert report.encoded == 0


@pytest.mark.parametrize(("seconds", "counted"), [(60.0, 5), (0.0, 2)])
def test_what_was_read_before_a_stop_is_counted_for_a_moment(
    ctx: AppContext,
    db: apsw.Connection,
    fake: MakeFake,
    make_targets: MakeTargets,
    options: ScanOptions,
    monkeypatch: pytest.MonkeyPatch,
    seconds: float,
    counted: int,
) -> None:
    monkeypatch.setattr("app.registry.scan.COUNT_SECONDS", seconds)
    monkeypatch.setattr("app.indexing.indexer.TEXT_BATCH", 2)

    def on_progress(text: str, _share: float) -> None:
        if text.startswith("Indexed 2"):
            options.cancel.set()

    stopped = replace(options, on_progress=on_progress)
    assert scan(ctx, make_targets(one=fake("tools=5")), stopped).counted == counted
    assert len(tools.token_counts(db, "o200k_base")) == counted


def test_a_summary_that_a_user_wrote_stays_and_is_encoded(
    ctx: AppContext,
    db: apsw.Connection,
    fake: MakeFake,
    make_targets: MakeTargets,
    options: ScanOptions,
) -> None:
    scan(ctx, make_targets(one=fake("", FAKE_TOOLS=json.dumps([tool("a")]))), options)
    found = tools.tools(db)[0]
    with transaction(db):
        tools.save_summaries(db, [Summary(found.id, "Make coffee.", "user", found.hash)])
    changed = make_targets(one=fake("", FAKE_TOOLS=json.dumps([tool("a", "Another text")])))
    assert scan(ctx, changed, options).encoded == 1
    assert tools.summaries(db)[found.id].text == "Make coffee."
    assert scan(ctx, changed, options).counted == 0


def test_without_an_encoder_words_are_searched_and_the_report_says_so(
    ctx: AppContext,
    db: apsw.Connection,
    fake: MakeFake,
    make_targets: MakeTargets,
    options: ScanOptions,
    tmp_path: Path,
) -> None:
    bare = replace(ctx, settings=replace(ctx.settings, model="no/such-model"))
    targets = make_targets(one=fake("tools=2"))
    report = scan(bare, targets, replace(options, prepare_encoder=False))
    assert (report.counted, report.encoded) == (2, 0)
    assert "is not prepared yet" in report.note
    assert word_scores(db, "thing number 1")
    later = scan(ctx, (), options)
    assert (later.counted, later.encoded) == (0, 2)
    model = next(iter({row[0] for row in db.execute("SELECT model FROM vectors")}))
    assert len(vectors.load(db, model)) == 2


def test_a_locked_store_is_said_and_leaves_nothing_running(
    ctx: AppContext,
    db: apsw.Connection,
    fake: MakeFake,
    make_targets: MakeTargets,
    options: ScanOptions,
) -> None:
    targets = make_targets(one=fake("tools=1"))
    with transaction(db), pytest.raises(LockedStoreError):
        scan(ctx, targets, options)


def test_what_there_is_no_time_to_judge_is_left_out_with_a_sentence_and_comes_next_time(
    ctx: AppContext,
    db: apsw.Connection,
    fake: MakeFake,
    make_targets: MakeTargets,
    options: ScanOptions,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    targets = make_targets(big=fake("tools=450"))
    lots = replace(options, probe=ProbeOptions(replace(options.probe.limits, tools=5_000)))
    looks = iter([False, False, *[True] * 50])
    monkeypatch.setattr(_Scan, "_in_time", lambda _self: lambda: next(looks, True))
    first = scan(ctx, targets, replace(lots, prepare_encoder=False))
    (status,) = first.servers
    assert (status.status, status.tools) == ("read", 200)
    assert status.problem.endswith("200 of 450 are in; the next reading goes on.")
    (server,) = servers.all_servers(db)
    assert server.problem == status.problem
    assert len(tools.tools(db)) == 200
    second = scan(ctx, targets, replace(lots, prepare_encoder=False))
    assert (second.servers[0].problem, len(tools.tools(db))) == ("", 450)


def test_a_stop_while_texts_are_judged_leaves_what_was_known(
    ctx: AppContext,
    db: apsw.Connection,
    fake: MakeFake,
    make_targets: MakeTargets,
    options: ScanOptions,
) -> None:
    targets = make_targets(big=fake("tools=450"))
    lots = replace(options, probe=ProbeOptions(replace(options.probe.limits, tools=5_000)))
    seen: list[str] = []

    def on_progress(text: str, share: float) -> None:
        seen.append(text)
        if share > 0:
            lots.cancel.set()

    report = scan(ctx, targets, replace(lots, on_progress=on_progress))
    assert report.servers[0].status == "stopped"
    assert tools.tools(db) == []
    assert seen[:2] == ["Judged 0 of 450 tools of big", "Judged 200 of 450 tools of big"]
