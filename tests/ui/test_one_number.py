"""One number for one host, wherever it is shown: every host of the sample files, in every mode."""

import hashlib
import json
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

import pytest

from app.catalog.catalog import load_catalog
from app.cli.main import run
from app.export.apply import apply
from app.export.plan import MODES
from app.host_status.overview import prepare, survey
from app.host_status.sizes import measure
from app.hosts.facts import load_hosts
from app.hosts.reading import read_hosts
from app.registry.register import register
from app.tokens.counters import counter
from app.tokens.footprint import count_tool
from store import profiles, servers, tools
from store.connection import transaction
from store.records import AS_IS, NATIVE, THROUGH, NewTool
from ui.look.text import count
from ui.pages.budget.page import ci_command
from ui.pages.budget.rows import TOKENS, BudgetTable
from ui.pages.hosts.preview import load_preview
from ui.shell.host_state import modes_of

SAMPLES = Path(__file__).parents[1] / "data" / "hosts"
INDEX = json.loads((SAMPLES / "index.json").read_text(encoding="utf-8"))


def put_samples(places):
    """Each host's own sample where that host looks for it; the ids of those that have one."""
    done = []
    for facts in load_hosts():
        sample = next((n for n, one in INDEX.items() if fits(one, facts)), None)
        kinds = [k for k in facts.files if k.role == "servers" and k.scope == "user" and k.writable]
        if sample is None or not kinds:
            continue
        kind = next((k for k in kinds if k.format.startswith(INDEX[sample]["format"][:4])), None)
        candidates = places.candidates(kind) if kind else ()
        if candidates:
            candidates[0].parent.mkdir(parents=True, exist_ok=True)
            candidates[0].write_bytes((SAMPLES / sample).read_bytes())
            done.append(facts.id)
    return done


def fits(sample, facts):
    own = sample["host"] == facts.id and sample["scope"].startswith("user")
    return own and sample["valid"] and sample["servers"]


def tool(server, number):
    raw = {
        "name": f"tool_{number}",
        "description": f"Tool {number} of {server}, which does what it says on {server}. " * 4,
        "inputSchema": {"type": "object", "properties": {"path": {"type": "string"}}},
    }
    return NewTool(raw["name"], raw, hashlib.sha256(repr(raw).encode()).hexdigest())


@pytest.fixture
def household(ctx, places, monkeypatch):
    """A home with the sample file of every host; each server has five tools, one of them off."""
    monkeypatch.setenv("HOME", str(places.home))
    monkeypatch.setenv("TOOLCRIB_HOME", str(ctx.paths.home))
    for name in ("XDG_CONFIG_HOME", "CODEX_HOME", "COPILOT_HOME", "CLAUDE_CONFIG_DIR"):
        monkeypatch.delenv(name, raising=False)
    hosts = put_samples(places)
    ctx.paths.create()
    db = ctx.open_store()
    register(ctx, db, read_hosts(places))
    encoding = counter("o200k_base")
    with transaction(db):
        for server in servers.all_servers(db):
            new = [tool(server.name, n) for n in range(5)]
            tools.save_list(db, server.id, new, at=1.0)
            servers.set_trusted(db, server.id, True)
        found = tools.tools(db)
        tools.save_token_counts(db, [count_tool(encoding, one) for one in found])
        default = profiles.by_name(db, "default").id
        profiles.set_on(db, default, [one.id for one in found if one.position == 4], False)
        profiles.set_pinned(db, default, [found[0].id], True)
    yield db, hosts
    db.close()


def verb(*argv, code=0):
    """What a verb says, as JSON."""
    out = StringIO()
    with redirect_stdout(out):
        assert run([*argv, "--json"]) in (0, code)
    return json.loads(out.getvalue())


@pytest.mark.parametrize("mode", MODES)
def test_every_surface_shows_the_same_number_for_the_same_host(household, ctx, places, mode):
    db, hosts = household
    assert len(hosts) >= 20, "samples of most hosts are needed"
    catalog = load_catalog(db, "default")
    promised = {}
    for status in survey(db, places, catalog):
        if status.host.id in hosts and mode in modes_of(status.host):
            plan = prepare(db, places, catalog, host_id=status.host.id, mode=mode)
            if plan.refusal is None:
                promised[status.host.id] = plan
                apply(plan, ctx, db, insist=True)
    assert len(promised) >= (3 if mode == NATIVE else 15)
    sizes = {size.facts.id: size for size in measure(db, places, catalog)}
    listed = {one["id"]: one for one in verb("hosts")["hosts"]}
    table = BudgetTable()
    table.show(tuple(sizes.values()))
    shown = {
        row.facts.id: table.index(n, table.place(TOKENS)).data() for n, row in enumerate(table.rows)
    }
    footprint = {one["id"]: one for one in verb("footprint")["hosts"]}
    assert footprint.keys() == sizes.keys() == shown.keys()
    for host_id, plan in promised.items():
        size = sizes.get(host_id)
        if size is None:  # its servers are of no use, so no page lists it
            assert plan.tokens_before == 0
            continue
        number = size.sent.tokens
        again = load_preview(db, ctx, places, catalog=catalog, host_id=host_id, mode=mode)
        line = ci_command(catalog.settings.budget, "default", host_id).split()[1:]
        checked = verb(*line, code=4)
        assert {
            "plan": plan.tokens_after,
            "preview": again.verdict.tokens,
            "hosts": listed[host_id]["tokens"],
            "footprint": footprint[host_id]["tokens"],
            "check": checked["tokens"],
            "budget": int(shown[host_id].replace(",", "")),
        } == dict.fromkeys(("plan", "preview", "hosts", "footprint", "check", "budget"), number)
        assert checked["verdict"] == size.verdict.word
        assert size.mode == mode or mode == AS_IS
        assert again.headline == f"{count(number)} tokens ≈", "nothing would change"


def test_a_host_that_loads_on_demand_is_counted_by_its_first_request(household, places):
    db, _hosts = household
    catalog = load_catalog(db, "default")
    sizes = {size.facts.id: size for size in measure(db, places, catalog)}
    claude, desktop = sizes["claude-code"], sizes["claude-desktop"]
    whole = sum(catalog.find(row.tool.tool_id).cost for row in claude.sent.tools)
    assert desktop.sent.later == 0 and desktop.sent.tokens == sum(
        row.cost for row in desktop.sent.tools
    )
    assert claude.sent.tokens < whole / 4
    assert claude.sent.tokens + claude.sent.later == whole
    later = next(one for one in verb("footprint")["hosts"] if one["id"] == "claude-code")["later"]
    assert later == claude.sent.later
    table = BudgetTable()
    table.show((claude,))
    assert table.index(0, 1).data() == "As is, on demand"


def test_through_toolcrib_the_menu_of_a_host_that_defers_is_not_deferred(household, ctx, places):
    db, _hosts = household
    catalog = load_catalog(db, "default")
    pinned = next(row for row in catalog.shown if row.pinned)
    made = prepare(
        db, places, catalog, host_id="claude-code", mode=THROUGH, more=[pinned.server.name]
    )
    apply(made, ctx, db, insist=True)
    size = next(s for s in measure(db, places, catalog) if s.facts.id == "claude-code")
    assert pinned.tool.id not in size.sent.deferred
    assert [row.cost for row in size.sent.tools if row.tool.id == pinned.tool.id] == [pinned.cost]
