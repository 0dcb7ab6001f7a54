"""Exactly which tools a host's model gets, and the same as a document."""

import csv
import io
import json

import pytest

from app.host_status.report import HostReport, report_of, written
from app.host_status.sizes import measure
from app.host_status.tool_list import ListedTool, listed_tools
from store.records import AS_IS, PRUNED, THROUGH

FILES = {
    "cursor": ".cursor/mcp.json",
    "claude-code": ".claude.json",
    "claude-desktop": ".config/Claude/claude_desktop_config.json",
}


@pytest.fixture
def sized(world, db):
    """sized(host, tools, mode): what the host gets once it was written in that mode."""

    def size(host, tools=4, mode=AS_IS, *, off=(), pin=(), held=()):
        world.write(FILES[host], {"mcpServers": {"stub": {"command": "x"}}})
        world.learn(tuple(f"tool_{n:02}" for n in range(tools)))
        world.off(*off) if off else None
        world.pin(*pin) if pin else None
        for name in held:
            row = world.catalog.find(name)
            db.execute("UPDATE tools SET trusted_hash = 'old' WHERE id = ?", (row.tool.id,))
        if mode != AS_IS:
            world.export(host, mode)
        return next(s for s in measure(db, world.places, world.catalog) if s.facts.id == host)

    return size


def states(size):
    return {one.tool_id or one.name: one.state for one in listed_tools(size)}


def test_the_list_adds_up_to_the_hosts_number_in_every_mode(sized):
    for mode in (AS_IS, PRUNED, THROUGH):
        size = sized("cursor", mode=mode, off=("stub/tool_01",), pin=("stub/tool_00",))
        given = [one for one in listed_tools(size) if one.state == "given"]
        assert sum(one.tokens for one in given) == size.sent.tokens
        assert len(given) == size.sent.count


def test_a_pruned_host_is_told_what_is_off_and_held(sized):
    size = sized("claude-desktop", mode=PRUNED, off=("stub/tool_01",), held=("stub/tool_02",))
    found = states(size)
    assert found["stub/tool_00"] == "given"
    assert (found["stub/tool_01"], found["stub/tool_02"]) == ("off", "held")
    why = {one.tool_id: one.why for one in listed_tools(size)}
    assert why["stub/tool_01"] == "it is turned off in this profile"


def test_as_it_is_the_file_decides_and_the_list_says_so(sized):
    size = sized("claude-desktop", off=("stub/tool_01",))
    one = next(t for t in listed_tools(size) if t.tool_id == "stub/tool_01")
    assert one.state == "given"
    assert one.why.startswith("given although it is turned off in this profile")


def test_through_toolcrib_the_menu_the_pinned_and_what_the_search_finds(sized):
    size = sized("cursor", mode=THROUGH, pin=("stub/tool_00",))
    found = {one.name: one for one in listed_tools(size)}
    assert found["toolcribsearch_tools"].state == "given"
    assert found["toolcribstub__tool_00"].tool_id == "stub/tool_00"
    assert states(size)["stub/tool_03"] == "behind the search"


def test_a_host_that_defers_has_names_now_and_schemas_later(sized):
    size = sized("claude-code")
    one = next(t for t in listed_tools(size) if t.tool_id == "stub/tool_00")
    assert (one.name, one.state, one.later) == ("mcp__stub__tool_00", "on demand", 100)
    assert 0 < one.tokens < 20


def test_what_is_over_the_hosts_own_limit_is_marked(sized):
    size = sized("cursor", tools=42)
    over = [one for one in listed_tools(size) if one.state == "over a limit"]
    assert len(over) == 2
    assert over[0].why == "more than the 40 tools that Cursor takes"


def test_the_report_holds_the_same_in_three_forms(sized):
    size = sized("cursor", off=("stub/tool_01",))
    reports = report_of([size])
    text = written(reports, "md", "o200k_base")
    assert "## Cursor" in text and "as-is: 4 tools, 400 tokens; PASS." in text
    assert text.count("| stub/tool\\_0") == 4
    rows = list(csv.DictReader(io.StringIO(written(reports, "csv", "o200k_base"))))
    assert [row["tool"] for row in rows] == [f"stub/tool_0{n}" for n in range(4)]
    value = json.loads(written(reports, "json", "o200k_base"))
    (host,) = value["hosts"]
    assert (host["id"], host["tokens"], len(host["list"])) == ("cursor", 400, 4)


def test_a_cell_is_no_formula_and_no_markup(sized):
    tool = ListedTool("=1+1", "<b>|y", 1, 0, "given", "")
    reports = [HostReport(sized("cursor"), (tool,))]
    assert ",'=1+1," in written(reports, "csv", "o200k_base")
    assert "\\<b\\>\\|y" in written(reports, "md", "o200k_base")
